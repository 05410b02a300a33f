"""`goop-mcp delegate` in a project: what a reply claims is verified before it is accepted."""

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from goop_mcp.delegation.agents import AgentSession
from goop_mcp.delegation.ledger import Ledger
from goop_mcp.delegation.runner import TaskReply, outcome_of_run
from goop_mcp.evidence.evidence import Evidence
from goop_mcp.services.task_replies import TaskJudge
from goop_mcp.store.opening import open_store
from goop_mcp.validation.evidence_rules import FILE_NOT_TOUCHED
from goop_mcp.validation.findings import Severity
from tests.cli.running import Ended, run
from tests.delegation.reports import report
from tests.evidence.recorded import RECORDED
from tests.recording.repositories import Work

# The first reply claims what is not so; asked again, the agent does it and reports the same.
_AGENT = """\
import os, pathlib, sys

message = sys.stdin.read()
with open(os.environ["ASKED"], "a") as log:
    log.write(message + "\\0")
if "was not accepted" in message:
    path = pathlib.Path(os.environ["CLAIMED"])
    path.parent.mkdir(exist_ok=True)
    path.write_text("done\\n")
print(pathlib.Path(os.environ["REPORT"]).read_text())
"""

_GRAPH = """\
graph = 1
name = "login"
protocol = "goop_report"

[agents.worker]
run = "command"
command = [{python}, {program}]

[tasks.api]
agent = "worker"
prompt = "Write the login."
workspace = "{workspace}"
"""


def delegate(folder: Path, *, action: str, path: str, workspace: str) -> tuple[Ended, list[str]]:
    """Run a graph of one task, whose agent claims `path`; return what it was sent as well."""
    claim = f'<files><file path="{path}" action="{action}">Login</file></files>'
    (folder.parent / "report.md").write_text(
        report(agent="goop-executor").replace("<artifacts>", f"<artifacts>{claim}")
    )
    (folder.parent / "agent.py").write_text(_AGENT)
    graph = folder.parent / "login.toml"
    graph.write_text(
        _GRAPH.format(
            python=json.dumps(sys.executable),
            program=json.dumps(str(folder.parent / "agent.py")),
            workspace=workspace,
        )
    )
    asked = folder.parent / "asked"
    environment = {
        "ASKED": str(asked),
        "CLAIMED": path,
        "REPORT": str(folder.parent / "report.md"),
        "HOME": str(folder.parent),
        "XDG_STATE_HOME": str(folder.parent / "state"),
    }
    checked = run("delegate", str(graph), "--check", cwd=folder)
    digest = checked.out.rpartition(" ")[2].strip()
    ended = run("delegate", str(graph), "--trust", digest, cwd=folder, env=environment)

    return ended, asked.read_text().split("\0")[:-1]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = Work(tmp_path / "shop").folder
    assert run("init", cwd=folder).code == 0

    return folder


@pytest.mark.parametrize("workspace", ["project", "worktree"])
def test_a_claim_that_is_not_so_is_sent_back_before_anybody_goes_on(
    project: Path, workspace: str
) -> None:
    ended, asked = delegate(project, action="created", path="src/login.py", workspace=workspace)

    assert ended.code == 0, ended.err
    assert len(asked) == 2
    assert "was not accepted" in asked[1]
    assert "'src/login.py' does not exist" in asked[1]
    assert "goop-executor" in run("reports", "list", cwd=project).out


def test_a_person_may_leave_the_files_alone(project: Path) -> None:
    (project / ".goopspec" / "hooks.json").write_text('{"check_workspace": false}')
    ended, asked = delegate(project, action="created", path="src/login.py", workspace="worktree")

    assert ended.code == 0, ended.err
    assert len(asked) == 1


@pytest.mark.parametrize("workspace", ["project", "worktree"])
def test_what_was_there_before_the_task_is_no_work_of_it(project: Path, workspace: str) -> None:
    worktree = workspace == "worktree"
    store = open_store(None, project=project)
    judge = TaskJudge(project, lambda: store, ())
    if not worktree:
        # Somebody's change without a commit, from before.
        (project / "README.md").write_text("Another example\n")
    start = judge.begin(
        project,
        commit=Work(project, commit=False).git("rev-parse", "HEAD").strip() if worktree else None,
    )
    claim = '<files><file path="README.md" action="modified">Login</file></files>'
    text = report().replace("<artifacts>", f"<artifacts>{claim}")

    def judged(evidence: Evidence | None) -> dict[str, str]:
        reply = TaskReply(
            text=text, protocol="goop_report", mode="strict", folder=project, start=evidence
        )
        findings = judge.judge(reply).findings
        return {each.rule: each.severity for each in findings if each.rule == FILE_NOT_TOUCHED.id}

    assert judged(start) == {FILE_NOT_TOUCHED.id: "error"}
    # Where nobody knows what the task began with, the change may be its own.
    assert judged(None) in ({}, {FILE_NOT_TOUCHED.id: "warning"})

    (project / "README.md").write_text("Changed by the task\n")
    assert judged(start) == {}


