"""Another story: a shop exports its orders, and people decide more often than agents report.

Its agents repeat an untrue claim, stop for a decision that is replaced later, and finish work that
a person rejects; its second round begins with nothing of the first.
"""

from collections.abc import Mapping

from pydantic import JsonValue

from goop_mcp.cli.demo.full_player import PlayStep
from goop_mcp.cli.demo.full_texts import report, verification

__all__ = ["ORDERS"]

_STATE = ("state.json", "CHRONICLE.md")
_LOG = (*_STATE, "ADL.md")
_PLAN = ("W1.T1", "W1.T2", "W2.T1")
_LOCKED = ("Discovery", "Spec")
_NEXT = ("save_state", "continue_next")
_COLUMNS = (
    "RULE 4 DEVIATION: Which columns go into the file? Options: A) Only the numbers (recommended),"
    " B) Numbers and addresses"
)

_SPEC = """\
# SPEC: orders

**Version:** 1.0
**Created:** 2026-03-02
**Last Updated:** 2026-03-02
**Status:** Draft
**Locked:** No
**Locked At:** –

## Vision

The accountants read the orders of a month in their own program.

## Must-Haves

### MH1: Orders of a month are exported as CSV

- [ ] Each order is one line

## Traceability Matrix

| Must-Have | Tasks | Status |
|---|---|---|
| MH1 | W1.T1, W1.T2, W2.T1 | pending |

**Coverage:** 100%

## Amendment History

| Version | Date | Change | Reason |
|---|---|---|---|
"""

_BLUEPRINT = """\
# BLUEPRINT: orders

**Spec Version:** 1.0
**Mode:** standard

## Overview

**Goal:** One command writes the orders of a month.

## Wave 1: Export

**Goal:** Rows and columns.

### Task 1.1: Read the orders

| Attribute | Value |
|---|---|
| Intent | Orders are read by month. |
| Spec Coverage | MH1 |

### Task 1.2: Write the rows

| Attribute | Value |
|---|---|
| Intent | Each order is one line. |
| Spec Coverage | MH1 |

## Wave 2: Command

**Goal:** Accountants can run it.

### Task 2.1: Add the command

| Attribute | Value |
|---|---|
| Intent | The month is an argument. |
| Spec Coverage | MH1 |
"""


def _take(
    name: str,
    title: str,
    action: str,
    given: Mapping[str, JsonValue] | None = None,
    *,
    person: str | None = None,
    changes: tuple[str, ...] = _STATE,
    findings: tuple[str, ...] = (),
    after: Mapping[str, object] | None = None,
) -> PlayStep:
    return PlayStep(
        name=name,
        title=title,
        tool="update_project",
        arguments={"action": action, **(given or {})},
        person=person,
        status="done",
        changes=changes,
        findings=findings,
        after=after or {},
    )


def _hear(
    name: str,
    title: str,
    text: str,
    *,
    status: str = "recorded",
    actions: tuple[str, ...] = (),
    findings: tuple[str, ...] = (),
    changes: tuple[str, ...] | None = None,
    writes: Mapping[str, str] | None = None,
    after: Mapping[str, object] | None = None,
) -> PlayStep:
    return PlayStep(
        name=name,
        title=title,
        writes=writes or {},
        tool="record_report",
        arguments={"text": text},
        status=status,
        actions=actions,
        findings=findings,
        changes=changes if changes is not None else _STATE if status == "recorded" else (),
        after=after or {},
    )


_READ = report(
    "W1.T1",
    of=(2, 2),
    summary="Orders are read by month",
    file="orders/read.py",
    next_action="W1.T2: Write the rows",
)
_ROWS = report(
    "W1.T2",
    of=(2, 2),
    summary="Each order is one line",
    file="orders/rows.py",
    next_action="W2.T1: Add the command",
)
_STOPPED = report(
    "W1.T2",
    "BLOCKED",
    of=(2, 2),
    summary="The columns are not named",
    blockers=_COLUMNS,
    next_agent="user",
    next_action="Choose the columns",
)


