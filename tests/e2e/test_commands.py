"""Every command of the workflow in the real clients: its text arrives, and its tool is called."""

import json
from collections.abc import Iterator

import pytest

from goop_mcp.services.commands import CommandForm, command_file
from goop_mcp.services.prompts import command_names
from goop_mcp.workflow.commands import PLUGIN_PREFIX
from tests.e2e.claude_code import PLUGIN, converse, run_claude
from tests.e2e.clients import CLAUDE_CODE, OPENCODE, Sandbox
from tests.e2e.commands import answers, first_call, follow
from tests.e2e.opencode import install, served, write_project
from tests.e2e.script import DONE
from tests.e2e.scripted_model import ScriptedModel, scripted_model

WORDS = "the login page"
FAILED = ("Error executing", "validation error", "InputValidationError", "MCP error")
NAMES = command_names()

in_claude_code = pytest.mark.skipif(
    CLAUDE_CODE.missing_reason() is not None, reason=CLAUDE_CODE.missing_reason() or ""
)
in_opencode = pytest.mark.skipif(
    OPENCODE.missing_reason() is not None, reason=OPENCODE.missing_reason() or ""
)


@pytest.fixture
def following() -> Iterator[ScriptedModel]:
    """Run a model that makes the first call of each command."""
    with scripted_model(follow) as model:
        yield model


def text_of(name: str, form: CommandForm) -> str:
    """Return the text that the model receives for a command with WORDS after it."""
    _, _, text = command_file(name, form).split("---\n", 2)
    return text.replace("$ARGUMENTS", WORDS).strip()


def assert_each_drove_its_tool(pairs: list[tuple[str, str]], form: CommandForm) -> None:
    """Assert that the model received every command in order, and its tool answered."""
    assert len(pairs) == len(NAMES)
    for name, (received, answer) in zip(NAMES, pairs, strict=True):
        assert text_of(name, form) in received, name
        assert answer, f"{name}: {first_call(received)} was not answered"
        assert not any(each in answer for each in FAILED), f"{name}: {answer[:500]}"


def start(sandbox: Sandbox) -> None:
    ended = sandbox.run([sandbox.programs / "goop-mcp", "init"], environment={})
    assert ended.code == 0, ended.err


@in_claude_code
def test_every_command_that_is_installed_runs_in_claude_code(
    sandbox: Sandbox, following: ScriptedModel
) -> None:
    install(sandbox, "claude-code")
    start(sandbox)
    ended = converse(sandbox, following, [f"/{name} {WORDS}" for name in NAMES])
    assert ended.code == 0, ended.err
    assert_each_drove_its_tool(answers(following.conversations[-1]), "claude-code")


@in_claude_code
def test_every_command_of_the_plugin_runs_under_its_prefix(
    sandbox: Sandbox, following: ScriptedModel
) -> None:
    start(sandbox)
    prompts = [f"/{PLUGIN_PREFIX}{name} {WORDS}" for name in NAMES]
    ended = converse(sandbox, following, prompts, arguments=["--plugin-dir", PLUGIN])
    assert ended.code == 0, ended.err
    assert_each_drove_its_tool(answers(following.conversations[-1]), "plugin")


@in_claude_code
def test_where_only_the_plugin_is_the_session_begins_with_the_prefix(
    sandbox: Sandbox, model: ScriptedModel
) -> None:
    start(sandbox)
    stated = f"for /goop-plan the user types /{PLUGIN_PREFIX}goop-plan"
    run_claude(sandbox, model, "hello", arguments=["--plugin-dir", PLUGIN])
    assert model.conversations[-1].text_of("user", "system").count(stated) == 1

    install(sandbox, "claude-code")
    run_claude(sandbox, model, "hello", arguments=["--plugin-dir", PLUGIN])
    assert stated not in model.conversations[-1].text_of("user", "system")


@in_claude_code
def test_the_model_may_run_the_commands_that_decisions_name(
    sandbox: Sandbox, model: ScriptedModel
) -> None:
    install(sandbox, "claude-code")
    run_claude(sandbox, model, "hello")
    listed = model.conversations[-1].text_of("user", "system")
    assert "- goop-plan: Plan the work, and have the specification locked" in listed
    assert "- goop-recall:" not in listed, "it would cost tokens in every session"


@in_opencode
def test_every_command_that_is_installed_runs_in_opencode(
    sandbox: Sandbox, following: ScriptedModel
) -> None:
    write_project(sandbox)
    install(sandbox)
    start(sandbox)
    pairs = []
    with served(sandbox, following) as server:
        for name in NAMES:
            assert DONE in json.dumps(server.run_command(name, WORDS)), name
            pairs += answers(following.conversations[-1])

    assert_each_drove_its_tool(pairs, "opencode")
