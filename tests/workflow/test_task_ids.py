"""One task, many spellings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goop_mcp.workflow.task_ids import TaskId, normal_task_id, parse_task_id, same_task
from tests.requirements import requirement


@requirement("G-12")
@pytest.mark.parametrize(
    "spelling", ["W2.T3", "w2t3", "T2.3", "Task 2.3", "2.3", "Wave 2, Task 3", "Wave 2 Task 3"]
)
def test_every_spelling_of_the_specification_is_the_same_task(spelling: str) -> None:
    assert parse_task_id(spelling) == TaskId(2, 3)
    assert str(parse_task_id(spelling)) == "W2.T3"


@pytest.mark.parametrize(
    "spelling",
    ["w2.t3", "W2T3", "TASK 2.3", "t2.3", "wave 2, task 3", "  W2.T3\n", "WAVE 2 TASK 3"],
)
def test_case_and_blanks_around_do_not_count(spelling: str) -> None:
    assert parse_task_id(spelling) == TaskId(2, 3)


@pytest.mark.parametrize("spelling", ["W02.T03", "02.03", "Task 002.3", "Wave 02, Task 03"])
def test_leading_zeros_do_not_count(spelling: str) -> None:
    assert parse_task_id(spelling) == TaskId(2, 3)


@pytest.mark.parametrize("spelling", ["W2", "w2", "W02"])
def test_wave_alone_is_a_wave(spelling: str) -> None:
    assert parse_task_id(spelling) == TaskId(2, None)
    assert str(parse_task_id(spelling)) == "W2"


def test_task_without_a_wave_is_one_of_the_current_wave_and_marked_as_guessed() -> None:
    assert parse_task_id("Task 3", current_wave=5) == TaskId(5, 3, guessed=True)


def test_task_without_a_wave_is_nothing_when_the_wave_is_not_known() -> None:
    assert parse_task_id("Task 3") is None


def test_known_wave_changes_nothing_for_a_full_id() -> None:
    assert parse_task_id("W2.T3", current_wave=5) == TaskId(2, 3)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "auth",
        "W2.T",
        "W.T3",
        "2.3.4",
        "v2.3",
        "W2.T3-b",
        "W-1.T2",
        "W2.Tx",
        "Task two",
        "W2/T3",
        "2,3",
    ],
)
def test_anything_else_is_no_task_id(text: str) -> None:
    assert parse_task_id(text, current_wave=1) is None


@given(st.text(max_size=30), st.none() | st.integers(0, 9))
def test_no_text_breaks_the_reader(text: str, wave: int | None) -> None:
    task_id = parse_task_id(text, current_wave=wave)

    assert task_id is None or task_id.wave >= 0


@given(st.integers(0, 99_999), st.integers(0, 99_999))
def test_written_id_reads_as_itself(wave: int, task: int) -> None:
    assert parse_task_id(str(TaskId(wave, task))) == TaskId(wave, task)


@requirement("G-12")
@pytest.mark.parametrize("other", ["w2t3", "T2.3", "Task 2.3", "02.03", "Wave 2, Task 3"])
def test_two_spellings_of_one_task_are_the_same(other: str) -> None:
    assert same_task("W2.T3", other)
    assert not same_task("W2.T4", other)


def test_other_ids_are_compared_as_text() -> None:
    assert same_task(" login ", "login")
    assert not same_task("login", "Login")
    assert normal_task_id(" login ") == "login"


def test_a_number_alone_is_a_task_of_the_current_wave() -> None:
    assert same_task("Task 3", "W5.T3", current_wave=5)
    assert not same_task("Task 3", "W5.T3")
