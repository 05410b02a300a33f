"""Every prompt of `tests/cases/agent_request` gets the verdict that the specification gives it."""

import pytest

from goop_mcp import Severity, Verdict
from goop_mcp.validation.findings import Mode
from tests.protocols.agent_request.prompts import (
    CASES,
    MODES,
    Case,
    judge,
    load_cases,
    read_case,
    request_of,
    rules_of,
    weighty_rules,
)
from tests.requirements import requirement

ALL_CASES = [pytest.param(case, id=case.file) for case in load_cases()]
GOOD = [case for case in load_cases() if case.expected["lenient"] != "errors"]
# Every prompt with XML that the specification shows: sections 1.2, 4.1, 5.2, 5.3, 6.1 to 6.3, and
# three of 6.4.
SHOWN = {
    "1_2_grafana": "spawn",
    "4_1_grafana": "spawn",
    "5_2_prompt_creation": "spawn",
    "5_3_generic": "spawn",
    "6_1_backend_api": "spawn",
    "6_2_test_auth": "spawn",
    "6_3_planning_synthesis": "conversation_only",
    "6_4a_grafana": "spawn",
    "6_4b_prometheus": "spawn",
    "6_4c_traefik": "spawn",
}


def outcome(verdict: Verdict) -> str:
    if not verdict.accepted:
        return "errors"
    return "warnings" if verdict.of_severity(Severity.WARNING) else "valid"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", ALL_CASES)
def test_case_has_the_expected_outcome_and_exactly_its_rules(case: Case, mode: Mode) -> None:
    verdict = judge(case.text, mode)

    assert (outcome(verdict), weighty_rules(verdict)) == (
        case.expected[mode],
        set(case.rules),
    ), case.why


@pytest.mark.parametrize("case", ALL_CASES)
def test_case_gives_the_same_rules_in_both_modes(case: Case) -> None:
    lenient, strict = (judge(case.text, mode) for mode in MODES)

    assert rules_of(lenient) == rules_of(strict)


@pytest.mark.parametrize("case", ALL_CASES)
def test_every_finding_of_a_case_has_its_place_in_the_prompt(case: Case) -> None:
    lines = case.text.split("\n")

    for finding in judge(case.text).findings:
        if finding.rule == "agent_request/no-envelope":
            continue

        assert finding.line is not None
        assert finding.column is not None
        assert 1 <= finding.line <= len(lines)
        assert 1 <= finding.column <= len(lines[finding.line - 1]) + 1


@requirement("H-19")
@pytest.mark.parametrize(("name", "mode"), SHOWN.items())
def test_every_prompt_shown_in_the_specification_is_extracted(name: str, mode: str) -> None:
    verdict = judge(read_case(name))

    assert verdict.protocol == "agent_request"
    assert request_of(verdict).mode == mode
    assert not {"agent_request/unfenced", "agent_request/fence-language"} & weighty_rules(verdict)


@requirement("H-01")
def test_the_prompt_of_section_4_1_is_read_out_of_its_prose() -> None:
    request = request_of(judge(read_case("4_1_grafana")))

    assert request.session_id == "20251119-153042-grafana"
    assert request.original_intent == "Complete repository reorganization Phase 2"
    assert request.constraints == (
        "No production configuration changes",
        "Read-only validation only",
        "Maximum duration: 10 minutes",
    )
    assert request.paths == ("docs/.scratch/sessions/20251119-153042-grafana/result.json",)
    assert request.task_details is not None
    assert request.task_details.startswith(
        "1. Check Grafana service status: systemctl status grafana-server\n2. "
    )


def test_every_file_is_listed_once_in_the_index() -> None:
    files = {f"agent_request/{path.name}" for path in CASES.glob("*.md")}

    assert sorted(case.file for case in load_cases()) == sorted(files)
