"""What a person sees of an accepted report: each kind once in a session, and in the status."""

import json
from pathlib import Path

import pytest

from goop_mcp.services.stop_hooks.notices import SHOWN_RULES
from tests.cli.running import Ended, run
from tests.evidence.recorded import Recorded, recorded
from tests.hosts.hooks.hooks import GOOD, Answer, Host
from tests.requirements import requirement

EVENT = "SubagentStop"
STALE = recorded("stale")
PASSED, CLAIMED = recorded("passed"), recorded("nothing-run")


def stop(host: Host, record: Recorded, **changes: object) -> Answer:
    values = {"agent_transcript_path": str(record.file), "last_assistant_message": record.report}
    return host.send(EVENT, **{**values, **changes})


def of_future(record: Recorded, folder: Path) -> str:
    """Return the transcript as a later version might write it, with lines of a new kind."""
    path = folder / "agent-a1.jsonl"
    lines = record.file.read_text(encoding="utf-8").replace('"2.1.329"', '"3.0.1"').splitlines()
    hidden = {"type": "swarm-call", "version": "3.0.1", "command": "pytest -q", "exitCode": 1}
    path.write_text(
        "\n".join([*lines[:-1], json.dumps(hidden), lines[-1]]) + "\n", encoding="utf-8"
    )
    return str(path)


def status(host: Host, *options: str) -> Ended:
    environment = {"XDG_STATE_HOME": str(host.state)}
    return run("status", *options, cwd=host.project, env=environment)


def vacuous(folder: Path) -> str:
    """Return a transcript whose agent has run nothing but `pytest --version`."""
    path = folder / "agent-v1.jsonl"
    text = PASSED.file.read_text(encoding="utf-8")
    assert '"command":"pytest -q"' in text
    text = text.replace('"command":"pytest -q"', '"command":"pytest --version"')
    path.write_text(text.replace("2 passed in", "pytest 8 in"), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("rule", ["evidence/check-stale", "evidence/vacuous-command"])
def test_a_warning_reaches_the_person_once(host: Host, tmp_path: Path, rule: str) -> None:
    assert rule in SHOWN_RULES
    host.configure(require_evidence="claimed", check_workspace=False)
    of_rule = rule == "evidence/check-stale"
    record = STALE if of_rule else PASSED
    shown = str(STALE.file) if of_rule else vacuous(tmp_path)
    first = stop(host, record, agent_transcript_path=shown)
    assert first.passed
    assert first.message.count(rule) == 1
    assert "goop-executor: " in first.message
    assert rule in first.ended.err

    # Another agent of the same session, and the session after it.
    more = {"agent_transcript_path": shown, "prompt_id": "b"}
    assert rule not in stop(host, record, agent_id="b", **more).ended.out
    assert rule in stop(host, record, session_id="next", **more).message

    page = status(host)
    assert page.code == 0
    assert page.out.count(rule) == 2
    assert "(2 times)" in page.out
    notices = json.loads(status(host, "--format", "json").out)["notices"]
    assert sorted((each["kind"], each["times"]) for each in notices if each["kind"] == rule) == [
        (rule, 1),
        (rule, 2),
    ]


def test_a_project_without_notices_has_no_such_part(host: Host, tmp_path: Path) -> None:
    other = Host(tmp_path / "other", host.data)
    other.project.mkdir()
    assert "Shown by hooks" not in status(other).out
    assert "notices" not in json.loads(status(other, "--format", "json").out)


def test_a_secret_that_a_warning_quotes_is_hidden(host: Host) -> None:
    secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"  # noqa: S105 - of no account
    host.configure(require_evidence="claimed", check_workspace=False)
    report = (STALE.report or "").replace('name="tests"', f'name="tests {secret}"')
    assert secret in report
    answer = stop(host, STALE, last_assistant_message=report)
    assert secret not in answer.ended.out + answer.ended.err + status(host).out


def test_notices_that_cannot_be_kept_are_shown(host: Host) -> None:
    host.configure(require_evidence="claimed", check_workspace=False)
    blocked = host.data.parent / "file"
    blocked.write_text("")
    broken = Host(host.project, host.data, environment={"XDG_STATE_HOME": str(blocked)})
    for agent in "ab":
        answer = stop(broken, STALE, agent_id=agent)
        assert "evidence/check-stale" in answer.message
        assert "notices for the person cannot be kept" in answer.ended.err


def test_what_is_damaged_in_the_file_of_notices_counts_as_nothing(host: Host) -> None:
    host.configure(require_evidence="claimed", check_workspace=False)
    assert stop(host, STALE).passed
    (file,) = host.state.rglob("hook-notices.json")
    for content in ("[", "[]", '{"a": 1}', '{"a": [1, [2]]}', "\0"):
        file.write_text(content, encoding="utf-8")
        assert status(host).code == 0
        assert "evidence/check-stale" in stop(host, STALE).message


@requirement("F-15")
def test_a_host_that_cannot_be_read_gives_one_message_in_a_session(
    host: Host, tmp_path: Path
) -> None:
    path = of_future(PASSED, tmp_path)
    new = {"agent_transcript_path": path, "session_id": "s"}
    first = stop(host, PASSED, **new)
    assert first.passed
    assert "reports are not compared with what agents did, because claude-code " in first.message
    assert "lines of an unknown kind, 'swarm-call'" in first.message
    assert "swarm-call" in first.ended.err

    for agent in "bc":
        later = stop(host, PASSED, **new, agent_id=agent)
        assert "not compared" not in later.ended.out + later.ended.err
    gone = stop(host, PASSED, agent_transcript_path="gone.jsonl", session_id="s", agent_id="d")
    assert "not compared" not in gone.ended.out
    assert status(host).out.count("'swarm-call'") == 1


def test_a_report_without_claims_says_nothing_about_a_transcript(host: Host) -> None:
    report = GOOD
    for part in ("artifacts", "memory", "verification"):
        begin, end = report.index(f"<{part}>"), report.index(f"</{part}>") + len(part) + 3
        report = report[:begin] + report[end:]
    answer = host.send(EVENT, last_assistant_message=report, session_id="s")
    assert answer.ended == Ended(0, "")


def test_what_cannot_be_read_passes_where_evidence_is_required_unless_the_project_rejects_it(
    host: Host, tmp_path: Path
) -> None:
    path = of_future(PASSED, tmp_path)
    host.configure(require_evidence="observed", check_workspace=False)
    passed = stop(host, PASSED, agent_transcript_path=path, session_id="s")
    assert passed.passed
    assert "lines of an unknown kind" in passed.message
    # What can be read and shows nothing is rejected as before.
    assert "tests" in stop(host, CLAIMED, session_id="s", prompt_id="b").reason

    # What tightens counts at once.
    host.configure(require_evidence="observed", check_workspace=False, unreadable="reject")
    refused = stop(host, PASSED, agent_transcript_path=path, session_id="s", prompt_id="c")
    assert "expected a run that was observed" in refused.reason
    assert stop(host, PASSED, session_id="s", prompt_id="d").passed

    # And what weakens does not.
    host.configure(require_evidence="observed", check_workspace=False, unreadable="reject")
    assert stop(host, PASSED, session_id="t").passed
    host.configure(require_evidence="observed", check_workspace=False)
    held = stop(host, PASSED, agent_transcript_path=path, session_id="t", prompt_id="e")
    assert "expected a run that was observed" in held.reason
    assert "until a person trusts them: unreadable is not set any more" in held.message
