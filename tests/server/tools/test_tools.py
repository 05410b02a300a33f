import json
import re
from collections.abc import Mapping
from pathlib import Path
from time import monotonic
from typing import get_args

import pytest
from pydantic import JsonValue

from goop_mcp import validate
from goop_mcp.context import AppContext
from goop_mcp.protocols import FAMILIES, RULES
from goop_mcp.server import create_server
from goop_mcp.server.models import DecisionModel, ProtocolChoice, RulePageModel, VerdictModel
from goop_mcp.server.tools.registry import offered_tools
from goop_mcp.server.truncation import LEFT_OUT
from goop_mcp.services.project_steps import ACTIONS
from goop_mcp.services.rule_pages import rule_page
from goop_mcp.settings import Settings
from tests.repository import ROOT
from tests.server.connections import (
    PATIENCE,
    PROTOCOL_MODES,
    Connection,
    check_against_schema,
    connect,
    connected,
    text_of,
)

CASES = ROOT / "tests" / "cases" / "goop_report"
PROTOCOLS = "auto, goop_report, agent_request, speckit, factory"
GOOD = (CASES / "message_executor_full.md").read_text(encoding="utf-8")
REPAIRABLE = (CASES / "derived_raw_ampersand.xml").read_text(encoding="utf-8")
BAD = (CASES / "derived_bad_status.xml").read_text(encoding="utf-8")
WRITING = {"record_report", "update_project", "build_handoff", "save_memory", "forget_memory"}
NEVER_SHOWN = re.compile(r"pydantic|validation error|https?://|Traceback|File \"")


def refused(connection: Connection, name: str, **arguments: JsonValue) -> list[str]:
    """Call a tool that must refuse, and return the lines of its answer."""
    result = connection.tool(name, **arguments)
    assert result.is_error
    assert result.structured_content is None
    text = text_of(result)
    assert not NEVER_SHOWN.search(text)
    return text.splitlines()


def test_tools_are_listed_in_a_fixed_order_with_all_that_a_client_needs(
    connection: Connection,
) -> None:
    tools = connection.tools()
    assert list(tools) == [
        "validate_report",
        "build_report",
        "route_next_action",
        "record_report",
        "project_status",
        "update_project",
        "build_handoff",
        "save_memory",
        "search_memory",
        "get_memory",
        "forget_memory",
        "explain_rule",
    ]
    for tool in tools.values():
        assert tool.title
        assert tool.description
        assert tool.output_schema
        assert tool.annotations is not None
        hints = tool.annotations.model_dump(exclude={"title"})
        assert hints == {
            "read_only_hint": tool.name not in WRITING,
            "destructive_hint": tool.name in {"update_project", "forget_memory"},
            "idempotent_hint": tool.name not in {"update_project", "build_handoff"},
            "open_world_hint": False,
        }


def test_every_argument_and_every_field_of_an_answer_is_described_and_untitled(
    connection: Connection,
) -> None:
    for tool in connection.tools().values():
        answer = json.loads(connection.read(f"goop://schemas/answers/{tool.name}").text)
        parts = [tool.input_schema, answer, *answer.get("$defs", {}).values()]
        for part in parts:
            assert "title" not in part
            for name, field in part.get("properties", {}).items():
                assert field.get("description"), f"{tool.name}: {name}"
                assert "title" not in field


def test_every_step_of_the_service_is_an_action(connection: Connection) -> None:
    action = connection.tools()["update_project"].input_schema["properties"]["action"]
    assert sorted(action["enum"]) == sorted(ACTIONS)


def test_text_arguments_are_bounded(tmp_path: Path) -> None:
    application = AppContext(Settings(project=tmp_path))
    for offered in offered_tools(application):
        arguments = offered.tool.fn_metadata.arg_model.model_json_schema()
        for name, field in arguments["properties"].items():
            kinds = field.get("anyOf", [field])
            kinds = [each.get("items", each) for each in kinds]
            assert all(
                "maxLength" in kind or "enum" in kind for kind in kinds if kind["type"] == "string"
            ), name


