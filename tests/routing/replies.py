"""Replies of all protocols, judged and routed as the tests need them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from goop_mcp import Verdict
from goop_mcp.protocols.agent_request import AGENT_REQUEST
from goop_mcp.protocols.factory import FACTORY
from goop_mcp.protocols.goop_report import GOOP_REPORT
from goop_mcp.protocols.speckit import SPECKIT
from goop_mcp.routing import Decision, RoutingContext, route
from goop_mcp.validation import families, pipeline
from goop_mcp.validation.findings import Finding, Mode, Severity

CASES = Path(__file__).parent.parent / "cases"
FAMILIES: Mapping[str, families.Family] = {
    "goop_report": GOOP_REPORT,
    "speckit": SPECKIT,
    "factory": FACTORY,
    "agent_request": AGENT_REQUEST,
}


def case(name: str) -> str:
    """Return the reply `name` of the cases, byte for byte."""
    return (CASES / name).read_bytes().decode("utf-8")


def judged(text: str, protocol: str, mode: Mode = "lenient") -> Verdict:
    """Return the verdict on `text` as a reply of `protocol`."""
    return pipeline.validate(text, (FAMILIES[protocol],), protocol=protocol, mode=mode)


def routed(
    text: str, protocol: str, context: Mapping[str, Any] | None = None, *, mode: Mode = "lenient"
) -> Decision:
    """Return the decision on `text`, a reply or the name of a case; `context` as JSON values."""
    if "\n" not in text and (CASES / text).is_file():
        text = case(text)
    return route(judged(text, protocol, mode), RoutingContext.from_dict(context or {}))


def actions(decision: Decision) -> list[str]:
    """Return the actions as they go out."""
    return [action.value for action in decision.actions]


# goop_report

SAMPLE = case("goop_report/016_executor_complete.xml").strip()
BLOCKED = case("goop_report/016_executor_blocked.xml").strip()
PLANNER = case("goop_report/016_planner_complete.xml").strip()


def report(*edits: tuple[str, str]) -> str:
    """Return the seed's executor report with each (old, new) carried out once."""
    text = SAMPLE
    for old, new in edits:
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times"
        text = text.replace(old, new)

    return text


def with_status(status: str, *, new_session: bool | None = False) -> str:
    """Return the seed's executor report with another status; None leaves the session flag out."""
    flag = (
        ""
        if new_session is None
        else f"<suggest_new_session>{str(new_session).lower()}</suggest_new_session>"
    )
    return report(
        ("<status>COMPLETE</status>", f"<status>{status}</status>"),
        ("<suggest_new_session>false</suggest_new_session>", flag),
    )


# JSON


def answer(agent: str, **result: object) -> str:
    """Return the seed's answer of a speckit `agent` with fields of its result replaced."""
    values = json.loads(case(f"speckit/concrete_{agent}.json"))
    values["result"].update(result)
    return json.dumps(values, indent=1)


def failure(agent: str = "tasks", **error: object) -> str:
    """Return a speckit error of `agent`; a field that is None is left out."""
    values = json.loads(case("speckit/concrete_error_validation.json"))
    values["agent"] = agent
    values["error"].update(error)
    values["error"] = {name: value for name, value in values["error"].items() if value is not None}
    return json.dumps(values, indent=1)


def factory(name: str, **fields: object) -> str:
    """Return the seed's Factory sample `name` with fields replaced; None leaves a field out."""
    values = json.loads(case(f"factory/concrete_{name}.json"))
    values.update(fields)
    return json.dumps(
        {name: value for name, value in values.items() if value is not None}, indent=1
    )


# Evidence


def not_found(path: str = "src/ghost.ts") -> Finding:
    """Return the finding of a workspace check that misses `path`."""
    return Finding(
        rule="evidence/file-not-found",
        severity=Severity.ERROR,
        message=f"{path} does not exist; expected a file that was created",
        found=path,
        fix="Create the file, or take it out of the report.",
    )
