"""Another story: a shop exports its orders, and people decide more often than agents report.

Its agents repeat an untrue claim, stop for a decision that is replaced later, and finish work that
a person rejects; its second round begins with nothing of the first.
"""

from goop_mcp.cli.demo.full_player import PlayStep
from goop_mcp.cli.demo.full_steps import (
    DIARY,
    GO_ON,
    accept,
    begin,
    create,
    decide,
    finish,
    hear,
    lock,
    reject,
    skip_interview,
    take,
    verify,
)
from goop_mcp.cli.demo.full_texts import report

__all__ = ["ORDERS"]

_PLAN = ("W1.T1", "W1.T2", "W2.T1")
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


_READ = report(
    "W1.T1",
    of=(2, 2),
    summary="Orders are read by month",
    file="orders/read.py",
    next_action="W1.T2: Write the rows",
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


ORDERS: tuple[PlayStep, ...] = (
    create("the project is created", "orders"),
    skip_interview(
        "skip", "a person skips the interview", "quick task: the accountants have asked by mail"
    ),
    begin("plan", "planning begins", "plan"),
    PlayStep(
        name="documents",
        title="the planner writes both documents",
        writes={".goopspec/SPEC.md": _SPEC, ".goopspec/BLUEPRINT.md": _BLUEPRINT},
        after={"planned": _PLAN},
    ),
    lock("lock", "a person locks the specification"),
    begin("execute", "execution begins", "execute", wave=1),
    hear(
        "untrue",
        "an agent names a file that is not there",
        _READ,
        status="rejected",
        findings=("evidence/file-not-found",),
    ),
    hear(
        "untrue_again",
        "it sends the same again: a person is asked",
        _READ,
        status="rejected",
        actions=("ask_user",),
        findings=("evidence/file-not-found",),
        changes=("CHRONICLE.md",),
        after={"waiting": ("decide",)},
    ),
    decide(
        "decide_untrue",
        "the person decides how it goes on",
        "W1.T1",
        "Read the orders from the archive",
        after={"waiting": ()},
    ),
    hear(
        "read",
        "now the file is there",
        _READ,
        writes={"orders/read.py": '"""Read orders."""\n'},
        actions=GO_ON,
        after={"reports": 1, "done": ("W1.T1",)},
    ),
    hear(
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
    decide(
        "decide_columns",
        "a person decides",
        "W1.T2",
        "A",
        comment="Addresses are not needed.",
        after={"blockers": (), "waiting": ()},
    ),
    decide(
        "decide_again",
        "the accountants call, and the decision is replaced",
        "W1.T2",
        "B",
        comment="They write letters after all.",
    ),
    finish(
        "rows",
        "the rows are written",
        "W1.T2",
        "Each order is one line",
        "orders/rows.py",
        of=(2, 2),
        then="W2.T1: Add the command",
        writes='"""Write rows."""\n',
        after={"reports": 3, "open": (), "done": ("W1.T1", "W1.T2")},
    ),
    hear(
        "region",
        "an agent that works for no task stops for a decision",
        _REGION_ASKED,
        actions=("ask_user",),
        after={"reports": 4, "blockers": (_REGION,), "waiting": ("decide",)},
    ),
    hear(
        "currency",
        "it stops once more, for another one: both wait",
        _CURRENCY_ASKED,
        actions=("ask_user",),
        after={"reports": 5, "blockers": (_CURRENCY, _REGION), "waiting": ("decide", "decide")},
    ),
    hear(
        "region_twice",
        "the orchestrator sends the first again, which is the same report",
        _REGION_ASKED,
        status="duplicate",
    ),
    decide(
        "decide_region",
        "the person decides one of them",
        "report 4",
        "B",
        after={"blockers": (_CURRENCY,), "waiting": ("decide",)},
    ),
    hear(
        "region_again",
        "the agent is still stopped by the same, and says so in the same words",
        _REGION_ASKED,
        actions=("ask_user",),
        after={"reports": 6, "blockers": (_REGION, _CURRENCY), "waiting": ("decide", "decide")},
    ),
    decide(
        "decide_region_again",
        "the person decides once more",
        "report 6",
        "A",
        after={"blockers": (_CURRENCY,), "waiting": ("decide",)},
    ),
    hear(
        "currency_found",
        "a report that names the other one goes on without its blocker",
        _looked("The orders state it").replace(
            "</agent>", "</agent>\n  <task_id>report 5</task_id>", 1
        ),
        actions=GO_ON,
        after={"reports": 7, "blockers": (), "waiting": ()},
    ),
    finish(
        "command",
        "the last task is done",
        "W2.T1",
        "The month is an argument",
        "orders/cli.py",
        of=(2, 1),
        writes='"""The command."""\n',
        after={"reports": 8, "wave": 2, "done": _PLAN},
    ),
    verify(
        "verified",
        "the verifier finds the must-have fulfilled, and a person is to accept",
        {"MH1": True},
        "MH1 holds",
        of=(2, 1),
        at="W2.T1",
        reports=9,
    ),
    reject(
        "the person rejects it: the question is gone, and the task is open again",
        "W2.T1",
        "The month 13 is exported too.",
        done=("W1.T1", "W1.T2"),
        reports=7,
    ),
    finish(
        "rework",
        "the task is done again",
        "W2.T1",
        "Only real months are exported",
        "orders/cli.py",
        of=(2, 1),
        after={"reports": 8, "wave": 2, "done": _PLAN},
    ),
    verify(
        "verified_again",
        "it is verified again",
        {"MH1": True},
        "MH1 holds, also for wrong months",
        of=(2, 1),
        at="W2.T1",
        reports=9,
    ),
    accept("accept", "a person accepts it with issues", issues="Old months are slow."),
    take(
        "round_2",
        "the next round begins with nothing of the first",
        "start_round",
        name="speed",
        changes=DIARY,
        after={"round": 2, "is_open": True},
    ),
)
