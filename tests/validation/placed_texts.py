"""Complete honest replies in which one text is replaced, and a name for the place of each text."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from xml.sax.saxutils import escape, quoteattr

from goop_mcp import Expectations, Verdict, validate
from goop_mcp.protocols.factory import samples as factory
from goop_mcp.protocols.speckit import samples as speckit
from goop_mcp.validation.findings import Mode
from goop_mcp.validation.samples import BLOCKED_REPLY, COMPLETE_REPLY, REQUEST_PROMPT
from tests.validation.replies import CASES

__all__ = ["PlacedText", "judge_placed", "load_placed"]


@dataclass(frozen=True, slots=True)
class PlacedText:
    """A line of the set: what is true of a text in its place, and whether it is found today."""

    truth: str
    place: str
    text: str
    found: bool = True


def load_placed(truth: str) -> Iterator[PlacedText]:
    """Yield the texts of the set of which `truth` is true."""
    for line in (CASES / "texts" / "placed.jsonl").read_text(encoding="utf-8").splitlines():
        placed = PlacedText(**json.loads(line))
        if placed.truth == truth:
            yield placed


_EVIDENCE: Final = (
    '  <evidence><source kind="web docs">Three sources</source><choice>Redis, as'
    " before</choice></evidence>\n"
)
_COMMAND: Final = "<next_command>/goop-accept</next_command>\n    "
_WRITER: Final = """\
<goopspec_response>
<status>DOCS COMPLETE</status>
<agent>goop-writer</agent>
<document>docs/login.md</document>
<summary>Documented the login.</summary>
<documents><file path="docs/a.md">How to log in</file></documents>
<next_steps><for_orchestrator>Ready for review.</for_orchestrator>
<suggested_commit>docs: add login guide</suggested_commit></next_steps>
</goopspec_response>
"""
_XML: Final[Mapping[str, tuple[str, str, Mapping[str, str]]]] = {
    "report": (
        "goop_report",
        COMPLETE_REPLY.replace("  <handoff>\n", f"{_EVIDENCE}  <handoff>\n").replace(
            "<suggest_new_session>", f"{_COMMAND}<suggest_new_session>"
        ),
        {
            "status": ">COMPLETE<",
            "agent": ">goop-executor<",
            "task_id": ">W1.T2<",
            "task_name": ">Add the login endpoint<",
            "phase": ">execute<",
            "wave": 'current="1"',
            "summary": ">Added the login endpoint.<",
            "file": ">Login endpoint<",
            "path": 'path="src/login.py"',
            "action": 'action="created"',
            "commit": ">feat(auth): add login endpoint<",
            "sha": 'sha="a1b2c3d"',
            "saved": ">Sessions are kept in Redis<",
            "importance": 'importance="0.7"',
            "check": ">pytest: 12 passed<",
            "check_name": 'name="tests"',
            "next": ">W1.T3: test the login endpoint<",
            "next_agent": 'agent="goop-tester"',
            "read": "<file>src/login.py<",
            "blockers": ">None<",
            "command": ">/goop-accept<",
            "extension": ">Three sources<",
            "kind": 'kind="web docs"',
            "choice": ">Redis, as before<",
        },
    ),
    "blocked": (
        "goop_report",
        BLOCKED_REPLY,
        {
            "blockers": (
                ">RULE 4 DEVIATION: which provider? Options: A) Stripe (recommended), B) PayPal<"
            ),
            "next": ">Choose the payment provider<",
        },
    ),
    "writer": (
        "goop_report",
        _WRITER,
        {
            "document": ">docs/login.md<",
            "summary": ">Documented the login.<",
            "file": ">How to log in<",
            "next": ">Ready for review.<",
            "commit": ">docs: add login guide<",
        },
    ),
    "request": (
        "agent_request",
        REQUEST_PROMPT,
        {
            "intent": ">Let agents prove who they are<",
            "summary": ">Add POST /login and its tests<",
            "details": ">Write the tests first, then the endpoint.<",
            "constraint": ">No new dependencies<",
            "path": 'path="src/login.py"',
            "file": ">The endpoint<",
            "decision": ">Whether the database has to change<",
            "notes": ">Next: refresh tokens<",
            "target": 'target_agent="backend-agent"',
            "session": 'session_id="20260114-093000-login"',
            "workflow": ">TDD<",
            "mode": ">spawn<",
        },
    ),
}
_SECTIONS: Final = (
    "## STATUS\n{status}\n\n## SUMMARY\n{summary}\n\n## ARTIFACTS\n- {artifact}\n\n"
    "## VERIFICATION\n- {check}\n\n## NEXT\n{next}\n"
)
_MARKDOWN: Final = (
    "Task complete.\n\nDeliverables:\n- {path} - {description}\n\nSummary: {summary}\n"
)
_FILLED_IN: Final = {
    "sections": {
        "status": "complete",
        "summary": "Added the login.",
        "artifact": "src/a.py — the login",
        "check": "pytest — 12 passed",
        "next": "Review the login.",
    },
    "markdown": {
        "path": "docs/plan.md",
        "description": "The plan",
        "summary": "Wrote the plan of the second run.",
    },
}


def _values(text: str, **more: object) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(text[text.index("{") : text.rindex("}") + 1])
    return {**values, **more}


def _answer(agent: str, **result: object) -> dict[str, Any]:
    return _values(speckit.CLARIFY_REPLY, agent=agent, result=result)


_JSON: Final[Mapping[str, tuple[str, dict[str, Any], Mapping[str, str]]]] = {
    "success": (
        "factory",
        _values(
            factory.NOTED_REPLY,
            metrics={"files_created": 1},
            checks=[{"name": "tests", "passed": True, "evidence": "14 passed"}],
        ),
        {
            "summary": "summary",
            "description": "deliverables/0/description",
            "path": "deliverables/0/path",
            "type": "deliverables/0/type",
            "notes": "confidence_notes",
            "confidence": "confidence",
            "created": "metrics/files_created",
            "next": "next_action",
            "evidence": "checks/0/evidence",
        },
    ),
    "questions": (
        "factory",
        _values(factory.QUESTIONS_REPLY),
        {
            "question": "questions/0/question",
            "context": "questions/0/context",
            "default": "questions/0/default",
            "option": "questions/0/options/1",
            "recommendation": "recommendation",
        },
    ),
    "failure": (
        "factory",
        _values(factory.FAILURE_REPLY),
        {
            "message": "error/message",
            "type": "error/type",
            "attempted": "attempted",
            "recommendation": "recommendation",
        },
    ),
    "blocking": (
        "factory",
        _values(factory.BLOCKING_REPLY),
        {
            "title": "blocking_issues/0/title",
            "description": "blocking_issues/0/description",
            "resolution": "blocking_issues/0/resolution",
        },
    ),
    "critic": ("factory", _values(factory.CRITIC_REPLY), {"concern": "concerns/0"}),
    "research": (
        "speckit",
        _values(speckit.RESEARCH_REPLY),
        {
            "file": "result/research_cache_file",
            "technology": "result/technologies_researched/0/name",
            "decision": "result/decisions/0/decision",
            "choice": "result/decisions/0/choice",
            "rationale": "result/decisions/0/rationale",
            "level": "result/confidence_level",
        },
    ),
    "tasks": (
        "speckit",
        _values(speckit.TASKS_REPLY),
        {
            "file": "result/tasks_file",
            "id": "result/task_ids/0",
            "count": "result/task_count",
            "timestamp": "timestamp",
            "next": "result/next_steps/0",
        },
    ),
    "analyze": (
        "speckit",
        _values(speckit.ANALYZE_REPLY),
        {
            "report": "result/analysis_report",
            "message": "result/findings/0/message",
            "location": "result/findings/0/location",
            "recommendation": "result/findings/0/recommendation",
        },
    ),
    "test": (
        "speckit",
        _values(speckit.TEST_REPLY),
        {
            "criterion": "result/success_criteria/0/description",
            "evidence": "result/success_criteria/0/evidence",
            "feature": "result/feature_id",
            "build": "result/quality_gates/build_validation/details/docker_compose",
        },
    ),
    "implement": (
        "speckit",
        _answer(
            "implement",
            tasks_file="specs/7/tasks.md",
            tasks_completed=23,
            tasks_total=23,
            completion_percentage=100,
            tests_passed=127,
            tests_total=127,
            coverage_percentage=94.2,
            files_created=45,
            files_modified=12,
            implementation_phases={"setup": "completed"},
            next_steps=["test"],
            notes="All phases are done",
        ),
        {"notes": "result/notes", "phase": "result/implementation_phases/setup"},
    ),
    "review": (
        "speckit",
        _answer(
            "review",
            feature_id="7",
            overall_status="APPROVED",
            changes_made={
                "files_moved": [],
                "files_deleted": [{"path": "src/old.py", "reason": "Dead code"}],
                "files_created": [],
                "files_modified": [{"path": "src/a.py", "changes": "Renamed the handler"}],
            },
            constitution_compliance={"status": "PASS", "passed": 8, "failed": 0},
            cleanup_summary={"tests_removed": 0, "files_moved": 0, "dead_code_lines_removed": 0},
            next_steps=[],
        ),
        {
            "reason": "result/changes_made/files_deleted/0/reason",
            "changes": "result/changes_made/files_modified/0/changes",
            "path": "result/changes_made/files_modified/0/path",
        },
    ),
    "error": (
        "speckit",
        _values(speckit.ERROR_REPLY),
        {
            "type": "error/type",
            "code": "error/code",
            "message": "error/message",
            "agent": "error/suggested_action/agent",
            "reason": "error/suggested_action/reason",
        },
    ),
    "legacy": (
        "goop_report",
        {
            "status": "complete",
            "summary": "Added the login",
            "notes": ["Redis is used"],
            "next_steps": ["Review it"],
            "files_modified": ["src/a.py"],
        },
        {
            "summary": "summary",
            "note": "notes/0",
            "next": "next_steps/0",
            "file": "files_modified/0",
        },
    ),
}


def judge_placed(placed: PlacedText, mode: Mode = "lenient") -> Verdict:
    """Return the verdict on a reply that is honest but for the text in its place."""
    form, _, field = placed.place.partition(".")
    if form in _XML:
        protocol, reply, fields = _XML[form]
        return validate(_in_xml(reply, fields[field], placed.text), protocol=protocol, mode=mode)
    if form in _JSON:
        protocol, values, pointers = _JSON[form]
        return validate(
            _in_json(values, pointers[field], placed.text), protocol=protocol, mode=mode
        )

    texts = {**_FILLED_IN[form], field: placed.text}
    if form == "markdown":
        return validate(_MARKDOWN.format(**texts), protocol="factory", mode=mode)

    expected = Expectations(profile="v1")
    return validate(_SECTIONS.format(**texts), protocol="goop_report", expected=expected, mode=mode)


def _in_xml(reply: str, old: str, text: str) -> str:
    assert reply.count(old) == 1, old
    name, equals, _ = old.partition("=")
    if equals and old[-1] == '"':
        return reply.replace(old, f"{name}={quoteattr(text)}")

    start = old[: old.rindex(">") + 1]
    return reply.replace(old, f"{start}{escape(text)}<")


def _in_json(values: dict[str, Any], pointer: str, text: str) -> str:
    copy: Any = json.loads(json.dumps(values))
    place = copy
    *steps, last = pointer.split("/")
    for step in steps:
        place = place[int(step)] if isinstance(place, list) else place[step]

    place[int(last) if isinstance(place, list) else last] = text
    return json.dumps(copy, indent=1, ensure_ascii=False)
