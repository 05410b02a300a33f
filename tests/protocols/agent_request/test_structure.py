"""The parts of a request: absent, blank, doubled, out of order, unknown, in a namespace."""

import pytest

from goop_mcp.validation import safe_xml
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

REQUIRED = (
    "mode",
    "original_intent",
    "current_task_summary",
    "workflow",
    "task_details",
    "deliverables",
)
NAMESPACE = "http://instructor-workflow.org/agent-handoff/v1"
MINIMAL = read_case("appB_minimal")
DEVOPS = "http://instructor-workflow.org/devops/v1"
QA = "http://instructor-workflow.org/qa/v1"


def element(name: str) -> str:
    start = PROMPT.index(f"  <{name}>")
    end = f"</{name}>\n"
    return PROMPT[start : PROMPT.index(end, start) + len(end)]


@requirement("H-02")
@pytest.mark.parametrize("name", REQUIRED)
def test_each_required_part_that_is_absent_is_named(name: str) -> None:
    for verdict in judge_both(changed(PROMPT, (element(name), ""))):
        finding = the_finding(verdict, "agent_request/missing-field")
        assert finding.path == f"/agent_request/{name}"
        assert f"<{name}>" in finding.fix
        assert rules_of(verdict) == ["agent_request/missing-field"]


@requirement("H-02")
def test_all_parts_that_are_absent_are_named_at_once() -> None:
    findings = judge(read_case("2_3_custom_attrs_fragment")).findings

    assert {finding.path for finding in findings} == {f"/agent_request/{name}" for name in REQUIRED}


@requirement("H-12", "H-08")
@pytest.mark.parametrize("name", ["constraints", "backlog_notes"])
def test_optional_parts_may_be_absent(name: str) -> None:
    assert rules_of(judge(changed(PROMPT, (element(name), "")))) == []


@requirement("H-04", "H-05", "H-07")
@pytest.mark.parametrize("name", ["original_intent", "current_task_summary", "task_details"])
@pytest.mark.parametrize("blank", ["", " ", "\n\t", "\u00a0", "<![CDATA[ ]]>", "<!-- nothing -->"])
def test_a_required_text_that_is_blank_is_an_error(name: str, blank: str) -> None:
    for verdict in judge_both(changed(PROMPT, (element(name), f"  <{name}>{blank}</{name}>\n"))):
        assert rules_of(verdict) == ["agent_request/empty-field"]
        assert not verdict.accepted


@pytest.mark.parametrize("name", [*REQUIRED, "backlog_notes", "constraints"])
def test_a_part_that_stands_twice_is_an_error(name: str) -> None:
    for verdict in judge_both(changed(PROMPT, (element(name), element(name) * 2))):
        assert rules_of(verdict) == ["agent_request/duplicate-element"]
        assert (
            the_finding(verdict, "agent_request/duplicate-element").path
            == f"/agent_request/{name}[2]"
        )


def test_of_two_modes_none_is_taken() -> None:
    verdict = judge(
        changed(PROMPT, ("<mode>spawn</mode>", "<mode>spawn</mode><mode>blocking</mode>"))
    )

    assert request_of(verdict).mode is None


@requirement("H-02")
def test_another_order_is_sorted_and_listed() -> None:
    moved = changed(
        PROMPT, (element("workflow"), ""), ("  <mode>", element("workflow") + "  <mode>")
    )

    lenient, strict = judge_both(moved)
    assert rules_of(lenient) == ["agent_request/element-order"]
    assert lenient.accepted
    assert not strict.accepted
    assert request_of(lenient) == request_of(judge(PROMPT))
    (repair,) = lenient.repairs
    assert repair.before.startswith("workflow, mode, original_intent")
    assert lenient.repaired_text is not None
    assert rules_of(judge(f"```xml\n{lenient.repaired_text}\n```")) == []


@requirement("H-16")
def test_an_element_the_schema_does_not_have_is_kept_and_reported() -> None:
    prompt = changed(
        PROMPT, (element("backlog_notes"), '<reviewer by="x">qa <b>now</b></reviewer>\n')
    )

    lenient, strict = judge_both(prompt)
    assert rules_of(lenient) == ["agent_request/unknown-element"]
    assert lenient.accepted
    assert not strict.accepted
    (kept,) = request_of(lenient).extensions
    assert (kept.name, kept.text, kept.attributes) == ("reviewer", "qa ", (("by", "x"),))
    assert [child.text for child in kept.children] == ["now"]


def test_text_between_the_parts_is_kept_and_reported() -> None:
    lenient, strict = judge_both(changed(PROMPT, ("  <mode>", "  hurry up\n  <mode>")))

    assert rules_of(lenient) == ["agent_request/unknown-element"]
    assert not strict.accepted
    assert [kept.text for kept in request_of(lenient).extensions] == ["hurry up"]


