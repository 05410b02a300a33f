"""Hypothesis strategies for verdicts of all protocols, and for what callers know."""

import json
from typing import Any

from hypothesis import strategies as st

from goop_mcp import Verdict
from goop_mcp.protocols.goop_report.writing import write_report
from goop_mcp.routing import RoutingContext
from goop_mcp.validation.findings import Mode
from tests.routing.replies import CASES, answer, case, factory, judged, with_status
from tests.validation.replies import MODES
from tests.validation.strategies import reports, spoiled

_MODES: st.SearchStrategy[Mode] = st.sampled_from(MODES)
_NAMES = {
    protocol: sorted(
        path.relative_to(CASES).as_posix()
        for path in (CASES / protocol).iterdir()
        if path.name != "index.jsonl" and path.is_file()
    )
    for protocol in ("goop_report", "speckit", "factory", "agent_request")
}


def samples(protocol: str) -> st.SearchStrategy[str]:
    """Return the cases of `protocol`."""
    return st.sampled_from(_NAMES[protocol]).map(case)


# JSON with other values in it

_WORDS = st.sampled_from(
    [
        *(
            "success",
            "error",
            "failure",
            "questions",
            "PASS",
            "BLOCKING",
            "FAIL",
            "FAILED",
            "PASSED",
            "LOW",
            "HIGH",
        ),
        *(
            "CRITICAL",
            "low",
            "medium",
            "high",
            "implement",
            "plan",
            "baker",
            "speckit-tasks",
            "retry",
            "ask_user",
        ),
        *(
            "feedback_loop",
            "manual_resolution",
            "run_prerequisite_agent",
            "retry_with_backoff",
            "fix_and_retry",
        ),
        *(
            "ready_for_review",
            "proceed_to_build",
            "return_to_engineer",
            "missing_input",
            "technical_error",
        ),
        *(
            "invalid_config",
            "NEEDS_MANUAL_REVIEW",
            "TimeoutError",
            "ExternalServiceError",
            "PrerequisiteError",
            "",
        ),
    ]
)
_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-1, 3),
    st.floats(0, 100),
    _WORDS,
    st.text(max_size=8),
    st.builds(list),
    st.builds(dict),
    st.lists(_WORDS, max_size=2),
)
_SPOTS = (
    "status",
    "verdict",
    "confidence",
    "next_action",
    "next_steps",
    "overall_status",
    "findings_by_severity",
)
_MORE = (
    "recovery_strategy",
    "type",
    "recoverable",
    "suggested_action",
    "remaining_ambiguities",
    "issues_to_fix",
)


