"""What a project says of every report in it: its profile, and the names that its agents have."""

from dataclasses import replace
from pathlib import Path

from goop_mcp.operations.stopping.policy import read_policy
from goop_mcp.operations.stopping.profile import read_profile
from goop_mcp.validation.expectations import Expectations

__all__ = ["expect_of_project"]


def expect_of_project(project: Path, expected: Expectations) -> Expectations:
    """Return `expected` with what the folder `project` says; a folder without a project says nothing.

    What the caller knows counts more: its own v1, and names beside those of the project.
    """
    policy, _ = read_policy(str(project))
    profile = expected.profile if expected.profile == "v1" else read_profile(str(project))
    names = tuple(dict.fromkeys((*expected.agents, *policy.agents)))

    return replace(expected, profile=profile, agents=names)
