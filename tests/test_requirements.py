"""Each requirement is proved by a test or deferred with a reason, never both."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

# Under another name, so that the deliberate misuses below are not taken for ties of this file.
from tests.requirements import deferred_reasons, load_ledger, read_ties
from tests.requirements import requirement as tie
from tests.requirements.ledger import load_deferrals


def _listed(ids: Iterable[str]) -> str:
    return "\n".join(f"  {id}  {load_ledger()[id].text[:90]}" for id in sorted(ids))


def test_every_requirement_is_tied_to_a_test_or_deferred() -> None:
    tied = {tie.id for tie in read_ties()[0]}
    missing = load_ledger().keys() - tied - deferred_reasons().keys()
    assert not missing, (
        f"{len(missing)} requirements are neither tied to a test nor deferred;"
        f" expected @requirement(...) on a test or an entry in deferred.toml:\n{_listed(missing)}"
    )


def test_no_requirement_is_both_tied_and_deferred() -> None:
    both = {tie.id for tie in read_ties()[0]} & deferred_reasons().keys()
    assert not both, f"tests prove these already; take them out of deferred.toml:\n{_listed(both)}"


def test_every_tie_names_a_known_requirement() -> None:
    unknown = [f"{tie.place}: {tie.id}" for tie in read_ties()[0] if tie.id not in load_ledger()]
    assert not unknown


def test_every_use_of_the_mark_stands_where_pytest_sees_it() -> None:
    assert [f"{stray.place}: {stray.problem}" for stray in read_ties()[1]] == []


def test_every_deferred_id_is_known() -> None:
    assert deferred_reasons().keys() - load_ledger().keys() == set()


def test_no_requirement_is_deferred_twice() -> None:
    counts = Counter(deferral.id for deferral in load_deferrals())
    assert [id for id, count in counts.items() if count > 1] == []


def test_every_deferral_says_which_capability_is_missing() -> None:
    assert [deferral.id for deferral in load_deferrals() if not deferral.reason] == []


def test_an_unknown_id_fails_at_import_and_names_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"'G45' is not in .*; did you mean G-45\?"):
        tie("G45")


def test_a_mark_without_an_id_fails_at_import() -> None:
    with pytest.raises(ValueError, match="needs at least one id"):
        tie()


SOURCE = """
import pytest

pytestmark = requirement("G-01")
CASE = [pytest.param(1, marks=requirement("G-02")), pytest.param(2, marks=[requirement("G-03"), x])]

@requirement("G-04", "G-05")
@pytest.mark.parametrize("n", [pytest.param(1, marks=pytest.mark.requirement("G-06"))])
async def test_something(n): ...

@requirement("G-07")
class TestGroup: ...

@requirement("G-08")
def build_something(): ...

@requirement(*IDS)
def test_with_computed_ids(): ...
"""


def test_ties_are_read_from_decorators_params_and_pytestmark(tmp_path: Path) -> None:
    (tmp_path / "test_sample.py").write_text(SOURCE, encoding="utf-8")

    ties, _ = read_ties(tmp_path)

    assert {tie.id for tie in ties} == {f"G-0{number}" for number in range(1, 8)}
    assert "test_sample.py:7" in {tie.place for tie in ties if tie.id == "G-05"}


def test_a_mark_that_pytest_does_not_see_is_a_stray(tmp_path: Path) -> None:
    (tmp_path / "test_sample.py").write_text(SOURCE, encoding="utf-8")

    _, strays = read_ties(tmp_path)

    assert [stray.place for stray in strays] == ["test_sample.py:14", "test_sample.py:17"]