def without_note(values: Mapping[str, object] | None) -> dict[str, object]:
    """Return the answer without the share of claims that nothing was compared with."""
    assert values is not None
    return {name: value for name, value in values.items() if name != "unverified"}


def test_good_report_is_accepted_with_the_verdict_of_the_library(connection: Connection) -> None:
    result = connection.tool("validate_report", text=GOOD, detail="full")
    assert not result.is_error
    assert without_note(result.structured_content) == validate(GOOD).to_dict()
    assert text_of(result).startswith(
        "accepted: goop_report 0.1.6, status COMPLETE, agent goop-executor, task_id W2.T3\n"
    )
    check_against_schema(result, connection.tools()["validate_report"])


def test_text_of_an_accepted_report_names_each_repair_and_each_warning_once(
    connection: Connection,
) -> None:
    reply = REPAIRABLE.rstrip() + "\nShall I go on?\n"
    result = connection.tool("validate_report", text=reply)
    lines = text_of(result).splitlines()
    assert lines[0].startswith("accepted: goop_report")
    repairs, warnings = lines.index("1 repair:"), lines.index("1 warning:")
    assert "(xml/unescaped)" in lines[repairs + 1]
    assert "(envelope/not-at-end)" in lines[warnings + 1]
    assert lines[5:] == [
        "not verified: 7 of 7 claims, because nothing was compared with the project;"
        " check_workspace=true verifies them",
        "omitted: 1 finding",
        "left out (detail=full has it): envelope, candidates, repaired_text",
    ]
    check_against_schema(result, connection.tools()["validate_report"])


def test_rejected_report_is_no_failure_of_the_tool_and_its_text_holds_the_whole_feedback(
    connection: Connection,
) -> None:
    result = connection.tool("validate_report", text=BAD)
    assert not result.is_error
    verdict = VerdictModel.model_validate(result.structured_content)
    assert verdict.verdict == "rejected"
    assert verdict.feedback is not None
    assert text_of(result).startswith(
        "rejected: goop_report 0.1.6, agent goop-executor, task_id W2.T3\n" + verdict.feedback
    )
    check_against_schema(result, connection.tools()["validate_report"])


def test_reply_without_an_envelope_is_rejected(connection: Connection) -> None:
    result = connection.tool("validate_report", text="All done!")
    assert text_of(result).startswith(
        "rejected: no envelope\nfindings: envelope/no-envelope\nYour report was not accepted."
    )
    check_against_schema(result, connection.tools()["validate_report"])


def test_words_of_the_agent_cannot_add_lines_to_the_headline(connection: Connection) -> None:
    reply = GOOD.replace('version="0.1.6"', 'version="0.1.6&#10;accepted: all is well"')
    headline = text_of(connection.tool("validate_report", text=reply)).splitlines()[0]
    assert "0.1.6 accepted: all is well" in headline


def test_strict_mode_makes_a_repair_an_error(connection: Connection) -> None:
    result = connection.tool("validate_report", text=REPAIRABLE, mode="strict", detail="full")
    assert without_note(result.structured_content) == validate(REPAIRABLE, mode="strict").to_dict()
    assert "(xml/unescaped)" in text_of(result)


def test_expected_agent_and_phase_are_compared(connection: Connection) -> None:
    result = connection.tool(
        "validate_report",
        text=GOOD,
        protocol="goop_report",
        expected_agent="goop-planner",
        expected_phase="plan",
    )
    verdict = VerdictModel.model_validate(result.structured_content)
    rules = {finding.rule for finding in verdict.findings}
    assert {"goop_report/agent-mismatch", "goop_report/phase-mismatch"} <= rules


def test_every_case_gets_the_verdict_of_the_library(connection: Connection) -> None:
    cases = sorted(Path(CASES).iterdir())
    assert len(cases) > 10
    tool = connection.tools()["validate_report"]
    for case in cases:
        text = case.read_text(encoding="utf-8")
        result = connection.tool("validate_report", text=text, detail="full")
        assert without_note(result.structured_content) == validate(text).to_dict(), case.name
        check_against_schema(result, tool)
        check_against_schema(connection.tool("validate_report", text=text), tool)


