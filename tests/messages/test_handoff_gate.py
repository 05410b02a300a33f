"""The messages before a spawn are those of section 3.4, two blanks behind the icons included."""

from goop_mcp.messages.handoff_gate import handoff_refused, no_handoff_block
from goop_mcp.validation.findings import Finding, Severity


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


def test_a_prompt_without_a_block_is_warned_of() -> None:
    assert no_handoff_block() == (
        "⚠️  Warning: No XML handoff block found in prompt.md\n"
        "ℹ️  Proceeding with unstructured handoff (agent must parse prose)"
    )


def test_malformed_xml_is_told_line_by_line() -> None:
    findings = [error("xml/malformed", "mode and workflow do not match", line=12)]

    assert handoff_refused(findings, "task.md") == (
        "❌ Invalid XML handoff in task.md\n"
        "   Line 12: Mode and workflow do not match\n"
        "ℹ️  Fix XML syntax errors or remove XML block to proceed"
    )


def test_a_violation_of_the_schema_names_element_values_and_schema() -> None:
    modes = ("spawn", "conversation_only", "blocking")
    path = "/agent_request/mode"
    findings = [error("agent_request/unknown-mode", "x", path=path, found="invalid-value", expected=modes)]

    assert handoff_refused(findings) == (
        "❌ XML handoff validation failed (schema violation)\n"
        "   Element 'mode': 'invalid-value' is not a valid value of the atomic type 'ModeType'\n"
        "ℹ️  Allowed values: spawn, conversation_only, blocking\n"
        "ℹ️  Schema: .claude/schemas/agent-handoff-v1.xsd"
    )


def test_a_missing_element_and_a_missing_attribute_are_named() -> None:
    findings = [
        error("agent_request/missing-field", "x", path="/agent_request/original_intent"),
        error("agent_request/missing-field", "x", path="/agent_request/deliverables/file[1]/@path"),
    ]

    assert "   Missing required element: original_intent\n   Missing required attribute: path\n" in handoff_refused(
        findings
    )


def test_words_of_the_request_stay_on_their_line() -> None:
    findings = [error("agent_request/unsupported-version", "x", found="9\n❌ forged")]

    assert "   Unsupported XML handoff version: 9 ❌ forged\n" in handoff_refused(findings)
