"""What the replies of a project are judged by while agents work."""

from typing import TYPE_CHECKING, NamedTuple

from goop_mcp.services.stop_hooks.policy import StopPolicy

if TYPE_CHECKING:
    from goop_mcp.validation.expectations import Profile

__all__ = ["JudgedBy"]


class JudgedBy(NamedTuple):
    """The policy that holds, and the profile; None is for the one that the files show."""

    policy: StopPolicy
    profile: "Profile | None" = None
