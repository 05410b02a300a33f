"""The sets: no honest reply is accused, and at least 95 % of what is untrue is found."""

import pytest

from tests.documentation.pages import read_page
from tests.sets.judging import SETS, table

# How many the sets hold at least, of what is untrue and what is honest.
LEAST = {
    "quotes": (60, 0),
    "corrections": (40, 50),
    "ends": (40, 0),
    "check_texts": (120, 200),
    "honest": (0, 200),
}


@pytest.mark.parametrize("name", SETS)
def test_nearly_all_is_found_and_nothing_honest_is_accused(name: str) -> None:
    found = SETS[name]()
    assert found.accused == ()
    assert len(found.missed) <= 0.05 * found.untrue, found.missed
    untrue, honest = LEAST[name]
    assert found.untrue >= untrue
    assert found.honest >= honest


def test_the_page_has_the_counts() -> None:
    assert table() in read_page("docs/evidence.md")
