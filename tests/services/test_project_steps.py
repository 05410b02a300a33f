"""A project goes through its life by steps alone; what needs a person waits for one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from goop_mcp.context import AppContext
from goop_mcp.errors import StateReadOnlyError, UnknownNameError
from goop_mcp.routing import RoutingContext
from goop_mcp.services.project_context import ProjectContext
from goop_mcp.services.project_status import project_status
from goop_mcp.services.project_step import calls_for_commands, person_command
from goop_mcp.services.project_steps import (
    ProjectStep,
    StepArgumentError,
    StepResult,
    answer_confirmation,
    take_step,
)
from goop_mcp.services.project_steps.taking import STEPS
from goop_mcp.services.record_report import Judged, record_report
from goop_mcp.services.session_contents import NOTHING_GIVEN
from goop_mcp.services.session_handoff import build_session_handoff
from goop_mcp.settings import Settings
from goop_mcp.workspace.documents.handoff import NextTask, read_handoff
from goop_mcp.workspace.state import ProjectState, read_state
from tests.requirements import requirement
from tests.services.reporting import NOW, record, report, working_in

REQUIREMENTS = """\
# REQUIREMENTS: Shop

## Vision

People buy tea online. They pay with a card. They get it the next day.

## Must-Haves

- A cart
- A payment

## Out of Scope

- Refunds

## Constraints

- Python only

## Assumptions

- The bank answers

## Risks

| Risk | Mitigation |
|---|---|
| The bank is down | Ask again later |
"""

SPEC = """\
# SPEC: Shop

**Version:** 0.1
**Status:** Draft
**Locked:** No
**Locked At:** –

## Must-Haves

### MH1: A cart

- [ ] Tea can be added

**Traced To:** W1.T1

### MH2: A payment

- [ ] A card is charged

**Traced To:** W1.T2, W2.T1

## Amendment History

| Version | Date | Change | Reason |
|---|---|---|---|

## Verification Protocol

Run the tests.
"""

BLUEPRINT = """\
# BLUEPRINT: Shop

## Wave 1: Base

### Task 1.1: Cart

Intent: Build the cart.

### Task 1.2: Payment

Intent: Charge a card.

## Wave 2: Polish

### Task 2.1: Receipts

Intent: Send a receipt.
"""

VERIFIED = """\
<goop_report version="0.1.6">
  <status>COMPLETE</status>
  <agent>goop-verifier</agent>
  <state><phase>accept</phase></state>
  <summary>{summary}</summary>
  <artifacts><files/><commits/></artifacts>
  <memory/>
  <verification><check name="MH1" passed="true">ran</check>
    <check name="MH2" passed="true">ran</check></verification>
  <handoff>
    <ready>true</ready>
    <next_action agent="user">Accept the work</next_action>
    <blockers>None</blockers>
    <suggest_new_session>false</suggest_new_session>
    <next_command>/goop-accept</next_command>
  </handoff>