def _looked(summary: str, *, blockers: str = "None") -> str:
    is_blocked = blockers != "None"
    return report(
        None,
        "BLOCKED" if is_blocked else "COMPLETE",
        of=(2, 2),
        summary=summary,
        agent="goop-researcher",
        blockers=blockers,
        next_agent="user" if is_blocked else "goop-executor",
        next_action="Decide" if is_blocked else "W2.T1: Add the command",
    )


_REGION = "RULE 4 DEVIATION: Which region? Options: A) Europe, B) Asia"
_CURRENCY = "RULE 4 DEVIATION: Which currency? Options: A) Euro, B) As ordered"
_REGION_ASKED = _looked("The region is open", blockers=_REGION)
_CURRENCY_ASKED = _looked("The currency is open", blockers=_CURRENCY)


def _command(summary: str) -> str:
    return report(
        "W2.T1",
        of=(2, 1),
        summary=summary,
        file="orders/cli.py",
        next_agent="goop-verifier",
        next_action="Verify MH1",
        next_command="/goop-accept",
    )


def _verified(summary: str) -> str:
    return verification({"MH1": True}, of=(2, 1), at="W2.T1", summary=summary)


_FINISHED = {
    "phase": "accept",
    "wave": 2,
    "done": _PLAN,
    "gates": (*_LOCKED, "Execution"),
    "next": "/goop-accept",
}
_IDLE = {
    "phase": "idle",
    "is_open": False,
    "interview": False,
    "locked": False,
    "wave": 0,
    "planned": (),
    "done": (),
    "gates": (),
    "waiting": (),
    "next": "/goop-discuss",
}

