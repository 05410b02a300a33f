import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from goop_mcp.validation.feedback import OPENING
from tests.documentation.pages import fences
from tests.e2e.clients import CLAUDE_CODE, OPENCODE, Ended, Sandbox, make_sandbox
from tests.e2e.conversation import Conversation, ToolCall
from tests.e2e.opencode import (
    HELPER,
    Served,
    delegate,
    handed_back,
    install,
    opencode_environment,
    run_opencode,
    served,
    write_project,
)
from tests.e2e.pace import patience
from tests.e2e.script import BAD_REPORTS, DONE, GOOD_REPORT, after_tests, answer
from tests.e2e.scripted_model import Cut, ScriptedModel, scripted_model
from tests.workspace.projects import put_in_phase

PAGE = "docs/hosts/opencode.md"
REPAIRED = "<status>COMPLETE</status>"

pytestmark = pytest.mark.skipif(
    OPENCODE.missing_reason() is not None, reason=OPENCODE.missing_reason() or ""
)


def subagent_turns(model: ScriptedModel) -> list[Conversation]:
    return [each for each in model.conversations if "GOOP-SUB" in each.first_text]


def requests_to_fix(model: ScriptedModel) -> int:
    """Count how often a subagent was asked to fix its report."""
    return subagent_turns(model)[-1].text_of("user").count(OPENING)


def assert_ended_well(ended: Ended) -> None:
    """Assert that the main agent sent its last message, which follows those of its subagents."""
    assert ended.code == 0, ended.err
    assert DONE in ended.out
    assert ended.seconds < patience()


def wait_for_feedback(model: ScriptedModel) -> Conversation:
    """Return the first conversation in which the main agent is asked to fix its report."""
    give_up = time.monotonic() + patience()
    while time.monotonic() < give_up:
        for each in list(model.conversations):
            if OPENING in each.text_of("user"):
                return each

        time.sleep(0.1)

    raise AssertionError("the main agent was not asked to fix its report")


@pytest.fixture
def installed(sandbox: Sandbox) -> Sandbox:
    """Create a project in which goop-mcp is installed."""
    write_project(sandbox)
    install(sandbox)
    return sandbox


@pytest.fixture(scope="module")
def _running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, ScriptedModel]]:
    """Run one server for many scenes, because its start takes longer than a scene."""
    sandbox = make_sandbox(Path(tmp_path_factory.mktemp("served")) / "a project é")
    write_project(sandbox)
    install(sandbox)
    with scripted_model() as model, served(sandbox, model) as server:
        server.delegate("hello")  # starts the servers that the project names
        yield server, model


@pytest.fixture
def server(_running: tuple[Served, ScriptedModel]) -> Served:
    """Return the server of a project in which goop-mcp is installed."""
    return _running[0]


@pytest.fixture
def recorded(_running: tuple[Served, ScriptedModel]) -> ScriptedModel:
    """Return the model of `server`, without the conversations of earlier scenes."""
    _running[1].conversations.clear()
    return _running[1]


def test_a_bad_report_of_a_subagent_is_sent_back_and_fixed(
    installed: Sandbox, model: ScriptedModel
) -> None:
    ended = delegate(installed, model, "GOOP-MAIN delegate")
    assert_ended_well(ended)
    assert requests_to_fix(model) == 1
    assert REPAIRED in handed_back(model)
    assert BAD_REPORTS[0] not in handed_back(model)


def test_what_the_hook_recorded_reaches_the_main_model(
    installed: Sandbox, model: ScriptedModel
) -> None:
    folder = installed.project / ".goopspec"
    folder.mkdir()
    settings = {"record": True, "check_workspace": False}
    (folder / "hooks.json").write_text(json.dumps(settings), encoding="utf-8")
    assert_ended_well(delegate(installed, model, "GOOP-MAIN delegate"))
    _, _, after = handed_back(model).partition("</task_result>\n")
    # What was not compared is stated before what was recorded.
    assert "not verified: 3 of 4 claims, because check_workspace is false" in after
    assert "goop-mcp recorded this report as report 1 (goop-executor, " in after
    assert '; agent goop-tester; command /goop-execute; task "W1.T3' in after


