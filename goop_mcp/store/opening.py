"""Choose the database that a URL names."""

import os
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from goop_mcp.settings import DatabaseUrl, SettingsError
from goop_mcp.store.interface import Store
from goop_mcp.store.migrations import load_migrations

__all__ = ["open_store"]

_FOLDER: Final = ".goopspec"
_POSTGRES: Final = frozenset({"postgresql", "postgres"})


def open_store(
    url: DatabaseUrl | str | None,
    *,
    project: Path | str,
    project_id: str | None = None,
    tenant: str = "default",
    seconds: float = 30.0,
) -> Store:
    """Return the store that `url` names; None means `.goopspec/goop.db` in the project.

    Nothing is opened yet. `sqlite:///NAME` is relative to the project, `sqlite:////NAME` absolute;
    a folder outside of the project must exist. `project_id` and `tenant` select the rows in a
    database of many projects. `seconds` bounds each query of a file, which may have come with
    somebody else's checkout. Raises SettingsError for a URL that cannot be used.
    """
    given = DatabaseUrl(f"sqlite:///{_FOLDER}/goop.db") if url is None else url
    given = DatabaseUrl(given) if isinstance(given, str) else given
    if given.scheme == "sqlite":
        return _sqlite(given, Path(project), seconds)
    if given.scheme in _POSTGRES:
        return _postgres(given, project_id, tenant)

    raise SettingsError(
        f"the database is {given}; expected sqlite:///FILE or postgresql://USER@HOST/NAME"
    )


def _sqlite(url: DatabaseUrl, project: Path, seconds: float) -> Store:
    # Most processes never open a database, and the import takes time.
    from goop_mcp.store.sqlite import DatabaseFile, SqliteStore  # noqa: PLC0415

    rest = url.reveal().partition("://")[2]
    name = unquote(rest.partition("?")[0].removeprefix("/"))
    if (
        not rest.startswith("/")
        or "?" in rest
        or name in {"", ":memory:"}
        or name.endswith("/")
        or "\0" in name
    ):
        raise SettingsError(
            f"the database is {url}; expected sqlite:///FILE, where FILE is a path and nothing else"
        )

    path = project / name
    shown = path.relative_to(project).as_posix() if path.is_relative_to(project) else path.name
    # A mistyped path must not leave folders anywhere on the machine.
    inside = project in Path(os.path.normpath(path)).parents
    migrations = load_migrations("sqlite")
    file = DatabaseFile(
        path=path,
        name=shown,
        migrations=migrations,
        makes_folder=inside,
        # A folder of the user's own choice may be one that git is to keep.
        hides_from_git=path.parent == project / _FOLDER,
        seconds=seconds,
    )

    return SqliteStore(file)


def _postgres(url: DatabaseUrl, project_id: str | None, tenant: str) -> Store:
    if not project_id:
        raise SettingsError(
            f"the database is {url}, which may hold many projects; select one with --project-id or"
            " GOOP_PROJECT_ID"
        )

    try:
        # The driver is an optional dependency, and importing it takes 0.1 s.
        from goop_mcp.store.postgres import PostgresStore  # noqa: PLC0415
    except ImportError as error:
        raise SettingsError(
            f"the database is {url}, for which the driver is missing; install goop-mcp[postgres]"
        ) from error

    return PostgresStore(url.reveal(), project_id=project_id, tenant=tenant)
