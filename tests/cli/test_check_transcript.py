"""`goop-mcp check --transcript`: claims are compared with the session of the agent."""

import json
from pathlib import Path

import pytest

from tests.cli.running import Ended, run
from tests.evidence.recorded import Recorded, recorded

FAILED = recorded("failed-claimed-passed")


def check(record: Recorded, folder: Path, *options: str, reply: str | None = None) -> Ended:
    file = folder / "reply.md"
    file.write_text(record.report or "" if reply is None else reply, encoding="utf-8")
    return run("check", str(file), "--transcript", str(record.file), *options)


@pytest.mark.parametrize("host", ["claude-code", "codex", "opencode"])
def test_a_contradicted_claim_is_rejected_and_an_honest_one_accepted(
    host: str, tmp_path: Path
) -> None:
    ended = check(recorded("failed-claimed-passed", host), tmp_path)
    assert ended.code == 1
    assert "test_adds" in ended.out

    assert check(recorded("failed-fixed", host), tmp_path).code == 0


def test_the_envelope_alone_is_found_in_the_transcript(tmp_path: Path) -> None:
    report = FAILED.report or ""
    envelope = report[report.index("<goop_report") :]
    assert check(FAILED, tmp_path, reply=envelope).code == 1


def test_another_reply_than_that_of_the_transcript_is_not_checked(tmp_path: Path) -> None:
    report = (FAILED.report or "").replace("The addition", "The subtraction")
    ended = check(FAILED, tmp_path, "--format", "json", reply=report)
    assert ended.code == 0
    assert "does not hold the report" in ended.out
    assert "was not compared with " in ended.err
    assert ended.err.endswith("the transcript does not hold the report.\n")


def test_evidence_can_be_required(tmp_path: Path) -> None:
    silent = recorded("nothing-run")
    assert check(silent, tmp_path).code == 0
    assert check(silent, tmp_path, "--require-evidence", "observed").code == 1
    assert check(recorded("passed"), tmp_path, "--require-evidence", "observed").code == 0


def test_the_verdict_states_what_each_claim_rests_on(tmp_path: Path) -> None:
    ended = check(recorded("passed"), tmp_path, "--format", "json")
    (file,) = json.loads(ended.out)
    (item,) = file["evidence"]
    assert item["tier"] == "observed"
    assert "transcript line" in item["source"]


@pytest.mark.parametrize("content", [None, b"", b"no json\n", b"[]", b"{}", b'{"messages": 1}'])
def test_a_file_that_is_no_transcript_is_an_error_with_what_to_do(
    content: bytes | None, tmp_path: Path
) -> None:
    file = tmp_path / "session"
    if content is not None:
        file.write_bytes(content)
    reply = tmp_path / "reply.md"
    reply.write_text(FAILED.report or "", encoding="utf-8")

    ended = run("check", str(reply), "--transcript", str(file))

    assert ended.code == 2
    assert str(file) in ended.err
    assert "Traceback" not in ended.err
