"""`goop-mcp check`: exit codes, where replies come from, options."""

import re
from pathlib import Path

import pytest

from tests.cli.running import ACCEPTED, CASES, MENDABLE, REJECTED, run, run_on_terminal
from tests.requirements import requirement


@requirement("H-29")
def test_an_accepted_reply_exits_0_and_a_rejected_one_1() -> None:
    assert (run("check", ACCEPTED).code, run("check", REJECTED).code) == (0, 1)


def test_one_rejected_reply_among_accepted_ones_exits_1() -> None:
    ended = run("check", ACCEPTED.name, REJECTED.name, ACCEPTED.name, cwd=CASES)
    assert ended.code == 1
    assert ended.out.endswith("\n3 files: 2 accepted, 1 rejected\n")


def test_an_accepted_reply_without_findings_is_told_in_one_line() -> None:
    assert run("check", ACCEPTED.name, cwd=CASES).out == f"{ACCEPTED.name}: accepted (goop_report 0.1.6)\n"


def test_a_reply_is_read_from_a_pipe_when_no_file_is_named() -> None:
    ended = run("check", stdin=ACCEPTED.read_bytes())
    assert (ended.code, ended.out) == (0, "<stdin>: accepted (goop_report 0.1.6)\n")


def test_a_dash_stands_for_standard_input_among_files() -> None:
    ended = run("check", ACCEPTED, "-", stdin=REJECTED.read_bytes())
    assert ended.code == 1
    assert "<stdin>:2:11: error: " in ended.out


def test_without_a_file_a_terminal_is_asked_for_one() -> None:
    ended = run_on_terminal("check")
    assert ended.code == 2
    assert ended.out == "goop-mcp: no file is named, and nothing is piped in; name a file.\n"


def test_an_empty_reply_is_judged_and_rejected(tmp_path: Path) -> None:
    (tmp_path / "empty.md").touch()
    ended = run("check", "empty.md", cwd=tmp_path)
    assert ended.code == 1
    assert "the reply is empty" in ended.out


def test_strict_mode_rejects_what_lenient_mode_mends() -> None:
    reply = MENDABLE.encode()
    assert run("check", stdin=reply).code == 0
    strict = run("check", "--strict", stdin=reply)
    assert strict.code == 1
    assert "rejected (goop_report 0.1.6, strict mode): 2 errors\n" in strict.out


@pytest.mark.parametrize(
    ("option", "rule"),
    [
        (["--agent", "goop-planner"], "goop_report/agent-mismatch"),
        (["--phase", "plan"], "goop_report/phase-mismatch"),
        (["--files-changed"], "goop_report/artifacts-missing"),
        (["--memory-saved"], "goop_report/memory-missing"),
        (["--checks-run"], "goop_report/verification-missing"),
    ],
)
def test_what_the_caller_expects_is_compared(option: list[str], rule: str) -> None:
    sections = re.compile("<(artifacts|memory|verification)>.*?</\\1>", re.DOTALL)
    reply = sections.sub("", MENDABLE).encode()
    assert run("check", stdin=reply).code == 0
    ended = run("check", *option, stdin=reply)
    assert ended.code == 1
    assert f"[{rule}]" in ended.out


def test_the_profile_v1_knows_the_phase_discuss() -> None:
    reply = MENDABLE.replace("<phase>execute", "<phase>discuss").encode()
    assert "[goop_report/phase-alias]" in run("check", stdin=reply).out
    assert "[goop_report/phase-alias]" not in run("check", "--profile", "v1", stdin=reply).out


def test_the_protocol_can_be_named() -> None:
    ended = run("check", "--protocol", "goop_report", stdin=b"Done.")
    assert ended.code == 1
    assert "[goop_report/no-envelope]" in ended.out


def test_workspace_checks_are_refused() -> None:
    ended = run("check", "--workspace", ACCEPTED)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "goop-mcp: workspace checks are not available in this version; leave out --workspace.\n"