ORDERS: tuple[PlayStep, ...] = (
    _take(
        "init",
        "the project is created",
        "init",
        {"name": "orders"},
        changes=(
            *_LOG,
            "REQUIREMENTS.md",
            "SPEC.md",
            "BLUEPRINT.md",
            ".gitignore",
            "hooks.json",
        ),
        after={"exists": True, "phase": "idle", "wave": 0, "next": "/goop-discuss"},
    ),
    _take(
        "skip",
        "a person skips the interview",
        "skip_gate",
        {"gate": "discovery", "reason": "quick task: the accountants have asked by mail"},
        person="skip",
        changes=_LOG,
        after={"gates": ("Discovery",), "next": "/goop-plan"},
    ),
    _take(
        "plan",
        "planning begins",
        "start_phase",
        {"phase": "plan"},
        after={"phase": "plan"},
    ),
    PlayStep(
        name="documents",
        title="the planner writes both documents",
        writes={".goopspec/SPEC.md": _SPEC, ".goopspec/BLUEPRINT.md": _BLUEPRINT},
        after={"planned": _PLAN},
    ),
    _take(
        "lock",
        "a person locks the specification",
        "lock_spec",
        person="lock",
        changes=(*_LOG, "SPEC.md"),
        after={"locked": True, "gates": _LOCKED, "next": "/goop-execute"},
    ),
    _take(
        "execute",
        "execution begins",
        "start_phase",
        {"phase": "execute"},
        after={"phase": "execute", "wave": 1},
    ),
    _hear(
        "untrue",
        "an agent names a file that is not there",
        _READ,
        status="rejected",
        findings=("evidence/file-not-found",),
    ),
    _hear(
        "untrue_again",
        "it sends the same again: a person is asked",
        _READ,
        status="rejected",
        actions=("ask_user",),
        findings=("evidence/file-not-found",),
        changes=("CHRONICLE.md",),
        after={"waiting": ("decide",)},
    ),
    _take(
        "decide_untrue",
        "the person decides how it goes on",
        "decide",
        {"task": "W1.T1", "choice": "Read the orders from the archive"},
        person="decide",
        changes=_LOG,
        after={"waiting": ()},
    ),
    _hear(
        "read",
        "now the file is there",
        _READ,
        writes={"orders/read.py": '"""Read orders."""\n'},
        actions=_NEXT,
        after={"reports": 1, "done": ("W1.T1",)},
    ),
    _hear(
        "columns",
        "an agent stops: which columns?",
        _STOPPED,
        actions=("ask_user",),
        after={
            "reports": 2,
            "open": ("W1.T2",),
            "blockers": (_COLUMNS,),
            "waiting": ("decide",),
        },
    ),
    _take(
        "decide_columns",
        "a person decides",
        "decide",
        {"task": "W1.T2", "choice": "A", "comment": "Addresses are not needed."},
        person="decide",
        changes=_LOG,
        after={"blockers": (), "waiting": ()},
    ),
    _take(
        "decide_again",
        "the accountants call, and the decision is replaced",
        "decide",
        {"task": "W1.T2", "choice": "B", "comment": "They write letters after all."},
        person="decide",
        changes=_LOG,
    ),
    _hear(
        "rows",
        "the rows are written",
        _ROWS,
        writes={"orders/rows.py": '"""Write rows."""\n'},
        actions=_NEXT,
        after={"reports": 3, "open": (), "done": ("W1.T1", "W1.T2")},
    ),
    _hear(
        "region",
        "an agent that works for no task stops for a decision",
        _REGION_ASKED,
        actions=("ask_user",),
        after={"reports": 4, "blockers": (_REGION,), "waiting": ("decide",)},
    ),
    _hear(
        "currency",
        "it stops once more, for another one: both wait",
        _CURRENCY_ASKED,
        actions=("ask_user",),
        after={"reports": 5, "blockers": (_CURRENCY, _REGION), "waiting": ("decide", "decide")},
    ),
    _hear(
        "region_twice",
        "the orchestrator sends the first again, which is the same report",
        _REGION_ASKED,
        status="duplicate",
    ),
    _take(
        "decide_region",
        "the person decides one of them",
        "decide",
        {"task": "report 4", "choice": "B"},
        person="decide",
        changes=_LOG,
        after={"blockers": (_CURRENCY,), "waiting": ("decide",)},
    ),
    _hear(
        "region_again",
        "the agent is still stopped by the same, and says so in the same words",
        _REGION_ASKED,
        actions=("ask_user",),
        after={"reports": 6, "blockers": (_REGION, _CURRENCY), "waiting": ("decide", "decide")},
    ),
    _take(
        "decide_region_again",
        "the person decides once more",
        "decide",
        {"task": "report 6", "choice": "A"},
        person="decide",
        changes=_LOG,
        after={"blockers": (_CURRENCY,), "waiting": ("decide",)},
    ),
    _hear(
        "currency_found",
        "a report that names the other one goes on without its blocker",
        _looked("The orders state it").replace(
            "</agent>", "</agent>\n  <task_id>report 5</task_id>", 1
        ),
        actions=_NEXT,
        after={"reports": 7, "blockers": (), "waiting": ()},
    ),
    _hear(
        "command",
        "the last task is done",
        _command("The month is an argument"),
        writes={"orders/cli.py": '"""The command."""\n'},
        actions=_NEXT,
        after={"reports": 8, **_FINISHED},
    ),
    _hear(
        "verified",
        "the verifier finds the must-have fulfilled, and a person is to accept",
        _verified("MH1 holds"),
        actions=("ask_user",),
        after={"reports": 9, "waiting": ("accept",)},
    ),
    _take(
        "reject",
        "the person rejects it: the question is gone, and the task is open again",
        "accept",
        {"outcome": "reject", "tasks": ["W2.T1"], "comment": "The month 13 is exported too."},
        person="reject",
        changes=_LOG,
        findings=("workflow/rework-edge",),
        after={
            "reports": 7,
            "phase": "execute",
            "done": ("W1.T1", "W1.T2"),
            "gates": _LOCKED,
            "waiting": (),
            "next": "/goop-execute",
        },
    ),
    _hear(
        "rework",
        "the task is done again",
        _command("Only real months are exported"),
        actions=_NEXT,
        after={"reports": 8, **_FINISHED},
    ),
    _hear(
        "verified_again",
        "it is verified again",
        _verified("MH1 holds, also for wrong months"),
        actions=("ask_user",),
        after={"reports": 9, "waiting": ("accept",)},
    ),
    _take(
        "accept",
        "a person accepts it with issues",
        "accept",
        {"outcome": "accept_with_issues", "comment": "Old months are slow."},
        person="accept with issues",
        changes=(*_LOG, "SPEC.md", "HANDOFF.md", "archive/"),
        after=_IDLE,
    ),
    _take(
        "round_2",
        "the next round begins with nothing of the first",
        "start_round",
        {"name": "speed"},
        after={"round": 2, "is_open": True},
    ),
)
