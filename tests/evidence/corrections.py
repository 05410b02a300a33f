"""Corrections in the four formats: the first reply, its correction, and what that is."""

import json
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from goop_mcp.validation.samples import REQUEST_PROMPT

__all__ = ["CORRECTIONS", "Correcting", "report"]

Kind = Literal["form", "worse", "better"]


class Correcting(NamedTuple):
    """Two replies of one agent; the first is sent back for an error of form.

    A "better" correction claims what needs work; the others are free.
    """

    id: str
    protocol: str
    kind: Kind
    first: str
    second: str


_REPORT = """\
Here is my report.

<goop_report version="0.1.6">
  <status>{status}</status>
  <agent>goop-executor</agent>
  <task_id>W1.T2</task_id>
  <state><phase>{phase}</phase></state>
  <summary>{summary}</summary>
  <artifacts><files/><commits/></artifacts>
  <memory/>
  <verification>{checks}</verification>
  <handoff>
    <ready>{ready}</ready>
    <next_action agent="goop-tester">Test the login endpoint</next_action>
    <blockers>{blockers}</blockers>
    <suggest_new_session>false</suggest_new_session>
  </handoff>
</goop_report>
"""
_PASSES = '<check name="tests" passed="true">pytest: 12 passed</check>'
_FAILS = '<check name="tests" passed="false">pytest: 10 passed, 2 failed</check>'
_LINT = '<check name="lint" passed="true">ruff: no findings</check>'
_KEY = "the API key of the mail server is missing"


def report(**values: str) -> str:
    """Return a good report with `values` in it."""
    good = {
        "status": "COMPLETE",
        "phase": "execute",
        "summary": "Added the login endpoint.",
        "checks": _PASSES,
        "ready": "true",
        "blockers": "None",
    }
    return _REPORT.format(**{**good, **values})


def _partial(**values: str) -> dict[str, str]:
    return {"status": "PARTIAL", "checks": _FAILS, "ready": "false", **values}


def _pair(id: str, kind: Kind, first: dict[str, str], second: dict[str, str]) -> Correcting:
    """Return a correction of a report whose first reply names a phase that does not exist."""
    return Correcting(
        id, "goop_report", kind, report(**{"phase": "coding", **first}), report(**second)
    )


