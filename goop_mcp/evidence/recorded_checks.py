"""Compare the checks that an envelope reports with recorded runs.

A run proves a check where its MAC is ours, it passed, no file changed while it ran, and the files
are the same now. It contradicts one only under the same conditions: a failure on other files may
have been repaired since.
"""

import re
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Final

from msgspec.structs import replace

from goop_mcp.evidence.attribution import words_in
from goop_mcp.evidence.check_kinds import is_by_hand, kinds_of
from goop_mcp.evidence.checks import JudgedCheck, how_to_name, how_to_record, other_counts
from goop_mcp.evidence.history import TaskHistory, without_secrets
from goop_mcp.evidence.recorded_runs import KnownRuns, RecordedRun
from goop_mcp.evidence.rules import (
    CHECK_FAILED,
    CHECK_NOT_RUN,
    CHECK_REQUIRED,
    CHECK_STALE,
    COUNTS_DIFFER,
    NOTHING_EXECUTED,
    OTHER_TREE,
    OTHER_TREE_REQUIRED,
    TESTS_REMOVED,
    TREE_MOVED,
    UNKNOWN_RUN,
    VACUOUS_COMMAND,
)
from goop_mcp.evidence.runners import SCOPES
from goop_mcp.validation.claims import CheckClaim, Claims
from goop_mcp.validation.evidence_rules import NOT_CHECKED
from goop_mcp.validation.findings import Severity, counted_noun, excerpt
from goop_mcp.validation.rules import Problem, Rule
from goop_mcp.validation.tiers import EvidenceItem, Requirement, claimed

__all__ = ["judge_recorded"]

_SHOWN: Final = 40
_MOST_FILES: Final = 5
_MOST_TESTS: Final = 3
_SHORT: Final = 7
_KEY_FROM: Final = 2
_KEY_TO: Final = 6
_DECIDED: Final = frozenset({"passed", "failed", "nothing"})
# What a proof on the present files makes pointless.
_SETTLED: Final = frozenset({CHECK_NOT_RUN.id, CHECK_STALE.id, VACUOUS_COMMAND.id})


def judge_recorded(
    judged: Sequence[JudgedCheck],
    claims: Claims,
    known: KnownRuns,
    history: TaskHistory,
    *,
    require: Requirement,
    base: str | None = None,
) -> list[JudgedCheck]:
    """Return what is known about each check, with the recorded runs added to `judged`.

    `judged` has the checks of `claims` in order; `history` knows which files may have changed.
    `base` is the commit at which the task began, None if unknown.
    """
    required = require if claims.complete else "claimed"
    return [
        _Judge(check, known, history, required, base).judge(before)
        for check, before in zip(claims.checks, judged, strict=True)
    ]


# A share of covered lines in the text of a check, and what makes it one of something else.
_PERCENT: Final = re.compile(r"(?<![\d.])(\d{1,3}(?:\.\d{1,4})?) ?%")
_OTHER_COVERAGE: Final = re.compile(r"branch|function|statement|condition|threshold|diff|patch")
_COVERAGE_CHARACTERS: Final = 1_000
# Runners round to a whole number, some of them up.
_ROUNDED: Final = 1.0


