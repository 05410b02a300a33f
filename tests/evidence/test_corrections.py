"""A correction is compared with what it corrects, by each way that asks an agent again."""

import json
from collections.abc import Callable

import pytest

from goop_mcp import RetryPolicy, ask_until_accepted_sync, validate
from goop_mcp.evidence import AgentActivity, Evidence, ObservedCommand, ObservedFile
from goop_mcp.evidence.activity import ObservedCall
from goop_mcp.evidence.corrections import Correction
from goop_mcp.evidence.rules import CORRECTION_RULES
from goop_mcp.protocols import RULES
from goop_mcp.retry import Attempt, Outcome, Review
from goop_mcp.validation.findings import Finding, Severity
from goop_mcp.validation.rules import Rule
from tests.evidence.corrections import CORRECTIONS, Correcting, report
from tests.requirements import load_ledger, requirement
from tests.retry.agents import Scripted

RULE = "correction/claim-changed"
FIRST = report(
    status="FAILED",
    checks='<check name="tests" passed="false">pytest: 10 passed, 2 failed</check>',
    ready="false",
    blockers="the API key is missing",
)
SECOND = report()
_TWICE = RetryPolicy(max_attempts=2)
Source = Callable[[], AgentActivity | Evidence | None]


def activity(*commands: str, **more: object) -> AgentActivity:
    """Return all that an agent did: it ran `commands`."""
    ran = [
        ObservedCommand(position=at, line=line, status=0, output="12 passed in 0.1s")
        for at, line in enumerate(commands)
    ]
    values: dict[str, object] = {"host": "claude-code", "complete": True, "commands": tuple(ran)}
    return AgentActivity(**{**values, **more})  # type: ignore[arg-type]


def each_time(*seen: AgentActivity | Evidence | None) -> Source:
    """Return what reads the agent's work: the first, then the next ones."""
    left = list(seen)
    return lambda: left.pop(0) if len(left) > 1 else left[0]


def asked(
    first: str = FIRST,
    second: str = SECOND,
    *,
    protocol: str = "goop_report",
    evidence: Source | Evidence | None = None,
) -> Outcome:
    agent = Scripted(first, second)
    return ask_until_accepted_sync(
        agent, "Add it.", protocol=protocol, evidence=evidence, policy=_TWICE
    )


def reviewed(
    first: str = FIRST, second: str = SECOND, *, protocol: str = "goop_report", evidence: Source
) -> Outcome:
    """Have the replies judged as an adapter of a framework does."""
    review = Review(protocol=protocol, evidence=evidence, policy=_TWICE)
    assert review.hear(first) is not None
    review.hear(second)
    return review.outcome


def changes(outcome: Outcome) -> list[Finding]:
    verdict = outcome.attempts[-1].verdict
    assert len(outcome.attempts) == 2
    assert verdict is not None
    return [each for each in verdict.findings if each.rule == RULE]


@requirement("G-47")
def test_a_failure_that_becomes_a_success_by_asking_for_its_status_is_seen() -> None:
    outcome = asked()
    found = changes(outcome)
    assert {each.severity for each in found} == {Severity.WARNING}
    assert {each.message.partition(" of the")[0].partition(" in the")[0] for each in found} == {
        "the status was FAILED",
        "the blocker 'the API key is missing'",
        "'tests' failed",
    }
    assert outcome.accepted
    assert any(RULE in each for each in outcome.warnings)


def test_where_all_that_the_agent_did_is_known_it_is_sent_back() -> None:
    outcome = asked(evidence=activity)
    assert not outcome.accepted
    assert {each.severity for each in changes(outcome)} == {Severity.ERROR}
    assert "nothing ran and no file changed in between" in changes(outcome)[0].message
    # What it counted is not named: an agent would learn which number to delete.
    verdict = outcome.verdict
    assert verdict is not None
    assert "run the check again" in (verdict.feedback or "")
    assert "2 failed" not in (verdict.feedback or "")


@pytest.mark.parametrize("each", CORRECTIONS, ids=lambda each: f"{each.protocol}: {each.id}")
def test_better_claims_are_found_and_all_else_is_free(each: Correcting) -> None:
    first = validate(each.first, protocol=each.protocol)
    assert not first.accepted
    assert validate(each.second, protocol=each.protocol).accepted
    replies, protocol = (each.first, each.second), each.protocol

    idle = [
        asked(*replies, protocol=protocol),
        asked(*replies, protocol=protocol, evidence=activity),
        reviewed(*replies, protocol=protocol, evidence=activity),
    ]
    assert [bool(changes(outcome)) for outcome in idle] == [each.kind == "better"] * 3
    worked = each_time(activity(), activity("make check"))
    assert changes(asked(*replies, protocol=protocol, evidence=worked)) == []


def test_enough_corrections_of_each_kind_are_tried() -> None:
    assert len(CORRECTIONS) >= 60
    assert {each.protocol for each in CORRECTIONS} == {
        *("goop_report", "speckit", "factory", "agent_request")
    }
    kinds = [each.kind for each in CORRECTIONS]
    assert min(kinds.count("form"), kinds.count("worse"), kinds.count("better")) >= 10


@pytest.mark.parametrize(
    "work",
    [
        activity("make check"),
        activity("cat test.log"),
        activity("echo 12 passed > result.txt"),
        activity(files=(ObservedFile(position=0, path="/p/a.py", action="edited"),)),
        activity(tools=(ObservedCall(position=0, name="mcp__ci__run", ok=True),)),
        AgentActivity(host="claude-code", why_incomplete="the transcript is cut"),
    ],
    ids=["command", "a log", "a file by the shell", "edit", "another tool", "unknown"],
)
def test_what_may_have_been_work_is_never_an_error(work: AgentActivity) -> None:
    found = changes(asked(evidence=each_time(activity(), work)))
    assert {each.severity for each in found} <= {Severity.WARNING}
    assert bool(found) == (not work.complete)