def _reports() -> Iterator[Correcting]:
    done: dict[str, str] = {}
    blocked = {"status": "BLOCKED", "ready": "false", "blockers": _KEY, "checks": _LINT}
    two = {**_partial(), "blockers": f"- {_KEY}\n- the staging database is down"}
    yield _pair("phase", "form", done, done)
    yield _pair("phase of an unfinished task", "form", _partial(), _partial())
    yield _pair("phase of a blocked task", "form", blocked, blocked)
    yield _pair("wrong word for done", "form", {"status": "FINISHED", "phase": "execute"}, done)
    yield _pair("another word for done", "form", {"status": "DONE-ISH", "phase": "execute"}, done)
    yield _pair("ticks", "form", {"blockers": "None ✓"}, done)
    yield _pair(
        "other words for a blocker",
        "form",
        blocked,
        {**blocked, "blockers": "I have no API key for the mail server"},
    )
    yield _pair(
        "two blockers in one line",
        "form",
        two,
        {**two, "blockers": f"{_KEY}; the staging database is down"},
    )
    yield _pair(
        "another name of a failed check",
        "form",
        _partial(),
        _partial(checks=_FAILS.replace('"tests"', '"unit tests"')),
    )
    yield _pair(
        "a check is split",
        "form",
        {"checks": _PASSES},
        {"checks": "".join(_PASSES.replace("12", part) for part in ("7", "5"))},
    )
    yield _pair("another summary", "form", done, {"summary": "The login endpoint is there."})
    yield _pair("the summary repeats the counts", "form", done, {"summary": "Added it; 12 passed."})
    yield _pair(
        "a result that was missing",
        "form",
        {"checks": _PASSES.replace("pytest: 12 passed", "ok")},
        done,
    )
    yield _pair(
        "passed in words",
        "form",
        {"checks": _PASSES.replace('"true"', '"yes"'), "phase": "execute"},
        done,
    )
    yield _pair("a check more", "form", done, {"checks": _PASSES + _LINT})
    yield _pair("a check less", "form", {"checks": _PASSES + _LINT}, done)
    yield _pair("no longer done", "worse", done, _partial())
    yield _pair("blocked after all", "worse", done, blocked)
    yield _pair("a blocker more", "worse", blocked, {**blocked, "blockers": two["blockers"]})
    yield _pair("fewer passed", "worse", done, {"checks": _PASSES.replace("12", "11")})
    yield _pair(
        "more failed",
        "worse",
        _partial(),
        _partial(checks=_FAILS.replace("10 passed, 2", "8 passed, 4")),
    )
    yield _pair("a check fails after all", "worse", done, _partial())
    yield _pair("partial after blocked", "worse", {**blocked, "blockers": "?"}, _partial())
    yield _pair(
        "the scene",
        "better",
        _partial(status="FAILED", blockers=_KEY, phase="execute"),
        done,
    )
    yield _pair("failed, and done", "better", {"status": "FAILED", "phase": "execute"}, done)
    yield _pair("partial, and done", "better", {"status": "PARTIAL", "ready": "false"}, done)
    yield _pair("blocked, and done", "better", blocked, {"checks": _LINT})
    yield _pair("checkpoint, and done", "better", {"status": "CHECKPOINT", "ready": "false"}, done)
    yield _pair("a failed check passes", "better", _partial(), _partial(checks=_PASSES))
    yield _pair("a failed check is gone", "better", _partial(), _partial(checks=_LINT))
    yield _pair(
        "one of two failed checks is gone",
        "better",
        _partial(checks=_FAILS + _FAILS.replace("tests", "e2e")),
        _partial(),
    )
    yield _pair(
        "fewer failed",
        "better",
        _partial(),
        _partial(checks=_FAILS.replace("10 passed, 2", "11 passed, 1")),
    )
    yield _pair(
        "more passed",
        "better",
        _partial(checks=_PASSES.replace("12", "10")),
        _partial(checks=_PASSES),
    )
    yield _pair("the blocker is gone", "better", _partial(blockers=_KEY), _partial())
    yield _pair("one of two blockers is gone", "better", two, {**two, "blockers": f"- {_KEY}"})
    yield _pair(
        "the number is deleted",
        "better",
        {"checks": _PASSES.replace("12 passed", "10 passed, 2 failed"), "phase": "execute"},
        done,
    )
    yield _pair(
        "the check with the number is deleted",
        "better",
        {"checks": _LINT + _PASSES.replace("12 passed", "10 passed, 2 failed"), "phase": "execute"},
        {"checks": _LINT},
    )
    yield _pair(
        "what did not run passes",
        "better",
        {"checks": _PASSES.replace("pytest: 12 passed", "not run, CI will run it")},
        done,
    )
    yield _pair(
        "the summary counts no failures any more",
        "better",
        _partial(checks=_LINT, summary="Added it; 10 tests passed, 2 failed."),
        _partial(checks=_LINT, summary="Added it; 12 tests passed."),
    )
    yield _pair(
        "in German",
        "better",
        _partial(checks=_FAILS.replace("10 passed, 2 failed", "10 bestanden, 2 fehlgeschlagen")),
        _partial(checks=_PASSES.replace("12 passed", "12 bestanden")),
    )


def _speckit(**values: Any) -> str:  # noqa: ANN401
    status, passed, failed = values.pop("tests", ("PASSED", 45, 0))
    tests = {"total": passed + failed, "passed": passed, "failed": failed}
    gates = {
        "tests_passing": {"status": status, "details": tests},
        "coverage": {"status": "PASSED", "details": {"overall": 87.5, "required": 80.0}},
        "code_quality": {"status": "PASSED", "details": {"lint_errors": 0, "type_errors": 0}},
        "build_validation": {"status": "PASSED", "details": {"docker_compose": "valid"}},
    }
    answer = {
        "agent": "test",
        "status": "success",
        "timestamp": values.pop("timestamp", "2026-01-15T10:30:00Z"),
        "execution_time_ms": 1234,
        "result": {
            "feature_id": "007-oauth-login",
            "overall_status": values.pop("overall", "PASSED"),
            "quality_gates": gates,
            "success_criteria": [
                {"id": "SC-001", "description": "A user can log in", "status": each}
                for each in values.pop("criteria", ("PASSED",))
            ],
            "next_steps": ["review"],
        },
        **values,
    }
    return json.dumps(answer, indent=1)


