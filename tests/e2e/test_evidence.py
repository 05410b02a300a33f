"""A claim that the agent's own work contradicts is sent back, in the real clients."""

import json

import pytest

from goop_mcp.delegation.graph import Graph
from goop_mcp.validation.feedback import OPENING
from tests.e2e import claude_code, codex, opencode
from tests.e2e.clients import Sandbox
from tests.e2e.recording.hosts import prepare
from tests.e2e.recording.playing import play
from tests.e2e.recording.scenes import BROKEN, claiming, failing
from tests.e2e.recording.steps import Edit, Read, Scene, Shell
from tests.e2e.scripted_model import scripted_model
from tests.e2e.three_hosts import (
    CLIENTS,
    absent,
    assert_ended_well,
    each_host,
    handed_back,
    on_claude_code,
    playing,
    subagent,
)

_RUN = Shell("pytest -q", status=1)

CAUGHT = Scene(
    name="caught", files=BROKEN, steps=(_RUN, claiming(), failing()), findings=("check-failed",)
)
FIXED = Scene(
    name="fixed after the feedback",
    files=BROKEN,
    steps=(
        _RUN,
        claiming(),
        Read("test_calc.py"),
        Edit("test_calc.py", "== 4", "== 3"),
        Shell("pytest -q"),
        claiming(),
    ),
)
HONEST = Scene(
    name="honest",
    files=BROKEN,
    steps=(
        _RUN,
        Read("test_calc.py"),
        Edit("test_calc.py", "== 4", "== 3"),
        Shell("pytest -q"),
        claiming(),
    ),
)
# All of its tests are skipped: the exit status is 0, and only the output shows that none ran.
SKIPPED = Scene(
    name="skipped in the background",
    background=True,
    files={"test_calc.py": "import pytest\npytestmark = pytest.mark.skip\ndef test_adds(): pass\n"},
    steps=(Shell("pytest -q", background=True), Shell("sleep 6"), claiming(), failing()),
)


@each_host
def test_an_agent_that_fixes_the_tests_after_the_feedback_is_accepted(
    host: str, sandbox: Sandbox
) -> None:
    with playing(FIXED, sandbox, host) as model:
        assert subagent(model).times_received(OPENING) == 1
        assert "<status>COMPLETE</status>" in handed_back(model)
        assert "is not accepted" not in handed_back(model)


@on_claude_code
def test_the_output_of_a_background_command_is_read_from_the_file_of_the_host(
    sandbox: Sandbox,
) -> None:
    with playing(SKIPPED, sandbox, "claude-code") as model:
        feedback = subagent(model).text_of("user", "system")
        assert subagent(model).times_received(OPENING) == 1
        assert "evidence/nothing-executed" in feedback[feedback.index(OPENING) :]


@each_host
def test_a_project_that_turns_it_off_is_judged_by_the_report_alone(
    host: str, sandbox: Sandbox
) -> None:
    claude_code.write_json(
        sandbox.project / ".goopspec" / "hooks.json", {"evidence": "off", "check_workspace": False}
    )
    with playing(CAUGHT, sandbox, host) as model:
        assert subagent(model).times_received(OPENING) == 0


@on_claude_code
def test_tests_that_a_hook_of_the_project_ran_need_no_other_run(sandbox: Sandbox) -> None:
    by_hook = Scene(
        name="by hook",
        files=BROKEN,
        steps=(Read("test_calc.py"), Edit("test_calc.py", "== 4", "== 3"), claiming()),
    )
    prepare(sandbox, by_hook)
    settings = claude_code.hook_settings()
    hooks = settings["hooks"]
    assert isinstance(hooks, dict)
    tests = {"type": "command", "command": "pytest -q"}
    hooks["PostToolUse"] = [*hooks["PostToolUse"], {"matcher": "Edit", "hooks": [tests]}]
    script = play(by_hook, project=str(sandbox.project), killed=lambda: None)
    with scripted_model(script) as model:
        claude_code.write_project(sandbox, settings=settings)
        assert_ended_well(claude_code.run_claude(sandbox, model, "GOOP-MAIN delegate"))
        assert subagent(model).times_received(OPENING) == 0
        assert "is not accepted" not in handed_back(model)


_GRAPH = """\
graph = 1
name = "calc"
protocol = "goop_report"

[agents.builder]
{agent}

[tasks.build]
agent = "builder"
prompt = "GOOP-SUB build the addition"
"""
_AGENT = 'run = "{host}"\nprogram = "{program}"\noptions = {options}'
_SPOKEN_TO = 'run = "acp"\ncommand = ["{program}", "acp"]'
_OPTIONS = {
    "claude-code": ["--allowedTools", "Bash", "Edit", "Read"],
    "codex": ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"],
    "opencode": ["--agent", "build"],
}
_TASKS = [
    *(pytest.param((name, _AGENT), marks=absent(name), id=name) for name in CLIENTS),
    pytest.param(("opencode", _SPOKEN_TO), marks=absent("opencode"), id="opencode acp"),
]


@pytest.mark.parametrize("agent", _TASKS)
@pytest.mark.parametrize(
    ("scene", "sent_back", "code"),
    # An honest report of a failed test is accepted, and a person decides how to go on.
    [(CAUGHT, 1, 3), (FIXED, 1, 0), (HONEST, 0, 0)],
    ids=["caught", "fixed", "honest"],
)
def test_a_task_of_a_graph_is_judged_by_the_transcript_of_its_agent(
    agent: tuple[str, str], scene: Scene, sent_back: int, code: int, sandbox: Sandbox
) -> None:
    prepare(sandbox, scene)
    graph = sandbox.project / "calc.toml"
    host, form = agent
    lines = form.format(host=host, program=CLIENTS[host].path, options=json.dumps(_OPTIONS[host]))
    graph.write_text(_GRAPH.format(agent=lines))
    goop = sandbox.programs / "goop-mcp"
    assert sandbox.run([goop, "init"], environment={}).code == 0

    script = play(scene, project=str(sandbox.project), killed=lambda: None)
    with scripted_model(script) as model:
        environment = {"FAKE_KEY": "test-key"}
        if host == "claude-code":
            claude_code.write_json(sandbox.project / ".claude" / "settings.json", {})
            environment |= claude_code.claude_environment(sandbox, model)
        elif host == "codex":
            codex.write_home(sandbox, model, command="true")
        else:
            opencode.write_project(sandbox)
            environment |= opencode.opencode_environment(model)
        digest = Graph.load(graph, project=sandbox.project).digest
        ended = sandbox.run([goop, "delegate", graph, "--trust", digest], environment=environment)

        assert ended.code == code, ended.out + ended.err
        assert "build: accepted" in ended.out
        sent = subagent(model).text_of("user", "system")
        assert sent.count(OPENING) == sent_back
        if sent_back:
            assert "test_adds" in sent[sent.index(OPENING) :]
