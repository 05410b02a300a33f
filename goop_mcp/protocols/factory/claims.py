"""What a Factory reply says is true of the project (F-15)."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from goop_mcp.protocols.factory.model import CriticVerdict, Reply, Status
from goop_mcp.validation.claims import (
    NO_CLAIMS,
    CheckClaim,
    Claims,
    FileClaim,
    StatusClaim,
    run_named_in,
)
from goop_mcp.validation.evidence_rules import NOT_CHECKED
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.json_strings import escape_pointer
from goop_mcp.validation.rules import Problem

__all__ = [
    "CHECK_TEXTS",
    "COUNTING_METRICS",
    "PASSED",
    "added_checks",
    "claims_of",
    "passed_state",
    "unchecked_files",
]

# The schema has no place for checks, so agents add one of these.
_LISTS = ("checks", "verification", "validation", "tests", "quality_gates")
CHECK_TEXTS: Final = (
    "evidence",
    "details",
    "output",
    "result",
    "message",
    "text",
    "summary",
)
"""The fields of such a check in which its result is described."""

COUNTING_METRICS: Final = {
    "passed": ("tests_passed", "passed_tests", "tests_passing"),
    "failed": ("tests_failed", "failed_tests", "test_failures", "tests_failing"),
}
"""The metrics that count tests, by what they count."""

PASSED: Final = frozenset({"pass", "passed", "success", "ok"})
"""Its states that mean that it passed, in small letters."""

_FAILED = frozenset({"fail", "failed", "failure", "error"})


def added_checks(reply: Reply) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield the checks that agents add to the fields of the schema, in a list or as an object.

    Each comes with its name, or that of what it stands in, and the pointer to it.
    """
    for name in _LISTS if reply.extensions else ():
        listed = reply.extensions.get(name)
        named = (
            listed.items()
            if isinstance(listed, dict)
            else enumerate(listed if isinstance(listed, list) else ())
        )
        for key, check in named:
            if isinstance(check, Mapping):
                title = check.get("name", key)
                pointer = f"/{name}/{escape_pointer(str(key))}"
                yield title if isinstance(title, str) else name, pointer, check


def claims_of(reply: Reply) -> Claims:
    """Return the claims of `reply`: each file it delivers and each check that it adds.

    One that was cut off claims nothing (D-16).
    """
    if reply.partial:
        return NO_CLAIMS

    checks: list[CheckClaim] = []
    counted = [("the summary", reply.summary or ""), ("metrics", _counts_in(reply.metrics or {}))]
    for name, pointer, check in added_checks(reply):
        texts = [each for field in CHECK_TEXTS if isinstance(each := check.get(field), str)]
        text, run = "\n".join(texts), check.get("run")
        if (passed := passed_state(check)) is None:
            counted.append((name, text))
            continue

        checks.append(
            CheckClaim(
                name=name,
                passed=passed,
                text=text,
                where=pointer,
                # Agents that know no such field name the recorded run in the text of the check.
                run=run if isinstance(run, str) else run_named_in(text),
            )
        )

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
        ),
        checks=tuple(checks),
        complete=reply.status is Status.SUCCESS,
        lists_files=reply.deliverables is not None,
        status=_status(reply),
        blockers=tuple(_blockers(reply)),
        texts=tuple(counted),
    )


def _status(reply: Reply) -> StatusClaim | None:
    if reply.status is None:
        return None
    # It outranks the status (F-23).
    if reply.verdict is not None:
        done = reply.status is Status.SUCCESS and reply.verdict is CriticVerdict.PASS
        return StatusClaim(word=reply.verdict.value, done=done, where="/verdict")
    return StatusClaim(
        word=reply.status.value, done=reply.status is Status.SUCCESS, where="/status"
    )


def _blockers(reply: Reply) -> Iterator[str]:
    for issue in reply.blocking_issues or ():
        yield issue.title or issue.description or issue.id or "an issue without a title"
    if reply.partial_work is not None:
        yield from reply.partial_work.blocked_on
    if reply.error is not None and (text := reply.error.message or reply.error.type):
        yield text


def _counts_in(metrics: Mapping[str, Any]) -> str:
    """Return the tests that the metrics count, as runners write them."""
    return "\n".join(
        f"{value:g} {kind}"
        for kind, names in COUNTING_METRICS.items()
        for name in names
        if isinstance(value := metrics.get(name), int | float) and not isinstance(value, bool)
    )


def passed_state(check: Mapping[str, object]) -> bool | None:
    """Return whether an additional check is reported as passed, None if it does not say."""
    passed, status = check.get("passed"), check.get("status")
    if isinstance(passed, bool):
        return passed
    if not isinstance(status, str):
        return None
    return True if status.lower() in PASSED else False if status.lower() in _FAILED else None


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
