"""Every reply of `tests/cases` gets the verdict that the specification gives it."""

import pytest

from goop_mcp import Severity, Verdict, validate
from goop_mcp.validation.findings import Mode
from tests.validation.replies import CASES, MODES, Case, load_cases, weighty_rules

ALL_CASES = [pytest.param(case, id=case.file) for case in load_cases()]
GOOD_SEEDS = [
    f"goop_report/{version}_{name}.xml"
    for version in ("014", "016")
    for name in ("executor_complete", "planner_complete", "executor_blocked")
]


def outcome(verdict: Verdict) -> str:
    if not verdict.accepted:
        return "errors"
    return "warnings" if verdict.of_severity(Severity.WARNING) else "valid"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", ALL_CASES)
def test_case_has_the_expected_outcome_and_exactly_its_rules(case: Case, mode: Mode) -> None:
    verdict = validate(case.text, protocol=case.protocol, mode=mode)

    assert (outcome(verdict), weighty_rules(verdict)) == (
        case.expected[mode],
        set(case.rules),
    ), case.why


@pytest.mark.parametrize("case", ALL_CASES)
def test_case_gives_the_same_rules_in_both_modes(case: Case) -> None:
    lenient, strict = (validate(case.text, protocol=case.protocol, mode=mode) for mode in MODES)

    assert sorted(f.rule for f in lenient.findings) == sorted(f.rule for f in strict.findings)


@pytest.mark.parametrize("case", ALL_CASES)
def test_case_with_a_report_is_recognised_without_naming_the_protocol(case: Case) -> None:
    named = validate(case.text, protocol=case.protocol)
    detected = validate(case.text, protocol="auto")

    assert detected.verdict == named.verdict
    assert detected.protocol == named.protocol
    assert detected.envelope == named.envelope


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("file", GOOD_SEEDS)
def test_seed_sample_shown_as_good_has_no_error(file: str, mode: Mode) -> None:
    (case,) = [case for case in load_cases() if case.file == file]

    assert validate(case.text, protocol=case.protocol, mode=mode).accepted


@pytest.mark.parametrize("folder", ["goop_report", "subagent_protocol"])
def test_every_file_of_the_folder_is_listed_once_in_the_index(folder: str) -> None:
    files = {path.relative_to(CASES).as_posix() for path in (CASES / folder).iterdir()}

    assert sorted(
        case.file for case in load_cases() if case.file.startswith(f"{folder}/")
    ) == sorted(files)
