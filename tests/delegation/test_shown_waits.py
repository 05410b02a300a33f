"""What a run asks a person, and a run whose runner was killed, stand wherever waiting is listed.

Each place names what its reader answers with: a command on a terminal, or a call of a tool.
"""

import json
import re
import sys
from pathlib import Path

from goop_mcp.delegation import Graph
from tests.cli.running import Ended, answer_on_terminal, run
from tests.delegation.reports import report
from tests.delegation.runners import Place
from tests.delegation.test_liveness import killed
from tests.delegation.test_scene import SMALL
from tests.server.connections import PROTOCOL_MODES, connect, stdio_server, text_of
from tests.workbench.browsing import browse

GRAPH = SMALL.replace(
    '[tasks.test]\nagent = "worker"\nneeds = ["api"]',
    '[gates.ship]\nneeds = ["api"]\nquestion = "Ship it to the customers?"\n'
    '[tasks.test]\nagent = "worker"\nneeds = ["ship"]',
)


def goop(folder: Path, *words: str) -> Ended:
    """Run a command of goop-mcp in the project; a person answers where it asks."""
    command = answer_on_terminal if words[:2] == ("runs", "answer") else run
    return command(*words, cwd=folder, env={"XDG_STATE_HOME": str(folder / "state")})


def places(folder: Path) -> dict[str, str]:
    """Return what each place shows of all that waits."""
    with connect(stdio_server(folder), PROTOCOL_MODES[0]) as client:
        answer = client.tool("project_status")
        handoff = client.tool("build_handoff", kind="session")
    assert answer.structured_content is not None
    assert handoff.structured_content is not None
    with browse(folder) as browser:
        page = browser.get("/").text
    return {
        "status": goop(folder, "status").out,
        "MCP, text": text_of(answer),
        "MCP, values": json.dumps(answer.structured_content["waiting"], ensure_ascii=False),
        "handoff of a client": str(handoff.structured_content["text"]),
        "HANDOFF.md": goop(folder, "handoff", "session").out,
        "workbench": page,
    }


def has(text: str, words: str) -> bool:
    # Terminals and pages wrap lines.
    return words in re.sub(r"\s+", " ", text.replace("\\", ""))


def test_a_gate_that_waits_is_listed_everywhere_until_it_is_answered(tmp_path: Path) -> None:
    assert goop(tmp_path, "init").code == 0
    (tmp_path / "worker.py").write_text(f"print({report()!r})\n", encoding="utf-8")
    graph = tmp_path / "small.toml"
    graph.write_text(GRAPH.format(python=json.dumps(sys.executable)), encoding="utf-8")
    ended = goop(tmp_path, "delegate", "small.toml", "--trust", Graph.load(graph).digest)
    assert ended.code == 3, ended

    assert goop(tmp_path, "status", "--exit-code").code == 3
    [asked] = json.loads(goop(tmp_path, "status", "--format", "json").out)["waiting"]
    run_id = asked["command"].split()[3]
    # For a model, and for a person with a browser; the others name the command for a terminal.
    answers = {
        "MCP, text": asked["call"],
        "MCP, values": asked["call"],
        "handoff of a client": asked["call"],
        "workbench": f'/runs/{run_id}">Answer</a>',
    }
    for place, text in places(tmp_path).items():
        assert has(text, "Ship it to the customers?"), (place, text)
        assert has(text, answers.get(place, asked["command"])), (place, text)
    chronicle = (tmp_path / ".goopspec" / "CHRONICLE.md").read_text(encoding="utf-8")
    assert has(chronicle, "`goop-mcp status`, or `project_status` for an agent, shows what waits")
    assert has(chronicle, "Ship it to the customers?"), chronicle

    assert goop(tmp_path, "runs", "answer", run_id, "ship", "yes").code == 0
    for place, text in places(tmp_path).items():
        assert not has(text, "Ship it to the customers?"), (place, text)


def test_a_run_that_was_killed_is_listed_everywhere_until_it_goes_on(tmp_path: Path) -> None:
    assert goop(tmp_path, "init").code == 0
    with Place(tmp_path, None) as place:
        id = killed(place)
        resumes = f"goop-mcp runs resume {id}"
        assert goop(tmp_path, "status", "--exit-code").code == 3
        for where, text in places(tmp_path).items():
            assert has(text, resumes), (where, text)
        place.finish(id)
        assert goop(tmp_path, "status", "--exit-code").code == 0
        for where, text in places(tmp_path).items():
            assert not has(text, resumes), (where, text)
