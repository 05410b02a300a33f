"""validate(): find the envelope, read it, judge it, report what to fix.

This module shows the steps of the whole package.
"""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from goop_mcp.errors import UnknownNameError
from goop_mcp.validation.claims import NO_CLAIMS, Claims
from goop_mcp.validation.envelope_rules import NO_ENVELOPE, NOT_AT_END, TOO_LARGE
from goop_mcp.validation.expectations import NOTHING_EXPECTED, Expectations
from goop_mcp.validation.extraction import Extraction
from goop_mcp.validation.families import Family, ParseResult
from goop_mcp.validation.findings import Mode
from goop_mcp.validation.hosts import after_envelope
from goop_mcp.validation.limits import DEFAULT_LIMITS, Limits, utf8_length
from goop_mcp.validation.positions import SourceText
from goop_mcp.validation.rules import Problem, Rule
from goop_mcp.validation.selection import Selection, select
from goop_mcp.validation.verdict import EvidenceItem, Verdict
from goop_mcp.validation.verdict_builder import build_verdict

__all__ = ["Examination", "examine", "validate"]


_FIELDS_ALONE = (
    "JSON fields alone are not an envelope: write it from them with the tool build_report, or with"
    " `goop-mcp reports build --protocol NAME --json FILE`."
)


class Examination(Struct, kw_only=True):
    """A reply that was read and judged, without a verdict: evidence may add problems."""

    selection: Selection
    parsed: ParseResult
    mode: Mode
    expected: Expectations
    limits: Limits

    def claims(self) -> Claims:
        """Return the claims of the envelope, none if there is no complete envelope."""
        envelope = self.parsed.envelope
        return NO_CLAIMS if envelope is None else self.selection.family.claims(envelope)

    def verdict(
        self, more: Sequence[Problem] = (), evidence: tuple[EvidenceItem, ...] = ()
    ) -> Verdict:
        """Build the verdict; problems in `more` name their place by path, as in the family."""
        parsed = self.parsed if not more else _with_more(self.parsed, more, self.selection)
        verdict = build_verdict(
            self.selection, parsed, mode=self.mode, expected=self.expected, limits=self.limits
        )
        return replace(verdict, evidence=evidence) if evidence else verdict


def validate(
    text: str,
    families: Sequence[Family],
    *,
    protocol: str = "auto",
    mode: Mode = "lenient",
    expected: Expectations | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Verdict:
    """Judge the envelope in `text`: all findings at once, each with its place in `text`.

    Pure and total: any `str` gives a verdict, in time linear to its length, and any other exception
    is a bug of this package. Raise UnknownNameError for a protocol or mode that does not exist and
    TypeError if `text` is not a `str`, which are mistakes of the caller.
    """
    return examine(
        text, families, protocol=protocol, mode=mode, expected=expected, limits=limits
    ).verdict()


def examine(
    text: str,
    families: Sequence[Family],
    *,
    protocol: str = "auto",
    mode: Mode = "lenient",
    expected: Expectations | None = None,
    limits: Limits = DEFAULT_LIMITS,
    rules: Sequence[Rule] = (),
) -> Examination:
    """Read and judge the envelope in `text` as `validate` does, without building the verdict.

    `rules` are custom rules, which judge the envelope in addition to those of its family. Raise
    RuleFailedError if one of them fails.
    """
    if not isinstance(text, str):
        raise TypeError(f"text is {type(text).__name__}; expected str, decode it first")
    if protocol != "auto" and protocol not in (names := [family.name for family in families]):
        raise UnknownNameError("protocol", str(protocol), ["auto", *names])
    if expected is not None and not isinstance(expected, Expectations):
        raise TypeError(f"expected is {type(expected).__name__}; expected Expectations or None")
    if mode not in ("lenient", "strict"):
        raise UnknownNameError("mode", str(mode), ["lenient", "strict"])

    expected = NOTHING_EXPECTED if expected is None else expected
    asked = (
        families
        if protocol == "auto"
        else [family for family in families if family.name == protocol]
    )
    # Measured before anything else looks at the text: each later step is linear, and linear in a
    # gigabyte is too long.
    if (size := utf8_length(text, limits.text_bytes)) > limits.text_bytes:
        message = f"the text has {size:,} bytes; expected at most {limits.text_bytes:,}"
        selection = Selection(asked[0], Extraction(source=SourceText(text), blocks=(), chosen=None))
        parsed = ParseResult(0, [TOO_LARGE.problem(message)])
    else:
        selection = select(text, asked, limits)
        parsed = _read(selection, expected, limits, named=protocol != "auto")
        if rules and parsed.envelope is not None:
            # Callers without custom rules need not import their module.
            from goop_mcp.validation.custom_rules import run_custom_rules  # noqa: PLC0415

            if seen := run_custom_rules(rules, parsed.envelope, expected):
                parsed = _with_more(parsed, seen, selection)

    return Examination(
        selection=selection, parsed=parsed, mode=mode, expected=expected, limits=limits
    )


def _read(
    selection: Selection, expected: Expectations, limits: Limits, *, named: bool
) -> ParseResult:
    """Return what the chosen family reads, or why there is no envelope to read.

    A reply without the root tag ends here: `named` (the caller gave the protocol) selects the
    `no-envelope` rule of that family, otherwise the general one is reported.
    """
    family, extraction = selection.family, selection.extraction
    if selection.ambiguous is not None:
        return ParseResult(0, [selection.ambiguous])
    if extraction.chosen is None:
        # A caller who named the protocol receives its rule, whose page says what that protocol
        # expects.
        rule = family.no_envelope if named else NO_ENVELOPE
        aside = next((block.why for block in reversed(extraction.blocks) if block.why), None)
        if aside:
            message = f"the only envelope stands {aside}; expected one outside of it"
        else:
            describe_missing = family.describe_missing(extraction.source.read)
            message = (
                describe_missing
                if named
                else f"{describe_missing} or an envelope of another protocol"
            )

        # Fields alone are what a caller of the builder has; their form can be written from them.
        text = extraction.source.read.strip()
        fix = _FIELDS_ALONE if text.startswith("{") and text.endswith("}") else None
        return ParseResult(0, [rule.problem(message, fix=fix)])

    parsed = family.read(extraction, extraction.chosen, expected, limits)
    text, chosen = extraction.source.read, extraction.chosen
    after = after_envelope(text, chosen.end) if chosen.complete else None
    if after is None:
        return parsed

    # Most replies end with their envelope.
    from goop_mcp.validation.retractions import retraction  # noqa: PLC0415

    taken_back = retraction(text, chosen, after)
    if taken_back is None:
        return parsed
    # It says more about the same text.
    others = [each for each in parsed.problems if each.rule is not NOT_AT_END]
    return replace(parsed, problems=[*others, taken_back])


def _with_more(parsed: ParseResult, more: Sequence[Problem], selection: Selection) -> ParseResult:
    """Return `parsed` with problems that were found outside of its family."""
    problems = [*parsed.problems]
    for problem in more:
        hit = problem.hit
        # A form of the envelope without paths has no positions; the text found is searched instead.
        if parsed.locator is None and hit.offset is None and hit.found:
            at = selection.extraction.source.read.find(hit.found, parsed.start)
            if at >= 0:
                problems.append(Problem(problem.rule, replace(hit, offset=at - parsed.start)))
                continue

        problems.append(problem)

    return replace(parsed, problems=problems)
