"""A graph of real Claude Code and OpenCode: plan, three executors, review with feedback, tests.

Their model is scripted; everything else is what a person runs. With GOOP_RECORD=1 what the terminal
shows is kept for the documentation; `make docs` makes the picture of it.
"""

import json
import os
import re
import shlex
from pathlib import Path

import pytest

from goop_mcp.delegation import Graph
from tests.cli.running import Ended as EndedOnTerminal
from tests.cli.running import run_command_on_terminal
from tests.delegation.reports import report
from tests.e2e import opencode
from tests.e2e.claude_code import claude_environment, write_json
from tests.e2e.clients import CLAUDE_CODE, OPENCODE, Sandbox
from tests.e2e.conversation import Conversation, ToolCall
from tests.e2e.opencode import opencode_environment
from tests.e2e.script import after_tests
from tests.e2e.scripted_model import ScriptedModel, scripted_model
from tests.repository import ROOT

MISSING = CLAUDE_CODE.missing_reason() or OPENCODE.missing_reason()
pytestmark = pytest.mark.skipif(MISSING is not None, reason=MISSING or "")

RECORDED = ROOT / "tests" / "documentation" / "recorded" / "delegate.json"
_RUN = "run-5c1e09aa"
_ERASED = "\x1b[?25h"
_ASKS = "[y/N] "
GRAPH = f"""\
graph = 1
name = "login"
protocol = "goop_report"

[limits]
parallel = 2

[agents.planner]
run = "claude-code"
program = "{CLAUDE_CODE.path}"
options = ["--allowedTools", "Bash"]
[agents.executor]
run = "opencode"
program = "{OPENCODE.path}"
[agents.writer]
run = "command"
command = ["false"]
retry = {{ max_attempts = 1, call_retries = 0 }}
[agents.reviewer]
run = "claude-code"
program = "{CLAUDE_CODE.path}"
options = ["--allowedTools", "Bash"]

[tasks.plan]
agent = "planner"
prompt = "TASK-PLAN: plan ${{input.goal}}"
[tasks.api]
agent = "executor"
needs = ["plan"]
prompt = "TASK-API: build the endpoint. ${{plan.summary}}"
workspace = "worktree"
[tasks.page]
agent = "executor"
needs = ["plan"]
prompt = "TASK-PAGE: build the page. ${{plan.summary}}"
[tasks.docs]
agent = "writer"
needs = ["plan"]
optional = true
[tasks.review]
agent = "reviewer"
needs = ["api", "page", "docs"]
prompt = "TASK-REVIEW: ${{api.summary}} ${{page.summary}}"
feedback_to = ["api"]
[tasks.test]
agent = "reviewer"
needs = ["review"]
prompt = "TASK-TEST: test ${{api.summary}}"
"""


def play(conversation: Conversation) -> str | ToolCall:
    """Answer as an agent would that reads what it was asked, and runs the tests it reports."""
    return after_tests(conversation, reply_to(conversation))


def reply_to(conversation: Conversation) -> str:
    asked = conversation.text_of("user")
    if "TASK-PLAN" in asked:
        return report(agent="goop-planner", summary="An endpoint and a page.")
    if "TASK-API" in asked:
        limited = "Limit the attempts" in asked
        return report(summary="Login with a limit." if limited else "Login without a limit.")
    if "TASK-PAGE" in asked:
        decided = "Use green" in asked
        if decided:
            return report(summary="A green page.")
        return report("BLOCKED", summary="No color.", blockers="RULE 4: which color?")
    if "TASK-REVIEW" in asked:
        # The second round goes on in the conversation of the first.
        if "without a limit" in asked.rpartition("TASK-REVIEW")[2]:
            return report(
                "PARTIAL",
                agent="goop-verifier",
                summary="The login can be tried for ever.",
                next_action="Limit the attempts",
            )
        return report(agent="goop-verifier", summary="Reviewed.")
    if "TASK-TEST" in asked:
        return report(agent="goop-tester", summary="12 tests pass.")
    return "ok"


@pytest.fixture
def project(sandbox: Sandbox) -> Path:
    opencode.write_project(sandbox)
    (sandbox.project / "login.toml").write_text(GRAPH, encoding="utf-8")
    write_json(sandbox.project / ".claude" / "settings.json", {})
    for words in (
        ["git", "init", "-q"],
        ["git", "add", "-A"],
        ["git", "-c", "user.name=a", "-c", "user.email=a@b.example", "commit", "-qm", "begin"],
    ):
        assert sandbox.run(words, environment={}).code == 0
    # Its first start creates its database; who starts twice at once then repeats a call.
    assert sandbox.run([OPENCODE.path, "session", "list"], environment={}).code == 0
    return sandbox.project


