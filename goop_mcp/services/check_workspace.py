"""Judge a reply and verify its claims: files, commits, memories, tasks and state (D-88)."""

import os
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace as replace_item

from goop_mcp import services, workspace
from goop_mcp.errors import UnknownNameError
from goop_mcp.protocols import examine
from goop_mcp.recording.state_folder import may_be_recorded
from goop_mcp.services.project_expectations import expect_of_project
from goop_mcp.services.stop_hooks.judged_by import JudgedBy
from goop_mcp.services.stop_hooks.policy import read_policy
from goop_mcp.services.trusted_commands import trusted_commands
from goop_mcp.validation.evidence_rules import FILE_NOT_TOUCHED
from goop_mcp.validation.expectations import NOTHING_EXPECTED, Expectations
from goop_mcp.validation.findings import Mode
from goop_mcp.validation.limits import DEFAULT_LIMITS, Limits
from goop_mcp.validation.rules import Rule
from goop_mcp.validation.tiers import REQUIREMENTS, EvidenceItem, Requirement, claimed_items
from goop_mcp.validation.verdict import Verdict
from goop_mcp.workspace.claimed_changes import check_changes
from goop_mcp.workspace.claimed_commits import is_id
from goop_mcp.workspace.claimed_files import Looked
from goop_mcp.workspace.evidence import CheckedClaims, check_claims
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.git import GitError, Repository

if TYPE_CHECKING:
    from goop_mcp.evidence.corrections import Correction
    from goop_mcp.evidence.evidence import EvidenceSource, Observed
    from goop_mcp.evidence.recorded_runs import KnownRuns
    from goop_mcp.store.interface import Store
    from goop_mcp.validation.pipeline import Examination

__all__ = ["check_workspace", "examine_in_project", "verify_claims", "wrong_base"]

_SHOWN = 60
_FOUND = "found as claimed"


def check_workspace(
    text: str,
    project: Path,
    *,
    store: "Store | None" = None,
    protocol: str = "auto",
    mode: Mode = "lenient",
    expected: Expectations | None = None,
    session_state: str | None = None,
    looked: Looked | None = None,
    seconds: float | None = None,
    limits: Limits = DEFAULT_LIMITS,
    rules: Sequence[Rule] = (),
    evidence: "EvidenceSource | None" = None,
    require: Requirement = "claimed",
    judged_by: JudgedBy | None = None,
    correction: "Correction | None" = None,
) -> Verdict:
    """Judge `text` as `validate` does and verify its claims in `project`; return one verdict.

    `store` is the project's memory, None if there is none; `session_state` the state of a request's
    session, None if unknown. `looked` receives the number of files checked so far. After `seconds`
    the rest is not checked, subjects and commits are not compared with files (see `check_claims`),
    and of the changed files only those that the evidence does not show. `judged_by` is that of
    `expect_of_project`. The other arguments are those of `validate`. Reads only: nothing is
    changed, no file that the reply names is opened, and nothing outside `project` is accessed.
    Raises UnknownNameError for an unknown protocol, mode or tier.
    """
    examined = examine_in_project(
        text,
        project,
        protocol=protocol,
        mode=mode,
        expected=expected,
        limits=limits,
        rules=rules,
        judged_by=judged_by,
    )
    return verify_claims(
        examined,
        project,
        store=store,
        session_state=session_state,
        looked=looked,
        seconds=seconds,
        evidence=evidence,
        require=require,
        judged_by=judged_by,
        correction=correction,
    )


def examine_in_project(
    text: str,
    project: Path,
    *,
    protocol: str = "auto",
    mode: Mode = "lenient",
    expected: Expectations | None = None,
    limits: Limits = DEFAULT_LIMITS,
    rules: Sequence[Rule] = (),
    judged_by: JudgedBy | None = None,
) -> "Examination":
    """Judge `text` as `check_workspace` does, before its claims are verified by `verify_claims`."""
    root = ProjectFiles(project).root
    expected = NOTHING_EXPECTED if expected is None else expected
    expected = expect_of_project(root, expected, judged_by)
    expected = replace(expected, workspace=root.as_posix(), files_checked=True)
    return examine(
        text, protocol=protocol, mode=mode, expected=expected, limits=limits, rules=rules
    )


def verify_claims(
    examined: "Examination",
    project: Path,
    *,
    store: "Store | None" = None,
    session_state: str | None = None,
    looked: Looked | None = None,
    seconds: float | None = None,
    evidence: "EvidenceSource | None" = None,
    require: Requirement = "claimed",
    judged_by: JudgedBy | None = None,
    correction: "Correction | None" = None,
) -> Verdict:
    """Verify the claims of what `examine_in_project` returned; arguments as `check_workspace`."""
    files = ProjectFiles(project)
    expected = examined.expected
    claims = examined.claims()
    observed = None
    if evidence is not None:
        # Callers without evidence need not import what judges it.
        from goop_mcp.evidence.evidence import activity_of  # noqa: PLC0415

        # It also says when the task began, which git is asked about.
        observed = activity_of(evidence)
    base = expected.base or (observed.base if observed is not None else None)

    found = check_claims(
        claims,
        files,
        store=store,
        session_state=session_state,
        base=base,
        changed=observed.changed if observed is not None else {},
        looked=looked,
        seconds=seconds,
    )
    known = None
    if (
        any(check.passed for check in claims.checks)
        and may_be_recorded(claims.checks)
        # Who requires recorded runs has to compare them. Otherwise the project's switch holds for
        # every caller, because it is about what may be looked at.
        and (require == "recorded" or _reads_evidence(files, judged_by))
    ):
        known = services.recorded_runs.known_runs(claims.checks, project=files.root, store=store)

    if observed is None and known is None and require in ("claimed", "readable"):
        items = _verified(claimed_items(claims), found.verified)
        differing = correction.compare(claims) if correction else ()
        return examined.verdict([*found.problems, *differing], items)
    if require not in REQUIREMENTS:
        raise UnknownNameError("tier", str(require), REQUIREMENTS)

    return _compared(
        examined,
        files,
        found,
        observed,
        known,
        base=base,
        require=require,
        seconds=seconds,
        correction=correction,
    )