TRANSCRIPTS = {
    "claude-code": ".claude/projects/-shop/{id}.jsonl",
    "codex": ".codex/sessions/2026/11/23/rollout-2026-11-23T10-00-00-{id}.jsonl",
}


@pytest.mark.parametrize("host", TRANSCRIPTS)
def test_the_transcript_of_the_conversation_is_found_and_read(project: Path, host: str) -> None:
    record = next(
        each
        for each in RECORDED
        if each.host == host and "evidence/check-failed" in each.truth["findings"]
    )
    id = "0ccf1a04-1b4c-43b6-8aa5-79e41db43a68"
    place = project.parent / TRANSCRIPTS[host].format(id=id)
    place.parent.mkdir(parents=True)
    shutil.copy(record.file, place)
    session = AgentSession(
        host=host,
        id=id,
        program=host,
        folder=project,
        environment={"HOME": str(project.parent)},
    )
    # What the report says about files is of another project.
    (project / ".goopspec" / "hooks.json").write_text('{"check_workspace": false}')
    store = open_store(None, project=project)
    reply = TaskReply(
        text=record.report or "",
        protocol="goop_report",
        mode="lenient",
        folder=project,
        session=session,
    )

    def rules(reply: TaskReply) -> set[str]:
        verdict = TaskJudge(project, lambda: store, ()).judge(reply)
        return {each.rule for each in verdict.of_severity(Severity.ERROR)}

    assert "evidence/check-failed" in rules(reply)
    # Whoever worked in another conversation may have run the tests there.
    assert rules(replace(reply, whole_session=False)) == set()
    for other in ("../../etc/passwd", "00000000-0000-4000-8000-000000000000"):
        assert rules(replace(reply, session=replace(session, id=other))) == set()

    (project / ".goopspec" / "hooks.json").write_text(
        '{"check_workspace": false, "evidence": "off"}'
    )
    assert rules(reply) == set()


def test_a_session_of_opencode_that_cannot_be_exported_accuses_nobody(project: Path) -> None:
    session = AgentSession(
        host="opencode", id="ses_12345678", program="/nowhere", folder=project, environment={}
    )
    store = open_store(None, project=project)
    reply = TaskReply(
        text=report(), protocol="goop_report", mode="lenient", folder=project, session=session
    )
    assert TaskJudge(project, lambda: store, ()).judge(reply).accepted


_TWO_REPLIES = """\
import os, pathlib, sys

message = sys.stdin.read()
folder = pathlib.Path(os.environ["REPORTS"])
if "was not accepted" in message and os.environ["WORKS"]:
    pathlib.Path("login.py").write_text("done\\n")
print((folder / ("second.md" if "was not accepted" in message else "first.md")).read_text())
"""


@pytest.mark.parametrize("works", ["", "yes"])
def test_a_reply_of_a_task_is_compared_with_the_one_that_it_corrects(
    project: Path, works: str
) -> None:
    home = project.parent
    (home / "agent.py").write_text(_TWO_REPLIES)
    (home / "first.md").write_text(report("FAILED", blockers="the key is missing"))
    (home / "second.md").write_text(report())
    graph = home / "login.toml"
    python, program = json.dumps(sys.executable), json.dumps(str(home / "agent.py"))
    graph.write_text(_GRAPH.format(python=python, program=program, workspace="project"))
    checked = run("delegate", str(graph), "--check", cwd=project)
    environment = {
        "REPORTS": str(home),
        "WORKS": works,
        "HOME": str(home),
        "XDG_STATE_HOME": str(home / "state"),
    }
    digest = checked.out.rpartition(" ")[2].strip()
    ended = run("delegate", str(graph), "--trust", digest, cwd=project, env=environment)
    assert ended.code == 0, ended.err

    store = open_store(None, project=project)
    (known,) = store.read(lambda reading: reading.graphs.runs(include_ended=True))
    attempts = [
        json.loads(each) for each in outcome_of_run(Ledger(store), known.id).tasks["api"].attempts
    ]
    assert [each["verdict"]["verdict"] for each in attempts] == ["rejected", "accepted"]
    assert attempts[0]["stated"]["blockers"] == ["the key is missing"]
    found = [each["rule"] for each in attempts[1]["verdict"]["findings"]]
    assert ("correction/claim-changed" in found) == (works == "")
