"""An accepted report is recorded in one transaction and shown in the files; others are not."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from goop_mcp import Example, Expectations, Rule, Severity
from goop_mcp.protocols.goop_report import Report
from goop_mcp.routing import Action, RoutingContext
from goop_mcp.services.open_questions import open_questions
from goop_mcp.services.project_context import ProjectContext
from goop_mcp.services.record_report import record_report
from goop_mcp.store.failpoints import Failpoint, install
from goop_mcp.store.interface import ReadTransaction
from goop_mcp.store.opening import open_store
from goop_mcp.store.records import Event, StoredReport
from goop_mcp.workspace.documents.chronicle import read_chronicle
from goop_mcp.workspace.documents.handoff import read_handoff
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.layout import CHRONICLE
from goop_mcp.workspace.projections import newest_state_block
from goop_mcp.workspace.state import ProjectState, read_state
from tests.postgres import Database
from tests.repository import ROOT
from tests.requirements import requirement
from tests.services.redaction_samples import NEEDLES, PASSWORD, SECRETS
from tests.services.reporting import NOW, record, report, untrue, working_in
from tests.workspace.projects import copied
from tests.workspace.true_projects import make_project

CASES = ROOT / "tests" / "cases" / "goop_report"
STATE = ".goopspec/state.json"
PLAN = """\
# BLUEPRINT: demo

## Wave 1: One

