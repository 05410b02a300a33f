"""What the environment and the options say, as one frozen value."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Literal, TypeVar, get_args

from goop_mcp.errors import GoopError
from goop_mcp.logs import LogFormat

__all__ = [
    "DEFAULT_TENANT",
    "DatabaseUrl",
    "LogLevel",
    "Settings",
    "SettingsError",
    "read_settings",
]

LogLevel = Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]

DEFAULT_TENANT = "default"
"""Whose rows are meant where nobody says so."""

_PROJECT_VARIABLES = ("GOOP_PROJECT_DIR", "CLAUDE_PROJECT_DIR")
_LOG_LEVEL_VARIABLE = "GOOP_LOG_LEVEL"
_LOG_FORMAT_VARIABLE = "GOOP_LOG_FORMAT"
_DATABASE_VARIABLE = "GOOP_DATABASE_URL"
_PROJECT_ID_VARIABLE = "GOOP_PROJECT_ID"
_DEFAULTS = {_LOG_LEVEL_VARIABLE: "WARNING", _LOG_FORMAT_VARIABLE: "text"}

_Choice = TypeVar("_Choice", bound=str)


class SettingsError(GoopError, ValueError):
    """Raised when a setting cannot be used; the text names the setting and says what to do."""


class DatabaseUrl:
    """Where the rows lie.

    Shown, printed or logged it has neither password nor options, which may hold one too.
    """

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

    `project` is an absolute folder that exists. `database` is None for the file in the project.
    `project_id` says whose rows are meant in a database of many projects, None when nobody has said
    it. `goopspec_aliases` offers tools under the names of the GoopSpec packages as well,
    `hook_tool` one that only hooks of a host use. `tenant` says whose rows are meant in a database
    of several tenants. `keeps_files` is false where callers are on other machines and nothing is to
    be written into the folder. `rules` are the places that rules of one's own are loaded from.
    `database_seconds` bounds each question to a database in a file.
    """

    project: Path
    log_level: LogLevel = "WARNING"
    log_format: LogFormat = "text"
    database: DatabaseUrl | None = None
    project_id: str | None = None
    goopspec_aliases: bool = False
    hook_tool: bool = False
    tenant: str = DEFAULT_TENANT
    keeps_files: bool = True
    rules: tuple[str, ...] = ()
    database_seconds: float = 30.0

    @property
    def database_in_a_file(self) -> bool:
        """Whether the rows lie in a file of this machine, which one project has for itself."""
        return self.database is None or self.database.scheme == "sqlite"

    @property
    def writes_files(self) -> bool:
        """Whether what is recorded shows in files: only beside a database that no other machine shares."""
        return self.database_in_a_file and self.keeps_files


def read_settings(
    environment: Mapping[str, str],
    *,
    project: str | None = None,
    database: str | None = None,
    project_id: str | None = None,
) -> Settings:
    """Return the settings; an option beats the environment, and an empty variable counts as unset.

    The arguments are the options of the same names, None when they were not given. Raises
    SettingsError for the first setting that cannot be used (INTERFACES, section 1).
    """
    url = database or environment.get(_DATABASE_VARIABLE)
    return Settings(
        project=_project(environment, project),
        log_level=_chosen(environment, _LOG_LEVEL_VARIABLE, get_args(LogLevel)),
        log_format=_chosen(environment, _LOG_FORMAT_VARIABLE, get_args(LogFormat)),
        database=DatabaseUrl(url) if url else None,
        project_id=project_id or environment.get(_PROJECT_ID_VARIABLE) or None,
    )


def _project(environment: Mapping[str, str], option: str | None) -> Path:
    named = [("--project", option), *((name, environment.get(name)) for name in _PROJECT_VARIABLES)]
    source, folder = next(
        ((source, value) for source, value in named if value), ("the current folder", ".")
    )
    try:
        # A path that cannot exist at all is no folder; only what does exist can be resolved.
        path = Path(folder).resolve() if Path(folder).is_dir() else None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise SettingsError(
            f"{source} is {folder!r}, which cannot be used ({reason}); name another one"
        ) from error

    if path is None:
        raise SettingsError(
            f"{source} is {folder!r}, which is no folder; create it or name another one"
        )

    return path


def _chosen(environment: Mapping[str, str], variable: str, choices: tuple[_Choice, ...]) -> _Choice:
    """Return the one of `choices` that `variable` names in any case; `_DEFAULTS` says which where it is not set."""
    given = environment.get(variable) or _DEFAULTS[variable]
    chosen = next((choice for choice in choices if choice.lower() == given.strip().lower()), None)
    if chosen is None:
        near = get_close_matches(given.lower(), [choice.lower() for choice in choices], n=1)
        hint = "".join(f"; did you mean {choice}?" for choice in choices if choice.lower() in near)
        raise SettingsError(f"{variable} is {given!r}; expected one of {', '.join(choices)}{hint}")

    return chosen
