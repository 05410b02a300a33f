"""The rows for agent_request, each by its id."""

from collections.abc import Mapping

import pytest

from goop_mcp.routing import Decision, route
from tests.requirements import requirement
from tests.routing.replies import actions, case, judged, not_found, routed

FREEFORM = case("agent_request/1_1_freeform.md")
SESSION = "20251119-153042-api"


def prompt(
    *,
    mode: str = "spawn",
    workflow: str = "standard",
    attributes: str = (
        f'session_id="{SESSION}" parent_agent="planning-agent" target_agent="backend-agent"'
    ),
    extra: str = "",
) -> str:
    return f"""\
# Task

```xml
<agent_request version="1.0" {attributes}>
  <mode>{mode}</mode>
  <original_intent>Ship the login</original_intent>
  <current_task_summary>Add the login endpoint</current_task_summary>
  <workflow>{workflow}</workflow>
  <task_details>Write the tests first.</task_details>
  {extra}
  <deliverables>
    <file path="src/api.py">The endpoint</file>
    <file path="notes.md" required="false">Notes</file>
  </deliverables>
</agent_request>
```
"""


def request(text: str, context: Mapping[str, object] | None = None) -> Decision:
    return routed(text, "agent_request", context)


def with_attributes(more: str) -> str:
    return prompt(
        attributes=(
            f'session_id="{SESSION}" parent_agent="planning-agent" target_agent="backend-agent"'
            f" {more}"
        )
    )


# H1


@requirement("H-30")
def test_h1_a_prompt_without_block_proceeds_with_the_warning_of_the_specification() -> None:
    decision = request(FREEFORM)

    assert (decision.rule, actions(decision)) == ("H1", ["provide_context"])
    assert decision.instruction == FREEFORM
    assert (
        decision.message == "⚠️  Warning: No XML handoff block found in prompt.md\n"
        "ℹ️  Proceeding with unstructured handoff (agent must parse prose)"
    )


@pytest.mark.parametrize("adoption", ["optional", "pilot", "expanded"])
def test_h1_only_the_mandatory_policy_asks_for_a_block(adoption: str) -> None:
    assert request(FREEFORM, {"policy": {"adoption": adoption}}).rule == "H1"


@requirement("H-53")
@pytest.mark.parametrize("workflow", ["SPIKE", "spike", "research"])
def test_h1_research_needs_no_block_under_the_mandatory_policy(workflow: str) -> None:
    assert (
        request(FREEFORM, {"policy": {"adoption": "mandatory"}, "workflow": workflow}).rule == "H1"
    )


def test_h1b_the_mandatory_policy_refuses_a_prompt_without_block() -> None:
    decision = request(FREEFORM, {"policy": {"adoption": "mandatory"}})

    assert (decision.rule, actions(decision)) == ("H1b", ["reject"])
    assert decision.message.startswith("❌ No XML handoff block found in prompt.md\n")


# H2


@requirement("H-31")
def test_h2_malformed_xml_blocks_the_spawn() -> None:
    decision = request(case("agent_request/7_1_s1_unclosed.md"))

    assert (decision.rule, actions(decision)) == ("H2", ["reject"])
    assert decision.message.startswith(
        "❌ Invalid XML handoff in prompt.md\n"
        "   Line 9: Opening and ending tag mismatch: original_intent vs. agent_request\n"
    )
    assert decision.message.endswith("\nℹ️  Fix XML syntax errors or remove XML block to proceed")


@requirement("H-32")
def test_h2_a_value_outside_its_list_blocks_the_spawn_with_the_allowed_values() -> None:
    decision = request(case("agent_request/7_1_s2_bad_enum.md"))

    assert (decision.rule, actions(decision)) == ("H2", ["reject"])
    assert (
        decision.message == "❌ XML handoff validation failed (schema violation)\n"
        "   Element 'mode': 'invalid-mode' is not a valid value of the atomic type 'ModeType'\n"
        "ℹ️  Allowed values: spawn, conversation_only, blocking\n"
        "ℹ️  Schema: .claude/schemas/agent-handoff-v1.xsd"
    )


