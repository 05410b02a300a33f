"""What opens a gate, and the fixed sentence when it stays closed."""

from dataclasses import asdict, fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goop_mcp.workflow.commands import KNOWN_COMMANDS
from goop_mcp.workflow.gates import GATES, Bypass, GateFacts, GateName, judge_gate
from goop_mcp.workflow.rules import GATE_RULES
from tests.requirements import requirement

OPEN = GateFacts(
    interview_complete=True,
    vision_sentences=3,
    interview_must_haves=1,
    constraints=1,
    out_of_scope=1,
    assumptions=1,
    mitigated_risks=1,
    spec_locked=True,
    spec_exists=True,
    blueprint_exists=True,
    must_haves=2,
    traced_must_haves=2,
    user_confirmed=True,
    total_tasks=8,
    open_wave=3,
    verification_report=True,
    passed_must_haves=2,
    user_accepted=True,
    merge_confirmed=True,
)

NO_TASKS = "Execution incomplete. No tasks are known: BLUEPRINT.md is missing or has none."
SENTENCES = {
    GateName.DISCOVERY: ("Discovery interview required. Run /goop-discuss first.", "/goop-discuss"),
    GateName.SPEC: (
        "Specification not locked. Run /goop-plan to confirm and lock first.",
        "/goop-plan",
    ),
    GateName.EXECUTION: (NO_TASKS, "/goop-execute"),
    GateName.ACCEPTANCE: ("Acceptance not confirmed. Run /goop-accept first.", "/goop-accept"),
    GateName.MERGE: ("Merge not confirmed.", "/goop-pr-review"),
}


def but(fact: str, value: int) -> GateFacts:
    return GateFacts(**{**asdict(OPEN), fact: value})


@pytest.mark.parametrize("name", GateName)
def test_a_gate_opens_when_everything_is_there(name: GateName) -> None:
    result = judge_gate(name, OPEN)

    assert result.passed
    assert (result.missing, result.sentence, result.command) == ((), None, None)


@pytest.mark.parametrize("name", GateName)
def test_an_empty_project_passes_no_gate_and_gets_the_fixed_sentence_and_command(
    name: GateName,
) -> None:
    result = judge_gate(name, GateFacts())

    assert not result.passed
    assert (result.sentence, result.command) == SENTENCES[name]
    assert result.command in KNOWN_COMMANDS


@requirement("G-19")
@pytest.mark.parametrize(
    ("fact", "value", "missing"),
    [
        ("interview_complete", False, "a complete interview"),
        ("vision_sentences", 2, "a vision of more than two sentences"),
        ("interview_must_haves", 0, "at least one must-have"),
        ("constraints", 0, "constraints"),
        ("out_of_scope", 0, "at least one item out of scope"),
        ("assumptions", 0, "assumptions"),
        ("mitigated_risks", 0, "at least one risk with mitigation"),
    ],
)
def test_each_part_of_the_interview_is_asked_for_by_discovery(
    fact: str, value: int, missing: str
) -> None:
    result = judge_gate(GateName.DISCOVERY, but(fact, value))

    assert not result.passed
    assert result.missing == (missing,)


@requirement("G-18")
@pytest.mark.parametrize(
    ("fact", "value"),
    [
        ("spec_locked", False),
        ("spec_exists", False),
        ("blueprint_exists", False),
        ("traced_must_haves", 1),
        ("must_haves", 0),
        ("user_confirmed", False),
    ],
)
def test_each_part_of_the_specification_is_asked_for_by_spec(fact: str, value: int) -> None:
    assert len(judge_gate(GateName.SPEC, but(fact, value)).missing) == 1


@requirement("G-58")
def test_open_tasks_close_the_execution_gate_with_number_and_wave() -> None:
    result = judge_gate(
        GateName.EXECUTION, replace(OPEN, open_tasks=2, open_tasks_in_all=5, open_wave=2)
    )

    assert result.sentence == "Execution incomplete. 2 tasks remaining in Wave 2."


def test_a_last_wave_that_has_only_begun_does_not_open_the_execution_gate() -> None:
    assert not judge_gate(
        GateName.EXECUTION, replace(OPEN, open_tasks=4, open_tasks_in_all=4)
    ).passed


def test_a_project_without_tasks_is_not_done_with_them() -> None:
    result = judge_gate(GateName.EXECUTION, replace(OPEN, total_tasks=0))

    assert not result.passed
    assert result.sentence == NO_TASKS


@pytest.mark.parametrize("fact", ["failed_checks", "active_blockers"])
def test_failed_checks_and_blockers_close_the_execution_gate_and_nobody_may_skip_them(
    fact: str,
) -> None:
    facts = but(fact, 1)

    assert not judge_gate(GateName.EXECUTION, facts).passed
    assert not judge_gate(GateName.EXECUTION, facts, bypass=Bypass.USER_SAYS_SO).passed


@pytest.mark.parametrize("fact", ["verification_report", "user_accepted", "passed_must_haves"])
def test_acceptance_needs_report_must_haves_and_the_users_word(fact: str) -> None:
    assert not judge_gate(GateName.ACCEPTANCE, but(fact, 0)).passed


@pytest.mark.parametrize("bypass", [Bypass.QUICK_TASK, Bypass.OBVIOUS_FIX, Bypass.DOCUMENTATION])
def test_discovery_may_be_skipped_for_small_work_and_says_what_was_skipped(bypass: Bypass) -> None:
    result = judge_gate(GateName.DISCOVERY, GateFacts(), bypass=bypass)

    assert result.passed
    assert result.bypass is bypass
    assert len(result.missing) == 7


def test_execution_may_be_left_with_open_tasks_when_the_user_says_so() -> None:
    facts = replace(OPEN, open_tasks=1, open_tasks_in_all=1)

    assert judge_gate(GateName.EXECUTION, facts, bypass=Bypass.USER_SAYS_SO).passed
    assert not judge_gate(GateName.EXECUTION, facts, bypass=Bypass.QUICK_TASK).passed


@pytest.mark.parametrize("bypass", Bypass)
@pytest.mark.parametrize("name", [GateName.SPEC, GateName.ACCEPTANCE, GateName.MERGE])
def test_spec_acceptance_and_merge_are_never_skipped(name: GateName, bypass: Bypass) -> None:
    assert not judge_gate(name, GateFacts(), bypass=bypass).passed


def test_every_rule_named_by_a_gate_exists() -> None:
    assert {gate.rule for gate in GATES.values()} - {None} == {rule.id for rule in GATE_RULES}


@given(
    st.builds(
        GateFacts,
        **{
            each.name: st.booleans() if isinstance(each.default, bool) else st.integers(0, 5)
            for each in fields(GateFacts)
            if each.name not in ("bypasses", "left_over")
        },
        bypasses=st.dictionaries(st.sampled_from(GateName), st.sampled_from(Bypass)),
        left_over=st.dictionaries(st.sampled_from(["SPEC.md", "BLUEPRINT.md"]), st.just(1)),
    ),
    st.sampled_from(GateName),
    st.none() | st.sampled_from(Bypass),
)
def test_a_gate_is_open_exactly_when_nothing_is_missing_or_it_was_skipped(
    facts: GateFacts, name: GateName, bypass: Bypass | None
) -> None:
    result = judge_gate(name, facts, bypass=bypass)

    assert result.passed == (not result.missing or result.bypass is not None)
    assert (result.sentence is None) == result.passed
