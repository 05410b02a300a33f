"""An answer that is written reads as the same answer."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goop_mcp.errors import NotWritableError
from goop_mcp.protocols.speckit import Response, write_response
from goop_mcp.protocols.speckit.model import (
    ERROR_TYPES,
    STRATEGIES,
    ErrorDetail,
    Status,
    SuggestedAction,
)
from tests.protocols.json_replies import JsonCase, judge, load_cases
from tests.protocols.json_strategies import keys
from tests.protocols.speckit.test_contexts import JSON, WORDS

ANSWERS = [
    case
    for case in load_cases("speckit")
    if case.file.endswith(".json") and case.expected["strict"] != "errors"
]
ERRORS = st.builds(
    ErrorDetail,
    type=st.sampled_from(ERROR_TYPES),
    code=st.just("NO_PLAN"),
    message=WORDS,
    recoverable=st.booleans(),
    recovery_strategy=st.sampled_from(STRATEGIES),
    details=st.none() | st.dictionaries(keys(5), JSON, max_size=3),
    suggested_action=st.builds(
        SuggestedAction, agent=st.sampled_from(["specify", "tasks"]), reason=st.none() | WORDS
    ),
    extensions=st.dictionaries(
        st.sampled_from(["hint", "a b"]), JSON.filter(lambda value: value is not None)
    ),
)


def answer_in(text: str) -> Response:
    envelope = judge(text, "speckit").envelope
    assert isinstance(envelope, Response)
    return envelope


@pytest.mark.parametrize("case", ANSWERS, ids=lambda case: case.file)
def test_answer_of_a_case_is_written_word_for_word(case: JsonCase) -> None:
    written = write_response(answer_in(case.text))

    assert json.loads(written) == json.loads(case.text)
    assert answer_in(written) == answer_in(case.text)


@given(ERRORS, st.dictionaries(st.sampled_from(["trace", "ä"]), JSON))
def test_written_error_is_accepted_and_reads_as_the_same(
    error: ErrorDetail, extensions: dict[str, Any]
) -> None:
    response = Response(
        agent="plan",
        status=Status.ERROR,
        timestamp="2026-01-15T10:30:00Z",
        execution_time_ms=1.5,
        error=error,
        extensions=extensions,
    )

    verdict = judge(write_response(response), "speckit", "strict")

    assert verdict.accepted, verdict.feedback
    assert verdict.envelope == response


@given(JSON)
def test_written_result_of_an_own_agent_reads_as_the_same(value: object) -> None:
    result: dict[str, Any] = {"value": value, "next_steps": ["plan"]}
    response = Response(
        agent="own",
        status=Status.SUCCESS,
        timestamp="2026-01-15T10:30:00Z",
        execution_time_ms=1,
        result=result,
    )

    assert answer_in(write_response(response)) == response


def test_what_json_cannot_express_is_not_written() -> None:
    answer = answer_in(ANSWERS[0].text)

    with pytest.raises(NotWritableError, match="cut off"):
        write_response(replace(answer, partial=True))

    with pytest.raises(NotWritableError, match="'status'"):
        write_response(replace(answer, extensions={"status": "error"}))

    with pytest.raises(NotWritableError, match="JSON"):
        write_response(replace(answer, result={"ratio": float("nan")}))
