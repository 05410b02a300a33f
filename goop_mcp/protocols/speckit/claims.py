"""What an agent's answer says is true of the project."""

from collections.abc import Iterator

from msgspec.structs import replace

from goop_mcp.protocols.speckit import tables
from goop_mcp.protocols.speckit.model import Response, Status, plain_agent
from goop_mcp.protocols.speckit.result_values import items, number, section
from goop_mcp.protocols.speckit.rules.gates import is_unfinished
from goop_mcp.validation.claims import (
    NO_CLAIMS,
    CheckClaim,
    Claims,
    FileClaim,
    FileClaimKind,
    StatusClaim,
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
_NOT_DONE = ("FAILED", "NEEDS_MANUAL_REVIEW")
_LISTS = ("/result/artifacts_created/", "/result/artifacts_analyzed/")


def claims_of(response: Response) -> Claims:
    """Return the claims of `response`: every file its result names, and its quality gates.

    An error claims nothing but its message, and a part of an answer nothing at all.
    """
    if response.partial:
        return NO_CLAIMS

    stated = Claims(
        status=_status(response),
        blockers=(response.error.message,)
        if response.error is not None and response.error.message
        else (),
        texts=tuple(_counts_in(response)),
    )
    table = tables.RESULTS.get(plain_agent(response.agent or ""))
    if response.status is not Status.SUCCESS or table is None or response.result is None:
        return stated

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

    return replace(
        stated,
        files=tuple(files),
        checks=tuple(_checks(response)),
        complete=True,
        lists_files="changes_made" in response.result,
    )


def _status(response: Response) -> StatusClaim | None:
    if response.status is None:
        return None
    word, where = response.status.value, "/status"
    # What the work found is in the result (D-45).
    overall = (response.result or {}).get("overall_status")
    if response.status is Status.SUCCESS and isinstance(overall, str):
        word, where = overall, "/result/overall_status"
    done = response.status is Status.SUCCESS and overall not in _NOT_DONE
    return StatusClaim(word=word, done=done and not is_unfinished(response), where=where)


def _counts_in(response: Response) -> Iterator[tuple[str, str]]:
    """Yield what the result counts in fields of its own, as runners write it."""
    result = response.result
    total, passed = number(result, "tests_total"), number(result, "tests_passed")
    if passed is not None:
        failed = "" if total is None else f"{max(total - passed, 0):g} failed"
        yield "tests_passed", f"{passed:g} passed\n{failed}"

    criteria = [
        each.get("status")
        for each in items(result, "success_criteria") or ()
        if isinstance(each, dict)
    ]
    if criteria:
        counts = f"{criteria.count('PASSED')} passed\n{criteria.count('FAILED')} failed"
        yield "success_criteria", counts


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
