"""state.json is read in four shapes, changed where it stands, and never reset."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goop_mcp.errors import (
    IllegalMoveError,
    StateCorruptError,
    StateMovedError,
    StateReadOnlyError,
    WorkspaceError,
)
from goop_mcp.workflow.phases import MoveKind
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.json_text import JsonDefect, parse_object, set_values
from goop_mcp.workspace.state import ProjectState, StateDefect, StateShape, parse_state, read_state
from goop_mcp.workspace.state_changes import (
    StateChange,
    change_from_json,
    plan_change,
    writable_state,
)
from tests.workspace.projects import CASES, NOW, copied, text_of


def state_of(case: str) -> ProjectState:
    state = read_state(ProjectFiles(CASES / case))
    assert isinstance(state, ProjectState)
    return state


def changed(text: str, **values: object) -> str:
    state = parse_state(text)
    assert isinstance(state, ProjectState)
    # Any change.
    return plan_change(state, StateChange(**values), now=NOW).after.text  # type: ignore[arg-type]


def test_version_1_is_read_with_all_that_counts() -> None:
    state = state_of("profile_0x")

    assert (state.shape, state.profile, state.phase) == (StateShape.VERSION_1, "0.x", "execute")
    assert (state.project, state.mode, state.depth) == ("Todo API", "standard", "standard")
    assert (state.spec_locked, state.interview_complete, state.acceptance_confirmed) == (
        True,
        True,
        False,
    )
    assert (state.current_wave, state.total_waves) == (2, 3)
    assert state.active_checkpoint == "cp-20260118"
    assert [(task.id, task.status) for task in state.pending_tasks] == [
        ("W1.T1", "completed"),
        ("t-2", "in_progress"),
    ]
    assert state.writable


def test_windows_line_ends_and_a_byte_order_mark_change_nothing() -> None:
    windows = state_of("windows")

    assert (windows.phase, windows.spec_locked, windows.total_waves) == ("execute", True, 3)


def test_a_phase_that_only_v1_has_makes_the_profile_v1() -> None:
    state = state_of("profile_v1")

    assert (state.profile, state.phase, state.depth, state.total_waves) == (
        "v1",
        "discuss",
        "standard",
        0,
    )


@pytest.mark.parametrize(
    ("case", "shape", "profile", "phase", "locked"),
    [
        ("version_2_map", StateShape.VERSION_2, "0.x", "plan", False),
        ("version_2_workflows", StateShape.VERSION_2_WORKFLOWS, "v1", "execute", True),
        ("before_version_1", StateShape.BEFORE_VERSION_1, "0.x", "idle", False),
    ],
)
def test_other_shapes_are_read_and_never_written(
    tmp_path: Path, *, case: str, shape: StateShape, profile: str, phase: str, locked: bool
) -> None:
    state = state_of(case)

    assert (state.shape, state.profile, state.phase, state.spec_locked) == (
        shape,
        profile,
        phase,
        locked,
    )
    assert state.interview_complete
    with pytest.raises(StateReadOnlyError, match="which is read and never written"):
        writable_state(read_state(copied(case, tmp_path)))


def test_the_active_workflow_of_version_2_counts() -> None:
    state = state_of("version_2_workflows")

    assert (state.workflow_id, state.depth, state.manual_override) == ("checkout", "deep", True)
    assert (state.current_wave, state.total_waves) == (1, 4)


def test_a_version_from_the_future_is_read_and_never_written() -> None:
    state = parse_state('{"version": 7, "workflow": {"phase": "plan"}}')

    assert isinstance(state, ProjectState)
    assert (state.shape, state.phase, state.writable) == (StateShape.UNKNOWN, "plan", False)


def test_snake_case_and_the_users_word_are_read() -> None:
    state = state_of("snake_case")

    assert (state.spec_locked, state.interview_complete, state.last_activity) == (
        True,
        True,
        "2026-01-16T09:00:00Z",
    )
    accepted = parse_state('{"version": 1, "workflow": {"phase": "accept"}, "user_accepted": true}')
    assert isinstance(accepted, ProjectState)
    assert accepted.acceptance_confirmed


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("", "it is empty", (1, 1)),
        ("[]", "it is not a JSON object", (1, 1)),
        ('{"version": 1,', "it ends in the middle", (1, 15)),
        ('{\n  "version": 1\n  "x": 2\n}', "unexpected '\"'", (3, 3)),
        ('{"version": 1}\n}', "something follows the object", (2, 1)),
        ('{"version": 1, "version": 2}', "key 'version' stands twice", (1, 16)),
        ('{"version": 1, "workflow": {"a": 1,\n "a": 2}}', "key 'a' stands twice", (2, 2)),
        (
            '{"version": 1, "workflow": {"specLocked": "yes"}}',
            "workflow.specLocked is not true or false",
            (1, 43),
        ),
        (
            '{"version": 1, "workflow": {"currentWave": -1}}',
            "workflow.currentWave is not an integer from 0",
            (1, 44),
        ),
        ('{"version": 1, "workflow": []}', "workflow is not an object", (1, 28)),
        (
            '\ufeff{"version": NaN}',
            "it is not valid JSON: it has NaN, infinity or half a surrogate pair",
            (1, 1),
        ),
    ],
)
def test_an_unreadable_state_is_reported_with_line_and_column(
    text: str, message: str, place: tuple[int, int]
) -> None:
    defect = parse_state(text)

    assert isinstance(defect, StateDefect)
    assert (defect.message, (defect.line, defect.column)) == (message, place)


def test_a_corrupt_state_is_never_written_and_stays_as_it_is(tmp_path: Path) -> None:
    files = copied("corrupt", tmp_path)

    with pytest.raises(
        StateCorruptError, match="line 6, column 1: it ends in the middle; it was not changed"
    ):
        writable_state(read_state(files))

    assert files.read_text(".goopspec/state.json") == text_of("corrupt", "state.json")


def test_without_a_state_the_message_says_how_to_create_one(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="run 'goop-mcp init'"):
        writable_state(read_state(ProjectFiles(tmp_path)))
    assert read_state(ProjectFiles(tmp_path)) is None


def test_a_change_touches_only_the_values_it_is_about() -> None:
    text = text_of("profile_0x", "state.json")

    after = changed(text, phase="accept", values={"currentWave": 3})

    expected = (
        text.replace('"phase": "execute",\n    "mode"', '"phase": "accept",\n    "mode"')
        .replace('"currentWave": 2', '"currentWave": 3')
        .replace("2026-01-18T16:20:00.000Z", NOW)
        .replace('"status": "execute"', '"status": "accept"')
    )
    assert after == expected


def test_windows_line_ends_survive_a_change() -> None:
    text = text_of("windows", "state.json")

    after = changed(text, phase="plan")

    assert after.startswith("\ufeff{\r\n")
    assert after.count("\r\n") == text.count("\r\n") == after.count("\n")


def test_a_key_in_snake_case_is_written_back_so() -> None:
    after = json.loads(
        changed(text_of("snake_case", "state.json"), values={"specLocked": False, "totalWaves": 2})
    )

    assert after["workflow"]["spec_locked"] is False
    assert "specLocked" not in after["workflow"]
    assert after["workflow"]["last_activity"] == NOW
    assert after["workflow"]["totalWaves"] == 2


def test_a_new_key_follows_the_last_one_in_the_same_style() -> None:
    before = '{\n\t"a": {\n\t\t"b": 1\n\t}\n}'

    assert set_values(before, [(("a", "c"), "é")]) == before.replace("1", '1,\n\t\t"c": "é"')
    assert set_values('{"a": {}}', [(("a", "b"), None)]) == '{"a": {"b": null}}'


def test_an_illegal_move_writes_nothing_and_names_the_phases_that_follow() -> None:
    state = state_of("profile_0x")

    with pytest.raises(
        IllegalMoveError,
        match="phase execute does not lead to research; expected one of accept, plan",
    ):
        plan_change(state, StateChange(phase="research"), now=NOW)


def test_a_rework_move_keeps_the_lock() -> None:
    planned = plan_change(state_of("profile_0x"), StateChange(phase="plan"), now=NOW)

    assert planned.move is MoveKind.REWORK
    assert planned.after.spec_locked


def test_closing_resets_what_the_next_round_must_earn() -> None:
    text = changed(
        text_of("profile_0x", "state.json"), phase="accept", values={"acceptanceConfirmed": True}
    )

    state = parse_state(changed(text, phase="idle"))

    assert isinstance(state, ProjectState)
    assert (state.spec_locked, state.acceptance_confirmed, state.interview_complete) == (
        False,
        False,
        False,
    )
    assert (state.current_wave, state.total_waves) == (0, 0)


def test_a_forced_move_of_v1_sets_the_override() -> None:
    state = parse_state('{"version": 1, "workflow": {"phase": "discuss"}}')
    assert isinstance(state, ProjectState)

    planned = plan_change(state, StateChange(phase="accept", forced=True), now=NOW)

    assert (planned.move, planned.after.phase, planned.after.manual_override) == (
        MoveKind.FORCED,
        "accept",
        True,
    )


def test_old_files_gain_no_keys_that_say_nothing() -> None:
    after = json.loads(changed('{"version": 1, "workflow": {"phase": "accept"}}', phase="idle"))

    assert after["workflow"] == {"phase": "idle", "lastActivity": NOW}


def test_only_known_keys_are_changed() -> None:
    with pytest.raises(ValueError, match="phase: no key of workflow that is changed by itself"):
        plan_change(state_of("profile_0x"), StateChange(values={"phase": "accept"}), now=NOW)


def test_a_state_that_has_moved_is_refused_with_what_it_is_now(tmp_path: Path) -> None:
    files = copied("profile_0x", tmp_path)
    seen = writable_state(read_state(files)).token
    (tmp_path / ".goopspec" / "state.json").write_text(
        changed(text_of("profile_0x", "state.json"), phase="accept")
    )

    with pytest.raises(StateMovedError, match="in phase accept; read it and decide again") as moved:
        writable_state(read_state(files), seen=seen)

    assert moved.value.retryable


def test_the_token_changes_when_another_program_keeps_the_revision() -> None:
    text = '{"version": 1, "revision": 4, "workflow": {"phase": "plan"}}'
    states = [parse_state(text), parse_state(text.replace("plan", "execute"))]

    assert [state.revision for state in states if isinstance(state, ProjectState)] == [4, 4]
    assert len({state.token for state in states if isinstance(state, ProjectState)}) == 2


def test_a_change_survives_being_written_as_json() -> None:
    change = StateChange(
        phase="plan", values={"currentWave": 2, "mode": "deep"}, forced=True, reason="Anna wants it"
    )

    assert change_from_json(change.to_json()) == change


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
NUMBERS = st.integers(-(10**30), 10**30) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@given(
    st.dictionaries(TEXTS, VALUES, max_size=4),
    st.sampled_from([None, 1, 2, 4, "\t"]),
    st.booleans(),
    st.sampled_from(["", "\n", "\r\n"]),
)
def test_unknown_keys_and_their_order_survive_every_write(
    unknown: dict[str, object], indent: int | str | None, ascii_only: bool, end: str
) -> None:
    values = {
        **unknown,
        "version": 1,
        "workflow": {**unknown, "phase": "plan"},
        "project": {},
        "execution": {},
    }
    for name in ("project_state", "activeWorkflowId", "workflows", "revision"):
        values.pop(name, None)

    text = json.dumps(values, indent=indent, ensure_ascii=ascii_only) + end

    state = parse_state(text)
    assert isinstance(state, ProjectState)
    after = plan_change(state, StateChange(phase="execute"), now=NOW, revision=9).after.text

    found = parse_object(after)
    assert not isinstance(found, JsonDefect)
    workflow = {**values["workflow"], "phase": "execute", "lastActivity": NOW}  # type: ignore[dict-item]  # a dict
    assert list(found) == [*values, "revision"]
    assert found == {**values, "workflow": workflow, "revision": 9}
    assert after.endswith(end)
