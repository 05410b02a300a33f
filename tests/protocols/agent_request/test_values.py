"""Single values: listed words, booleans, root attributes, summary, template slots, deliverables."""

import pytest

from goop_mcp import Expectations
from goop_mcp.protocols.agent_request.attributes import read_duration
from goop_mcp.protocols.agent_request.compatibility import as_handoff
from goop_mcp.protocols.agent_request.model import Deliverable
from tests.protocols.agent_request.prompts import (
    PROMPT,
    changed,
    judge,
    judge_both,
    read_case,
    request_of,
    rules_of,
    the_finding,
    weighty_rules,
)
from tests.requirements import requirement

FILE = '<file path="src/login.py" required="true">The endpoint</file>'
SUMMARY = "Add POST /login and its tests"


def with_attribute(attribute: str) -> str:
    return changed(PROMPT, ('priority="high"', attribute))


@requirement("H-03")
@pytest.mark.parametrize("mode", ["spawn", "conversation_only", "blocking"])
def test_the_three_modes_are_accepted(mode: str) -> None:
    verdict = judge(changed(PROMPT, ("<mode>spawn", f"<mode> {mode} ")))

    assert rules_of(verdict) == []
    assert request_of(verdict).mode == mode


@requirement("H-03")
def test_another_mode_is_refused_with_the_three_values() -> None:
    for verdict in judge_both(changed(PROMPT, ("<mode>spawn", "<mode>fork"))):
        finding = the_finding(verdict, "agent_request/unknown-mode")
        assert finding.expected == ("spawn", "conversation_only", "blocking")
        assert finding.found == "fork"
        assert request_of(verdict).mode is None


@requirement("H-06")
@pytest.mark.parametrize("workflow", ["SPIKE", "TDD", "standard", "none"])
def test_the_four_workflows_are_accepted(workflow: str) -> None:
    assert request_of(judge(changed(PROMPT, (">TDD<", f">{workflow}<")))).workflow == workflow


@requirement("H-06")
def test_another_workflow_is_refused_with_the_four_values() -> None:
    for verdict in judge_both(changed(PROMPT, (">TDD<", ">HOTFIX<"))):
        finding = the_finding(verdict, "agent_request/unknown-workflow")
        assert finding.expected == ("SPIKE", "TDD", "standard", "none")


@pytest.mark.parametrize(
    ("old", "new"), [("spawn<", "Spawn<"), (">TDD", ">tdd"), ('"true"', '"True"')]
)
def test_a_listed_value_in_the_wrong_case_is_repaired(old: str, new: str) -> None:
    lenient, strict = judge_both(changed(PROMPT, (old, new)))

    assert rules_of(lenient) == ["agent_request/value-case"]
    assert not strict.accepted
    assert request_of(lenient) == request_of(judge(PROMPT))


@requirement("H-05")
@pytest.mark.parametrize(
    ("length", "reported"), [(7, True), (9, True), (10, False), (500, False), (501, True)]
)
def test_a_summary_has_10_to_500_characters(length: int, reported: bool) -> None:
    for verdict in judge_both(changed(PROMPT, (SUMMARY, "x" * length))):
        assert ("agent_request/summary-length" in weighty_rules(verdict)) == reported
        assert verdict.accepted


@requirement("H-18", "H-10")
@pytest.mark.parametrize(
    ("written", "meant"), [("true", True), ("false", False), ("1", True), ("0", False)]
)
def test_a_boolean_may_be_a_word_or_a_digit(written: str, meant: bool) -> None:
    verdict = judge(changed(PROMPT, ('required="true"', f'required="{written}"')))

    assert rules_of(verdict) == []
    assert [each.required for each in request_of(verdict).deliverables or ()] == [meant, True]


@requirement("H-10")
def test_a_file_is_required_unless_it_says_otherwise() -> None:
    deliverables = request_of(judge(changed(PROMPT, (' required="true"', "")))).deliverables

    assert deliverables is not None
    assert deliverables[0] == Deliverable(
        kind="file", path="src/login.py", required=True, text="The endpoint"
    )


@requirement("H-10")
def test_a_file_without_a_path_is_refused() -> None:
    for verdict in judge_both(changed(PROMPT, (' path="src/login.py"', ""))):
        assert (
            the_finding(verdict, "agent_request/missing-field").path
            == "/agent_request/deliverables/file[1]/@path"
        )


def test_a_file_with_a_blank_path_is_refused() -> None:
    assert rules_of(judge(changed(PROMPT, ('"src/login.py"', '" "')))) == [
        "agent_request/empty-field"
    ]


@requirement("H-09")
@pytest.mark.parametrize("kind", ["decision", "report"])
def test_one_deliverable_of_any_kind_is_enough(kind: str) -> None:
    start, end = PROMPT.index("<deliverables>"), PROMPT.index("</deliverables>")
    prompt = f"{PROMPT[:start]}<deliverables><{kind}>x</{kind}>{PROMPT[end:]}"

    assert rules_of(judge(prompt)) == []


