"""What a Factory reply says is true of the project (F-15)."""

from goop_mcp.protocols.factory.model import Reply
from goop_mcp.validation.claims import NO_CLAIMS, Claims, FileClaim
from goop_mcp.validation.evidence_rules import NOT_CHECKED
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.rules import Problem

__all__ = ["claims_of", "unchecked_files"]


def claims_of(reply: Reply) -> Claims:
    """Return the claims of `reply`: each file it delivers.

    One that was cut off claims nothing (D-16).
    """
    if reply.partial:
        return NO_CLAIMS
    return Claims(
        files=tuple(
            [
                FileClaim(
                    path=each.path,
                    where=f"/deliverables/{number}/path",
                    # A folder may be delivered whole, which the slash after its name shows.
                    kind="present" if each.path.rstrip().endswith("/") else "created",
                )
                for number, each in enumerate(reply.deliverables or ())
                if each.path and each.path.strip()
            ]
        )
    )


def unchecked_files(reply: Reply, expected: Expectations) -> list[Problem]:
    """Report that the delivered files of `reply` are unchecked, unless the caller checks (D-60)."""
    # "Always verify existence" (Implementation Notes)
    if expected.files_checked or reply.partial:
        return []

    count = len([None for each in reply.deliverables or () if each.path and each.path.strip()])
    if not count:
        return []

    what = "a deliverable was" if count == 1 else f"{count} deliverables were"
    message = (
        f"{what} not verified, because no workspace is known; expected a check in the project's"
        " folder"
    )

    # About the reply as a whole: the position of its start is enough.
    return [NOT_CHECKED.problem(message, path="/deliverables", offset=0)]
