"""Judge the text of a report by its project: the profile, the names of its agents, its claims."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from goop_mcp import services
from goop_mcp.protocols import validate
from goop_mcp.services.stop_hooks.judged_by import JudgedBy
from goop_mcp.services.stop_hooks.policy import read_policy
from goop_mcp.services.stop_hooks.profile import read_profile
from goop_mcp.validation.expectations import NOTHING_EXPECTED, Expectations
from goop_mcp.validation.findings import Mode
from goop_mcp.validation.rules import Rule
from goop_mcp.validation.verdict import Verdict

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
    """Judge `text` as `validate` does; the verdict says which claims were not verified (D-106).

    `expected` is completed from the folder `project` as by `expect_of_project`.
    """
    verdict = validate(
        text,
        protocol=protocol,
        mode=mode,
        expected=expect_of_project(project, expected, judged_by),
        rules=rules,
    )

    return services.unverified.with_unverified(verdict, services.unverified.NOT_ASKED)
