"""Root elements that some agents of the packages use in place of `<goop_report>`."""

import re
from collections.abc import Callable, Mapping

from lxml import etree
from msgspec.structs import replace

from goop_mcp.protocols.goop_report.blockers import real_blocker
from goop_mcp.protocols.goop_report.legacy_forms.conversion import (
    converted,
    reason_to_block,
    unknown_status,
)
from goop_mcp.protocols.goop_report.model import Check, Extension, Handoff, Report, Status
from goop_mcp.protocols.goop_report.reading import GRAMMAR, ReportReader
from goop_mcp.protocols.goop_report.rules.legacy_forms import OTHER_ROOT
from goop_mcp.protocols.goop_report.rules.structure import MISSING_FIELD
from goop_mcp.protocols.goop_report.rules.values import PLACEHOLDER_LEFT, SLOT_IN_TEXT
from goop_mcp.protocols.goop_report.values import ReportValueReader, clean
from goop_mcp.structs import DataStruct
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.extraction import Block, Extraction, Roots, extract
from goop_mcp.validation.families import ParseResult
from goop_mcp.validation.limits import Limits
from goop_mcp.validation.markup import Grammar
from goop_mcp.validation.positions import SourceText
from goop_mcp.validation.rules import Problem
from goop_mcp.validation.xml_reading import ParsedTree, read_xml
from goop_mcp.workflow.agents import is_agent_name

__all__ = ["find_other_root", "read_other_root"]


class _Outcome(DataStruct, frozen=True):
    status: Status
    checks: tuple[Check, ...] = ()


class _SiblingRoot(DataStruct, frozen=True):
    """Which statuses a root may hold, and the agent that writes each of them."""

    statuses: Mapping[str, tuple[str, _Outcome]]
    required: bool = False


_VERIFIED = _Outcome(
    Status.COMPLETE, (Check(name="verification", passed=True, evidence="VERIFICATION PASSED"),)
)
_REFUTED = _Outcome(
    Status.COMPLETE, (Check(name="verification", passed=False, evidence="VERIFICATION FAILED"),)
)
_TESTS_FAIL = _Outcome(
    Status.COMPLETE, (Check(name="tests", passed=False, evidence="TESTS FAILING"),)
)
_DONE, _UNDONE, _STUCK = (
    _Outcome(Status.COMPLETE),
    _Outcome(Status.PARTIAL),
    _Outcome(Status.BLOCKED),
)


def _by(agent: str, **statuses: _Outcome) -> dict[str, tuple[str, _Outcome]]:
    return {name.replace("__", " "): (agent, outcome) for name, outcome in statuses.items()}


_SIBLINGS = {
    "debug_report": _SiblingRoot(
        _by("goop-debugger", BUG__FIXED=_DONE, BUG__IDENTIFIED=_UNDONE, BUG__INVESTIGATING=_UNDONE)
    ),
    "verification_report": _SiblingRoot(
        _by(
            "goop-verifier",
            VERIFICATION__PASSED=_VERIFIED,
            VERIFICATION__FAILED=_REFUTED,
            NEEDS_MANUAL=_STUCK,
        )
    ),
    # Too common a name: it counts only with a status of this table.
    "response": _SiblingRoot(
        {
            **_by(
                "goop-designer",
                DESIGN__COMPLETE=_DONE,
                DESIGN__OPTIONS=_STUCK,
                DESIGN__NEEDS_INPUT=_STUCK,
            ),
            **_by(
                "goop-librarian",
                SEARCH__COMPLETE=_DONE,
                SEARCH__PARTIAL=_UNDONE,
                SEARCH__NO_RESULTS=_UNDONE,
            ),
            **_by(
                "goop-tester",
                TESTS__COMPLETE=_DONE,
                TESTS__FAILING=_TESTS_FAIL,
                TESTS__PARTIAL=_UNDONE,
            ),
        },
        required=True,
    ),
    "goopspec_response": _SiblingRoot(
        _by("goop-writer", DOCS__COMPLETE=_DONE, DOCS__PARTIAL=_UNDONE, DOCS__BLOCKED=_STUCK)
    ),
    "distillation": _SiblingRoot(_by("memory-distiller", DISTILLATION__COMPLETE=_DONE)),
}
_DESCENDANT = "elefant_report"
_SIBLING_ROOTS = Roots(
    names=(*_SIBLINGS, _DESCENDANT), child_tags=frozenset({"status", "agent", "summary"})
)
_WORDS = r"[A-Z_]{1,40}+(?>(?: [A-Z_]{1,40}+){0,4})"
_STATUS_TEXT = re.compile(
    rf"<status>\s*+({_WORDS})\s*+</status>|^[ \t]*+#{{1,3}}[ \t]++({_WORDS})", re.MULTILINE
)
_RESULTS = {"PASS": True, "FAIL": False}


def find_other_root(text: str, limits: Limits) -> Extraction | None:
    """Return the blocks with a sibling root; `<response>` needs a status of its table."""
    extraction = extract(SourceText(text), _SIBLING_ROOTS, most=limits.candidates)
    text_read = extraction.source.read
    blocks = tuple(
        [
            block
            for block in extraction.blocks
            # A common tag counts only with a status of its table.
            if (sibling := _SIBLINGS.get(block.root)) is None
            or not sibling.required
            or _native_status(text_read[block.start : block.end]) in sibling.statuses
        ]
    )
    chosen = next((block for block in reversed(blocks) if block.why is None), None)
    return None if chosen is None else replace(extraction, blocks=blocks, chosen=chosen)


