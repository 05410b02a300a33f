"""The JSON SubagentResponse of protocol 0.1.3."""

from collections.abc import Mapping
from typing import Any

from goop_mcp.protocols.goop_report.blockers import real_blocker
from goop_mcp.protocols.goop_report.legacy_forms.conversion import (
    converted,
    expected_agent,
    expected_state,
    template_left,
)
from goop_mcp.protocols.goop_report.model import (
    Artifacts,
    Commit,
    Extension,
    FileAction,
    FileChange,
    Handoff,
    NextAction,
    Report,
    Status,
)
from goop_mcp.protocols.goop_report.prose import commit_in
from goop_mcp.protocols.goop_report.rules.legacy_forms import LEGACY_RESPONSE
from goop_mcp.protocols.goop_report.values import clean
from goop_mcp.validation.escaping import without_forbidden
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.extraction import Block, spoken_apart
from goop_mcp.validation.families import ParseResult
from goop_mcp.validation.limits import Limits
from goop_mcp.validation.safe_json import load_object, pair_braces
from goop_mcp.validation.scanner import in_inline_code

__all__ = ["FORM", "find_legacy_json", "read_legacy_json"]

FORM = "subagent_response"

_LEGACY_STATUS = {
    "complete": Status.COMPLETE,
    "partial": Status.PARTIAL,
    "blocked": Status.BLOCKED,
    "failed": Status.BLOCKED,
}


def find_legacy_json(text: str, limits: Limits) -> Block | None:
    """Return the last object with one of its statuses and a summary, without agent and result."""
    if '"status"' not in text or '"summary"' not in text:
        return None

    apart = spoken_apart(text)
    braces = pair_braces(text)
    # A draft before a truncated report must not be accepted in its place (D-16): the last object
    # with a status has to be closed, while earlier ones do not count.
    unclosed = braces.unclosed[-1] if braces.unclosed else -1
    if braces.ends and unclosed > braces.ends[-1] and text.find('"status"', unclosed) >= 0:
        return None

    # From the end, because agents draft first; the limit bounds how many objects are parsed.
    last = zip(
        reversed(braces.starts[-limits.candidates :]),
        reversed(braces.ends[-limits.candidates :]),
        strict=True,
    )

    for start, end in last:
        if apart.hold(start, end) or in_inline_code(text, start):
            continue

        values = load_object(text[start:end], depth=limits.depth)
        if values is None:
            continue

        # The exact spelling only, and neither of the fields that mark a speckit answer: many JSON
        # objects have a status and a summary.
        status = values.get("status")
        if (
            isinstance(status, str)
            and isinstance(values.get("summary"), str)
            and status in _LEGACY_STATUS
            and "agent" not in values
            and "result" not in values
        ):
            return Block(root=FORM, start=start, end=end)

    return None


def read_legacy_json(
    text: str, block: Block, expected: Expectations, limits: Limits
) -> ParseResult:
    """Convert the object in `block`."""
    values = load_object(text[block.start : block.end], depth=limits.depth) or {}
    status = _LEGACY_STATUS[values["status"]]
    summary = clean(without_forbidden(values["summary"]))
    created, modified = _texts(values, "files_created"), _texts(values, "files_modified")
    commits = tuple([commit_in(text) or Commit(sha=text) for text in _texts(values, "commit")][:1])
    blockers = "\n".join(_texts(values, "blockers")) or None
    # A failed report becomes BLOCKED, which requires a reason; the summary is the only one it has.
    if blockers is None and values["status"] == "failed":
        blockers = summary

    files = [(path, FileAction.CREATED) for path in created] + [
        (path, FileAction.MODIFIED) for path in modified
    ]
    steps = "\n".join(_texts(values, "next_steps"))

    report = Report(
        version=None,
        status=status,
        agent=expected_agent(expected),
        state=expected_state(expected),
        summary=summary,
        artifacts=(
            Artifacts(
                files=tuple([FileChange(path=path, action=action) for path, action in files]),
                commits=commits,
            )
            if files or commits
            else None
        ),
        handoff=Handoff(
            next_action=NextAction(agent=None, text=steps) if steps else None,
            blockers=real_blocker(blockers) if blockers else None,
        ),
        extensions=tuple(
            [Extension(name="notes", content=note) for note in _texts(values, "notes")]
        ),
    )
    problems = template_left((f"/{key}", text) for key in values for text in _texts(values, key))

    return converted(
        report,
        problems,
        LEGACY_RESPONSE,
        "the JSON of protocol 0.1.3",
        start=block.start,
        expected=expected,
    )


def _texts(values: Mapping[str, Any], key: str) -> list[str]:
    value = values.get(key)
    items = value if isinstance(value, list) else [value]
    return [
        clean(without_forbidden(item)) for item in items if isinstance(item, str) and item.strip()
    ]
