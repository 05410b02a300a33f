"""With a database that many machines share, the state is a row, and a folder is not needed."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from goop_mcp.errors import StateCorruptError, StateMovedError, StateReadOnlyError
from goop_mcp.services.project_context import Change, ProjectContext
from goop_mcp.services.project_documents import (
    find_project_document,
    present_documents,
    read_project_document,
)
from goop_mcp.services.project_snapshot import take_snapshot
from goop_mcp.services.project_status import ProjectStatus, project_status
from goop_mcp.store.interface import Store, WriteTransaction
from goop_mcp.store.opening import open_store
from goop_mcp.validation.claims import Claims, StateClaim
from goop_mcp.workspace.evidence import check_claims
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.layout import DOCUMENTS
from goop_mcp.workspace.state import ProjectState, parse_state
from goop_mcp.workspace.state_changes import StateChange
from goop_mcp.workspace.state_writing import plan_state
from tests.cli.running import run
from tests.postgres import Database
from tests.services.reporting import NOW, record, report, untrue, working_in
from tests.services.test_project_steps import BLUEPRINT, REQUIREMENTS, SPEC, Player
from tests.workspace.projects import copied

STATE = Path(".goopspec", "state.json")


@pytest.fixture
def shared(database: Database, tmp_path: Path) -> Iterator[Store]:
    store = open_store(database.url(), project=tmp_path, project_id="shop")
    yield store
    store.close()


def at(store: Store, folder: Path) -> ProjectContext:
    """Work on the shared project in `folder`, as a machine of its own."""
    folder.mkdir(exist_ok=True)
    return ProjectContext(store=store, files=ProjectFiles(folder), writes_files=False)


def change_state(context: ProjectContext, change: StateChange, *, seen: str | None = None) -> None:
    def plan(writing: WriteTransaction) -> Change[None]:
        planned = plan_state(
            writing, context.state, change, now=NOW, author="orchestrator", seen=seen
        )
        return Change(answer=None, state=planned)

    context.write(plan, now=NOW)


def stored(store: Store) -> ProjectState:
    text = store.read(lambda reading: reading.stored_state())
    assert text is not None
    state = parse_state(text)
    assert isinstance(state, ProjectState)
    return state


def shown(context: ProjectContext) -> dict[str, Any]:
    """Return what decisions depend on, which is the same on every machine."""
    snapshot, status = take_snapshot(context), project_status(context)
    named = (
        "exists",
        "project",
        "phase",
        "spec_locked",
        "interview_complete",
        "accepted",
        "current_wave",
        "gates",
        "gate_ahead",
        "next_command",
        "waves",
        "blockers",
        "reports",
        "reported",
        "is_elsewhere",
    )
    round = status.round
    return {
        "facts": snapshot.facts,
        "waiting": [(each.action, each.summary) for each in status.waiting],
        # Revisions differ, as creating the state is a change of a database only.
        "round": (round.number, round.name, round.is_open, round.outcome, round.plan_sha256),
        **{name: getattr(status, name) for name in named},
    }


def rules(status: ProjectStatus) -> list[str]:
    return [each.rule for each in status.drift]


def test_a_project_is_the_same_in_a_file_in_a_shared_database_and_without_a_folder(
    shared: Store, tmp_path: Path
) -> None:
    (tmp_path / "alone").mkdir()
    with working_in(tmp_path / "alone") as alone:
        checkout, server = at(shared, tmp_path / "checkout"), at(shared, tmp_path / "server")
        players = (Player(alone), Player(checkout))

        def compare() -> dict[str, Any]:
            everywhere = [shown(context) for context in (alone, checkout, server)]
            assert everywhere[1] == everywhere[2]
            assert everywhere[0] == everywhere[1]
            assert not (checkout.files.root / STATE).exists()
            assert not (server.files.root / ".goopspec").exists()
            return everywhere[0]

        def step(action: str, **arguments: object) -> dict[str, Any]:
            for player in players:
                player.done(action, **arguments)
            return compare()

        def confirmed(action: str, **arguments: object) -> dict[str, Any]:
            asked = [player.step(action, **arguments) for player in players]
            for player, each in zip(players, asked, strict=True):
                assert each.confirmation is not None, each
                assert player.answer(each.confirmation.id).status == "done"
            return compare()

        def write(**documents: str) -> None:
            for player in players:
                for name, text in documents.items():
                    player.write(f"{name}.md", text)

        for round in (1, 2):
            if round == 1:
                step("init", name="Shop")

            assert step("start_phase", phase="plan")["round"][0] == round
            write(REQUIREMENTS=f"{REQUIREMENTS}\nRound {round}.\n")
            step("complete_interview")
            write(SPEC=f"{SPEC}\nRound {round}.\n", BLUEPRINT=f"{BLUEPRINT}\nRound {round}.\n")
            assert confirmed("lock_spec")["spec_locked"]
            assert step("start_phase", phase="execute")["facts"].total_tasks == 3

            for task, wave in (("W1.T1", "1"), ("W1.T2", "1"), ("W2.T1", "2")):
                for player in players:
                    player.report(task, wave, summary=f"Done in round {round}.")
                assert compare()["facts"].open_tasks_in_all < 3

            for player in players:
                player.verify()
            assert compare()["phase"] == "accept"
            assert confirmed("accept", outcome="accept")["phase"] == "idle"

        assert confirmed("reopen_round")["phase"] == "accept"
        assert [player.drift() for player in players] == [[], []]
        assert stored(shared).phase == "accept"


def test_the_command_creates_the_state_where_it_lives(database: Database, tmp_path: Path) -> None:
    variables = {"GOOP_DATABASE_URL": database.url(), "GOOP_PROJECT_ID": "shop"}
    first = run("init", "--name", "Shop", cwd=tmp_path, env=variables)
    again = run("init", cwd=tmp_path, env=variables)
    assert (first.code, first.err, again.code) == (0, "", 0)
    assert "created goop://project/state.json\n" in first.out
    assert "created" not in again.out
    assert not (tmp_path / STATE).exists()
    with closing(open_store(database.url(), project=tmp_path, project_id="shop")) as store:
        assert stored(store).project == "Shop"


def test_a_report_moves_counters_and_phase_of_the_state_in_the_database(
    shared: Store, tmp_path: Path
) -> None:
    player = Player(at(shared, tmp_path / "checkout"))
    player.executing()
    server = at(shared, tmp_path / "server")
    before = stored(shared)

    recorded = record(server, report(task="W1.T1", wave="2"), now="2026-01-20T09:00:00.000Z")
    state = stored(shared)
    assert recorded.written.state == state
    assert (state.current_wave, state.total_waves, state.phase) == (2, 2, "execute")
    assert (before.current_wave, state.last_activity) == (1, "2026-01-20T09:00:00.000Z")
    assert state.revision == recorded.written.revision
    assert recorded.written.files == ()
    assert "the database, which holds documents and state" in recorded.remarks[0]
    assert not (tmp_path / "server" / ".goopspec").exists()


def test_the_first_change_takes_over_the_state_of_the_folder_and_every_other_key_of_it(
    shared: Store, tmp_path: Path
) -> None:
    folder = tmp_path / "checkout"
    folder.mkdir()
    copied("profile_0x", folder)
    context = at(shared, folder)
    before = (folder / STATE).read_bytes()
    assert project_status(context).phase == "execute"

    change_state(context, StateChange(phase="accept"))
    assert stored(shared).phase == "accept"
    assert (folder / STATE).read_bytes() == before
    was, now = json.loads(before), json.loads(stored(shared).text)
    assert now["workflow"].keys() >= was["workflow"].keys()
    assert now["project"] == was["project"]
    # Every machine reads the row from now on.
    assert project_status(at(shared, tmp_path / "server")).phase == "accept"
    assert project_status(context).phase == "accept"


def test_a_round_that_a_server_without_the_folder_closes_is_closed_everywhere(
    shared: Store, tmp_path: Path
) -> None:
    player = Player(at(shared, tmp_path / "checkout"))
    player.accepting()
    server = Player(at(shared, tmp_path / "server"))
    assert server.confirmed("accept", outcome="accept").phase == "idle"
    assert server.done("start_phase", phase="plan").round == 2

    assert shown(player.context) == shown(server.context)
    snapshot = take_snapshot(player.context)
    assert (snapshot.project.blueprint, snapshot.project.spec) == (None, None)
    assert "**Locked:** Yes" in player.read("SPEC.md")
    refused = server.step("lock_spec")
    assert "no project folder: run `goop-mcp project lock --database …`" in refused.message
    assert not (tmp_path / "server" / ".goopspec").exists()


def test_a_state_file_that_differs_is_drift_and_never_counts(shared: Store, tmp_path: Path) -> None:
    player = Player(at(shared, tmp_path / "checkout"))
    player.executing()
    file = player.context.files.root / STATE
    file.write_text(stored(shared).text, encoding="utf-8")
    assert rules(project_status(player.context)).count("workflow/drift-state-file") == 0

    other = json.loads(stored(shared).text)
    other["workflow"] |= {"phase": "plan", "specLocked": False}
    file.write_text(json.dumps(other), encoding="utf-8")
    status = project_status(player.context)
    assert (status.phase, status.spec_locked) == ("execute", True)
    [drift] = [each for each in status.drift if each.rule == "workflow/drift-state-file"]
    assert drift.message.endswith(
        "phase is plan, not execute and specLocked is false, not true; the database counts"
    )

    file.write_text("{", encoding="utf-8")
    status = project_status(player.context)
    assert status.phase == "execute"
    assert "workflow/drift-state-file" in rules(status)
    assert "workflow/state-corrupt" not in rules(status)
    player.report("W1.T1", "1")
    assert file.read_text(encoding="utf-8") == "{"


def test_of_two_orchestrators_the_second_decides_again(shared: Store, tmp_path: Path) -> None:
    Player(at(shared, tmp_path / "checkout")).executing()
    ours, theirs = at(shared, tmp_path / "one"), at(shared, tmp_path / "two")
    seen = stored(shared).token
    change_state(theirs, StateChange(values={"autopilot": True}))
    with pytest.raises(StateMovedError):
        change_state(ours, StateChange(phase="accept"), seen=seen)
    assert stored(shared).phase == "execute"


@pytest.mark.parametrize(
    ("text", "error"), [("{", StateCorruptError), ('{"version": 2}', StateReadOnlyError)]
)
def test_a_state_that_cannot_be_changed_stays_and_reports_are_recorded(
    shared: Store, tmp_path: Path, text: str, error: type[Exception]
) -> None:
    shared.write(lambda writing: writing.set_stored_state(text))
    context = at(shared, tmp_path / "server")
    with pytest.raises(error):
        change_state(context, StateChange(phase="plan"))

    recorded = record(context, report())
    assert (recorded.status, recorded.written.state) == ("recorded", None)
    assert shared.read(lambda reading: reading.stored_state()) == text


def test_readers_find_state_and_kept_documents_where_there_is_no_folder(
    shared: Store, tmp_path: Path
) -> None:
    player = Player(at(shared, tmp_path / "checkout"))
    player.executing()
    server = at(shared, tmp_path / "server")
    here, there = player.context.files, server.files
    names = ("SPEC.md", "BLUEPRINT.md", "REQUIREMENTS.md", "state.json")
    assert set(present_documents(there, DOCUMENTS, recorded=shared)) == {
        *names,
        "CHRONICLE.md",
        "ADL.md",
    }
    for name in names:
        text = read_project_document(there, name, recorded=shared)
        assert text == find_project_document(here, name, recorded=shared)
    assert parse_state(read_project_document(there, "state.json", recorded=shared)) == stored(
        shared
    )

    # Where the folder is, its documents count, and one that is missing there is missing.
    player.write("SPEC.md", "# Changed")
    (player.documents / "BLUEPRINT.md").unlink()
    assert find_project_document(here, "SPEC.md", recorded=shared) == "# Changed"
    assert find_project_document(here, "BLUEPRINT.md", recorded=shared) is None
    assert take_snapshot(player.context).project.blueprint is None
    assert take_snapshot(server).project.blueprint is not None


def test_claims_about_the_state_are_compared_with_the_database(
    shared: Store, tmp_path: Path
) -> None:
    player = Player(at(shared, tmp_path / "checkout"))
    player.executing()
    claims = Claims(state=(StateClaim(name="phase", value="plan", where="/goop_report/state"),))
    [problem] = check_claims(claims, player.context.files, store=shared).problems
    assert problem.hit.message == (
        "phase is 'plan'; expected 'execute', as phase of state.json says"
    )


def test_a_project_without_state_and_documents_is_elsewhere(shared: Store, tmp_path: Path) -> None:
    server = at(shared, tmp_path / "server")
    record(server, report())
    status = project_status(server)
    assert (status.is_elsewhere, status.gates, status.phase) == (True, (), None)
    Player(at(shared, tmp_path / "checkout")).done("init", name="Shop")
    status = project_status(server)
    assert (status.is_elsewhere, status.phase, status.project) == (False, "idle", "Shop")
    assert len(status.gates) == 4


def test_a_refused_report_that_makes_a_person_decide_names_the_document_that_shows_it(
    shared: Store, tmp_path: Path
) -> None:
    checkout = at(shared, tmp_path / "checkout")
    Player(checkout).done("init", name="shop")

    refused = [record(checkout, untrue()) for _ in range(2)]

    assert [each.status for each in refused] == ["rejected", "rejected"]
    assert [each.written.resources for each in refused] == [(), ("goop://project/CHRONICLE.md",)]
    assert "W2.T1" in read_project_document(checkout.files, "CHRONICLE.md", recorded=shared)
