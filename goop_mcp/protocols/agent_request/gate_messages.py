"""Messages of the gate in the forms of the specification: 3.3 and 3.4 for people, 7.1 for the log.

These messages are older than the visual style and keep their form: two blanks after an icon, three
before a detail. Line numbers are those of the prompt file (D-75).
"""

from collections.abc import Iterator, Sequence
from itertools import islice

from goop_mcp.messages.quoting import line
from goop_mcp.protocols.agent_request.reading import ROOT_PARTS
from goop_mcp.protocols.agent_request.rules.session import schema_files
from goop_mcp.protocols.agent_request.wording import tag_mismatches
from goop_mcp.validation.findings import Finding, Severity
from goop_mcp.validation.positions import SourceText
from goop_mcp.validation.verdict import Verdict

__all__ = ["FAILED", "PASSED", "SCHEMA", "for_log", "for_people", "no_block_warning", "refusal"]

PASSED = "XML handoff validation: PASSED"
FAILED = "XML handoff validation: FAILED"
SCHEMA = ".claude/schemas/agent-handoff-v1.xsd"
"""Where a project keeps the schema (H-43)."""

_OPTIONAL = frozenset({"constraints", "backlog_notes"})
_REQUIRED_FIELDS = ", ".join(name for name in ROOT_PARTS if name not in _OPTIONAL)
_NO_ENVELOPE = "agent_request/no-envelope"
_MISSING_FIELD = "agent_request/missing-field"
_VERSION = "agent_request/unsupported-version"
_OF_FORM = ("xml/", "envelope/")
_OF_PLACE = frozenset(
    {
        "agent_request/multiple-requests",
        "agent_request/unfenced",
        "agent_request/fence-language",
        "agent_request/fence-collision",
    }
)
_EXTRA = "extra content"
_MOST_LINES = 20
_TYPES = {"mode": "ModeType", "workflow": "WorkflowType", "required": "xs:boolean"}


def for_people(
    findings: Sequence[Finding],
    verdict: Verdict,
    *,
    file_name: str,
    schema: str,
    schema_present: bool,
    place: str | None,
) -> Iterator[str]:
    """Yield the message block of section 3.4, and the pair of 3.3 if an error refuses the prompt.

    `place` is the session's folder that paths must not leave, None to allow the whole workspace.
    """
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    if not errors:
        for each in findings:
            if each.severity is not Severity.WARNING:
                continue
            if each.rule == _NO_ENVELOPE:
                yield from no_block_warning(file_name)
            elif each.rule == "agent_request/schema-missing" and not schema_present:
                yield f"⚠️  Warning: Schema file not found: {schema}"
                yield "ℹ️  Proceeding without schema validation (only well-formedness checked)"
            else:
                yield f"⚠️  Warning: {_placed(each)}"
        return

    yield from refusal(errors, verdict, file_name=file_name, schema=schema, place=place)
    yield "❌ Invalid XML handoff in prompt file"
    yield "ℹ️  Fix XML errors or remove XML block to proceed"


def refusal(
    errors: Sequence[Finding],
    verdict: Verdict,
    *,
    file_name: str = "prompt.md",
    schema: str = SCHEMA,
    place: str | None = None,
) -> Iterator[str]:
    """Yield the message block of section 3.4 on the `errors` that refuse a prompt (H-36, H-37)."""
    malformed = [each for each in errors if _is_malformed(each)]
    paths = [each for each in errors if each.rule.startswith("path/")]
    invalid = [
        each
        for each in errors
        if each not in malformed and each not in paths and each.rule != _NO_ENVELOPE
    ]
    if any(each.rule == _NO_ENVELOPE for each in errors):
        yield f"❌ No XML handoff block found in {line(file_name)}"
        yield "ℹ️  XML handoff is mandatory here; only SPIKE and research may go without"
    if malformed:
        yield f"❌ Invalid XML handoff in {line(file_name)}"
        yield from _syntax_lines(malformed, verdict)
        yield "ℹ️  Fix XML syntax errors or remove XML block to proceed"

    if invalid:
        yield "❌ XML handoff validation failed (schema violation)"
        for each in invalid:
            yield f"   {_element_line(each)}"

        listed = {
            _name(each): each.expected
            for each in invalid
            if each.expected and _name(each) in _TYPES
        }
        for name, words in listed.items():
            of_name = f" of {name}" if len(listed) > 1 else ""
            yield f"ℹ️  Allowed values{of_name}: {', '.join(words or ())}"

        if any(each.rule == _MISSING_FIELD for each in invalid):
            yield f"ℹ️  Required fields: {_REQUIRED_FIELDS}"

        # A version without a schema is shown with the file that is missing, not with the usual one.
        version = next((_found(each) for each in invalid if each.rule == _VERSION), "")
        if version.replace(".", "").isalnum():
            schema = f"{schema.rpartition('/')[0] or '.'}/{schema_files(version)[0]} (not found)"

        yield f"ℹ️  Schema: {schema}"

    for finding in paths:
        yield f"❌ Invalid deliverable path: {_found(finding)}"
        if finding.rule == "path/template-variable":
            yield "   Must not hold a variable of the template"
        elif place is not None:
            yield f"   Must be within session directory: {place}"
        else:
            yield "   Must be within workspace directory"