@requirement("H-09")
def test_an_empty_list_of_deliverables_is_refused() -> None:
    for verdict in judge_both(read_case("empty_deliverables")):
        assert rules_of(verdict) == ["agent_request/no-deliverables"]


@requirement("H-11")
def test_deliverables_in_another_order_are_legal_and_reported() -> None:
    for verdict in judge_both(read_case("6_2_test_auth")):
        assert verdict.accepted
        finding = the_finding(verdict, "agent_request/deliverable-order")
        assert finding.path == "/agent_request/deliverables/decision[1]"
        assert [each.kind for each in request_of(verdict).deliverables or ()] == [
            "file",
            "report",
            "decision",
        ]


@requirement("H-08")
@pytest.mark.parametrize("written", ["<constraints/>", "<constraints>  </constraints>"])
def test_an_empty_list_of_constraints_is_valid(written: str) -> None:
    start, end = (
        PROMPT.index("<constraints>"),
        PROMPT.index("</constraints>") + len("</constraints>"),
    )

    for verdict in judge_both(PROMPT[:start] + written + PROMPT[end:]):
        assert verdict.accepted
        assert rules_of(verdict) == ["agent_request/empty-constraints"]
        assert request_of(verdict).constraints == ()


@requirement("H-34")
@pytest.mark.parametrize("written", ["No new dependencies", "<rule>No new dependencies</rule>"])
def test_constraints_that_cannot_be_read_are_never_passed_over_in_silence(written: str) -> None:
    verdict = judge(changed(PROMPT, ("<constraint>No new dependencies</constraint>", written)))

    assert verdict.accepted
    finding = the_finding(verdict, "agent_request/constraints-unreadable")
    assert "No new dependencies" in finding.message
    assert "the list is empty" in finding.message
    assert request_of(verdict).constraints == ()


@requirement("H-13")
def test_the_four_attributes_of_the_schema_are_optional() -> None:
    request = request_of(judge(read_case("appB_minimal")))

    assert request.version == "1.0"
    assert (request.session_id, request.parent_agent, request.target_agent) == (None, None, None)
    assert judge(read_case("appB_minimal")).version is None


@requirement("H-14")
def test_the_other_attributes_are_read_and_typed() -> None:
    prompt = with_attribute(
        'priority="low" estimated_duration="1h30m" max_retries="3" notify_on_completion="a-agent,'
        ' b-agent" depends_on="20260113-080000-a,20260113-080000-b" timeout="90s"'
    )

    verdict = judge(prompt)
    request = request_of(verdict)
    assert rules_of(verdict) == []
    assert request.priority == "low"
    assert request.estimated_duration is not None
    assert (request.estimated_duration.text, request.estimated_duration.seconds) == ("1h30m", 5400)
    assert request.timeout is not None
    assert request.timeout.seconds == 90
    assert request.max_retries == 3
    assert request.notify_on_completion == ("a-agent", "b-agent")
    assert request.depends_on == ("20260113-080000-a", "20260113-080000-b")


@requirement("H-14")
@pytest.mark.parametrize(
    ("attribute", "wanted"),
    [
        ('priority="urgent"', "high, medium or low"),
        ('priority="HIGH"', "high, medium or low"),
        ('estimated_duration="soon"', "30s, 10m or 2h"),
        ('timeout="10"', "30s, 10m or 2h"),
        ('max_retries="-1"', "a whole number from 0"),
        ('max_retries="many"', "a whole number from 0"),
        ('notify_on_completion=" , "', "a list of agents"),
        ('depends_on=""', "a list of session ids"),
    ],
)
def test_an_attribute_of_the_wrong_kind_is_a_warning_and_kept(attribute: str, wanted: str) -> None:
    for verdict in judge_both(with_attribute(attribute)):
        finding = the_finding(verdict, "agent_request/bad-attribute-value")
        assert verdict.accepted
        assert wanted in finding.message
        assert request_of(verdict).extra_attributes == (
            (attribute.partition("=")[0], attribute.split('"')[1].strip()),
        )


@requirement("H-14")
def test_an_unknown_attribute_is_an_info_and_kept() -> None:
    verdict = judge(with_attribute('colour="red"'))

    assert rules_of(verdict) == ["agent_request/unknown-attribute"]
    assert request_of(verdict).extra_attributes == (("colour", "red"),)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("5m", 300), ("30m", 1800), ("2h", 7200), ("1.5h", 5400), ("1h 30m", 5400), ("2d", 172800)],
)
def test_durations_are_numbers_with_a_unit(text: str, seconds: float) -> None:
    duration = read_duration(text)
    assert duration is not None
    assert duration.seconds == seconds


@pytest.mark.parametrize("text", ["", "m", "5", "5 minutes", "-5m", "5m!", "٥m", "1" * 70 + "m"])
def test_other_texts_are_no_durations(text: str) -> None:
    assert read_duration(text) is None


