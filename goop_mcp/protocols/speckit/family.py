"""The speckit family as one object: find, read, judge, ask for."""

from collections.abc import Mapping

from msgspec.structs import replace

from goop_mcp.protocols.speckit import tables
from goop_mcp.protocols.speckit.claims import claims_of
from goop_mcp.protocols.speckit.contexts import ContextBlock, find_contexts, read_contexts
from goop_mcp.protocols.speckit.model import AgentInput, Response, plain_agent
from goop_mcp.protocols.speckit.reading import read_response
from goop_mcp.protocols.speckit.rules import RESPONSE_RULES, RULES
from goop_mcp.protocols.speckit.rules.structure import NO_ENVELOPE, RESULT_WITHOUT_ENVELOPE
from goop_mcp.protocols.speckit.writing import write_input, write_response
from goop_mcp.validation.claims import NO_CLAIMS, Claims
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
from goop_mcp.validation.quotes import hide_unspoken
from goop_mcp.validation.rules import run_checks
from goop_mcp.validation.verdict import Envelope
from goop_mcp.workflow.agents import plain_agent_name

__all__ = ["SPECKIT", "SpeckitFamily"]

_ENVELOPE_KEYS = frozenset({"agent", "status", "timestamp", "execution_time_ms", "result", "error"})
_RESULT_KEYS = {
    agent: frozenset(field.name for field in table) for agent, table in tables.RESULTS.items()
}
_CONTEXT_KEYS = frozenset(field.name for field in (*tables.WORKFLOW, *tables.FEEDBACK))
_ANSWER, _WEAK, _FRAGMENT = 3, 2, 1
_LEAST_KEYS = 3
_LEAST_FIELDS = 2


def _rank(value: Mapping[str, object]) -> int:
    """Rank an object by how much it looks like an answer: whole, in part, or a bare result."""
    # Three keys of the envelope are no coincidence. Agent or status alone occur in many documents,
    # so that such an object counts only where nothing better is found.
    keys = len(_ENVELOPE_KEYS & value.keys())
    part = "result" in value or "error" in value
    if keys >= _LEAST_KEYS or (part and "agent" in value):
        return _ANSWER
    if "agent" in value or "status" in value:
        return _WEAK if keys > 1 else 0
    return _FRAGMENT if _agent_of_result(value) is not None else 0


def _agent_of_result(value: Mapping[str, object]) -> str | None:
    """Return the agent whose fields make up most of `value`, None when there is none."""
    counts = {agent: len(keys & value.keys()) for agent, keys in _RESULT_KEYS.items()}
    agent = max(counts, key=lambda name: counts[name])
    # One shared field is chance, and an object of mostly other fields is another document.
    return agent if counts[agent] >= _LEAST_FIELDS and 2 * counts[agent] >= len(value) else None


_SHAPE = JsonShape(
    name="speckit",
    keys=_ENVELOPE_KEYS | _CONTEXT_KEYS,
    rank=_rank,
    parts=frozenset().union(*_RESULT_KEYS.values()),
)


