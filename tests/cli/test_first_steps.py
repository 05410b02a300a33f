"""What somebody meets who types commands for the first time, in whatever folder they stand."""

from pathlib import Path

import pytest

from goop_mcp.cli import main
from goop_mcp.protocols import RULES
from goop_mcp.services.rule_pages import PAGE_OF_RULES
from tests.cli.running import REJECTED
from tests.documentation.pages import read_page


def typed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(words)
    ended = capsys.readouterr()
    return code, ended.out, ended.err


def test_a_subfolder_does_not_begin_another_project_silently(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("GOOP_PROJECT_DIR", "CLAUDE_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    below = tmp_path / "src" / "login"
    below.mkdir(parents=True)
    (tmp_path / ".goopspec").mkdir()

    monkeypatch.chdir(below)
    code, _, message = typed(capsys, "status")
    assert code == 0
    assert message.count(f"the project in {str(tmp_path)!r} is not used here") == 1
    assert typed(capsys, "status", "--project", str(tmp_path))[2] == ""

    monkeypatch.chdir(tmp_path)
    assert typed(capsys, "status")[2] == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["memory", "save", "a", "b", "--importance", "7"], "7.0 is not a number from 0 to 1"),
        (["project", "skip-gate"], "missing argument 'GATE'; choose from discovery, execution"),
        (["stats", "--tenant", "a"], "--tenant needs a database of several tenants"),
        (["status", "--tenant", "a"], "--tenant needs a database of several tenants"),
        (["reports", "list", "--tenant", "a"], "--tenant needs a database of several tenants"),
        (["memory", "list", "--tenant", "a"], "--tenant needs a database of several tenants"),
        (["install", "codex"], "goop-mcp hook codex"),
    ],
)
def test_a_wrong_call_has_one_message_and_exit_code_2(
    words: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("GOOP_DATABASE_URL", raising=False)
    monkeypatch.chdir(tmp_path)
    code, printed, complaint = typed(capsys, *words)
    assert (code, printed) == (2, "")
    assert message in complaint
    assert complaint.count("goop-mcp: ") == 1
    assert ".md" not in complaint, "the wheel has no pages"


def test_fields_without_an_envelope_lead_to_the_command_that_writes_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "fields.json"
    file.write_text('{"status": "COMPLETE", "agent": "goop-executor", "summary": "Done."}')
    code, printed, _ = typed(capsys, "check", str(file))
    assert code == 1
    assert "goop-mcp reports build" in printed


def test_each_finding_links_to_its_rule(capsys: pytest.CaptureFixture[str]) -> None:
    _, printed, _ = typed(capsys, "check", str(REJECTED), "--format", "sarif")
    assert f'"helpUri": "{PAGE_OF_RULES}#goop_report-unknown-status"' in printed
    page = read_page("docs/rules.md")
    for rule in RULES:
        assert page.count(f'<a id="{rule.replace("/", "-")}"></a>`{rule}`') == 1
