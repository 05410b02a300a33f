"""What a hostile reply costs: time linear to its size, and little memory."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.repository import ROOT
from tests.validation.hostile import PLACEMENTS, SHAPES
from tests.validation.replies import judge

LONGEST_WAIT_SECONDS = 300
# A time that grows with the square of the size gives 16 here; a linear one about 1.
TIMES_AS_LARGE = 16
MOST_GROWTH_PER_CHARACTER = 6
# Below this, a timing says more about the machine than about the program.
SMALLEST_MEASURABLE_SECONDS = 0.0005


class Cost(NamedTuple):
    """What one validation took: seconds, bytes by which the process grew, and what was found."""

    seconds: float
    growth: int
    rules: list[str]


def cost_in_a_separate_process(place: str, shape: str, size: int) -> Cost:
    command = [sys.executable, "-m", "tests.validation.hostile", place, shape, str(size)]
    run = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=LONGEST_WAIT_SECONDS
    )
    return Cost(**json.loads(run.stdout))


@pytest.mark.parametrize(
    "shape",
    [
        "prose",
        "less_than",
        "start_tags_with_children",
        "empty_elements",
        "open_elements",
        "ampersands",
        "drafts",
        "json_open",
    ],
)
def test_ten_megabytes_are_refused_at_once_and_in_little_memory(shape: str) -> None:
    cost = cost_in_a_separate_process("before_the_report", shape, 10_000_000)

    assert cost.rules == ["envelope/too-large"]
    assert cost.growth < 50_000_000
    assert cost.seconds < 1


@pytest.mark.parametrize(
    ("place", "shape", "size"),
    [
        ("alone", "pairs", 2_000_000),
        ("alone", "start_tags_with_children", 2_000_000),
        ("alone", "escaped_start_tags", 2_000_000),
        ("alone", "fences", 2_000_000),
        ("in_the_summary", "ampersands", 480_000),
        ("in_the_summary", "nul", 480_000),
        ("in_the_summary", "less_than", 480_000),
        ("in_the_summary", "empty_elements", 480_000),
        ("cut_off", "ampersands", 480_000),
    ],
)
def test_hostile_text_within_the_limit_of_bytes_costs_little_memory(
    place: str, shape: str, size: int
) -> None:
    assert cost_in_a_separate_process(place, shape, size).growth < 50_000_000


MANY_TIMES = """
import sys
from pathlib import Path
from goop_mcp import validate
from tests.validation.replies import load_cases
texts = [case.text for case in load_cases()]
def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
def judge_all(times):
    for _ in range(times):
        for text in texts:
            validate(text)
judge_all(40)
before, files = resident(), len(list(Path("/proc/self/fd").iterdir()))
judge_all(10_000 // len(texts))
sys.stdout.write(f"{resident() - before} {len(list(Path('/proc/self/fd').iterdir())) - files}")
"""


@pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="the size of a process is read from /proc"
)
def test_ten_thousand_validations_leak_no_memory_and_no_open_file() -> None:
    run = subprocess.run(
        [sys.executable, "-c", MANY_TIMES],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=LONGEST_WAIT_SECONDS,
    )

    growth, files = map(int, run.stdout.split())
    assert growth < 5_000_000
    assert files == 0


def seconds_to_judge(text: str) -> float:
    """Return the time that the processor worked: what else the machine does must not count."""
    start = time.thread_time()
    judge(text)
    return time.thread_time() - start


def growth_per_character(place: str, shape: str, size: int, *, tries: int) -> float:
    """Return the ratio of time per character at `size` to that at a sixteenth; 1 is linear."""
    small, large = (
        PLACEMENTS[place](SHAPES[shape](each)) for each in (size // TIMES_AS_LARGE, size)
    )
    seconds_small = min(seconds_to_judge(small) for _ in range(tries))
    seconds_large = min(seconds_to_judge(large) for _ in range(tries))
    return seconds_large / max(seconds_small, SMALLEST_MEASURABLE_SECONDS) / TIMES_AS_LARGE


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("place", PLACEMENTS)
def test_time_grows_in_step_with_the_size(place: str, shape: str) -> None:
    for size in (40_000, 320_000):
        growth = growth_per_character(place, shape, size, tries=1)
        if growth > MOST_GROWTH_PER_CHARACTER:
            # Another process may have used the machine, which the best of four tries excludes.
            growth = growth_per_character(place, shape, size, tries=4)

        assert growth < MOST_GROWTH_PER_CHARACTER


# They hold whole reports, some in an older form.
WHOLE_REPORTS = {
    "drafts",
    "json_objects",
    "headings_of_two_kinds",
    "other_root_pairs",
    "doctype_that_never_ends",
    "blanks_after_the_root",
    "fences_after_the_root",
    "host_lines_after_the_root",
}


@pytest.mark.parametrize("shape", sorted(SHAPES.keys() - WHOLE_REPORTS))
def test_no_shape_of_hostile_text_is_taken_for_a_report(shape: str) -> None:
    assert not judge(SHAPES[shape](3_000)).accepted
