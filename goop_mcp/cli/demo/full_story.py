"""The story of the full demo: a project from the idea to the end of its second round.

It is data. `make scenarios` plays the same steps over every transport, protocol version and
database, and verifies after each of them what every reader of the project finds.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pydantic import JsonValue

from goop_mcp.cli.demo import full_texts as texts
from goop_mcp.cli.demo.full_player import Chapter, PlayStep

__all__ = ["CHAPTERS", "FIRST_WAVE", "IDEA", "PEOPLES_NOTE", "PLAN", "SECOND_WAVE"]

PEOPLES_NOTE: Final = "- Maria knows the old handbook; ask her about pages that have moved."
"""A line that a person writes into CHRONICLE.md; nothing may ever change it."""

_SPEC: Final = ".goopspec/SPEC.md"
_BLUEPRINT: Final = ".goopspec/BLUEPRINT.md"
_REQUIREMENTS: Final = ".goopspec/REQUIREMENTS.md"
_PLAN: Final = ("W1.T1", "W1.T2", "W2.T1", "W2.T2", "W3.T1")
_SECOND_PLAN: Final = ("W1.T1", "W1.T2", "W2.T1", "W3.T1")
_LOG: Final = ("state.json", "CHRONICLE.md", "ADL.md")
_DIARY: Final = ("state.json", "CHRONICLE.md")
_RULE_4: Final = (
    "RULE 4 DEVIATION: The handbook has 40 pages in a second folder, which SPEC.md does not name."
    " Options: A) Read one folder only (recommended), B) Take several folders"
)
_NEEDED: Final = "The tests need the folder tests/pages."
_GO_ON: Final = ("save_state", "continue_next")


def _step(
    name: str,
    title: str,
    action: str,
    /,
    *,
    person: str | None = None,
    status: str = "done",
    says: tuple[str, ...] = (),
    findings: tuple[str, ...] = (),
    changes: tuple[str, ...] = (),
    shows: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
    after: Mapping[str, object] = MappingProxyType({}),
    new_session: bool = False,
    **arguments: JsonValue,
) -> PlayStep:
    """Return a call of update_project with `arguments`."""
    return PlayStep(
        name=name,
        title=title,
        tool="update_project",
        arguments={"action": action, **arguments},
        person=person,
        status=status,
        says=says,
        findings=findings,
        changes=changes,
        shows=shows,
        after=after,
        new_session=new_session,
    )


def _report(
    name: str,
    title: str,
    reply: str,
    /,
    *,
    writes: Mapping[str, str] = MappingProxyType({}),
    status: str = "recorded",
    actions: tuple[str, ...] = (),
    says: tuple[str, ...] = (),
    findings: tuple[str, ...] = (),
    changes: tuple[str, ...] = _DIARY,
    shows: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
    after: Mapping[str, object] = MappingProxyType({}),
    **arguments: JsonValue,
) -> PlayStep:
    """Return a call of record_report; a report that is recorded has no other `findings`."""
    is_recorded = status == "recorded"
    return PlayStep(
        name=name,
        title=title,
        writes=writes,
        tool="record_report",
        arguments={"text": reply, **arguments},
        status=status,
        actions=actions,
        says=says,
        findings=findings,
        changes=changes if is_recorded else (),
        shows=shows,
        after=after,
    )


def _links(
    summary: str,
    status: str = "COMPLETE",
    *,
    checks: str = texts.PASSED,
    next_action: str = "W2.T1: Look for the targets",
) -> str:
    """Return a report about W1.T2."""
    return texts.report(
        "W1.T2",
        status,
        of=(3, 2),
        summary=summary,
        file="linkcheck/links.py",
        checks=checks,
        next_action=next_action,
    )


_FIRST = texts.report(
    "W1.T1",
    of=(3, 2),
    summary="All pages of a folder are read",
    file="linkcheck/pages.py",
    next_action="W1.T2: Find the links of a page",
)
_SECOND = _links("The links of a page are found, with lines")
_ANCHORS_NEXT = "W2.T2: Look for the anchors in the other pages"


def _partial(summary: str) -> str:
    return _links(summary, "PARTIAL", next_action="W1.T2: Skip code blocks")


IDEA = Chapter(
    title="From an idea to requirements",
    steps=(
        PlayStep(
            name="nothing",
            title="the orchestrator asks for the status in an empty folder",
            tool="project_status",
        ),
        _step(
            "init",
            "the orchestrator creates the project",
            "init",
            name="linkcheck",
            changes=(
                "state.json",
                "REQUIREMENTS.md",
                "SPEC.md",
                "BLUEPRINT.md",
                "CHRONICLE.md",
                "ADL.md",
                ".gitignore",
                "hooks.json",
            ),
            after={"exists": True, "phase": "idle", "wave": 0, "next": "/goop-discuss"},
        ),
        _step(
            "execute_at_once",
            "it wants to begin the work at once",
            "start_phase",
            phase="execute",
            status="refused",
        ),
        _step(
            "interview_without_answers",
            "it says that the interview is complete, and nobody has answered anything",
            "complete_interview",
            status="refused",
            says=("at least one must-have", "at least one risk with mitigation"),
        ),
        PlayStep(
            name="requirements",
            title="a person answers; the answers are written into REQUIREMENTS.md",
            writes={_REQUIREMENTS: texts.REQUIREMENTS},
        ),
        _step(
            "interview",
            "now the interview is complete",
            "complete_interview",
            changes=_DIARY,
            after={"interview": True, "gates": ("Discovery",), "next": "/goop-plan"},
        ),
    ),
)

PLAN = Chapter(
    title="A specification that a person locks",
    steps=(
        _step(
            "plan",
            "planning begins",
            "start_phase",
            phase="plan",
            changes=_DIARY,
            after={"phase": "plan"},
        ),
        PlayStep(
            name="note",
            title="a person writes a note into CHRONICLE.md",
            edits={
                ".goopspec/CHRONICLE.md": (
                    "## Recent Activity\n",
                    f"## Learnings\n\n{PEOPLES_NOTE}\n\n## Recent Activity\n",
                )
            },
        ),
        _step(
            "execute_unlocked",
            "the orchestrator wants to execute without a specification",
            "start_phase",
            phase="execute",
            status="refused",
            says=("Specification not locked. Run /goop-plan to confirm and lock first.",),
        ),
        PlayStep(
            name="spec",
            title="the planner writes SPEC.md, and a plan that forgets a must-have",
            writes={_SPEC: texts.SPEC, _BLUEPRINT: texts.BLUEPRINT_WITH_GAP},
            after={"planned": _PLAN[:4], "drift": ("workflow/drift-coverage",)},
        ),
        _step(
            "lock_with_gap",
            "it cannot be locked",
            "lock_spec",
            status="refused",
            says=("MH3",),
        ),
        PlayStep(
            name="blueprint",
            title="the planner adds the missing task",
            writes={_BLUEPRINT: texts.BLUEPRINT},
            after={"planned": _PLAN, "drift": ()},
        ),
        _step(
            "lock_refused",
            "a person is asked, and does not lock it",
            "lock_spec",
            person="do not lock",
            status="refused",
        ),
        _step(
            "lock",
            "a person is asked again, and locks it",
            "lock_spec",
            person="lock",
            changes=(*_LOG, "SPEC.md"),
            after={"locked": True, "gates": ("Discovery", "Spec"), "next": "/goop-execute"},
        ),
        _step(
            "unlock",
            "a person unlocks it, to correct a sentence",
            "unlock_spec",
            person="unlock",
            changes=(*_LOG, "SPEC.md"),
            after={"locked": False, "gates": ("Discovery",), "next": "/goop-plan"},
        ),
        PlayStep(
            name="correction",
            title="the sentence is corrected",
            edits={_SPEC: ("find broken links before", "see broken links before")},
        ),
        _step(
            "lock_again",
            "and the specification is locked for good",
            "lock_spec",
            person="lock",
            changes=(*_LOG, "SPEC.md"),
            after={"locked": True, "gates": ("Discovery", "Spec"), "next": "/goop-execute"},
        ),
        _step(
            "execute",
            "execution begins",
            "start_phase",
            phase="execute",
            changes=_DIARY,
            after={"phase": "execute", "wave": 1},
        ),
    ),
)

FIRST_WAVE = Chapter(
    title="Wave 1: replies of every kind",
    steps=(
        _report(
            "no_envelope",
            "an agent says that it is done, and sends no report",
            "All pages are read now, and every test passes.",
            expected_agent="goop-executor",
            protocol="goop_report",
            status="rejected",
            actions=("request_repair",),
            findings=("goop_report/no-envelope",),
        ),
        _report(
            "cut_off",
            "its report is cut off in the middle",
            _FIRST[: _FIRST.index("<verification>") + 40],
            status="rejected",
            actions=("request_repair",),
            findings=("envelope/truncated",),
        ),
        _report(
            "false_claim",
            "it claims a file that does not exist",
            _FIRST,
            status="rejected",
            findings=("evidence/file-not-found",),
        ),
        _report(
            "w1_t1",
            "it writes the file and reports again",
            _FIRST,
            writes={"linkcheck/pages.py": texts.PAGES_SOURCE},
            actions=_GO_ON,
            after={"reports": 1, "done": ("W1.T1",)},
        ),
        _report(
            "duplicate",
            "the same report arrives twice",
            _FIRST,
            status="duplicate",
        ),
        _report(
            "wrong_phase",
            "the agent of the next task reports another phase than the one it was asked for",
            _SECOND.replace("<phase>execute</phase>", "<phase>plan</phase>"),
            writes={"linkcheck/links.py": texts.LINKS_SOURCE},
            expected_phase="execute",
            status="rejected",
            actions=("request_repair",),
            findings=("goop_report/phase-mismatch",),
        ),
        _report(
            "contradiction",
            "it reports a check as passed, whose text counts failures",
            _SECOND.replace("12 tests passed", "10 passed, 2 failed"),
            status="rejected",
            actions=("request_repair",),
            findings=("goop_report/check-contradicts-itself",),
        ),
        _report(
            "failed_check",
            "now the report is honest: complete, with a failed check",
            _links(
                "The links of a page are found",
                checks='    <check name="tests" passed="false">10 passed, 2 failed</check>',
            ),
            actions=("resume_same",),
            findings=("goop_report/complete-with-failed-check",),
            shows={"CHRONICLE.md": ("10 passed, 2 failed",)},
            after={"reports": 2, "failed": ("W1.T2",)},
        ),
        _report(
            "partial",
            "the agent goes on, and is not done",
            _partial("Links in code blocks are still found"),
            actions=("resume_same",),
            after={"reports": 3, "failed": (), "open": ("W1.T2",)},
        ),
        _report(
            "partial_2",
            "it is not done again",
            _partial("Links in code blocks of two lines are still found"),
            actions=("resume_same",),
            after={"reports": 4},
        ),
        _report(
            "partial_3",
            "and again",
            _partial("Links in code blocks without an end are still found"),
            actions=("resume_same",),
            after={"reports": 5},
        ),
        _report(
            "partial_4",
            "the server has counted: a person is asked",
            _partial("Links in indented code blocks are still found"),
            actions=("ask_user",),
            after={"reports": 6, "waiting": ("decide",)},
        ),
        _report(
            "w1_t2",
            "now it is done",
            _SECOND,
            actions=_GO_ON,
            after={"reports": 7, "open": (), "done": ("W1.T1", "W1.T2"), "waiting": ()},
        ),
    ),
)

SECOND_WAVE = Chapter(
    title="Wave 2: a decision, a checkpoint and a new session",
    steps=(
        _report(
            "rule_4",
            "an agent meets a question of architecture, and stops",
            texts.report(
                "W2.T1",
                "BLOCKED",
                of=(3, 2),
                summary="The second folder is not named in the specification",
                blockers=_RULE_4,
                next_agent="user",
                next_action="Decide which folders are read",
            ),
            actions=("ask_user",),
            says=("RULE 4", "Take several folders"),
            shows={"CHRONICLE.md": ("40 pages in a second folder", "Take several folders")},
            after={
                "reports": 8,
                "wave": 2,
                "open": ("W2.T1",),
                "blockers": (_RULE_4,),
                "waiting": ("decide",),
            },
        ),
        _step(
            "decide",
            "a person decides",
            "decide",
            task="W2.T1",
            choice="A",
            comment="The second folder is archived next month.",
            person="decide",
            changes=_LOG,
            shows={
                "ADL.md": ("Read one folder only", "archived next month"),
                "CHRONICLE.md": ("Read one folder only",),
            },
            after={"blockers": (), "waiting": ()},
        ),
        _report(
            "w2_t1",
            "the agent goes on with the decision, and is done",
            texts.report(
                "W2.T1",
                of=(3, 2),
                summary="Missing targets are reported once",
                file="linkcheck/targets.py",
                next_action="W2.T2: Look for the anchors",
            ),
            writes={"linkcheck/targets.py": texts.TARGETS_SOURCE},
            actions=_GO_ON,
            after={"reports": 9, "open": (), "done": ("W1.T1", "W1.T2", "W2.T1")},
        ),
        _report(
            "checkpoint_report",
            "an agent runs out of context and reports a checkpoint",
            texts.report(
                "W2.T2",
                "CHECKPOINT",
                of=(3, 2),
                summary="Anchors of one page are found; other pages are left",
                next_action=_ANCHORS_NEXT,
                new_session=True,
            ),
            actions=("save_state", "new_session"),
            changes=(*_DIARY, "HANDOFF.md", "checkpoints/"),
            shows={"HANDOFF.md": (_ANCHORS_NEXT, "Anchors of one page")},
            after={"reports": 10, "open": ("W2.T2",)},
        ),
        PlayStep(
            name="handoff",
            title="the orchestrator adds to the handoff before its session ends",
            tool="build_handoff",
            arguments={
                "kind": "session",
                "write": True,
                "warnings": [_NEEDED],
            },
            shows={"HANDOFF.md": (_ANCHORS_NEXT, "Anchors of one page", _NEEDED)},
            changes=("HANDOFF.md", "CHRONICLE.md"),
        ),
        _step(
            "checkpoint",
            "it saves the position",
            "checkpoint",
            note="before the other pages",
            changes=(*_DIARY, "HANDOFF.md", "checkpoints/"),
            shows={"HANDOFF.md": ("before the other pages", _ANCHORS_NEXT, _NEEDED)},
        ),
        _step(
            "resume",
            "a new session begins, and resumes from there",
            "resume",
            new_session=True,
            changes=("state.json", "CHRONICLE.md"),
        ),
        _report(
            "w2_t2",
            "the agent of the new session finishes the task",
            texts.report(
                "W2.T2",
                of=(3, 2),
                summary="Anchors of the page are found",
                file="linkcheck/anchors.py",
                next_action="W3.T1: Write the command",
            ),
            writes={"linkcheck/anchors.py": '"""Look for anchors."""\n'},
            actions=_GO_ON,
            after={"reports": 11, "open": (), "done": ("W1.T1", "W1.T2", "W2.T1", "W2.T2")},
        ),
    ),
)

CHANGE = Chapter(
    title="The contract changes, with a person's word",
    steps=(
        _step(
            "research_illegal",
            "the orchestrator wants to go back to research, which no rule allows",
            "start_phase",
            phase="research",
            status="refused",
        ),
        _step(
            "research_forced",
            "a person forces it, with a reason that is logged",
            "start_phase",
            phase="research",
            force=True,
            reason="Nobody knew that pages move to new names",
            person="force",
            changes=_LOG,
            shows={"ADL.md": ("Nobody knew that pages move to new names",)},
            after={"phase": "research"},
        ),
        _report(
            "research",
            "a researcher reports",
            texts.report(
                None,
                of=(3, 2),
                at="W2.T2",
                summary="The old names are in redirects.csv",
                file=".goopspec/RESEARCH.md",
                agent="goop-researcher",
                phase="research",
                next_agent="goop-planner",
                next_action="Plan the moved pages",
                next_command="/goop-plan",
            ),
            writes={".goopspec/RESEARCH.md": texts.RESEARCH},
            actions=_GO_ON,
            after={"reports": 12},
        ),
        _step(
            "plan_again",
            "planning begins again",
            "start_phase",
            phase="plan",
            findings=("workflow/rework-edge",),
            changes=_DIARY,
            after={"phase": "plan"},
        ),
        PlayStep(
            name="spec_changed",
            title="the planner changes the locked SPEC.md and the plan: everybody can see that",
            edits={
                _SPEC: (
                    "## Nice-to-Haves\n",
                    "### MH4: Moved pages are listed with their new names\n\n"
                    "- [ ] Every row of redirects.csv is used\n\n## Nice-to-Haves\n",
                )
            },
            writes={_BLUEPRINT: texts.AMENDED_BLUEPRINT},
            after={
                "planned": (*_PLAN, "W3.T2"),
                "drift": ("workflow/locked-spec-changed",),
                "gates": ("Discovery",),
                "next": "/goop-plan",
            },
        ),
        _step(
            "amend",
            "a person amends the specification",
            "amend_spec",
            reason="Readers follow old links to moved pages",
            person="amend",
            changes=(*_LOG, "SPEC.md"),
            shows={
                "SPEC.md": ("| amended | Readers follow old links to moved pages |",),
                "ADL.md": ("Readers follow old links to moved pages",),
            },
            after={"drift": (), "gates": ("Discovery", "Spec"), "next": "/goop-execute"},
        ),
        _step(
            "execute_again",
            "execution goes on; the task whose plan has changed is open again",
            "start_phase",
            phase="execute",
            changes=_DIARY,
            says=("W2.T2",),
            after={
                "reports": 10,
                "phase": "execute",
                "done": ("W1.T1", "W1.T2", "W2.T1"),
                "wave": 2,
            },
        ),
        _report(
            "w2_t2_again",
            "it is done as the new plan wants it",
            texts.report(
                "W2.T2",
                of=(3, 2),
                summary="Anchors of all pages are found",
                file="linkcheck/anchors.py",
                next_action="W3.T1: Write the command",
            ),
            actions=_GO_ON,
            after={"reports": 11, "done": ("W1.T1", "W1.T2", "W2.T1", "W2.T2")},
        ),
    ),
)

THIRD_WAVE = Chapter(
    title="Wave 3, a rejection, and acceptance",
    steps=(
        _report(
            "w3_t1",
            "the command is written",
            texts.report(
                "W3.T1",
                of=(3, 2),
                summary="The command has exit codes",
                file="linkcheck/cli.py",
                next_action="W3.T2: List moved pages",
            ),
            writes={"linkcheck/cli.py": texts.CLI_SOURCE},
            actions=_GO_ON,
            after={"reports": 12, "wave": 3, "done": _PLAN},
        ),
        _report(
            "w3_t2",
            "the last task is done, and the execution gate opens",
            texts.report(
                "W3.T2",
                of=(3, 2),
                summary="Moved pages are listed",
                file="linkcheck/moved.py",
                next_agent="goop-verifier",
                next_action="Verify every must-have",
                next_command="/goop-accept",
            ),
            writes={"linkcheck/moved.py": '"""List moved pages."""\n'},
            actions=_GO_ON,
            after={
                "reports": 13,
                "phase": "accept",
                "done": (*_PLAN, "W3.T2"),
                "gates": ("Discovery", "Spec", "Execution"),
                "next": "/goop-accept",
            },
        ),
        _step(
            "accept_unverified",
            "the orchestrator wants to accept without a verification",
            "accept",
            outcome="accept",
            status="refused",
            says=("a verification report",),
        ),
        _report(
            "verification_failed",
            "the verifier finds a must-have that does not hold",
            texts.verification(
                {"MH1": True, "MH2": True, "MH3": True, "MH4": False},
                of=(3, 2),
                at="W3.T2",
                summary="Three of four must-haves hold",
            ),
            actions=("resume_same",),
            findings=("goop_report/complete-with-failed-check",),
            after={"reports": 14},
        ),
        _step(
            "accept_failed",
            "so it cannot be accepted",
            "accept",
            outcome="accept",
            status="refused",
            says=("every must-have reported as passed",),
        ),
        _step(
            "reject",
            "a person rejects the result, and names the task to repeat",
            "accept",
            outcome="reject",
            tasks=["W3.T2"],
            comment="Moved pages are listed twice.",
            person="reject",
            findings=("workflow/rework-edge",),
            changes=_LOG,
            shows={"ADL.md": ("Moved pages are listed twice.",)},
            after={
                "reports": 12,
                "phase": "execute",
                "done": _PLAN,
                "gates": ("Discovery", "Spec"),
                "next": "/goop-execute",
            },
        ),
        _report(
            "rework",
            "the task is done again",
            texts.report(
                "W3.T2",
                of=(3, 2),
                summary="Moved pages are listed once",
                file="linkcheck/moved.py",
                next_agent="goop-verifier",
                next_action="Verify every must-have",
                next_command="/goop-accept",
            ),
            actions=_GO_ON,
            after={
                "reports": 13,
                "phase": "accept",
                "done": (*_PLAN, "W3.T2"),
                "gates": ("Discovery", "Spec", "Execution"),
                "next": "/goop-accept",
            },
        ),
        _report(
            "verification",
            "the verifier finds every must-have fulfilled",
            texts.verification(
                {"MH1": True, "MH2": True, "MH3": True, "MH4": True},
                of=(3, 2),
                at="W3.T2",
                summary="All must-haves hold",
            ),
            actions=("ask_user",),
            after={"reports": 14, "waiting": ("accept",)},
        ),
        _step(
            "accept",
            "a person accepts: the round is closed, and its documents are archived",
            "accept",
            outcome="accept",
            person="accept",
            changes=(*_LOG, "SPEC.md", "HANDOFF.md", "archive/"),
            shows={
                "archive/round-1/SPEC.md": ("**Locked:** Yes", "### MH4"),
                "archive/round-1/BLUEPRINT.md": ("### Task 3.2: List moved pages",),
                "archive/round-1/CHRONICLE.md": (PEOPLES_NOTE, "40 pages in a second folder"),
            },
            after={
                "waiting": (),
                "phase": "idle",
                "is_open": False,
                "interview": False,
                "locked": False,
                "wave": 0,
                "planned": (),
                "done": (),
                "gates": (),
                "next": "/goop-discuss",
            },
        ),
        _report(
            "late",
            "a report arrives when the round is closed: it is kept, and changes nothing",
            texts.report(
                "W3.T2",
                of=(3, 2),
                summary="Moved pages are sorted",
                file="linkcheck/moved.py",
                next_action="Go on",
            ),
            findings=(
                "evidence/state-differs",
                "evidence/state-differs",
                "workflow/round-closed",
            ),
            changes=("state.json", "CHRONICLE.md"),
            after={"reports": 15},
        ),
    ),
)

SECOND_ROUND = Chapter(
    title="The second round: the same task ids, and nothing is done",
    steps=(
        _step(
            "second_round",
            "the next round begins",
            "start_round",
            name="web links",
            changes=_DIARY,
            after={"round": 2, "is_open": True},
        ),
        _step(
            "skip_interview",
            "a person skips the interview of this small round",
            "skip_gate",
            gate="discovery",
            reason="quick task: one option, agreed on by mail",
            person="skip",
            changes=_LOG,
            after={"gates": ("Discovery",), "next": "/goop-plan"},
        ),
        _step(
            "second_plan",
            "planning begins",
            "start_phase",
            phase="plan",
            changes=_DIARY,
            after={"phase": "plan"},
        ),
        PlayStep(
            name="second_spec",
            title="the planner writes another specification and plan",
            writes={
                _REQUIREMENTS: texts.SECOND_REQUIREMENTS,
                _SPEC: texts.SECOND_SPEC,
                _BLUEPRINT: texts.SECOND_BLUEPRINT,
            },
            after={"planned": _SECOND_PLAN},
        ),
        _step(
            "second_lock",
            "a person locks it",
            "lock_spec",
            person="lock",
            changes=(*_LOG, "SPEC.md"),
            after={"locked": True, "gates": ("Discovery", "Spec"), "next": "/goop-execute"},
        ),
        _step(
            "second_execute",
            "execution begins, and no task is done",
            "start_phase",
            phase="execute",
            changes=_DIARY,
            after={"phase": "execute", "wave": 1},
        ),
        _report(
            "second_w1_t1",
            "the first task has the number of one of round 1, and counts for this round",
            texts.report(
                "W1.T1",
                of=(3, 2),
                summary="The sites of a page are found",
                file="linkcheck/pages.py",
                next_action="W1.T2: Ask each site once",
            ),
            actions=_GO_ON,
            after={"reports": 16, "done": ("W1.T1",)},
        ),
        _report(
            "second_w1_t2",
            "the second task is done",
            texts.report(
                "W1.T2",
                of=(3, 2),
                summary="Each site is asked once",
                file="linkcheck/cache.py",
                next_action="W2.T1: Add the option",
            ),
            writes={"linkcheck/cache.py": '"""Ask each site once."""\n'},
            actions=_GO_ON,
            after={"reports": 17, "done": ("W1.T1", "W1.T2")},
        ),
        _report(
            "second_w2_t1",
            "the option is added",
            texts.report(
                "W2.T1",
                of=(3, 1),
                summary="The option asks the sites",
                file="linkcheck/cli.py",
                next_action="W3.T1: Wait for slow sites",
            ),
            actions=_GO_ON,
            after={"reports": 18, "wave": 2, "done": ("W1.T1", "W1.T2", "W2.T1")},
        ),
        _report(
            "second_w3_t1",
            "the last task is done",
            texts.report(
                "W3.T1",
                of=(3, 1),
                summary="A slow site costs ten seconds",
                file="linkcheck/wait.py",
                next_agent="goop-verifier",
                next_action="Verify every must-have",
                next_command="/goop-accept",
            ),
            writes={"linkcheck/wait.py": '"""Wait for slow sites."""\n'},
            actions=_GO_ON,
            after={
                "reports": 19,
                "phase": "accept",
                "wave": 3,
                "done": _SECOND_PLAN,
                "gates": ("Discovery", "Spec", "Execution"),
                "next": "/goop-accept",
            },
        ),
        _step(
            "second_accept_unverified",
            "the verification of the first round does not count",
            "accept",
            outcome="accept",
            status="refused",
            says=("a verification report",),
        ),
        _report(
            "second_verification",
            "the verifier finds the must-have fulfilled",
            texts.verification({"MH1": True}, of=(3, 1), at="W3.T1", summary="The must-have holds"),
            actions=("ask_user",),
            after={"reports": 20, "waiting": ("accept",)},
        ),
        _step(
            "merge",
            "a person confirms the merge",
            "confirm_merge",
            person="merge",
            changes=_LOG,
        ),
        _step(
            "second_accept",
            "a person accepts, with issues",
            "accept",
            outcome="accept_with_issues",
            comment="Slow sites are left for later.",
            person="accept with issues",
            changes=(*_LOG, "SPEC.md", "HANDOFF.md", "archive/"),
            after={
                "waiting": (),
                "phase": "idle",
                "is_open": False,
                "locked": False,
                "wave": 0,
                "planned": (),
                "done": (),
                "gates": (),
                "next": "/goop-discuss",
            },
        ),
        _step(
            "reopen",
            "the person takes that back",
            "reopen_round",
            person="reopen",
            changes=(*_LOG, "SPEC.md"),
            after={
                "phase": "accept",
                "is_open": True,
                "locked": True,
                "wave": 3,
                "planned": _SECOND_PLAN,
                "done": _SECOND_PLAN,
                "gates": ("Discovery", "Spec", "Execution"),
                "next": "/goop-accept",
            },
        ),
        _step(
            "accept_again",
            "and accepts without issues: the project is at the end of its second round",
            "accept",
            outcome="accept",
            person="accept",
            changes=(*_LOG, "SPEC.md", "HANDOFF.md", "archive/"),
            after={
                "phase": "idle",
                "is_open": False,
                "locked": False,
                "wave": 0,
                "planned": (),
                "done": (),
                "gates": (),
                "next": "/goop-discuss",
            },
        ),
    ),
)

CHAPTERS: Final = (
    IDEA,
    PLAN,
    FIRST_WAVE,
    SECOND_WAVE,
    CHANGE,
    THIRD_WAVE,
    SECOND_ROUND,
)
