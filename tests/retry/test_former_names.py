"""Former public names of `goop_mcp.retry`: they work until 1.0, with a warning."""

import copy
from dataclasses import replace

import pytest

from goop_mcp import RetryPolicy, retry
from goop_mcp.errors import GoopDeprecationWarning


@pytest.mark.parametrize(
    ("former", "name"),
    [
        ("Asking", "RetryLoop"),
        ("Following", "WorkflowLoop"),
        ("Journey", "WorkflowRun"),
        ("JourneyEnd", "WorkflowStopReason"),
    ],
)
def test_a_former_class_name_is_the_present_class(former: str, name: str) -> None:
    with pytest.warns(GoopDeprecationWarning, match=rf"\.{former} is now called {name};"):
        value = getattr(retry, former)

    assert value is getattr(retry, name)


def test_each_use_of_a_former_class_name_warns_at_its_caller() -> None:
    for _ in range(2):
        with pytest.warns(GoopDeprecationWarning) as warned:
            getattr(retry, "Asking")  # noqa: B009 - looked up only

        assert [each.filename for each in warned] == [__file__]


@pytest.mark.parametrize(
    ("former", "name", "value"),
    [
        ("mend_form", "allow_repairs", False),
        ("unmended", "rejected_repairs", frozenset({"xml/unescaped"})),
        ("ways", "strategies", ("fresh",)),
    ],
)
def test_a_former_field_is_accepted_and_read(former: str, name: str, value: object) -> None:
    present = RetryPolicy(**{name: value})  # type: ignore[arg-type]  # of two kinds
    with pytest.warns(GoopDeprecationWarning, match=rf"\.{former} is now called {name};") as warned:
        policy = RetryPolicy(**{former: value})  # type: ignore[arg-type]

    assert [each.filename for each in warned] == [__file__]
    assert policy == present

    with pytest.warns(GoopDeprecationWarning, match=f"called {name};") as warned:
        assert getattr(policy, former) == value

    assert [each.filename for each in warned] == [__file__]


def test_a_former_field_replaces_the_value_of_a_copied_policy() -> None:
    policy = RetryPolicy(max_attempts=5)
    with pytest.warns(GoopDeprecationWarning, match="allow_repairs"):
        strict = replace(policy, mend_form=False)  # type: ignore[call-arg]

    assert strict == RetryPolicy(max_attempts=5, allow_repairs=False)


def test_present_names_do_not_warn() -> None:
    policy = RetryPolicy(allow_repairs=False)
    assert copy.copy(replace(policy, max_attempts=2)).max_attempts == 2
    assert "mend_form" not in repr(policy)


def test_an_unknown_field_is_still_refused() -> None:
    with pytest.raises(TypeError, match="max_attempt"):
        RetryPolicy(max_attempt=3)  # type: ignore[call-arg]