def test_h2_a_missing_field_blocks_the_spawn() -> None:
    decision = request(case("agent_request/7_1_s3_missing_field.md"))

    assert "   Missing required element: original_intent\n" in decision.message


def test_h2_a_request_that_took_too_long_is_still_refused() -> None:
    assert request(case("agent_request/7_1_s1_unclosed.md"), {"responded": False}).rule == "H2"


def test_h2_warnings_refuse_where_the_caller_counts_them_as_errors() -> None:
    text = prompt(attributes='priority="urgent"')

    assert request(text).rule == "H4"
    assert request(text, {"policy": {"fail_on_warning": True}}).rule == "H2"
    assert request(FREEFORM, {"policy": {"fail_on_warning": True}}).rule == "H1"


# H3

OTHER = "20251119-153042-db"
WAITING = with_attributes(f'depends_on="{OTHER}"')


@requirement("H-14")
@pytest.mark.parametrize("state", ["RUNNING", "pending", "who knows", None])
def test_h3_a_request_waits_for_the_sessions_it_depends_on(state: str | None) -> None:
    decision = request(WAITING, {"dependencies": {OTHER: state} if state else {}})

    assert (decision.rule, actions(decision), decision.blockers) == ("H3", ["wait"], (OTHER,))
    assert f"⏳ {OTHER}: {state or 'not known here'}\n" in decision.message


@pytest.mark.parametrize("state", ["COMPLETED", "done", "Finished"])
def test_h4_a_request_starts_when_its_dependencies_are_done(state: str) -> None:
    assert request(WAITING, {"dependencies": {OTHER: state}}).rule == "H4"


@pytest.mark.parametrize("state", ["FAILED", "error", "cancelled"])
def test_h3c_a_failed_dependency_goes_to_the_user(state: str) -> None:
    decision = request(WAITING, {"dependencies": {OTHER: state}})

    assert (decision.rule, actions(decision)) == ("H3c", ["ask_user"])
    assert decision.blockers == (f"session failed: {OTHER}",)


def test_h3b_sessions_that_wait_for_each_other_are_refused() -> None:
    decision = request(
        WAITING, {"dependencies": {OTHER: {"state": "PENDING", "depends_on": [SESSION]}}}
    )

    assert (decision.rule, actions(decision)) == ("H3b", ["reject"])
    assert decision.blockers == (f"{SESSION} after {OTHER} after {SESSION}",)


# H4


@requirement("H-03")
@pytest.mark.parametrize(
    ("mode", "rule", "expected"),
    [
        ("spawn", "H4", ["spawn"]),
        ("blocking", "H4b", ["spawn", "wait"]),
        ("conversation_only", "H4c", ["provide_context"]),
    ],
)
def test_h4_h4b_h4c_the_mode_says_how_the_request_is_carried_out(
    mode: str, rule: str, expected: list[str]
) -> None:
    decision = request(prompt(mode=mode))

    assert (decision.rule, actions(decision)) == (rule, expected)
    assert decision.next_agent == (None if rule == "H4c" else "backend-agent")
    assert decision.instruction is not None
    assert decision.instruction.startswith("<agent_request ")
    assert decision.instruction.endswith("</agent_request>")


def test_h4_a_repaired_request_is_handed_on_as_repaired() -> None:
    verdict = judged(case("agent_request/raw_ampersand.md"), "agent_request")

    assert verdict.repaired_text is not None
    assert route(verdict).instruction == verdict.repaired_text


def test_h4_without_target_the_action_stays_and_nobody_is_named() -> None:
    decision = request(prompt(attributes=""))

    assert (decision.rule, decision.next_agent) == ("H4", None)


@requirement("H-25")
@pytest.mark.parametrize("mode", ["spawn", "blocking", "conversation_only"])
@pytest.mark.parametrize(
    ("workflow", "flags"),
    [("SPIKE", ("research_mode",)), ("TDD", ("test_first",)), ("standard", ()), ("none", ())],
)
def test_h5_the_workflow_sets_its_flag_on_every_mode(
    mode: str, workflow: str, flags: tuple[str, ...]
) -> None:
    assert request(prompt(mode=mode, workflow=workflow)).flags == flags


