"""What an agent's answer says is true of the project."""

from collections.abc import Iterator

from goop_mcp.protocols.speckit import tables
from goop_mcp.protocols.speckit.model import Response, Status, plain_agent
from goop_mcp.protocols.speckit.result_values import number, section
from goop_mcp.validation.claims import (
    NO_CLAIMS,
    CheckClaim,
    Claims,
    FileClaim,
    FileClaimKind,
    run_named_in,
)
from goop_mcp.validation.json_strings import escape_pointer
from goop_mcp.validation.json_values import Fields

__all__ = ["claims_of"]

# Where the review lists files that no longer exist, and which lists name files by their last part.
_CHANGES = "/result/changes_made"
_GONE = (f"{_CHANGES}/files_deleted/", f"{_CHANGES}/files_moved/")
_MADE: dict[str, FileClaimKind] = {
    f"{_CHANGES}/files_created/": "created",
    f"{_CHANGES}/files_modified/": "modified",
}
_LISTS = ("/result/artifacts_created/", "/result/artifacts_analyzed/")


def claims_of(response: Response) -> Claims:
    """Return the claims of `response`: every file its result names, and its quality gates.

    An error and a part of an answer claim nothing.
    """
    if response.partial or response.status is not Status.SUCCESS:
        return NO_CLAIMS

    table = tables.RESULTS.get(plain_agent(response.agent or ""))
    if table is None or response.result is None:
        return NO_CLAIMS

    named = Fields(table).paths(dict(response.result), "/result")

    files = []
    for where, path in named:
        if not path.strip():
            continue

        kind: FileClaimKind = next(
            (kind for begin, kind in _MADE.items() if where.startswith(begin)), "present"
        )
        # Of a move, the old place is gone and the new one is there.
        if where.startswith(_GONE) and not where.endswith("/to"):
            kind = "gone"
        files.append(FileClaim(path=path, where=where, kind=kind, loose=where.startswith(_LISTS)))

    return Claims(files=tuple(files), checks=tuple(_checks(response)), complete=True)


def _checks(response: Response) -> Iterator[CheckClaim]:
    """Yield the quality gates of the test agent; other agents report none."""
    if plain_agent(response.agent or "") != "test":
        return

    for name, gate in section(response.result, "quality_gates").items():
        if not isinstance(gate, dict) or gate.get("status") not in ("PASSED", "FAILED"):
            continue

        details = section(gate, "details")
        texts = [
            *(
                f"{count:g} {key}"
                for key in ("passed", "failed", "errors", "skipped")
                if (count := number(details, key)) is not None
            ),
            *(
                value
                for values in (gate, details)
                for key, value in values.items()
                if isinstance(value, str) and key != "status"
            ),
        ]
        text = "\n".join(texts)
        yield CheckClaim(
            name=name.replace("_", " "),
            passed=gate["status"] == "PASSED",
            text=text,
            where=f"/result/quality_gates/{escape_pointer(name)}",
            run=named if isinstance(named := gate.get("run"), str) else run_named_in(text),
        )