def test_real_clients_plan_build_review_and_test_with_a_person_in_between(
    sandbox: Sandbox, project: Path
) -> None:
    trusted = f" --trust {Graph.load(project / 'login.toml').digest}"
    shown: list[dict[str, str]] = []
    with scripted_model(play) as model:
        first = goop(sandbox, model, shown, "delegate login.toml --input goal=login" + trusted)
        assert first.code == 3, first.out
        run = re.findall(r"run-[0-9a-f]{8}", first.out)[0]
        assert "which color?" in shown[0]["output"]
        assert states(shown[0]["output"]) == {
            "plan": "✓",
            "api": "✓",
            "page": "?",
            "docs": "✗",
            "review": "·",
            "test": "·",
        }

        answer = f'runs answer {run} page retry --note "Use green"'
        answered = goop(sandbox, model, shown, answer, typed="y\n")
        assert answered.code == 0, answered.out
        last = goop(sandbox, model, shown, f"runs resume {run}")

    assert last.code == 0, last.out
    assert states(shown[2]["output"]) == {
        "plan": "✓",
        "api": "✓",
        "page": "✓",
        "docs": "✗",
        "review": "✓",
        "test": "✓",
    }
    table = shown[2]["output"].splitlines()
    assert "round 2" in next(line for line in table if " api " in line)

    # Seconds differ from run to run; all else is what the documentation shows.
    if os.environ.get("GOOP_RECORD"):
        text = json.dumps(shown, indent=1, ensure_ascii=False) + "\n"
        RECORDED.write_text(text.replace(run, _RUN).replace(str(CLAUDE_CODE.path.parent), ""))
    kept = json.loads(RECORDED.read_text(encoding="utf-8"))
    assert [without_times(each["output"].replace(run, _RUN)) for each in shown] == [
        without_times(each["output"]) for each in kept
    ]


HOSTILE = '--help me "quoted" \\ back  two\n-x end'
_WORDS = f"""\
graph = 1
name = "words"
protocol = "goop_report"
[agents.opencode]
run = "opencode"
program = "{OPENCODE.path}"
[agents.claude]
run = "claude-code"
program = "{CLAUDE_CODE.path}"
options = ["--allowedTools", "Bash"]
[tasks.one]
agent = "opencode"
prompt = "${{input.text}}"
[tasks.two]
agent = "claude"
prompt = "${{input.text}}"
[tasks.three]
agent = "claude"
prompt = "${{input.command}}"
"""


def test_what_another_agent_wrote_arrives_as_text_and_whole(
    sandbox: Sandbox, project: Path
) -> None:
    (project / "words.toml").write_text(_WORDS, encoding="utf-8")
    # A command of the project, which Claude Code would expand in place of the message.
    commands = project / ".claude" / "commands"
    commands.mkdir(parents=True)
    (commands / "expanded.md").write_text("EXPANDED\n", encoding="utf-8")
    asked: list[str] = []

    def answer(conversation: Conversation) -> str | ToolCall:
        asked.append(conversation.text_of("user"))
        return after_tests(conversation, report())

    with scripted_model(answer) as model:
        trusted = f"--trust {Graph.load(project / 'words.toml').digest}"
        given = shlex.join(["--input", f"text={HOSTILE}", "--input", "command=/expanded"])
        ended = goop(sandbox, model, [], f"delegate words.toml {given} {trusted}")

    assert ended.code == 0, ended.out
    assert sum(HOSTILE in each for each in asked) >= 2
    assert any("\n/expanded" in each for each in asked)
    assert not any("EXPANDED" in each for each in asked)


def goop(
    sandbox: Sandbox,
    model: ScriptedModel,
    shown: list[dict[str, str]],
    words: str,
    typed: str = "",
) -> EndedOnTerminal:
    """Run `goop-mcp` on a terminal as a person does, with the model for both clients."""
    environment = sandbox.environment(
        {**claude_environment(sandbox, model), **opencode_environment(model), "TERM": "xterm"}
    )
    given = [f"{name}={value}" for name, value in environment.items()]
    ended = run_command_on_terminal(
        ["/usr/bin/env", "-i", *given, str(sandbox.programs / "goop-mcp"), *shlex.split(words)],
        cwd=sandbox.project,
        typed=typed,
    )
    # What was redrawn in place is gone at the end: the lines after it stay.
    output = ended.out.replace("\r\n", "\n").rpartition(_ERASED)[2]
    # A terminal shows what is typed at once, here before the question.
    output = output.removeprefix(typed).replace(_ASKS, f"{_ASKS}{typed}")
    # The digest is that of a graph with the paths of this machine.
    command = f"goop-mcp {words}".partition(" --trust")[0]
    shown.append({"command": command, "output": output})

    return ended


def states(output: str) -> dict[str, str]:
    """Return the icon of each task in the last table."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", output)
    lines = [line for line in plain.splitlines() if line[:2] in ("✓ ", "✗ ", "? ", "· ")]
    return {line.split()[1]: line[0] for line in lines}


def without_times(output: str) -> str:
    return re.sub(r" +(?=\n)|,? ?[0-9,]+ (?:s|tokens)\b", "", output)
