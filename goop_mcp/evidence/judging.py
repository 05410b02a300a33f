"""judge_evidence(): the claims of an envelope against what the agent did."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from goop_mcp.evidence.activity import NO_ACTIVITY, ObservedFile
from goop_mcp.evidence.check_kinds import is_by_hand
from goop_mcp.evidence.checks import judge_checks
from goop_mcp.evidence.corrections import Correction
from goop_mcp.evidence.evidence import EvidenceSource, Observed, activity_of
from goop_mcp.evidence.history import Redefined, TaskHistory, file_name, without_secrets
from goop_mcp.evidence.proofs import is_elsewhere
from goop_mcp.evidence.recorded_checks import judge_recorded
from goop_mcp.evidence.recorded_runs import NO_TREE, KnownRuns
from goop_mcp.evidence.rules import FILE_NOT_REPORTED, NOTHING_DONE, WRITE_REFUSED
from goop_mcp.validation.claims import MOST_FILES, Claims, CommitClaim, FileClaim, MemoryClaim
from goop_mcp.validation.evidence_rules import (
    FILE_NOT_TOUCHED,
    MEMORY_NOT_FOUND,
    NOT_CHECKED,
    NOT_TOUCHED_AS_FAR_AS_KNOWN,
)
from goop_mcp.validation.findings import excerpt
from goop_mcp.validation.rules import Problem
from goop_mcp.validation.tiers import EvidenceItem, Requirement, claimed

__all__ = ["Judgement", "judge_evidence"]

_SHOWN = 60
_MOST_UNREPORTED = 10
_SHA = 7
_WRITTEN = frozenset({"created", "modified", "touched"})
_NOT_REPORTED = ("/.goopspec/", "/.claude/", "/.opencode/", "/.git/", "/node_modules/")


class Judgement(NamedTuple):
    """What the evidence says: problems for the verdict, and what each claim rests on.

    `touched` are the places of the file claims whose change was observed.
    """

    problems: tuple[Problem, ...]
    items: tuple[EvidenceItem, ...]
    touched: frozenset[str] = frozenset()


def judge_evidence(
    claims: Claims,
    evidence: EvidenceSource | Observed | None,
    *,
    require: Requirement = "claimed",
    workspace: str | None = None,
    in_project: bool = False,
    found: Sequence[Problem] = (),
    known: KnownRuns | None = None,
    base: str | None = None,
    named: Mapping[str, tuple[str, ...]] | None = None,
    redefined: Redefined | None = None,
    hooks: Callable[[], bool] | None = None,
    correction: Correction | None = None,
) -> Judgement:
    """Compare `claims` with `evidence`. Linear in both.

    `require` is what each passed check of a complete task must rest on. `workspace` is the folder
    of the project, None if unknown. `in_project` means that files and memories were looked for in
    the project, and `found` has the problems of that: none is reported twice, and a memory that was
    found there was saved. `known` are the recorded runs of the project, None where nobody looked
    for them; `base` is the commit at which the task began, None for that of the evidence.
    `named` are the commands that a person named for checks of the project, by the check, and
    `redefined` finds definitions of commands that may have changed in the task. `hooks` returns
    whether git has hooks in the project, None where nobody looked. `correction` is what the reply
    is compared with, None for one that corrects nothing and will not be corrected.
    """
    stated = claims
    claims = claims.compared()
    observed = activity_of(evidence)
    activity = observed.activity
    history = TaskHistory(
        activity,
        everything=observed.everything,
        named=named,
        redefined=redefined,
        root=workspace,
        hooks=hooks,
    )
    whole = activity.complete and observed.everything
    problems: list[Problem] = []
    only_runs = activity is NO_ACTIVITY and bool(observed.runs or observed.tree)
    if evidence is not None and not activity.complete and not only_runs:
        part = "only in part" if activity.to_report else "not"
        message = (
            f"what the agent did was {part} compared with the report:"
            f" {activity.why_incomplete or 'it is not known completely'}"
        )
        problems.append(NOT_CHECKED.problem(message, offset=0))

    judged = judge_checks(claims, history, require=require, root=workspace)
    if known is None:
        known = _runs_of(observed, claims)
    if known is not None:
        base = base or observed.base
        judged = judge_recorded(judged, claims, known, history, require=require, base=base)

    problems += [problem for check in judged for problem in check.problems]
    items = [check.item for check in judged]

    files = _Files(claims, history, workspace)
    items += files.items()
    items += [_commit(claim, history) for claim in claims.commits]
    items += [_memory(claim, history) for claim in claims.memories]
    if correction is not None:
        problems += correction.compare(stated, history, items, require=require)
    if activity.complete:
        problems += files.refused()
        problems += _refused_memories(claims, history, found if in_project else None)

    if whole:
        if _is_idle(claims, history):
            message = (
                "the task is reported as complete, and the agent called no tool; expected some work"
            )
            problems.append(NOTHING_DONE.problem(message, offset=0))
        elif not in_project:
            problems += files.not_touched(base_known=observed.base is not None)
            problems += _missing_memories(claims, history)

        problems += files.not_reported()

    return Judgement(tuple(problems), tuple(items), frozenset(files.touched))


def _runs_of(observed: Observed, claims: Claims) -> KnownRuns | None:
    """Return the recorded runs that the caller gave, None without any."""
    if callable(observed.runs):
        return observed.runs(claims.checks) if any(each.passed for each in claims.checks) else None
    if not observed.runs and observed.tree is None:
        return None

    keys = frozenset(run.key for run in observed.runs)
    return KnownRuns(observed.runs, observed.tree or NO_TREE, keys=keys)


def _is_idle(claims: Claims, history: TaskHistory) -> bool:
    checked = any(check.passed and not is_by_hand(check) for check in claims.checks)
    done = claims.files or claims.commits or checked
    return bool(
        claims.complete
        and done
        and history.activity.is_empty
        # A caller that passes lists of commands and files does not know of other tools.
        and history.activity.host != "caller"
    )


# Files


class _Files:
    """Compares the files that an envelope names with the changes that were observed."""

    def __init__(self, claims: Claims, history: TaskHistory, workspace: str | None) -> None:
        self._claims, self._history = claims, history
        self._root = workspace.rstrip("/") + "/" if workspace else None
        by_name: dict[str, list[ObservedFile]] = {}
        for file in history.activity.files:
            by_name.setdefault(file_name(file.path), []).append(file)

        self._changes = {
            claim.where: [
                file
                for file in by_name.get(file_name(claim.path), ())
                if _same(claim.path, file.path)
            ]
            for claim in claims.files
        }
        self.touched = {
            where
            for where, changes in self._changes.items()
            if any(change.ok is not False for change in changes)
        }

    def items(self) -> Iterator[EvidenceItem]:
        for claim in self._claims.files:
            seen = [change for change in self._changes[claim.where] if change.ok is not False]
            item = claimed(claim)
            yield (
                replace(
                    item,
                    tier="observed",
                    source=seen[-1].source,
                    detail=f"{seen[-1].action} by the agent",
                )
                if seen
                else item
            )

    def refused(self) -> Iterator[Problem]:
        """Yield the files that only refused or failed writes can have changed."""
        if self._history.may_have_written():
            return

        for claim in self._written():
            changes = self._changes[claim.where]
            if changes and all(change.ok is False for change in changes):
                why = excerpt(without_secrets(changes[-1].error[:1000]).partition("\n")[0], _SHOWN)
                message = (
                    f"file {excerpt(claim.path, _SHOWN)!r} is reported as written; every write of"
                    f" it failed{f': {why}' if why else ''}"
                )
                yield WRITE_REFUSED.problem(message, path=claim.where, found=excerpt(claim.path))

    def not_touched(self, *, base_known: bool) -> Iterator[Problem]:
        """Yield the files that nothing of what the agent did can have changed."""
        # A run of tests writes snapshots and reports, so that here every program counts.
        if self._history.may_have_written(by_checks=True):
            return

        for claim in self._written():
            if claim.kind == "touched" or self._changes[claim.where]:
                continue

            rule = FILE_NOT_TOUCHED if base_known else NOT_TOUCHED_AS_FAR_AS_KNOWN
            message = (
                f"file {excerpt(claim.path, _SHOWN)!r} was not changed in this task; expected a"
                " change, as the reply says"
            )
            yield rule.problem(message, path=claim.where, found=excerpt(claim.path))

    def not_reported(self) -> Iterator[Problem]:
        """Yield the files of the project that the agent changed and does not list."""
        root = self._root or self._guessed_root() or ""
        is_guess = not self._root
        if not (self._claims.files or self._claims.lists_files) or not self._claims.complete:
            return
        if len(self._claims.files) >= MOST_FILES:
            # What the report lists further on is not known here.
            return

        listed = {id(change) for changes in self._changes.values() for change in changes}
        last: dict[str, ObservedFile] = {}
        for file in self._history.activity.files:
            if file.ok and file.current:
                last[file.path.replace("\\", "/")] = file

        shown = 0
        for path, file in last.items():
            # Without a known folder only a path within the project is known to be there.
            inside = bool(root) and path.startswith(root) if path.startswith("/") else True
            if id(file) in listed or file.action == "deleted" or not inside:
                continue
            if (is_guess or not path.startswith("/")) and is_elsewhere(path):
                continue
            if any(part in f"/{path}" for part in _NOT_REPORTED):
                continue
            if self._history.may_be_undone(path, since=file.position):
                continue

            shown += 1
            if shown > _MOST_UNREPORTED:
                return

            name = path.removeprefix(root)
            message = f"the agent changed {excerpt(name, _SHOWN)!r}; expected it in the report"
            yield FILE_NOT_REPORTED.problem(message, offset=0)

    def _written(self) -> Iterator[FileClaim]:
        return (claim for claim in self._claims.files if claim.kind in _WRITTEN)

    def _guessed_root(self) -> str | None:
        """Return the folder that the paths of the report are relative to, None if unknown."""
        for claim in self._claims.files:
            for change in self._changes[claim.where]:
                path = change.path.replace("\\", "/")
                short = claim.path.strip().removeprefix("./")
                if path.endswith(f"/{short}"):
                    return path.removesuffix(short)

        return None


def _same(claimed: str, seen: str) -> bool:
    """Return whether two spellings may be the same file: one ends with the other."""
    short = claimed.strip().replace("\\", "/").removeprefix("./")
    long = seen.replace("\\", "/").removeprefix("./")
    return short == long or long.endswith("/" + short) or short.endswith("/" + long)


# Commits and memories


def _commit(claim: CommitClaim, history: TaskHistory) -> EvidenceItem:
    begin = claim.sha.lower()[:_SHA]
    seen = None
    if len(begin) == _SHA:
        seen = next(
            (
                each
                for each in history.commands_with(begin)
                if "git" in each.line and each.status in (0, None)
            ),
            None,
        )
    item = claimed(claim)
    if seen is None:
        return item
    return replace(item, tier="observed", source=seen.source, detail="printed by git")


def _saves(claim: MemoryClaim, history: TaskHistory) -> list[tuple[bool | None, str, str]]:
    wanted = " ".join(claim.title.casefold().split())
    return [
        (each.ok, each.source, each.error)
        for each in history.activity.memories
        if " ".join(each.title.casefold().split()) == wanted
    ]


def _memory(claim: MemoryClaim, history: TaskHistory) -> EvidenceItem:
    saved = [source for ok, source, _ in _saves(claim, history) if ok is not False]
    item = claimed(claim)
    if not saved:
        return item
    return replace(item, tier="observed", source=saved[-1], detail="saved by the agent")


def _refused_memories(
    claims: Claims, history: TaskHistory, found: Sequence[Problem] | None
) -> Iterator[Problem]:
    """Yield the memories whose saving was refused; `found` is None where nobody looked for them."""
    missing = {
        problem.hit.path for problem in found or () if problem.rule.id == MEMORY_NOT_FOUND.id
    }
    for claim in claims.memories:
        saves = _saves(claim, history)
        if not saves or any(ok is not False for ok, _, _ in saves) or _by_other_means(history):
            continue
        if found is not None and claim.where not in missing:
            continue

        why = excerpt(without_secrets(saves[-1][2][:1000]).partition("\n")[0], _SHOWN)
        message = (
            f"memory {excerpt(claim.title, _SHOWN)!r} is reported as saved; saving it failed"
            f"{f': {why}' if why else ''}"
        )
        fix = "Save the memory and look at the answer, or leave it out."
        yield WRITE_REFUSED.problem(message, path=claim.where, found=excerpt(claim.title), fix=fix)


def _missing_memories(claims: Claims, history: TaskHistory) -> Iterator[Problem]:
    if _by_other_means(history):
        return

    for claim in claims.memories:
        if not _saves(claim, history):
            message = (
                f"no memory {excerpt(claim.title, _SHOWN)!r} was saved in this task; expected one"
                " with this title"
            )
            yield MEMORY_NOT_FOUND.problem(message, path=claim.where, found=excerpt(claim.title))


def _by_other_means(history: TaskHistory) -> bool:
    """Return whether a memory may have been saved in a way that is not listed."""
    titled = len(history.activity.memories)
    tools = sum(
        any(word in call.name.lower() for word in ("memor", "remember", "save", "note"))
        for call in history.activity.tools
    )
    return tools > titled or history.may_have_written()