def _native_status(text: str) -> str:
    found = _STATUS_TEXT.search(text)
    return (found[1] or found[2]) if found else ""


def read_other_root(text: str, block: Block, expected: Expectations, limits: Limits) -> ParseResult:
    """Convert the sibling in `block`; one that was cut off is shown as far as it goes."""
    if block.root == _DESCENDANT:
        grammar = Grammar(
            root=block.root,
            containers=GRAMMAR.containers - {GRAMMAR.root} | {block.root},
            text_only=GRAMMAR.text_only,
            attributes=GRAMMAR.attributes,
        )
        reader = _descendant_reader(expected)
    else:
        text_only = frozenset({"status", "agent", "summary"})
        grammar = Grammar(
            root=block.root,
            containers=frozenset({block.root}),
            text_only=text_only,
            attributes=GRAMMAR.attributes,
        )
        reader = _sibling_reader(
            _SIBLINGS[block.root], _native_status(text[block.start : block.end])
        )

    parsed = read_xml(block, text, grammar, limits, reader)
    report = parsed.model
    if report is None or parsed.partial:
        envelope = replace(report, partial=True) if report is not None else None
        return ParseResult(block.start, parsed.problems, locator=parsed.envelope, envelope=envelope)

    result = converted(
        report,
        parsed.problems,
        OTHER_ROOT,
        f"<{block.root}>",
        start=block.start,
        expected=expected,
    )
    result.locator = parsed.envelope

    return result


def _sibling_reader(
    sibling: _SiblingRoot, native: str
) -> "Callable[[etree._Element], ParsedTree[Report]]":
    def read_tree(root: "etree._Element") -> ParsedTree[Report]:
        agent, outcome = sibling.statuses.get(native, (None, None))
        values = ReportValueReader()
        values.template_texts(root)
        # The form requires nothing but a status, so that only a slot shows a copied form.
        problems = [
            Problem(PLACEHOLDER_LEFT, each.hit) if each.rule is SLOT_IN_TEXT else each
            for each in values.problems
        ]
        if outcome is None:
            problems.append(
                unknown_status(native, tuple(sibling.statuses), f"/{root.tag!s}/status")
            )

        status = outcome.status if outcome is not None else None
        own_agent = clean(root.findtext("agent"))
        summary = clean(root.findtext("summary"))
        checks = (*(outcome.checks if outcome is not None else ()), *_item_checks(root))
        blockers = clean(root.findtext("blockers"))
        report = Report(
            version=None,
            status=status,
            agent=own_agent if is_agent_name(own_agent) else agent,
            summary=summary or None,
            verification=checks or None,
            handoff=Handoff(
                blockers=(real_blocker(blockers) if blockers else None)
                or reason_to_block(status, summary)
            ),
            extensions=tuple(
                [
                    _extension(child)
                    for child in root
                    if child.tag not in ("status", "agent", "summary")
                ]
            ),
        )

        return ParsedTree(report, problems, tangled=False, whole=True)

    return read_tree


def _item_checks(root: "etree._Element") -> list[Check]:
    """Return a check for every item with a verdict; NOT_APPLICABLE has no verdict."""
    checks = []
    for element in root.iter():
        verdict = element.get("verdict") if element.tag != "verdict" else clean(element.text)
        item = element if element.tag != "verdict" else element.getparent()
        if verdict in _RESULTS and item is not None:
            name = (
                item.get("name") or item.get("id") or clean(item.findtext("name")) or str(item.tag)
            )
            checks.append(Check(name=name, passed=_RESULTS[verdict], evidence=verdict))

    return checks


def _extension(child: "etree._Element", parent: str = "") -> Extension:
    name = etree.QName(child).localname
    if len(child) == 0 and not child.attrib and child.tag == name:
        return Extension(name=f"{parent}{name}", content=clean(child.text))
    return Extension(
        name=f"{parent}{name}",
        content=etree.tostring(child, encoding="unicode", with_tail=False),
        is_xml=True,
    )


def _descendant_reader(expected: Expectations) -> "Callable[[etree._Element], ParsedTree[Report]]":
    """Return a reader for `<elefant_report>`: no state, no memory, and the file action read."""

    def read_tree(root: "etree._Element") -> ParsedTree[Report]:
        # Files that were only read are not changes: they are kept as extensions.
        read_only = [
            file for file in root.iterfind("artifacts/files/file") if file.get("action") == "read"
        ]
        kept = [_extension(file, "artifacts/files/") for file in read_only]
        for file in read_only:
            parent = file.getparent()
            if parent is not None:
                parent.remove(file)

        # The reader expects its root: the tree is renamed for the reading and gets its name back.
        native, root.tag = str(root.tag), "goop_report"
        reader = ReportReader(expected)
        report = reader.read(root)
        root.tag = native
        problems = []
        for problem in reader.problems:
            path = problem.hit.path
            # Replies in this form have no state.
            if problem.rule is MISSING_FIELD and path == "/goop_report/state":
                continue

            # The agent knows the root that it wrote, not the one under which it was read.
            hit = problem.hit
            if path is not None:
                hit = replace(hit, path=path.replace("/goop_report", f"/{native}", 1))
            problems.append(Problem(problem.rule, hit))

        report = replace(report, extensions=(*report.extensions, *kept))
        whole = not any(problem.rule is MISSING_FIELD for problem in problems)

        return ParsedTree(report, problems, reader.tangled, whole)

    return read_tree
