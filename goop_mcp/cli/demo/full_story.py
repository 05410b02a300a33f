"""The story of the full demo: a project from the idea to the end of its second round.

It is data. `make scenarios` plays the same steps over every transport, protocol version and
database, and an oracle compares after each of them what every reader of the project finds.
"""

from typing import Final

from goop_mcp.cli.demo import full_texts as texts
from goop_mcp.cli.demo.full_player import Chapter, PlayStep
from goop_mcp.cli.demo.full_steps import (
    DIARY,
    GO_ON,
    LOCKED,
    LOG,
    accept,
    accept_unseen,
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

__all__ = ["CHAPTERS", "FIRST_WAVE", "IDEA", "PEOPLES_NOTE", "PLAN", "SECOND_WAVE"]

PEOPLES_NOTE: Final = "- Maria knows the old handbook; ask her about pages that have moved."
"""A line that a person writes into CHRONICLE.md; nothing may ever change it."""

_SPEC: Final = ".goopspec/SPEC.md"
_BLUEPRINT: Final = ".goopspec/BLUEPRINT.md"
_REQUIREMENTS: Final = ".goopspec/REQUIREMENTS.md"
_PLAN: Final = ("W1.T1", "W1.T2", "W2.T1", "W2.T2", "W3.T1")
_SECOND_PLAN: Final = ("W1.T1", "W1.T2", "W2.T1", "W3.T1")
_RULE_4: Final = (
    "RULE 4 DEVIATION: The handbook has 40 pages in a second folder, which SPEC.md does not name."
    " Options: A) Read one folder only (recommended), B) Take several folders"
)
_NEEDED: Final = "The tests need the folder tests/pages."


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
        create("the orchestrator creates the project", "linkcheck"),
        take(
            "execute_at_once",
            "it wants to begin the work at once",
            "start_phase",
            phase="execute",
            status="refused",
        ),
        take(
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
        take(
            "interview",
            "now the interview is complete",
            "complete_interview",
            changes=DIARY,
            after={"interview": True, "gates": ("Discovery",), "next": "/goop-plan"},
        ),
    ),
)

