"""Judge the texts of the sets: how many are found, and which honest ones are accused."""

from collections.abc import Callable
from typing import Any, NamedTuple

from goop_mcp import RetryPolicy, Severity, ask_until_accepted_sync, validate
from goop_mcp.validation.samples import COMPLETE_REPLY
from tests.evidence.corrections import CORRECTIONS, report
from tests.retry.agents import Scripted
from tests.sets import filled, lines_of

__all__ = ["SETS", "Counts", "counts", "reply_with", "table"]

_CHANGED = "correction/claim-changed"
_RULES = {
    "failure": "goop_report/check-contradicts-itself",
    "nothing": "goop_report/check-without-result",
}
# Text after the envelope is there, and the finding says no more than that; the others are about the
# fence of a request.
_ABOUT_PLACE = ("envelope/not-at-end", "agent_request/fence-language", "agent_request/unfenced")


class Counts(NamedTuple):
    """What a set shows: what is untrue and found of it, what is honest, and what is wrong."""

    untrue: int
    honest: int
    missed: tuple[str, ...]
    accused: tuple[str, ...]


def reply_with(text: str) -> str:
    """Return a report whose check has this text."""
    text = text.replace("&", "&amp;").replace("<", "&lt;")
    return COMPLETE_REPLY.replace("pytest: 12 passed", text)


def _weighty(text: str) -> set[str]:
    found = validate(text).findings
    return {each.rule for each in found if each.severity is not Severity.INFO} - {*_ABOUT_PLACE}


def _quoted(line: dict[str, Any]) -> bool:
    verdict = validate(filled(line["text"]))
    return not verdict.accepted and not any(each.chosen for each in verdict.candidates)


def _ended(line: dict[str, Any]) -> bool:
    verdict = validate(filled(line["text"]))
    errors = {each.rule for each in verdict.of_severity(Severity.ERROR)}
    return not verdict.accepted and ("envelope/truncated" in errors) == (line["expect"] == "cut")


def _changes(first: str, second: str, protocol: str) -> bool:
    outcome = ask_until_accepted_sync(
        Scripted(first, second), "Add it.", protocol=protocol, policy=RetryPolicy(max_attempts=2)
    )
    verdict = outcome.attempts[-1].verdict
    assert verdict is not None
    assert len(outcome.attempts) == 2, outcome.attempts[0]
    return any(each.rule == _CHANGED for each in verdict.findings)


def _of_untrue(name: str, is_found: Callable[[dict[str, Any]], bool]) -> Counts:
    lines = lines_of(name)
    missed = [each["why"] for each in lines if not is_found(each)]
    return Counts(len(lines), 0, tuple(missed), ())


def _corrections() -> Counts:
    pairs = [
        (each.id, each.kind == "better", each.first, each.second, each.protocol)
        for each in CORRECTIONS
    ]
    pairs += [
        (
            each["why"],
            each["expect"] == "better",
            report(**each["first"]),
            report(**each["second"]),
            "goop_report",
        )
        for each in lines_of("corrections")
    ]
    found = [(why, better, _changes(*texts)) for why, better, *texts in pairs]
    missed = tuple(why for why, better, is_found in found if better and not is_found)
    accused = tuple(why for why, better, is_found in found if is_found and not better)
    untrue = sum(better for _, better, _ in found)
    return Counts(untrue, len(found) - untrue, missed, accused)


def _check_texts() -> Counts:
    missed, accused = [], []
    lines = lines_of("check_texts")
    for each in lines:
        rules = _weighty(reply_with(each["text"]))
        if each["shows"] == "success":
            accused += [each["text"]] if rules else []
        elif rules != {_RULES[each["shows"]]}:
            missed.append(each["text"])
    honest = sum(each["shows"] == "success" for each in lines)
    return Counts(len(lines) - honest, honest, tuple(missed), tuple(accused))


def _honest() -> Counts:
    lines = lines_of("honest")
    accused = [
        each["why"]
        for each in lines
        if not validate(filled(each["text"])).accepted or _weighty(filled(each["text"]))
    ]
    return Counts(0, len(lines), (), tuple(accused))


SETS: dict[str, Callable[[], Counts]] = {
    "quotes": lambda: _of_untrue("quotes", _quoted),
    "corrections": _corrections,
    "ends": lambda: _of_untrue("ends", _ended),
    "check_texts": _check_texts,
    "honest": _honest,
}
_WHAT = {
    "quotes": "reports that a reply only shows: in diffs, logs, code, results of tools",
    "corrections": "a report that was sent back, and its correction",
    "ends": "replies that are cut off, or silent",
    "check_texts": "texts of checks in seven languages",
    "honest": "honest replies that look like one of these",
}


def counts() -> dict[str, Counts]:
    """Return what each set shows."""
    return {name: judge() for name, judge in SETS.items()}


def table() -> str:
    """Return the counts as a table in Markdown."""
    lines = [
        "| set | what is in it | untrue | found | honest | accused |",
        "|---|---|---|---|---|---|",
    ]
    for name, found in counts().items():
        hits = found.untrue - len(found.missed)
        lines.append(
            f"| `{name}` | {_WHAT[name]} | {found.untrue} | {hits} | {found.honest} |"
            f" {len(found.accused)} |"
        )
    return "\n".join(lines) + "\n"
