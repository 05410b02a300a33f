"""A correction compared with what it corrects (D-108): it may change the form, and admit more.

Between two attempts of one task, status, blockers, failed checks and counts may get worse. They may
get better where something ran or changed in between, or where the evidence shows the new value.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from goop_mcp import redaction
from goop_mcp.evidence.rules import CLAIM_CHANGED, UNFOUNDED_CHANGE
from goop_mcp.structs import DataStruct
from goop_mcp.validation.check_texts import parse_result, summary_failure
from goop_mcp.validation.claims import NO_CLAIMS, Claims
from goop_mcp.validation.findings import Severity, excerpt
from goop_mcp.validation.rules import Problem
from goop_mcp.validation.verdict import EvidenceItem, Verdict

if TYPE_CHECKING:
    from goop_mcp.evidence.history import TaskHistory

__all__ = ["Correction", "Stated", "StatedCheck", "has_changed_claims", "prose_around"]

_SHOWN: Final = 60
_MOST_CHECKS, _MOST_BLOCKERS = 50, 10
_TEXT_CHARACTERS: Final = 4000
_SUMMARY: Final = "the summary"
_HALF: Final = 0.5
_FENCES: Final = ("```", "~~~")
_SHORTEST_WORD: Final = 3
# A status that is in no list and says all the same that the work is not done.
_FAILURE_WORDS: Final = frozenset(
    {
        *("failed", "fail", "failure", "failing", "error", "errored", "aborted", "unsuccessful"),
        *("incomplete", "not complete", "not done", "not finished", "unfinished", "partial"),
        *("partially done", "partially complete", "partial success", "blocked", "in progress"),
    }
)


class StatedCheck(DataStruct, frozen=True, kw_only=True):
    """The checks of one name: whether one failed, and what they count together.

    A count is None where no text has it. `named` is whether the feedback was about them, and their
    texts show no failure.
    """

    name: str
    failed: bool = False
    failures: int | None = None
    passed: int | None = None
    named: bool = False


class Stated(DataStruct, frozen=True, kw_only=True):
    """What a reply says of its work, with texts that are short and hold no known secret.

    `done` is None where the status says nothing. `work` is how many commands, changes and calls of
    the agent were known then, `files` the state of the project's files; None and "" if unknown.
    """

    status: str = ""
    done: bool | None = None
    blockers: tuple[str, ...] = ()
    checks: tuple[StatedCheck, ...] = ()
    work: int | None = None
    files: str = ""


class _Change(NamedTuple):
    """One claim that got better: what is stated about it, and its place where it has one."""

    message: str
    path: str | None = None


class Correction:
    """One attempt of a task: `base` is the first readable one before it, None if it is the first.

    `follows`: the evidence is read again for each attempt, so that it shows what ran in between.
    """

    def __init__(self, base: Stated | None = None, *, follows: bool = True) -> None:
        self.base, self._follows = base, follows
        self._files: Callable[[], str] = str
        self._claims: Claims = NO_CLAIMS
        self._work: int | None = None

    def look_at(self, files: Callable[[], str]) -> None:
        """Ask `files` for the present state of the project's files, "" if unknown, where needed."""
        self._files = files

    def compare(
        self,
        claims: Claims,
        history: "TaskHistory | None" = None,
        items: Sequence[EvidenceItem] = (),
        *,
        require: str = "claimed",
    ) -> list[Problem]:
        """Return what `claims` say better than the base; `items` are what they rest on."""
        self._claims = claims
        self._work = history.work() if history is not None and self._follows else None
        base = self.base
        if base is None:
            return []

        shown = {item.path for item in items if item.tier != "claimed"}
        changes = list(_changes(base, claims, shown))
        if not changes or self._has_worked(base):
            return []

        known = base.work is not None and self._work is not None
        rule = UNFOUNDED_CHANGE if known or require in ("observed", "recorded") else CLAIM_CHANGED
        seen = "nothing ran and no file changed" if known else "no run and no change was seen"
        return [
            rule.problem(
                f"{each.message}; {seen} in between; expected what the first reply reported",
                path=each.path,
                offset=None if each.path else 0,
            )
            for each in changes
        ]

    def stated(self, verdict: Verdict) -> Stated | None:
        """Return what the attempt claims, None where no complete envelope could be read."""
        if verdict.envelope is None or verdict.envelope.partial:
            return None

        errors = verdict.of_severity(Severity.ERROR)
        status = self._claims.status
        word, done = ("", None) if status is None else (status.word, status.done)
        for each in errors if status is None else ():
            found = " ".join((each.found or "").replace("_", " ").lower().split())
            if each.rule.endswith("/unknown-status") and found in _FAILURE_WORDS:
                word, done = each.found or "", False

        # Template text is no blocker.
        slots = any(
            "blockers" in (each.path or "") and "/placeholder" in each.rule for each in errors
        )
        blockers = () if slots else self._claims.blockers[:_MOST_BLOCKERS]
        return Stated(
            status=_short(word),
            done=done,
            blockers=tuple(map(_short, blockers)),
            checks=_checks(self._claims, {each.path or "" for each in errors}),
            work=self._work,
            files=self._files(),
        )

    def _has_worked(self, base: Stated) -> bool:
        """Return whether something is known to have run, or to have changed, since the base."""
        if base.work is not None and self._work is not None and self._work != base.work:
            return True
        now = self._files() if base.files else ""
        return bool(now) and now != base.files


