"""One example for every row of the routing table, with what the published table says about it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from goop_mcp.routing import Decision
from tests.routing.replies import (
    BLOCKED,
    PLANNER,
    answer,
    case,
    factory,
    failure,
    not_found,
    report,
    routed,
    with_status,
)
from tests.routing.test_agent_request_rows import (
    FREEFORM,
    OTHER,
    SESSION,
    WAITING,
    prompt,
    with_attributes,
)
from tests.routing.test_goop_report_rows import FAILED_CHECK, executed

__all__ = ["EXAMPLES", "Example"]


@dataclass(frozen=True, slots=True)
class Example:
    """A reply that the row `rule` answers, with its `actions`, fields and `reason` without id."""

    rule: str
    text: str
    actions: str
    sets: str
    reason: str
    context: Mapping[str, object] = field(default_factory=dict)

    @property
    def protocol(self) -> str:
        """The protocol to judge by: that of the row, a report for the common ones."""
        families = {"S": "speckit", "F": "factory", "H": "agent_request"}
        return families.get(self.rule[0], "goop_report")

    def decision(self) -> Decision:
        """Return the decision on this example."""
        return routed(self.text, self.protocol, self.context)


def _to(agent: str) -> tuple[str, str]:
    return ('next_action agent="goop-executor"', f'next_action agent="{agent}"')


def _failing(kind: str, *, recoverable: bool = True, recommendation: str = "Write it.") -> str:
    error = {"type": kind, "message": "it went wrong", "recoverable": recoverable}
    return factory("failure_template", error=error, recommendation=recommendation)


REJECTED = "goop_report/derived_bad_status.xml"
SILENT = {"responded": False, "expected_agent": "goop-executor"}
TESTS_FAILED = "speckit/concrete_test_failed_but_success.json"
NO_PLAN = failure(
    type="PrerequisiteError",
    recovery_strategy="run_prerequisite_agent",
    suggested_action={"agent": "plan", "reason": "plan.md is missing"},
)
NO_SERVICE = failure(type="ExternalServiceError", recovery_strategy="retry_with_backoff")
UNSURE = factory("architect_success", confidence="low", confidence_notes="two readings")
MEDIUM = factory("architect_success", confidence="medium", confidence_notes="one doubt")
WITHOUT_FILE = {"session_state": "COMPLETED", "evidence": [not_found("src/api.py")]}
GHOST = not_found().message
MANDATORY = {"policy": {"adoption": "mandatory"}}

_ANY = [
    Example(
        "R1",
        "",
        "retry",
        "next_agent retry",
        "no response in time from goop-executor: the same request goes out again",
        SILENT,
    ),
    Example(
        "R1b",
        "",
        "ask_user",
        "blockers",
        "no response in time after 2 attempts: you decide",
        {**SILENT, "attempt": 2},
    ),
    Example(
        "R4",
        report(),
        "request_repair resume_same",
        "instruction",
        f"the reply claims what does not exist ({GHOST}): the agent corrects it",
        {"evidence": [not_found()]},
    ),
    Example(
        "R4b",
        report(),
        "ask_user",
        "blockers",
        f"the reply again claims what does not exist ({GHOST}): you decide",
        {"evidence": [not_found()], "counters": {"evidence_repairs": 1}},
    ),
    Example(
        "R2",
        REJECTED,
        "request_repair",
        "next_agent instruction retry",
        "1 error in the reply: goop-executor is asked to repair it",
    ),
    Example(
        "R3",
        REJECTED,
        "ask_user",
        "blockers",
        "still not accepted after 2 repair rounds: you decide",
        {"counters": {"repair_rounds": 2}},
    ),
    Example(
        "R9",
        report(_to("bob")),
        "ask_user",
        "blockers",
        "COMPLETE, and the next agent is 'bob': you decide",
    ),
]

_GOOP_REPORT = [
    Example(
        "G1",
        BLOCKED,
        "ask_user",
        "blockers questions",
        "BLOCKED: RULE 4 DEVIATION: Need user decision on payment provider. "
        "Options: A) Stripe (recommended, better docs), B) PayPal (wid…: you decide",
    ),
    Example(
        "G2",
        FAILED_CHECK,
        "resume_same",
        "next_agent instruction",
        'COMPLETE, but check "tests" failed: the same task continues',
    ),
    Example(
        "G2b",
        report(("<blockers>None</blockers>", "<blockers>the key is missing</blockers>")),
        "ask_user",
        "blockers instruction next_agent",
        "COMPLETE, but the key is missing: you decide",
    ),
    Example(
        "G2c",
        report(("bun test src/auth/ - 12 passed", "0 tests collected")),
        "resume_same",
        "next_agent instruction",
        'COMPLETE, but check "tests" shows no result: the same task continues',
    ),
    Example(
        "G7c",
        with_status("PARTIAL"),
        "ask_user",
        "blockers",
        "PARTIAL 4 times in a row on W2.T3: you decide",
        {"counters": {"partials": 3}},
    ),
    Example(
        "G7b",
        with_status("PARTIAL", new_session=True),
        "save_state new_session resume_same",
        "next_agent instruction next_command new_session files_to_read",
        "PARTIAL with a new session suggested: goop-executor resumes W2.T3 there",
    ),
    Example(
        "G7",
        with_status("PARTIAL"),
        "resume_same",
        "next_agent instruction files_to_read",
        "PARTIAL: goop-executor resumes W2.T3",
    ),
    Example(
        "G8",
        with_status("CHECKPOINT", new_session=None),
        "save_state new_session",
        "next_command new_session files_to_read instruction",
        "CHECKPOINT: the state is saved, and the work continues in a new session",
    ),
    Example(
        "G8b",
        with_status("CHECKPOINT"),
        "save_state continue_next",
        "next_agent instruction files_to_read",
        "CHECKPOINT without a new session: the state is saved, goop-executor continues",
    ),
    Example(
        "G3",
        PLANNER,
        "save_state new_session",
        "next_agent instruction next_command new_session files_to_read",
        "COMPLETE with a new session suggested: the state is saved and handed over",
    ),
    Example(
        "G4",
        report(_to("user")),
        "ask_user",
        "instruction next_command",
        "COMPLETE, and the next step is for the user",
    ),
    Example(
        "G5",
        executed(),
        "save_state continue_next",
        "next_agent next_command instruction",
        "COMPLETE, and W3.T4 was the last task of the last wave: goop-verifier takes over",
    ),
    Example(
        "G6",
        report(),
        "save_state continue_next",
        "next_agent instruction files_to_read next_command",
        "COMPLETE: goop-executor continues with the next task",
    ),
]

_SPECKIT = [
    Example(
        "S1",
        "speckit/concrete_error_constitution.json",
        "manual_resolution",
        "blockers",
        "ConstitutionViolationError, not recoverable: Missing plan.md (RULE_3): resolve it by hand",
    ),
    Example(
        "S1",
        answer("plan", constitution_violations=["Rule 3 is broken"]),
        "manual_resolution",
        "blockers",
        "success, but 1 constitution violation: resolve it by hand",
    ),
    Example(
        "S2",
        "speckit/concrete_error_branch_exists.json",
        "ask_user",
        "questions",
        "BranchExistsError: Missing plan.md (BRANCH): you decide",
    ),
    Example(
        "S3",
        NO_PLAN,
        "run_prerequisite retry",
        "next_agent instruction retry",
        "PrerequisiteError: plan runs first, then tasks again",
    ),
    Example(
        "S3b",
        NO_PLAN,
        "ask_user",
        "blockers",
        "PrerequisiteError, although plan has run: you decide",
        {"counters": {"prerequisites": {"plan": 1}}},
    ),
    Example(
        "S4",
        TESTS_FAILED,
        "feedback_loop",
        "next_agent issues instruction",
        "success, but quality gate tests_passing FAILED: total 45, passed 43, failed 2: "
        "implement runs again with the issues",
    ),
    Example(
        "S4b",
        TESTS_FAILED,
        "ask_user",
        "blockers",
        "the feedback loop is used up after 2 iterations: you decide",
        {"iteration": 2},
    ),
    Example(
        "S5",
        NO_SERVICE,
        "retry_with_backoff",
        "next_agent retry",
        "ExternalServiceError: Missing plan.md (BAD_INPUT): tasks tries again after a pause",
    ),
    Example(
        "S6",
        "speckit/concrete_error_timeout.json",
        "retry",
        "next_agent retry",
        "TimeoutError: Missing plan.md (TIMEOUT): implement tries again",
    ),
    Example(
        "S7",
        "speckit/concrete_error_validation.json",
        "fix_and_retry",
        "next_agent instruction",
        "ValidationError: Missing plan.md (BAD_INPUT): tasks fixes it and runs again",
    ),
    Example(
        "S7b",
        "speckit/concrete_error_validation.json",
        "ask_user",
        "blockers",
        "ValidationError: Missing plan.md (BAD_INPUT): no automatic way is left, you decide",
        {"counters": {"fix_retries": 2}},
    ),
    Example(
        "S8",
        answer("specify", clarifications_needed=2),
        "continue_next",
        "next_agent files_to_read",
        "success, with clarifications_needed 2: clarify continues",
    ),
    Example(
        "S9",
        answer("clarify", remaining_ambiguities=2),
        "ask_user",
        "questions next_agent",
        "success, but remaining_ambiguities is 2: you decide",
    ),
    Example(
        "S10",
        answer("implement", completion_percentage=60),
        "resume_same",
        "next_agent files_to_read",
        "success, but completion_percentage is 60: implement resumes",
    ),
    Example(
        "S10b",
        case("speckit/concrete_test.json").replace('"valid"', '"not run"'),
        "resume_same",
        "next_agent instruction",
        'success, but check "gate build_validation" shows no result: test resumes',
    ),
    Example(
        "S11",
        answer("review", overall_status="NEEDS_MANUAL_REVIEW"),
        "human_review",
        "issues",
        "success, but overall_status is NEEDS_MANUAL_REVIEW: a person looks at it",
    ),
    Example(
        "S12",
        answer("research", confidence_level="LOW"),
        "human_review",
        "next_agent",
        "success, but confidence_level is LOW: a person looks at it before the next step",
    ),
    Example(
        "S13",
        answer("tasks", next_steps=["implement"]),
        "human_review",
        "next_agent",
        "success, and the next step is implement: a person approves it first",
    ),
    Example(
        "S14",
        answer("plan", next_steps=["tasks", "analyze"]),
        "continue_next",
        "next_agent instruction files_to_read",
        "success: tasks is the next step",
    ),
    Example(
        "S15",
        answer("plan", next_steps=[]),
        "finish",
        "",
        "success, and next_steps names nobody: the work is finished",
    ),
]

_FACTORY = [
    Example(
        "F1",
        factory("questions"),
        "ask_user resume_same",
        "questions",
        "1 question: you answer, and the agent continues",
    ),
    Example(
        "F1",
        factory("questions"),
        "resume_same",
        "questions instruction",
        "1 question: the defaults are the answers",
        {"policy": {"auto_default": True}},
    ),
    Example(
        "F2",
        _failing("technical_error", recoverable=False),
        "manual_resolution",
        "blockers",
        "failure, not recoverable: it went wrong: resolve it by hand",
    ),
    Example(
        "F2a",
        _failing("missing_input", recommendation="Run the architect."),
        "run_prerequisite",
        "next_agent instruction",
        "missing_input: it went wrong: architect runs first",
    ),
    Example(
        "F2a",
        _failing("missing_input"),
        "ask_user",
        "instruction",
        "missing_input: it went wrong: you decide",
    ),
    Example(
        "F2b",
        _failing("ambiguous_requirements"),
        "ask_user",
        "questions",
        "ambiguous_requirements: it went wrong: you decide",
    ),
    Example(
        "F2c",
        _failing("invalid_config"),
        "fix_and_retry",
        "next_agent instruction",
        "invalid_config: it went wrong: engineer fixes it and runs again",
        {"expected_agent": "engineer"},
    ),
    Example(
        "F2d",
        _failing("technical_error"),
        "retry",
        "next_agent retry",
        "technical_error: it went wrong: engineer tries again",
        {"expected_agent": "engineer"},
    ),
    Example(
        "F2e",
        _failing("technical_error"),
        "ask_user",
        "blockers",
        "technical_error: it went wrong: no automatic way is left, you decide",
        {"counters": {"technical_retries": 1}},
    ),
    Example(
        "F3",
        factory("critic_blocking"),
        "feedback_loop",
        "next_agent issues",
        "success, but the verdict is BLOCKING with 2 issues: the work is sent back",
    ),
    Example(
        "F3b",
        factory("critic_blocking"),
        "ask_user",
        "blockers",
        "the verdict is BLOCKING, rejection 3: you decide",
        {"counters": {"critic_rejections": 2}},
    ),
    Example(
        "F3c",
        factory(
            "architect_success",
            checks=[{"name": "tests", "passed": True, "evidence": "left to the critic"}],
        ),
        "resume_same",
        "instruction",
        'success, but check "tests" shows no result: the agent resumes',
    ),
    Example(
        "F4",
        UNSURE,
        "human_review",
        "instruction",
        "success, but confidence is low: a person looks at it",
    ),
    Example(
        "F4b",
        MEDIUM,
        "continue_next",
        "next_agent",
        "success with confidence medium: the critic looks at it",
        {"policy": {"review_on_medium": True}},
    ),
    Example(
        "F5",
        factory("critic_pass"),
        "ask_user",
        "questions next_agent",
        "the verdict is PASS: you approve the build",
    ),
    Example(
        "F5b",
        factory("critic_pass"),
        "continue_next",
        "next_agent",
        "the verdict is PASS: the engineer builds it",
        {"policy": {"approve_build": False}},
    ),
    Example(
        "F5c",
        factory("critic_pass", next_action="ship_it"),
        "finish",
        "instruction",
        "the verdict is PASS, and the hint is ship_it: finished",
    ),
    Example(
        "F6",
        factory("architect_success"),
        "continue_next",
        "next_agent files_to_read",
        "success, ready_for_review: the critic looks at the deliverables",
    ),
    Example(
        "F7",
        factory("architect_success", next_action="ship_it"),
        "ask_user",
        "instruction",
        "success, and the hint is ship_it: you decide",
    ),
]

_AGENT_REQUEST = [
    Example(
        "H1",
        FREEFORM,
        "provide_context",
        "instruction",
        "no XML block in the prompt: the agent gets the prose, with a warning",
        {"workflow": "SPIKE"},
    ),
    Example(
        "H1b",
        FREEFORM,
        "reject",
        "",
        "no XML block in the prompt, and the adoption policy is mandatory: the spawn is refused",
        MANDATORY,
    ),
    Example(
        "H2",
        "agent_request/7_1_s2_bad_enum.md",
        "reject",
        "",
        "1 error in the request: the spawn is refused",
    ),
    Example(
        "H3b",
        WAITING,
        "reject",
        "blockers",
        "the sessions of depends_on wait for each other: the spawn is refused",
        {"dependencies": {OTHER: {"state": "PENDING", "depends_on": [SESSION]}}},
    ),
    Example(
        "H3",
        WAITING,
        "wait",
        "blockers",
        "1 session of depends_on not done: the request waits",
        {"dependencies": {OTHER: "RUNNING"}},
    ),
    Example(
        "H3c",
        WAITING,
        "ask_user",
        "blockers",
        "1 session of depends_on failed: you decide",
        {"dependencies": {OTHER: "FAILED"}},
    ),
    Example(
        "H6",
        with_attributes('max_retries="1"'),
        "resume_same",
        "next_agent instruction",
        "the session has ended without src/api.py: it continues",
        WITHOUT_FILE,
    ),
    Example(
        "H6b",
        with_attributes('notify_on_completion="qa-agent"'),
        "ask_user",
        "blockers",
        "the session has ended without src/api.py, and no retry is left: you decide",
        WITHOUT_FILE,
    ),
    Example(
        "H7",
        prompt(),
        "continue_next",
        "next_agent instruction results",
        "3 sessions of the batch ended: the parent continues",
        {
            "batch": {
                OTHER: {"state": "COMPLETED", "result": {"ok": 1}},
                SESSION: "COMPLETED",
                "20251119-153042-ui": "FAILED",
            }
        },
    ),
    Example(
        "H7b",
        prompt(),
        "wait",
        "blockers",
        "1 session of the batch running: the parent waits",
        {"batch": {OTHER: "RUNNING", SESSION: "COMPLETED"}},
    ),
    Example(
        "H4",
        prompt(workflow="SPIKE"),
        "spawn",
        "next_agent instruction flags",
        "mode spawn: a session for backend-agent begins",
    ),
    Example(
        "H4b",
        prompt(mode="blocking", workflow="TDD"),
        "spawn wait",
        "next_agent instruction flags",
        "mode blocking: a session for backend-agent begins, and the parent waits",
    ),
    Example(
        "H4c",
        prompt(mode="conversation_only"),
        "provide_context",
        "instruction",
        "mode conversation_only: the request is context, no session begins",
    ),
]

EXAMPLES = (*_ANY, *_GOOP_REPORT, *_SPECKIT, *_FACTORY, *_AGENT_REQUEST)