@requirement("H-16")
def test_values_in_a_namespace_of_their_own_are_read_by_it() -> None:
    extensions = (
        "  <devops:deployment_config>\n"
        "    <devops:target_environment>staging</devops:target_environment>\n"
        "    <devops:rollback_on_failure>true</devops:rollback_on_failure>\n"
        "  </devops:deployment_config>\n"
        "  <qa:test_requirements><qa:coverage_threshold>90</qa:coverage_threshold>"
        "</qa:test_requirements>\n"
    )
    root = f'<agent_request version="1.0" xmlns:devops="{DEVOPS}" xmlns:qa="{QA}">'
    prompt = changed(
        MINIMAL, ("<agent_request>", root), ("</agent_request>", f"{extensions}</agent_request>")
    )

    verdict = judge(prompt)
    assert verdict.accepted
    assert rules_of(verdict) == ["agent_request/extension-element"] * 2
    assert request_of(verdict).values_in(DEVOPS) == (
        ("target_environment", "staging"),
        ("rollback_on_failure", "true"),
    )
    assert request_of(verdict).values_in(QA) == (("coverage_threshold", "90"),)


@requirement("H-16")
def test_an_element_in_a_namespace_may_stand_anywhere_below_the_root() -> None:
    inside = f'<qa:x xmlns:qa="{QA}">1</qa:x>'
    for name in ("<mode>", "<constraint>", "<file "):
        verdict = judge(changed(PROMPT, (name, inside + name)))
        assert rules_of(verdict) == ["agent_request/extension-element"]
        assert request_of(verdict).values_in(QA) == (("x", "1"),)


@requirement("H-17", "H-21")
@pytest.mark.parametrize(
    "edits",
    [
        [("<agent_request>", f'<agent_request xmlns="{NAMESPACE}">')],
        [("<agent_request>", f"<agent_request xmlns='{NAMESPACE}'>")],
        [
            ("<", "<h:"),
            ("<h:/", "</h:"),
            ("<h:agent_request>", f'<h:agent_request xmlns:h="{NAMESPACE}">'),
        ],
        [("<mode>spawn</mode>", f'<h:mode xmlns:h="{NAMESPACE}">spawn</h:mode>')],
    ],
    ids=["default", "single_quotes", "prefix", "one_element"],
)
def test_the_namespace_of_the_schema_changes_nothing(edits: list[tuple[str, str]]) -> None:
    prompt = MINIMAL
    for old, new in edits:
        prompt = prompt.replace(old, new)

    assert prompt != MINIMAL

    for verdict in judge_both(prompt):
        assert rules_of(verdict) == []
        assert request_of(verdict) == request_of(judge(MINIMAL))


@requirement("H-17", "H-21")
@pytest.mark.parametrize("prefix", ["", "h:"])
def test_a_request_in_its_namespace_is_repaired_like_any_other(prefix: str) -> None:
    declared = f'xmlns:h="{NAMESPACE}"' if prefix else f'xmlns="{NAMESPACE}"'
    prompt = changed(MINIMAL, ("Detailed instructions", "make && test"))
    prompt = prompt.replace("</", "\0").replace("<", f"<{prefix}").replace("\0", f"</{prefix}")
    prompt = changed(prompt, (f"<{prefix}agent_request>", f"<{prefix}agent_request {declared}>"))

    lenient, _ = judge_both(prompt)
    assert rules_of(lenient) == ["xml/unescaped"]
    assert request_of(lenient).task_details == "make && test"


@pytest.mark.parametrize(
    "written", ['<agent_request xmlns="urn:x">', '<h:agent_request xmlns:h="urn:x">']
)
def test_another_namespace_is_read_by_local_names_and_reported(written: str) -> None:
    prompt = changed(MINIMAL, ("<agent_request>", written))
    if ":agent" in written:
        prompt = prompt.replace("</agent_request>", "</h:agent_request>")

    lenient, strict = judge_both(prompt)
    assert rules_of(lenient) == ["xml/unknown-namespace"]
    assert not strict.accepted
    assert request_of(lenient) == request_of(judge(MINIMAL))


def test_names_in_the_wrong_case_are_repaired() -> None:
    wrong = [("<mode>spawn</mode>", "<Mode>spawn</Mode>"), ("<file path=", "<file Path=")]

    lenient, strict = judge_both(changed(PROMPT, *wrong))
    assert set(rules_of(lenient)) == {"xml/name-case"}
    assert not strict.accepted
    assert request_of(lenient) == request_of(judge(PROMPT))


@requirement("H-15")
@pytest.mark.parametrize("name", ["6_4a_grafana", "8_1_custom_attrs_full"])
def test_custom_attributes_do_not_break_a_request(name: str) -> None:
    for verdict in judge_both(read_case(name)):
        assert verdict.accepted
        assert weighty_rules(verdict) == set()


@requirement("H-20")
def test_a_request_in_good_order_is_parsed_once_however_many_fields_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parsed: list[str] = []
    parse = safe_xml._parse

    def counting(text: str) -> object:
        parsed.append(text)
        return parse(text)

    monkeypatch.setattr(safe_xml, "_parse", counting)
    judge(read_case("6_1_backend_api"))
    assert len(parsed) == 1
