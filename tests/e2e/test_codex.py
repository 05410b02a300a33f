import pytest

from goop_mcp import ask_until_accepted_sync
from goop_mcp.hosts.frameworks.command_line import codex
from goop_mcp.validation.feedback import OPENING
from tests.e2e.clients import CODEX, Ended, Sandbox
from tests.e2e.codex import final_text, handed_back, run_codex, write_home
from tests.e2e.conversation import Conversation
from tests.e2e.pace import patience
from tests.e2e.script import BAD_REPORTS, DONE, GOOD_REPORT
from tests.e2e.scripted_model import ScriptedModel, scripted_model

REPAIRED = "<status>COMPLETE</status>"

pytestmark = pytest.mark.skipif(
    CODEX.missing_reason() is not None, reason=CODEX.missing_reason() or ""
)


def subagent_turns(model: ScriptedModel) -> list[Conversation]:
    return [each for each in model.conversations if "GOOP-SUB" in each.first_text]


def requests_to_fix(model: ScriptedModel) -> int:
    """Count how often a subagent was asked to fix its report."""
    return subagent_turns(model)[-1].times_received(OPENING)


def assert_ended_well(ended: Ended) -> None:
    assert ended.code == 0, ended.err
    assert ended.seconds < patience()


def test_a_bad_report_of_a_subagent_is_sent_back_and_fixed(
    sandbox: Sandbox, model: ScriptedModel
) -> None:
    write_home(sandbox, model)
    ended = run_codex(sandbox, "GOOP-MAIN delegate")
    assert_ended_well(ended)
    assert requests_to_fix(model) == 1
    assert REPAIRED in handed_back(model)
    assert final_text(ended) == DONE


def test_an_agent_that_never_fixes_its_report_ends_after_two_requests_with_its_last_message_kept(
    sandbox: Sandbox, model: ScriptedModel
) -> None:
    write_home(sandbox, model)
    ended = run_codex(sandbox, "GOOP-MAIN GOOP-STUBBORN delegate")
    assert_ended_well(ended)
    assert requests_to_fix(model) == 2
    assert "<phase>coding</phase>" in handed_back(model)
    assert final_text(ended) == DONE


def test_a_subagent_receives_the_rules_before_it_starts(
    sandbox: Sandbox, model: ScriptedModel
) -> None:
    write_home(sandbox, model)
    assert_ended_well(run_codex(sandbox, "GOOP-MAIN delegate"))
    assert "Your last message must end with one envelope" in subagent_turns(model)[0].text_of(
        "user", "developer"
    )


def test_a_bad_report_of_the_main_agent_is_sent_back_and_fixed(
    sandbox: Sandbox, model: ScriptedModel
) -> None:
    write_home(sandbox, model)
    ended = run_codex(sandbox, "GOOP-MAIN GOOP-OWN report")
    assert_ended_well(ended)
    assert REPAIRED in final_text(ended)


def test_a_main_agent_that_never_fixes_its_report_keeps_its_last_message(
    sandbox: Sandbox, model: ScriptedModel
) -> None:
    write_home(sandbox, model)
    ended = run_codex(sandbox, "GOOP-MAIN GOOP-OWN GOOP-STUBBORN report")
    assert_ended_well(ended)
    assert final_text(ended).strip() == BAD_REPORTS[3].strip()


def test_a_hook_that_cannot_be_started_does_not_stop_the_session(
    sandbox: Sandbox, model: ScriptedModel
) -> None:
    write_home(sandbox, model, command="no-such-program hook codex")
    ended = run_codex(sandbox, "GOOP-MAIN delegate")
    assert_ended_well(ended)
    assert BAD_REPORTS[0] in handed_back(model)
    assert final_text(ended) == DONE


def test_codex_as_an_agent_is_asked_again_in_the_same_thread(sandbox: Sandbox) -> None:
    reports = iter((BAD_REPORTS[1], GOOD_REPORT))
    with scripted_model(lambda _conversation: next(reports)) as model:
        write_home(sandbox, model, command="true")
        agent = codex(
            "--skip-git-repo-check",
            program=str(CODEX.path),
            folder=sandbox.project,
            environment=sandbox.environment({"FAKE_KEY": "test-key"}),
        )
        outcome = ask_until_accepted_sync(agent, "Add the login endpoint.", protocol="goop_report")

    assert outcome.accepted, outcome.attempts
    first, second = outcome.attempts
    assert first.conversation_id == second.conversation_id == agent.session
    assert second.usage is not None
    assert second.usage.input_tokens
    asked = model.conversations[-1].text_of("user")
    assert "Add the login endpoint." in asked
    assert OPENING in asked