class _Judge:
    """Judges one check."""

    def __init__(
        self,
        check: CheckClaim,
        known: KnownRuns,
        history: TaskHistory,
        required: Requirement,
        base: str | None,
    ) -> None:
        self._check, self._known, self._base = check, known, base
        self._history = history
        self._is_required = required == "recorded" and check.passed and not is_by_hand(check)
        self._kinds = frozenset(kinds_of(check))

    def judge(self, before: JudgedCheck) -> JudgedCheck:
        if self._is_required:
            # What was observed satisfies nobody here; the reason below says more.
            before = before._replace(
                problems=tuple(each for each in before.problems if each.rule is not CHECK_REQUIRED)
            )

        after = self._cited(before) if self._check.run else self._fitting(before)
        has_error = any(each.rule.lenient is Severity.ERROR for each in after.problems)
        # Who has an error to fix already needs no second one about the same check.
        if self._is_required and after.item.tier != "recorded" and not has_error:
            message = f"{self._name} is reported as passed; expected a run that was recorded"
            # Another run would not be found or compared either, until this is put right.
            if why := self._known.unread or self._known.tree.why:
                message += f" ({without_secrets(why)})"
            return self._with(
                after, self._problem(CHECK_REQUIRED, message, how_to_record(self._check))
            )

        return after

    # A run that the check names

    def _cited(self, before: JudgedCheck) -> JudgedCheck:
        name = self._check.run
        run = next((each for each in self._known.runs if each.id == name), None)
        shown = repr(excerpt(name, _SHOWN))
        if run is None:
            # Only an id of another key may exist elsewhere; what is not an id exists nowhere.
            is_id = re.fullmatch(r"r-[0-9a-f]{12}", name) is not None
            if is_id and self._known.unread:
                # A damaged database says nothing about who wrote the report.
                message = f"the run {shown} of {self._name} was not found: {self._known.unread}"
                return self._with(before, self._problem(NOT_CHECKED, message))
            if not is_id or name[_KEY_FROM:_KEY_TO] in self._known.keys:
                message = f"{self._name} names the run {shown}, which was never recorded here"
                return self._with(
                    before, self._problem(UNKNOWN_RUN, message, how_to_record(self._check))
                )
            message = f"the run {shown} of {self._name} was recorded on another machine"
            return self._with(before, self._problem(NOT_CHECKED, message))

        if run.mac_state == "wrong":
            message = f"{self._name} names the run {shown}, whose record was changed"
            return self._with(
                before, self._problem(UNKNOWN_RUN, message, how_to_record(self._check))
            )
        if run.mac_state == "unknown key":
            message = (
                f"the record of the run {shown} of {self._name} was removed, or is of another key"
            )
            return self._with(before, self._problem(NOT_CHECKED, message))
        if not self._is_about(run):
            message = (
                f"{self._name} names the run {shown}, which is one of"
                f" {excerpt(run.name, _SHOWN)!r}; expected a run of this check"
            )
            return self._with(
                before, self._problem(VACUOUS_COMMAND, message, how_to_record(self._check))
            )

        return self._of_run(before, run, cited=True)

    # Runs that fit without being named

    def _fitting(self, before: JudgedCheck) -> JudgedCheck:
        runs = [run for run in self._known.runs if run.mac_state == "valid" and self._is_about(run)]
        newest: dict[tuple[object, ...], RecordedRun] = {}
        for run in runs:
            # An older run of the same command is out of date.
            key = (run.name, run.argv, run.cwd)
            newest.pop(key, None)
            newest[key] = run

        here = [run for run in newest.values() if self._is_here(run) and run.outcome in _DECIDED]
        # Runs that bear the name of the check are preferred, then those whose program it names.
        name = self._check.name.strip().casefold()
        words = frozenset(words_in(f"{self._check.name} {self._check.text[:1000]}"))
        for belongs in (
            lambda run: not self._redefined(run),
            lambda run: run.name.casefold() == name,
            lambda run: run.program.partition(" ")[0] in words,
        ):
            here = [run for run in here if belongs(run)] or here

        if len(here) == 1:
            return self._of_run(before, here[0], cited=False)
        if here:
            names = ", ".join(run.id for run in here[-_MOST_TESTS:])
            detail = f"{len(here)} recorded runs fit ({names}); name one with run=…"
            if before.item.detail:
                detail = f"{before.item.detail}; {detail}"
            return before._replace(item=replace(before.item, detail=detail))

        last = next(reversed(newest.values()), None)
        if last is None or not self._check.passed or before.item.tier != "claimed":
            return before
        return self._of_run(before, last, cited=False)

    # What a run shows

    def _of_run(self, before: JudgedCheck, run: RecordedRun, *, cited: bool) -> JudgedCheck:
        if run.outcome != "passed":
            return self._not_passed(before, run, cited=cited)
        if not self._check.passed:
            return before

        tree = self._known.tree
        if run.tree_moved:
            message = (
                f"files changed while the run {run.id} of {self._name} was recorded, so that it"
                " proves neither state"
            )
            fix = f"Run {self._command(run)} again while nobody changes files, or in a worktree."
            return self._with(before, self._problem(TREE_MOVED, message, fix), run=run)
        if not run.after.digest:
            why = without_secrets(run.after.why)
            message = f"the run {run.id} of {self._name} names no state of the files: {why}"
            return self._with(before, self._problem(NOT_CHECKED, message), run=run)
        if not tree.digest:
            why = without_secrets(tree.why)
            message = f"the run {run.id} of {self._name} could not be compared: {why}"
            return self._with(before, self._problem(NOT_CHECKED, message), run=run)
        if not self._is_here(run):
            return self._elsewhere(before, run, cited=cited)
        if file := self._redefined(run):
            message = (
                f"run {run.id} of {without_secrets(run.program)!r} passed, but"
                f" {excerpt(file, _SHOWN)!r}, which says what it runs, possibly changed"
            )
            return self._unproven(before, run, message)

        problems = [each for each in before.problems if each.rule.id not in _SETTLED]
        counts = run.counts
        if "tests" in run.kinds and counts.passed is not None:
            differs = other_counts(self._check, passed=counts.passed, skipped=counts.skipped or 0)
            if differs is not None:
                message = (
                    f"{self._name}: {differs} passed are reported; expected {counts.passed}, as in"
                    f" the run {run.id}"
                )
                fix = "Copy the counts of the run."
                problems.append(self._problem(COUNTS_DIFFER, message, fix))

        problems += self._lower_coverage(run)
        problems += self._removed_tests(run)
        return JudgedCheck(self._item(run, _result(run)), tuple(problems))

    def _not_passed(self, before: JudgedCheck, run: RecordedRun, *, cited: bool) -> JudgedCheck:
        here = self._is_here(run)
        why = without_secrets(run.why)
        if not self._check.passed:
            shows = here and run.outcome in _DECIDED
            return before._replace(item=self._item(run, _result(run))) if shows else before

        # Feedback cuts messages: the run has to be named at the beginning.
        what = f"{self._name} is reported as passed; run {run.id}"
        if run.outcome == "vacuous":
            message = f"{what} of {without_secrets(run.program)!r} proves nothing: {why}"
            return self._with(
                before, self._problem(VACUOUS_COMMAND, message, how_to_record(self._check)), run=run
            )
        # It ended well: that nobody knows what it ran is no failure.
        shows_none = run.exit_code == 0 and not (run.counts.failed or run.counts.errors)
        if run.outcome == "unproven" or (run.outcome == "unknown" and shows_none):
            message = f"run {run.id} of {without_secrets(run.program)!r} proves nothing: {why}"
            return self._unproven(before, run, message)
        if run.outcome == "unknown" and not cited:
            return self._with(before, run=run)
        if not cited and (before.item.tier == "observed" or not here or run.tree_moved):
            # It failed on other files, or passed later where a host saw it.
            return self._with(before, run=run)
        if run.outcome == "unfinished" and not cited:
            return self._with(before, run=run)

        rule = NOTHING_EXECUTED if run.outcome == "nothing" else CHECK_FAILED
        shown = {"failed": "failed", "nothing": "executed no test"}.get(run.outcome)
        counts = f", {run.counts.failed} failed" if run.counts.failed else ""
        message = f"{what} {shown or 'did not pass'}{counts}: {without_secrets(run.program)}, {why}"
        fix = f"Fix it, run {self._command(run)} again, or report PARTIAL."
        return self._with(before, self._problem(rule, message, fix), run=run)

    def _unproven(self, before: JudgedCheck, run: RecordedRun, why: str) -> JudgedCheck:
        """Return `before` with the reason why `run` is no proof, which accuses nobody."""
        if before.item.tier == "observed":
            return before

        # It says more than that nothing was seen.
        others = tuple(each for each in before.problems if each.rule is not CHECK_NOT_RUN)
        message = f"{self._name} is reported as passed; {why}"
        problem = self._problem(CHECK_NOT_RUN, message, how_to_name(self._check))
        return self._with(before._replace(problems=others), problem, run=run)

    def _redefined(self, run: RecordedRun) -> str:
        """Return the file, "" for none, that says what `run` runs and may have changed since."""
        return self._history.possibly_changed(run.defined_by)

    def _elsewhere(self, before: JudgedCheck, run: RecordedRun, *, cited: bool) -> JudgedCheck:
        if not cited and before.item.tier == "observed":
            return before

        changed = self._known.changed.get(run.id, ())
        named = ", ".join(repr(excerpt(each, 60)) for each in changed[:_MOST_FILES])
        more = len(changed) - _MOST_FILES
        since = f": {named}" + (f" and {more} more" if more > 0 else "") if named else ""
        message = (
            f"the run {run.id} of {self._name} was recorded on other files (tree"
            f" {run.after.digest[:_SHORT]}, now {self._known.tree.digest[:_SHORT]}){since}"
        )
        rule = OTHER_TREE_REQUIRED if self._is_required else OTHER_TREE
        fix = f"Run {self._command(run)} again on the present files, and report that run."
        return self._with(before, self._problem(rule, message, fix), run=run)

    def _lower_coverage(self, run: RecordedRun) -> Iterable[Problem]:
        """Yield the share of covered lines that the check claims, if the run shows less."""
        measured = run.counts.coverage
        text = self._check.text[:_COVERAGE_CHARACTERS]
        shares = {float(each) for each in _PERCENT.findall(text)}
        # With several, one may be a threshold; branches and functions are counted in other ways.
        if measured is None or len(shares) != 1 or _OTHER_COVERAGE.search(text.lower()):
            return

        claimed = shares.pop()
        if claimed > measured + _ROUNDED:
            message = (
                f"{self._name}: {claimed:g} % of coverage are reported; expected {measured:g} %, as"
                f" the run {run.id} has it for lines"
            )
            yield self._problem(COUNTS_DIFFER, message, "Copy the share of the run.")

    def _removed_tests(self, run: RecordedRun) -> Iterable[Problem]:
        """Yield the tests that passed at the task's base and are gone or skipped in `run`."""
        if self._base is None or not run.passed_names or not run.names_whole:
            return

        then = next(
            (
                each
                for each in reversed(self._known.runs)
                if each.name == run.name
                and each.mac_state == "valid"
                and each.passed_names
                and each.names_whole
                and each.after.head == self._base
                and not each.after.changes
                and not each.tree_moved
            ),
            None,
        )
        if then is None or then.id == run.id:
            return

        missing = sorted(set(then.passed_names) - set(run.passed_names))
        if not missing:
            return

        skipped = set(run.skipped_names)
        shown = ", ".join(
            f"{excerpt(each, 80)} ({'skipped' if each in skipped else 'gone'})"
            for each in missing[:_MOST_TESTS]
        )
        more = len(missing) - _MOST_TESTS
        message = (
            f"{counted_noun(len(missing), 'test')} that passed when the task began did not run, or"
            f" only in part, in {run.id}: {shown}" + (f" and {more} more" if more > 0 else "")
        )
        yield self._problem(TESTS_REMOVED, message)

    # Parts of the answer

    def _is_about(self, run: RecordedRun) -> bool:
        if run.name.casefold() == self._check.name.strip().casefold():
            return True
        if not self._kinds.intersection(run.kinds):
            return False

        # "unit tests" is another check than "integration tests".
        mine = frozenset(words_in(self._check.name)) & SCOPES
        its = frozenset(words_in(f"{run.name} {' '.join(run.argv)}")) & SCOPES
        return not (mine and its) or bool(mine & its)

    def _is_here(self, run: RecordedRun) -> bool:
        """Return whether the files on which `run` depends are as they were."""
        if run.tree_moved or not run.after.digest:
            return False
        if run.paths:
            now = self._known.tree.scopes.get(run.paths)
            return now is not None and now == run.after.scopes.get(run.paths)
        return run.after.digest == self._known.tree.digest

    @property
    def _name(self) -> str:
        return excerpt(self._check.name, _SHOWN) or "a check"

    def _command(self, run: RecordedRun) -> str:
        # Whoever reads the message gives it to a shell, and an agent chose the words.
        words = import_module("shlex")
        name = words.quote(run.name)
        if run.pinned:
            return f"`goop-mcp run {name}`"
        return f"`goop-mcp run --name {name} -- {excerpt(words.join(run.argv), 60)}`"

    def _problem(self, rule: Rule, message: str, fix: str | None = None) -> Problem:
        return rule.problem(
            message, path=self._check.where, found=excerpt(self._check.text) or None, fix=fix
        )

    def _with(
        self, before: JudgedCheck, *problems: Problem, run: RecordedRun | None = None
    ) -> JudgedCheck:
        item = before.item
        if run is not None and item.tier == "claimed":
            detail = f"{_result(run)}, which proves nothing here"
            item = replace(item, source=f"run {run.id}", detail=detail)

        return JudgedCheck(item, (*before.problems, *problems))

    def _item(self, run: RecordedRun, detail: str) -> EvidenceItem:
        return replace(claimed(self._check), tier="recorded", source=f"run {run.id}", detail=detail)


def _result(run: RecordedRun) -> str:
    counts = run.counts
    parts = [
        f"{number} {word}"
        for number, word in (
            (counts.executed, "run"),
            (counts.failed, "failed"),
            (counts.skipped, "skipped"),
        )
        if number
    ]
    if counts.coverage is not None:
        parts.append(f"{counts.coverage:g} % of lines covered")
    tree = f" on tree {run.after.digest[:_SHORT]}" if run.after.digest else ""
    warned = f"; {', '.join(run.variables[:2])} was set" if run.variables else ""
    counted = f" ({', '.join(parts)})" if parts else ""
    words = {"nothing": "executed no test", "unproven": "ended well"}
    outcome = words.get(run.outcome, run.outcome)

    return f"{without_secrets(run.program)} {outcome}{counted}{tree}{warned}"
