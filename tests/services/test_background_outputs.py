"""The output of a background command: from the file of the host, and from no other one."""

import os
from pathlib import Path

import pytest

from goop_mcp import validate
from goop_mcp.evidence.readers.claude_code import OutputFile
from goop_mcp.services.background_outputs import read_output
from goop_mcp.services.transcripts import read_activity
from tests.evidence.recorded import recorded

RECORD = recorded("background-command")
SESSION = "a67eaae4-95b2-44d7-84eb-5aa0809d91ee"
TASK = "bmrgw9dwh"
USER = getattr(os, "getuid", int)()

pytestmark = pytest.mark.skipif(not hasattr(os, "getuid"), reason="the system has no user ids")


class Host:
    """The folders in which a host keeps a transcript and the output of its command."""

    def __init__(self, folder: Path) -> None:
        self.temporary = folder / "scratch"
        self.tasks = self.temporary / f"claude-{USER}" / "-project" / SESSION / "tasks"
        self.tasks.mkdir(parents=True)
        self.output = self.tasks / f"{TASK}.output"
        agents = folder / "home" / ".claude" / "projects" / "-project" / SESSION / "subagents"
        agents.mkdir(parents=True)
        self.transcript = agents / "agent-1.jsonl"
        content = RECORD.file.read_text(encoding="utf-8")
        scratch = str(Path(os.sep, "tmp", "scratch", "claude-0"))
        named = content.replace(scratch, f"{self.temporary}/claude-{USER}")
        self.transcript.write_text(named, encoding="utf-8")

    def file(self, path: Path | None = None, *, session: str = SESSION) -> OutputFile:
        return OutputFile(str(path or self.output), TASK, session)

    def read(self, file: OutputFile | None = None) -> tuple[str, bool] | None:
        return read_output(str(self.transcript), file or self.file())


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    made = Host(tmp_path)
    monkeypatch.setenv("CLAUDE_CODE_TMPDIR", str(made.temporary))
    return made


@pytest.mark.parametrize(
    ("output", "rules"),
    [
        ("2 passed in 0.01s\n", set()),
        ("2 skipped in 0.01s\n", {"evidence/nothing-executed"}),
        ("5 passed in 0.01s\n", {"evidence/counts-differ"}),
        (None, set()),
    ],
)
def test_a_report_is_compared_with_what_a_background_command_printed(
    host: Host, output: str | None, rules: set[str]
) -> None:
    if output is not None:
        host.output.write_text(output, encoding="utf-8")
    activity = read_activity(str(host.transcript), RECORD.report)
    assert activity.complete
    assert [each.output for each in activity.commands] == [output or ""]
    assert activity.commands[0].output_whole is (output is not None)
    verdict = validate(RECORD.report or "", protocol="goop_report", evidence=activity)
    raised = {each.rule for each in verdict.findings if each.severity != "info"}
    assert {rule for rule in raised if rule.startswith("evidence/")} == rules


def test_its_end_is_read_without_its_secrets(host: Host) -> None:
    secret = "ghp_" + "a1B2" * 9
    host.output.write_text("x" * 100_000 + f"\nGITHUB_TOKEN={secret}\n2 passed", encoding="utf-8")
    found = host.read()
    assert found is not None
    text, whole = found
    assert text.endswith("2 passed")
    assert secret not in text
    assert len(text) <= 64 * 1024
    assert not whole
    host.output.write_bytes(b"\xff\xfe 2 passed")
    assert host.read() == ("\ufffd\ufffd 2 passed", True)


def test_a_link_in_its_place_is_not_followed(host: Host, tmp_path: Path) -> None:
    private = tmp_path / "private"
    private.write_text("2 passed", encoding="utf-8")
    host.output.symlink_to(private)
    assert host.read() is None
    host.output.unlink()
    host.output.hardlink_to(private)
    assert host.read() is None
    host.output.unlink()
    host.tasks.rmdir()
    other = tmp_path / "other"
    other.mkdir()
    (other / host.output.name).write_text("2 passed", encoding="utf-8")
    host.tasks.symlink_to(other)
    assert host.read() is None


def test_what_is_no_file_is_not_opened(host: Host) -> None:
    os.mkfifo(host.output)
    assert host.read() is None
    host.output.unlink()
    host.output.mkdir()
    assert host.read() is None
    host.output.rmdir()
    assert host.read() is None


def test_a_file_in_another_folder_is_not_read(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.output.write_text("2 passed", encoding="utf-8")
    assert host.read() == ("2 passed", True)
    elsewhere = tmp_path / f"{TASK}.output"
    elsewhere.write_text("2 passed", encoding="utf-8")
    for file in (
        host.file(elsewhere),
        host.file(Path("/etc/passwd")),
        host.file(host.tasks / ".." / "tasks" / host.output.name),
        host.file()._replace(task="../x"),
        host.file()._replace(task=""),
        host.file()._replace(path=""),
        host.file(session=""),
        host.file(session="another-session"),
        host.file()._replace(path="x\0y"),
    ):
        assert host.read(file) is None, file
    # The transcript is that of another session.
    assert read_output(str(tmp_path / "other" / "agent-1.jsonl"), host.file()) is None
    monkeypatch.setenv("CLAUDE_CODE_TMPDIR", str(tmp_path / "another"))
    assert host.read() is None
