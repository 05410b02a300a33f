"""The factory family as one object: find, read, judge, ask for."""

from collections.abc import Mapping

from msgspec.structs import replace

from goop_mcp.protocols.factory import tables
from goop_mcp.protocols.factory.claims import claims_of, unchecked_files
from goop_mcp.protocols.factory.markdown import FORM, find_markdown, read_markdown
from goop_mcp.protocols.factory.model import Reply, Status
from goop_mcp.protocols.factory.reading import read_reply
from goop_mcp.protocols.factory.rules import MODEL_RULES, RULES
from goop_mcp.protocols.factory.rules.structure import NO_ENVELOPE
from goop_mcp.protocols.factory.writing import write_reply
from goop_mcp.validation.claims import NO_CLAIMS, Claims
from goop_mcp.validation.escaping import without_emphasis
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.extraction import Block, Extraction
from goop_mcp.validation.families import ParseResult, replace_span
from goop_mcp.validation.json_extraction import (
    JsonBlock,
    JsonShape,
    extract_json,
    find_objects,
    rank_blocks,
    unwrapped,
)
from goop_mcp.validation.json_reading import read_json
from goop_mcp.validation.limits import Limits
from goop_mcp.validation.paths import bounds_of
from goop_mcp.validation.plain_values import model_from
from goop_mcp.validation.positions import SourceText
from goop_mcp.validation.rules import run_checks
from goop_mcp.validation.verdict import Envelope

__all__ = ["FACTORY", "FactoryFamily"]

_STATUSES = frozenset(Status)
_OWN_KEYS = tables.KEYS - {"status"}
_REPLY, _WEAK = 2, 1
_LEAST_KEYS = 2


def _rank(value: Mapping[str, object]) -> int:
    """Rank an object by how much it looks like a reply: known status or two fields, or a status."""
    if _is_marked(value) or len(tables.KEYS & value.keys()) >= _LEAST_KEYS:
        return _REPLY

    # An object with an agent is an answer of speckit, which has a status as well.
    known = _has_known_status(value) and "agent" not in value

    return (
        _WEAK
        if known or (value.keys() <= tables.KEYS and isinstance(value.get("status"), str))
        else 0
    )


def _is_marked(value: Mapping[str, object]) -> bool:
    """Return whether `value` has a known status and no agent, and not only foreign keys besides."""
    if "agent" in value or not _has_known_status(value):
        return False
    # Many documents have a status. Only keys of this protocol next to it show that it is a reply.
    return len(value) == 1 or not _OWN_KEYS.isdisjoint(value)


def _has_known_status(value: Mapping[str, object]) -> bool:
    status = value.get("status")
    # As written first, because this is asked of every object of every reply.
    return isinstance(status, str) and (
        status in _STATUSES or without_emphasis(status).lower() in _STATUSES
    )


_SHAPE = JsonShape(name="factory", keys=tables.KEYS, rank=_rank)


class FactoryFamily:
    """Implements `goop_mcp.validation.pipeline.Family` for the Factory protocol."""

    name = "factory"
    marks = ('status"', "status'", "status”", "status’", "status:")
    rules = RULES
    no_envelope = NO_ENVELOPE

    def find(self, source: SourceText, limits: Limits) -> Extraction:
        """Return the JSON replies in `source`: JSON comes first, Markdown after it (F-26)."""

        def find_blocks(read: SourceText) -> list[Block]:
            blocks = rank_blocks(read.read, find_objects(read, _SHAPE, limits), _SHAPE)
            # Each block, because one that cannot be read to its end was ranked by its first key
            # alone.
            weak = all(_rank(_values(block)) == _WEAK for block in blocks)
            # A word on some status that is quoted in a report is not the report.
            return [] if blocks and weak and find_markdown(read.read) is not None else blocks

        return extract_json(source, find_blocks, limits)

    def find_legacy(self, text: str, limits: Limits) -> Extraction | None:
        """Return the last Markdown reply in `text`, None when there is none."""
        del limits
        block = find_markdown(text)

        return (
            None
            if block is None
            else Extraction(source=SourceText(text), blocks=(block,), chosen=block)
        )

    def is_marked(self, block: Block) -> bool:
        """Return whether the keys of `block` alone identify it: known status, no agent (D-01)."""
        return block.root == FORM or _is_marked(_values(block))

    def read(
        self, extraction: Extraction, block: Block, expected: Expectations, limits: Limits
    ) -> ParseResult:
        """Read and judge `block`."""
        text = extraction.source.read
        if not isinstance(block, JsonBlock):
            return read_markdown(text, block, expected)

        bounds = bounds_of(expected)
        parsed = read_json(
            block.object,
            text,
            limits,
            name=self.name,
            read_values=lambda values: read_reply(values, bounds),
        )
        reply, problems = parsed.model, parsed.problems
        # What was cut off is shown but not judged: most findings would be about the missing rest
        # (D-16).
        if reply is not None and parsed.partial:
            reply = replace(reply, partial=True)
        elif reply is not None:
            problems = [
                *problems,
                *run_checks(MODEL_RULES, reply, expected),
                *unchecked_files(reply, expected),
            ]

        return ParseResult(
            start=block.start,
            problems=problems,
            locator=parsed.locator,
            envelope=reply,
            repaired=parsed.repaired,
        )

    def replace_envelope(self, text: str, span: tuple[int, int], envelope: str) -> str:
        """Return `text` with `envelope` in place of `span`."""
        return replace_span(text, span, envelope)

    def envelope_from(self, values: object) -> Envelope:
        """Return the model whose `to_dict` gave `values`."""
        return model_from(Reply, values)

    def write(self, envelope: Envelope) -> str:
        """Return `envelope` as JSON."""
        if not isinstance(envelope, Reply):
            raise TypeError(f"{type(envelope).__name__} is not a reply")
        return write_reply(envelope)

    def claims(self, envelope: Envelope) -> Claims:
        """Return what `envelope` says is true of the project."""
        return claims_of(envelope) if isinstance(envelope, Reply) else NO_CLAIMS

    def describe_missing(self, text: str) -> str:
        """Return what is there in place of a reply."""
        if not text.strip():
            return "the reply is empty; expected a JSON object with a status"
        return (
            "no Factory reply was found, neither JSON nor known Markdown; expected a JSON object"
            " with a status"
        )

    def envelope_template(self, expected: Expectations) -> str:
        """Return the smallest reply of each status; the choices left open must be made."""
        del expected
        return (
            '{"status": "success", "confidence": "high|medium|low", "deliverables": [{"path":'
            ' "[path]", "type": "architecture|rules|config|skill"}], "summary": "[what was done]",'
            ' "next_action": "ready_for_review"}\nor {"status": "questions", "questions": [{"id":'
            ' "q1", "question": "[what you have to know]"}]}\nor {"status": "failure", "error":'
            ' {"type": "missing_input|ambiguous_requirements|invalid_config|technical_error",'
            ' "message": "[why]"}}'
        )


def _values(block: Block) -> Mapping[str, object]:
    value = block.object.value if isinstance(block, JsonBlock) else None
    return unwrapped(value, "factory") if value else {}


FACTORY = FactoryFamily()
"""The one object of this family."""
