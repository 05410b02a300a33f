"""The application of a process: settings, database, files and rules, created on first use."""

import logging
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING

from goop_mcp import protocols, services, store, workspace
from goop_mcp.errors import GoopError, ProjectElsewhereError, StoreUnavailableError
from goop_mcp.memory.times import utc_now, written
from goop_mcp.workspace.layout import FOLDER

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from goop_mcp.services.held_settings import HeldSettings
    from goop_mcp.services.project_context import ProjectContext
    from goop_mcp.services.stop_hooks.judged_by import JudgedBy
    from goop_mcp.settings import Settings
    from goop_mcp.store.interface import Store
    from goop_mcp.validation.rules import Rule, RuleBook
    from goop_mcp.workspace.files import ProjectFiles

__all__ = ["AppContext"]

_log = logging.getLogger(__name__)


class AppContext:
    """The database, files and rules that one process works with.

    Each part is imported on first access and opened on first use. Safe to share between threads;
    `close` it at the end, or use it as a context manager.
    """

    def __init__(self, settings: "Settings") -> None:
        self.settings = settings
        self._watched: Callable[[Store], Store] | None = None
        self._store: Store | None = None
        self._opening = Lock()
        self._recovered = False
        self._recovery_lock = Lock()
        self._held: HeldSettings | None = None

    def watch(self, watched: "Callable[[Store], Store]") -> None:
        """Wrap the database with `watched`, to measure it; call it before the first access."""
        self._watched = watched

    def hold_settings(self, held: "HeldSettings") -> None:
        """Judge replies by `held` from now on, because agents are at work; looks at it once."""
        self._held = held
        held.policy()

    @property
    def held_settings(self) -> "HeldSettings | None":
        """What `hold_settings` was given, None where the files of the project count as they are."""
        return self._held

    def judged_by(self) -> "JudgedBy | None":
        """Return what replies are judged by, None for the files of the project as they are."""
        return None if self._held is None else self._held.judged_by()

    @property
    def store(self) -> "Store":
        """The database of the project; created by the first write.

        Raises SettingsError for a URL that cannot be used.
        """
        # Two threads at the same time must not create two stores, each with a writing thread.
        with self._opening:
            if self._store is None:
                settings = self.settings
                opened = store.opening.open_store(
                    settings.database,
                    project=settings.project,
                    project_id=settings.project_id,
                    tenant=settings.tenant,
                    seconds=settings.database_seconds,
                )
                self._store = opened if self._watched is None else self._watched(opened)

            return self._store

    @cached_property
    def rules(self) -> "tuple[Rule, ...]":
        """The custom rules, which replies are judged by in addition to the built-in ones.

        Raises RuleRefusedError.
        """
        named = self.settings.rules
        return services.load_rules.load_rules(named) if named else ()

    @cached_property
    def rule_book(self) -> "RuleBook":
        """Every rule by id, built-in and custom."""
        return protocols.rules_with(self.rules)

    @cached_property
    def files(self) -> "ProjectFiles":
        """The files of the project."""
        return workspace.files.ProjectFiles(self.settings.project)

    @cached_property
    def project_context(self) -> "ProjectContext":
        """Database and files together, for callers that only read."""
        return services.project_context.ProjectContext(
            store=self.store,
            files=self.files,
            writes_files=self.settings.writes_files,
            judged_by=self.judged_by,
        )

    @property
    def own_templates(self) -> "Path | None":
        """The folder whose own templates callers may use, None for callers on other machines."""
        return self.settings.project if self.settings.keeps_files else None

    @property
    def recorded(self) -> "Store | None":
        """The database that documents are rendered from if no files are written, else None."""
        return None if self.settings.writes_files else self.store

    def find_document(self, name: str) -> str | None:
        """Return the text of the document `name`, None when it does not exist.

        Raises WorkspaceError and StoreError.
        """
        return services.project_documents.find_project_document(
            self.files, name, recorded=self.recorded
        )

    def require_folder(self) -> None:
        """Raise ProjectElsewhereError if callers are remote and the project is not on this machine.

        Every claim about a file would be found untrue here, however true it is there.
        """
        here = self.settings.keeps_files or any(map(self.files.exists, (FOLDER, ".git")))
        if not here:
            raise ProjectElsewhereError(
                "the folder of this server is no checkout of the project: it has neither .git nor"
                f" {FOLDER}, so no claim of the reply can be verified; call again with"
                " check_workspace=false"
            )

    def writing_context(self) -> "ProjectContext":
        """Return the project context for a caller that writes.

        The first call completes what killed processes left undone. Raises StoreError; the next call
        then tries again.
        """
        # A process may have been killed after its commit and before its files were replaced. New
        # changes to the files must not start from that state.
        with self._recovery_lock:
            if not self._recovered:
                self.project_context.recover(now=written(utc_now()))
                self._recovered = True

        return self.project_context

    def writing_store(self) -> "Store":
        """Return the database for a caller that writes what no file shows.

        A failure to complete the files is logged and does not prevent the write. Raises
        StoreUnavailableError, as the write would after waiting once more.
        """
        try:
            self.writing_context()
        except StoreUnavailableError:
            raise
        except GoopError as error:
            _log.warning("the files could not be updated from the database: %s", error)

        return self.store

    def close(self) -> None:
        """Close the database if it was opened; may be called twice."""
        if self._store is None:
            return
        # No answer had a place for it, as that of a saved memory has none.
        if (older := self._store.take_older_copy()) is not None:
            _log.warning("%s: %s", self._store.location, older)
        self._store.close()

    def __enter__(self) -> "AppContext":
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()
