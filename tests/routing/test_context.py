"""A context is read from JSON values; an error names the wrong field."""

import copy
import json
import pickle
from dataclasses import fields
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goop_mcp import GoopError
from goop_mcp.errors import ContextError
from goop_mcp.routing import Counters, Policy, RoutingContext, RoutingLimits, SessionState, route
from goop_mcp.routing.context_reading import read_context
from tests.routing.replies import judged, report

FULL = {
    "expected_agent": "goop-executor",
    "phase": "execute",
    "task_id": "W2.T3",
    "session_id": "s",
    "attempt": 2,
    "iteration": 1,
    "max_iterations": 3,
    "counters": {"repair_rounds": 1, "partials": 2, "prerequisites": {"plan": 1}},
    "previous_rules": ["goop_report/no-envelope"],
    "responded": True,
    "evidence": [
        {
            "rule": "evidence/file-not-found",
            "severity": "error",
            "message": "x",
            "line": 3,
            "fix": "y",
        }
    ],
    "workflow": "SPIKE",
    "dependencies": {"a": "RUNNING", "b": {"state": "DONE", "result": [1], "depends_on": ["a"]}},
    "batch": {"c": "RUNNING"},
    "session_state": "RUNNING",
    "known_agents": ["baker"],
    "execution_gate": False,
    "next_command": "/goop-plan",
    "profile": "v1",
    "package_version": "0.1.6",
    "policy": {"adoption": "mandatory", "auto_default": True, "limits": {"partials_in_a_row": 5}},
}


@pytest.mark.parametrize("values", [{}, FULL], ids=["defaults", "all fields"])
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_context_can_be_pickled_and_copied(values: dict[str, Any], protocol: int) -> None:
    context = RoutingContext.from_dict(values)
    # These are bytes of our own
    for copied in (
        pickle.loads(pickle.dumps(context, protocol)),  # noqa: S301
        copy.deepcopy(context),
        copy.copy(context),
    ):
        assert copied == context
        for mapping in (
            copied.batch,
            copied.counters.prerequisites,
            copied.policy.limits.feedback_edges,
        ):
            assert isinstance(mapping, MappingProxyType), "still read-only"


def test_a_deep_copy_shares_nothing_that_can_change() -> None:
    result = {"files": ["a"]}
    context = RoutingContext(batch={"c": SessionState(state="DONE", result=result)})
    copied = copy.deepcopy(context)
    result["files"].append("b")
    assert copied.batch["c"].result == {"files": ["a"]}


def test_every_field_can_be_given_as_json() -> None:
    context = RoutingContext.from_dict(json.loads(json.dumps(FULL)))

    assert FULL.keys() == {each.name for each in fields(RoutingContext)}
    assert context.counters == Counters(repair_rounds=1, partials=2, prerequisites={"plan": 1})
    assert context.dependencies["a"] == SessionState(state="RUNNING")
    assert context.dependencies["b"] == SessionState(state="DONE", result=[1], depends_on=("a",))
    assert context.evidence[0].rule == "evidence/file-not-found"
    assert context.policy == Policy(
        adoption="mandatory", auto_default=True, limits=RoutingLimits(partials_in_a_row=5)
    )
    assert (context.profile, context.execution_gate, context.known_agents) == (
        "v1",
        False,
        ("baker",),
    )


def test_nothing_given_is_the_default() -> None:
    assert RoutingContext.from_dict({}) == RoutingContext()


def test_the_defaults_are_the_published_ones() -> None:
    context = RoutingContext()

    assert (context.attempt, context.iteration, context.max_iterations, context.responded) == (
        1,
        0,
        None,
        True,
    )
    assert context.policy == Policy(
        adoption="optional",
        containment="workspace",
        markdown="allow",
        checkpoint_before_implement=True,
        auto_default=False,
        review_on_medium=False,
        approve_build=True,
        fail_on_warning=False,
    )
    limits = context.policy.limits
    assert (limits.max_repair_rounds, limits.response_retries, limits.evidence_repairs) == (2, 1, 1)
    assert (limits.partials_in_a_row, limits.prerequisite_runs, limits.feedback_iterations) == (
        3,
        1,
        2,
    )
    assert dict(limits.feedback_edges) == {"analyze": 2, "test": 2, "review": 1}
    assert (limits.backoff_retries, limits.backoff_first_delay, limits.backoff_longest_delay) == (
        3,
        1,
        60,
    )
    assert (limits.timeout_retries, limits.fix_retries, limits.technical_retries) == (1, 2, 1)
    assert (limits.critic_rejections, limits.session_retries) == (3, 0)


