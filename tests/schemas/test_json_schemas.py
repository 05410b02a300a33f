"""The JSON Schemas say the same about structure as strict mode."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator  # type: ignore[import-untyped] # it ships no types

from goop_mcp import Severity
from goop_mcp.protocols.factory import schema as factory_schema
from goop_mcp.protocols.speckit import schema as speckit_schema
from tests.protocols.json_replies import FAMILIES, JsonCase, judge, load_cases
from tests.repository import ROOT
from tests.requirements import requirement
from tests.schemas.json_envelopes import VALUES, envelopes, good_envelopes, variants, without_each

TEXTS = {
    protocol: (ROOT / "schemas" / protocol / "1.0.json").read_text(encoding="utf-8")
    for protocol in FAMILIES
}
SCHEMAS = {protocol: Draft202012Validator(json.loads(text)) for protocol, text in TEXTS.items()}

# Errors of strict mode that take more than the structure of one object to see.
BEYOND_STRUCTURE = {
    "envelope/conflicting-duplicate",
    "speckit/check-contradicts-itself",
    "speckit/check-without-result",
    "speckit/criterion-contradicts-status",
    "speckit/gate-contradicts-counts",
    "speckit/step-is-itself",
    "speckit/text-contradicts-status",
    "speckit/value-out-of-range",
    "factory/check-contradicts-itself",
    "factory/check-without-result",
    "factory/issues-without-verdict",
    "factory/summary-contradicts-status",
    "factory/success-with-error",
    "factory/success-with-questions",
    "factory/text-contradicts-status",
    "speckit/agent-mismatch",
    "speckit/coverage-below-required",
    "speckit/feedback-exhausted",
    "speckit/missing-suggested-agent",
    "speckit/passed-with-failed-gate",
    "factory/blocking-without-issues",
    "factory/pass-with-issues",
    "path/outside-workspace",
}


TEMPLATE_TEXT = {"speckit/placeholder-left", "factory/placeholder-left"}


# JSON values
def assert_agreement(envelope: Any, protocol: str) -> bool:  # noqa: ANN401
    """Fail unless schema and engine say the same; return what they say."""
    accepted = bool(SCHEMAS[protocol].is_valid(envelope))
    text = json.dumps(envelope, indent=1)
    errors = {
        finding.rule for finding in judge(text, protocol, "strict").of_severity(Severity.ERROR)
    }
    complaints = "\n".join(
        f"{error.json_path}: {error.message[:200]}"
        for error in SCHEMAS[protocol].iter_errors(envelope)
    )
    agree = accepted == (not errors - BEYOND_STRUCTURE)
    if (
        template_text := errors & TEMPLATE_TEXT
    ):  # a schema detects it only instead of a word or a number
        agree = not (accepted and errors - BEYOND_STRUCTURE - template_text)

    assert agree, f"{text}\nschema: {complaints}\nengine: {sorted(errors)}"

    return accepted


@pytest.mark.parametrize("protocol", sorted(FAMILIES))
def test_the_schema_is_a_schema_and_the_one_that_the_tables_make(protocol: str) -> None:
    made = {"speckit": speckit_schema.schema_text, "factory": factory_schema.schema_text}[
        protocol
    ]()

    assert TEXTS[protocol] == made, (
        f"run: python -m goop_mcp.protocols.{protocol}.schema > schemas/{protocol}/1.0.json"
    )
    Draft202012Validator.check_schema(json.loads(made))


@requirement("S-29", "S-34", "F-02", "F-06", "F-07", "F-19", "F-20", "F-21")
@pytest.mark.parametrize("protocol", sorted(FAMILIES))
def test_good_examples_are_accepted(protocol: str) -> None:
    answers = [assert_agreement(envelope, protocol) for envelope in good_envelopes(protocol)]

    assert answers == [True] * len(answers)


@pytest.mark.parametrize(
    "case",
    [case for name in FAMILIES for case in load_cases(name) if case.file.endswith(".json")],
    ids=lambda c: c.file,
)
def test_schema_and_engine_agree_on_every_case_that_is_plain_json(case: JsonCase) -> None:
    try:
        envelope = json.loads(case.text)
    except ValueError:
        assert "json/loose-syntax" in case.rules
        return

    assert_agreement(envelope, case.protocol)


@requirement("S-29", "S-34")
@pytest.mark.parametrize("protocol", sorted(FAMILIES))
def test_schema_and_engine_agree_when_any_member_is_left_out(protocol: str) -> None:
    for envelope in good_envelopes(protocol):
        for _, changed in without_each(envelope):
            assert_agreement(changed, protocol)


@pytest.mark.parametrize("number", range(len(VALUES)), ids=lambda number: repr(VALUES[number]))
@pytest.mark.parametrize("protocol", sorted(FAMILIES))
def test_schema_and_engine_agree_wherever_a_value_stands(protocol: str, number: int) -> None:
    value = VALUES[number]
    # Each value meets every seventh envelope, beginning with another one: together that is every
    # field with every kind.
    for envelope in good_envelopes(protocol)[number % 7 :: 7]:
        for changed in variants(envelope, value):
            assert_agreement(changed, protocol)


@given(st.data(), st.sampled_from(sorted(FAMILIES)))
def test_schema_and_engine_agree_on_any_envelope(data: st.DataObject, protocol: str) -> None:
    assert_agreement(data.draw(envelopes(protocol)), protocol)


def test_every_error_about_structure_is_weighed_for_the_schema() -> None:
    errors = {
        rule.id
        for family in FAMILIES.values()
        for rule in family.rules
        if rule.strict is Severity.ERROR
    }

    assert {
        name for name in BEYOND_STRUCTURE if not name.startswith(("path/", "envelope/"))
    } <= errors
