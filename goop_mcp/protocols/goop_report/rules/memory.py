"""Rules about `<memory>`: what the agent says it saved."""

from goop_mcp.protocols.goop_report.model import Report
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.findings import Hit, Severity
from goop_mcp.validation.rules import Example, RuleList
from goop_mcp.validation.samples import COMPLETE_REPLY

__all__ = ["IMPORTANCE_OUT_OF_RANGE", "MEMORY_RULES", "UNKNOWN_MEMORY_TYPE"]

_SECTION = COMPLETE_REPLY[
    COMPLETE_REPLY.index("  <memory>") : COMPLETE_REPLY.index("  <verification>")
]


MEMORY_RULES = RuleList()


UNKNOWN_MEMORY_TYPE = MEMORY_RULES.add(
    id="goop_report/unknown-memory-type",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="type outside decision, observation, note",
    why="Memories are searched by type; another type would not be found.",
    fix="Write decision, observation or note.",
    requirements=("G-26", "P-07"),
    example=Example(good='type="decision"', bad='type="idea"', reply=COMPLETE_REPLY),
)


IMPORTANCE_OUT_OF_RANGE = MEMORY_RULES.add(
    id="goop_report/importance-out-of-range",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="importance absent, no number, or outside 0 to 1",
    why=(
        "The memory tools of the package count from 1 to 10, the envelope from 0 to 1; nothing is"
        " rescaled by guess."
    ),
    fix="Write a number from 0 to 1, for example 0.7 for a decision.",
    requirements=("G-27",),
    example=Example(good='importance="0.7"', bad='importance="8"', reply=COMPLETE_REPLY),
)


@MEMORY_RULES.rule(
    id="goop_report/memory-missing",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="the caller says that memory was saved, and there is no `<memory>`",
    why="The orchestrator learns from the report what it can look up later.",
    fix="Name every memory you saved in <memory>.",
    requirements=("G-38",),
    example=Example(
        good=_SECTION, bad="", reply=COMPLETE_REPLY, expected=Expectations(memory_saved=True)
    ),
)
def _memory_missing(report: Report, expected: Expectations) -> Hit | None:
    # "Required When Applicable: memory - when memory was persisted"
    if not expected.memory_saved or report.memory:
        return None
    return Hit(
        message="memory was saved, and none is reported; expected <memory>",
        path="/goop_report/memory",
    )
