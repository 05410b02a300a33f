"""Settings from environment variables and options, as a frozen dataclass."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Literal, TypeVar, get_args

from goop_mcp.errors import GoopError
from goop_mcp.logs import LogFormat

__all__ = [
    "ALL_TOOLS",
    "CORE_TOOLS",
    "DEFAULT_TENANT",
    "DatabaseUrl",
    "LogLevel",
    "Settings",
    "SettingsError",
    "read_settings",
]

LogLevel = Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]

DEFAULT_TENANT = "default"
"""The tenant of the rows if none is configured."""

ALL_TOOLS = "all"
CORE_TOOLS = "core"
"""The groups of tools that a server may offer; core is what an agent needs to work and report."""

_PROJECT_VARIABLES = ("GOOP_PROJECT_DIR", "CLAUDE_PROJECT_DIR")
_LOG_LEVEL_VARIABLE = "GOOP_LOG_LEVEL"
_LOG_FORMAT_VARIABLE = "GOOP_LOG_FORMAT"
_DATABASE_VARIABLE = "GOOP_DATABASE_URL"
_PROJECT_ID_VARIABLE = "GOOP_PROJECT_ID"
_DEFAULTS = {_LOG_LEVEL_VARIABLE: "WARNING", _LOG_FORMAT_VARIABLE: "text"}

_CURRENT = "the current folder"

_Choice = TypeVar("_Choice", bound=str)


class SettingsError(GoopError, ValueError):
    """Raised when a setting cannot be used; the text names the setting and the fix."""


class DatabaseUrl:
    """The URL of a database.

    Its `str` and `repr` omit the password, and the options, which may hold one too.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    @property
    def scheme(self) -> str:
        """The part before `://` in lower case; empty when there is none."""
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
    """The configuration of a process.

    `project` is an existing absolute folder. `database` is None for the file in the project.
    `project_id` selects the rows of a project in a database of many projects, None if not given;
    `tenant` those of a tenant in a database of several tenants. `goopspec_aliases` adds tools under
    the names of the GoopSpec packages, `hook_tool` a tool that only hooks of a host use,
    `allow_run` one that runs trusted commands; `tools` are the others: ALL_TOOLS, CORE_TOOLS, or
    names divided by commas.
    `keeps_files` is False when callers are on other machines and no files are written. `rules` are
    the sources of custom rules. `database_seconds` bounds each query of a database in a file.
    """

    project: Path
    log_level: LogLevel = "WARNING"
    log_format: LogFormat = "text"
    database: DatabaseUrl | None = None
    project_id: str | None = None
    goopspec_aliases: bool = False
    hook_tool: bool = False
    allow_run: bool = False
    tools: str = ALL_TOOLS
    tenant: str = DEFAULT_TENANT
    keeps_files: bool = True
    rules: tuple[str, ...] = ()
    database_seconds: float = 30.0

    @property
    def database_in_a_file(self) -> bool:
        """Whether the database is a file on this machine, which belongs to one project."""
        return self.database is None or self.database.scheme == "sqlite"

    @property
    def writes_files(self) -> bool:
        """Whether documents are written as files: only if no other machine shares the database."""
        return self.database_in_a_file and self.keeps_files


def read_settings(
    environment: Mapping[str, str],
    *,
    project: str | None = None,
    database: str | None = None,
    project_id: str | None = None,
) -> Settings:
    """Return the settings; options override the environment, an empty variable counts as unset.

    The arguments are the options of the same names, None when not given. Raises SettingsError for
    the first setting that cannot be used.
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
    source, folder = next(((source, value) for source, value in named if value), (_CURRENT, "."))
    try:
        # is_dir() first: resolve() raises for some paths that cannot exist.
        path = Path(folder).resolve() if Path(folder).is_dir() else None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise SettingsError(
            f"{source} is {folder!r}, which cannot be used ({reason}); name another one"
        ) from error

    if path is None:
        raise SettingsError(
            f"{source} is {folder!r}, which is not a folder; create it or name another one"
        )

    # Reported here for the folder: later it would be for any file in it, even one that is missing.
    # Much can be done without it, so the current folder may be one of somebody else.
    if source != _CURRENT and not os.access(path, os.R_OK | os.X_OK):
        raise SettingsError(f"{folder!r} may not be read by you; change its permissions")

    return path


def _chosen(environment: Mapping[str, str], variable: str, choices: tuple[_Choice, ...]) -> _Choice:
    """Return the choice that `variable` names, regardless of case, or its default if unset."""
    given = environment.get(variable) or _DEFAULTS[variable]
    chosen = next((choice for choice in choices if choice.lower() == given.strip().lower()), None)
    if chosen is None:
        near = get_close_matches(given.lower(), [choice.lower() for choice in choices], n=1)
        hint = "".join(f"; did you mean {choice}?" for choice in choices if choice.lower() in near)
        raise SettingsError(f"{variable} is {given!r}; expected one of {', '.join(choices)}{hint}")

    return chosen