def test_an_agent_that_lowers_its_judge_is_judged_as_before(
    installed: Sandbox, model: ScriptedModel
) -> None:
    ended = delegate(installed, model, "GOOP-MAIN GOOP-STUBBORN GOOP-LOWER delegate")
    assert_ended_well(ended)
    assert "agents = []" in (installed.project / "goop-mcp.toml").read_text(encoding="utf-8")
    assert requests_to_fix(model) == 2
    assert "do not count until a person trusts them: agents = []" in handed_back(model)


def test_without_the_plugin_the_bad_report_reaches_the_main_agent(
    sandbox: Sandbox, model: ScriptedModel
) -> None:
    write_project(sandbox)
    ended = delegate(sandbox, model, "GOOP-MAIN delegate")
    assert_ended_well(ended)
    assert BAD_REPORTS[0] in handed_back(model)


def test_a_plugin_that_cannot_start_goop_mcp_breaks_nothing(
    installed: Sandbox, model: ScriptedModel
) -> None:
    (installed.programs / "goop-mcp").unlink()
    ended = delegate(installed, model, "GOOP-MAIN delegate")
    assert_ended_well(ended)
    assert BAD_REPORTS[0] in handed_back(model)


def test_a_bad_report_of_a_subagent_is_sent_back_and_fixed_under_serve(
    server: Served, recorded: ScriptedModel
) -> None:
    assert_ended_well(server.delegate("GOOP-MAIN delegate"))
    assert requests_to_fix(recorded) == 1
    assert REPAIRED in handed_back(recorded)


def test_an_agent_that_never_fixes_its_report_ends_after_two_requests_with_its_last_message_kept(
    server: Served, recorded: ScriptedModel
) -> None:
    assert_ended_well(server.delegate("GOOP-MAIN GOOP-STUBBORN delegate"))
    assert requests_to_fix(recorded) == 2
    assert f"<task_result>\n{BAD_REPORTS[2]}" in handed_back(recorded)
    (shown,) = (each for each in fences(PAGE, "") if each.text.startswith("<goop_check>"))
    # On the page the line is broken.
    assert "".join(shown.text.split()) in "".join(handed_back(recorded).split())


def test_an_agent_that_repeats_itself_is_not_asked_again(
    server: Served, recorded: ScriptedModel
) -> None:
    assert_ended_well(server.delegate("GOOP-MAIN GOOP-SAME delegate"))
    assert requests_to_fix(recorded) == 1
    assert BAD_REPORTS[0] in handed_back(recorded)


def test_an_agent_that_need_not_report_is_ignored(server: Served, recorded: ScriptedModel) -> None:
    assert_ended_well(server.delegate(f"GOOP-MAIN agent={HELPER} delegate"))
    assert requests_to_fix(recorded) == 0
    assert BAD_REPORTS[0] in handed_back(recorded)


def test_the_agent_receives_the_form_of_the_report_before_it_works(
    server: Served, recorded: ScriptedModel
) -> None:
    assert_ended_well(server.delegate("GOOP-MAIN delegate"))
    assert "must end with one envelope, and nothing after it" in subagent_turns(recorded)[
        0
    ].text_of("system", "prompt")


def test_the_model_calls_our_tool(server: Served, recorded: ScriptedModel) -> None:
    assert_ended_well(server.delegate("GOOP-MAIN GOOP-TOOL delegate"))
    assert subagent_turns(recorded)[-1].has_called("goop_validate_report")
    assert "status is 'FINISHED'" in subagent_turns(recorded)[-1].text_of("tool")
    assert REPAIRED in handed_back(recorded)


def test_a_bad_report_of_the_main_agent_is_sent_back_under_serve(
    server: Served, recorded: ScriptedModel
) -> None:
    server.delegate("GOOP-MAIN GOOP-OWN report")
    asked = wait_for_feedback(recorded)
    assert asked.text_of("assistant").strip() == BAD_REPORTS[1].strip()