</goop_report>
"""


class Player:
    """Takes steps in a project; a person at a terminal answers."""

    def __init__(self, context: ProjectContext) -> None:
        self.context = context
        self.documents = context.files.root / ".goopspec"

    def step(self, action: str, **arguments: object) -> StepResult:
        step = ProjectStep(action=action, **cast("dict[str, Any]", arguments))
        return take_step(self.context, step, by="goop-orchestrator", now=NOW)

    def done(self, action: str, **arguments: object) -> StepResult:
        result = self.step(action, **arguments)
        assert result.status == "done", result
        return result

    def confirmed(self, action: str, **arguments: object) -> StepResult:
        asked = self.step(action, **arguments)
        assert asked.status == "waiting", asked
        assert asked.confirmation is not None
        result = self.answer(asked.confirmation.id)
        assert result.status == "done", result
        return result

    def answer(self, id: int, *, accept: bool = True) -> StepResult:
        return answer_confirmation(self.context, id, accept=accept, via="terminal ann", now=NOW)

    def write(self, name: str, text: str) -> None:
        (self.documents / name).write_text(text, encoding="utf-8")

    def read(self, name: str) -> str:
        return (self.documents / name).read_text(encoding="utf-8")

    def report(self, task: str, wave: str, **parts: str) -> None:
        recorded = record(self.context, report(task, wave=wave, **parts))
        assert recorded.status == "recorded", recorded

    def verify(self, summary: str = "All must-haves passed.") -> None:
        assert record(self.context, VERIFIED.format(summary=summary)).status == "recorded"

    def drift(self) -> list[str]:
        status = project_status(self.context)
        return [each.rule for each in status.drift if each.severity != "info"]

    def planned(self) -> None:
        """Bring an empty project to the end of phase plan, with nothing locked."""
        self.done("init", name="Shop")
        self.done("start_phase", phase="plan")
        self.write("REQUIREMENTS.md", REQUIREMENTS)
        self.done("complete_interview")
        self.write("SPEC.md", SPEC)
        self.write("BLUEPRINT.md", BLUEPRINT)

    def executing(self) -> None:
        """Bring an empty project into execution."""
        self.planned()
        self.confirmed("lock_spec")
        self.done("start_phase", phase="execute")

    def accepting(self) -> None:
        """Bring an empty project to acceptance, all tasks done and verified."""
        self.executing()
        for task, wave in (("W1.T1", "1"), ("W1.T2", "1"), ("W2.T1", "2")):
            self.report(task, wave)
        self.verify()


@pytest.fixture
def player(tmp_path: Path) -> Iterator[Player]:
    with working_in(tmp_path) as context:
        yield Player(context)


@pytest.mark.parametrize("action", STEPS)
def test_a_refused_step_leaves_an_empty_folder_empty(tmp_path: Path, action: str) -> None:
    with AppContext(Settings(project=tmp_path)) as application:
        context = application.writing_context()
        step = ProjectStep(
            action=action, phase="plan", reason="r", gate="discovery", outcome="accept"
        )
        refused = take_step(context, step, by="ann", now=NOW)
        with pytest.raises(StepArgumentError, match="no confirmation 1"):
            answer_confirmation(context, 1, accept=True, via="ann", now=NOW)

    assert refused.status == "refused"
    assert refused.command == "goop-mcp init"
    assert list(tmp_path.iterdir()) == []


def test_a_project_goes_through_two_rounds_without_an_edit_of_ours_by_hand(player: Player) -> None:
    player.accepting()
    status = project_status(player.context)
    assert status.phase == "accept"
    assert player.drift() == []

    closed = player.confirmed("accept", outcome="accept")
    assert (closed.phase, closed.round) == ("idle", 1)
    archive = player.documents / "archive" / "round-1"
    assert sorted(path.name for path in archive.iterdir()) == [
        "BLUEPRINT.md",
        "CHRONICLE.md",
        "REQUIREMENTS.md",
        "SPEC.md",
    ] or "HANDOFF.md" in {path.name for path in archive.iterdir()}
    assert "**Locked:** Yes" in (archive / "SPEC.md").read_text(encoding="utf-8")
    status = project_status(player.context)
    assert (status.phase, status.round.is_open, status.next_command) == (
        "idle",
        False,
        "/goop-discuss",
    )
    assert player.drift() == []

    # The second round has the same task ids, and nothing of the first counts in it.
    opened = player.done("start_phase", phase="plan")
    assert opened.round == 2
    assert [gate.passed for gate in project_status(player.context).gates] == [False] * 4
    player.write("REQUIREMENTS.md", REQUIREMENTS + "\nSecond round.\n")
    player.done("complete_interview")
    player.write("SPEC.md", player.read("SPEC.md") + "\nSecond round.\n")
    player.write("BLUEPRINT.md", BLUEPRINT + "\nSecond round.\n")
    player.confirmed("lock_spec")
    player.done("start_phase", phase="execute")
    status = project_status(player.context)
    assert [task.status for task in status.tasks] == ["pending"] * 3
    player.report("W1.T1", "1", summary="The cart of the second round.")
    status = project_status(player.context)
    assert (status.phase, [task.status for task in status.tasks]) == (
        "execute",
        ["done", "pending", "pending"],
    )
    assert player.drift() == []


def test_nothing_is_locked_before_a_person_confirms(player: Player) -> None:
    player.planned()
    asked = player.step("lock_spec")
    assert asked.status == "waiting"
    assert asked.command == "goop-mcp project lock"
    assert asked.choices == ("lock", "do not lock")
    assert asked.question[0] == "Lock the specification of Shop?"
    assert len(asked.question) <= 3
    assert all(len(line) <= 100 for line in asked.question)
    assert "**Locked:** No" in player.read("SPEC.md")
    (waiting,) = project_status(player.context).waiting
    assert (waiting.action, waiting.command) == ("lock_spec", "goop-mcp project lock")

    # Asking again does not add a second request.
    again = player.step("lock_spec")
    assert asked.confirmation is not None
    assert again.confirmation is not None
    assert again.confirmation.id == asked.confirmation.id

    locked = player.answer(asked.confirmation.id)
    assert locked.status == "done"
    assert "**Locked:** Yes" in player.read("SPEC.md")
    assert f"**Locked At:** {NOW}" in player.read("SPEC.md")
    assert "Confirmed: terminal ann" in player.read("ADL.md")
    assert project_status(player.context).waiting == ()
    assert player.drift() == []

    # An answer is used once.
    assert player.answer(asked.confirmation.id).status == "unchanged"


@requirement("G-58")
@pytest.mark.parametrize(
    ("document", "text", "named"),
    [
        ("SPEC.md", SPEC.replace("### MH2", "### MH1"), "MH1 in lines 10 and 16"),
        ("BLUEPRINT.md", BLUEPRINT.replace("Task 1.2", "Task 1.1"), "W1.T1 in lines 5 and 9"),
    ],
    ids=["must-have", "task"],
)
def test_what_is_defined_twice_is_not_locked_and_not_amended(
    player: Player, document: str, text: str, named: str
) -> None:
    player.planned()
    sound = player.read(document)
    player.write(document, text)
    refused = player.step("lock_spec")
    assert refused.status == "refused"
    assert f"{document} defines {named}; expected once" in refused.missing
    assert player.drift().count("workflow/repeated-id") == 1
    assert named in project_status(player.context).to_markdown()

    player.write(document, sound)
    assert "workflow/repeated-id" not in player.drift()
    player.confirmed("lock_spec")
    player.write("SPEC.md", player.read("SPEC.md") + "\nMore.\n")
    player.write(document, text if document != "SPEC.md" else f"{text}\nMore.\n")
    amended = player.step("amend_spec", reason="more")
    assert amended.status == "refused"
    assert any(named.split(" in ", maxsplit=1)[0] in each for each in amended.missing)


def test_a_refusal_changes_nothing_and_is_kept(player: Player) -> None:
    player.planned()
    asked = player.step("lock_spec")
    assert asked.confirmation is not None
    refused = player.answer(asked.confirmation.id, accept=False)
    assert refused.status == "refused"
    assert "**Locked:** No" in player.read("SPEC.md")
    assert player.answer(asked.confirmation.id).status == "refused"
    assert project_status(player.context).waiting == ()


def test_a_document_that_changed_since_the_question_is_not_locked(player: Player) -> None:
    player.planned()
    asked = player.step("lock_spec")
    player.write("SPEC.md", SPEC + "\nAnd one line more.\n")
    assert asked.confirmation is not None
    late = player.answer(asked.confirmation.id)
    assert late.status == "refused"
    assert "has changed since it was asked" in late.message
    assert not project_status(player.context).spec_locked


def test_steps_out_of_order_name_what_is_missing(player: Player) -> None:
    assert player.step("start_phase", phase="plan").command == "goop-mcp init"
    player.done("init", name="Shop")
    early = player.step("complete_interview")
    assert early.status == "refused"
    assert "at least one must-have" in early.missing
    player.done("start_phase", phase="plan")
    assert player.step("lock_spec").missing[0] == "a complete interview"
    closed = player.step("start_phase", phase="execute")
    assert (closed.status, closed.command) == ("refused", "/goop-discuss")
    illegal = player.step("start_phase", phase="accept")
    assert "a move from plan to research" in illegal.missing
    assert player.step("accept", outcome="accept").status == "refused"
    assert project_status(player.context).phase == "plan"


def test_the_next_round_names_the_step_that_is_possible_now(player: Player) -> None:
    player.executing()
    early = player.step("start_round")
    assert (early.status, early.command) == ("refused", "/goop-execute")
    for task, wave in (("W1.T1", "1"), ("W1.T2", "1"), ("W2.T1", "2")):
        player.report(task, wave)

    assert player.step("start_round").command == "/goop-accept"
    player.verify()
    command = player.step("start_round").command
    assert command == "goop-mcp project accept --outcome accept"
    player.confirmed("accept", outcome="accept")


def test_documents_of_the_last_round_are_named_as_such_and_not_as_missing(player: Player) -> None:
    player.accepting()
    player.confirmed("accept", outcome="accept")
    player.done("start_round")
    player.done("start_phase", phase="plan")
    refused = player.step("complete_interview")
    old = "REQUIREMENTS.md of this round (it still is the text of round 1)"
    assert refused.missing == (old,)
    assert f"- ✗ {old}" in refused.message

    status = project_status(player.context)
    assert status.gates[0].missing == ("a complete interview", old)
    assert "BLUEPRINT.md of this round (it still is the text of round 1)" in status.gates[1].missing
    assert status.gates[2].sentence == (
        "Execution incomplete. No tasks are known: BLUEPRINT.md still is the text of round 1."
    )
    assert status.plan_note == "BLUEPRINT.md still is the plan of round 1; /goop-plan replaces it."

    player.write("REQUIREMENTS.md", REQUIREMENTS.replace("- Python only\n", ""))
    assert player.step("complete_interview").missing == ("constraints",)
    player.write("BLUEPRINT.md", "# BLUEPRINT: Shop\n\nLater.\n")
    status = project_status(player.context)
    assert "holds no tasks that can be read" in str(status.plan_note)
    assert "is missing or has none" in str(status.gates[2].sentence)


@pytest.mark.parametrize(
    ("command", "call"),
    [
        ("`goop-mcp project phase plan`", '`update_project(action="start_phase", phase="plan")`'),
        ("goop-mcp project resume, then", 'update_project(action="resume"), then'),
        ("goop-mcp project round --reopen.", 'update_project(action="reopen_round").'),
        ("goop-mcp project amend --reason …", 'update_project(action="amend_spec", reason="…")'),
        (
            "goop-mcp project skip-gate discovery",
            'update_project(action="skip_gate", gate="discovery")',
        ),
        ("goop-mcp status", "project_status()"),
        ("`goop-mcp init` with the same --database", "`goop-mcp init` with the same --database"),
        ("goop-mcp project lock --database …", "goop-mcp project lock --database …"),
        ("goop-mcp ui", "goop-mcp ui"),
    ],
)
def test_a_command_of_a_terminal_has_its_call(command: str, call: str) -> None:
    assert calls_for_commands(command) == call


def test_each_command_that_a_person_confirms_has_the_call_of_its_step() -> None:
    for action in STEPS:
        step = ProjectStep(action=action, phase="plan", gate="discovery", outcome="accept")
        assert calls_for_commands(person_command(step)).startswith(
            f'update_project(action="{action}"'
        )


def test_one_must_have_is_singular(player: Player) -> None:
    player.planned()
    second = SPEC[SPEC.index("### MH2") : SPEC.index("## Amendment")]
    player.write("SPEC.md", SPEC.replace(second, ""))
    asked = player.step("lock_spec")
    assert any("1 must-have, all traced to tasks" in line for line in asked.question)


def test_a_must_have_without_a_task_is_not_locked(player: Player) -> None:
    player.planned()
    player.write("SPEC.md", SPEC.replace("**Traced To:** W1.T1\n", ""))
    refused = player.step("lock_spec")
    assert refused.status == "refused"
    assert "MH1 is traced to no task" in refused.missing


@requirement("G-62")
def test_a_locked_contract_changes_only_by_an_amendment(player: Player) -> None:
    player.executing()
    assert player.step("amend_spec", reason="a gift card").status == "refused"

    player.write(
        "SPEC.md", player.read("SPEC.md").replace("A card is charged", "A gift card counts")
    )
    assert player.drift() == ["workflow/locked-spec-changed"]
    asked = player.step("amend_spec", reason="gift cards are wanted")
    assert asked.status == "waiting"
    assert "lines added: 1, removed: 1" in asked.question[0]

    # A person at the terminal does not repeat the reason.
    same = player.step("amend_spec")
    assert asked.confirmation is not None
    assert same.confirmation is not None
    assert same.confirmation.id == asked.confirmation.id
    assert player.answer(asked.confirmation.id).status == "done"
    assert "gift cards are wanted" in player.read("SPEC.md").partition("## Amendment History")[2]
    assert "**Version:** 0.2" in player.read("SPEC.md")
    assert player.drift() == []


def test_a_new_plan_opens_the_tasks_whose_definition_changed(player: Player) -> None:
    player.executing()
    player.report("W1.T1", "1")
    player.report("W1.T2", "1")
    back = player.done("start_phase", phase="plan")
    assert [finding.rule for finding in back.findings] == ["workflow/rework-edge"]
    player.write("BLUEPRINT.md", BLUEPRINT.replace("Charge a card.", "Charge a card twice."))
    again = player.done("start_phase", phase="execute")
    assert "W1.T2" in again.message
    standing = {task.id: task.status for task in project_status(player.context).tasks}
    assert standing == {"W1.T1": "done", "W1.T2": "pending", "W2.T1": "pending"}

    # The same report counts once more.
    player.report("W1.T2", "1")


def test_a_plan_amended_before_execution_opens_the_changed_tasks_and_their_wave(
    player: Player,
) -> None:
    player.executing()
    player.report("W1.T1", "1")
    player.report("W1.T2", "1")
    player.done("start_phase", phase="plan")
    player.write(
        "SPEC.md", player.read("SPEC.md").replace("## Must-Haves", "Twice.\n\n## Must-Haves")
    )
    player.write("BLUEPRINT.md", BLUEPRINT.replace("Charge a card.", "Charge a card twice."))
    player.confirmed("amend_spec", reason="some cards need it")
    assert "- **Next Step:** `/goop-execute`" in player.read("CHRONICLE.md")
    player.done("start_phase", phase="execute")

    standing = {task.id: task.status for task in project_status(player.context).tasks}
    assert standing == {"W1.T1": "done", "W1.T2": "pending", "W2.T1": "pending"}
    assert project_status(player.context).current_wave == 1


def test_a_person_decides_on_a_blocker(player: Player) -> None:
    player.executing()
    blocker = "RULE 4 DEVIATION: which database? Options: A) SQLite, B) PostgreSQL"
    player.report("W1.T1", "1", status="BLOCKED", blockers=blocker)
    assert len(project_status(player.context).blockers) == 1
    with pytest.raises(StepArgumentError, match="one of A, B"):
        player.step("decide", task="W1.T1")
    assert player.step("decide", task="W9.T9", choice="A").status == "refused"

    assert player.step("decide", task="W1.T1", choice="b").status == "waiting"
    assert len(project_status(player.context).blockers) == 1
    decided = player.confirmed("decide", task="1.1", choice="b")
    assert "PostgreSQL" in decided.message
    assert "Confirmed: terminal ann" in player.read("ADL.md")
    assert project_status(player.context).blockers == ()
    assert project_status(player.context).decisions == (
        "W1.T1: B) PostgreSQL (terminal ann, 2026-01-20)",
    )

    # A later report of the task may be blocked again.
    player.report("W1.T1", "1", status="BLOCKED", blockers="Nobody has the password")
    assert project_status(player.context).blockers == ("Nobody has the password",)


def test_a_decision_on_an_agent_is_about_the_blocker_that_was_shown(player: Player) -> None:
    player.executing()
    untasked = report("", "BLOCKED", blockers=TWO_OPTIONS).replace("<task_id></task_id>", "")
    number = record(player.context, untasked).written.report
    asked = player.step("decide", task="(goop-executor)", choice="A")
    assert asked.command == f"goop-mcp project decide --task 'report {number}'"
    call = f'update_project(action="decide", task="report {number}")'
    assert calls_for_commands(asked.command) == call
    # Another one comes before the answer.
    later = record(player.context, untasked.replace("which database", "which queue"))
    assert asked.confirmation is not None
    assert player.answer(asked.confirmation.id).status == "done"
    (waiting,) = project_status(player.context).waiting
    assert waiting.task == f"report {later.written.report}"


def test_a_blocked_task_is_called_blocked_and_not_failed(player: Player) -> None:
    player.executing()
    player.report(
        "W1.T1", "1", status="BLOCKED", blockers="RULE 4 DEVIATION: A) x?", passed="false"
    )
    assert "- W1.T1 Cart: blocked\n" in player.read("CHRONICLE.md")
    assert "BLOCKED, and 1 check failed" in player.read("CHRONICLE.md")
    assert "Cart (blocked)" in project_status(player.context).to_markdown()
    (player.documents / "BLUEPRINT.md").unlink()
    status = project_status(player.context)
    assert "blocked: W1.T1" in status.to_markdown()
    assert status.to_dict()["reported"]["failed"] == ["W1.T1"]
    player.confirmed("decide", task="W1.T1", choice="A")
    assert "failed: W1.T1" in project_status(player.context).to_markdown()


def test_attempts_begin_again_after_a_decision(player: Player) -> None:
    player.executing()
    for number in range(4):
        player.report("W1.T1", "1", status="PARTIAL", summary=f"Part {number}.")
    player.report("W1.T1", "1", status="BLOCKED", blockers="RULE 4 DEVIATION: A) x, B) y?")
    counted = player.context.store.read(lambda reading: reading.counters(round=1, task="W1.T1"))
    assert counted
    player.confirmed("decide", task="W1.T1", choice="A")
    assert player.context.store.read(lambda reading: reading.counters(round=1, task="W1.T1")) == {}


TWO_OPTIONS = "RULE 4 DEVIATION: which database? Options: A) SQLite, B) PostgreSQL (recommended)"


def blocked(player: Player, blockers: str = TWO_OPTIONS) -> None:
    player.executing()
    player.report("W1.T1", "1", status="BLOCKED", blockers=blockers)


def test_a_project_that_allows_it_records_what_an_agent_decides_as_its_report(
    player: Player,
) -> None:
    blocked(player)
    player.write("hooks.json", '{"confirm_decisions": false}')
    decided = player.done("decide", task="W1.T1", choice="A", comment="It is enough.")

    assert project_status(player.context).blockers == ()
    (shown,) = project_status(player.context).decisions
    assert shown == "W1.T1: A) SQLite. It is enough. (reported by goop-orchestrator, 2026-01-20)"
    for text in (player.read("ADL.md"), player.read("CHRONICLE.md").split("decision for")[1]):
        assert "eported by goop-orchestrator" in text
    assert "no person was asked" in player.read("ADL.md")
    # Of this decision nothing says that a person confirmed it: only the lock before it was.
    assert player.read("ADL.md").count("Confirmed") == 1
    assert "confirmed" not in decided.message.lower()

    # A person may replace it, and an agent never what a person decided.
    player.confirmed("decide", task="W1.T1", choice="B")
    assert player.step("decide", task="W1.T1", choice="A").status == "waiting"


@pytest.mark.parametrize(
    "choice",
    ["C", "A, B", "A B", "keep both", "1", "\u0410", "A) PostgreSQL", "yes", "recommended"],
)
def test_only_an_option_that_the_report_lists_is_a_choice(player: Player, choice: str) -> None:
    blocked(player)
    with pytest.raises(StepArgumentError, match='one of A, B, or "none of these"') as raised:
        player.step("decide", task="W1.T1", choice=choice)
    assert "A) SQLite; B) PostgreSQL" in str(raised.value)
    assert len(project_status(player.context).blockers) == 1
    (waiting,) = project_status(player.context).waiting
    assert (waiting.id, waiting.action, waiting.task) == (0, "decide", "W1.T1")


@pytest.mark.parametrize(
    ("choice", "answer"),
    [
        ("a", "A) SQLite"),
        ("(A)", "A) SQLite"),
        ("A.", "A) SQLite"),
        ("A) sqlite", "A) SQLite"),
        (" SQLite ", "A) SQLite"),
        ("None of these.", "none of these"),
    ],
)
def test_an_option_is_named_by_its_letter_its_text_or_both(
    player: Player, choice: str, answer: str
) -> None:
    blocked(player)
    player.confirmed("decide", task="W1.T1", choice=choice, comment="Ask Maria.")
    (shown,) = project_status(player.context).decisions
    assert shown.startswith(f"W1.T1: {answer}. Ask Maria. (")
    assert f"Decision: {answer}. Ask Maria." in player.read("ADL.md")


def test_each_of_several_questions_has_its_answer(player: Player) -> None:
    second = "RULE 4 DEVIATION: which cache? Options: A) Redis, B) none"
    blocked(player, f"{TWO_OPTIONS}\n{second}")
    for choice in ("A", "1A", "1A, 2C", "1A, 1B", "2A, 1A"):
        with pytest.raises(StepArgumentError, match="one of 1A, 1B, and one of 2A, 2B"):
            player.step("decide", task="W1.T1", choice=choice)
    player.confirmed("decide", task="W1.T1", choice="1B, 2a")
    (shown,) = project_status(player.context).decisions
    assert "1B) PostgreSQL (recommended); 2A) Redis" in shown


def test_a_blocker_without_options_takes_any_text(player: Player) -> None:
    blocked(player, "RULE 4 DEVIATION: A) x, B) y?")
    player.confirmed("decide", task="W1.T1", choice="keep both")
    assert "keep both" in player.read("ADL.md")


def next_of(player: Player) -> NextTask:
    """Return what a session that begins now reads as its next task."""
    built = build_session_handoff(NOTHING_GIVEN, player.context, write=False, now=NOW)
    found = read_handoff(built.text).next_task
    assert found is not None
    return found


def test_the_next_task_waits_for_a_person_and_goes_on_as_was_decided(player: Player) -> None:
    blocked(player)
    waits = next_of(player)
    assert waits.task == "W1.T1 Cart (user)"
    assert waits.action == "W1.T1 waits for a person: see Pending Decisions"

    player.confirmed("decide", task="W1.T1", choice="A", comment="For now.")
    goes_on = next_of(player)
    assert goes_on.task == "W1.T1 Cart (goop-executor)"
    assert goes_on.action == "Go on with W1.T1 as was decided: A) SQLite. For now."

    # The decision is carried out, and what comes next is what the agent says.
    player.report("W1.T1", "1", status="PARTIAL", next="W1.T1: the prices")
    assert next_of(player).action == "W1.T1: the prices"
    for number in range(3):
        player.report("W1.T1", "1", status="PARTIAL", summary=f"Part {number}.")
    assert next_of(player).task == "W1.T1 Cart (user)"


def test_the_next_task_waits_also_for_what_is_asked_without_a_task(player: Player) -> None:
    player.executing()
    untasked = report("", "BLOCKED", blockers=TWO_OPTIONS, next="Decide")
    record(player.context, untasked.replace("<task_id></task_id>", ""))
    waits = next_of(player)
    assert waits.task == "W1.T1 Cart (user)"
    assert waits.action == "report 1 waits for a person: see Pending Decisions"

    player.confirmed("decide", task="report 1", choice="A")
    assert next_of(player).task.startswith("W1.T1 Cart")
    assert "waits" not in (next_of(player).action or "")


def test_a_report_that_asks_a_person_says_with_what(player: Player) -> None:
    player.executing()
    stopped = report("W1.T1", "BLOCKED", blockers=TWO_OPTIONS)
    asked = record(player.context, stopped)
    call = 'update_project(action="decide", task="W1.T1", choice="…")'
    assert asked.to_dict()["ask_with"] == call
    assert asked.waits is not None
    assert asked.waits.command == "goop-mcp project decide --task W1.T1 --choice …"
    # The same report again, while it waits; and no report of work that goes on.
    assert record(player.context, stopped).to_dict()["ask_with"] == call
    assert record(player.context, report("W1.T1")).to_dict()["ask_with"] is None


def test_a_report_that_asks_nothing_of_its_own_names_no_other_question(player: Player) -> None:
    player.executing()
    record(player.context, report("W1.T1", "BLOCKED", blockers=TWO_OPTIONS))
    # A graph knows what comes next: the step that this one leaves to a person is not kept.
    passed = report("W1.T2").replace(
        'next_action agent="goop-executor"', 'next_action agent="user"'
    )
    recorded = record_report(
        passed,
        RoutingContext(),
        player.context,
        judged=Judged(surface="record_report", goes_on=True),
        now=NOW,
    )
    assert (recorded.status, recorded.decision.rule) == ("recorded", "G4")
    assert recorded.waits is None


def test_a_person_replaces_what_was_decided_on_a_question(player: Player) -> None:
    player.executing()
    for number in range(4):
        player.report("W1.T1", "1", status="PARTIAL", summary=f"Part {number}.")
    player.confirmed("decide", task="W1.T1", choice="Split the task")
    assert project_status(player.context).waiting == ()
    refused = player.step("decide", choice="Drop it")
    assert "W1.T1: Split the task (" in refused.message
    assert "to replace it: --task W1.T1" in refused.message

    replaced = player.confirmed("decide", task="W1.T1", choice="Drop it", comment="It is late.")
    assert "It replaces Split the task (terminal ann" in replaced.message
    assert "PARTIAL 4 times in a row" in player.read("ADL.md").rpartition("W1.T1:")[2]
    assert "Decision: Split the task." in player.read("ADL.md")
    (decided,) = project_status(player.context).decisions
    assert decided.startswith("W1.T1: Drop it. It is late. (")
    assert player.step("decide", task="W1.T1", choice="Drop it", comment="It is late.").status == (
        "unchanged"
    )
    assert player.step("decide", task="W1.T2", choice="Drop it").status == "refused"


def test_a_person_replaces_a_decision_and_both_stay(player: Player) -> None:
    blocked(player)
    player.confirmed("decide", task="W1.T1", choice="A", comment="For now.")
    assert player.step("decide", choice="B").status == "refused"
    same = player.step("decide", task="W1.T1", choice="A", comment="For now.")
    assert same.status == "unchanged"

    asked = player.step("decide", task="W1.T1", choice="B")
    assert asked.question[2] == "replaces A) SQLite (terminal ann)"
    assert asked.confirmation is not None
    replaced = player.answer(asked.confirmation.id)
    assert "It replaces A) SQLite (terminal ann, 2026-01-20" in replaced.message

    log = player.read("ADL.md")
    assert "Decision: A) SQLite. For now." in log
    assert "Decision: B) PostgreSQL (recommended). It replaces A) SQLite (terminal ann" in log
    assert player.read("CHRONICLE.md").count("decision for W1.T1") == 2
    # The newest one counts, wherever decisions are shown.
    shown = (
        "W1.T1: B) PostgreSQL (recommended) (terminal ann, 2026-01-20;"
        " replaces A) SQLite of 2026-01-20)"
    )
    status = project_status(player.context)
    assert (status.decisions, status.blockers) == ((shown,), ())
    assert status.to_dict()["decisions"] == [shown]
    assert shown in status.to_markdown()
    built = build_session_handoff(NOTHING_GIVEN, player.context, write=True, now=NOW)
    assert shown in built.text
    assert built.text.count("A) SQLite") == 1
    assert player.drift() == []

    # Also once the task has gone on with it.
    player.report("W1.T1", "1", status="PARTIAL", summary="It is half done.")
    player.confirmed("decide", task="W1.T1", choice="A")
    assert project_status(player.context).decisions[0].startswith("W1.T1: A) SQLite (")
    # And one of another blocker of the task replaces nothing.
    player.report("W1.T1", "1", status="BLOCKED", blockers="Which color?")
    player.confirmed("decide", task="W1.T1", choice="green")
    assert [each.split(" (")[0] for each in project_status(player.context).decisions] == [
        "W1.T1: green",
        "W1.T1: A) SQLite",
    ]


def test_a_refused_replacement_leaves_the_decision(player: Player) -> None:
    blocked(player)
    player.confirmed("decide", task="W1.T1", choice="A")
    asked = player.step("decide", task="W1.T1", choice="B")
    assert asked.confirmation is not None
    assert player.answer(asked.confirmation.id, accept=False).status == "refused"
    assert project_status(player.context).decisions[0].startswith("W1.T1: A) SQLite (")


def test_a_question_is_about_the_blocker_that_was_shown(player: Player) -> None:
    blocked(player)
    asked = player.step("decide", task="W1.T1", choice="A")
    assert asked.confirmation is not None
    # The same words again, after something else: what was asked may have become another matter.
    player.report("W1.T1", "1", status="PARTIAL", summary="I went on.")
    player.report("W1.T1", "1", status="BLOCKED", blockers=TWO_OPTIONS, summary="Still.")
    assert player.answer(asked.confirmation.id).status == "refused"
    assert len(project_status(player.context).blockers) == 1

    for seen in ("0" * 64, "x"):
        shown = player.step("decide", task="W1.T1", choice="A", seen=seen)
        assert "is another one than was shown" in shown.message
    player.confirmed("decide", task="W1.T1", choice="A", seen="")
    late = player.step("decide", task="W1.T1", choice="B", seen="")
    assert "No blocker waits for a decision on W1.T1: it was decided" in late.message


def test_an_open_task_is_left_only_when_a_person_says_so(player: Player) -> None:
    player.executing()
    player.report("W1.T1", "1")
    assert player.step("start_phase", phase="accept").status == "refused"
    assert player.step("skip_gate", gate="spec", reason="hurry").status == "refused"
    player.confirmed("skip_gate", gate="execution", reason="the receipts come next year")
    assert player.done("start_phase", phase="accept").phase == "accept"
    assert "the receipts come next year" in player.read("ADL.md")


def test_the_execution_gate_is_not_skipped_before_the_work_begins(player: Player) -> None:
    player.planned()
    refused = player.step("skip_gate", gate="execution", reason="no time")
    assert (refused.status, refused.missing) == ("refused", ("phase execute",))
    assert refused.command == "/goop-plan"


def test_a_merge_is_confirmed_only_once_the_work_is_done(player: Player) -> None:
    player.executing()
    refused = player.step("confirm_merge")
    assert (refused.status, refused.missing) == ("refused", ("phase accept",))
    assert refused.command == "/goop-execute"


def test_other_work_needs_another_confirmation_of_its_merge(player: Player) -> None:
    player.accepting()
    player.confirmed("confirm_merge")
    assert player.step("confirm_merge").status == "unchanged"
    player.confirmed("accept", outcome="reject", tasks=("W2.T1",))
    player.report("W2.T1", "2", summary="Done again.")
    player.verify("All must-haves passed again.")
    assert player.step("confirm_merge").status == "waiting"


def test_a_merge_is_asked_again_when_work_came_since_the_question(player: Player) -> None:
    player.accepting()
    asked = player.step("confirm_merge")
    assert asked.confirmation is not None
    player.verify("All must-haves passed, seen once more.")
    assert player.answer(asked.confirmation.id).status == "refused"
    player.confirmed("confirm_merge")


def test_a_closed_round_is_merged_with_a_confirmation_from_before_or_after(player: Player) -> None:
    player.accepting()
    player.confirmed("accept", outcome="accept")
    player.confirmed("confirm_merge")
    player.confirmed("reopen_round")
    player.confirmed("accept", outcome="accept")
    assert player.step("confirm_merge").status == "unchanged"


def test_a_skipped_gate_is_closed_again_after_its_round(player: Player) -> None:
    player.accepting()
    player.confirmed("accept", outcome="accept")
    player.done("start_round")
    player.confirmed("skip_gate", gate="discovery", reason="quick task: one option")
    player.done("start_phase", phase="plan")
    player.write("SPEC.md", SPEC + "\n")
    player.write("BLUEPRINT.md", BLUEPRINT + "\n")
    player.confirmed("lock_spec")
    player.done("start_phase", phase="execute")
    for task, wave in (("W1.T1", "1"), ("W1.T2", "1"), ("W2.T1", "2")):
        player.report(task, wave, summary="Done in round 2.")
    player.verify("All must-haves of round 2 passed.")
    player.confirmed("accept", outcome="accept")

    status = project_status(player.context)
    assert [gate.gate for gate in status.gates if gate.passed] == []
    assert status.next_command == "/goop-discuss"


def test_a_forced_phase_needs_a_person_and_a_reason(player: Player) -> None:
    player.done("init", name="Shop")
    with pytest.raises(StepArgumentError, match="reason"):
        player.step("start_phase", phase="execute", force=True)
    player.step("start_phase", phase="execute", force=True, reason="a hot fix")
    assert player.step("start_phase", phase="execute").status == "refused"
    forced = player.confirmed("start_phase", phase="execute", force=True)
    assert forced.phase == "execute"
    assert "a hot fix" in player.read("ADL.md")


def test_a_rejected_round_is_done_again_and_verified_again(player: Player) -> None:
    player.accepting()
    rejected = player.confirmed("accept", outcome="reject", tasks=("W2.T1",), comment="no VAT")
    assert rejected.phase == "execute"
    standing = {task.id: task.status for task in project_status(player.context).tasks}
    assert standing["W2.T1"] == "pending"
    again = next_of(player)
    assert again.task is not None
    assert again.task.startswith("W2.T1 ")
    assert again.action == "Do W2.T1 again, as it was rejected: no VAT"

    player.report("W2.T1", "2", summary="VAT is on the receipt.")
    assert project_status(player.context).phase == "accept"
    early = player.step("accept", outcome="accept")
    assert "a verification report" in early.missing
    player.verify()
    player.confirmed("accept", outcome="accept-with-issues")
    assert project_status(player.context).phase == "idle"


def test_why_a_round_was_rejected_is_what_comes_next_until_work_is_reported(player: Player) -> None:
    player.accepting()
    player.confirmed("accept", outcome="reject", comment="The receipt has no VAT.")
    again = next_of(player)
    expected = "Correct the result, and verify it once more, as it was rejected: The receipt"
    assert again.task == f"{expected} has no VAT."

    player.report("W1.T1", "1", status="PARTIAL", next="W1.T1: the rates")
    assert next_of(player).action == "W1.T1: the rates"


def test_a_decision_that_replaces_one_says_so_and_the_newest_stands_first(player: Player) -> None:
    blocked(player)
    player.confirmed("decide", task="W1.T1", choice="A", comment="For now.")
    player.confirmed("decide", task="W1.T1", choice="B")
    player.write(
        "SPEC.md", player.read("SPEC.md").replace("## Must-Haves", "Twice.\n\n## Must-Haves")
    )
    player.confirmed("amend_spec", reason="gift cards count")

    built = build_session_handoff(NOTHING_GIVEN, player.context, write=False, now=NOW)
    decisions = read_handoff(built.text).decisions
    assert "SPEC.md was amended: gift cards count" in decisions[0]
    assert decisions[1].startswith("W1.T1: B) ")
    assert "; replaces A) SQLite of 20" in decisions[1]
    block = player.read("CHRONICLE.md").partition("**Decisions Made:**")[2]
    assert block.index("gift cards count") < block.index("replaces A) SQLite")
    # A log keeps what was decided then; the later entry says what it replaces.
    log = player.read("ADL.md")
    assert log.index("Decision: A) SQLite. For now.") < log.index("It replaces A) SQLite (")


def test_an_acceptance_is_taken_back(player: Player) -> None:
    player.accepting()
    player.confirmed("accept", outcome="accept")
    player.done("start_round", name="second")
    reopened = player.confirmed("reopen_round")
    assert (reopened.phase, reopened.round) == ("accept", 1)
    status = project_status(player.context)
    assert status.spec_locked
    assert [task.status for task in status.tasks] == ["done"] * 3
    assert "**Locked:** Yes" in player.read("SPEC.md")
    assert player.drift() == []


def test_a_report_after_the_round_closed_changes_nothing(player: Player) -> None:
    player.accepting()
    player.confirmed("accept", outcome="accept")
    late = record(player.context, report("W1.T1", wave="1", summary="One more look."))
    assert late.status == "recorded"
    rules = {finding.rule for finding in late.findings if finding.severity != "info"}
    assert rules == {"workflow/round-closed"}
    assert project_status(player.context).phase == "idle"
    player.done("start_phase", phase="plan")
    assert project_status(player.context).reported["done"] == ()


@requirement("G-61")
def test_a_session_resumes_from_a_checkpoint(player: Player, tmp_path: Path) -> None:
    player.executing()
    player.report(
        "W1.T1", "1", status="CHECKPOINT", new_session="true", summary="The cart is half."
    )
    active = read_state(player.context.files)
    assert isinstance(active, ProjectState)
    assert active.active_checkpoint is not None
    assert (player.documents / "checkpoints" / f"{active.active_checkpoint}.json").is_file()
    assert project_status(player.context).checkpoints.newest == active.active_checkpoint

    with working_in(tmp_path) as other:
        resumed = take_step(other, ProjectStep(action="resume"), by="another session", now=NOW)
    assert resumed.status == "done"
    assert "The cart is half." in resumed.message
    assert "round 1, phase execute, wave 1" in resumed.message
    assert player.step("resume").status == "refused"
    assert active.active_checkpoint in player.step("resume", id="nowhere").message
    assert player.drift() == []

    # A later one is saved by hand, and both are known.
    saved = player.done("checkpoint", note="going home")
    assert "going home" in player.read("HANDOFF.md")
    assert player.done("resume", id=active.active_checkpoint).status == "done"
    assert saved.revision is not None


def test_a_checkpoint_that_a_killed_writer_left_out_is_written(player: Player) -> None:
    player.executing()
    player.done("checkpoint", note="going home")
    (saved,) = (player.documents / "checkpoints").iterdir()
    saved.unlink()
    player.context.recover(now=NOW)
    assert saved.is_file()


def test_the_same_step_twice_is_done_once(player: Player) -> None:
    player.executing()
    assert player.step("start_phase", phase="execute").status == "unchanged"
    assert player.step("lock_spec").status == "unchanged"
    assert player.step("complete_interview").status == "unchanged"
    skipped = player.step("skip_gate", gate="discovery", reason="quick task: one option")
    assert skipped.status == "unchanged"
    assert "The gate discovery is passed." in skipped.message


def test_unknown_names_list_the_known_ones(player: Player) -> None:
    player.done("init", name="Shop")
    for action, arguments in (
        ("lock", {}),
        ("start_phase", {"phase": "execution"}),
        ("skip_gate", {"gate": "door", "reason": "x"}),
        ("accept", {"outcome": "maybe"}),
    ):
        with pytest.raises(UnknownNameError):
            player.step(action, **arguments)


def test_a_state_of_another_version_is_left_to_its_package(player: Player) -> None:
    player.done("init", name="Shop")
    player.write("state.json", '{"version": 2, "workflow": {"phase": "plan"}, "workflows": {}}')
    with pytest.raises(StateReadOnlyError, match="use /goop-plan of the package"):
        player.step("start_phase", phase="plan")
    with pytest.raises(StateReadOnlyError, match="/goop-accept"):
        player.step("accept", outcome="accept")


def test_secrets_in_a_reason_are_not_kept(player: Player) -> None:
    player.executing()
    player.report("W1.T1", "1")
    player.confirmed("skip_gate", gate="execution", reason="password=hunter2horse is out")
    assert "hunter2horse" not in player.read("ADL.md")
    assert "hunter2horse" not in player.read("CHRONICLE.md")