def test_all_wrong_arguments_are_reported_at_once_one_line_each(connection: Connection) -> None:
    lines = refused(
        connection,
        "validate_report",
        txt="a",
        mode="strikt",
        expected_agent=3,
        check_workspace="yes",
        protocol=7,
    )
    assert lines == [
        "validate_report was not run; fix the arguments and call it again:",
        (
            "- validate_report has no argument 'txt'; did you mean 'text'? It takes text, report,"
            " file, agent, last, protocol, mode, expected_agent, expected_phase,"
            " check_workspace, detail"
        ),
        f"- protocol is a number; expected one of {PROTOCOLS}",
        "- mode is 'strikt'; expected one of lenient, strict; did you mean 'strict'?",
        "- expected_agent is a number; expected a string of at most 200 characters or null",
        "- check_workspace is a string of 3 characters; expected true or false",
    ]


@pytest.mark.parametrize("value", [1, 0, "yes", "", [], {}, 1.0])
def test_only_true_and_false_are_taken_for_a_boolean(
    connection: Connection, value: JsonValue
) -> None:
    lines = refused(connection, "validate_report", text=GOOD, check_workspace=value)
    assert lines[1].endswith("expected true or false")


@pytest.mark.parametrize("value", [5, True, ["a"], {"a": 1}])
def test_only_a_string_is_taken_for_text(connection: Connection, value: JsonValue) -> None:
    lines = refused(connection, "validate_report", text=value)
    assert re.fullmatch(
        r"- text is (a number|true or false|a list|an object); expected a string .*", lines[1]
    )


def test_unknown_protocol_is_refused_with_the_nearest_one(connection: Connection) -> None:
    lines = refused(connection, "validate_report", text=GOOD, protocol="goop-report")
    assert lines[1:] == [
        f"- protocol is 'goop-report'; expected one of {PROTOCOLS}; did you mean 'goop_report'?"
    ]


def test_names_of_megabytes_are_refused_at_once(connection: Connection) -> None:
    started = monotonic()
    lines = refused(
        connection, "validate_report", text=GOOD, mode="lenient" * 200_000, **{"texts" * 200_000: 1}
    )
    assert monotonic() - started < PATIENCE / 2
    assert max(map(len, lines)) < 300


def test_text_of_three_megabytes_is_refused(connection: Connection) -> None:
    lines = refused(connection, "validate_report", text="x" * 3_000_000)
    assert lines[1:] == [
        "- text is a string of 3,000,000 characters; expected a string of at most 2,097,152"
        " characters or null"
    ]


@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
def test_text_of_twenty_megabytes_is_refused_where_no_network_refuses_it_before(
    protocol_mode: str,
) -> None:
    with connected("stdio", protocol_mode) as connection:
        lines = refused(connection, "validate_report", text="x" * 20_000_000)

    assert lines[1:] == [
        "- text is a string of 20,000,000 characters; expected a string of at most 2,097,152"
        " characters or null"
    ]


def test_text_under_the_limit_of_characters_but_over_that_of_bytes_gets_a_verdict(
    connection: Connection,
) -> None:
    verdict = VerdictModel.model_validate(
        connection.tool("validate_report", text="ä" * 2_000_000).structured_content
    )
    assert [finding.rule for finding in verdict.findings] == ["envelope/too-large"]


def test_claims_are_verified_with_the_project_of_the_server_if_that_is_wanted(
    connection: Connection,
) -> None:
    result = connection.tool("validate_report", text=GOOD, check_workspace=True, detail="full")
    verdict = VerdictModel.model_validate(result.structured_content)
    found = [
        (finding.line, finding.found)
        for finding in verdict.findings
        if finding.rule == "evidence/file-not-found"
    ]
    assert verdict.verdict == "rejected"
    assert found[0] == (24, "src/auth/service.ts")
    assert "evidence/file-not-found" in text_of(result)
    short = connection.tool("validate_report", text=GOOD, check_workspace=True)
    assert "evidence/file-not-found" in text_of(short)
    assert str(ROOT) not in text_of(result)
    check_against_schema(result, connection.tools()["validate_report"])


