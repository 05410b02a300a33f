"""The agent_request family as one object: find, read, judge, ask for."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from goop_mcp.protocols.agent_request.claims import claims_of
from goop_mcp.protocols.agent_request.fencing import put_in_fence
from goop_mcp.protocols.agent_request.model import Request
from goop_mcp.protocols.agent_request.placement import (
    Fence,
    find_fences,
    foreign_blocks,
    placement_problems,
    shares_fence,
)
from goop_mcp.protocols.agent_request.reading import GRAMMAR, ROOT_PARTS, RequestReader
from goop_mcp.protocols.agent_request.rules import MODEL_RULES, RULES
from goop_mcp.protocols.agent_request.rules.placement import NO_ENVELOPE
from goop_mcp.protocols.agent_request.rules.structure import MISSING_FIELD
from goop_mcp.protocols.agent_request.writing import write_request
from goop_mcp.validation import xml_rules
from goop_mcp.validation.claims import NO_CLAIMS, Claims
from goop_mcp.validation.escaping import FORBIDDEN
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.extraction import Block, Extraction, Roots, extract
from goop_mcp.validation.families import ParseResult
from goop_mcp.validation.findings import excerpt
from goop_mcp.validation.limits import Limits
from goop_mcp.validation.path_rules import OUTSIDE_WORKSPACE
from goop_mcp.validation.paths import bounds_of
from goop_mcp.validation.positions import SourceText
from goop_mcp.validation.rules import Problem, run_checks
from goop_mcp.validation.tag_names import clean_tags
from goop_mcp.validation.verdict import Envelope
from goop_mcp.validation.xml_reading import ParsedTree, ParsedXml, read_xml

if TYPE_CHECKING:
    from lxml import etree

__all__ = ["AGENT_REQUEST", "AgentRequestFamily"]

ANOTHER_REQUEST = "another request; a prompt holds one only"

_ROOTS = Roots(names=("agent_request",), child_tags=frozenset(ROOT_PARTS))
_NEAR_MISS = re.compile(
    r"<\s*(?:agent[-_ ]?requests?|agent[-_ ]handoff|handoff[-_ ]request|request)\b[^<>]{0,80}>",
    re.IGNORECASE,
)
_SEARCHED = 20_000
_FILE = re.compile(r"/agent_request/deliverables(?:\[\d+\])?/file(?:\[\d+\])?")
_REFERENCE = re.compile(r"&#(?:0*(?:[12]?\d|3[01])|[xX]0*1?[0-9a-fA-F]);")


class PromptExtraction(Extraction, kw_only=True):
    """What was found in a prompt, and the fences in it."""

    fences: tuple[Fence, ...]


class AgentRequestFamily:
    """Implements `goop_mcp.validation.pipeline.Family` for the agent_request protocol."""

    name = "agent_request"
    marks = ("agent_request",)
    rules = RULES
    no_envelope = NO_ENVELOPE

    def find(self, source: SourceText, limits: Limits) -> Extraction:
        """Return the `<agent_request>` blocks of `source`, and findings about other XML in it."""
        cleaned = clean_tags(source, GRAMMAR)
        found = cleaned.remarked(extract(cleaned.source, _ROOTS, most=limits.candidates))
        read = found.source.read
        fences = find_fences(read)
        blocks = found.blocks
        if len(blocks) > 1:
            # Several requests are an error of their own, which says more than that the last one is
            # taken.
            blocks = tuple(
                [
                    (
                        block
                        if block is found.chosen or block.why is not None
                        else replace(block, why=ANOTHER_REQUEST)
                    )
                    for block in blocks
                ]
            )

        return PromptExtraction(
            source=found.source,
            blocks=blocks,
            chosen=found.chosen,
            host_transformed=found.host_transformed,
            remarks=(*found.remarks, *foreign_blocks(read, fences)),
            fences=fences,
        )

    def find_legacy(self, _text: str, _limits: Limits) -> Extraction | None:
        """Return None: there is no older form of a request."""
        return None

    def is_marked(self, block: Block) -> bool:
        """Return True: the root's name is mark enough."""
        del block
        return True

    def read(
        self, extraction: Extraction, block: Block, expected: Expectations, limits: Limits
    ) -> ParseResult:
        """Read and judge `block`."""
        text = extraction.source.read
        fences = (
            extraction.fences if isinstance(extraction, PromptExtraction) else find_fences(text)
        )
        others = [
            each for each in extraction.blocks if each.why == ANOTHER_REQUEST and each.complete
        ]
        # A fence with two roots is not a document (D-11): neither request in it can be judged.
        second = shares_fence(block, others, fences)
        if second is not None:
            message = (
                "extra content at the end of the document: a second <agent_request> in one fence;"
                " expected one"
            )
            return ParseResult(block.start, [xml_rules.MALFORMED.problem(message, offset=0)])

        parsed = self._read_tree(text, block, expected, limits)
        request, refused = parsed.model, parsed.envelope.refused
        # What was cut off is shown but not judged: most findings would be about the missing rest
        # (D-16).
        if request is not None and parsed.partial:
            request = replace(request, partial=True)
        elif request is not None:
            parsed.problems += [
                *_control_characters(parsed),
                *run_checks(MODEL_RULES, request, expected),
            ]

        if not refused:
            parsed.problems += placement_problems(text, block, others, fences)

        root = parsed.envelope.root
        return ParseResult(
            start=block.start,
            problems=parsed.problems,
            locator=parsed.envelope,
            envelope=request,
            version=None if root is None else root.get("version"),
            repaired=parsed.repaired,
        )

    def _read_tree(
        self, text: str, block: Block, expected: Expectations, limits: Limits
    ) -> ParsedXml[Request]:
        bounds = bounds_of(expected)

        def read_tree(root: "etree._Element") -> ParsedTree[Request]:
            reader = RequestReader(bounds)
            request = reader.read(root)
            whole = not any(problem.rule is MISSING_FIELD for problem in reader.problems)
            return ParsedTree(request, reader.problems, reader.tangled, whole)

        return read_xml(block, text, GRAMMAR, limits, read_tree)

    def replace_envelope(self, text: str, span: tuple[int, int], envelope: str) -> str:
        """Return `text` with `envelope` in place of `span`, in an xml fence it cannot close."""
        return put_in_fence(text, span, envelope)

    def envelope_from(self, values: object) -> Envelope:
        """Return the model whose `to_dict` gave `values`."""
        return Request.from_dict(values)

    def write(self, envelope: Envelope) -> str:
        """Return `envelope` as a request; `write_prompt` writes a whole prompt around one."""
        if not isinstance(envelope, Request):
            raise TypeError(f"{type(envelope).__name__} is not a request")
        return write_request(envelope)

    def claims(self, envelope: Envelope) -> Claims:
        """Return what `envelope` says is true of the project."""
        return claims_of(envelope) if isinstance(envelope, Request) else NO_CLAIMS

    def describe_missing(self, text: str) -> str:
        """Return what is there in place of a request; a near miss is named."""
        near = _NEAR_MISS.search(text[-_SEARCHED:])
        if near is not None:
            return (
                f"no <agent_request> block was found, but {excerpt(near[0], 60)}; expected"
                " <agent_request>"
            )

        if not text.strip():
            return "the prompt is empty; expected an <agent_request> block or prose"
        return "no XML handoff block was found; the agent has to read the prose"

    def envelope_template(self, _expected: Expectations) -> str:
        """Return the smallest request, with template text for all that has to be filled in."""
        return (
            "```xml\n"
            "<agent_request>\n"
            "<mode>spawn|conversation_only|blocking</mode>\n"
            "<original_intent>[goal]</original_intent>\n"
            "<current_task_summary>[this task]</current_task_summary>\n"
            "<workflow>SPIKE|TDD|standard|none</workflow>\n"
            "<task_details>[instructions]</task_details>\n"
            '<deliverables><file path="[path]">[what it holds]</file></deliverables>\n'
            "</agent_request>\n"
            "```"
        )


def _control_characters(parsed: ParsedXml[Request]) -> Iterator[Problem]:
    """Yield a problem for each file whose tag held a control character.

    Without the character, the path would be a different one.
    """
    if parsed.repaired is None:
        return

    source = parsed.envelope.source

    for where, position in parsed.envelope.scan.positions.items():
        tag = source[position.start : position.tag_end]
        if _FILE.fullmatch(where) and (held := FORBIDDEN.search(tag) or _REFERENCE.search(tag)):
            message = "path holds a control character; expected a path relative to the project"
            yield OUTSIDE_WORKSPACE.problem(
                message,
                path=f"{where}/@path",
                offset=position.start + held.start(),
                found=excerpt(tag),
            )


AGENT_REQUEST = AgentRequestFamily()
