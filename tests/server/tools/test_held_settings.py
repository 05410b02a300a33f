"""Tools judge by the settings with which the server began: what weakens needs a person."""

import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from goop_mcp.server import create_server
from goop_mcp.settings import Settings
from goop_mcp.validation.samples import COMPLETE_REPLY
from tests.cli.running import run
from tests.server.connections import (
    PROTOCOL_MODES,
    Connection,
    check_against_schema,
    connect,
    stdio_server,
    text_of,
)
from tests.services.reporting import report
from tests.workspace.projects import copied
from tests.workspace.true_projects import make_project, write

WRONG = COMPLETE_REPLY.replace("COMPLETE", "FINISHED")
LAX = '[check]\nignore = ["goop_report"]\n[hooks]\nagents = []\n'
NO_COUNT = "settings that weaken how reports are judged do not count until a person trusts them"
JUDGING = ("validate_report", "route_next_action", "record_report")


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the server a state folder in which nothing is trusted yet."""
    folder = tmp_path_factory.mktemp("state")
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    return folder


@pytest.fixture(params=PROTOCOL_MODES)
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Connection]:
    copied("profile_0x", tmp_path)
    settings = Settings(project=tmp_path, hook_tool=True)
    with connect(create_server(settings), request.param) as opened:
        yield opened


def verdict_of(answer: object) -> object:
    values = getattr(answer, "structured_content", None) or {}
    found = values.get("verdict")
    return found["verdict"] if isinstance(found, dict) else found


@pytest.mark.parametrize("check_workspace", [False, True])
@pytest.mark.parametrize("tool", JUDGING)
def test_what_an_agent_writes_meanwhile_does_not_lower_a_verdict(
    project: Connection,
    tmp_path: Path,
    tool: str,
    check_workspace: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    write(tmp_path, "goop-mcp.toml", LAX)
    with caplog.at_level(logging.WARNING):
        first = project.tool(tool, text=WRONG, check_workspace=check_workspace)

    assert verdict_of(first) == "rejected"
    note = str((first.structured_content or {})["note"])
    assert note.startswith(f"{NO_COUNT}: agents = [] (goop-mcp.toml, line 4; before: ")
    assert text_of(first).splitlines()[1] == f"note: {note}"
    assert [each.message for each in caplog.records if NO_COUNT in each.message] == [note]
    check_against_schema(first, project.tools()[tool])

    again = project.tool(tool, text=WRONG, check_workspace=check_workspace)
    assert verdict_of(again) == "rejected"
    assert "note" not in (again.structured_content or {})


def test_a_hook_that_asks_the_server_is_answered_the_same(
    project: Connection, tmp_path: Path
) -> None:
    write(tmp_path, ".goopspec/hooks.json", '{"agents": [], "check_workspace": false}')
    asked = {"event": "SubagentStop", "agent_id": "a", "agent_type": "goop-executor"}
    answer = json.loads(text_of(project.tool("hook_check", text="Done.", **asked)))
    assert answer["decision"] == "block"
    assert NO_COUNT in answer["systemMessage"]
    # An answer to a hook is JSON and nothing else, also where nothing is to be judged.
    other = project.tool("hook_check", text="Done.", **{**asked, "agent_type": "Explore"})
    assert json.loads(text_of(other)) == {}


def test_claims_are_verified_by_a_hook_after_the_folder_is_gone(tmp_path: Path) -> None:
    made = make_project(tmp_path)
    server = create_server(Settings(project=tmp_path, hook_tool=True))
    with connect(server, "auto") as opened:
        (tmp_path / ".goopspec").rename(tmp_path / "elsewhere")
        (tmp_path / ".git").rename(tmp_path / "other")
        ghost = made.reply.replace("src/login.py", "src/ghost.py")
        asked = {"event": "SubagentStop", "agent_id": "a", "agent_type": "goop-executor"}
        answer = json.loads(text_of(opened.tool("hook_check", text=ghost, **asked)))
    assert "'src/ghost.py' does not exist" in answer["reason"]
    assert ".goopspec is gone" in answer["systemMessage"]


def test_what_tightens_counts_at_once(project: Connection, tmp_path: Path) -> None:
    write(tmp_path, "goop-mcp.toml", '[check.severity]\n"goop_report/unknown-phase" = "error"\n')
    odd = report(agent="goop-executor", phase="coding")
    answer = project.tool("validate_report", text=odd)
    assert verdict_of(answer) == "rejected"
    assert "note" not in (answer.structured_content or {})


def test_a_file_of_long_standing_counts_as_it_is(tmp_path: Path) -> None:
    write(tmp_path, "goop-mcp.toml", LAX)
    with connect(create_server(Settings(project=tmp_path)), "auto") as opened:
        answer = opened.tool("validate_report", text=WRONG)
    assert verdict_of(answer) == "accepted"
    assert "note" not in (answer.structured_content or {})


def test_a_person_may_trust_it_while_the_server_runs(tmp_path: Path, home: Path) -> None:
    variables = {"XDG_STATE_HOME": str(home)}
    server = stdio_server(tmp_path)
    server.env = {**(server.env or {}), **variables}
    with connect(server, "auto") as opened:
        assert verdict_of(opened.tool("validate_report", text=WRONG)) == "rejected"
        write(tmp_path, "goop-mcp.toml", LAX)
        assert verdict_of(opened.tool("validate_report", text=WRONG)) == "rejected"

        asked = run("trust", cwd=tmp_path, env=variables)
        [digest] = re.findall(r"[0-9a-f]{64}", asked.err)
        assert run("trust", "--digest", digest, cwd=tmp_path, env=variables).code == 0
        assert verdict_of(opened.tool("validate_report", text=WRONG)) == "accepted"


def test_no_agent_decides_by_a_file_that_it_writes(tmp_path: Path) -> None:
    """A blocker stays open where the project wanted a person when the server began."""
    copied("profile_0x", tmp_path)
    write(tmp_path, ".goopspec/hooks.json", '{"confirm_decisions": true}')
    with connect(create_server(Settings(project=tmp_path)), "auto") as opened:
        blocked = report("W1.T1", status="BLOCKED", blockers="RULE 4 DEVIATION: A) x, B) y?")
        recorded = opened.tool("record_report", text=blocked, check_workspace=False)
        assert (recorded.structured_content or {})["status"] == "recorded", text_of(recorded)

        write(tmp_path, ".goopspec/hooks.json", '{"confirm_decisions": false}')
        asked = opened.tool("update_project", action="decide", task="W1.T1", choice="A")
    assert (asked.structured_content or {})["status"] == "waiting"
    assert "confirm_decisions = false" in text_of(asked)