def test_a_session_is_asked_again_by_hand_as_the_page_says(
    installed: Sandbox, model: ScriptedModel
) -> None:
    (shown,) = (each.text for each in fences(PAGE, "") if each.text.startswith("opencode run -s"))
    ended = run_opencode(installed, model, "run", "--format", "json", "GOOP-MAIN GOOP-OWN report")
    assert ended.code == 0, ended.err
    session = next(str(line["sessionID"]) for line in ended.lines if "sessionID" in line)
    (installed.project / "reply.md").write_text(BAD_REPORTS[1], encoding="utf-8")

    (installed.programs / "opencode").symlink_to(OPENCODE.path)
    asked = installed.run(
        ["sh", "-c", shown.replace("SESSION_ID", session)],
        environment=opencode_environment(model),
    )
    assert asked.code == 0, asked.err
    assert REPAIRED in asked.out


def test_opencode_lists_the_server_after_install(installed: Sandbox, model: ScriptedModel) -> None:
    ended = run_opencode(installed, model, "mcp", "list")
    assert ended.code == 0, ended.err
    lines = [line for line in ended.out.splitlines() if "goop" in line]
    assert any("connected" in line for line in lines), ended.out


@pytest.mark.skipif(
    CLAUDE_CODE.missing_reason() is not None, reason=CLAUDE_CODE.missing_reason() or ""
)
def test_claude_code_lists_the_server_after_install(sandbox: Sandbox) -> None:
    install(sandbox, "claude-code")
    # A server of a project is started in folders only that the person has recorded to trust.
    trusted = {"projects": {str(sandbox.project): {"hasTrustDialogAccepted": True}}}
    (sandbox.home / ".claude.json").write_text(json.dumps(trusted), encoding="utf-8")
    ended = sandbox.run(
        [CLAUDE_CODE.path, "mcp", "list"], environment={"CLAUDE_CODE_TMPDIR": str(sandbox.scratch)}
    )
    assert "goop: goop-mcp" in ended.out
    assert "Connected" in ended.out, ended.out + ended.err


def test_a_step_that_needs_a_person_waits_as_the_host_asks_nobody(
    installed: Sandbox, model: ScriptedModel
) -> None:
    program = installed.programs / "goop-mcp"
    assert installed.run([program, "init"], environment={}).code == 0
    put_in_phase(installed.project, "accept")
    ended = delegate(installed, model, "GOOP-STEP go on")
    assert_ended_well(ended)
    answered = model.conversations[-1].text_of("tool")
    assert 'run "goop-mcp project merge" in a terminal' in answered
    shown = installed.run([program, "status", "--exit-code"], environment={})
    assert shown.code == 3
    assert "Waiting for You" in shown.out


def answering(*reports: str | Cut) -> Callable[[Conversation], str | ToolCall | Cut]:
    """Return the script of a subagent that sends one of `reports` after another, as it is asked."""

    def script(conversation: Conversation) -> str | ToolCall | Cut:
        if "GOOP-SUB" not in conversation.first_text:
            return answer(conversation)
        reply = reports[min(conversation.text_of("user").count(OPENING), len(reports) - 1)]
        return reply if isinstance(reply, Cut) else after_tests(conversation, reply)

    return script


def test_a_report_that_names_the_end_of_a_result_is_read_whole(installed: Sandbox) -> None:
    report = f"I changed the wrapper so that </task_result> is escaped.\n\n{GOOD_REPORT}"
    with scripted_model(answering(report)) as model:
        assert_ended_well(delegate(installed, model, "GOOP-MAIN delegate"))
        assert requests_to_fix(model) == 0
        assert REPAIRED in handed_back(model)


def test_a_subagent_that_writes_nothing_is_asked_for_its_report(installed: Sandbox) -> None:
    with scripted_model(answering("", GOOD_REPORT)) as model:
        assert_ended_well(delegate(installed, model, "GOOP-MAIN delegate"))
        assert requests_to_fix(model) == 1
        assert REPAIRED in handed_back(model)


def test_a_subagent_whose_reply_was_cut_is_asked_for_a_shorter_one(installed: Sandbox) -> None:
    with scripted_model(answering(Cut(GOOD_REPORT[:300]), GOOD_REPORT)) as model:
        assert_ended_well(delegate(installed, model, "GOOP-MAIN delegate"))
        assert "cut at the token limit: send it shorter" in subagent_turns(model)[-1].text_of(
            "user"
        )
        assert REPAIRED in handed_back(model)
