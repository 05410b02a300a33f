"""The goop_report family as one object: find, read, judge, ask for."""

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from goop_mcp.protocols.goop_report.model import Report
from goop_mcp.protocols.goop_report.reading import GRAMMAR, ReportReader
from goop_mcp.protocols.goop_report.rules import MODEL_RULES, RULES
from goop_mcp.protocols.goop_report.rules.structure import MISSING_FIELD, NO_ENVELOPE
from goop_mcp.protocols.goop_report.writing import write_report
from goop_mcp.validation.envelope_rules import NOT_AT_END
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.extraction import Block, Extraction, Roots, extract
from goop_mcp.validation.families import ParseResult, replace_span
from goop_mcp.validation.findings import excerpt
from goop_mcp.validation.hosts import after_envelope
from goop_mcp.validation.limits import Limits
from goop_mcp.validation.positions import SourceText
from goop_mcp.validation.rules import run_checks
from goop_mcp.validation.tag_names import clean_tags
from goop_mcp.validation.verdict import Envelope
from goop_mcp.validation.xml_reading import ParsedTree, read_xml
from goop_mcp.workflow.agents import may_report_as, plain_agent_name

if TYPE_CHECKING:
    from lxml import etree

    from goop_mcp.validation.claims import Claims

__all__ = ["GOOP_REPORT", "GoopReportFamily"]

_ROOTS = Roots(
    names=("goop_report",),
    child_tags=frozenset(
        [
            "status",
            "agent",
            "task_id",
            "task_name",
            "state",
            "summary",
            "artifacts",
            "memory",
            "verification",
            "handoff",
        ]
    ),
)
_NEAR_MISS = re.compile(
    r"<\s*(?:goop[-_ ]?reports?|goopspec[-_]report|report)\b[^<>]{0,80}>", re.IGNORECASE
)


class GoopReportFamily:
    """Implements `goop_mcp.validation.pipeline.Family` for the goop_report protocol."""

    name = "goop_report"
    marks: tuple[str, ...] = ("goop_report",)
    rules = RULES
    no_envelope = NO_ENVELOPE

    def find(self, source: SourceText, limits: Limits) -> Extraction:
        """Return the `<goop_report>` blocks of `source`."""
        cleaned = clean_tags(source, GRAMMAR)
        return cleaned.remarked(extract(cleaned.source, _ROOTS, most=limits.candidates))

    def find_legacy(self, text: str, limits: Limits) -> Extraction | None:
        """Return the last older or sibling form in `text`, None when there is none."""
        # Only where no report is
        from goop_mcp.protocols.goop_report.legacy_forms import find_legacy_form  # noqa: PLC0415

        return find_legacy_form(text, limits)

    def is_marked(self, block: Block) -> bool:
        """Return True: the root's name is mark enough."""
        del block
        return True

    def read(
        self, extraction: Extraction, block: Block, expected: Expectations, limits: Limits
    ) -> ParseResult:
        """Read and judge `block`."""
        if block.root != "goop_report":
            # Nearly every reply has the root of today, and needs no reader of old forms.
            from goop_mcp.protocols.goop_report.legacy_forms import (  # noqa: PLC0415
                read_legacy_form,
            )

            return read_legacy_form(extraction, block, expected, limits)

        text = extraction.source.read

        def read_tree(root: "etree._Element") -> ParsedTree[Report]:
            reader = ReportReader(expected)
            report = reader.read(root)
            whole = not any(problem.rule is MISSING_FIELD for problem in reader.problems)
            return ParsedTree(report, reader.problems, reader.tangled, whole)

        parsed = read_xml(block, text, GRAMMAR, limits, read_tree)
        report, problems = parsed.model, parsed.problems
        # What was cut off is shown but not judged: most findings would be about the missing rest
        # (D-16).
        if report is not None and parsed.partial:
            report = replace(report, partial=True)
        elif report is not None:
            problems = [*problems, *run_checks(MODEL_RULES, report, expected)]
            # "Every agent response MUST include this XML block at the END of their response"
            at = after_envelope(text, block.end) if block.complete else None
            if at is not None:
                found = excerpt(text[at : at + 400], 60)
                message = (
                    f"text follows the envelope: {found!r}; expected nothing after </goop_report>"
                )
                problems.append(NOT_AT_END.problem(message, offset=at - block.start, found=found))

        return ParseResult(
            start=block.start,
            problems=problems,
            locator=parsed.envelope,
            envelope=report,
            version=report.version if report is not None else None,
            repaired=parsed.repaired,
        )

    def replace_envelope(self, text: str, span: tuple[int, int], envelope: str) -> str:
        """Return `text` with `envelope` in place of `span`."""
        return replace_span(text, span, envelope)

    def envelope_from(self, values: object) -> Envelope:
        """Return the model whose `to_dict` gave `values`."""
        return Report.from_dict(values)

    def write(self, envelope: Envelope) -> str:
        """Return `envelope` as an XML envelope, which both profiles accept."""
        if not isinstance(envelope, Report):
            raise TypeError(f"{type(envelope).__name__} is not a report")
        return write_report(envelope)

    def claims(self, envelope: Envelope) -> "Claims":
        """Return what `envelope` says is true of the project."""
        # Only for truth checks
        from goop_mcp.protocols.goop_report.claims import claims_of  # noqa: PLC0415

        return claims_of(envelope)

    def describe_missing(self, text: str) -> str:
        """Return what is there in place of an envelope; a near miss is named."""
        near = _NEAR_MISS.search(text[-20_000:])
        if near is not None:
            return (
                f"no <goop_report> envelope was found, but {excerpt(near[0], 60)}; expected"
                " <goop_report>"
            )

        if not text.strip():
            return "the reply is empty; expected a <goop_report> envelope at its end"
        return "no <goop_report> envelope was found; expected one at the end of the reply"

    def envelope_template(self, expected: Expectations) -> str:
        """Return the smallest envelope for the expected agent and phase, with open choices."""
        agent = plain_agent_name(expected.agent) if expected.agent else ""
        agent = agent if may_report_as(agent, expected.agents) else "goop-[type]"
        phase = (
            expected.phase
            if expected.phase and expected.phase.isalpha()
            else "plan|specify|execute|accept|research"
        )

        return (
            '<goop_report version="0.1.6">\n'
            "<status>COMPLETE|PARTIAL|BLOCKED|CHECKPOINT</status>\n"
            f"<agent>{agent}</agent>\n"
            f"<state><phase>{phase}</phase></state>\n"
            "<summary>[what was done]</summary>\n"
            "<handoff><ready>true|false</ready>"
            '<next_action agent="goop-[type]">[next task]</next_action>'
            "<blockers>None</blockers>"
            "<suggest_new_session>true|false</suggest_new_session></handoff>\n"
            "</goop_report>"
        )


GOOP_REPORT = GoopReportFamily()
