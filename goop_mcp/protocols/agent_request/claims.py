"""What a request promises: its files are there once its session has ended."""

from goop_mcp.protocols.agent_request.model import Request
from goop_mcp.validation.claims import NO_CLAIMS, Claims, FileClaim

__all__ = ["claims_of"]


def claims_of(request: Request) -> Claims:
    """Return the promises of `request`: the files it wants (H-10).

    One that was cut off has none (D-16). A request asks for work, so it reports no check.
    """
    if request.partial:
        return NO_CLAIMS

    files = [each for each in request.deliverables or () if each.kind == "file"]
    claims = [
        FileClaim(
            path=each.path,
            where=f"/agent_request/deliverables/file[{number}]/@path",
            kind="optional" if each.required is False else "promised",
            loose=True,
        )
        for number, each in enumerate(files, 1)
        if each.path
    ]

    return Claims(files=tuple(claims), session=request.session_id)
