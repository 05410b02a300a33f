"""The messages before a spawn are those of section 3.4, with two blanks after the icons."""

from goop_mcp import Verdict
from goop_mcp.protocols.agent_request.gate_messages import no_block_warning, refusal
from goop_mcp.validation.findings import Finding, Severity
from tests.protocols.agent_request.prompts import PROMPT, judge

SEEN = judge("Add the endpoint.")


def error(
    rule: str,
    message: str,
    *,
    line: int | None = None,
    path: str | None = None,
    found: str | None = None,
    expected: tuple[str, ...] | None = None,
) -> Finding:
    return Finding(
        rule=rule,
        severity=Severity.ERROR,
        message=message,
        line=line,
        path=path,
        found=found,
        expected=expected,
        fix="",
    )


def message_of(*errors: Finding, verdict: Verdict = SEEN, file_name: str = "prompt.md") -> str:
    return "\n".join(refusal(errors, verdict, file_name=file_name))


def test_a_prompt_without_a_block_is_warned_of() -> None:
    assert list(no_block_warning()) == [
        "⚠️  Warning: No XML handoff block found in prompt.md",
        "ℹ️  Proceeding with unstructured handoff (agent must parse prose)",
    ]


def test_a_prompt_without_a_block_is_refused_where_one_is_mandatory() -> None:
    assert (
        message_of(error("agent_request/no-envelope", "x"))
        == "❌ No XML handoff block found in prompt.md\n"
        "ℹ️  XML handoff is mandatory here; only SPIKE and research may go without"
    )


def test_malformed_xml_is_reported_line_by_line() -> None:
    assert (
        message_of(
            error("xml/malformed", "mode and workflow do not match", line=12), file_name="task.md"
        )
        == "❌ Invalid XML handoff in task.md\n"
        "   Line 12: Mode and workflow do not match\n"
        "ℹ️  Fix XML syntax errors or remove XML block to proceed"
    )


def test_a_violation_of_the_schema_names_element_values_and_schema() -> None:
    modes = ("spawn", "conversation_only", "blocking")
    path = "/agent_request/mode"

    assert (
        message_of(
            error(
                "agent_request/unknown-mode", "x", path=path, found="invalid-value", expected=modes
            )
        )
        == "❌ XML handoff validation failed (schema violation)\n"
        "   Element 'mode': 'invalid-value' is not a valid value of the atomic type 'ModeType'\n"
        "ℹ️  Allowed values: spawn, conversation_only, blocking\n"
        "ℹ️  Schema: .claude/schemas/agent-handoff-v1.xsd"
    )


def test_a_missing_element_and_a_missing_attribute_are_named_with_all_that_is_required() -> None:
    message = message_of(
        error("agent_request/missing-field", "x", path="/agent_request/original_intent"),
        error("agent_request/missing-field", "x", path="/agent_request/deliverables/file[1]/@path"),
    )

    assert (
        "   Missing required element: original_intent\n   Missing required attribute: path\n"
        in message
    )
    assert (
        "ℹ️  Required fields: mode, original_intent, current_task_summary, workflow, task_details"
        in message
    )


def test_words_of_the_request_stay_on_their_line() -> None:
    message = message_of(
        error("agent_request/unsupported-version", "x", found="9\n❌ forged"),
        error("path/outside-workspace", "x", found="../a\n❌ forged"),
        error("xml/malformed", "a\n❌ forged", line=3),
    )

    assert "\n❌ forged" not in message
    assert "   Unsupported XML handoff version: 9 ❌ forged\n" in message


def test_of_thousands_of_tags_that_do_not_match_only_the_first_are_reported() -> None:
    verdict = judge(PROMPT.replace("<mode>", "<mode></workflow>" * 5_000))

    lines = message_of(*verdict.findings, verdict=verdict).splitlines()
    assert 3 < len(lines) < 30
    assert lines[1] == "   Line 7: Opening and ending tag mismatch: mode vs. workflow"
