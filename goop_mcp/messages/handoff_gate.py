"""The messages before a spawn, word for word as section 3.4 of xml-handoff-protocol has them (H-35 to H-37).

They are older than the visual style and keep their own form: two blanks behind the icons, three before a detail.
"""

from collections.abc import Sequence

from goop_mcp.messages.quoting import line
from goop_mcp.validation.findings import Finding, Severity

__all__ = ["SCHEMA_FILE", "handoff_refused", "no_handoff_block"]

SCHEMA_FILE = ".claude/schemas/agent-handoff-v1.xsd"
"""Where projects keep the schema of requests (H-43)."""

_FORM = ("xml/", "envelope/")
_TYPES = {"mode": "ModeType", "workflow": "WorkflowType"}
_MOST_LINES = 20


def no_handoff_block(file: str = "prompt.md") -> str:
    """Return the warning for a prompt without a request; the spawn goes on."""
    return (
        f"⚠️  Warning: No XML handoff block found in {line(file)}\n"
        "ℹ️  Proceeding with unstructured handoff (agent must parse prose)"
    )


def handoff_refused(findings: Sequence[Finding], file: str = "prompt.md") -> str:
    """Return why the spawn is refused: as broken XML where the form is at fault, else as a violation of the schema."""
    errors = [finding for finding in findings if finding.severity is Severity.ERROR] or list(findings)
    broken = [finding for finding in errors if finding.rule.startswith(_FORM)]
    return _malformed(broken, file) if broken else _violates_schema(errors)


def _malformed(errors: Sequence[Finding], file: str) -> str:
    details = [f"   Line {error.line or 1}: {_sentence(error.message)}" for error in errors[:_MOST_LINES]]
    return "\n".join(
        [
            f"❌ Invalid XML handoff in {line(file)}",
            *details,
            "ℹ️  Fix XML syntax errors or remove XML block to proceed",
        ]
    )


def _violates_schema(errors: Sequence[Finding]) -> str:
    details = [f"   {_element_line(error)}" for error in errors[:_MOST_LINES]]
    allowed = dict.fromkeys(
        ", ".join(error.expected)
        for error in errors
        if error.expected and error.rule.startswith("agent_request/unknown-")
    )
    return "\n".join(
        [
            "❌ XML handoff validation failed (schema violation)",
            *details,
            *(f"ℹ️  Allowed values: {line(values)}" for values in allowed),
            f"ℹ️  Schema: {SCHEMA_FILE}",
        ]
    )


def _element_line(error: Finding) -> str:
    element = (error.path or "").rpartition("/")[2].lstrip("@").partition("[")[0]
    if error.rule == "agent_request/missing-field" and element:
        return f"Missing required {'attribute' if '/@' in (error.path or '') else 'element'}: {element}"
    if error.rule == "agent_request/unsupported-version" and error.found:
        return f"Unsupported XML handoff version: {line(error.found)}"
    if element in _TYPES and error.expected and error.found:
        kind = _TYPES[element]
        return f"Element '{element}': '{line(error.found)}' is not a valid value of the atomic type '{kind}'"
    return _sentence(error.message)


def _sentence(message: str) -> str:
    flat = line(message)
    return flat[:1].upper() + flat[1:]
