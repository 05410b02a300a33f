"""The report of GoopSpec 1.x: five Markdown sections in place of the envelope (D-96)."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from goop_mcp.protocols.goop_report.family import GoopReportFamily
from goop_mcp.protocols.goop_report.legacy_forms.conversion import (
    expected_agent,
    expected_state,
    reason_to_block,
)
from goop_mcp.protocols.goop_report.legacy_forms.markdown_sections import (
    AGENT_IN_TEXT,
    COMMAND_IN_TEXT,
    FORM,
    section_headings,
)
from goop_mcp.protocols.goop_report.model import (
    Artifacts,
    Commit,
    FileChange,
    Handoff,
    NextAction,
    Report,
    Status,
)
from goop_mcp.protocols.goop_report.rules import MODEL_RULES
from goop_mcp.protocols.goop_report.rules.status import COMPLETE_WITHOUT_CHECK, UNKNOWN_STATUS
from goop_mcp.protocols.goop_report.rules.structure import (
    DUPLICATE_ELEMENT,
    EMPTY_FIELD,
    MISSING_FIELD,
    NO_ENVELOPE,
)
from goop_mcp.protocols.goop_report.rules.values import PLACEHOLDER_LEFT, SLOT_IN_TEXT
from goop_mcp.protocols.goop_report.section_values import (
    files_and_commits,
    is_code,
    is_nothing,
    lines_of,
    read_checks,
    shows_no_run,
    template_weight,
)
from goop_mcp.protocols.goop_report.values import clean
from goop_mcp.structs import DataStruct
from goop_mcp.validation.escaping import without_forbidden
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.extraction import EARLIER, Block, Extraction
from goop_mcp.validation.families import ParseResult
from goop_mcp.validation.findings import Severity, excerpt
from goop_mcp.validation.limits import Limits
from goop_mcp.validation.positions import SourceText
from goop_mcp.validation.rules import Problem, Rule, run_checks
from goop_mcp.validation.verdict import Envelope
from goop_mcp.workflow.commands import KNOWN_COMMANDS

if TYPE_CHECKING:
    from goop_mcp.validation.claims import Claims

__all__ = ["GOOP_REPORT_SECTIONS", "SectionsFamily"]

_NAMES = ("STATUS", "SUMMARY", "ARTIFACTS", "VERIFICATION", "NEXT")
_STATUSES = ("complete", "partial", "blocked", "checkpoint")
_WORD = re.compile(r"[A-Za-z]+")
_CHOICE = re.compile(
    rf"\b(?:{'|'.join(_STATUSES)})\b[ \t*_`]*[|/][ \t*_`]*(?:{'|'.join(_STATUSES)})\b",
    re.IGNORECASE,
)
_FOR_NOTHING = {"ARTIFACTS": "- none", "VERIFICATION": "n/a", "NEXT": "none"}
_SKELETON = """\
## STATUS
complete | partial | blocked

## SUMMARY
[one to three sentences on what was done]

## ARTIFACTS
- [path/to/file.ts] \u2014 [what was done], or - none

## VERIFICATION
[command] \u2014 [result], one line for each check, or n/a