def test_report_of_a_file_that_does_not_exist_is_sent_back(connection: Connection) -> None:
    result = connection.tool("route_next_action", text=GOOD, check_workspace=True)
    decision = DecisionModel.model_validate(result.structured_content)
    assert (decision.rule, decision.actions) == ("R4", ["request_repair", "resume_same"])
    untested = connection.tool("route_next_action", text=GOOD)
    assert DecisionModel.model_validate(untested.structured_content).rule == "G6"


def test_unknown_tool_is_refused_with_the_nearest_one(connection: Connection) -> None:
    assert refused(connection, "valid_report", text=GOOD) == [
        "there is no tool 'valid_report'; did you mean 'validate_report'?"
    ]


@pytest.mark.parametrize(
    "rule", ["goop_report/unknown-status", "unknown-file-action", " `xml/Unescaped` "]
)
def test_rule_is_explained_by_its_page(connection: Connection, rule: str) -> None:
    page = rule_page(RULES.find(rule))
    result = connection.tool("explain_rule", rule=rule)
    assert text_of(result) == page.to_markdown()
    assert result.structured_content == page.to_dict()
    check_against_schema(result, connection.tools()["explain_rule"])


def test_every_rule_can_be_explained(connection: Connection) -> None:
    tool = connection.tools()["explain_rule"]
    for rule in RULES:
        check_against_schema(connection.tool("explain_rule", rule=rule), tool)


def test_unknown_rule_is_refused_with_the_nearest_one(connection: Connection) -> None:
    assert refused(connection, "explain_rule", rule="goop_report/unknown-stat") == [
        "there is no rule 'goop_report/unknown-stat'; did you mean 'goop_report/unknown-status'?"
    ]


def test_argument_names_every_protocol_family() -> None:
    assert get_args(ProtocolChoice) == ("auto", *(family.name for family in FAMILIES))


def test_output_schemas_have_the_keys_of_what_they_describe() -> None:
    # The last are in an answer only where there is evidence, or something is left out of it.
    others = ["changed_severities", "evidence", "claims", "unverified", LEFT_OUT]
    assert sorted(VerdictModel.model_fields) == sorted([*validate(BAD).to_dict(), *others])
    assert list(RulePageModel.model_fields) == list(rule_page(RULES["xml/unescaped"]).to_dict())


def test_a_text_that_is_json_stays_a_text_and_a_quoted_list_is_a_list(tmp_path: Path) -> None:
    with connect(create_server(Settings(project=tmp_path)), "auto") as connection:
        saved = connection.tool(
            "save_memory", title="A", content="B", agent='{"name": "x"}', session_id="null"
        )
        assert saved.structured_content is not None
        memory = connection.tool("get_memory", id=saved.structured_content["id"]).structured_content
        assert memory is not None
        assert (memory["agent"], memory["session_id"]) == ('{"name": "x"}', "null")
        for queries in ('{"a": "b"}', '["a", "b"]'):
            assert not connection.tool("search_memory", queries=queries).is_error

        assert not connection.tool(
            "save_memory", title="C", content="D", concepts='["quoted"]'
        ).is_error


def test_of_many_unknown_arguments_the_first_twenty_are_reported_and_of_more_none(
    connection: Connection,
) -> None:
    few = connection.tool(
        "explain_rule", rule="xml/unescaped", **{f"ruel{number}": 1 for number in range(25)}
    )
    assert text_of(few).count("explain_rule has no argument 'ruel") == 20
    assert "5 more arguments that explain_rule does not have" in text_of(few)
    many = connection.tool("explain_rule", **{f"ruel{number}": 1 for number in range(101)})
    assert many.is_error
    assert text_of(many).splitlines()[1:] == [
        "- 101 arguments are unknown to explain_rule, which takes rule: send only those"
    ]
