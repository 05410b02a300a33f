"""What can be done, the scopes that it needs, and the doors where it can be done: one table.

Tools of the server and pages of the workbench take their scopes from it, docs/security.md prints
it, and a tool or page without a row cannot be declared. A door is named by its tool, or by method
and path of its page; an argument after it stands for a call or form in which that argument is
given.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from goop_mcp.server.scopes import CONFIRM, READ, SCOPES, WORKSPACE, WRITE

__all__ = ["ACTIONS", "Action", "Needs", "is_listed", "needs_of"]

_DOES: Final = "does it"
_WAITS: Final = "waits for a person, exit code 3"
_ASKS: Final = "asks"


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """Something that callers do.

    `tools` and `pages` are its doors. `client` says where an MCP client does it without a tool.
    `command` does it on the command line; `terminal` says what that does at a terminal, `program`
    what it does where a program started it.
    """

    does: str
    scopes: frozenset[str]
    tools: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()
    client: str = ""
    command: str = ""
    terminal: str = _DOES
    program: str = _DOES


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """The scopes that a door needs, and those that it needs where an argument is given."""

    scopes: frozenset[str]
    arguments: Mapping[str, frozenset[str]]

    def missing(self, scopes: Collection[str]) -> str | None:
        """Return the first scope that a caller with `scopes` lacks, None if it lacks none."""
        return _first_missing(self.scopes, scopes)

    def missing_for(
        self, given: Collection[str], scopes: Collection[str]
    ) -> tuple[str, str] | None:
        """Return an argument of `given` that needs another scope, and that scope; None if none."""
        for name, needed in self.arguments.items():
            if name in given and (scope := _first_missing(needed, scopes)) is not None:
                return name, scope
        return None


def is_listed(door: str) -> bool:
    """Whether `door` has a row in the table; a tool that a program adds has none."""
    return door in _SCOPES


@cache
def needs_of(door: str) -> Needs:
    """Return what `door` needs, such as "save_memory" or "POST /steps".

    Raises LookupError for a door that is not in the table.
    """
    if not is_listed(door):
        raise LookupError(f"{door} is not in the table of goop_mcp/server/actions.py: add its row")

    own = {key: scopes for key, scopes in _SCOPES.items() if key.startswith(f"{door} ")}
    return Needs(
        scopes=_SCOPES[door],
        arguments={key.removeprefix(f"{door} "): scopes for key, scopes in own.items()},
    )


def _first_missing(needed: Collection[str], scopes: Collection[str]) -> str | None:
    return next((each for each in SCOPES if each in needed and each not in scopes), None)


_READS: Final = frozenset({READ})
_LOOKS: Final = frozenset({READ, WORKSPACE})
_WRITES: Final = frozenset({READ, WRITE})
_LOOKS_AND_WRITES: Final = frozenset({READ, WORKSPACE, WRITE})
_ANSWERS: Final = frozenset({READ, CONFIRM})
_DECIDES: Final = frozenset({READ, WRITE, CONFIRM})

ACTIONS: Final = (
    Action(
        does="read documents, reports, runs, memories, statistics, rules, templates",
        scopes=_READS,
        tools=(
            "project_status",
            "search_memory",
            "get_memory",
            "memory_search",
            "explain_rule",
        ),
        pages=(
            "GET /",
            "GET /reports",
            "GET /reports/{id}",
            "GET /check",
            "GET /handoff",
            "GET /templates",
            "GET /templates/{name}",
            "GET /draft",
            "GET /runs",
            "GET /runs/{id}",
            "GET /runs/{id}/tasks/{task}",
            "GET /agents",
            "GET /agents.csv",
            "GET /agents.html",
            "GET /memory",
            "GET /memory/{id}",
            "GET /memory/{id}/forget",
            "GET /confirm/{id}",
        ),
        client="resources, subscriptions, completions, prompts",
        command="`status`, `reports`, `runs`, `memory`, `stats`, `rules`",
    ),
    Action(
        does="judge a text; build one that nothing keeps",
        scopes=_READS,
        tools=("validate_report", "route_next_action", "build_report", "build_handoff"),
        pages=(
            "POST /check",
            "POST /check/preview",
            "POST /handoff",
            "POST /handoff/preview",
            "POST /templates/{name}",
            "POST /templates/{name}/preview",
            "POST /templates/{name}/edit",
            "POST /draft",
            "POST /draft/preview",
            "POST /draft/edit",
        ),
        command="`check`, `route`, `repair`, `handoff build`, `template`",
    ),
    Action(
        does="learn what is in files of the project: verify claims, judge a file, open a prompt",
        scopes=_LOOKS,
        tools=(
            "validate_report check_workspace",
            "validate_report file",
            "route_next_action check_workspace",
            "route_next_action file",
        ),
        pages=(
            "POST /check in_project",
            "POST /check/preview in_project",
            "GET /handoff session",
        ),
        command="`check --workspace`",
    ),
    Action(
        does="record a report, save and forget memories",
        scopes=_WRITES,
        tools=("record_report", "save_memory", "forget_memory", "memory_save"),
        pages=("POST /memory/{id}/forget",),
        command="`reports record`, `memory`",
    ),
    Action(
        does="record a report whose claims are verified, or one that is in a file",
        scopes=_LOOKS_AND_WRITES,
        tools=("record_report check_workspace", "record_report file"),
        command="`reports record`",
    ),
    Action(
        does="write a prompt, or HANDOFF.md",
        scopes=_WRITES,
        tools=("build_handoff write",),
        pages=("POST /handoff/write",),
        command="`handoff build --write`",
    ),
    Action(
        does="answer a hook of the host, which verifies claims and counts attempts",
        scopes=_LOOKS_AND_WRITES,
        tools=("hook_check",),
        command="`hook`",
    ),
    Action(
        does="run a named check that a person trusts; over stdio only",
        scopes=_LOOKS_AND_WRITES,
        tools=("run_check",),
        command="`run`",
    ),
    Action(
        does="take a step of the project; one that needs a person is only asked for",
        scopes=_WRITES,
        tools=("update_project",),
        pages=("POST /steps",),
        command="`project`",
    ),
    Action(
        does="answer a step that needs a person",
        scopes=_ANSWERS,
        pages=("POST /confirm/{id}",),
        client="the question that the client shows in the call of `update_project`",
        command="`project`",
        terminal=_ASKS,
        program=_WAITS,
    ),
    Action(
        does="answer a gate of a run, or decide about a task that waits",
        scopes=_DECIDES,
        pages=("POST /runs/{id}/answer",),
        client="the question that the client shows in the call of `update_project`",
        command="`project decide --run`, `runs answer`",
        terminal=_ASKS,
        program=f"{_WAITS}; where `confirm_decisions` is off, records it as reported",
    ),
    Action(
        does="cancel a run or a task, run a task again",
        scopes=_DECIDES,
        pages=("POST /runs/{id}/cancel", "POST /runs/{id}/retry"),
        command="`runs cancel`, `runs retry`",
    ),
    Action(
        does="withdraw a report",
        scopes=_DECIDES,
        pages=("POST /reports/{id}/withdraw",),
        command="`reports withdraw`",
    ),
)
"""Every action; a scope that is not named here is not asked for."""

_SCOPES: Final[Mapping[str, frozenset[str]]] = {
    door: action.scopes for action in ACTIONS for door in (*action.tools, *action.pages)
}