@requirement("H-34")
def test_h4_unreadable_constraints_are_reported_in_decision_and_message() -> None:
    decision = request(prompt(extra="<constraints>Do not touch main</constraints>"))

    assert decision.rule == "H4"
    assert decision.flags == ("constraints_unreadable",)
    assert "constraints could not be read" in decision.message


# H6


@requirement("H-10", "H-14")
def test_h6_an_ended_session_without_its_required_file_resumes() -> None:
    context = {"session_state": "COMPLETED", "evidence": [not_found("src/api.py")]}
    decision = request(with_attributes('max_retries="1"'), context)

    assert (decision.rule, actions(decision), decision.next_agent) == (
        "H6",
        ["resume_same"],
        "backend-agent",
    )
    assert decision.instruction is not None
    assert "- src/api.py" in decision.instruction
    assert decision.state_changes["counters"] == {"session_retries": 1}


def test_h6b_used_up_retries_go_to_the_user_with_those_to_be_notified() -> None:
    context = {"session_state": "COMPLETED", "evidence": [not_found("src/api.py")]}
    decision = request(with_attributes('notify_on_completion="planning-agent,qa-agent"'), context)

    assert (decision.rule, actions(decision)) == ("H6b", ["ask_user"])
    assert decision.blockers == (
        "missing deliverable: src/api.py",
        "to be notified: planning-agent, qa-agent",
    )


def test_h6_the_limit_holds_where_the_request_says_nothing() -> None:
    context = {
        "session_state": "COMPLETED",
        "evidence": [not_found("src/api.py")],
        "policy": {"limits": {"session_retries": 1}},
    }

    assert request(prompt(), context).rule == "H6"


@pytest.mark.parametrize(
    ("path", "state"), [("notes.md", "COMPLETED"), ("src/api.py", "RUNNING"), ("src/api.py", None)]
)
def test_h6_neither_an_optional_file_nor_a_running_session_counts(
    path: str, state: str | None
) -> None:
    decision = request(prompt(), {"session_state": state, "evidence": [not_found(path)]})

    assert decision.rule in ("H4", "R9")


def test_r9_a_session_that_has_ended_well_is_not_started_again() -> None:
    decision = request(prompt(), {"session_state": "COMPLETED"})

    assert (decision.rule, actions(decision)) == ("R9", ["ask_user"])
    assert "COMPLETED" in decision.blockers[0]


# H7


@requirement("H-46")
def test_h7_a_finished_batch_gives_its_results_to_the_parent_in_order() -> None:
    batch = {OTHER: {"state": "COMPLETED", "result": {"ok": 1}}, SESSION: "COMPLETED"}
    decision = request(prompt(), {"batch": batch})

    assert (decision.rule, actions(decision), decision.next_agent) == (
        "H7",
        ["continue_next"],
        "planning-agent",
    )
    assert [(each.session_id, each.result) for each in decision.results] == [
        (OTHER, {"ok": 1}),
        (SESSION, None),
    ]
    assert decision.instruction is not None
    assert f"{SESSION}: COMPLETED, result missing" in decision.instruction
    assert decision.to_dict()["results"] == [
        {"session_id": OTHER, "state": "COMPLETED", "result": {"ok": 1}},
        {"session_id": SESSION, "state": "COMPLETED", "result": None},
    ]


@requirement("H-46")
def test_h7b_a_batch_waits_while_one_runs() -> None:
    decision = request(prompt(), {"batch": {OTHER: "RUNNING", SESSION: "COMPLETED"}})

    assert (decision.rule, actions(decision), decision.blockers) == ("H7b", ["wait"], (OTHER,))


def test_h6_a_member_of_a_batch_without_its_file_goes_first() -> None:
    context = {"batch": {SESSION: "COMPLETED"}, "evidence": [not_found("src/api.py")]}

    assert request(with_attributes('max_retries="1"'), context).rule == "H6"