PLAN = Chapter(
    title="A specification that a person locks",
    steps=(
        begin("plan", "planning begins", "plan"),
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
        take(
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
        take(
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
        take(
            "lock_refused",
            "a person is asked, and does not lock it",
            "lock_spec",
            person="do not lock",
            status="refused",
        ),
        lock("lock", "a person is asked again, and locks it"),
        take(
            "unlock",
            "a person unlocks it, to correct a sentence",
            "unlock_spec",
            person="unlock",
            changes=(*LOG, "SPEC.md"),
            after={"locked": False, "gates": ("Discovery",), "next": "/goop-plan"},
        ),
        PlayStep(
            name="correction",
            title="the sentence is corrected",
            edits={_SPEC: ("find broken links before", "see broken links before")},
        ),
        lock("lock_again", "and the specification is locked for good"),
        begin("execute", "execution begins", "execute", wave=1),
    ),
)

FIRST_WAVE = Chapter(
    title="Wave 1: replies of every kind",
    steps=(
        hear(
            "no_envelope",
            "an agent says that it is done, and sends no report",
            "All pages are read now, and every test passes.",
            expected_agent="goop-executor",
            protocol="goop_report",
            status="rejected",
            actions=("request_repair",),
            findings=("goop_report/no-envelope",),
        ),
        hear(
            "cut_off",
            "its report is cut off in the middle",
            _FIRST[: _FIRST.index("<verification>") + 40],
            status="rejected",
            actions=("request_repair",),
            findings=("envelope/truncated",),
        ),
        hear(
            "false_claim",
            "it claims a file that does not exist",
            _FIRST,
            status="rejected",
            findings=("evidence/file-not-found",),
        ),
        hear(
            "w1_t1",
            "it writes the file and reports again",
            _FIRST,
            writes={"linkcheck/pages.py": texts.PAGES_SOURCE},
            actions=GO_ON,
            after={"reports": 1, "done": ("W1.T1",)},
        ),
        hear(
            "duplicate",
            "the same report arrives twice",
            _FIRST,
            status="duplicate",
        ),
        hear(
            "wrong_phase",
            "the agent of the next task reports another phase than the one it was asked for",
            _SECOND.replace("<phase>execute</phase>", "<phase>plan</phase>"),
            writes={"linkcheck/links.py": texts.LINKS_SOURCE},
            expected_phase="execute",
            status="rejected",
            actions=("request_repair",),
            findings=("goop_report/phase-mismatch",),
        ),
        hear(
            "contradiction",
            "it reports a check as passed, whose text counts failures",
            _SECOND.replace("12 tests passed", "10 passed, 2 failed"),
            status="rejected",
            actions=("request_repair",),
            findings=("goop_report/check-contradicts-itself",),
        ),
        hear(
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
        hear(
            "partial",
            "the agent goes on, and is not done",
            _partial("Links in code blocks are still found"),
            actions=("resume_same",),
            after={"reports": 3, "failed": (), "open": ("W1.T2",)},
        ),
        hear(
            "partial_2",
            "it is not done again",
            _partial("Links in code blocks of two lines are still found"),
            actions=("resume_same",),
            after={"reports": 4},
        ),
        hear(
            "partial_3",
            "and again",
            _partial("Links in code blocks without an end are still found"),
            actions=("resume_same",),
            after={"reports": 5},
        ),
        hear(
            "partial_4",
            "the server has counted: a person is asked",
            _partial("Links in indented code blocks are still found"),
            actions=("ask_user",),
            after={"reports": 6, "waiting": ("decide",)},
        ),
        hear(
            "w1_t2",
            "now it is done",
            _SECOND,
            actions=GO_ON,
            after={"reports": 7, "open": (), "done": ("W1.T1", "W1.T2"), "waiting": ()},
        ),
    ),
)

SECOND_WAVE = Chapter(
    title="Wave 2: a decision, a checkpoint and a new session",
    steps=(
        hear(
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
        decide(
            "decide",
            "a person decides",
            "W2.T1",
            "A",
            comment="The second folder is archived next month.",
            shows={
                "ADL.md": ("Read one folder only", "archived next month"),
                "CHRONICLE.md": ("Read one folder only",),
            },
            after={"blockers": (), "waiting": ()},
        ),
        finish(
            "w2_t1",
            "the agent goes on with the decision, and is done",
            "W2.T1",
            "Missing targets are reported once",
            "linkcheck/targets.py",
            of=(3, 2),
            then="W2.T2: Look for the anchors",
            writes=texts.TARGETS_SOURCE,
            after={"reports": 9, "open": (), "done": ("W1.T1", "W1.T2", "W2.T1")},
        ),
        hear(
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
            changes=(*DIARY, "HANDOFF.md", "checkpoints/"),
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
        take(
            "checkpoint",
            "it saves the position",
            "checkpoint",
            note="before the other pages",
            changes=(*DIARY, "HANDOFF.md", "checkpoints/"),
            shows={"HANDOFF.md": ("before the other pages", _ANCHORS_NEXT, _NEEDED)},
        ),
        take(
            "resume",
            "a new session begins, and resumes from there",
            "resume",
            new_session=True,
            changes=("state.json", "CHRONICLE.md"),
        ),
        finish(
            "w2_t2",
            "the agent of the new session finishes the task",
            "W2.T2",
            "Anchors of the page are found",
            "linkcheck/anchors.py",
            of=(3, 2),
            then="W3.T1: Write the command",
            writes='"""Look for anchors."""\n',
            after={"reports": 11, "open": (), "done": ("W1.T1", "W1.T2", "W2.T1", "W2.T2")},
        ),
    ),
)

CHANGE = Chapter(
    title="The contract changes, with a person's word",
    steps=(
        take(
            "research_illegal",
            "the orchestrator wants to go back to research, which no rule allows",
            "start_phase",
            phase="research",
            status="refused",
        ),
        take(
            "research_forced",
            "a person forces it, with a reason that is logged",
            "start_phase",
            phase="research",
            force=True,
            reason="Nobody knew that pages move to new names",
            person="force",
            changes=LOG,
            shows={"ADL.md": ("Nobody knew that pages move to new names",)},
            after={"phase": "research"},
        ),
        hear(
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
            actions=GO_ON,
            after={"reports": 12},
        ),
        begin("plan_again", "planning begins again", "plan", findings=("workflow/rework-edge",)),
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
        take(
            "amend",
            "a person amends the specification",
            "amend_spec",
            reason="Readers follow old links to moved pages",
            person="amend",
            changes=(*LOG, "SPEC.md"),
            shows={
                "SPEC.md": ("| amended | Readers follow old links to moved pages |",),
                "ADL.md": ("Readers follow old links to moved pages",),
            },
            after={"drift": (), "gates": LOCKED, "next": "/goop-execute"},
        ),
        take(
            "execute_again",
            "execution goes on; the task whose plan has changed is open again",
            "start_phase",
            phase="execute",
            changes=DIARY,
            says=("W2.T2",),
            after={
                "reports": 10,
                "phase": "execute",
                "done": ("W1.T1", "W1.T2", "W2.T1"),
                "wave": 2,
            },
        ),
        finish(
            "w2_t2_again",
            "it is done as the new plan wants it",
            "W2.T2",
            "Anchors of all pages are found",
            "linkcheck/anchors.py",
            of=(3, 2),
            then="W3.T1: Write the command",
            after={"reports": 11, "done": ("W1.T1", "W1.T2", "W2.T1", "W2.T2")},
        ),
    ),
)

THIRD_WAVE = Chapter(
    title="Wave 3, a rejection, and acceptance",
    steps=(
        finish(
            "w3_t1",
            "the command is written",
            "W3.T1",
            "The command has exit codes",
            "linkcheck/cli.py",
            of=(3, 2),
            then="W3.T2: List moved pages",
            writes=texts.CLI_SOURCE,
            after={"reports": 12, "wave": 3, "done": _PLAN},
        ),
        finish(
            "w3_t2",
            "the last task is done, and the execution gate opens",
            "W3.T2",
            "Moved pages are listed",
            "linkcheck/moved.py",
            of=(3, 2),
            writes='"""List moved pages."""\n',
            after={"reports": 13, "done": (*_PLAN, "W3.T2")},
        ),
        accept_unseen(
            "accept_unverified",
            "the orchestrator wants to accept without a verification",
            "a verification report",
        ),
        verify(
            "verification_failed",
            "the verifier finds a must-have that does not hold",
            {"MH1": True, "MH2": True, "MH3": True, "MH4": False},
            "Three of four must-haves hold",
            of=(3, 2),
            at="W3.T2",
            reports=14,
        ),
        accept_unseen(
            "accept_failed", "so it cannot be accepted", "every must-have reported as passed"
        ),
        reject(
            "a person rejects the result, and names the task to repeat",
            "W3.T2",
            "Moved pages are listed twice.",
            shows={"ADL.md": ("Moved pages are listed twice.",)},
            done=_PLAN,
            reports=12,
        ),
        finish(
            "rework",
            "the task is done again",
            "W3.T2",
            "Moved pages are listed once",
            "linkcheck/moved.py",
            of=(3, 2),
            after={"reports": 13, "done": (*_PLAN, "W3.T2")},
        ),
        verify(
            "verification",
            "the verifier finds every must-have fulfilled",
            {"MH1": True, "MH2": True, "MH3": True, "MH4": True},
            "All must-haves hold",
            of=(3, 2),
            at="W3.T2",
            reports=14,
        ),
        accept(
            "accept",
            "a person accepts: the round is closed, and its documents are archived",
            shows={
                "archive/round-1/SPEC.md": ("**Locked:** Yes", "### MH4"),
                "archive/round-1/BLUEPRINT.md": ("### Task 3.2: List moved pages",),
                "archive/round-1/CHRONICLE.md": (PEOPLES_NOTE, "40 pages in a second folder"),
            },
        ),
        hear(
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
        take(
            "second_round",
            "the next round begins",
            "start_round",
            name="web links",
            changes=DIARY,
            after={"round": 2, "is_open": True},
        ),
        skip_interview(
            "skip_interview",
            "a person skips the interview of this small round",
            "quick task: one option, agreed on by mail",
        ),
        begin("second_plan", "planning begins", "plan"),
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
        lock("second_lock", "a person locks it"),
        begin("second_execute", "execution begins, and no task is done", "execute", wave=1),
        finish(
            "second_w1_t1",
            "the first task has the number of one of round 1, and counts for this round",
            "W1.T1",
            "The sites of a page are found",
            "linkcheck/pages.py",
            of=(3, 2),
            then="W1.T2: Ask each site once",
            after={"reports": 16, "done": ("W1.T1",)},
        ),
        finish(
            "second_w1_t2",
            "the second task is done",
            "W1.T2",
            "Each site is asked once",
            "linkcheck/cache.py",
            of=(3, 2),
            then="W2.T1: Add the option",
            writes='"""Ask each site once."""\n',
            after={"reports": 17, "done": ("W1.T1", "W1.T2")},
        ),
        finish(
            "second_w2_t1",
            "the option is added",
            "W2.T1",
            "The option asks the sites",
            "linkcheck/cli.py",
            of=(3, 1),
            then="W3.T1: Wait for slow sites",
            after={"reports": 18, "wave": 2, "done": ("W1.T1", "W1.T2", "W2.T1")},
        ),
        finish(
            "second_w3_t1",
            "the last task is done",
            "W3.T1",
            "A slow site costs ten seconds",
            "linkcheck/wait.py",
            of=(3, 1),
            writes='"""Wait for slow sites."""\n',
            after={"reports": 19, "wave": 3, "done": _SECOND_PLAN},
        ),
        accept_unseen(
            "second_accept_unverified",
            "the verification of the first round does not count",
            "a verification report",
        ),
        verify(
            "second_verification",
            "the verifier finds the must-have fulfilled",
            {"MH1": True},
            "The must-have holds",
            of=(3, 1),
            at="W3.T1",
            reports=20,
        ),
        take(
            "merge",
            "a person confirms the merge",
            "confirm_merge",
            person="merge",
            changes=LOG,
        ),
        accept(
            "second_accept",
            "a person accepts, with issues",
            issues="Slow sites are left for later.",
        ),
        take(
            "reopen",
            "the person takes that back",
            "reopen_round",
            person="reopen",
            changes=(*LOG, "SPEC.md"),
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
        accept(
            "accept_again",
            "and accepts without issues: the project is at the end of its second round",
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
