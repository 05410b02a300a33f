"""Compare the checks that an envelope reports with the runs that were observed."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from goop_mcp.evidence.attribution import Run, words_in
from goop_mcp.evidence.check_kinds import RUNNER_WORDS, is_by_hand, kinds_of
from goop_mcp.evidence.claimed_runs import NOT_CLAIMED, ClaimedRun, claimed_run
from goop_mcp.evidence.history import TaskHistory, without_secrets
from goop_mcp.evidence.later_changes import Change, change_after
from goop_mcp.evidence.proofs import NOT_SHOWN, OTHERS_PRINT, REDEFINED, TEMPORARY
from goop_mcp.evidence.rules import (
    CHECK_FAILED,
    CHECK_HIDES_FAILURE,
    CHECK_NOT_RUN,
    CHECK_REQUIRED,
    CHECK_STALE,
    COUNTS_DIFFER,
    EXPLAINED_FAILURE,
    NOTHING_EXECUTED,
    POSSIBLY_STALE,
    STALE_REQUIRED,
    VACUOUS_COMMAND,
)
from goop_mcp.evidence.runners import KIND_WORDS, SCOPES, word_set
from goop_mcp.validation.check_texts import parse_result
from goop_mcp.validation.claims import CheckClaim, Claims
from goop_mcp.validation.findings import excerpt
from goop_mcp.validation.rules import Problem, Rule
from goop_mcp.validation.tiers import TIERS, EvidenceItem, Requirement, Tier, claimed

__all__ = ["JudgedCheck", "how_to_name", "how_to_record", "judge_checks", "other_counts"]

_GENERIC: Final = word_set(
    "a all and are automated backend case cases check checked checks clean code "
    "command exit frontend full green is my new npm no of ok on our pass passed "
    "passes passing project python result results run runs status step suite suites "
    "the tool tools type whole with"
)
_EXPLAINED: Final = word_set(
    "baseline flaky pre-existing preexisting unrelated known expected-failure "
    "quarantined environment network"
)
_TEXT_CHARACTERS = 4000
_SHOWN = 40
_SHORT_ARGUMENT = 3
_MOST_SUMMED = 12
_MOST_CHECKS = 100
_TOO_MANY = f"only the first {_MOST_CHECKS} checks are compared"
_DECIDED = frozenset({"passed", "failed", "nothing"})


class JudgedCheck(NamedTuple):
    """What is known about one reported check."""

    item: EvidenceItem
    problems: tuple[Problem, ...] = ()


def judge_checks(
    claims: Claims, history: TaskHistory, *, require: Requirement, root: str | None = None
) -> list[JudgedCheck]:
    """Return for each check of `claims` its tier and what contradicts it.

    `root` is the folder of the project, None if unknown.
    """
    required = require if claims.complete else "claimed"
    return [
        _Judge(check, claims, history, required, root, compared=number < _MOST_CHECKS).judge()
        for number, check in enumerate(claims.checks)
    ]


def other_counts(check: CheckClaim, *, passed: int, skipped: int) -> int | None:
    """Return how many tests `check` says passed, if that is not `passed`, or some skipped as well.

    A test of which only a part was skipped passes in the summary of pytest, and is skipped in its
    result file.
    """
    text = check.text[:_TEXT_CHARACTERS]
    claimed = _claimed_passes(text)
    if claimed is None or passed <= claimed <= passed + skipped:
        return None

    # A lower number may be a part of the tests, unless it is written as runners write it.
    return None if claimed < passed and f"{claimed} passed" not in text else claimed


def _claimed_passes(text: str) -> int | None:
    result = parse_result(text)
    return result.total if result.passed is None and result.all_passed else result.passed


def how_to_record(check: CheckClaim) -> str:
    """Return the fix for a check without a recorded run."""
    name = check.name if check.name.isidentifier() else "NAME"
    return f"Run the check with `goop-mcp run --name {name} -- COMMAND` and report that run."


def how_to_name(check: CheckClaim) -> str:
    """Return the fix for a command that proves nothing, as nobody knows what it runs."""
    name = check.name if check.name.isidentifier() else "NAME"
    return (
        f"Run the runner itself, or name the command in .goopspec/checks.toml ([checks.{name}],"
        " command = [...]) for a person to trust with `goop-mcp run --trust`."
    )


class _Judge:
    """Judges one check."""

    def __init__(
        self,
        check: CheckClaim,
        claims: Claims,
        history: TaskHistory,
        required: Requirement,
        root: str | None,
        *,
        compared: bool,
    ) -> None:
        self._check, self._claims, self._history = check, claims, history
        self._root = root.rstrip("/") + "/" if root else None
        self._known = history.activity.complete and compared
        self._known_to_report = history.activity.to_report and compared
        # A run that there was would be known.
        self._is_readable = required == "readable" and self._known and history.everything
        self._required: Tier = "claimed" if required == "readable" else required
        self._why = history.activity.why_incomplete if compared else _TOO_MANY
        self._words = frozenset(words_in(f"{check.name} {check.text[:_TEXT_CHARACTERS]}"))

    def judge(self) -> JudgedCheck:
        kinds = kinds_of(self._check)
        if not self._known and self._known_to_report and len(kinds) == 1:
            judged_end = self._of_end(kinds[0])
            if judged_end is not None:
                return judged_end

        if not self._known or not kinds:
            detail = "" if self._known else self._why
            if self._known and not kinds:
                detail = "no command belongs to a check of this name"

            if not self._needs_more("claimed") or (is_by_hand(self._check) and self._known):
                return JudgedCheck(self._item("claimed", detail=detail))

            because = "" if self._required == "recorded" else f"; {detail}"
            message = (
                f"{self._name} is reported as passed{because}; expected a run that was"
                f" {self._required}"
            )
            # Where nothing could be seen, another run or text of the agent changes nothing; and no
            # transcript is as good as a recorded run.
            fix = (
                how_to_record(self._check)
                if self._required == "recorded"
                else "Run it with one command, and name that command in the text of the check."
                if self._known
                else "Give the transcript of the agent, whole, or ask for claims only."
            )
            return JudgedCheck(
                self._item("claimed", detail=detail), (self._problem(CHECK_REQUIRED, message, fix),)
            )

        judged = [self._of_kind(kind) for kind in kinds]
        # The weakest of several kinds counts, as the check claims all of them.
        weakest = min(judged, key=lambda each: TIERS.index(each.item.tier))

        return weakest._replace(
            problems=tuple(problem for each in judged for problem in each.problems)
        )

    def _of_kind(self, kind: str) -> JudgedCheck:
        runs = self._matching(self._history.of_kind(kind, current=True))
        real = [run for run in runs if not run.vacuous]
        # From the end, because each outcome is read from the output of its run.
        last = next((run for run in reversed(real) if self._decides(run)), None)
        if last is None and real and real[-1].outcome == "cut short":
            last = real[-1]
        if last is None:
            # What ran in an earlier task of the same agent may explain a claim, never refute it.
            earlier = None if real else self._proof_of_earlier_task(kind)
            if earlier is not None:
                return self._passed(earlier, kind)
            return self._nothing_decided(kind, runs, real)

        if last.outcome == "passed":
            return self._passed(last, kind)

        return self._failed(last, kind, real)

    def _proof_of_earlier_task(self, kind: str) -> Run | None:
        """Return the last run that decides of earlier tasks if it still held at their end."""
        runs = self._matching(self._history.of_kind(kind, current=False))
        last = next((run for run in reversed(runs) if not run.vacuous and self._decides(run)), None)
        if last is None or last.outcome != "passed":
            return None
        changed = change_after(last, self._history, current=False)
        return None if changed is not None and changed.certain else last

    def _of_end(self, kind: str) -> JudgedCheck | None:
        """Return what the last run shows where the beginning is not known, None for nothing.

        Only what comes after a run counts against the report, and only of a run that is certainly
        the one that the check is about: others may have come before.
        """
        runs = self._matching(self._history.of_kind(kind, current=True))
        real = [run for run in runs if not run.vacuous]
        last = next((run for run in reversed(real) if self._decides(run)), None)
        if last is None:
            return None
        if last.outcome == "passed":
            judged = self._passed(last, kind)
            kept = [each for each in judged.problems if each.rule.id != COUNTS_DIFFER.id]
            about = self._is_about(last)
            return judged._replace(
                problems=tuple(each for each in kept if about or each.rule.id != CHECK_STALE.id)
            )
        if self._check.passed and not (
            self._is_about(last) and not self._history.may_have_moved(last)
        ):
            return None
        return self._failed(last, kind, real)

    def _is_about(self, run: Run) -> bool:
        """Return whether nothing in the check speaks of another run than this one."""
        text = f"{self._check.name} {self._check.text[:_TEXT_CHARACTERS]}"
        names_path = any("/" in word for word in text.split())
        return (
            frozenset(words_in(self._check.name)) & SCOPES <= self._history.words_of(run)
            and (not RUNNER_WORDS & self._words or self._has_program(run))
            and (not names_path or self._has_path(run))
            and self._own_words() <= self._history.words_of(run)
        )

    def _failed(self, last: Run, kind: str, real: Sequence[Run]) -> JudgedCheck:
        """Return what the last run that decides shows, which did not pass."""
        ended = _end_of(last)
        what = f"{last.program} {ended}"
        if not self._check.passed:
            return JudgedCheck(self._item("observed", last, what))

        doubt = self._history.doubt(last, kind, _last_passed(real))
        if doubt is not None:
            how = ended.partition(":")[0]
            return self._not_proven(f"the last run of {last.program} {how}, but {doubt}", last)

        # Another check of this kind may be reported as failed: then nothing is hidden.
        if any(
            not each.passed and kind in kinds_of(each)
            for each in self._claims.checks[:_MOST_CHECKS]
            if each is not self._check
        ):
            return JudgedCheck(self._item("claimed", last, f"{what}; another check reports it"))

        in_task = f"{self._name} is reported as passed; the last run of {last.program} in this task"
        if last.outcome == "nothing":
            message = f"{in_task} executed no test"
            item = self._item("claimed", last, f"{last.program} executed no test")
            fix = f"Run {last.program} on tests that exist, or report that there are none."
            return JudgedCheck(item, (self._problem(NOTHING_EXECUTED, message, fix),))

        rule = EXPLAINED_FAILURE if _EXPLAINED & self._words else CHECK_FAILED
        fix = "Fix them and run it again, or report PARTIAL."
        if last.outcome == "cut short":
            fix = "Run it again until it ends, or report PARTIAL."

        message = f"{in_task} {ended}"
        return JudgedCheck(self._item("claimed", last, what), (self._problem(rule, message, fix),))

    # The runs of the check

    def _decides(self, run: Run) -> bool:
        return run.outcome in _DECIDED and (run.outcome != "passed" or self._is_proof(run))

    def _is_proof(self, run: Run) -> bool:
        return run.outcome == "passed" and not self._history.redefined(run)

    def _matching(self, runs: list[Run]) -> list[Run]:
        """Return the runs that the check can be about: its scope, its program, its paths."""
        mine = frozenset(words_in(self._check.name)) & SCOPES
        if mine:
            runs = [
                run
                for run in runs
                if not (scopes := self._history.words_of(run) & SCOPES) or scopes & mine
            ]

        for belongs in (self._has_program, self._has_path, self._has_word):
            narrowed = [run for run in runs if belongs(run)]
            runs = narrowed or runs

        return runs

    def _has_program(self, run: Run) -> bool:
        return run.program.partition(" ")[0] in self._words

    def _has_path(self, run: Run) -> bool:
        text = f"{self._check.name} {self._check.text[:_TEXT_CHARACTERS]}"
        return any(
            ("/" in argument or "." in argument) and argument.strip("./") in text
            for argument in run.arguments
            if len(argument.strip("./")) > _SHORT_ARGUMENT
        )

    def _has_word(self, run: Run) -> bool:
        return bool(self._own_words() & self._history.words_of(run))

    def _own_words(self) -> set[str]:
        return {
            word
            for word in words_in(self._check.name)
            if word not in KIND_WORDS and word not in _GENERIC and word not in SCOPES
        }

    # What they show

    def _passed(self, run: Run, kind: str) -> JudgedCheck:
        item = self._item("observed", run, f"{run.program} passed{_counts_of(run)}")
        if not self._check.passed:
            return JudgedCheck(item)

        problems: list[Problem] = []
        if (change := change_after(run, self._history)) is not None:
            problems.append(self._stale(run, change, kind))
            if not change.certain:
                item = replace(item, detail=f"{item.detail}, possibly on other files")

        if kind == "tests" and (differs := self._other_counts(run)) is not None:
            message, fix = f"{self._name}: {differs}", "Copy the counts that the last run printed."
            problems.append(self._problem(COUNTS_DIFFER, message, fix))

        if self._needs_more("observed"):
            message = (
                f"{self._name} is reported as passed; expected a run that was {self._required}"
            )
            problems.append(self._problem(CHECK_REQUIRED, message))

        return JudgedCheck(item, tuple(problems))

    def _stale(self, run: Run, change: Change, kind: str) -> Problem:
        changed = repr(excerpt(change.name, _SHOWN)) if change.name else "a file"
        how = "changed" if change.certain else "possibly changed"
        message = (
            f"{self._name} is reported as passed; {changed} {how} after the last run of"
            f" {run.program}; expected a run on the present files"
        )
        required = self._required != "claimed" or (
            self._must_show(kind, since=change.position) and self._is_inside(change.path)
        )
        rule = STALE_REQUIRED if required else CHECK_STALE
        return self._problem(
            rule if change.certain else POSSIBLY_STALE, message, f"Run {run.program} again."
        )

    def _nothing_decided(self, kind: str, runs: Sequence[Run], real: Sequence[Run]) -> JudgedCheck:
        if not self._check.passed:
            return JudgedCheck(self._item("claimed"))

        changed = next((run for run in reversed(real) if run.outcome == "passed"), None)
        if changed is not None:
            file = excerpt(self._history.redefined(changed), _SHOWN)
            why = f"{changed.program} passed, but {file!r}, which says what it runs, possibly"
            return self._not_proven(f"{why} changed", changed, how_to_name(self._check))

        last = real[-1] if real else None
        if last is not None and last.outcome == "not started":
            none_ran = all(run.outcome == "not started" for run in real)
            hidden = self._history.may_have_run(kind) or self._history.later_unknown(last)
            if none_ran and not hidden:
                what = f"{last.program} could not be started (exit status {last.command.status})"
                message = f"{self._name} is reported as passed; {what}"
                fix = f"Make {last.program} run, or report PARTIAL."
                problem = self._problem(CHECK_FAILED, message, fix)
                return JudgedCheck(self._item("claimed", last, what), (problem,))

            return self._not_proven(f"{last.program} could not be started", last)

        if last is not None:
            if last.shown is not None and self._history.doubt(last, kind, None) is None:
                shown = without_secrets(last.shown)
                what = f"{last.program}: its output shows {shown!r}, and {last.why}"
                message = f"{self._name} is reported as passed; {what}"
                problem = self._problem(CHECK_HIDES_FAILURE, message, _fix_for(last))
                judged = JudgedCheck(self._item("claimed", last, what), (problem,))
                is_certain = self._must_show(kind, since=last.position) and not (
                    self._history.may_have_run(kind) or _EXPLAINED & self._words
                )
                return self._with_policy(judged, must_show=is_certain)

            of_target = last.why in (NOT_SHOWN, OTHERS_PRINT, REDEFINED)
            naming = how_to_name(self._check) if of_target else None
            return self._not_proven(f"{last.program} was run, but {last.why}", last, naming)

        must_show = self._must_show(kind)
        if runs and (must_show or not self._history.may_have_run(kind)):
            vacuous = runs[-1]
            line = excerpt(without_secrets(vacuous.command.line).strip().partition("\n")[0], 60)
            what = f"{line!r} proves nothing"
            message = f"{self._name} is reported as passed; {what}; expected a run of the check"
            fix = "Run the check itself."
            problem = self._problem(VACUOUS_COMMAND, message, fix)
            judged = JudgedCheck(self._item("claimed", vacuous, what), (problem,))
            return self._with_policy(judged, must_show=must_show)

        # A script of the project, or a program that is not known: only a person can say what it is.
        maybe = self._history.may_have_been(kind)
        if maybe is not None and not must_show:
            line = excerpt(without_secrets(maybe.line).strip().partition("\n")[0], _SHOWN)
            why = f"no known runner was run; {line!r} ended well and proves nothing"
            return self._not_proven(why, None, how_to_name(self._check))

        why = "no command of this task shows it"
        if not must_show:
            return self._not_proven(why, None)

        message = f"{self._name} is reported as passed; {why}; expected a run of the check"
        runner = next(iter(sorted(self._claimed(kind).runners)), None)
        fix = (
            f"Run {f'`{runner}`' if runner else 'it'} on a line of its own and copy what it prints,"
            " or write who else ran it."
        )
        problem = self._problem(CHECK_REQUIRED, message, fix)
        return JudgedCheck(self._item("claimed", detail=why), (problem,))

    def _claimed(self, kind: str) -> ClaimedRun:
        return claimed_run(self._check, kind) if self._check.passed else NOT_CLAIMED

    def _must_show(self, kind: str, *, since: int = -1) -> bool:
        """Return whether a run after `since` has to show it: nothing else there can have been it.

        That is where everything is known that the agent did, and the check says that a program ran.
        """
        if not self._is_readable:
            return False
        by_program, runners = self._claimed(kind)
        return by_program and not self._history.may_hide(kind, runners, since=since)

    def _is_inside(self, path: str) -> bool:
        """Return whether a file is known to be one of the project."""
        path = path.replace("\\", "/")
        if self._root is not None and path.startswith("/"):
            return path.startswith(self._root)
        return not path.startswith("/") or path.split("/")[1] not in TEMPORARY

    def _not_proven(self, why: str, run: Run | None, fix: str | None = None) -> JudgedCheck:
        rule = CHECK_REQUIRED if self._needs_more("claimed") else CHECK_NOT_RUN
        message = f"{self._name} is reported as passed; {why}"
        fix = fix or (None if run is None else _fix_for(run))
        problem = self._problem(rule, message, fix)
        return JudgedCheck(self._item("claimed", run, why), (problem,))

    def _with_policy(self, judged: JudgedCheck, *, must_show: bool = False) -> JudgedCheck:
        """Return `judged` with an error where a warning does not satisfy the policy."""
        if not self._needs_more("claimed") and not must_show:
            return judged
        wanted = "observed" if must_show else self._required
        message = (
            f"{self._name} is reported as passed; {judged.item.detail}; expected a run that was"
            f" {wanted}"
        )
        problem = self._problem(CHECK_REQUIRED, message, judged.problems[-1].hit.fix)
        return judged._replace(problems=(*judged.problems, problem))

    def _other_counts(self, run: Run) -> str | None:
        """Return how the counts of the report differ from those of all runs."""
        text = self._check.text[:_TEXT_CHARACTERS]
        claimed = _claimed_passes(text)
        if claimed is None:
            return None

        # An older run of the same line is out of date; other lines are other parts of the tests.
        newest = {
            each.command.line: each
            for each in self._history.runs
            if "tests" in each.kinds and not each.vacuous
        }
        counts = [_numbers(each) for each in newest.values()]
        if not counts or any(not each for each in counts):
            return None

        possible = set().union(*counts)
        sums = {0}
        for each in counts[-_MOST_SUMMED:]:
            sums |= {total + number for total in sums for number in each}

        # A lower number may be a part of the tests, unless it is written as runners write it.
        lower = claimed < max(possible)
        if claimed in possible | sums or (lower and f"{claimed} passed" not in text):
            return None

        printed = run.summary.result if run.summary is not None else None
        shown = printed.passed if printed is not None else None
        shown = shown if shown is not None else max(_numbers(run))
        return f"{claimed} passed are reported; expected {shown}, as {run.program} printed"

    # Parts of the answer

    @property
    def _name(self) -> str:
        return excerpt(self._check.name, _SHOWN) or "a check"

    def _needs_more(self, than: Tier) -> bool:
        return self._check.passed and TIERS.index(self._required) > TIERS.index(than)

    def _problem(self, rule: Rule, message: str, fix: str | None = None) -> Problem:
        return rule.problem(
            message, path=self._check.where, found=excerpt(self._check.text) or None, fix=fix
        )

    def _item(self, tier: Tier, run: Run | None = None, detail: str = "") -> EvidenceItem:
        source = run.command.source if run is not None else ""
        return replace(claimed(self._check), tier=tier, source=source, detail=detail)


def _last_passed(runs: Sequence[Run]) -> Run | None:
    return next((run for run in reversed(runs) if run.outcome == "passed"), None)


def _numbers(run: Run) -> set[int]:
    """Return the numbers that a report may give for what passed in `run`, none if unknown."""
    if run.summary is None or not run.summary.seen or not run.command.output_whole:
        return set()

    result = run.summary.result
    numbers = {each for each in (result.passed, result.total) if each is not None}
    if result.passed is not None:
        numbers.add(result.passed + (result.skipped or 0))
        numbers.add(result.passed + (result.failed or 0) + (result.skipped or 0))
    if result.total is not None:
        numbers.add(result.total - (result.skipped or 0))
        numbers.add(result.total - (result.failed or 0) - (result.errors or 0))
        numbers.add(
            result.total - (result.failed or 0) - (result.errors or 0) - (result.skipped or 0)
        )

    return {each for each in numbers if each >= 0}


def _counts_of(run: Run) -> str:
    """Return what the run's summary counts and names: ": 2 failed, test_a, test_b"."""
    summary = run.summary
    if summary is None or not summary.seen:
        status = run.command.status
        return f" with exit status {status}" if run.outcome == "failed" else ""

    if run.outcome == "passed":
        passed = summary.result.passed
        return "" if passed is None else f" ({passed} passed)"

    names = [without_secrets(name.rpartition("::")[2][:_SHOWN]) for name in summary.names[:3]]
    more = len(summary.names) - len(names)
    shown = ", ".join([without_secrets(summary.failure or ""), *names])

    return f": {shown}" + (f" and {more} more" if more > 0 else "")


def _end_of(run: Run) -> str:
    """Return how a run ended that did not pass: "failed: 2 failed, test_a"."""
    if run.outcome == "cut short":
        return f"did not finish: {run.why}"
    return f"failed{_counts_of(run)}"


def _fix_for(run: Run) -> str:
    return f"Run {run.program} on a line of its own, without a pipe, `|| true` or `;` after it."