def has_changed_claims(verdict: Verdict | None) -> bool:
    """Return whether the verdict says that claims got better without work."""
    findings = verdict.findings if verdict is not None else ()
    return any(each.rule == CLAIM_CHANGED.id for each in findings)


def prose_around(verdict: Verdict) -> str:
    """Return the text of a reply around its envelope, without the fence: all of it without one."""
    text, span = verdict.read_text, verdict.span
    if span is None:
        return text.strip()
    before, after = text[: span[0]].rstrip(), text[span[1] :].lstrip()
    head, _, opening = before.rpartition("\n")
    if opening.lstrip().startswith(_FENCES):
        before = head.rstrip()
    if after.startswith(_FENCES):
        after = after.partition("\n")[2].lstrip()
    return "\n\n".join(filter(None, (before.strip(), after.strip())))


def _changes(base: Stated, claims: Claims, shown: set[str]) -> Iterator[_Change]:
    """Yield what `claims` say better than `base` and the evidence does not show."""
    claimed = {_name(each.name) for each in claims.checks if each.where not in shown}
    observed = {_name(each.name) for each in claims.checks} - claimed
    all_observed = bool(observed) and not claimed
    failed = [each for each in base.checks if each.failed]
    status = claims.status
    # What kept it from being done may be a failure that the evidence refutes.
    if base.done is False and status is not None and status.done and not (failed and all_observed):
        word = excerpt(status.word, _SHOWN)
        message = f"the status was {base.status} in the first reply and is {word} now"
        yield _Change(message, status.where)

    yield from _gone_blockers(base, claims)

    checks = _checks(claims)
    now = {each.name: each for each in checks}
    still = sum(each.failed for each in checks)
    places = {_name(each.name): each.where for each in reversed(claims.checks)}
    texts = {_name(name) for name, _ in claims.texts} | {_SUMMARY}
    for each in base.checks:
        is_text = each.name not in places and each.name in texts
        if each.name in observed or (is_text and all_observed):
            continue
        message = _better(each, now.get(each.name), is_text=is_text, renamed=still >= len(failed))
        # What a text no longer counts may stand in a check that still fails.
        if message and not (is_text and still and each.failed):
            yield _Change(f"{each.name!r} {message}", places.get(each.name))


def _better(before: StatedCheck, now: StatedCheck | None, *, is_text: bool, renamed: bool) -> str:
    """Return what is better `now` than `before`, "" for nothing.

    `renamed`: as many checks fail as before, so that one that is missing has another name.
    """
    if before.failed and (now is None or not now.failed):
        if now is None and renamed:
            return ""
        if is_text:
            return "counted failures in the first reply and counts none now"
        if now is None:
            return "failed in the first reply and is not reported now"
        return "" if before.named else "failed in the first reply and passes now"
    if now is None:
        return ""
    if now.failures is not None and (before.failures or 0) > now.failures:
        return "counts fewer failures than in the first reply"
    if before.passed is not None and (now.passed or 0) > before.passed:
        return "counts more that passed than in the first reply"
    return ""


def _gone_blockers(base: Stated, claims: Claims) -> Iterator[_Change]:
    """Yield the blockers that are not mentioned any more; other words for them are free."""
    if len(claims.blockers) >= len(base.blockers):
        return

    left = set(_words("\n".join(claims.blockers)))
    for each in base.blockers:
        words = set(_words(each))
        if not left or len(words & left) < _HALF * len(words):
            yield _Change(f"the blocker {each!r} of the first reply is gone")


def _checks(claims: Claims, errors: Iterable[str] = ()) -> tuple[StatedCheck, ...]:
    """Return the checks by name, those of one name as one; `errors` are paths of the feedback."""
    found: dict[str, StatedCheck] = {}
    reported = [(each.name, each.text, each.passed, each.where) for each in claims.checks]
    texts = [(name, text, None, "") for name, text in claims.texts if text]
    for name, text, passed, where in [*reported, *texts]:
        key = _name(name)
        if key not in found and len(found) >= _MOST_CHECKS:
            continue
        before = found.get(key, StatedCheck(name=key))
        result = parse_result(text[-_TEXT_CHARACTERS:])
        # A summary also describes what the work is about.
        failure = summary_failure(text) if key == _SUMMARY else result.failure
        numbers = () if key == _SUMMARY and failure is None else (result.failed, result.errors)
        counted = [each for each in numbers if each is not None]
        nothing = result.nothing_ran and any(map(str.isalnum, text))
        found[key] = StatedCheck(
            name=key,
            failed=before.failed or passed is False or failure is not None,
            failures=_sum(before.failures, sum(counted) if counted else None),
            passed=_sum(before.passed, 0 if nothing else result.passed),
            named=before.named
            or (bool(where) and failure is None and any(_is_in(path, where) for path in errors)),
        )

    return tuple(found.values())


def _is_in(path: str, where: str) -> bool:
    return path == where or path.startswith(f"{where}/")


def _sum(before: int | None, more: int | None) -> int | None:
    return before if more is None else (before or 0) + more


def _name(name: str) -> str:
    return _short(" ".join(name.split()).casefold() or "a check without a name")


def _words(text: str) -> Iterator[str]:
    for word in text.casefold().split():
        bare = "".join(filter(str.isalnum, word))
        if len(bare) >= _SHORTEST_WORD or not bare.isascii():
            yield bare


def _short(text: str) -> str:
    return excerpt(redaction.redact(text[: 4 * _SHOWN]).text, _SHOWN)
