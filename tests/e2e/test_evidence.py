"""A claim that the agent's own work contradicts is sent back, in the real clients."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from goop_mcp.delegation.graph import Graph
from goop_mcp.validation.feedback import OPENING
from tests.e2e import claude_code, codex, opencode
from tests.e2e.clients import CLAUDE_CODE, CODEX, OPENCODE, Ended, Sandbox
from tests.e2e.conversation import Conversation
from tests.e2e.pace import patience
from tests.e2e.recording.hosts import prepare
from tests.e2e.recording.playing import play
from tests.e2e.recording.scenes import BROKEN, claiming, failing
from tests.e2e.recording.steps import Edit, Read, Scene, Shell
from tests.e2e.scripted_model import ScriptedModel, scripted_model

CLIENTS = {"claude-code": CLAUDE_CODE, "codex": CODEX, "opencode": OPENCODE}
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


def _absent(name: str) -> pytest.MarkDecorator:
    missing = CLIENTS[name].missing_reason()
    return pytest.mark.skipif(missing is not None, reason=missing or "")


each_host = pytest.mark.parametrize(
    "host", [pytest.param(name, marks=_absent(name)) for name in CLIENTS]
)


@contextmanager
def playing(scene: Scene, sandbox: Sandbox, host: str) -> Iterator[ScriptedModel]:
    """Play the scene in a project with goop-mcp, and yield the model when the client has ended."""
    prepare(sandbox, scene)
    script = play(scene, project=str(sandbox.project), killed=lambda: None)
    with scripted_model(script) as model:
        if host == "claude-code":
            claude_code.write_project(sandbox, settings=claude_code.hook_settings())
            ended = claude_code.run_claude(
                sandbox, model, "GOOP-MAIN delegate", background=scene.background
            )
        elif host == "codex":
            codex.write_home(sandbox, model)
            ended = codex.run_codex(sandbox, "GOOP-MAIN delegate")
        else:
            opencode.write_project(sandbox)
            opencode.install(sandbox)
            ended = opencode.delegate(sandbox, model, "GOOP-MAIN delegate")

        assert_ended_well(ended)
        yield model


def assert_ended_well(ended: Ended) -> None:
    assert ended.code == 0, ended.err
    assert "All subagents are done." in ended.out
    assert ended.seconds < patience()


def subagent(model: ScriptedModel) -> Conversation:
    """Return the last conversation of the subagent."""
    return [each for each in model.conversations if "GOOP-SUB" in each.first_text][-1]


def handed_back(model: ScriptedModel) -> str:
    main = [each for each in model.conversations if "GOOP-MAIN" in each.first_text]
    if main[-1].form == "responses":
        return codex.handed_back(model)
    return main[-1].text_of("user", "tool", "system")


@each_host
def test_passing_tests_claimed_after_a_failed_run_are_sent_back_with_the_test_that_failed(
    host: str, sandbox: Sandbox
) -> None:
    with playing(CAUGHT, sandbox, host) as model:
        feedback = subagent(model).text_of("user", "system")
        assert subagent(model).times_received(OPENING) == 1
        assert "tests is reported as passed" in feedback
        after = feedback[feedback.index(OPENING) :]
        assert "test_adds" in after
        assert "1 failed" in after
        # Its second report is honest, and accepted as it is.
        assert "<status>PARTIAL</status>" in handed_back(model)
        assert "is not accepted" not in handed_back(model)


@each_host
def test_an_agent_that_fixes_the_tests_after_the_feedback_is_accepted(
    host: str, sandbox: Sandbox
) -> None:
    with playing(FIXED, sandbox, host) as model:
        assert subagent(model).times_received(OPENING) == 1
        assert "<status>COMPLETE</status>" in handed_back(model)
        assert "is not accepted" not in handed_back(model)


@each_host
def test_an_honest_agent_is_never_asked_again(host: str, sandbox: Sandbox) -> None:
    with playing(HONEST, sandbox, host) as model:
        assert subagent(model).times_received(OPENING) == 0
        assert "<status>COMPLETE</status>" in handed_back(model)
        # One request for each step, and no other one.
        turns = [each for each in model.conversations if "GOOP-SUB" in each.first_text]
        assert len(turns) == len(HONEST.steps)


@pytest.mark.skipif(
    CLAUDE_CODE.missing_reason() is not None, reason=CLAUDE_CODE.missing_reason() or ""
)
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


@pytest.mark.skipif(
    CLAUDE_CODE.missing_reason() is not None, reason=CLAUDE_CODE.missing_reason() or ""
)
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


@each_host
def test_an_agent_that_changed_something_and_ran_nothing_is_sent_back(
    host: str, sandbox: Sandbox
) -> None:
    edit = (Read("test_calc.py"), Edit("test_calc.py", "== 4", "== 3"), claiming())
    scene = Scene(name="not run", files=BROKEN, steps=(*edit, Shell("pytest -q"), claiming()))
    with playing(scene, sandbox, host) as model:
        feedback = subagent(model).text_of("user", "system")
        assert subagent(model).times_received(OPENING) == 1
        assert "no command of this task shows it" in feedback[feedback.index(OPENING) :]
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
    *(pytest.param((name, _AGENT), marks=_absent(name), id=name) for name in CLIENTS),
    pytest.param(("opencode", _SPOKEN_TO), marks=_absent("opencode"), id="opencode acp"),
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
