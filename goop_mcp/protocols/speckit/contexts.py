"""Find and read an agent's input: WORKFLOW_CONTEXT, FEEDBACK_CONTEXT, request (S-01, S-05)."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from goop_mcp.protocols.speckit.model import AgentInput, FeedbackContext, WorkflowContext
from goop_mcp.protocols.speckit.reading import read_feedback, read_workflow
from goop_mcp.protocols.speckit.rules import INPUT_RULES
from goop_mcp.protocols.speckit.tables import VALUE_RULES
from goop_mcp.validation.envelope_rules import ROOT_NOT_CLOSED
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.extraction import Block
from goop_mcp.validation.families import ParseResult
from goop_mcp.validation.fences import fence_spans
from goop_mcp.validation.findings import Severity, excerpt
from goop_mcp.validation.json_extraction import JsonObject
from goop_mcp.validation.json_reading import ParsedJson, ParsedValues, read_json, written
from goop_mcp.validation.limits import Limits
from goop_mcp.validation.paths import PathBounds, bounds_of
from goop_mcp.validation.rules import Problem, run_checks
from goop_mcp.validation.safe_json import JsonObjectValue
from goop_mcp.validation.template_text import template_text

__all__ = ["ContextBlock", "find_contexts", "holds_marker", "read_contexts"]

T = TypeVar("T")

WORKFLOW, FEEDBACK = "workflow_context", "feedback_context"

# Hosts print the marker in bold, as a list item or a heading, and with or without a fence. The
# object must follow directly: prose mentions the name as well.
_MARKER = re.compile(
    r"^[ \t>#*_`-]*(?P<kind>WORKFLOW|FEEDBACK)_CONTEXT[*_`]*:[*_`]*+(?:(?<=```)\w*+)?\s*+"
    r"(?:(?:`{3,}+|~{3,}+)\w*+\s*+)?(?=\{)",
    re.MULTILINE,
)
_REQUEST = re.compile(r"^[ \t>#*_`-]*USER_REQUEST[*_`]*:[*_`]*[ \t]*", re.MULTILINE)


class ContextBlock(Block, kw_only=True):
    """The whole input of an agent in one text; `request` is the span of the user's request."""

    workflow: JsonObject | None = None
    feedback: JsonObject | None = None
    request: tuple[int, int] | None = None


def holds_marker(text: str) -> bool:
    """Return whether a line of `text` begins like a context or a request."""
    return _MARKER.search(text) is not None or _REQUEST.search(text) is not None


def find_contexts(text: str, objects: Sequence[JsonObject], answers: Iterable[int]) -> list[Block]:
    """Return the inputs in `text`: contexts up to the next of the same kind make one block.

    `objects` are those of the text; the user's request ends before an offset in `answers`.
    """
    by_start = {each.start: each for each in objects}
    found: list[ContextBlock] = []

    for marker in _MARKER.finditer(text):
        # A marker counts only if an object follows it directly: prose may mention its name.
        each = by_start.get(marker.end())
        if each is None:
            continue

        last = found[-1] if found else None
        given = ContextBlock(
            root="speckit", start=marker.start("kind"), end=each.end, complete=each.complete
        )
        if marker["kind"] == "WORKFLOW":
            joined = (
                replace(last, end=each.end, workflow=each)
                if last is not None and last.workflow is None
                else None
            )
            given = joined or replace(given, workflow=each)
        else:
            joined = (
                replace(last, end=each.end, feedback=each)
                if last is not None and last.feedback is None
                else None
            )
            given = joined or replace(given, feedback=each)

        # A context of the other kind completes the block before it; a second one of the same kind
        # starts a new block, since an agent has one of each.
        if joined is not None:
            found.pop()

        found.append(given)

    if not found:
        return []

    # A request belongs to the block before it and ends where the next block begins.
    ends = [*(each.start for each in found[1:]), len(text)]
    stops = sorted(answers)

    return [_with_request(text, each, end, stops) for each, end in zip(found, ends, strict=True)]


def _with_request(text: str, block: ContextBlock, end: int, stops: Sequence[int]) -> Block:
    complete = all(each.complete for each in (block.workflow, block.feedback) if each is not None)
    request = _REQUEST.search(text, block.end, end) if complete else None
    if request is None:
        return replace(block, complete=complete)

    # The request is free text without an end mark. An answer after it, or the end of the fence
    # around the block, is the only sign that it is over.
    end = next((stop for stop in stops if request.end() <= stop < end), end)
    for fence in fence_spans(text):
        if fence[0] <= block.start < fence[1]:
            end = min(end, fence[1])

    words = text[request.end() : end]
    # A fence that closes without having been opened in the request is the one around the block.
    if "```" not in words.partition("\n")[2].rstrip().rpartition("\n")[0]:
        bare = words.rstrip()
        mark = next((each for each in "`~" if bare.endswith(each * 3)), None)
        if mark is not None:
            words = bare.rstrip(mark)

    last = request.end() + len(words.rstrip())

    return replace(
        block, complete=complete, request=(request.end(), last), end=max(last, block.end)
    )