def no_block_warning(file_name: str = "prompt.md") -> Iterator[str]:
    """Yield the warning for a prompt without a request; the spawn goes on (H-35)."""
    yield f"⚠️  Warning: No XML handoff block found in {line(file_name)}"
    yield "ℹ️  Proceeding with unstructured handoff (agent must parse prose)"


def for_log(errors: Sequence[Finding], verdict: Verdict, *, file_name: str) -> Iterator[str]:
    """Yield the reasons of a refusal in the form of section 7.1."""
    malformed = [each for each in errors if _is_malformed(each)]
    others = [each for each in errors if each not in malformed]
    if malformed:
        yield "❌ XML handoff validation failed"
        yield from _syntax_lines(malformed, verdict)
        yield f"ℹ️  Fix XML syntax errors in {file_name}"
        yield "ℹ️  Or remove XML block to use freeform Markdown handoff"

    if others:
        yield "❌ XML handoff validation failed (schema violation)"
        for finding in others:
            if finding.expected and finding.found and _name(finding) in _TYPES:
                yield f"   Element {_owner(finding)}: '{_found(finding)}' is not valid"
                yield f"   Allowed values: {', '.join(finding.expected)}"
            elif finding.rule.startswith("path/"):
                yield f"   Invalid deliverable path: {_found(finding)}"
            else:
                yield f"   {_element_line(finding)}"

        for name in dict.fromkeys(
            _name(each) for each in others if each.expected and _name(each) in _TYPES
        ):
            yield f"ℹ️  Fix {name} value in {file_name} or consult schema documentation"

        if any(each.rule == _MISSING_FIELD for each in others):
            yield "ℹ️  Add missing field to XML handoff"
            yield f"ℹ️  Required fields: {_REQUIRED_FIELDS}"


def _is_malformed(finding: Finding) -> bool:
    return finding.rule.startswith(_OF_FORM) or finding.rule in _OF_PLACE


def _syntax_lines(errors: Sequence[Finding], verdict: Verdict) -> Iterator[str]:
    """Yield one line for each error of form; first the end tags that do not match, if any."""
    malformed = any(each.rule == "xml/malformed" for each in errors)
    mismatches = []
    if malformed and verdict.span is not None:
        start, end = verdict.span
        source = SourceText(verdict.read_text)
        mismatches = list(islice(tag_mismatches(verdict.read_text[start:end]), _MOST_LINES))
        for offset, words in mismatches:
            yield f"   Line {source.line_and_column(start + offset)[0]}: {words}"

    for each in errors:
        # The general error adds nothing to the tags listed above, unless content follows the root.
        if each.rule != "xml/malformed" or not mismatches or _EXTRA in each.message:
            message = line(each.message)
            message = message[:1].upper() + message[1:]
            yield f"   {message}" if each.line is None else f"   Line {each.line}: {message}"


def _placed(finding: Finding) -> str:
    message = line(finding.message)
    return message if finding.line is None else f"Line {finding.line}: {message}"


def _found(finding: Finding) -> str:
    return line(finding.found or "")


def _element_line(finding: Finding) -> str:
    name = _name(finding)
    if finding.rule == _VERSION:
        return f"Unsupported XML handoff version: {_found(finding)}"
    if finding.rule == _MISSING_FIELD:
        path = finding.path or ""
        kind = "attribute" if "/@" in path else "element"
        return f"Missing required {kind}: {_name(finding)}"
    if finding.expected and finding.found and name in _TYPES:
        return (
            f"Element {_owner(finding)}: '{_found(finding)}' is not a valid value of the atomic"
            f" type '{_TYPES[name]}'"
        )

    return _placed(finding)


def _name(finding: Finding) -> str:
    return (finding.path or "").rpartition("/")[2].lstrip("@").partition("[")[0]


def _owner(finding: Finding) -> str:
    """Return the element, or the element and its attribute, that a finding is about."""
    path = finding.path or ""
    if "/@" not in path:
        return f"'{_name(finding)}'"

    element = path.rpartition("/@")[0].rpartition("/")[2].partition("[")[0]
    return f"'{element}', attribute '{_name(finding)}'"
