"""Every JSON reply of `tests/cases` gets the verdict that the specification requires."""

import json

import pytest

from goop_mcp.validation.findings import Mode
from tests.protocols.json_replies import (
    CASES,
    FAMILIES,
    MODES,
    JsonCase,
    judge,
    load_cases,
    outcome,
    rules_of,
    weighty_rules,
)
from tests.requirements import requirement

ALL_CASES = [
    pytest.param(case, id=case.file) for protocol in FAMILIES for case in load_cases(protocol)
]

WHOLE_JSON = [
    pytest.param(case, id=case.file)
    for protocol in FAMILIES
    for case in load_cases(protocol)
    if case.file.endswith(".json")
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", ALL_CASES)
@requirement("S-15", "F-02", "F-06", "F-07", "F-19", "F-20", "F-21")
def test_case_has_the_expected_outcome_and_exactly_its_rules(case: JsonCase, mode: Mode) -> None:
    verdict = judge(case.text, case.protocol, mode)

    assert (outcome(verdict), weighty_rules(verdict)) == (
        case.expected[mode],
        set(case.rules),
    ), case.why


@pytest.mark.parametrize("case", ALL_CASES)
def test_case_gives_the_same_rules_and_the_same_envelope_in_both_modes(case: JsonCase) -> None:
    lenient, strict = (judge(case.text, case.protocol, mode) for mode in MODES)

    assert rules_of(lenient) == rules_of(strict)
    assert lenient.envelope == strict.envelope


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", ALL_CASES)
def test_findings_of_a_case_point_into_its_text_and_the_verdict_is_json(
    case: JsonCase, mode: Mode
) -> None:
    verdict = judge(case.text, case.protocol, mode)

    lines = case.text.split("\n")
    for finding in verdict.findings:
        if finding.line is not None and finding.column is not None:
            assert finding.column <= len(lines[finding.line - 1]) + 1
            if finding.found and finding.path:
                assert finding.found[:20] in " ".join(lines[finding.line - 1 :])

    assert json.loads(json.dumps(verdict.to_dict())) == verdict.to_dict()


@pytest.mark.parametrize("case", WHOLE_JSON)
def test_case_with_windows_line_ends_in_a_fence_among_prose_is_read_the_same(
    case: JsonCase,
) -> None:
    wrapped = f"Here it is: done {{see below}}.\n\n~~~~json\n{case.text}\n~~~~\nBye.\n".replace(
        "\n", "\r\n"
    )

    plain, inside = judge(case.text, case.protocol), judge(wrapped, case.protocol)

    assert weighty_rules(inside) == weighty_rules(plain)
    assert inside.envelope == plain.envelope


def test_every_file_is_listed_once_in_the_index() -> None:
    for protocol in FAMILIES:
        files = {path.relative_to(CASES).as_posix() for path in (CASES / protocol).iterdir()}
        assert sorted(case.file for case in load_cases(protocol)) == sorted(
            files - {f"{protocol}/index.jsonl"}
        )
