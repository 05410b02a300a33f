"""How far a project has come with handoffs, counted exactly."""

from fractions import Fraction

import pytest

from goop_mcp.services.adoption import measure_adoption
from goop_mcp.services.gate import Adoption
from tests.protocols.agent_request.prompts import PROMPT, read_case
from tests.requirements import requirement

PROSE = read_case("1_1_freeform")
POM = read_case("foreign_xml_only")
REFUSED = read_case("7_1_s2_bad_enum")


@requirement("H-54")
def test_one_of_three_is_a_third() -> None:
    assert measure_adoption([PROMPT, PROSE, POM]).rate == Fraction(1, 3)
    assert measure_adoption([PROMPT, PROSE, POM]).line == "XML handoff adoption: 33.33% (1 / 3)"


@requirement("H-54")
def test_no_sessions_are_no_adoption() -> None:
    assert measure_adoption([]).rate == 0
    assert measure_adoption([]).line == "XML handoff adoption: 0.00% (0 / 0)"
    assert not measure_adoption([], phase="mandatory").reached


@requirement("H-54")
@pytest.mark.parametrize(
    ("held", "of", "percent"), [(2, 3, "66.67"), (1, 7, "14.29"), (3, 3, "100.00"), (0, 2, "0.00")]
)
def test_the_rate_is_rounded_once_and_last(held: int, of: int, percent: str) -> None:
    report = measure_adoption([PROMPT] * held + [PROSE] * (of - held))

    assert report.line == f"XML handoff adoption: {percent}% ({held} / {of})"


@requirement("H-55")
@pytest.mark.parametrize(
    ("phase", "held", "of", "reached"),
    [
        ("optional", 0, 4, True),
        ("pilot", 2, 4, False),
        ("pilot", 3, 4, True),
        ("expanded", 4, 5, False),
        ("expanded", 5, 6, True),
        ("mandatory", 9, 10, False),
        ("mandatory", 10, 10, True),
    ],
)
def test_each_phase_has_its_goal(phase: Adoption, held: int, of: int, reached: bool) -> None:
    assert measure_adoption([PROMPT] * held + [PROSE] * (of - held), phase=phase).reached == reached


@requirement("H-56")
@pytest.mark.parametrize(
    ("blocked", "of", "too_many"), [(0, 5, False), (1, 10, False), (2, 19, True), (1, 2, True)]
)
def test_more_than_a_tenth_refused_calls_for_going_back(
    blocked: int, of: int, too_many: bool
) -> None:
    report = measure_adoption([REFUSED] * blocked + [PROMPT] * (of - blocked))

    assert report.blocked == blocked
    assert report.too_many_blocked == too_many
