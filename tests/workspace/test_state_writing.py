"""A change of state.json and what is recorded of it stay together."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from goop_mcp.errors import IllegalMoveError, StateMovedError
from goop_mcp.store.interface import Store, WriteTransaction
from goop_mcp.store.opening import open_store
from goop_mcp.workspace.documents.entries import read_adl
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.projections import ProjectionPlan, plan_projections
from goop_mcp.workspace.recovery import recover
from goop_mcp.workspace.state import ProjectState, read_state
from goop_mcp.workspace.state_changes import StateChange
from goop_mcp.workspace.state_writing import StateFile, StatePlan, plan_state
from tests.workspace.projects import NOW, as_it_is, copied, text_of

STATE = ".goopspec/state.json"


@pytest.fixture
def files(tmp_path: Path) -> ProjectFiles:
    return copied("profile_0x", tmp_path)


@pytest.fixture
def store(files: ProjectFiles) -> Iterator[Store]:
    store = open_store(None, project=files.root)
    yield store
    store.close()


def state_of(files: ProjectFiles) -> ProjectState:
    state = read_state(files)
    assert isinstance(state, ProjectState)
    return state


def planned(
    store: Store, files: ProjectFiles, change: StateChange, *, seen: str | None = None
) -> StatePlan:
    """Record a change without writing it, as a writer that is killed after the commit."""
    return store.write(
        lambda writing: plan_state(
            writing, StateFile(files), change, now=NOW, author="orchestrator", seen=seen
        )
    )


def moved(store: Store, files: ProjectFiles, change: StateChange) -> None:
    def plan(writing: WriteTransaction) -> tuple[StatePlan, ProjectionPlan]:
        state = plan_state(writing, StateFile(files), change, now=NOW, author="orchestrator")
        return state, plan_projections(writing, files, now=NOW, redact=as_it_is)

    def then(plans: tuple[StatePlan, ProjectionPlan]) -> None:
        plans[0].apply()
        plans[1].apply(files)

    store.write(plan, then=then)


def test_a_legal_move_is_written_with_the_revision_of_the_database(
    store: Store, files: ProjectFiles
) -> None:
    moved(store, files, StateChange(phase="accept"))

    state = state_of(files)
    assert (state.phase, state.revision, state.last_activity) == ("accept", 1, NOW)
    assert store.read(lambda reading: [event.kind for event in reading.events()]) == [
        "state",
        "transition",
    ]


def test_an_illegal_move_records_and_writes_nothing(store: Store, files: ProjectFiles) -> None:
    with pytest.raises(IllegalMoveError):
        planned(store, files, StateChange(phase="research"))

    assert store.read(lambda reading: (reading.revision(), reading.events())) == (0, [])
    assert files.read_text(STATE) == text_of("profile_0x", "state.json")


def test_a_forced_move_leaves_a_decision_in_the_log(store: Store, files: ProjectFiles) -> None:
    moved(store, files, StateChange(phase="research", forced=True, reason="Anna wants it"))

    entries = read_adl(files.read_text(".goopspec/ADL.md") or "")
    assert state_of(files).phase == "research"
    assert [entry.kind for entry in entries] == ["DEVIATION", "DECISION"]
    assert (
        entries[1].description
        == "The phase was forced from execute to research. Reason: Anna wants it"
    )


def test_a_caller_who_saw_another_state_is_refused_at_once(
    store: Store, files: ProjectFiles
) -> None:
    with pytest.raises(StateMovedError):
        planned(store, files, StateChange(phase="accept"), seen="0123456789abcdef")
    assert store.read(lambda reading: reading.revision()) == 0


def test_what_another_program_wrote_meanwhile_is_kept(store: Store, files: ProjectFiles) -> None:
    plan = planned(store, files, StateChange(phase="accept"))
    text = (
        text_of("profile_0x", "state.json").replace('"autopilot"', '"x"').replace("#todo", "#other")
    )
    (files.root / STATE).write_text(text)

    assert plan.apply().phase == "accept"
    assert "#other" in state_of(files).text


def test_a_caller_with_a_token_gets_an_error_when_the_state_has_changed(
    store: Store, files: ProjectFiles
) -> None:
    plan = planned(store, files, StateChange(phase="accept"), seen=state_of(files).token)
    (files.root / STATE).write_text(
        text := text_of("profile_0x", "state.json").replace("#todo", "#other")
    )

    with pytest.raises(StateMovedError):
        plan.apply()

    assert files.read_text(STATE) == text


def test_a_change_that_was_recorded_and_not_written_is_written_at_the_next_start(
    store: Store, files: ProjectFiles
) -> None:
    planned(store, files, StateChange(phase="research", forced=True))
    assert state_of(files).phase == "execute"

    first, second = (
        recover(store, files, now="2026-02-01T00:00:00Z", redact=as_it_is) for _ in range(2)
    )

    assert (first.state, second.state) == (True, False)
    assert (state_of(files).phase, state_of(files).last_activity) == ("research", NOW)
    assert len(read_adl(files.read_text(".goopspec/ADL.md") or "")) == 2


def test_a_change_that_was_not_written_is_given_up_when_the_file_has_moved_since(
    store: Store, files: ProjectFiles
) -> None:
    planned(store, files, StateChange(phase="accept"))
    (files.root / STATE).write_text(
        text := text_of("profile_0x", "state.json").replace('"execute"', '"plan"')
    )

    assert not recover(store, files, now=NOW, redact=as_it_is).state
    assert files.read_text(STATE) == text