# Reading


class _ContextLocator:
    """Finds pointers that begin with the name of a context."""

    def __init__(self) -> None:
        self.parts: dict[str, tuple[int, ParsedJson[Any]]] = {}

    def locate(self, path: str, found: str | None) -> int | None:
        """Return the offset of `path` from the start of the block."""
        name = path[1:].partition("/")[0]
        if name not in self.parts:
            return None

        shift, parsed = self.parts[name]
        place = parsed.locator.locate(path[1 + len(name) :], found)
        return None if place is None else place + shift


def read_contexts(
    text: str, block: ContextBlock, expected: Expectations, limits: Limits
) -> ParseResult:
    """Read and judge what an agent is given."""
    locator, bounds = _ContextLocator(), bounds_of(expected)
    problems: list[Problem] = []

    def part(
        name: str,
        found: JsonObject | None,
        read: Callable[[JsonObjectValue, PathBounds], ParsedValues[T]],
    ) -> ParsedJson[T] | None:
        if found is None:
            return None

        parsed = read_json(
            found, text, limits, name=name, read_values=lambda values: read(values, bounds)
        )
        # Offsets of a part count from its object, those of the block from its first marker.
        shift = found.start - block.start
        problems.extend(_moved(problem, f"/{name}", shift) for problem in parsed.problems)
        locator.parts[name] = (shift, parsed)

        return parsed

    workflow, feedback = (
        part(WORKFLOW, block.workflow, read_workflow),
        part(FEEDBACK, block.feedback, read_feedback),
    )
    request = text[slice(*block.request)].strip() or None if block.request is not None else None
    given = AgentInput(
        workflow_context=workflow.model if workflow is not None else None,
        feedback_context=feedback.model if feedback is not None else None,
        user_request=request,
        partial=any(each is not None and each.partial for each in (workflow, feedback)),
    )
    # Neither could be read: the problems found so far say why, and there is nothing to judge.
    if given.workflow_context is None and given.feedback_context is None:
        return ParseResult(start=block.start, problems=problems, locator=locator)
    if not given.partial:
        problems += _template_request(request, block)
        problems += run_checks(INPUT_RULES, given, expected)

    parsed_parts = [(WORKFLOW, workflow), (FEEDBACK, feedback)]

    return ParseResult(
        start=block.start,
        problems=problems,
        locator=locator,
        envelope=given,
        repaired=_written(parsed_parts, request),
    )


def _moved(problem: Problem, prefix: str, shift: int) -> Problem:
    """Return `problem` as seen from the start of the block."""
    hit = problem.hit
    path = prefix if hit.path is None else prefix + hit.path
    # The closing brace that is missing belongs to the context, not to a field of it.
    if problem.rule is ROOT_NOT_CLOSED or hit.path is None:
        path = prefix
    return replace(
        problem,
        hit=replace(hit, path=path, offset=None if hit.offset is None else hit.offset + shift),
    )


def _template_request(request: str | None, block: ContextBlock) -> list[Problem]:
    if request is None or block.request is None:
        return []
    if template_text(request, prose=VALUE_RULES.prose) is not Severity.ERROR:
        return []

    message = (
        f"template text left in: USER_REQUEST is {excerpt(request, 60)!r}; expected the user's"
        " words"
    )
    offset = block.request[0] - block.start

    return [
        VALUE_RULES.placeholder.problem(
            message, path="/user_request", offset=offset, found=excerpt(request)
        )
    ]


def _written(
    parsed_parts: Sequence[
        tuple[str, ParsedJson[WorkflowContext] | ParsedJson[FeedbackContext] | None]
    ],
    request: str | None,
) -> str | None:
    """Return the contexts after all repairs, None when one of them could not be read."""
    parts = []
    for name, parsed in parsed_parts:
        if parsed is None:
            continue
        if parsed.values is None or parsed.partial or parsed.model is None:
            return None

        parts.append(f"{name.upper()}:\n{written(parsed.values)}\n")

    if request is not None:
        parts.append(f"USER_REQUEST: {request}\n")
    return "\n".join(parts)
