"""What a request promises: its files are there once its session has ended."""

from goop_mcp.protocols.agent_request.model import Request
from goop_mcp.validation.claims import NO_CLAIMS, Claims, FileClaim

__all__ = ["claims_of"]


def claims_of(request: Request) -> Claims:
    """Return the promises of `request`: the files that are required (H-10). One that was cut off has none (D-16)."""
    if request.partial:
        return NO_CLAIMS
    files = [each for each in request.deliverables or () if each.kind == "file"]
    return Claims(
        files=tuple(
            [
                FileClaim(path=each.path, where=f"/agent_request/deliverables/file[{number}]/@path", kind="promised")
                for number, each in enumerate(files, 1)
                if each.path and each.required is not False
            ]
        ),
        session=request.session_id,
    )
