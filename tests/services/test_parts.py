"""Each part of goop-mcp can be had alone: what is not in use asks for nothing, on any surface."""

import json
import re
import stat
from pathlib import Path
from typing import Any

import pytest

from goop_mcp.server import create_server
from goop_mcp.server.models import StatusModel
from goop_mcp.settings import Settings
from tests.cli.running import run
from tests.hosts.machine import Machine, make_machine
from tests.server.connections import connect, text_of
from tests.services.reporting import report
from tests.workbench.browsing import browse
from tests.workbench.browsing import text_of as shown_in

# What only the life of a project asks for.
LIFE = re.compile(
    r"Gate|Interview|interview|Spec Lock|SPEC\.md|BLUEPRINT\.md|state\.json|is missing"
    r"|/goop-(?!mcp)|Round|Phase:|phase unknown|Acceptance"
)
GRAPH = """\
graph = 1
name = "one"
protocol = "goop_report"

[agents.worker]
run = "command"
command = ["./worker"]

[tasks.only]
agent = "worker"
prompt = "Do it"
"""


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return make_machine(tmp_path)


def nothing(machine: Machine) -> None:
    """Only the folder is there."""


def hooks(machine: Machine) -> None:
    assert machine.run("install", "claude-code", "--no-commands").code == 0
    event = {
        "hook_event_name": "SubagentStop",
        "session_id": "one",
        "cwd": str(machine.project),
        "agent_id": "a1",
        "agent_type": "goop-executor",
        "last_assistant_message": "Done, without an envelope.",
    }
    ended = run(
        "hook",
        "claude-code",
        cwd=machine.project,
        env=machine.environment(),
        stdin=json.dumps(event).encode(),
    )
    assert json.loads(ended.out)["decision"] == "block"


def memory(machine: Machine) -> None:
    assert machine.run("memory", "save", "uv, not pip", "We build with uv.").code == 0


def delegation(machine: Machine) -> None:
    # Without a task of the plan the router would ask a person how to go on; the graph knows.
    text = re.sub(r"<task_id>.*</task_id>\n", "", report("W1.T1", next="look at the tests"))
    machine.write("reply.md", text)
    worker = machine.write("worker", "#!/bin/sh\ncat > /dev/null\ncat reply.md\n")
    worker.chmod(worker.stat().st_mode | stat.S_IXUSR)
    machine.write("one.toml", GRAPH)
    checked = machine.run("delegate", "one.toml", "--check").out
    (digest,) = re.findall(r"--trust ([0-9a-f]{64})", checked)
    ended = machine.run("delegate", "one.toml", "--trust", digest)
    assert ended.code == 0, ended.err


USES = {
    "nothing": (nothing, set[str](), ["Now", "Check"]),
    "hooks": (hooks, {"reports"}, ["Now", "Reports", "Check", "Agents"]),
    "memory": (memory, {"memory"}, ["Now", "Check", "Memory"]),
    "delegation": (
        delegation,
        {"reports", "delegation"},
        ["Now", "Reports", "Check", "Runs", "Agents"],
    ),
}


def status(machine: Machine) -> dict[str, Any]:
    found = machine.run("status", "--format", "json", "--exit-code")
    assert found.code == 0, found.out
    values: dict[str, Any] = json.loads(found.out)
    StatusModel.model_validate(values)
    return values


def documents(machine: Machine) -> str:
    folder = machine.project / ".goopspec"
    return "".join(path.read_text("utf-8") for path in sorted(folder.glob("*.md")))


@pytest.mark.parametrize("use", USES)
def test_what_is_not_in_use_is_one_line_on_how_to_begin(machine: Machine, use: str) -> None:
    begin, used, pages = USES[use]
    begin(machine)
    values = status(machine)
    assert {name for name, is_used in values["parts"].items() if is_used} == used
    assert (values["gates"], values["next_command"], values["drift"]) == ([], None, [])
    assert values["waiting"] == []

    text = machine.run("status").out
    assert LIFE.search(text) is None
    offers = text.partition("Not in Use\n\n")[2].partition("\n\n---")[0].split("\n\n")
    assert len(offers) == 4 - len(used)
    assert all("`goop-mcp " in each for each in offers)

    assert LIFE.search(machine.run("handoff", "session").out) is None
    assert LIFE.search(documents(machine)) is None
    examined = machine.run("doctor").out
    assert LIFE.search(examined) is None
    assert examined.count("goop-mcp init") <= 1

    with browse(machine.project) as browser:
        first = browser.get("/")
        assert shown_in(first, "nav").split() == pages
        assert LIFE.search(shown_in(first)) is None
        # A page that is not in the navigation is there, and shows where it is.
        assert "Draft" in shown_in(browser.get("/draft"), "nav").split()

    with connect(create_server(Settings(project=machine.project)), "auto") as connection:
        answer = connection.tool("project_status")
    assert LIFE.search(text_of(answer)) is None
    # A tool, not a command of a terminal, for whoever has tools.
    assert 'update_project(action="init")' in text_of(answer)
    assert answer.structured_content is not None
    assert answer.structured_content["parts"]["project"] is False


@pytest.mark.parametrize("use", USES)
def test_all_appears_once_a_project_begins(machine: Machine, use: str) -> None:
    USES[use][0](machine)
    assert machine.run("init", "--name", "Shop").code == 0
    values = status(machine)
    assert values["parts"]["project"] is True
    assert next(each["gate"] for each in values["gates"]) == "Discovery"
    assert values["next_command"] == "/goop-discuss"
    text = machine.run("status").out
    assert "| Spec Lock |" in text
    assert "Not in Use" not in text
    assert "/goop-discuss" in documents(machine)
    assert "### Workflow Position" in machine.run("handoff", "session").out
    with browse(machine.project) as browser:
        assert len(shown_in(browser.get("/"), "nav").split()) == 9


@pytest.mark.parametrize("name", ["SPEC.md", "BLUEPRINT.md", "REQUIREMENTS.md", "state.json"])
def test_a_document_of_a_project_is_enough(machine: Machine, name: str) -> None:
    memory(machine)
    machine.write(f".goopspec/{name}", "{" if name == "state.json" else "# Shop\n")
    values = status(machine)
    assert values["parts"]["project"] is True
    assert values["gates"]
    assert values["drift"]
