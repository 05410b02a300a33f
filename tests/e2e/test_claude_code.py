import json
import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from goop_mcp import ask_until_accepted_sync
from goop_mcp.hosts.frameworks.command_line import claude_code
from goop_mcp.retry import Usage
from goop_mcp.validation.feedback import OPENING
from tests.documentation.pages import fences
from tests.e2e.claude_code import (
    PLUGIN,
    UPDATE_PROJECT,
    claude_environment,
    claude_on_screen,
    final_text,
    handed_back,
    hook_settings,
    run_claude,
    run_plugin_command,
    write_json,
    write_project,
)
from tests.e2e.clients import CLAUDE_CODE, Ended, Sandbox
from tests.e2e.conversation import Conversation, ToolCall
from tests.e2e.pace import patience
from tests.e2e.screen import DOWN, ENTER, ESCAPE, RIGHT
from tests.e2e.script import BAD_REPORTS, DONE, GOOD_REPORT, after_tests, answer
from tests.e2e.scripted_model import Refusal, ScriptedModel, scripted_model
from tests.repository import ROOT
from tests.workspace.projects import put_in_phase

PAGE = "docs/hosts/claude-code.md"
REPAIRED = "<status>COMPLETE</status>"
MARKETPLACE = ROOT / "packaging" / "plugins" / "claude-code"
IN_PLUGIN = "goop-mcp:goop-executor"
RULES = """\
import os, subprocess
from dataclasses import replace

from tests.validation.shop import TICKET

PIPE = {pipe!r}
RULES = replace(TICKET, check=lambda *seen: [{act}] and None)
"""
"""A rule that is always kept, and starts a program."""

