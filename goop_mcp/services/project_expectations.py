"""The expectations of a project for each report: its profile, and the names of its agents."""

from dataclasses import replace
from pathlib import Path

from goop_mcp.services.stop_hooks.policy import read_policy
from goop_mcp.services.stop_hooks.profile import read_profile
from goop_mcp.validation.expectations import Expectations

__all__ = ["expect_of_project"]


def expect_of_project(project: Path, expected: Expectations) -> Expectations:
    """Return `expected` completed from the folder `project`, if that contains a project.

    The profile v1 of the caller takes precedence, and its names of agents are kept.
    """
    policy, _ = read_policy(str(project))
    profile = expected.profile if expected.profile == "v1" else read_profile(str(project))
    names = tuple(dict.fromkeys((*expected.agents, *policy.agents)))

    return replace(expected, profile=profile, agents=names)
