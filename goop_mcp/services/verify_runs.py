"""Verify recorded runs, and in CI what a report says by running the named commands again."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple

import goop_mcp
from goop_mcp import services
from goop_mcp.evidence.check_kinds import kinds_of, kinds_of_name
from goop_mcp.evidence.checks import other_counts
from goop_mcp.evidence.recorded_runs import RecordedRun
from goop_mcp.protocols import examine
from goop_mcp.recording.recorder import record_run
from goop_mcp.services.named_checks import CheckFileError, read_checks, request_of
from goop_mcp.validation.claims import CheckClaim

__all__ = ["VerifiedRun", "claimed_checks", "rerun_checks", "verify_run"]

Result = Literal["confirmed", "contradicted", "out of date", "not checked"]

_SHOWN: Final = 7
_FILES: Final = 5
_MOST_CHECKS: Final = 100
_PROVING_NOTHING: Final = ("unproven", "vacuous")


class VerifiedRun(NamedTuple):
    """What the verification of one run or check found; `detail` is one clause about it."""

    name: str
    result: Result
    detail: str
    run: str = ""

    def to_dict(self) -> dict[str, str]:
        """Return it as JSON values."""
        return self._asdict()


def verify_run(run: RecordedRun, project: Path) -> VerifiedRun:
    """Return whether the record of `run` is ours, it passed, and its files are the present ones."""
    if run.mac_state == "wrong":
        return VerifiedRun(run.name, "contradicted", "its record was changed", run.id)
    if run.mac_state == "unknown key":
        detail = f"its record has the key {run.key!r}, which is not known on this machine"
        return VerifiedRun(run.name, "not checked", detail, run.id)
    if run.outcome != "passed":
        return _without_pass(run.name, run, "it")._replace(run=run.id)

    now = services.recorded_runs.compare_tree(run, project)
    if now.why:
        return VerifiedRun(run.name, "not checked", now.why, run.id)
    if not now.same:
        files = ", ".join(repr(each) for each in now.changed[:_FILES]) or "files"
        # As in a report, a run on other files proves nothing about these, and contradicts nothing.
        return VerifiedRun(run.name, "out of date", f"changed since: {files}", run.id)

    tree = run.after.digest[:_SHOWN]
    return VerifiedRun(run.name, "confirmed", f"it passed on the present tree {tree}", run.id)


def claimed_checks(text: str) -> tuple[CheckClaim, ...]:
    """Return the checks that the report in `text` says passed; () without a readable report."""
    claimed = examine(text).claims().checks[:_MOST_CHECKS]
    return tuple(each for each in claimed if each.passed)


def rerun_checks(project: Path, claimed: Sequence[CheckClaim] | None = None) -> list[VerifiedRun]:
    """Run the named commands of a trusted checks.toml again, and return what each of them shows.

    `claimed` are the checks of a report: only the commands for them run, and a check without one is
    not checked; None runs all. Output goes through. Raises CheckFileError and TrustError.
    """
    found = read_checks(project)
    if not found.trusted:
        raise CheckFileError(
            ".goopspec/checks.toml is not trusted as it is now, and its commands run with your"
            " rights; read it and run goop-mcp run --trust, in CI with the digest that this prints"
        )

    wanted = tuple(found.checks)
    if claimed is not None:
        # A check has the command of its name, or else of its kind; "" is for none.
        by_name = {name.casefold(): name for name in found.checks}
        by_kind: dict[str, str] = {}
        for name in found.checks:
            for kind in kinds_of_name(name):
                by_kind.setdefault(kind, name)

        wanted = tuple(
            by_name.get(check.name.strip().casefold())
            or next((by_kind[kind] for kind in kinds_of(check) if kind in by_kind), "")
            for check in claimed
        )

    runs: dict[str, RecordedRun] = {}
    # Several checks of a report may be of one command, which runs once.
    for name in dict.fromkeys(wanted):
        if name:
            request = request_of(project, found.checks[name])
            runs[name], _ = record_run(
                request, environment=os.environ, version=goop_mcp.__version__
            )

    if claimed is None:
        return [_shown(name, run) for name, run in runs.items()]

    return [
        _compared(check, _shown(check.name, runs[name]), runs[name])
        if name
        else VerifiedRun(check.name, "not checked", "checks.toml has no command for it")
        for check, name in zip(claimed, wanted, strict=True)
    ]


def _shown(name: str, run: RecordedRun) -> VerifiedRun:
    if run.outcome == "passed":
        return VerifiedRun(name, "confirmed", f"{run.program} passed")

    return _without_pass(name, run, run.program)


def _without_pass(name: str, run: RecordedRun, subject: str) -> VerifiedRun:
    """Return what a run shows that did not pass: only a known failure contradicts anything."""
    if run.outcome == "unknown":
        return VerifiedRun(name, "not checked", f"whether {subject} passed is not known: {run.why}")
    if run.outcome in _PROVING_NOTHING:
        return VerifiedRun(name, "not checked", f"{subject} proves nothing: {run.why}")
    return VerifiedRun(name, "contradicted", f"{subject} did not pass: {run.why}")


def _compared(check: CheckClaim, shown: VerifiedRun, run: RecordedRun) -> VerifiedRun:
    """Return `shown` with the counts, where the report gives others."""
    passed = run.counts.passed
    claimed = (
        None
        if passed is None
        else other_counts(check, passed=passed, skipped=run.counts.skipped or 0)
    )
    if claimed is None or shown.result != "confirmed":
        return shown

    # Other tests may have been added since; that they pass is what the check claims.
    return shown._replace(
        detail=f"{shown.detail}; the report gives {claimed} passed, this run {passed}"
    )