def _reads_evidence(files: ProjectFiles, judged_by: JudgedBy | None) -> bool:
    policy = read_policy(str(files.root))[0] if judged_by is None else judged_by.policy
    return policy.evidence != "off"


def wrong_base(base: str, project: Path) -> str | None:
    """Return why `base` cannot be the commit at which a task in `project` began, with the fix.

    None if it can, or if nothing is known about it, as in a folder without a repository.
    """
    advice = "name the one at which the task began, as git rev-parse prints it"
    if not is_id(base):
        return f"{base[:_SHOWN]!r} is not the id of a commit; {advice}"
    try:
        found = Repository(ProjectFiles(project).root).look_up([base], subjects=False)
    except GitError:
        return None

    if found.ambiguous:
        return f"{base!r} is the beginning of several ids of commits; give more of its digits"
    if found.missing:
        return f"{base!r} is not a commit of this repository; fetch it, or {advice}"
    return None


def _compared(
    examined: "Examination",
    files: ProjectFiles,
    checked: CheckedClaims,
    observed: "Observed | None",
    known: "KnownRuns | None",
    *,
    base: str | None,
    require: Requirement,
    seconds: float | None,
    correction: "Correction | None",
) -> Verdict:
    """Return the verdict with what the agent was seen to do."""
    from goop_mcp.evidence.judging import judge_evidence  # noqa: PLC0415

    claims, found = examined.claims(), checked.problems
    judged = judge_evidence(
        claims,
        observed,
        require=require,
        workspace=examined.expected.workspace,
        in_project=True,
        found=found,
        known=known,
        base=base,
        named=trusted_commands(files.root) if observed is not None else {},
        redefined=_changed_definitions(files, observed, base=base, seconds=seconds),
        hooks=partial(_may_have_hooks, files),
        correction=correction,
    )
    # A change that the host saw may be undone or committed elsewhere: git alone accuses nobody.
    found = [
        problem
        for problem in found
        if problem.rule.id != FILE_NOT_TOUCHED.id or problem.hit.path not in judged.touched
    ]
    if seconds is not None and base is not None:
        # Somebody waits. Git, a process for each question, is only asked about files that the host
        # did not see changing: those of an agent that works with the tools of its host are none.
        unseen = [file for file in claims.files if file.where not in judged.touched]
        found += check_changes(
            replace(claims, files=tuple(unseen), commits=()),
            files,
            commits={},
            base=base,
            changed=observed.changed if observed is not None else {},
            untrue=True,
            until=time.monotonic() + seconds,
        )

    # What git or the host has shown against a claim since then leaves it in doubt.
    doubtful = {problem.hit.path for problem in (*found, *judged.problems)}
    items = _verified(judged.items, checked.verified - doubtful)

    return examined.verdict([*found, *judged.problems], items)


def _verified(items: Sequence[EvidenceItem], verified: Collection[str]) -> tuple[EvidenceItem, ...]:
    """Return `items` with those marked that the project itself shows.

    What a host saw says more of a change than that its file is there: it keeps its tier.
    """
    return tuple(
        replace_item(item, tier="verified", source="the project", detail=_FOUND)
        if item.path in verified and item.tier == "claimed"
        else replace_item(item, detail=f"{item.detail}, {_FOUND}")
        if item.path in verified
        else item
        for item in items
    )


def _may_have_hooks(files: ProjectFiles) -> bool:
    try:
        return Repository(files.root).may_have_hooks()
    except GitError:
        # A run that nobody can rule out accuses nobody.
        return True


def _changed_definitions(
    files: ProjectFiles, observed: "Observed | None", *, base: str | None, seconds: float | None
) -> "Callable[[Sequence[str]], str | None]":
    """Return what finds definitions of commands that may have changed since the task began."""
    until = None if seconds is None else time.monotonic() + seconds
    made: list[workspace.definitions.ChangedDefinitions] = []

    def changed(paths: Sequence[str]) -> str | None:
        # Most commands are known runners, and the project has no file that could take their place.
        if not any(os.path.lexists(files.root / path) for path in paths):
            return ""
        if not made:
            made.append(
                workspace.definitions.ChangedDefinitions(
                    files,
                    base=base,
                    changed=observed.changed if observed is not None else {},
                    began=observed.began if observed is not None else None,
                    until=until,
                )
            )
        return made[0](paths)

    return changed
