"""Rules about `<artifacts>`: files and commits."""

import re

from goop_mcp.protocols.goop_report.model import Commit, Report
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.findings import Hit, Severity, excerpt
from goop_mcp.validation.rules import Example, Rule
from goop_mcp.validation.samples import COMPLETE_REPLY

__all__ = ["ARTIFACT_RULES", "UNKNOWN_FILE_ACTION"]

_SHA = re.compile(r"[0-9a-fA-F]{4,40}")
_MESSAGE = re.compile(r"[A-Za-z][\w-]*(?:\([^()\n]+\))?!?: \S")
_COMMIT = '<commit sha="a1b2c3d">feat(auth): add login endpoint</commit>'
_START = COMPLETE_REPLY.index("  <artifacts>")
_SECTION = COMPLETE_REPLY[_START : COMPLETE_REPLY.index("  <memory>")]


def _commits(report: Report) -> tuple[Commit, ...]:
    return report.artifacts.commits if report.artifacts is not None else ()


def _artifacts_missing(report: Report, expected: Expectations) -> Hit | None:
    # "Required When Applicable: artifacts - when files changed or commits made"
    if not expected.files_changed:
        return None
    if report.artifacts is not None and (report.artifacts.files or report.artifacts.commits):
        return None
    return Hit(
        message="files were changed or commits made, and none is reported; expected <artifacts>",
        path="/goop_report/artifacts",
    )


def _commit_sha_form(report: Report, _expected: Expectations) -> list[Hit]:
    hits = []
    for number, commit in enumerate(_commits(report), 1):
        if commit.sha is None or not _SHA.fullmatch(commit.sha):
            what = "has no sha" if not commit.sha else f"has the sha {excerpt(commit.sha, 60)!r}"
            path = f"/goop_report/artifacts/commits/commit[{number}]"
            hits.append(
                Hit(
                    message=f"commit {what}; expected 4 to 40 hexadecimal digits",
                    path=f"{path}/@sha" if commit.sha else path,
                    found=excerpt(commit.sha) if commit.sha else None,
                )
            )
    return hits


def _commit_message_form(report: Report, _expected: Expectations) -> list[Hit]:
    return [
        Hit(
            message=f"commit message is {excerpt(commit.message, 60)!r}; expected the form type(scope): message",
            path=f"/goop_report/artifacts/commits/commit[{number}]",
            found=excerpt(commit.message) or None,
        )
        for number, commit in enumerate(_commits(report), 1)
        if not _MESSAGE.match(commit.message)
    ]


UNKNOWN_FILE_ACTION = Rule(
    id="goop_report/unknown-file-action",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="action outside created, modified, deleted",
    why="What is checked in the workspace depends on the action.",
    fix="Write created, modified or deleted; a renamed file is one deleted and one created.",
    requirements=("G-22", "G-23"),
    example=Example(good='action="created"', bad='action="renamed"', reply=COMPLETE_REPLY),
)

ARTIFACTS_MISSING = Rule(
    id="goop_report/artifacts-missing",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="the caller says that files changed or commits were made, and there are none",
    why="The chronicle and the next agent would miss the change.",
    fix="List every file you changed and every commit you made in <artifacts>.",
    requirements=("G-37",),
    example=Example(good=_SECTION, bad="", reply=COMPLETE_REPLY, expected=Expectations(files_changed=True)),
    check=_artifacts_missing,
)

COMMIT_SHA_FORM = Rule(
    id="goop_report/commit-sha-form",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="sha absent or not 4 to 40 hex digits",
    why="A commit that cannot be looked up is no evidence.",
    fix="Copy the sha that git printed, 7 digits are enough.",
    requirements=("G-24", "G-25"),
    example=Example(good='sha="a1b2c3d"', bad='sha="latest"', reply=COMPLETE_REPLY),
    check=_commit_sha_form,
)

COMMIT_MESSAGE_FORM = Rule(
    id="goop_report/commit-message-form",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="not `type(scope): message`",
    why="The chronicle groups commits by type. The scope may be left out.",
    fix="Write the commit's subject as type(scope): message.",
    requirements=("G-24",),
    example=Example(good=_COMMIT, bad='<commit sha="a1b2c3d">fixed stuff</commit>', reply=COMPLETE_REPLY),
    check=_commit_message_form,
)

ARTIFACT_RULES = (UNKNOWN_FILE_ACTION, ARTIFACTS_MISSING, COMMIT_SHA_FORM, COMMIT_MESSAGE_FORM)