## NEXT
[what comes next, or what blocks you]"""
# Rules that look at what the sections cannot hold, or speak of elements, are left out.
_JUDGED = frozenset(
    {
        "goop_report/phase-mismatch",
        "goop_report/complete-with-blocker",
        "goop_report/complete-with-failed-check",
        "goop_report/summary-contradicts-status",
        "goop_report/text-contradicts-status",
        "goop_report/blocked-without-blocker",
        "goop_report/check-contradicts-itself",
        "goop_report/check-without-result",
        "goop_report/file-created-and-deleted",
        "goop_report/artifacts-missing",
        "goop_report/verification-missing",
    }
)
_RULES = tuple(rule for rule in MODEL_RULES if rule.id in _JUDGED)
# The fixes of these rules name elements, which agents of this profile never write.
_FIXES = {
    "goop_report/blocked-without-blocker": (
        "Say under ## NEXT what blocks you and what you need to go on."
    ),
    "goop_report/artifacts-missing": "List every file you changed under ## ARTIFACTS, one a line.",
    "goop_report/verification-missing": (
        "List every check you ran under ## VERIFICATION with its result, one a line."
    ),
    "goop_report/complete-with-failed-check": (
        "Fix the failure and run the check again, or report partial or blocked."
    ),
}
_CORRECT_LINE = "Correct the line in its section."


class _Section(DataStruct, frozen=True):
    """A section: its name, where its heading begins, and its content, by offsets in the text."""

    name: str
    heading: int
    start: int
    end: int


class SectionsFamily(GoopReportFamily):
    """The goop_report protocol of profile v1: sections, or an XML envelope without sections."""

    marks = ("goop_report", "## status", "## summary")
    no_envelope = replace(
        NO_ENVELOPE,
        fix=(
            "End the reply with the sections ## STATUS, ## SUMMARY, ## ARTIFACTS, ## VERIFICATION"
            " and ## NEXT."
        ),
    )

    def find(self, source: SourceText, limits: Limits) -> Extraction:
        """Return the reports in sections, the last one chosen, else the `<goop_report>` blocks."""
        groups = _groups(source.read)
        # Sections win only if STATUS and SUMMARY are both present: single headings of these names
        # are common in prose, and an XML envelope next to them is then the report.
        if not any(
            {"STATUS", "SUMMARY"} <= {section.name for section in group} for group in groups
        ):
            envelopes = super().find(source, limits)
            if envelopes.chosen is not None or not groups:
                return envelopes

        blocks = [
            Block(root=FORM, start=group[0].heading, end=group[-1].end, why=EARLIER)
            for group in groups[-limits.candidates :]
        ]
        chosen = replace(blocks[-1], why=None)

        return Extraction(source=source, blocks=(*blocks[:-1], chosen), chosen=chosen)

    def find_legacy(self, text: str, limits: Limits) -> Extraction | None:
        """Return the last older form in `text` other than the sections, which are the form here."""
        older = super().find_legacy(text, limits)
        return (
            None
            if older is None or (older.chosen is not None and older.chosen.root == FORM)
            else older
        )

    def read(
        self, extraction: Extraction, block: Block, expected: Expectations, limits: Limits
    ) -> ParseResult:
        """Read and judge `block`."""
        if block.root != FORM:
            return super().read(extraction, block, expected, limits)
        return _SectionReader(extraction.source.read, block, expected).parsed()

    def claims(self, envelope: Envelope) -> "Claims":
        """Return the claims of `envelope`: each artifact is a file that exists."""
        claims = super().claims(envelope)
        artifacts = envelope.artifacts if isinstance(envelope, Report) else None
        changes = {file.path: file for file in (artifacts.files if artifacts is not None else ())}

        files = []
        for claim in claims.files:
            if _is_url(claim.path):
                continue

            change = changes.get(claim.path)
            first = change.description.split(" ", 1)[0].lower() if change is not None else ""
            # "deleted" may be about the file or something in it: the line does not say, so that
            # nothing can be checked. Every other line claims that the file is there.
            kind = claim.kind
            if kind == "touched" and first not in ("deleted", "removed"):
                kind = "present" if claim.path.rstrip().endswith("/") else "created"
            files.append(replace(claim, kind=kind))

        return replace(claims, files=tuple(files))

    def describe_missing(self, text: str) -> str:
        """Return what is there in place of a report."""
        what = "the reply is empty" if not text.strip() else "no report was found"
        return (
            f"{what}; expected the sections {', '.join(f'## {name}' for name in _NAMES)} as the"
            " whole reply"
        )

    def envelope_template(self, expected: Expectations) -> str:
        """Return the five sections with text to be replaced; they name neither agent nor phase."""
        del expected
        return _SKELETON


def _is_url(path: str) -> bool:
    # "Bullet list of files or resources": a page on the net is not a file of the project.
    return path.strip().lower().startswith(("https://", "http://"))


def _groups(text: str) -> list[list[_Section]]:
    """Return the sections of each report in `text`: a second STATUS begins the next one."""
    headings = [
        each for each in section_headings(text) if each[1] == "##" and each[2].strip() in _NAMES
    ]
    ends = [*(each.start() for each in headings[1:]), len(text)]
    groups: list[list[_Section]] = []
    has_status = False

    for heading, end in zip(headings, ends, strict=False):
        name = heading[2].strip()
        # Agents repeat a report after a draft; sections before a first STATUS still belong to it.
        if not groups or (name == "STATUS" and has_status):
            groups.append([])
            has_status = False

        groups[-1].append(_Section(name, heading.start(), heading.end(), end))
        has_status = has_status or name == "STATUS"

    return groups


class _SectionReader:
    """Reads one report in sections, and reports errors in the terms of this form."""

    def __init__(self, text: str, block: Block, expected: Expectations) -> None:
        self._text, self._block, self._expected = text, block, expected
        group = next(each for each in _groups(text) if each[0].heading == block.start)
        self._sections: dict[str, _Section] = {}
        self._problems: list[Problem] = []
        self._positions: dict[str, int] = {}
        for section in group:
            self._record(f"/{section.name}", section.heading)
            # The first section of a name is read; a second one is reported below.
            self._sections.setdefault(section.name, section)

        for name, first in self._sections.items():
            again = next((each for each in group if each.name == name and each is not first), None)
            if again is not None:
                self._report(
                    DUPLICATE_ELEMENT, f"## {name} stands more than once; expected once", again
                )

    def parsed(self) -> ParseResult:
        for name in _NAMES:
            self._look_at(name)

        status = self._status()
        summary, following = self._content("SUMMARY"), self._content("NEXT")
        artifacts, checks = self._artifacts(), None
        verification = self._sections.get("VERIFICATION")
        if verification is not None:
            read = read_checks(lines_of(self._text, verification.start, verification.end))
            for number, (_, offset) in enumerate(read, 1):
                self._record(f"/goop_report/verification/check[{number}]", offset)

            checks = tuple([check for check, _ in read])

        next_text = "" if is_nothing(following) else following
        # The form has no field for agent, phase and command: they come from the caller and from the
        # text of NEXT, so that such a report can be routed like any other.
        agent, command = AGENT_IN_TEXT.search(next_text), COMMAND_IN_TEXT.search(next_text)
        report = Report(
            version=None,
            status=status,
            agent=expected_agent(self._expected),
            state=expected_state(self._expected),
            summary=summary or None,
            artifacts=artifacts,
            verification=checks,
            handoff=Handoff(
                next_action=(
                    NextAction(agent=agent[0] if agent else None, text=next_text)
                    if next_text
                    else None
                ),
                blockers=reason_to_block(status, next_text, summary),
                next_command=command[0] if command and command[0] in KNOWN_COMMANDS else None,
            ),
        )
        problems = [*self._problems]
        for problem in run_checks(_RULES, report, self._expected):
            # The model's paths lead to the lines of the sections, and its fixes must not ask for
            # tags, which this form does not have.
            fix = _FIXES.get(problem.rule.id)
            if fix is None and "<" in (problem.hit.fix or problem.rule.fix):
                fix = _CORRECT_LINE
            problems.append(
                problem if fix is None else Problem(problem.rule, replace(problem.hit, fix=fix))
            )

        return ParseResult(
            start=self._block.start,
            problems=[*problems, *self._unchecked_code(report)],
            locator=_SectionLocator(self._positions),
            envelope=report,
        )

    def _look_at(self, name: str) -> None:
        """Report a section that is absent, empty or template text."""
        section = self._sections.get(name)
        nothing = _FOR_NOTHING.get(name)
        otherwise = f", or {nothing} where there is nothing to report" if nothing else ""
        fix = f"Write it{otherwise}."
        if section is None:
            message = f"section ## {name} is missing; expected all of {', '.join(_NAMES)}"
            added = f"Add ## {name} with its text{otherwise}."
            self._problems.append(MISSING_FIELD.problem(message, path=f"/{name}", fix=added))

            return

        content = self._content(name)
        if not content:
            self._report(
                EMPTY_FIELD,
                f"section ## {name} is empty; expected {nothing or 'text'}",
                section,
                fix=fix,
            )

        # The status is one word, which has a test of its own.
        if not content or name == "STATUS":
            return

        lines = [
            line.text
            for line in lines_of(self._text, section.start, section.end)
            if not line.fenced
        ]
        weights = {line: template_weight(line, name) for line in (*lines, content)}
        for rule in (PLACEHOLDER_LEFT, SLOT_IN_TEXT):
            slot = next((line for line, weight in weights.items() if weight is rule.lenient), None)
            if slot is not None:
                message = (
                    f"template text left in ## {name}: {excerpt(slot, 60)!r}; expected your own"
                    " words"
                )
                self._report(rule, message, section, found=excerpt(slot))
                return

    def _status(self) -> Status | None:
        section = self._sections.get("STATUS")
        content = self._content("STATUS")
        if section is None or not content:
            return None
        if _CHOICE.search(content) or template_weight(content, "STATUS") is Severity.ERROR:
            message = (
                f"template text left in ## STATUS: {excerpt(content, 60)!r}; expected the one word"
                " that is true"
            )
            self._report(PLACEHOLDER_LEFT, message, section, found=excerpt(content))
            return None

        # The first word counts: people add a reason after it.
        word = _WORD.search(content)
        status = Status.__members__.get(word[0].upper()) if word else None
        if status is None:
            message = f"status is {excerpt(content, 60)!r}; expected one of {', '.join(_STATUSES)}"
            fix = (
                f"Begin ## STATUS with one of {', '.join(_STATUSES)}; work that failed is blocked."
            )
            self._report(UNKNOWN_STATUS, message, section, found=excerpt(content), fix=fix)

        return status

    def _artifacts(self) -> Artifacts | None:
        section = self._sections.get("ARTIFACTS")
        if section is None:
            return None

        files: list[FileChange] = []
        commits: list[Commit] = []

        for line in lines_of(self._text, section.start, section.end):
            # One line may name several files, and commits next to them.
            named, made = files_and_commits(without_forbidden(line.text))
            for number in range(len(files), len(files) + len(named)):
                self._record(f"/goop_report/artifacts/files/file[{number + 1}]", line.offset)

            for number in range(len(commits), len(commits) + len(made)):
                self._record(f"/goop_report/artifacts/commits/commit[{number + 1}]", line.offset)

            files += named
            commits += made

        return Artifacts(files=tuple(files), commits=tuple(commits))

    def _unchecked_code(self, report: Report) -> list[Problem]:
        """Report a complete report that changed code and ran nothing; documents need no check."""
        files = report.artifacts.files if report.artifacts is not None else ()
        changed = [
            file.path
            for file in files
            if file.path and is_code(file.path) and not _is_url(file.path)
        ]
        ran = any(not shows_no_run(check) for check in report.verification or ())
        if report.status is not Status.COMPLETE or ran or not changed:
            return []

        message = (
            f"status is complete, {excerpt(changed[0], 60)!r} was changed, and no check that ran is"
            " reported; expected one line for each check under ## VERIFICATION"
        )
        fix = "Run the checks and write command and result under ## VERIFICATION."

        return [COMPLETE_WITHOUT_CHECK.problem(message, path="/VERIFICATION", fix=fix)]

    def _content(self, name: str) -> str:
        section = self._sections.get(name)
        return (
            ""
            if section is None
            else clean(without_forbidden(self._text[section.start : section.end]))
        )

    def _report(
        self,
        rule: Rule,
        message: str,
        section: _Section,
        *,
        found: str | None = None,
        fix: str | None = None,
    ) -> None:
        offset = section.heading - self._block.start
        self._problems.append(
            rule.problem(message, path=f"/{section.name}", offset=offset, found=found, fix=fix)
        )

    def _record(self, path: str, offset: int) -> None:
        self._positions.setdefault(path, offset - self._block.start)


class _SectionLocator(DataStruct, frozen=True):
    """Where the paths of the model and of the sections lead, by offsets from the first section."""

    positions: Mapping[str, int]

    def locate(self, path: str, found: str | None) -> int | None:
        """Return the offset of `path`, or of the section that it belongs to."""
        del found
        # Attributes have no place of their own in this form.
        item = path.partition("/@")[0]
        if item in self.positions:
            return self.positions[item]
        return next(
            (
                self.positions[section]
                for part, section in _PARTS
                if part in path and section in self.positions
            ),
            None,
        )


_PARTS: Sequence[tuple[str, str]] = (
    ("/status", "/STATUS"),
    ("/summary", "/SUMMARY"),
    ("/artifacts", "/ARTIFACTS"),
    ("/verification", "/VERIFICATION"),
    ("/handoff", "/NEXT"),
)

GOOP_REPORT_SECTIONS = SectionsFamily()
