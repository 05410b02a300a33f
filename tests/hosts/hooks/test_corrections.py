"""The hooks compare a correction with the first readable reply of the agent's turn."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.hosts.hooks.hooks import GOOD, Answer, Host
from tests.requirements import requirement
from tests.workspace.true_projects import git, write

STOP = "SubagentStop"
DONE = GOOD.replace(
    '<files><file path="src/login.py" action="created">Login endpoint</file></files>', "<files/>"
).replace('<commit sha="a1b2c3d">feat(auth): add login endpoint</commit>', "")
FAILED = (
    DONE.replace("COMPLETE", "FAILED")
    .replace('passed="true">pytest: 12 passed', 'passed="false">pytest: 10 passed, 2 failed')
    .replace("<blockers>None", "<blockers>the API key is missing")
)
RULE = "correction/claim-changed"
AGENT = "af3e45c410e4c318d"
_VERSION = {"isSidechain": True, "version": "2.1.332"}


def line(kind: str, *blocks: Mapping[str, object], id: str = "") -> str:
    message = {"role": kind, "content": list(blocks), **({"id": id} if id else {})}
    return json.dumps({"type": kind, "message": message, **_VERSION}) + "\n"


def says(text: str) -> str:
    return line("assistant", {"type": "text", "text": text}, id=f"m{len(text)}")


def runs(command: str) -> str:
    call = {"type": "tool_use", "id": "t7", "name": "Bash", "input": {"command": command}}
    result = {"type": "tool_result", "tool_use_id": "t7", "content": "ok", "is_error": False}
    return line("assistant", call, id="m7") + line("user", result)


TASK = line("user", {"type": "text", "text": "do it"})


class Turn:
    """The turn of an agent, whose host writes a transcript."""

    def __init__(self, host: Host, folder: Path, *, readable: bool = True) -> None:
        self.host, self.file = host, folder / "agent-a1.jsonl"
        self.written, self.readable, self.again = TASK + runs("make build"), readable, False

    def ends(self, text: str, *, work: str = "", **changes: object) -> Answer:
        self.written += work + says(text)
        self.file.write_text(self.written, encoding="utf-8")
        values = {
            "last_assistant_message": text,
            "stop_hook_active": self.again,
            "agent_transcript_path": str(self.file) if self.readable else None,
            **changes,
        }
        self.again = True
        return self.host.send(STOP, **values)


@requirement("G-47")
def test_a_failure_does_not_become_a_success_by_being_reported_again(
    host: Host, tmp_path: Path
) -> None:
    turn = Turn(host, tmp_path)
    assert "status is 'FAILED'" in turn.ends(FAILED).reason
    reason = turn.ends(DONE).reason
    assert RULE in reason
    assert "nothing ran" in reason
    assert "run the check again" in reason
    assert "2 failed" not in reason
    # What ran now is a reason to report something better.
    assert turn.ends(DONE, work=runs("make check")).ended.out == ""


def test_a_run_in_between_explains_it(host: Host, tmp_path: Path) -> None:
    turn = Turn(host, tmp_path)
    assert not turn.ends(FAILED).passed
    assert turn.ends(DONE, work=runs("make check")).ended.out == ""


@pytest.mark.parametrize("second", [FAILED.replace("FAILED", "PARTIAL"), DONE])
def test_without_a_transcript_a_person_sees_it_once(
    host: Host, tmp_path: Path, second: str
) -> None:
    turn = Turn(host, tmp_path, readable=False)
    assert not turn.ends(FAILED).passed
    answer = turn.ends(second)
    assert answer.passed
    assert ("no run and no change was seen" in answer.message) == (second is DONE)
    assert turn.ends(DONE).ended.out == ""


@pytest.mark.parametrize("change", ["tracked", "new", "commit", "none"])
def test_a_change_of_the_files_explains_it(host: Host, tmp_path: Path, change: str) -> None:
    host.configure(check_workspace=True)
    git(host.project, "init", "--quiet")
    git(host.project, "add", ".")
    git(host.project, "commit", "--quiet", "-m", "begin")
    turn = Turn(host, tmp_path, readable=False)
    assert not turn.ends(FAILED).passed
    if change in ("tracked", "commit"):
        write(host.project, "src/login.py", "another = 1\n")
    if change == "commit":
        git(host.project, "commit", "--quiet", "-am", "login")
    if change == "new":
        write(host.project, "src/key.py", "key = 1\n")
    answer = turn.ends(DONE)
    assert answer.passed
    assert ("claims" in answer.message or "first reply" in answer.message) == (change == "none")


def test_agents_of_one_name_do_not_mix(host: Host, tmp_path: Path) -> None:
    turns = [Turn(host, tmp_path), Turn(host, tmp_path)]
    first, second = (
        turn.ends(text, agent_id=id)
        for turn, text, id in zip(
            turns, (FAILED, DONE.replace("execute", "coding")), "ab", strict=True
        )
    )
    assert not first.passed
    assert not second.passed
    assert turns[1].ends(DONE, agent_id="b").ended.out == ""
    assert RULE in turns[0].ends(DONE, agent_id="a").reason
    assert turns[0].ends(DONE, agent_id="a", session_id="another").passed


def test_a_new_prompt_begins_again(host: Host, tmp_path: Path) -> None:
    turn = Turn(host, tmp_path)
    assert not turn.ends(FAILED).passed
    assert turn.ends(DONE, prompt_id="another", stop_hook_active=False).ended.out == ""


def test_what_is_kept_holds_no_secret_and_goes_with_the_accepted_report(
    host: Host, tmp_path: Path
) -> None:
    token = "gh" + "p_a8Kd92LmQz71Xw4Tn0Vb3Rc6Yp5Hs7Je1Gf9"
    turn = Turn(host, tmp_path)
    bad = FAILED.replace("the API key is missing", f"the key {token} is refused")
    assert not turn.ends(bad).passed
    kept = (host.data / "hook-attempts.json").read_text(encoding="utf-8")
    assert "REDACTED" in kept
    assert token[:12] not in kept
    turn.ends(DONE, work=runs("make check"))
    assert json.loads((host.data / "hook-attempts.json").read_text(encoding="utf-8")) == {}


@pytest.mark.parametrize(
    "kept", ["[1]", '[1,"","",false]', '[1,"","",false,"{",-1]', '[1,"","",false,"[]",0]']
)
def test_a_damaged_file_or_one_of_an_earlier_version_accuses_no_agent(
    host: Host, tmp_path: Path, kept: str
) -> None:
    turn = Turn(host, tmp_path)
    assert not turn.ends(FAILED).passed
    file = host.data / "hook-attempts.json"
    stored = {
        key: [at, json.loads(kept)]
        for key, (at, _) in json.loads(file.read_text(encoding="utf-8")).items()
    }
    file.write_text(json.dumps(stored), encoding="utf-8")
    answer = turn.ends(DONE)
    assert answer.ended.out == ""
    assert answer.ended.err == ""


def test_findings_that_the_last_message_lacks_are_marked(host: Host, tmp_path: Path) -> None:
    findings = "\n".join(f"{number}. Line {number} of src/login.py leaks." for number in range(90))
    envelope = DONE[DONE.index("<goop") :]
    turn = Turn(host, tmp_path)
    assert not turn.ends(f"{findings}\n\n{envelope.replace('execute', 'coding')}").passed
    answer = turn.ends(envelope)
    assert answer.passed
    assert "characters of text around its envelope" in answer.message
    shown = host.send(
        "PostToolUse",
        tool_response={
            "content": [{"type": "text", "text": envelope}],
            "agentId": AGENT,
            "agentType": "goop-executor",
        },
    )
    assert "lacks text" in shown.context