@pytest.mark.parametrize(
    "line", ["echo '12 passed'", "true", "pytest --version", "printf ok && date", "cd /p && pwd"]
)
def test_a_command_that_only_says_something_is_no_work(line: str) -> None:
    found = changes(asked(evidence=each_time(activity(), activity(line))))
    assert {each.severity for each in found} == {Severity.ERROR}


def test_a_tool_that_only_reads_is_no_work() -> None:
    read = activity(tools=(ObservedCall(position=0, name="Read", ok=True),))
    assert changes(asked(evidence=each_time(activity(), read)))


def test_what_the_evidence_shows_may_be_reported() -> None:
    first = report(
        phase="coding",
        status="PARTIAL",
        ready="false",
        checks='<check name="tests" passed="false">pytest: 10 passed, 2 failed</check>',
    )
    seen = activity("pytest")
    assert changes(asked(first, SECOND, evidence=lambda: seen)) == []
    # Not for what no run shows.
    blocked = first.replace("<blockers>None", "<blockers>the API key is missing")
    (found,) = changes(asked(blocked, SECOND, evidence=lambda: seen))
    assert "blocker" in found.message


def test_evidence_that_is_read_once_does_not_say_what_ran_in_between() -> None:
    found = changes(asked(evidence=Evidence(activity=activity())))
    assert {each.severity for each in found} == {Severity.WARNING}


@pytest.mark.parametrize(
    ("passed", "text", "is_found"),
    [
        ("nope", "pytest: 12 passed", False),
        ("nope", "pytest: 10 passed, 2 failed", True),
        ("false", "[result]", False),
    ],
    ids=["no legal value", "no legal value with counts", "a check that the feedback named"],
)
def test_what_had_to_be_corrected_in_a_check_may_be(
    passed: str, text: str, *, is_found: bool
) -> None:
    check = '<check name="tests" passed="{}">{}</check>'
    partial = {"status": "PARTIAL", "ready": "false"}
    first = report(checks=check.format(passed, text), **partial)
    assert not validate(first, protocol="goop_report").accepted
    second = report(checks=check.format("true", "pytest: 12 passed"), **partial)
    assert bool(changes(asked(first, second))) == is_found


def test_the_first_readable_reply_is_the_base_of_all_that_follow() -> None:
    phase = report(status="PARTIAL", ready="false", phase="coding")
    replies = ("I am done.", phase, SECOND.replace("execute", "coding"), SECOND)
    outcome = ask_until_accepted_sync(
        Scripted(*replies), "Add it.", protocol="goop_report", policy=RetryPolicy(max_attempts=4)
    )
    verdict = outcome.verdict
    assert verdict is not None
    assert len(outcome.attempts) == 4
    assert RULE in {each.rule for each in verdict.findings}


def test_an_answer_to_the_task_itself_corrects_nothing() -> None:
    policy = RetryPolicy(max_attempts=2, strategies=("fresh",))
    agent = Scripted(FIRST, SECOND)
    outcome = ask_until_accepted_sync(agent, "Add it.", protocol="goop_report", policy=policy)
    assert changes(outcome) == []


def test_a_reply_that_was_cut_off_is_no_base() -> None:
    cut = FIRST[: FIRST.index("<handoff>")].replace("FAILED", "PARTIAL")
    assert changes(asked(cut, SECOND)) == []


def test_what_is_kept_holds_no_secret_and_is_bounded() -> None:
    token = "gh" + "p_a8Kd92LmQz71Xw4Tn0Vb3Rc6Yp5Hs7Je1Gf9"
    checks = "".join(
        f'<check name="tests {number}" passed="false">1 failed</check>' for number in range(900)
    )
    many = "\n".join(f"- the token {token} is refused {number}" for number in range(900))
    outcome = asked(report(phase="coding", status="BLOCKED", checks=checks, blockers=many), SECOND)
    first = outcome.attempts[0]
    written = json.dumps(first.to_dict()["stated"])
    assert token[:12] not in written
    assert len(written) < 12_000
    assert Attempt.from_dict(json.loads(json.dumps(first.to_dict()))).stated == first.stated
    assert outcome.attempts[1].stated is None


def test_the_findings_of_an_earlier_reply_are_handed_over_with_the_envelope() -> None:
    findings = "\n".join(f"{number}. Line {number} of src/login.py leaks." for number in range(90))
    envelope = SECOND[SECOND.index("<goop") :]
    first = f"{findings}\n\n```xml\n{envelope.replace('execute', 'coding')}\n```\nThat is all."
    outcome = asked(first, envelope)
    assert outcome.text == envelope
    assert outcome.joined_text == f"{findings}\n\nThat is all.\n\n{envelope}"
    # Repeated as the whole reply, nothing is joined.
    again = first.replace("coding", "execute")
    assert asked(first, again).joined_text == again


@pytest.mark.parametrize("rule", CORRECTION_RULES, ids=lambda rule: rule.id)
def test_the_example_of_the_rule_is_a_correction(rule: Rule) -> None:
    correction = Correction()
    verdict = validate(rule.example.reply, protocol="goop_report", correction=correction)
    base = correction.stated(verdict)
    for reply, expected in ((rule.example.reply, []), (rule.example.bad_reply, [rule.id])):
        after = validate(reply, protocol="goop_report", correction=Correction(base))
        assert [each.rule for each in after.findings if each.rule == RULE] == expected
    assert RULES.find("claim-changed") is rule
    assert set(rule.requirements) <= load_ledger().keys()
