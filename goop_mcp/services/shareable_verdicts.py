"""Verdicts and decisions as other programs, logs and people on other screens may see them.

What is printed about a reply is kept by CI, hosts and terminals. `validate` and `route` themselves
return what the reply says; each surface passes it through here once, where it makes its output.
"""

from collections.abc import Collection, Sequence
from dataclasses import fields, replace
from typing import Final

from msgspec.structs import replace as replace_fields

from goop_mcp.redaction import find_secrets, hide_secrets, shareable, with_marks
from goop_mcp.routing import Decision
from goop_mcp.services.check_files import CheckedFile, FileVerdicts, marked_length
from goop_mcp.validation.findings import Finding, Repair, Severity
from goop_mcp.validation.verdict import Verdict

__all__ = [
    "shareable_decision",
    "shareable_file",
    "shareable_files",
    "shareable_verdict",
    "shown_line",
]

# How many files are searched for secrets together.
_AT_ONCE: Final = 50


def shareable_files(
    outcome: FileVerdicts,
    *,
    whole: bool,
    lines: bool,
    shown: Collection[Severity] = frozenset(Severity),
) -> FileVerdicts:
    """Return `outcome` without the secrets of the files; lines and columns stay those of the files.

    Without `whole` only what is printed next to findings is of use in a verdict: no envelope, no
    repaired text and no feedback; and only findings of the severities `shown`. `lines`: the lines
    of the files are printed as well.
    """
    checked: list[CheckedFile] = []
    for at in range(0, len(outcome.checked), _AT_ONCE):
        part = outcome.checked[at : at + _AT_ONCE]
        # Nearly all files hold no secret: several take one search, in which each message counts
        # once.
        looked = [_looked_through(each, whole=whole, lines=lines, shown=shown) for each in part]
        if find_secrets(looked) is None:
            checked += part
        else:
            checked += [_without_secrets(each, whole=whole, lines=lines) for each in part]

    return replace(outcome, checked=tuple(checked), unread=shareable(outcome.unread))


def shareable_file(checked: CheckedFile) -> CheckedFile:
    """Return the verdict on one file, of which lines are printed, as `shareable_files` does."""
    return _without_secrets(checked, whole=False, lines=True)


def shareable_verdict(
    verdict: Verdict, text: str, *, of_envelope: Collection[str] | None = None
) -> Verdict:
    """Return the verdict on `text` without secrets, in any part of it.

    `of_envelope` names the only values of the envelope that are shown where neither the rest of it
    nor the repaired text is; then only what is shown is sure to be without them.
    """
    if of_envelope is None:
        known = find_secrets(text, _parts(verdict))
    else:
        main = [getattr(verdict.envelope, name, None) for name in of_envelope]
        known = find_secrets(_shown_of(verdict, text, verdict.findings, verdict.repairs), main)
    return verdict if known is None else hide_secrets(_without_text(verdict), known)


def shareable_decision(decision: Decision, text: str) -> Decision:
    """Return the decision on `text` without secrets, in any part of it and of its verdict."""
    rest = [getattr(decision, each.name) for each in fields(decision) if each.name != "verdict"]
    known = find_secrets(text, rest, _parts(decision.verdict))
    if known is None:
        return decision
    return hide_secrets(replace(decision, verdict=_without_text(decision.verdict)), known)


def _parts(verdict: Verdict) -> tuple[object, ...]:
    """Return what can show a secret; what is composed of it needs no search of its own."""
    return (
        verdict.findings,
        verdict.repairs,
        verdict.candidates,
        verdict.evidence,
        verdict.version,
        verdict.envelope,
    )


def _without_text(verdict: Verdict) -> Verdict:
    return replace_fields(verdict, read_text="", span=None)


def _looked_through(
    checked: CheckedFile,
    *,
    whole: bool,
    lines: bool,
    shown: Collection[Severity] = frozenset(Severity),
) -> tuple[object, ...]:
    """Return what can show a secret in what is printed about a file."""
    verdict = checked.verdict
    if whole:
        return (checked.text, *_parts(verdict))

    findings = [each for each in verdict.findings if each.severity in shown]
    repairs = verdict.repairs if lines else ()
    text = checked.text if lines and findings else None
    return (text, *_shown_of(verdict, checked.text, findings, repairs))


def _shown_of(
    verdict: Verdict, text: str, findings: Sequence[Finding], repairs: Sequence[Repair]
) -> tuple[object, ...]:
    """Return what can show a secret where neither the envelope nor the repaired text is shown."""
    # A value that a finding quotes may be a secret only where it stands.
    quotes = bool(repairs) or any(each.found for each in findings)
    given = text if quotes else None
    return (given, findings, repairs, verdict.candidates, verdict.evidence, verdict.version)


def _without_secrets(checked: CheckedFile, *, whole: bool, lines: bool) -> CheckedFile:
    known = find_secrets(_looked_through(checked, whole=whole, lines=lines))
    if known is None:
        return checked

    verdict = _without_text(checked.verdict)
    if not whole:
        verdict = replace_fields(verdict, envelope=None, repaired_text=None, feedback=None)
    rows = checked.text.split("\n")
    return replace(
        checked,
        verdict=hide_secrets(verdict, known),
        hidden=known.parts(checked.text) if lines else (),
        marked=tuple(_marked(rows, each) for each in verdict.findings),
    )


def shown_line(checked: CheckedFile, line: str, start: int, column: int) -> tuple[str, int]:
    """Return a line of a shareable file as it is shown, and where `column` of the file is in it.

    `start` is where the line begins in the text of the file.
    """
    place, moved = start + column - 1, 0
    parts = []
    for part in checked.hidden:
        if part.start < start + len(line) and part.end > start:
            # A secret may begin or end on another line.
            inside = part._replace(
                start=max(part.start - start, 0), end=min(part.end - start, len(line))
            )
            parts.append(inside)
            if part.end <= place:
                moved += len(part.mark) - (inside.end - inside.start)
            elif part.start < place:
                moved -= place - start - inside.start

    return with_marks(line, parts), column + moved


def _marked(lines: list[str], finding: Finding) -> int:
    if finding.line is None or finding.column is None:
        return 1
    return marked_length(lines[finding.line - 1], finding.column, finding.found)