class SpeckitFamily:
    """Everything the core asks of speckit; see `goop_mcp.validation.pipeline.Family`."""

    name = "speckit"
    marks = ('agent"', "agent'", "agent”", "agent’", "agent:", "_context")
    rules = RULES
    no_envelope = NO_ENVELOPE

    def find(self, source: SourceText, limits: Limits) -> Extraction:
        """Return the answers in `source`, and what an agent is given (D-01)."""
        return extract_json(source, lambda read: _blocks(read, limits), limits)

    def find_legacy(self, text: str, limits: Limits) -> Extraction | None:
        """Return None: there is no older form."""
        del text, limits
        return None

    def is_marked(self, block: Block) -> bool:
        """Return whether the keys of `block` alone identify it: agent, status, their part (D-01).

        One that was cut off may lack the part.
        """
        if isinstance(block, ContextBlock):
            return True

        value = _values(block)
        part = "result" in value or "error" in value or not block.complete

        return "agent" in value and "status" in value and part

    def read(
        self, extraction: Extraction, block: Block, expected: Expectations, limits: Limits
    ) -> ParseResult:
        """Read and judge `block`."""
        text = extraction.source.read
        if isinstance(block, ContextBlock):
            return read_contexts(text, block, expected, limits)
        if not isinstance(block, JsonBlock):
            raise TypeError(f"a block of {block.root} is none of speckit's")

        value = _values(block)
        # A bare result is shown as such: reading it as an answer would report every field as
        # missing.
        if value and _rank(value) == _FRAGMENT and block.complete:
            message = (
                f"these are the fields of a {_agent_of_result(value)} result; expected agent,"
                " status, timestamp and result around them"
            )
            return ParseResult(
                start=block.start,
                problems=[RESULT_WITHOUT_ENVELOPE.problem(message, path="", offset=0)],
            )

        bounds = bounds_of(expected)
        parsed = read_json(
            block.object,
            text,
            limits,
            name=self.name,
            read_values=lambda values: read_response(values, bounds),
        )
        response, problems = parsed.model, parsed.problems
        # What was cut off is shown but not judged: most findings would be about the missing rest
        # (D-16).
        if response is not None and parsed.partial:
            response = replace(response, partial=True)
        elif response is not None:
            problems = [*problems, *run_checks(RESPONSE_RULES, response, expected)]

        return ParseResult(
            start=block.start,
            problems=problems,
            locator=parsed.locator,
            envelope=response,
            repaired=parsed.repaired,
        )

    def replace_envelope(self, text: str, span: tuple[int, int], envelope: str) -> str:
        """Return `text` with `envelope` in place of `span`."""
        return replace_span(text, span, envelope)

    def envelope_from(self, values: object) -> Envelope:
        """Return the model whose `to_dict` gave `values`."""
        if isinstance(values, Mapping) and "feedback_context" in values:
            return model_from(AgentInput, values)
        return model_from(Response, values)

    def write(self, envelope: Envelope) -> str:
        """Return an agent's answer as JSON, its input as text with contexts."""
        if isinstance(envelope, AgentInput):
            return write_input(envelope)
        if not isinstance(envelope, Response):
            raise TypeError(f"{type(envelope).__name__} is neither an answer nor an input")
        return write_response(envelope)

    def claims(self, envelope: Envelope) -> Claims:
        """Return what `envelope` claims about the project; an agent's input claims nothing."""
        return claims_of(envelope) if isinstance(envelope, Response) else NO_CLAIMS

    def describe_missing(self, text: str) -> str:
        """Return what is there in place of an answer."""
        if not text.strip():
            return "the reply is empty; expected a JSON object with agent, status and result"
        if "{" in text:
            return (
                "no speckit answer was found among the braces; expected a JSON object with agent,"
                " status and result"
            )

        return "no speckit answer was found; expected a JSON object with agent, status and result"

    def envelope_template(self, expected: Expectations) -> str:
        """Return the smallest answer for the expected agent; the choices left open must be made."""
        agent = plain_agent(plain_agent_name(expected.agent)) if expected.agent else ""
        agent = agent if agent in tables.RESULTS else "<agent-name>"

        return (
            "{\n"
            f'  "agent": "{agent}",\n'
            '  "status": "success|error",\n'
            '  "timestamp": "<ISO8601>",\n'
            '  "execution_time_ms": 0,\n'
            '  "result": {"next_steps": ["<next-agent>"]}\n'
            "}"
        )


def _blocks(source: SourceText, limits: Limits) -> list[Block]:
    text, objects = source.read, find_objects(source, _SHAPE, limits)
    if "_CONTEXT" not in text:
        return rank_blocks(text, objects, _SHAPE)

    # Two passes: the contexts show which objects are not answers, and only the remaining answers
    # show where the request of a context ends.
    given = find_contexts(text, objects, ())
    starts = {
        each.start
        for block in given
        if isinstance(block, ContextBlock)
        for each in (block.workflow, block.feedback)
        if each is not None
    }
    if not starts:
        return rank_blocks(text, objects, _SHAPE)

    others = [
        each for each in objects if each.start not in starts and _rank(each.value or {}) == _ANSWER
    ]
    answers = rank_blocks(text, others, _SHAPE)
    given = find_contexts(text, objects, [block.start for block in answers])

    return hide_unspoken(text, sorted([*given, *answers], key=lambda block: block.start))


def _values(block: Block) -> Mapping[str, object]:
    value = block.object.value if isinstance(block, JsonBlock) else None
    return unwrapped(value, "speckit") if value else {}


SPECKIT = SpeckitFamily()
"""The one object of this family."""