pytestmark = pytest.mark.skipif(
    CLAUDE_CODE.missing_reason() is not None, reason=CLAUDE_CODE.missing_reason() or ""
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
    write_project(sandbox, settings=hook_settings())
    ended = run_claude(sandbox, model, "GOOP-MAIN delegate")
    assert_ended_well(ended)
    assert requests_to_fix(model) == 1
    assert REPAIRED in handed_back(model)
    assert final_text(ended) == DONE


def test_without_the_hook_the_bad_report_reaches_the_main_agent(
    sandbox: Sandbox, model: ScriptedModel
) -> None:
    write_project(sandbox, settings=None)
    ended = run_claude(sandbox, model, "GOOP-MAIN delegate")
    assert_ended_well(ended)
    assert BAD_REPORTS[0] in handed_back(model)


def test_an_agent_that_never_fixes_its_report_ends_after_two_requests_with_its_last_message_kept(
    sandbox: Sandbox, model: ScriptedModel
) -> None:
    write_project(sandbox, settings=hook_settings())
    ended = run_claude(sandbox, model, "GOOP-MAIN GOOP-STUBBORN delegate")
    assert_ended_well(ended)
    assert requests_to_fix(model) == 2
    assert "<phase>coding</phase>" in handed_back(model)
    assert "goop-mcp: the report of goop-executor is not accepted" in handed_back(model)
    assert final_text(ended) == DONE


def test_an_agent_that_lowers_its_judge_is_judged_as_before(
    sandbox: Sandbox, model: ScriptedModel
) -> None:
    write_project(sandbox, settings=hook_settings())
    ended = run_claude(sandbox, model, "GOOP-MAIN GOOP-STUBBORN GOOP-LOWER delegate")
    assert_ended_well(ended)
    assert "agents = []" in (sandbox.project / "goop-mcp.toml").read_text(encoding="utf-8")
    assert requests_to_fix(model) == 2
    assert "goop-mcp: the report of goop-executor is not accepted" in handed_back(model)


def test_a_subagent_receives_the_rules_before_it_starts(
    sandbox: Sandbox, model: ScriptedModel
) -> None:
    write_project(sandbox, settings=hook_settings())
    assert_ended_well(run_claude(sandbox, model, "GOOP-MAIN delegate"))
    assert "Your last message must end with one envelope" in subagent_turns(model)[0].text_of(
        "user", "system"
    )


def test_the_main_agent_of_a_goopspec_project_receives_what_to_read(
    sandbox: Sandbox, model: ScriptedModel
) -> None:
    write_project(sandbox, settings=hook_settings())
    (sandbox.project / ".goopspec").mkdir()
    assert_ended_well(run_claude(sandbox, model, "GOOP-MAIN delegate"))
    assert "search the project's memory" in handed_back(model)


def test_an_agent_that_need_not_report_passes(sandbox: Sandbox, model: ScriptedModel) -> None:
    write_project(sandbox, settings=hook_settings())
    ended = run_claude(sandbox, model, "GOOP-MAIN GOOP-FREE delegate")
    assert_ended_well(ended)
    assert requests_to_fix(model) == 0
    assert BAD_REPORTS[0] in handed_back(model)


def test_an_agent_that_repeats_itself_is_asked_once(sandbox: Sandbox, model: ScriptedModel) -> None:
    write_project(sandbox, settings=hook_settings())
    assert_ended_well(run_claude(sandbox, model, "GOOP-MAIN GOOP-SAME delegate"))
    assert requests_to_fix(model) == 1
    assert BAD_REPORTS[0] in handed_back(model)


def test_a_bad_report_of_the_main_agent_is_sent_back_and_fixed(
    sandbox: Sandbox, model: ScriptedModel
) -> None:
    write_project(sandbox, settings=hook_settings())
    ended = run_claude(sandbox, model, "GOOP-MAIN GOOP-OWN report")
    assert_ended_well(ended)
    assert REPAIRED in final_text(ended)


def test_a_main_agent_that_never_fixes_its_report_keeps_its_last_message(
    sandbox: Sandbox, model: ScriptedModel
) -> None:
    write_project(sandbox, settings=hook_settings())
    ended = run_claude(sandbox, model, "GOOP-MAIN GOOP-OWN GOOP-STUBBORN report")
    assert_ended_well(ended)
    assert final_text(ended).strip() == BAD_REPORTS[3].strip()


def test_a_subagent_in_the_background_is_sent_back_while_the_main_agent_waits(
    sandbox: Sandbox, model: ScriptedModel
) -> None:
    write_project(sandbox, settings=hook_settings())
    # The file that the good report names does not exist.
    policy = {"main": "required", "check_workspace": False}
    write_json(sandbox.project / ".goopspec" / "hooks.json", policy)
    ended = run_claude(sandbox, model, "GOOP-MAIN delegate", background=True)
    assert_ended_well(ended)
    assert requests_to_fix(model) == 1
    received = handed_back(model)
    assert "&lt;status&gt;COMPLETE" in received
    assert received.index("<task-notification>") < received.index(OPENING), (
        "the main agent was judged while it waited"
    )


@pytest.mark.parametrize("background", [False, True])
def test_what_the_hook_recorded_reaches_the_main_model(
    sandbox: Sandbox, model: ScriptedModel, background: bool
) -> None:
    """The request that the main model receives holds the line, and the subagent ends at once."""
    write_project(sandbox, settings=hook_settings())
    write_json(
        sandbox.project / ".goopspec" / "hooks.json", {"record": True, "check_workspace": False}
    )
    assert_ended_well(run_claude(sandbox, model, "GOOP-MAIN delegate", background=background))
    received = handed_back(model)
    assert received.count("goop-mcp recorded this report as report 1 (goop-executor, ") == 1
    assert '; agent goop-tester; command /goop-execute; task "W1.T3' in received
    assert requests_to_fix(model) == 1
    assert "recorded this report" not in subagent_turns(model)[-1].text_of("user", "system")


def test_a_hook_that_cannot_be_started_does_not_stop_the_session(
    sandbox: Sandbox, model: ScriptedModel
) -> None:
    write_project(sandbox, settings=hook_settings("no-such-program"))
    ended = run_claude(sandbox, model, "GOOP-MAIN delegate")
    assert_ended_well(ended)
    assert final_text(ended) == DONE


@pytest.mark.parametrize("act", ["subprocess.Popen(['cat', PIPE])", "os.system('echo seen')"])
def test_what_a_rule_starts_loses_no_answer(
    sandbox: Sandbox, model: ScriptedModel, act: str
) -> None:
    """The host drops an answer after other text, and one while a process holds a stream open."""
    pipe = sandbox.scratch / "pipe"
    os.mkfifo(pipe)
    rules = sandbox.scratch / "rules.py"
    rules.write_text(RULES.format(pipe=str(pipe), act=act), encoding="utf-8")
    write_project(sandbox, settings=hook_settings(options=f" --rules '{rules}'"))
    descriptor = os.open(pipe, os.O_RDWR)
    try:
        ended = run_claude(sandbox, model, "GOOP-MAIN GOOP-OWN report")
    finally:
        os.close(descriptor)

    assert_ended_well(ended)
    assert REPAIRED in final_text(ended)


def test_the_model_calls_a_tool_of_the_server(sandbox: Sandbox, model: ScriptedModel) -> None:
    write_project(sandbox, settings=hook_settings())
    assert_ended_well(run_claude(sandbox, model, "GOOP-MAIN GOOP-TOOL delegate"))
    answered = subagent_turns(model)[-1].text_of("user")
    assert "goop_report/unknown-status" in answered


def test_the_plugin_sends_a_report_of_its_own_agent_back(
    sandbox: Sandbox, model: ScriptedModel
) -> None:
    prompt = f"GOOP-MAIN GOOP-TOOL delegate agent={IN_PLUGIN}"
    ended = run_claude(sandbox, model, prompt, arguments=["--plugin-dir", PLUGIN])
    assert_ended_well(ended)
    assert "goop_report/unknown-status" in subagent_turns(model)[-1].text_of("user")
    assert requests_to_fix(model) == 1
    assert REPAIRED in handed_back(model)


@pytest.mark.parametrize("marketplace", [ROOT, MARKETPLACE], ids=["repository", "folder"])
def test_the_plugin_is_installed_from_its_marketplace(
    marketplace: Path, sandbox: Sandbox, model: ScriptedModel
) -> None:
    (shown,) = (each.text for each in fences(PAGE, "") if each.text.startswith("claude plugin"))
    for line in shown.splitlines():
        words = shlex.split(line, comments=True)
        assert words[:2] == ["claude", "plugin"]
        # The page is read in a checkout, the test runs elsewhere.
        named = [marketplace if word == "./" else word for word in words[2:]]
        ended = run_plugin_command(sandbox, *named)
        assert ended.code == 0, ended.out + ended.err

    assert_ended_well(run_claude(sandbox, model, f"GOOP-MAIN delegate agent={IN_PLUGIN}"))
    assert requests_to_fix(model) == 1
    assert REPAIRED in handed_back(model)
    assert list(sandbox.home.rglob("hook-attempts.json")), (
        "the count is in the folder that the host gives a plugin"
    )


def test_the_server_is_added_by_hand_as_the_page_says(sandbox: Sandbox) -> None:
    (shown,) = (each for each in fences("docs/mcp.md", "") if each.text.startswith("claude mcp"))
    words = shlex.split(shown.text)
    ended = sandbox.run([CLAUDE_CODE.path, *words[1:]], environment={})
    assert ended.code == 0, ended.out + ended.err

    entry = next(each for each in fences("docs/mcp.md", "json") if "uvx" in each.text)
    written = json.loads((sandbox.project / ".mcp.json").read_text(encoding="utf-8"))
    written["mcpServers"]["goop"].pop("env")
    assert written == json.loads(entry.text)


@pytest.mark.parametrize("folder", [PLUGIN, MARKETPLACE, ROOT])
def test_the_plugin_passes_the_strict_check_of_the_host(sandbox: Sandbox, folder: Path) -> None:
    ended = run_plugin_command(sandbox, "validate", "--strict", folder)
    assert ended.code == 0, ended.out


def test_a_plugin_without_the_program_does_not_stop_the_session(
    sandbox: Sandbox, model: ScriptedModel
) -> None:
    (sandbox.programs / "goop-mcp").unlink()
    ended = run_claude(
        sandbox, model, f"GOOP-MAIN delegate agent={IN_PLUGIN}", arguments=["--plugin-dir", PLUGIN]
    )
    assert_ended_well(ended)
    assert final_text(ended) == DONE


def test_a_background_report_that_passed_without_being_accepted_is_marked(
    sandbox: Sandbox, model: ScriptedModel
) -> None:
    write_project(sandbox, settings=hook_settings())
    assert_ended_well(
        run_claude(sandbox, model, "GOOP-MAIN GOOP-STUBBORN delegate", background=True)
    )
    assert "goop-mcp: the report of this agent is not accepted" in handed_back(model)


def test_a_hook_may_ask_the_server_instead_of_a_process(
    sandbox: Sandbox, model: ScriptedModel
) -> None:
    names = ("agent_id", "agent_type", "session_id")
    asked = {
        "event": "SubagentStop",
        "text": "${last_assistant_message}",
        "active": "${stop_hook_active}",
    }
    hook = {"type": "mcp_tool", "server": "goop", "tool": "hook_check", "timeout": 20}
    hook |= {"input": {**asked, **{name: f"${{{name}}}" for name in names}}}
    settings = {"hooks": {"SubagentStop": [{"hooks": [hook]}]}, "enabledMcpjsonServers": ["goop"]}
    write_project(sandbox, settings=settings)
    server = {"command": "goop-mcp", "args": ["serve", "--hook-tool"]}
    write_json(sandbox.project / ".mcp.json", {"mcpServers": {"goop": server}})
    assert_ended_well(run_claude(sandbox, model, "GOOP-MAIN GOOP-STUBBORN delegate"))
    assert requests_to_fix(model) == 2
    assert "<phase>coding</phase>" in handed_back(model)


def test_the_cost_of_a_continued_session_is_counted_once(sandbox: Sandbox) -> None:
    reports = iter((BAD_REPORTS[1], GOOD_REPORT))
    with scripted_model(lambda _conversation: next(reports)) as model:
        environment = sandbox.environment(claude_environment(sandbox, model))
        agent = claude_code(
            program=str(CLAUDE_CODE.path), folder=sandbox.project, environment=environment
        )
        outcome = ask_until_accepted_sync(agent, "Add the login endpoint.", protocol="goop_report")

    assert outcome.accepted
    first, second = (each.usage for each in outcome.attempts)
    assert first is not None
    assert second is not None
    assert first.cost
    assert second.cost == pytest.approx(first.cost), "both calls used the same tokens"


def test_a_rate_limit_is_repeated_in_the_session_in_which_it_failed(sandbox: Sandbox) -> None:
    asked: list[Conversation] = []

    def script(conversation: Conversation) -> str | Refusal:
        asked.append(conversation)
        return Refusal(429, "rate_limit_error") if len(asked) == 1 else GOOD_REPORT

    with scripted_model(script) as model:
        settings = {**claude_environment(sandbox, model), "CLAUDE_CODE_MAX_RETRIES": "0"}
        agent = claude_code(
            program=str(CLAUDE_CODE.path),
            folder=sandbox.project,
            environment=sandbox.environment(settings),
        )
        outcome = ask_until_accepted_sync(agent, "Add the login endpoint.", protocol="goop_report")

    assert outcome.accepted
    refused, answered = outcome.attempts
    assert "429" in (refused.error or "")
    assert refused.usage == Usage(tokens=0, cost=0.0, input_tokens=0, output_tokens=0)
    assert outcome.usage.input_tokens == 10 * (len(asked) - 1)
    assert answered.conversation_id == agent.session
    assert asked[-1].text_of("user").count("Add the login endpoint.") == 2, (
        "the refused session continued"
    )


@pytest.fixture
def started(sandbox: Sandbox) -> Sandbox:
    """Create a project whose steps the main agent may take."""
    allowed = {"enabledMcpjsonServers": ["goop"], "permissions": {"allow": [UPDATE_PROJECT]}}
    write_project(sandbox, settings=allowed)
    ended = sandbox.run([sandbox.programs / "goop-mcp", "init"], environment={})
    assert ended.code == 0, ended.err
    put_in_phase(sandbox.project, "accept")
    return sandbox


def waiting(sandbox: Sandbox) -> list[dict[str, Any]]:
    """Return the steps that wait for a person."""
    command: list[str | Path] = [sandbox.programs / "goop-mcp", "status", "--format", "json"]
    found: list[dict[str, Any]] = json.loads(sandbox.run(command, environment={}).out)["waiting"]
    return found


def log_of(sandbox: Sandbox) -> str:
    return (sandbox.project / ".goopspec/ADL.md").read_text(encoding="utf-8")


def test_a_step_that_needs_a_person_waits_where_nobody_is(
    started: Sandbox, model: ScriptedModel
) -> None:
    ended = run_claude(started, model, "GOOP-STEP go on")
    assert_ended_well(ended)
    assert final_text(ended) == DONE
    answered = model.conversations[-1].text_of("user")
    assert 'run \\"goop-mcp project merge\\" in a terminal' in answered
    assert [each["action"] for each in waiting(started)] == ["confirm_merge"]
    assert "merge" not in log_of(started).lower()


def test_a_person_at_the_screen_confirms_by_a_choice_and_not_by_a_stray_key(
    started: Sandbox, model: ScriptedModel
) -> None:
    with claude_on_screen(started, model, "GOOP-STEP go on") as claude:
        claude.wait_for("Merge the work of round 1?")
        claude.wait_for("Your choice: ▸ not set")
        claude.press(ENTER, then="❯ Accept")
        claude.press(ENTER, then="This field is required")
        claude.press(RIGHT, then="◯ do not merge")
        claude.press(ENTER, then="✔ Your choice: merge")
        claude.wait_for("❯ Accept")
        claude.wait_for(DONE, pressing=ENTER)

    assert waiting(started) == []
    assert f"elicitation claude-code {CLAUDE_CODE.version}" in log_of(started)


def test_a_person_at_the_screen_may_choose_not_to(started: Sandbox, model: ScriptedModel) -> None:
    with claude_on_screen(started, model, "GOOP-STEP go on") as claude:
        claude.wait_for("Your choice: ▸ not set")
        claude.press(RIGHT, then="❯ ◯ merge")
        claude.press(DOWN, then="❯ ◯ do not merge")
        claude.press(ENTER, then="✔ Your choice: do not merge")
        claude.wait_for("❯ Accept")
        claude.wait_for(DONE, pressing=ENTER)

    assert waiting(started) == []
    assert "merge" not in log_of(started).lower()
    assert '"status":"refused"' in model.conversations[-1].text_of("user").replace(" ", "")


def test_a_person_who_leaves_the_question_answers_it_later(
    started: Sandbox, model: ScriptedModel
) -> None:
    with claude_on_screen(started, model, "GOOP-STEP go on") as claude:
        claude.wait_for("Your choice: ▸ not set")
        claude.wait_for(DONE, pressing=ESCAPE)

    assert len(waiting(started)) == 1


def answering(*reports: str, first: ToolCall | None = None) -> Callable[..., str | ToolCall]:
    """Return the script of a subagent that calls `first` and then sends one report after another.

    After each it is sent back, and the last one is repeated.
    """

    def script(conversation: Conversation) -> str | ToolCall:
        if "GOOP-SUB" not in conversation.first_text:
            return answer(conversation)
        if first is not None and not conversation.has_called(first.name):
            return first
        report = reports[min(conversation.times_received(OPENING), len(reports) - 1)]
        return after_tests(conversation, report)

    return script


def test_a_subagent_that_writes_nothing_is_asked_for_its_report(sandbox: Sandbox) -> None:
    write_project(sandbox, settings=hook_settings())
    with scripted_model(answering("", GOOD_REPORT)) as model:
        ended = run_claude(sandbox, model, "GOOP-MAIN delegate")
        assert_ended_well(ended)
        assert requests_to_fix(model) == 1
        assert REPAIRED in handed_back(model)


@pytest.mark.parametrize("works", [True, False])
def test_a_subagent_that_never_writes_anything_is_asked_once(
    sandbox: Sandbox, *, works: bool
) -> None:
    write_project(sandbox, settings=hook_settings())
    read = ToolCall("Read", {"file_path": str(sandbox.project / ".mcp.json")})
    with scripted_model(answering("", first=read if works else None)) as model:
        assert_ended_well(run_claude(sandbox, model, "GOOP-MAIN delegate"))
        assert requests_to_fix(model) == 1
        # The host itself makes an error of an agent without any message.
        marked = "the report of goop-executor is not accepted" in handed_back(model)
        assert marked == works
