"""`goop-mcp check`: exit codes, sources of replies, options."""

import json
import re
from pathlib import Path

import pytest

from tests.cli.running import ACCEPTED, CASES, REJECTED, REPAIRABLE, REPAIRED, run, run_on_terminal
from tests.requirements import requirement
from tests.workspace.true_projects import commit, git, memory_of, write


@requirement("H-29")
def test_an_accepted_reply_exits_0_and_a_rejected_one_1() -> None:
    assert (run("check", ACCEPTED).code, run("check", REJECTED).code) == (0, 1)


def test_one_rejected_reply_among_accepted_ones_exits_1() -> None:
    ended = run("check", ACCEPTED.name, REJECTED.name, ACCEPTED.name, cwd=CASES)
    assert ended.code == 1
    assert ended.out.endswith("\n3 files: 2 accepted, 1 rejected\n")


def test_an_accepted_reply_without_findings_is_one_line() -> None:
    assert (
        run("check", ACCEPTED.name, cwd=CASES).out
        == f"{ACCEPTED.name}: accepted (goop_report 0.1.6)\n"
    )


def test_a_reply_is_read_from_a_pipe_when_no_file_is_named() -> None:
    ended = run("check", stdin=ACCEPTED.read_bytes())
    assert (ended.code, ended.out) == (0, "<stdin>: accepted (goop_report 0.1.6)\n")


def test_a_dash_stands_for_standard_input_among_files() -> None:
    ended = run("check", ACCEPTED, "-", stdin=REJECTED.read_bytes())
    assert ended.code == 1
    assert "<stdin>:2:11: error: " in ended.out


def test_on_a_terminal_a_file_is_required() -> None:
    ended = run_on_terminal("check")
    assert ended.code == 2
    assert ended.out == "goop-mcp: no file is named, and nothing is piped in; name a file.\n"


def test_an_empty_reply_is_judged_and_rejected(tmp_path: Path) -> None:
    (tmp_path / "empty.md").touch()
    ended = run("check", "empty.md", cwd=tmp_path)
    assert ended.code == 1
    assert "the reply is empty" in ended.out


def test_strict_mode_rejects_what_lenient_mode_repairs() -> None:
    reply = REPAIRABLE.encode()
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
    reply = sections.sub("", REPAIRABLE).encode()
    assert run("check", stdin=reply).code == 0
    ended = run("check", *option, stdin=reply)
    assert ended.code == 1
    assert f"[{rule}]" in ended.out


def test_the_profile_v1_knows_the_phase_discuss() -> None:
    reply = REPAIRABLE.replace("<phase>execute", "<phase>discuss").encode()
    assert "[goop_report/phase-alias]" in run("check", stdin=reply).out
    assert "[goop_report/phase-alias]" not in run("check", "--profile", "v1", stdin=reply).out


def test_the_protocol_can_be_named() -> None:
    ended = run("check", "--protocol", "goop_report", stdin=b"Done.")
    assert ended.code == 1
    assert "[goop_report/no-envelope]" in ended.out


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Return a project in which a file was made and committed."""
    write(tmp_path, "a.py")
    git(tmp_path, "init", "--quiet")
    commit(tmp_path, "feat(a): add a")
    return tmp_path


def test_the_base_of_the_task_can_be_named(workspace: Path) -> None:
    base = git(workspace, "rev-parse", "HEAD")
    write(workspace, "b.py")
    sha = commit(workspace, "feat(b): add b")[:7]
    claim = REPAIRED.replace("a1b2c3d", sha).replace('action="created"', 'action="modified"')
    assert claim.count('path="a.py" action="modified"') == 1

    for arguments, severity in ((), "warning"), (("--strict", "--base", base), "error"):
        out = " ".join(
            run("check", "--workspace", *arguments, stdin=claim.encode(), cwd=workspace).out.split()
        )
        assert "[evidence/file-not-touched]" in out
        assert (
            f"{severity}:" in out.partition("[evidence/file-not-touched]")[0].rpartition("[")[2]
        ), out


def test_claims_are_verified_in_the_project_with_workspace(workspace: Path) -> None:
    sha = git(workspace, "rev-parse", "--short", "HEAD")
    memory_of(workspace, "A note").close()
    true, lying = REPAIRED.replace("a1b2c3d", sha), REPAIRED.replace("a.py", "b.py")
    accepted = run("check", "--workspace", stdin=true.encode(), cwd=workspace)
    assert accepted.code == 0
    assert "memory" not in accepted.out
    forgetful = true.replace(">A note<", ">Another note<")
    assert (
        "[evidence/memory-not-found]"
        in run("check", "--workspace", stdin=forgetful.encode(), cwd=workspace).out
    )

    ended = run("check", "--workspace", "--project", workspace, stdin=lying.encode())

    assert ended.code == 1
    assert "<stdin>:10:24: error: file 'b.py' does not exist; " in ended.out
    assert "[evidence/file-not-found]" in ended.out
    assert "[evidence/commit-not-found]" in ended.out
    assert run("check", stdin=lying.encode(), cwd=workspace).code == 0


def test_false_claims_are_in_every_format(workspace: Path) -> None:
    outputs = {
        form: (
            run(
                "check", "--workspace", "--format", form, stdin=REPAIRED.encode(), cwd=workspace
            ).out
        )
        for form in ("json", "sarif", "github")
    }
    (verdict,) = json.loads(outputs["json"])
    lines = {finding["rule"]: finding["line"] for finding in verdict["findings"]}
    assert lines["evidence/commit-not-found"] == 11
    assert all("evidence/commit-not-found" in output for output in outputs.values())


def test_a_project_that_does_not_exist_is_a_usage_error() -> None:
    ended = run("check", "--workspace", "--project", "nowhere", ACCEPTED)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("goop-mcp: --project is 'nowhere', which is not a folder")
