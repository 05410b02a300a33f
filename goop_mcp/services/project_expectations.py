"""Judge the text of a report by its project: the profile, the names of its agents, its claims."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from goop_mcp.protocols import examine
from goop_mcp.services.stop_hooks.judged_by import JudgedBy
from goop_mcp.services.stop_hooks.policy import read_policy
from goop_mcp.services.stop_hooks.profile import read_profile
from goop_mcp.validation.evidence_rules import NOT_CHECKED
from goop_mcp.validation.expectations import NOTHING_EXPECTED, Expectations
from goop_mcp.validation.findings import Mode
from goop_mcp.validation.rules import Rule
from goop_mcp.validation.verdict import Verdict
from goop_mcp.workspace.layout import FOLDER

__all__ = ["expect_of_project", "judge_text"]


def expect_of_project(
    project: Path, expected: Expectations, judged_by: JudgedBy | None = None
) -> Expectations:
    """Return `expected` completed from the folder `project`, if that contains a project.

    The profile v1 of the caller takes precedence, its names of agents are kept, and so are the
    severities that it chose. `judged_by` is what holds where agents are at work; None: the files of
    `project` as they stand.
    """
    policy, known = judged_by or JudgedBy(read_policy(str(project))[0])
    profile = expected.profile if expected.profile == "v1" else known or read_profile(str(project))
    names = tuple(dict.fromkeys((*expected.agents, *policy.agents)))

    severities = expected.severities if expected.severities.notes else policy.severities

    return replace(expected, profile=profile, agents=names, severities=severities)


def judge_text(
    text: str,
    project: Path,
    *,
    protocol: str = "auto",
    mode: Mode = "lenient",
    expected: Expectations = NOTHING_EXPECTED,
    rules: Sequence[Rule] = (),
    judged_by: JudgedBy | None = None,
) -> Verdict:
    """Judge `text` as `validate` does; an info says that its claims were not verified (F-15).

    The info is given for accepted replies that name files, commits or memories, where `project` has
    a folder `.goopspec/` to verify them with. `expected` is completed as by `expect_of_project`.
    """
    examined = examine(
        text,
        protocol=protocol,
        mode=mode,
        expected=expect_of_project(project, expected, judged_by),
        rules=rules,
    )
    verdict, claims = examined.verdict(), examined.claims()
    named = (
        ("file", "files", claims.files),
        ("commit", "commits", claims.commits),
        ("memory", "memories", claims.memories),
    )
    counts = [f"{len(each)} {one if len(each) == 1 else many}" for one, many, each in named if each]
    noted = any(finding.rule == NOT_CHECKED.id for finding in verdict.findings)
    if not verdict.accepted or not counts or noted or not project.joinpath(FOLDER).is_dir():
        return verdict

    message = (
        f"nothing was verified in the workspace: {', '.join(counts)}; expected"
        " check_workspace=true before the work counts as done"
    )

    return examined.verdict([NOT_CHECKED.problem(message, offset=0)])
