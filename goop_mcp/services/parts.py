"""Which parts of goop-mcp a project uses: its life in phases, reports, memory, delegation.

Each can be had alone. What is not used is not shown as missing anywhere: who only wants reports
checked is not asked for an interview.
"""

from dataclasses import asdict, dataclass
from typing import Final

from goop_mcp.services.project_context import ProjectContext
from goop_mcp.store.interface import ReadTransaction
from goop_mcp.store.records import MemoryFilter
from goop_mcp.workspace.document_lookup import is_there
from goop_mcp.workspace.layout import GOOPSPEC_DATABASE, document_path
from goop_mcp.workspace.project import DOCUMENTS_OF_LIFE

__all__ = ["Parts", "parts_in_use"]

# GoopSpec 1.x keeps the state in its own database.
_BEGUN_BY: Final = (*DOCUMENTS_OF_LIFE, GOOPSPEC_DATABASE)
# How each part begins, for people and for agents, which have tools and no terminal.
_BEGINNINGS: Final = {
    "project": (
        "A project with specification, plan and gates begins with `goop-mcp init`.",
        'A project with specification, plan and gates begins with update_project(action="init").',
    ),
    "reports": (
        "Reports of agents are checked by hooks after `goop-mcp install HOST`.",
        "Reports are recorded by record_report, and checked by hooks where they are installed.",
    ),
    "memory": (
        "The first memory is saved by `goop-mcp memory save TITLE`.",
        "The first memory is saved by save_memory.",
    ),
    "delegation": (
        "Several agents carry out a graph of tasks with `goop-mcp delegate GRAPH`.",
        "Several agents carry out a graph of tasks when a person runs `goop-mcp delegate GRAPH`.",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Whether each part is in use; None is not known, because it cannot be read here.

    `project` is the life of a project in phases, with specification, plan and gates.
    """

    project: bool | None = False
    reports: bool | None = None
    memory: bool | None = None
    delegation: bool | None = None

    @property
    def used(self) -> tuple[str, ...]:
        """The names of the parts in use."""
        return tuple(name for name, is_used in asdict(self).items() if is_used)

    @property
    def unused(self) -> tuple[str, ...]:
        """The names of the parts that can be begun.

        () in a project, to which all belong, and where it is not known whether there is one.
        """
        if self.project is not False:
            return ()
        return tuple(name for name, is_used in asdict(self).items() if is_used is False)

    def beginnings(self, *, for_agent: bool = False) -> tuple[str, ...]:
        """Return how each unused part begins, with `for_agent` by a tool, where there is one."""
        return tuple(_BEGINNINGS[name][for_agent] for name in self.unused)


def parts_in_use(
    project_context: ProjectContext,
    reading: ReadTransaction | None,
    *,
    are_judged: bool = False,
) -> Parts:
    """Return what the database and the folder show to be in use.

    `reading` is None without a database. `are_judged` states that hooks judge reports here: they
    record only what the project wants recorded.
    """
    files = project_context.files
    has_begun = any(is_there(files, document_path(name)) for name in _BEGUN_BY)
    if reading is None:
        return Parts(project=has_begun, reports=are_judged, memory=False, delegation=False)
    if not project_context.writes_files:
        has_begun = has_begun or reading.stored_state() is not None

    return Parts(
        project=has_begun,
        reports=are_judged
        or reading.report_count() > 0
        or bool(reading.agents_with_kept_replies())
        or bool(reading.kept_runs(limit=1)),
        memory=bool(reading.memories(MemoryFilter(), limit=1)),
        delegation=bool(reading.graphs.runs(include_ended=True, limit=1)),
    )
