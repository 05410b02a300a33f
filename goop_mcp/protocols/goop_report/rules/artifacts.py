"""Rules about `<artifacts>`: files and commits."""

import posixpath
import re

from goop_mcp.protocols.goop_report.model import Commit, FileAction, Report
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.findings import Hit, Severity, excerpt
from goop_mcp.validation.rules import Example, RuleList
from goop_mcp.validation.samples import COMPLETE_REPLY

__all__ = ["ARTIFACT_RULES", "CLAIM_IN_PROSE", "UNKNOWN_FILE_ACTION"]

_SHA = re.compile(r"[0-9a-fA-F]{4,40}")
_MESSAGE = re.compile(r"[A-Za-z][\w-]*(?:\([^()\n]+\))?!?: \S")
_COMMIT = '<commit sha="a1b2c3d">feat(auth): add login endpoint</commit>'
_START = COMPLETE_REPLY.index("  <artifacts>")
_SECTION = COMPLETE_REPLY[_START : COMPLETE_REPLY.index("  <memory>")]


def _commits(report: Report) -> tuple[Commit, ...]:
    return report.artifacts.commits if report.artifacts is not None else ()


ARTIFACT_RULES = RuleList()


UNKNOWN_FILE_ACTION = ARTIFACT_RULES.add(
    id="goop_report/unknown-file-action",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="action outside created, modified, deleted",
    why="What is checked in the workspace depends on the action.",
    fix="Write created, modified or deleted; a renamed file is one deleted and one created.",
    requirements=("G-22", "G-23"),
    example=Example(good='action="created"', bad='action="renamed"', reply=COMPLETE_REPLY),
)


@ARTIFACT_RULES.rule(
    id="goop_report/artifacts-missing",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="the caller says that files changed or commits were made, and the report lists none",
    why="The chronicle and the next agent would miss the change.",
    fix="List every file you changed and every commit you made in <artifacts>.",
    requirements=("G-37",),
    example=Example(
        good=_SECTION, bad="", reply=COMPLETE_REPLY, expected=Expectations(files_changed=True)
    ),
)
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


@ARTIFACT_RULES.rule(
    id="goop_report/commit-sha-form",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="sha absent or not 4 to 40 hex digits",
    why="A commit that cannot be looked up proves nothing.",
    fix="Copy the sha that git printed, 7 digits are enough.",
    requirements=("G-24", "G-25"),
    example=Example(good='sha="a1b2c3d"', bad='sha="latest"', reply=COMPLETE_REPLY),
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


@ARTIFACT_RULES.rule(
    id="goop_report/commit-message-form",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="not `type(scope): message`",
    why="The chronicle groups commits by type. The scope may be left out.",
    fix="Write the commit's subject as type(scope): message.",
    requirements=("G-24",),
    example=Example(
        good=_COMMIT, bad='<commit sha="a1b2c3d">fixed stuff</commit>', reply=COMPLETE_REPLY
    ),
)
def _commit_message_form(report: Report, _expected: Expectations) -> list[Hit]:
    return [
        Hit(
            message=(
                f"commit message is {excerpt(commit.message, 60)!r}; expected the form type(scope):"
                " message"
            ),
            path=f"/goop_report/artifacts/commits/commit[{number}]",
            found=excerpt(commit.message) or None,
        )
        for number, commit in enumerate(_commits(report), 1)
        if not _MESSAGE.match(commit.message)
    ]


@ARTIFACT_RULES.rule(
    id="goop_report/file-created-and-deleted",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="one file under two actions that exclude each other",
    why="After the work the file is there or it is not.",
    fix=(
        "List the file once, with what is true at the end; a file that came and went is not listed."
    ),
    requirements=("G-22",),
    example=Example(
        good="    <files>\n",
        bad='    <files>\n<file path="./src/login.py" action="deleted">Old endpoint</file>\n',
        reply=COMPLETE_REPLY,
    ),
)
def _file_created_and_deleted(report: Report, _expected: Expectations) -> list[Hit]:
    files = report.artifacts.files if report.artifacts is not None else ()
    if not any(each.action is FileAction.DELETED for each in files):
        return []

    gone = {
        posixpath.normpath(each.path)
        for each in files
        if each.action is FileAction.DELETED and each.path
    }

    return [
        Hit(
            message=(
                f"file {excerpt(each.path, 60)!r} is deleted and {each.action}; expected one of"
                " them"
            ),
            path=f"/goop_report/artifacts/files/file[{number}]/@action",
            found=str(each.action),
        )
        for number, each in enumerate(files, 1)
        if each.path
        and each.action not in (None, FileAction.DELETED)
        and posixpath.normpath(each.path) in gone
    ]


CLAIM_IN_PROSE = ARTIFACT_RULES.add(
    id="goop_report/claim-in-prose",
    lenient=Severity.WARNING,
    strict=Severity.ERROR,
    catches=(
        "files or commits as text inside `<files>`, `<commits>`; read as claims where a line is"
        " unambiguous"
    ),
    why="What stands as text is easily overlooked, and a line may mean several things.",
    fix=(
        'Write each file as <file path="…" action="created">what</file> and each commit as '
        '<commit sha="…">message</commit>.'
    ),
    requirements=("G-22", "G-24"),
    example=Example(
        good='<file path="src/login.py" action="created">Login endpoint</file>',
        bad="- src/login.py (created)",
        reply=COMPLETE_REPLY,
    ),
)
