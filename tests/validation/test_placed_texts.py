"""Template text in its place, and honest texts that look like it (D-22)."""

import pytest

from goop_mcp import Severity, Verdict
from goop_mcp.validation.findings import Mode
from tests.requirements import requirement
from tests.validation.placed_texts import PlacedText, judge_placed, load_placed
from tests.validation.replies import MODES

SLOTS = list(load_placed("slot"))
HONEST = list(load_placed("honest"))


def ids(placed: PlacedText) -> str:
    return f"{placed.place}: {placed.text}"


def is_placeholder_found(verdict: Verdict) -> bool:
    """Return whether something in the text is reported, as template text or as a wrong value."""
    return not verdict.accepted or any(
        finding.rule.endswith("/placeholder-left") or finding.rule == "path/template-variable"
        for finding in verdict.findings
    )


@requirement("G-53", "S-15", "F-02", "H-65")
@pytest.mark.parametrize("placed", SLOTS, ids=ids)
def test_template_text_is_found_in_its_place(placed: PlacedText) -> None:
    lenient, strict = (is_placeholder_found(judge_placed(placed, mode)) for mode in MODES)
    assert lenient is placed.found
    # A value that is no slot may still be one that strict mode refuses.
    assert strict >= lenient


@pytest.mark.parametrize("placed", HONEST, ids=ids)
def test_an_honest_text_stays_in_its_place(placed: PlacedText) -> None:
    verdict = judge_placed(placed)
    assert verdict.accepted
    assert not is_placeholder_found(verdict)


def test_the_sets_are_large_and_nearly_all_of_them_is_found() -> None:
    assert sum(placed.found for placed in SLOTS) >= 0.96 * len(SLOTS) > 950
    assert len(HONEST) >= 1_600


@requirement("G-53")
@pytest.mark.parametrize("mode", MODES)
def test_sibling_root_that_holds_a_slot_is_an_error(mode: Mode) -> None:
    for place in ("writer.summary", "writer.file", "writer.next", "writer.commit"):
        verdict = judge_placed(PlacedText("", place, "Documented [feature] for [audience]"), mode)
        rules = [each.rule for each in verdict.of_severity(Severity.ERROR)]
        assert "goop_report/placeholder-left" in rules
