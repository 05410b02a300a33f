"""Rules about the version and the session: its id, its folder, the sessions it waits for."""

import re

from goop_mcp.protocols.agent_request.model import Request
from goop_mcp.protocols.agent_request.sessions import find_cycle, is_session_id
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.findings import Hit, Severity, excerpt
from goop_mcp.validation.rules import Example, RuleList
from goop_mcp.validation.samples import REQUEST_PROMPT

__all__ = ["SCHEMA_MISSING", "SESSION_RULES", "SUPPORTED_VERSIONS", "schema_files"]

SUPPORTED_VERSIONS = ("1.0", "1.1")

_SESSION = 'session_id="20260114-093000-login"'
_WAITING = f'{_SESSION} depends_on="20260113-080000-accounts"'
_TEMPLATE = re.compile(r"[|\[\]<>{}]")
_SHOWN = 60


def schema_files(version: str) -> tuple[str, ...]:
    """Return the names a schema for `version` may have, the longer first (D-71).

    >>> schema_files("1.0")
    ('agent-handoff-v1.0.xsd', 'agent-handoff-v1.xsd')
    """
    return (f"agent-handoff-v{version}.xsd", f"agent-handoff-v{version.partition('.')[0]}.xsd")


SESSION_RULES = RuleList()


@SESSION_RULES.rule(
    id="agent_request/unsupported-version",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="version other than 1.0 or 1.1, or its schema is not installed",
    why=(
        "Version 2 may ask for other fields. A request that is judged by the wrong schema is not"
        " judged."
    ),
    fix="Write version 1.0, or leave the attribute out.",
    requirements=("H-50", "H-51"),
    example=Example(good='version="1.0"', bad='version="9.9"', reply=REQUEST_PROMPT),
)
def _unsupported_version(request: Request, _expected: Expectations) -> Hit | None:
    if request.version in SUPPORTED_VERSIONS or _TEMPLATE.search(request.version):
        return None

    shown = excerpt(request.version, 40)
    return Hit(
        message=(
            f"version is {shown!r}, and its schema {schema_files(shown)[0]} is not installed;"
            " expected 1.0 or 1.1"
        ),
        path="/agent_request/@version",
        found=shown,
        expected=SUPPORTED_VERSIONS,
    )


SCHEMA_MISSING = SESSION_RULES.add(
    id="agent_request/schema-missing",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="a schema file was named and does not exist; only well-formedness was checked",
    why=(
        "Work on a new project may begin before its schema is there. Nothing else was checked, and"
        " somebody has to know."
    ),
    fix="Install the schema with goop-mcp schema agent_request --install, or name another file.",
    requirements=("H-33",),
    example=Example(
        good="goop-mcp gate prompt.md --schema .claude/schemas/agent-handoff-v1.xsd",
        bad="goop-mcp gate prompt.md --schema nowhere.xsd",
        reply="goop-mcp gate prompt.md --schema .claude/schemas/agent-handoff-v1.xsd",
    ),
)


@SESSION_RULES.rule(
    id="agent_request/session-id-form",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="not `YYYYMMDD-HHMMSS-slug`",
    why="The id is the name of a folder and sorts by time.",
    fix="Write the id as date, time and a short name: 20260114-093000-login.",
    requirements=("H-45",),
    example=Example(good=_SESSION, bad='session_id="login"', reply=REQUEST_PROMPT),
)
def _session_id_form(request: Request, _expected: Expectations) -> Hit | None:
    if request.session_id is None or is_session_id(request.session_id):
        return None
    return Hit(
        message=(
            f"session_id is {excerpt(request.session_id, _SHOWN)!r}; expected the form"
            " YYYYMMDD-HHMMSS-slug"
        ),
        path="/agent_request/@session_id",
        found=excerpt(request.session_id),
    )


@SESSION_RULES.rule(
    id="agent_request/session-id-differs",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="session_id is not the name of the session folder",
    why="The result would be looked for in another folder than the one in which the agent works.",
    fix="Write the name of the folder in which the prompt stands.",
    requirements=("H-45",),
    example=Example(
        good=_SESSION,
        bad='session_id="20260114-093000-logout"',
        reply=REQUEST_PROMPT,
        expected=Expectations(session_id="20260114-093000-login"),
    ),
)
def _session_id_differs(request: Request, expected: Expectations) -> Hit | None:
    folder = (
        expected.session_id
        or (expected.session_folder or "").replace("\\", "/").rstrip("/").rpartition("/")[2]
    )
    if not folder or request.session_id is None or request.session_id == folder:
        return None

    message = (
        f"session_id is {excerpt(request.session_id, _SHOWN)!r}; expected"
        f" {excerpt(folder, _SHOWN)!r}, the name of the session's folder"
    )

    return Hit(
        message=message,
        path="/agent_request/@session_id",
        found=excerpt(request.session_id),
        expected=(folder,),
    )


@SESSION_RULES.rule(
    id="agent_request/dependency-unknown",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="depends_on names an unknown session",
    why="A session that waits for one that never was waits for ever.",
    fix="Name sessions that exist, or leave depends_on out.",
    requirements=("H-14", "H-68"),
    example=Example(
        good=_WAITING,
        bad=f'{_SESSION} depends_on="20990101-000000-x"',
        reply=REQUEST_PROMPT.replace(_SESSION, _WAITING),
        expected=Expectations(sessions={"20260113-080000-accounts": ()}),
    ),
)
def _dependency_unknown(request: Request, expected: Expectations) -> list[Hit] | None:
    if expected.sessions is None:
        return None
    return [
        Hit(
            message=f"depends_on names {excerpt(session, _SHOWN)!r}, which is not a known session",
            path="/agent_request/@depends_on",
            found=excerpt(session),
        )
        for session in request.depends_on
        if session not in expected.sessions and session != request.session_id
    ]


@SESSION_RULES.rule(
    id="agent_request/dependency-cycle",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="the sessions wait for each other",
    why="None of them can ever start.",
    fix="Take one of the sessions out of depends_on.",
    requirements=("H-68",),
    example=Example(
        good=_WAITING,
        bad=f'{_SESSION} depends_on="20260113-090000-users"',
        reply=REQUEST_PROMPT.replace(_SESSION, _WAITING),
        expected=Expectations(
            sessions={
                "20260113-080000-accounts": (),
                "20260113-090000-users": ("20260114-093000-login",),
            }
        ),
    ),
)
def _dependency_cycle(request: Request, expected: Expectations) -> Hit | None:
    if not request.depends_on:
        return None

    own = request.session_id or ""
    cycle = find_cycle(own, {**(expected.sessions or {}), own: request.depends_on})
    if not cycle:
        return None

    shown = " after ".join(excerpt(session or "this session", _SHOWN) for session in cycle[:8])

    return Hit(
        message=(
            f"the sessions wait for each other: {shown}; expected an order in which each can start"
        ),
        path="/agent_request/@depends_on",
        found=excerpt(", ".join(request.depends_on)),
    )