def _places(value: object, way: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    if isinstance(value, dict):
        return [
            place
            for key, each in value.items()
            for place in [(*way, key), *_places(each, (*way, key))]
        ]

    if isinstance(value, list):
        return [
            place
            for key, each in enumerate(value)
            for place in [(*way, key), *_places(each, (*way, key))]
        ]

    return []


@st.composite
def _changed_json(draw: st.DrawFn, protocol: str) -> str:
    name = draw(
        st.sampled_from(
            [name for name in _NAMES[protocol] if "concrete" in name and name.endswith("json")]
        )
    )
    values: dict[str, Any] = json.loads(case(name))
    for _ in range(draw(st.integers(0, 3))):
        *way, last = draw(st.sampled_from(_places(values)))
        owner: Any = values
        for key in way:
            owner = owner[key]

        owner[last] = draw(_VALUES)

    if draw(st.booleans()):
        owner = values.get("result") if isinstance(values.get("result"), dict) else values
        owner[draw(st.sampled_from([*_SPOTS, *_MORE]))] = draw(_VALUES)

    return json.dumps(values)


# Replies that are in order, and whose content says go on or stop


_HINTS = st.sampled_from(
    ["ready_for_review", "proceed_to_build", "return_to_architect", "ship_it", None]
)
_LEVELS = st.sampled_from(["high", "medium", "low", "90%", None])


@st.composite
def _directed_factory(draw: st.DrawFn) -> str:
    name = draw(st.sampled_from(["architect_success", "critic_pass", "critic_blocking"]))
    return factory(name, next_action=draw(_HINTS), confidence=draw(_LEVELS), confidence_notes="x")


_GATES: dict[str, dict[str, list[object]]] = {
    "specify": {"clarifications_needed": [0, 2]},
    "clarify": {"remaining_ambiguities": [0, 2]},
    "research": {"confidence_level": ["HIGH", "MEDIUM", "LOW"]},
    "plan": {"constitution_violations": [[], ["rule 3"]]},
    "analyze": {
        "findings_by_severity": [
            {"CRITICAL": number, "HIGH": 2, "MEDIUM": 3, "LOW": 2} for number in (0, 1)
        ],
        "findings": [
            [
                {
                    "severity": word,
                    "type": "coverage",
                    "message": "x",
                    "location": "a.md:1",
                    "recommendation": "y",
                }
            ]
            for word in ("HIGH", "CRITICAL")
        ],
    },
    "implement": {"completion_percentage": [60, 100]},
    "test": {"overall_status": ["PASSED", "FAILED"]},
    "review": {
        "overall_status": ["APPROVED", "NEEDS_MANUAL_REVIEW"],
        "constitution_compliance": [
            {"status": status, "passed": 7, "failed": 1} for status in ("PASS", "FAIL")
        ],
    },
}
_STEPS = st.sampled_from([[], ["plan"], ["implement"], ["test", "review"], ["baker"]])


@st.composite
def _directed_speckit(draw: st.DrawFn) -> str:
    agent = draw(st.sampled_from(sorted(_GATES)))
    fields = {name: draw(st.sampled_from(values)) for name, values in _GATES[agent].items()}
    return answer(agent, next_steps=draw(_STEPS), **fields)


_ATTRIBUTES = st.sampled_from(
    [
        "",
        'depends_on="a"',
        'depends_on="s"',
        'session_id="s"',
        'session_id="s" depends_on="s"',
        'max_retries="1"',
    ]
)


@st.composite
def _requests(draw: st.DrawFn) -> str:
    text = draw(samples("agent_request"))
    return text.replace("<agent_request", f"<agent_request {draw(_ATTRIBUTES)}", 1)


@st.composite
def _failing_reports(draw: st.DrawFn) -> str:
    text = write_report(draw(reports()))
    return text.replace('passed="true"', 'passed="false"') if draw(st.booleans()) else text


_TEXTS = {
    "goop_report": st.one_of(_failing_reports(), spoiled(samples("goop_report"), most=2)),
    "speckit": st.one_of(
        _directed_speckit(), _changed_json("speckit"), spoiled(samples("speckit"), most=2)
    ),
    "factory": st.one_of(
        _directed_factory(), _changed_json("factory"), spoiled(samples("factory"), most=2)
    ),
    "agent_request": st.one_of(_requests(), spoiled(samples("agent_request"), most=2)),
}


@st.composite
def verdicts(draw: st.DrawFn) -> Verdict:
    """Draw a verdict on a reply of any protocol, in order or not."""
    protocol = draw(st.sampled_from(sorted(_TEXTS)))
    return judged(draw(_TEXTS[protocol]), protocol, draw(_MODES))


@st.composite
def _directed_reports(draw: st.DrawFn) -> str:
    status = draw(st.sampled_from(["COMPLETE", "PARTIAL", "BLOCKED", "CHECKPOINT"]))
    text = with_status(status, new_session=draw(st.sampled_from([True, False, None])))
    passed = draw(st.sampled_from(["true", "false"]))
    return text.replace('name="tests" passed="true"', f'name="tests" passed="{passed}"')


_DIRECTED = {
    "goop_report": _directed_reports(),
    "speckit": _directed_speckit(),
    "factory": _directed_factory(),
}


@st.composite
def detailed_verdicts(draw: st.DrawFn, protocol: str) -> Verdict:
    """Draw a verdict on a valid reply of `protocol` whose content makes the work go on or stop."""
    return judged(draw(_DIRECTED[protocol]), protocol, draw(_MODES))


# Contexts

_COUNTS = st.integers(0, 4)
_STATES = st.sampled_from(["RUNNING", "COMPLETED", "FAILED", "PENDING", "odd"])
_SESSIONS = st.dictionaries(
    st.sampled_from(["a", "b", "s"]),
    st.one_of(
        _STATES,
        st.fixed_dictionaries(
            {"state": _STATES}, optional={"depends_on": st.just(["s"]), "result": st.just(1)}
        ),
    ),
    max_size=3,
)
_RULES = st.sampled_from(
    ["goop_report/no-envelope", "speckit/no-envelope", "factory/missing-field", "x/y"]
)
_EVIDENCE = st.fixed_dictionaries(
    {
        "rule": st.sampled_from(["evidence/file-not-found", "evidence/commit-not-found"]),
        "severity": st.sampled_from(["error", "warning"]),
        "message": st.sampled_from(["src/a.py does not exist", "x"]),
    }
)
_POLICIES = st.fixed_dictionaries(
    {},
    optional={
        "adoption": st.sampled_from(["optional", "pilot", "expanded", "mandatory"]),
        "checkpoint_before_implement": st.booleans(),
        "auto_default": st.booleans(),
        "review_on_medium": st.booleans(),
        "approve_build": st.booleans(),
        "fail_on_warning": st.booleans(),
        "limits": st.fixed_dictionaries(
            {}, optional={"max_repair_rounds": _COUNTS, "backoff_retries": _COUNTS}
        ),
    },
)
_COUNTERS = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(
            ["repair_rounds", "evidence_repairs", "partials", "backoff_retries", "timeout_retries"],
            _COUNTS,
        ),
        **dict.fromkeys(
            ["fix_retries", "technical_retries", "critic_rejections", "session_retries"], _COUNTS
        ),
        "prerequisites": st.dictionaries(st.sampled_from(["plan", "tasks"]), _COUNTS, max_size=2),
    },
)


def contexts() -> st.SearchStrategy[RoutingContext]:
    """Return what callers may know, from nothing to everything."""
    return st.fixed_dictionaries(
        {},
        optional={
            "expected_agent": st.sampled_from(["goop-executor", "plan", "a:goop-x", ""]),
            "phase": st.sampled_from(["plan", "execute", "deploy"]),
            "task_id": st.sampled_from(["W1.T1", "W2.T3", "x"]),
            "session_id": st.just("s"),
            "attempt": st.integers(1, 3),
            "iteration": _COUNTS,
            "max_iterations": st.none() | _COUNTS,
            "counters": _COUNTERS,
            "previous_rules": st.lists(_RULES, max_size=2),
            "responded": st.booleans(),
            "evidence": st.lists(_EVIDENCE, max_size=2),
            "workflow": st.sampled_from(["SPIKE", "TDD", "research"]),
            "dependencies": _SESSIONS,
            "batch": _SESSIONS,
            "session_state": st.none() | _STATES,
            "known_agents": st.just(["baker"]),
            "execution_gate": st.sampled_from([None, True, False]),
            "profile": st.sampled_from(["0.x", "v1"]),
            "package_version": st.sampled_from([None, "0.1.6"]),
            "policy": _POLICIES,
        },
    ).map(RoutingContext.from_dict)
