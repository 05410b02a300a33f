"""A reply is judged by what the context says before it is routed."""

import json

import pytest

from goop_mcp.errors import ContextError, UnreadableFileError
from goop_mcp.routing import Decision
from goop_mcp.services.route_reply import parse_context, route_reply
from tests.requirements import requirement
from tests.routing.replies import factory, report
from tests.routing.test_agent_request_rows import SESSION, prompt

FOLDER = f"docs/.scratch/sessions/{SESSION}"
INSIDE = (
    prompt().replace("src/api.py", f"{FOLDER}/api.py").replace("notes.md", f"{FOLDER}/notes.md")
)
MARKDOWN = (
    "Task complete.\n\nDeliverables:\n- docs/plan.md (created)\n\nSummary: Wrote the plan for the"
    " pipeline.\n"
)


def decided(text: str, **context: object) -> Decision:
    return route_reply(text, parse_context(json.dumps(context), "context.json"))


def rules(decision: Decision) -> set[str]:
    return {finding.rule for finding in decision.verdict.findings}


def test_agent_and_phase_of_the_context_are_expected_of_the_reply() -> None:
    decision = decided(report(), expected_agent="goop-planner", phase="plan")

    assert {"goop_report/agent-mismatch", "goop_report/phase-mismatch"} <= rules(decision)


@requirement("F-01")
def test_the_policy_may_forbid_markdown() -> None:
    assert decided(MARKDOWN).verdict.accepted
    assert decided(MARKDOWN, policy={"markdown": "forbid"}).rule == "R2"


def test_the_session_of_the_context_takes_the_place_of_a_variable_in_a_path() -> None:
    text = factory(
        "architect_success",
        deliverables=[{"path": "runs/{session-id}/plan.md", "description": "The plan"}],
    )

    assert decided(text, session_id=SESSION).files_to_read == (f"runs/{SESSION}/plan.md",)


def test_paths_stay_in_the_session_where_the_policy_says_so() -> None:
    contained = {"session_id": SESSION, "policy": {"containment": "session"}}

    assert decided(prompt(), session_id=SESSION).rule == "H4"
    assert decided(prompt(), **contained).rule == "H2"
    assert decided(INSIDE, **contained).rule == "H4"
    assert decided(prompt(), policy={"containment": "session"}).rule == "H4"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "is empty"),
        ("{", "is not valid JSON from line 1, column 2 on"),
        ("attempt: 1", "is not valid JSON from line 1, column 1 on"),
        ("[" * 100_000, "is nested too deep"),
        ("[]", "is a list"),
    ],
)
def test_a_context_that_is_no_json_object_is_named_by_its_file(text: str, what: str) -> None:
    with pytest.raises(
        UnreadableFileError, match=f"'context.json' {what}; write the context as one JSON object"
    ):
        parse_context(text, "context.json")


@pytest.mark.parametrize(
    "text", ['{"attempt": 1, "attempt": 2}', '{"counters": {"attempt": 1, "attempt": 2}}']
)
def test_a_field_that_is_given_twice_is_named(text: str) -> None:
    with pytest.raises(
        ContextError, match=r"context\.attempt: is given twice; give each field once"
    ):
        parse_context(text, "context.json")


def test_a_wrong_field_of_the_context_is_named() -> None:
    with pytest.raises(
        ContextError,
        match=r"context\.policy\.containment: is 'all'; expected one of workspace, session",
    ):
        parse_context('{"policy": {"containment": "all"}}', "context.json")
