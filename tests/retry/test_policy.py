"""A policy that cannot be kept is refused, with the names of the fields."""

import pytest

from goop_mcp import GoopError, RetryPolicy
from goop_mcp.retry import PolicyError
from tests.retry.agents import GOOD, Scripted


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"max_attempts": 0}, ["max_attempts", "0"]),
        ({"max_attempts": 101}, ["max_attempts"]),
        ({"max_attempts": True}, ["max_attempts"]),
        ({"max_attempts": 2.0}, ["max_attempts"]),
        ({"call_retries": -1}, ["call_retries"]),
        ({"deadline": 0}, ["deadline"]),
        ({"deadline": "soon", "attempt_timeout": 3}, ["deadline", "'soon'"]),
        ({"deadline": float("nan")}, ["deadline"]),
        ({"max_tokens": -5, "max_cost": False}, ["max_tokens", "max_cost"]),
        ({"deadline": 5, "attempt_timeout": 6}, ["attempt_timeout", "deadline"]),
        ({"strategies": ()}, ["strategies"]),
        ({"strategies": ("first",)}, ["strategies"]),
        ({"strategies": ("fresh", "fresh")}, ["strategies", "twice"]),
        ({"when_exhausted": "explode"}, ["when_exhausted", "explode"]),
        ({"when_exhausted": "fallback"}, ["when_exhausted", "fallback"]),
        ({"when_exhausted": "fallback", "fallback": []}, ["when_exhausted", "fallback"]),
        ({"circuit": "off"}, ["circuit", "'off'"]),
        ({"fallback": Scripted(GOOD)}, ["fallback", "when_exhausted"]),
        ({"fallback": Scripted(GOOD), "when_exhausted": "raise"}, ["fallback", "when_exhausted"]),
        (
            {"allow_repairs": False, "rejected_repairs": frozenset({"xml/unescaped"})},
            ["allow_repairs", "rejected_repairs"],
        ),
        ({"max_calls": 0}, ["max_calls"]),
        ({"strategies": "fresh"}, ["strategies", "'fresh'"]),
        ({"rejected_repairs": "xml/unescaped"}, ["rejected_repairs is 'xml/unescaped'", "a set"]),
        ({"allow_repairs": "no"}, ["allow_repairs", "'no'"]),
        ({"retry_call": 5, "backoff": 2.0}, ["retry_call is 5", "backoff is 2.0"]),
        (
            {"call_retries": 0, "retry_call": bool, "backoff": bool},
            ["retry_call", "backoff", "call_retries"],
        ),
        (
            {"rejected_repairs": frozenset({"xml/no-such-rule"})},
            ["rejected_repairs", "xml/no-such-rule"],
        ),
    ],
    ids="-".join,
)
def test_what_contradicts_itself_names_the_fields(
    fields: dict[str, object], named: list[str]
) -> None:
    with pytest.raises(PolicyError) as caught:
        RetryPolicy(**fields)  # type: ignore[arg-type]  # wrong on purpose

    assert all(name in str(caught.value) for name in named), str(caught.value)
    assert isinstance(caught.value, GoopError | ValueError)


def test_every_error_is_named_at_once() -> None:
    with pytest.raises(PolicyError) as caught:
        RetryPolicy(max_attempts=0, call_retries=-1, strategies=())
    assert all(name in str(caught.value) for name in ("max_attempts", "call_retries", "strategies"))


def test_a_list_of_the_callers_is_copied() -> None:
    strategies, rules = ["fresh"], {"xml/unescaped"}
    # Taken all the same.
    policy = RetryPolicy(strategies=strategies, rejected_repairs=rules)  # type: ignore[arg-type]
    strategies.append("minimal")
    rules.clear()
    assert policy.strategies == ("fresh",)
    assert policy.rejected_repairs == {"xml/unescaped"}
    assert hash(policy)