@pytest.mark.parametrize(
    ("values", "field", "words"),
    [
        ({"atempt": 1}, "atempt", "there is no such field; did you mean 'attempt'?"),
        ({"attempt": 0}, "attempt", "is 0; expected a whole number from 1"),
        ({"attempt": "1"}, "attempt", "is '1'; expected a whole number from 1"),
        ({"attempt": True}, "attempt", "is true; expected a whole number from 1"),
        ({"iteration": -1}, "iteration", "expected a whole number from 0"),
        ({"phase": 3}, "phase", "is 3; expected a text"),
        ({"responded": "no"}, "responded", "expected true or false"),
        ({"previous_rules": "x"}, "previous_rules", "expected a list of texts"),
        ({"previous_rules": ["x", 1]}, "previous_rules[1]", "expected a text"),
        ({"counters": 3}, "counters", "expected an object"),
        ({"policy": None}, "policy", "is null; expected an object"),
        (
            {"counters": {"repair_rounds": -1}},
            "counters.repair_rounds",
            "expected a whole number from 0",
        ),
        (
            {"counters": {"prerequisites": {"plan": "x"}}},
            "counters.prerequisites.plan",
            "expected a whole number",
        ),
        (
            {"policy": {"adoption": "always"}},
            "policy.adoption",
            "expected one of optional, pilot, expanded, mandatory",
        ),
        (
            {"policy": {"limits": {"fix_retries": None}}},
            "policy.limits.fix_retries",
            "expected a whole number",
        ),
        ({"policy": {"limits": {"fixes": 1}}}, "policy.limits.fixes", "there is no such field"),
        ({"dependencies": ["a"]}, "dependencies", "expected an object"),
        ({"dependencies": {"a": 1}}, "dependencies.a", "expected an object"),
        ({"batch": {"a": {"result": 1}}}, "batch.a.state", "is missing; expected a text"),
        ({"evidence": {"rule": "x"}}, "evidence", "expected a list of findings"),
        ({"evidence": [{"rule": "x"}]}, "evidence[0].severity", "is missing"),
        (
            {"evidence": [{"rule": "x", "severity": "fatal", "message": "m"}]},
            "evidence[0].severity",
            "expected one of error, warning, info",
        ),
        ({"profile": "2"}, "profile", "expected one of 0.x, v1"),
    ],
)
def test_a_wrong_value_is_refused_by_the_name_of_its_field(
    values: dict[str, Any], field: str, words: str
) -> None:
    with pytest.raises(ContextError) as caught:
        RoutingContext.from_dict(values)

    assert caught.value.field == field
    assert str(caught.value).startswith(f"context.{field}: ")
    assert words in str(caught.value)
    assert isinstance(caught.value, GoopError)


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"attempt": "x"}, "attempt"),
        ({"phase": 3}, "phase"),
        ({"counters": {"repair_rounds": 1}}, "counters"),
        ({"counters": Counters(repair_rounds=-1)}, "counters.repair_rounds"),
        ({"policy": Policy(limits=RoutingLimits(fix_retries=True))}, "policy.limits.fix_retries"),
        ({"previous_rules": "goop_report/no-envelope"}, "previous_rules"),
        ({"dependencies": ["a"]}, "dependencies"),
        ({"evidence": ["x"]}, "evidence[0]"),
    ],
)
def test_a_context_made_of_wrong_values_is_refused_by_the_name_of_its_field(
    values: dict[str, Any], field: str
) -> None:
    with pytest.raises(ContextError) as caught:
        RoutingContext(**values)

    assert caught.value.field == field


@pytest.mark.parametrize("values", [[], "x", None, 3])
# Any wrong value
def test_a_context_that_is_no_object_is_refused(values: Any) -> None:  # noqa: ANN401
    with pytest.raises(ContextError, match=r"context: .* expected an object"):
        read_context(values)


def test_the_router_takes_a_context_as_json_values_too() -> None:
    verdict = judged(report(), "goop_report")

    assert (
        route(verdict, {"execution_gate": None})
        == route(verdict, RoutingContext())
        == route(verdict)
    )
    with pytest.raises(ContextError, match=r"context\.attempt"):
        route(verdict, {"attempt": "x"})


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats(allow_nan=True)
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(
    st.dictionaries(
        st.sampled_from([*FULL, "x"]), _JSON | st.sampled_from(list(FULL.values())), max_size=5
    )
)
def test_any_json_gives_a_context_or_names_the_field(values: dict[str, Any]) -> None:
    try:
        context = RoutingContext.from_dict(values)
    except ContextError as error:
        # Either outcome is right
        assert error.field.split(".")[0].split("[")[0] in values  # noqa: PT017
    else:
        assert isinstance(context, RoutingContext)