### Task 1.1: First
### Task 1.2: Second
"""

DATABASE_FILES = {f".goopspec/goop.db{end}" for end in ("", "-wal", "-shm")} | {
    ".goopspec/.gitignore"
}


@pytest.fixture
def todo(tmp_path: Path) -> Iterator[ProjectContext]:
    """Work in a project in the middle of its execution, three waves with two tasks each."""
    copied("profile_0x", tmp_path)
    with working_in(tmp_path) as project_context:
        yield project_context


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[ProjectContext]:
    """Work in an empty folder."""
    with working_in(tmp_path) as project_context:
        yield project_context


def rows(project_context: ProjectContext) -> tuple[list[StoredReport], list[Event]]:
    return project_context.store.read(lambda reading: (reading.reports(), reading.events()))


def state_of(project_context: ProjectContext) -> ProjectState:
    state = read_state(project_context.files)
    assert isinstance(state, ProjectState)
    return state


def with_state(folder: Path, *, version: object = 1, **workflow: object) -> None:
    (folder / ".goopspec").mkdir(exist_ok=True)
    (folder / STATE).write_text(
        json.dumps({"version": version, "workflow": workflow}), encoding="utf-8"
    )


def files_below(folder: Path) -> dict[str, bytes]:
    found = {
        path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()
    }
    return {
        name: path.read_bytes()
        for name, path in found.items()
        if "/goop.db" not in name and "/.lock" not in name
    }


def test_an_accepted_report_is_stored_and_stands_in_diary_and_state(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    project.store.close()
    with working_in(tmp_path) as project_context:
        recorded = record(project_context, project.reply)
        (stored,), events = rows(project_context)

    assert (recorded.status, recorded.written.revision) == ("recorded", stored.revision)
    assert (stored.agent, stored.phase, stored.task_id, stored.status) == (
        "goop-executor",
        "execute",
        "W1.T2",
        "COMPLETE",
    )
    assert json.loads(stored.envelope)["summary"] == "Added the login endpoint."
    assert json.loads(stored.verdict)["verdict"] == "accepted"
    assert json.loads(stored.decision)["actions"] == ["save_state", "continue_next"]
    assert {event.revision for event in events} == {stored.revision}
    assert recorded.written.chronicle is not None
    assert recorded.written.chronicle in (tmp_path / ".goopspec/CHRONICLE.md").read_text(
        encoding="utf-8"
    )
    state = read_state(ProjectFiles(tmp_path))
    assert isinstance(state, ProjectState)
    assert (state.last_activity, state.revision, state) == (
        NOW,
        stored.revision,
        recorded.written.state,
    )


def test_the_same_report_again_is_a_duplicate_and_writes_nothing(todo: ProjectContext) -> None:
    first = record(todo, report())
    before, rows_before = files_below(todo.files.root), rows(todo)
    # Another spelling of the same envelope, and a file that was there when it was recorded.
    again = record(
        todo, "As reported:\n\n" + report().replace("  ", "\t"), now="2026-01-21T00:00:00.000Z"
    )

    assert again.status == "duplicate"
    assert (again.written.revision, again.written.report) == (
        first.written.revision,
        first.written.report,
    )
    assert again.written.chronicle is None
    assert (files_below(todo.files.root), rows(todo)) == (before, rows_before)


def test_a_duplicate_is_one_even_when_its_claims_are_not_true_any_more(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    project.store.close()
    with working_in(tmp_path) as project_context:
        first = record(project_context, project.reply)
        (tmp_path / "src/login.py").unlink()
        again = record(project_context, project.reply)

        assert again.status == "duplicate"
        # What was found when it was recorded, not that nothing is verified now.
        assert again.verdict.findings == first.verdict.findings


def test_one_of_many_threads_records_a_report_and_the_others_have_duplicates(
    todo: ProjectContext,
) -> None:
    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(lambda _: record(todo, report()).status, range(16)))

    assert sorted(statuses) == ["duplicate"] * 15 + ["recorded"]
    assert len(rows(todo)[0]) == 1


@pytest.mark.parametrize(
    "text",
    [
        report(status="DONE"),
        report().replace(
            "<files/>", '<files><file path="src/nothing.py" action="created">New</file></files>'
        ),
        "I am done.",
        report()[:-60],
    ],
    ids=["unknown status", "a lie", "no envelope", "cut off"],
)
def test_a_rejected_report_leaves_nothing(todo: ProjectContext, text: str) -> None:
    before = files_below(todo.files.root)
    recorded = record(todo, text)

    assert recorded.status == "rejected"
    assert recorded.verdict.feedback
    assert recorded.written.to_dict()["revision"] is None
    after = files_below(todo.files.root)
    assert {path: after[path] for path in after if path not in DATABASE_FILES} == before
    assert rows(todo) == ([], [])


def test_a_report_that_the_callers_policy_refuses_is_not_recorded(todo: ProjectContext) -> None:
    text = (
        report()
        .replace("<next_command>/goop-execute</next_command>", "")
        .replace("false</s", "true</s")
    )
    assert record(todo, text, policy={"fail_on_warning": True}).status == "rejected"
    assert record(todo, text).status == "recorded"


def test_a_request_reports_nothing(empty: ProjectContext) -> None:
    prompt = (ROOT / "tests/cases/agent_request").glob("*.md")
    texts = [path.read_text(encoding="utf-8") for path in prompt]
    statuses = {record(empty, text).status for text in texts}
    assert statuses <= {"rejected", "no_report"}
    assert not empty.store.exists()


def test_claims_are_believed_when_the_caller_says_so(empty: ProjectContext) -> None:
    text = (CASES / "016_executor_complete.xml").read_text(encoding="utf-8")
    assert record(empty, text).status == "rejected"
    assert (
        record_report(text, RoutingContext(), empty, check_workspace=False, now=NOW).status
        == "recorded"
    )


def test_the_chronicle_says_of_each_claim_that_nobody_verified_it(todo: ProjectContext) -> None:
    saved = '<memory><saved type="decision" importance="0.7">Use WAL</saved></memory>'
    text = report("W1.T1", wave="1").replace("<memory/>", saved)
    assert saved in text
    record_report(text, RoutingContext(), todo, check_workspace=False, now=NOW)
    chronicle = todo.files.read_text(".goopspec/CHRONICLE.md") or ""
    assert "memory 'Use WAL'" in chronicle


def test_counters_go_forward_and_the_plan_counts_for_the_number_of_waves(
    todo: ProjectContext,
) -> None:
    record(todo, report("W3.T1", wave="3").replace('total="3"', 'total="9"'))
    assert (state_of(todo).current_wave, state_of(todo).total_waves) == (3, 3)

    record(todo, report("W1.T1", wave="1"))
    assert state_of(todo).current_wave == 3


@pytest.mark.parametrize("status", ["COMPLETE", "PARTIAL"])
def test_a_report_about_another_phase_counts_for_nothing_in_the_state(
    todo: ProjectContext, status: str
) -> None:
    recorded = record(todo, report(status=status, phase="plan", wave="3"))

    assert (state_of(todo).phase, state_of(todo).current_wave) == ("execute", 2)
    assert state_of(todo).last_activity == NOW
    assert "workflow/drift-phase" in {finding.rule for finding in recorded.findings}


def test_execution_ends_with_the_last_open_task_and_not_before(tmp_path: Path) -> None:
    with_state(tmp_path, phase="execute", specLocked=True, currentWave=1, totalWaves=1)
    (tmp_path / ".goopspec/BLUEPRINT.md").write_text(PLAN, encoding="utf-8")
    with working_in(tmp_path) as project_context:
        # n of n in wave and task: counters alone open no gate.
        last = (
            report("W1.T2", wave="1")
            .replace('total="3"', 'total="1"')
            .replace('current="1" total="2"', '"')
        )
        last = last.replace('<task "/>', '<task current="2" total="2"/>')
        assert record(project_context, last).decision.rule == "R9"
        assert state_of(project_context).phase == "execute"

        record(project_context, report("W1.T1", status="BLOCKED", wave="1"))
        assert state_of(project_context).phase == "execute"
        recorded = record(project_context, report("W1.T1", wave="1"))

    assert (recorded.written.phase_before, state_of(project_context).phase) == ("execute", "accept")


def test_a_failed_check_keeps_the_phase(tmp_path: Path) -> None:
    with_state(tmp_path, phase="execute", specLocked=True)
    (tmp_path / ".goopspec/BLUEPRINT.md").write_text(
        PLAN.replace("### Task 1.2: Second\n", ""), encoding="utf-8"
    )
    with working_in(tmp_path) as project_context:
        record(project_context, report("W1.T1", wave="1", passed="false"))
        assert state_of(project_context).phase == "execute"
        record(project_context, report("W1.T1", wave="1"))
        assert state_of(project_context).phase == "accept"


def test_a_passed_check_that_shows_nothing_keeps_the_phase(tmp_path: Path) -> None:
    with_state(tmp_path, phase="execute", specLocked=True)
    (tmp_path / ".goopspec/BLUEPRINT.md").write_text(
        PLAN.replace("### Task 1.2: Second\n", ""), encoding="utf-8"
    )
    with working_in(tmp_path) as project_context:
        recorded = record(project_context, report("W1.T1", wave="1", evidence="CI will run it"))
        assert (recorded.status, recorded.decision.rule) == ("recorded", "G2c")
        assert state_of(project_context).phase == "execute"
        record(project_context, report("W1.T1", wave="1", evidence="12 passed"))
        assert state_of(project_context).phase == "accept"


@pytest.mark.parametrize(
    ("phase", "facts", "plan", "expected"),
    [
        ("specify", {"specLocked": True}, PLAN, "execute"),
        ("specify", {"specLocked": False}, PLAN, "specify"),
        ("specify", {"specLocked": True}, None, "specify"),
        ("accept", {"acceptanceConfirmed": True}, PLAN, "idle"),
        ("accept", {"acceptanceConfirmed": False}, PLAN, "accept"),
        ("plan", {"specLocked": True}, PLAN, "plan"),
        ("research", {"specLocked": True}, PLAN, "research"),
    ],
)
def test_a_phase_ends_automatically_only_after_its_gate(
    tmp_path: Path, phase: str, facts: dict[str, bool], plan: str | None, expected: str
) -> None:
    with_state(tmp_path, phase=phase, **facts)
    if plan:
        (tmp_path / ".goopspec/BLUEPRINT.md").write_text(plan, encoding="utf-8")

    with working_in(tmp_path) as project_context:
        record(project_context, report("W1.T1", phase=phase, wave="1"))
        assert state_of(project_context).phase == expected


def test_nothing_progresses_by_itself_while_a_person_has_taken_over(tmp_path: Path) -> None:
    with_state(tmp_path, phase="accept", acceptanceConfirmed=True, manualOverride=True)
    with working_in(tmp_path) as project_context:
        record(project_context, report(phase="accept"))
        assert state_of(project_context).phase == "accept"


def test_a_corrupt_state_is_reported_and_left_alone_while_the_report_is_recorded(
    tmp_path: Path,
) -> None:
    copied("corrupt", tmp_path)
    before = (tmp_path / STATE).read_bytes()
    with working_in(tmp_path) as project_context:
        recorded = record(project_context, report())

    assert recorded.status == "recorded"
    assert recorded.written.state is None
    assert "workflow/state-corrupt" in {finding.rule for finding in recorded.findings}
    assert (tmp_path / STATE).read_bytes() == before


@pytest.mark.parametrize("case", ["version_2_map", "version_2_workflows", "before_version_1"])
def test_a_state_of_another_version_is_reported_and_never_written(
    tmp_path: Path, case: str
) -> None:
    copied(case, tmp_path)
    before = (tmp_path / STATE).read_bytes()
    with working_in(tmp_path) as project_context:
        recorded = record(project_context, report())

    assert (recorded.status, recorded.written.state) == ("recorded", None)
    assert "workflow/state-read-only" in {finding.rule for finding in recorded.findings}
    assert (tmp_path / STATE).read_bytes() == before


def test_deviations_are_logged(todo: ProjectContext) -> None:
    recorded = record(todo, report(summary="RULE 2 DEVIATION: The login had no limit"))

    assert "## [DEVIATION] (Rule 2)" in recorded.written.log[0]
    text = todo.files.read_text(".goopspec/ADL.md")
    assert text is not None
    assert recorded.written.log[0] in text


@requirement("G-50")
def test_the_planners_report_that_asks_for_a_new_session_leaves_a_handoff(
    empty: ProjectContext,
) -> None:
    text = (CASES / "016_planner_complete.xml").read_text(encoding="utf-8")
    recorded = record_report(text, RoutingContext(), empty, check_workspace=False, now=NOW)

    assert set(recorded.decision.actions) == {Action.SAVE_STATE, Action.NEW_SESSION}
    written = empty.files.read_text(".goopspec/HANDOFF.md")
    assert written is not None
    handoff = read_handoff(written)
    assert handoff.generated == NOW
    assert handoff.command == recorded.decision.next_command
    assert recorded.written.handoff
    assert ".goopspec/HANDOFF.md" in recorded.written.files


def test_a_report_without_a_new_session_leaves_no_handoff(todo: ProjectContext) -> None:
    assert not record(todo, report()).written.handoff
    assert not todo.files.exists(".goopspec/HANDOFF.md")


def test_what_people_changed_is_left_alone_and_reported(todo: ProjectContext) -> None:
    record(todo, report())
    path = todo.files.root / ".goopspec/CHRONICLE.md"
    theirs = path.read_text(encoding="utf-8").replace("W2.T1 went on.", "It was me.")
    path.write_text(theirs, encoding="utf-8")

    recorded = record(todo, report("W2.T2"))

    assert recorded.status == "recorded"
    assert path.read_text(encoding="utf-8") == theirs
    assert "somebody has changed .goopspec/CHRONICLE.md where it is ours" in recorded.remarks[0]


def test_the_diary_is_read_as_one_after_many_reports(todo: ProjectContext) -> None:
    before = len(read_chronicle(todo.files.read_text(".goopspec/CHRONICLE.md") or "").activities)
    for number in range(5):
        record(todo, report(summary=f"Step {number}."))

    assert (
        len(read_chronicle(todo.files.read_text(".goopspec/CHRONICLE.md") or "").activities)
        == before + 5
    )


def test_a_file_that_cannot_be_written_takes_nothing_back(todo: ProjectContext) -> None:
    (todo.files.root / ".goopspec/CHRONICLE.md").unlink()
    (todo.files.root / ".goopspec/CHRONICLE.md").mkdir()

    recorded = record(todo, report())

    assert recorded.status == "recorded"
    assert len(rows(todo)[0]) == 1
    assert recorded.remarks


@pytest.mark.parametrize("status", ["COMPLETE", "DONE"])
def test_secrets_are_found_nowhere(
    todo: ProjectContext, caplog: pytest.LogCaptureFixture, status: str
) -> None:
    secrets = "\n".join(SECRETS)
    text = report(status=status, summary=secrets, next=secrets, new_session="true")
    text = text.replace(
        "</goop_report>",
        f"<decision>{secrets}</decision><password>{PASSWORD}</password></goop_report>",
    )
    caplog.set_level("DEBUG")

    recorded = record(todo, text)

    assert recorded.status == ("recorded" if status == "COMPLETE" else "rejected")
    assert (recorded.redactions > 0) == (status == "COMPLETE")
    kept = b"".join(path.read_bytes() for path in todo.files.root.rglob("*") if path.is_file())
    answered = json.dumps(recorded.to_dict()) + caplog.text
    for needle in NEEDLES:
        assert needle.encode() not in kept
        assert needle not in answered


def test_on_a_shared_database_reports_are_recorded_and_no_file_is_written(
    tmp_path: Path, database: Database
) -> None:
    copied("profile_0x", tmp_path)
    before = files_below(tmp_path)
    store = open_store(database.url(), project=tmp_path, project_id="shop")
    project_context = ProjectContext(store=store, files=ProjectFiles(tmp_path), writes_files=False)
    recorded = record(project_context, report(new_session="true"))
    again = record(project_context, report(new_session="true"))
    documents = [event.document for event in rows(project_context)[1] if event.document]
    state = store.read(lambda reading: reading.stored_state())
    store.close()

    assert (recorded.status, again.status) == ("recorded", "duplicate")
    assert recorded.written.files == ()
    assert recorded.written.state is not None
    assert (recorded.written.state.text, recorded.written.state.last_activity) == (state, NOW)
    assert recorded.written.resources == (
        "goop://project/CHRONICLE.md",
        "goop://project/HANDOFF.md",
    )
    assert "no file was written" in recorded.remarks[0]
    assert (again.written.resources, again.remarks) == ((), ())
    # The block of state is the last event.
    assert documents == ["CHRONICLE.md", "HANDOFF.md", "CHRONICLE.md"]
    assert files_below(tmp_path) == before


def test_reports_of_other_protocols_are_recorded_too(empty: ProjectContext) -> None:
    found = 0
    for path in sorted((ROOT / "tests/cases/speckit").glob("*success*")):
        recorded = record(empty, path.read_text(encoding="utf-8"))
        found += recorded.status == "recorded"

    assert found
    assert {each.protocol for each in rows(empty)[0]} == {"speckit"}


def test_the_state_that_another_program_wrote_meanwhile_is_not_moved_on(tmp_path: Path) -> None:
    with_state(tmp_path, phase="accept", acceptanceConfirmed=True)
    with working_in(tmp_path) as project_context:
        store = project_context.store

        class Interrupted:
            """The same store, with another program that writes state.json during the commit."""

            def __getattr__(self, name: str) -> object:
                return getattr(store, name)

            def write(self, change: object, *, then: object, timeout: float) -> object:
                def later(answer: object) -> None:
                    with_state(tmp_path, phase="execute")
                    then(answer)  # type: ignore[operator] # the project context gives it

                return store.write(change, then=later, timeout=timeout)  # type: ignore[arg-type]

        # It passes on what a store has.
        other = replace(project_context, store=Interrupted())  # type: ignore[arg-type]
        recorded = record(other, report(phase="accept"))
        assert (recorded.status, recorded.written.state) == ("recorded", None)
        assert state_of(project_context).phase == "execute"
        assert any("could not be brought up" in remark for remark in recorded.remarks)


@pytest.mark.parametrize("check_workspace", [True, False])
def test_a_report_is_judged_once_also_where_its_claims_are_verified(
    todo: ProjectContext, *, check_workspace: bool
) -> None:
    judged: list[str | None] = []

    def note(envelope: Report, _expected: Expectations) -> None:
        judged.append(envelope.task_id)

    rule = Rule(
        id="shop/noted",
        model=Report,
        lenient=Severity.WARNING,
        strict=Severity.WARNING,
        catches="nothing",
        why="It counts how often a reply is judged.",
        fix="None is needed.",
        example=Example(good="W2.T1", bad="W2.T2", reply=report()),
        check=note,
    )

    answer = record_report(
        report(),
        RoutingContext(),
        todo,
        check_workspace=check_workspace,
        rules=[rule],
        now=NOW,
    )

    assert (answer.status, judged) == ("recorded", ["W2.T1"])


def test_what_a_refused_report_asks_and_where_it_is_shown_are_stored_together(
    tmp_path: Path,
) -> None:
    with_state(tmp_path, phase="execute")
    with working_in(tmp_path) as project_context:
        assert record(project_context, untrue()).status == "rejected"
        stored: list[tuple[bool, bool]] = []

        def after_commit(point: Failpoint) -> None:
            if point is Failpoint.COMMIT:
                stored.append(project_context.store.read(asked_and_shown))

        install(after_commit)
        try:
            refused = record(project_context, untrue())
        finally:
            install(None)

        assert refused.written.files == (".goopspec/CHRONICLE.md",)
        # A kill at any point leaves neither the question nor the text that shows it, or both.
        assert stored[-1] == (True, True)
        assert {asked == shown for asked, shown in stored} == {True}


def asked_and_shown(reading: ReadTransaction) -> tuple[bool, bool]:
    block = newest_state_block(reading, CHRONICLE)
    is_shown = block is not None and "project decide --task W2.T1" in block.text
    return bool(open_questions(reading)), is_shown
