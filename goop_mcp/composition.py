"""Put the application together: the one place that knows which database a project uses."""

import logging
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING

from goop_mcp import operations, protocols, store, workspace
from goop_mcp.errors import GoopError, ProjectElsewhereError
from goop_mcp.memory.times import utc_now, written
from goop_mcp.workspace.layout import FOLDER

if TYPE_CHECKING:
    from collections.abc import Callable

    from goop_mcp.operations.workplace import Workplace
    from goop_mcp.settings import Settings
    from goop_mcp.store.interface import Store
    from goop_mcp.validation.rules import Rule, RuleBook
    from goop_mcp.workspace.files import ProjectFiles

__all__ = ["Application"]

_log = logging.getLogger(__name__)


class Application:
    """What one process works with.

    Each part is loaded when it is first asked for, and opened when it is first used.

    May be shared by threads; `close` it at the end, or use it as a context.
    """

    def __init__(self, settings: "Settings") -> None:
        self.settings = settings
        self._watched: Callable[[Store], Store] | None = None
        self._store: Store | None = None
        self._opening = Lock()
        self._caught_up = False
        self._catching_up = Lock()

    def watch(self, watched: "Callable[[Store], Store]") -> None:
        """Let `watched` wrap the database, for one who measures it; call this before the database is asked for."""
        self._watched = watched

    @property
    def store(self) -> "Store":
        """The database of the project; created by the first write.

        Raises SettingsError for a URL of no use.
        """
        # Two threads that ask first at one time must not get two writers.
        with self._opening:
            if self._store is None:
                self._store = self._open_store()
            return self._store

    def _open_store(self) -> "Store":
        settings = self.settings
        opened = store.opening.open_store(
            settings.database,
            project=settings.project,
            project_id=settings.project_id,
            tenant=settings.tenant,
            seconds=settings.database_seconds,
        )
        return opened if self._watched is None else self._watched(opened)

    @cached_property
    def rules(self) -> "tuple[Rule, ...]":
        """The rules that were brought along, by which replies are judged beside ours.

        Raises RuleRefusedError.
        """
        named = self.settings.rules
        return operations.load_rules.load_rules(named) if named else ()

    @cached_property
    def rule_book(self) -> "RuleBook":
        """Every rule by id, ours and those that were brought along."""
        return protocols.rules_with(self.rules)

    @cached_property
    def files(self) -> "ProjectFiles":
        """The files of the project."""
        return workspace.files.ProjectFiles(self.settings.project)

    @cached_property
    def workplace(self) -> "Workplace":
        """Database and files together, for those who only look."""
        return operations.workplace.Workplace(
            store=self.store, files=self.files, writes_files=self.settings.writes_files
        )

    @property
    def recorded(self) -> "Store | None":
        """The database that documents are rendered from where no file is written, else None: then none is loaded."""
        return None if self.settings.writes_files else self.store

    def find_document(self, name: str) -> str | None:
        """Return the text of the document `name`, None where there is none.

        Raises WorkspaceError and StoreError.
        """
        return operations.project_documents.find_project_document(
            self.files, name, recorded=self.recorded
        )

    def require_folder(self) -> None:
        """Raise ProjectElsewhereError where callers are on other machines and the project is not on this one.

        What an agent says of its files would be called untrue there, however true it is.
        """
        if not self.settings.keeps_files and not self.files.exists(FOLDER):
            raise ProjectElsewhereError(
                f"there is no folder {FOLDER} of the project on this server, so no claim of the"
                " reply can be looked at; call again with check_workspace=false"
            )

    def writing_workplace(self) -> "Workplace":
        """Return the workplace to one who writes: what killed writers left undone is done before the first time.

        Raises StoreError; then it is tried again the next time.
        """
        with self._catching_up:
            if not self._caught_up:
                self.workplace.catch_up(now=written(utc_now()))
                self._caught_up = True

        return self.workplace

    def writing_store(self) -> "Store":
        """Return the database to one who writes what no file shows; catching up is no condition for that."""
        try:
            self.writing_workplace()
        except GoopError as error:
            _log.warning("the files could not be brought up to the database: %s", error)

        return self.store

    def close(self) -> None:
        """Let go of what was opened; may be called twice."""
        if self._store is not None:
            self._store.close()

    def __enter__(self) -> "Application":
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()
