"""A short part of `make fuzz`, the same each time; and that the laws it looks at can be broken."""

import random

import pytest

from goop_mcp import validate
from tests.fuzz import laws
from tests.fuzz.laws import broken_laws
from tests.fuzz.replies import reply, samples
from tests.validation.replies import EXECUTOR

SEED = 20_260_122
REPLIES = 4_000
SHARES = 8


@pytest.mark.parametrize("share", range(SHARES))
def test_no_law_is_broken_by_replies_that_were_changed_at_random(share: int) -> None:
    for number in range(share, REPLIES, SHARES):
        broken = list(broken_laws(reply(SEED, number), random.Random(number)))
        assert broken == [], f"seed {SEED}, reply {number}"


def test_same_seed_makes_the_same_replies_and_another_one_makes_others() -> None:
    assert [reply(1, number) for number in range(50)] == [reply(1, number) for number in range(50)]
    assert [reply(1, number) for number in range(50)] != [reply(2, number) for number in range(50)]
    assert len(samples()) > 150


def test_an_exception_and_a_slow_judgement_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(text: str, **_: object) -> None:
        raise KeyError(text[:3])

    monkeypatch.setattr(laws, "validate", broken)
    assert list(broken_laws("abcdef", random.Random(1))) == ["raises KeyError: 'abc'"]

    monkeypatch.setattr(laws, "validate", validate)
    monkeypatch.setattr(laws, "_MOST_SECONDS", -1.0)
    assert next(iter(broken_laws(EXECUTOR, random.Random(1)))).startswith("takes ")