@requirement("H-22")
def test_constraints_and_paths_come_as_lists_and_keep_their_blanks() -> None:
    paths = '<file path="docs/my report.md"/><file path="a  b/c.md"/>'
    request = request_of(judge(changed(PROMPT, (FILE, paths))))

    assert request.paths == ("docs/my report.md", "a  b/c.md")
    assert request.constraints == ("No new dependencies",)


@requirement("H-23")
def test_the_compatible_reading_has_exactly_the_keys_of_section_4_3() -> None:
    handoff = as_handoff(request_of(judge(read_case("6_2_test_auth"))))

    assert list(handoff) == [
        "mode",
        "original_intent",
        "task_summary",
        "workflow",
        "task_details",
        "constraints",
        "deliverables",
        "backlog_notes",
    ]
    assert list(handoff["deliverables"]) == ["files", "decisions", "reports"]
    assert handoff["deliverables"]["files"] == [
        (
            "tests/integration/api/test_auth_integration.py",
            "Integration test suite with 15+ test cases covering all scenarios",
        )
    ]
    assert len(handoff["constraints"]) == 4
    assert as_handoff(request_of(judge(read_case("appB_minimal"))))["backlog_notes"] is None


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        (">spawn<", ">spawn|conversation_only|blocking<", "mode"),
        (">TDD<", ">[workflow]<", "workflow"),
        (SUMMARY, "Add {{endpoint}} and its tests", "current_task_summary"),
        ("No new dependencies", "No {{things}}", "constraints/constraint[1]"),
        ('"src/login.py"', '"src/{{name}}.py"', "deliverables/file[1]/@path"),
        ("Next: refresh tokens", "{{notes}}", "backlog_notes"),
        ('target_agent="backend-agent"', 'target_agent="{agent}"', "@target_agent"),
        ('version="1.0"', 'version="1.0|1.1"', "@version"),
        (
            'session_id="20260114-093000-login"',
            'session_id="<session-id>"'.replace("<", "&lt;"),
            "@session_id",
        ),
    ],
)
def test_template_text_that_was_left_in_is_the_only_finding_for_its_value(
    old: str, new: str, path: str
) -> None:
    for verdict in judge_both(changed(PROMPT, (old, new))):
        assert rules_of(verdict) == ["agent_request/placeholder-left"]
        assert verdict.findings[0].path == f"/agent_request/{path}"


@pytest.mark.parametrize(
    "text", ["`{{name}}` is a slot", "${{secrets.KEY}}", "a | b", "{{ x }}", "Map<K, V>", "{a}"]
)
def test_braces_and_bars_in_free_text_are_no_template(text: str) -> None:
    verdict = judge(changed(PROMPT, ("Write the tests first, then the endpoint.", text)))

    assert weighty_rules(verdict) <= {"xml/unescaped"}
    assert request_of(verdict).task_details == text


@requirement("H-10")
def test_a_variable_left_in_a_path_is_a_warning() -> None:
    for verdict in judge_both(read_case("1_2_grafana")):
        assert rules_of(verdict) == ["path/template-variable"]
        assert verdict.accepted


@requirement("H-61")
@pytest.mark.parametrize(
    "path",
    ["../../etc/passwd", "/etc/passwd", "~/x", "C:\\x", "a/../../x", "src\\..\\..\\x", "%2e%2e/x"],
)
def test_a_path_that_leads_out_of_the_workspace_is_refused(path: str) -> None:
    for verdict in judge_both(changed(PROMPT, ('"src/login.py"', f'"{path}"'))):
        assert rules_of(verdict) == ["path/outside-workspace"]
        assert not verdict.accepted


@requirement("H-61")
def test_every_path_is_looked_at_not_only_the_first() -> None:
    verdict = judge(changed(PROMPT, (FILE, f'{FILE}<file path="/etc/shadow"/><file path="../x"/>')))

    assert rules_of(verdict) == ["path/outside-workspace"] * 2


@requirement("H-61")
def test_a_path_outside_of_the_session_is_refused_where_the_caller_asks_for_that() -> None:
    inside = "docs/.scratch/sessions/20260114-093000-login"
    expected = Expectations(session_folder=inside)

    assert rules_of(judge(PROMPT, expected=expected)) == ["path/outside-session"]
    kept = changed(PROMPT, ('"src/login.py"', f'"{inside}/result.json"'))
    assert rules_of(judge(kept, expected=expected)) == []


def test_an_absolute_path_inside_the_workspace_is_made_relative() -> None:
    expected = Expectations(workspace="/srv/project")

    lenient, strict = judge_both(changed(PROMPT, ('"src', '"/srv/project/src')), expected=expected)
    assert rules_of(lenient) == ["path/absolute"]
    assert not strict.accepted
    assert request_of(lenient).paths == ("src/login.py",)
