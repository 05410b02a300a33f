"""What the environment and the options say, as one frozen value."""

import logging
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Literal, get_args

from goop_mcp.errors import GoopError

__all__ = ["DatabaseUrl", "LogLevel", "Settings", "SettingsError", "configure_logging", "read_settings"]

LogLevel = Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]

_PROJECT_VARIABLES = ("GOOP_PROJECT_DIR", "CLAUDE_PROJECT_DIR")
_LOG_LEVEL_VARIABLE = "GOOP_LOG_LEVEL"
_DATABASE_VARIABLE = "GOOP_DATABASE_URL"
_PROJECT_ID_VARIABLE = "GOOP_PROJECT_ID"


class SettingsError(GoopError, ValueError):
    """Raised when a setting cannot be used; the text names the setting and says what to do."""


class DatabaseUrl:
    """Where the rows lie. Shown, printed or logged it has neither password nor options, which may hold one too."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    @property
    def scheme(self) -> str:
        """What stands before `://`, in lower case; empty when there is no such thing."""
        scheme, colon, _ = self._text.partition("://")
        return scheme.lower() if colon else ""

    def reveal(self) -> str:
        """Return the whole text, password included."""
        return self._text

    def __str__(self) -> str:
        shown = self._text.partition("?")[0]
        scheme, colon, rest = shown.partition("://")
        user, at, place = rest.rpartition("@")
        if not colon:
            return "***"
        return f"{scheme}://{user.partition(':')[0]}{at}{place}"

    def __repr__(self) -> str:
        return f"DatabaseUrl({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DatabaseUrl) and self._text == other.reveal()

    def __hash__(self) -> int:
        return hash(self._text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that is decided before the program starts to work.

    `project` is an absolute folder that exists. `database` is None for the file in the project. `project_id` says
    whose rows are meant in a database of many projects, None when nobody has said it. `goopspec_aliases` offers tools
    under the names of the GoopSpec packages as well, `hook_tool` one that only hooks of a host use.
    """

    project: Path
    log_level: LogLevel = "WARNING"
    database: DatabaseUrl | None = None
    project_id: str | None = None
    goopspec_aliases: bool = False
    hook_tool: bool = False


def read_settings(
    environment: Mapping[str, str],
    *,
    project: str | None = None,
    database: str | None = None,
    project_id: str | None = None,
) -> Settings:
    """Return the settings; an option beats the environment, and an empty variable counts as unset.

    The arguments are the options of the same names, None when they were not given. Raises SettingsError for the first
    setting that cannot be used (INTERFACES, section 1).
    """
    url = database or environment.get(_DATABASE_VARIABLE)
    return Settings(
        project=_project(environment, project),
        log_level=_log_level(environment),
        database=DatabaseUrl(url) if url else None,
        project_id=project_id or environment.get(_PROJECT_ID_VARIABLE) or None,
    )


def _project(environment: Mapping[str, str], option: str | None) -> Path:
    named = [("--project", option), *((name, environment.get(name)) for name in _PROJECT_VARIABLES)]
    source, folder = next(((source, value) for source, value in named if value), ("the current folder", "."))
    try:
        # A path that cannot exist at all is no folder; only what does exist can be resolved.
        path = Path(folder).resolve() if Path(folder).is_dir() else None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise SettingsError(f"{source} is {folder!r}, which cannot be used ({reason}); name another one") from error
    if path is None:
        raise SettingsError(f"{source} is {folder!r}, which is no folder; create it or name another one")
    return path


def _log_level(environment: Mapping[str, str]) -> LogLevel:
    given = environment.get(_LOG_LEVEL_VARIABLE) or "WARNING"
    levels: tuple[LogLevel, ...] = get_args(LogLevel)
    level = next((level for level in levels if level == given.strip().upper()), None)
    if level is None:
        near = get_close_matches(given.upper(), levels, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise SettingsError(f"{_LOG_LEVEL_VARIABLE} is {given!r}; expected one of {', '.join(levels)}{hint}")
    return level


class _OneLine(logging.Formatter):
    """Writes a record, its traceback included, on one line, so that no text can pass for a second record."""

    def __init__(self, clean: Callable[[str], str]) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        self._clean = clean

    def format(self, record: logging.LogRecord) -> str:
        """Return the record without secrets and with every line break shown as an escape."""
        return self._clean(super().format(record)).replace("\r", "\\r").replace("\n", "\\n")


def configure_logging(level: LogLevel, *, clean: Callable[[str], str]) -> None:
    """Send the log of the whole process to stderr, from `level` upwards, one line a record.

    `clean` takes out of a line what does not belong there. Call it before the MCP SDK is used: the SDK sets up a
    wrapping handler where there is none.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_OneLine(clean))
    logging.basicConfig(level=level, handlers=[handler], force=True)