def _answers() -> Iterator[Correcting]:
    wrong = "yesterday"
    fails = {"overall": "FAILED", "tests": ("FAILED", 43, 2)}
    error = {
        "status": "error",
        "result": None,
        "error": {
            "type": "PrerequisiteError",
            "code": "MISSING_PLAN",
            "message": "plan.md is missing",
            "recoverable": True,
            "recovery_strategy": "run_prerequisite_agent",
            "suggested_action": {"agent": "plan", "reason": "it writes plan.md"},
        },
    }
    scenes: list[tuple[str, Kind, dict[str, Any], dict[str, Any]]] = [
        ("time", "form", {}, {}),
        ("time of a failed run", "form", fails, fails),
        ("time of an error", "form", error, error),
        ("worse", "worse", {}, fails),
        ("an error after all", "worse", {}, error),
        ("passed after failed", "better", fails, {}),
        ("only the word", "better", {"overall": "FAILED"}, {}),
        ("success after an error", "better", error, {}),
        ("fewer failures", "better", fails, {**fails, "tests": ("FAILED", 44, 1)}),
        (
            "a criterion passes",
            "better",
            {"criteria": ("PASSED", "FAILED")},
            {"criteria": ("PASSED", "PASSED")},
        ),
    ]
    for id, kind, first, second in scenes:
        yield Correcting(
            id, "speckit", kind, _speckit(timestamp=wrong, **first), _speckit(**second)
        )


def _factory(**values: Any) -> str:  # noqa: ANN401
    reply = {
        "status": "success",
        "confidence": "high",
        "deliverables": [{"path": "agents.md", "type": "config", "description": "The agents"}],
        "summary": "Designed a data pipeline with four agents",
        "next_action": "ready_for_review",
        **values,
    }
    written = {key: value for key, value in reply.items() if value is not None}
    return f"Ready.\n\n```json\n{json.dumps(written, indent=1)}\n```\n"


def _factories() -> Iterator[Correcting]:
    outside = [{"path": "/etc/agents.md", "type": "architecture", "description": "The agents"}]
    critic = {"verdict": "BLOCKING", "blocking_issues": [{"id": "B1", "title": "No memory"}]}
    passed = {"verdict": "PASS", "requirements_checked": 4, "next_action": "proceed_to_build"}
    check = {"name": "tests", "passed": True, "evidence": "pytest: 12 passed"}
    failing = {"name": "tests", "passed": False, "evidence": "pytest: 10 passed, 2 failed"}
    failure = {
        "status": "failure",
        "error": {"type": "technical_error", "message": "the disk is full", "recoverable": True},
        "attempted": "Wrote the agents",
        "recommendation": "Free some space",
    }
    scenes: list[tuple[str, Kind, dict[str, Any], dict[str, Any]]] = [
        ("path", "form", {}, {}),
        ("path with checks", "form", {"checks": [check]}, {"checks": [check]}),
        ("path of a failure", "form", failure, failure),
        ("path of a critic", "form", critic, critic),
        ("worse", "worse", {"checks": [check]}, {**failure, "checks": [failing]}),
        ("blocking after all", "worse", passed, critic),
        ("success after a failure", "better", failure, {}),
        ("no blocking issue any more", "better", critic, passed),
        (
            "a failed check passes",
            "better",
            {**failure, "checks": [failing]},
            {**failure, "checks": [check]},
        ),
        (
            "the failed tests of the metrics are gone",
            "better",
            {"metrics": {"tests_failed": 2, "tests_passed": 10}},
            {"metrics": {"tests_passed": 12, "tests_failed": 0}},
        ),
    ]
    for id, kind, first, second in scenes:
        yield Correcting(
            id, "factory", kind, _factory(**{"deliverables": outside, **first}), _factory(**second)
        )


def _requests() -> Iterator[Correcting]:
    """Yield requests, which ask for work and report none: nothing of them is compared."""
    tests = REQUEST_PROMPT.replace("Add POST /login", "10 passed, 2 failed; fix POST /login")
    fixed = tests.replace("10 passed, 2 failed", "12 passed, none failed")
    for id, first, second in (("mode", REQUEST_PROMPT, REQUEST_PROMPT), ("task", tests, fixed)):
        wrong = first.replace("<mode>spawn</mode>", "<mode>fork</mode>")
        yield Correcting(id, "agent_request", "form", wrong, second)


CORRECTIONS = (*_reports(), *_answers(), *_factories(), *_requests())
