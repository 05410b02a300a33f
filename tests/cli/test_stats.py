"""Statistics on the command line: counted by the gate, printed for people and programs."""

import json
from pathlib import Path

import pytest

from tests.cli.running import run, run_on_terminal
from tests.protocols.agent_request.prompts import PROMPT


def gate(project: Path, prompt: str, *options: str) -> int:
    (project / "prompt.md").write_text(prompt, encoding="utf-8")
    return run("gate", "prompt.md", *options, cwd=project).code


def test_the_outcome_of_the_gate_is_counted_if_asked_for(tmp_path: Path) -> None:
    assert gate(tmp_path, PROMPT) == 0
    assert not (tmp_path / ".goopspec").exists()
    assert [
        gate(tmp_path, prompt, "--record")
        for prompt in (PROMPT, "Please do it.", "<agent_request>")
    ] == [0, 0, 1]
    people = run("stats", cwd=tmp_path)
    programs = run("stats", "--format", "json", "--project", tmp_path)

    assert (people.code, people.err, programs.code) == (0, "", 0)
    assert people.out.startswith(
        "## 🔮 GoopSpec · Statistics\n\nXML handoff adoption: 66.67% (2 / 3)\n"
    )
    assert "⚠️ The gate refused 33.3% of the prompts" in people.out
    adoption = json.loads(programs.out)["adoption"]
    assert (adoption["prompts"], adoption["with_request"], adoption["refused"]) == (3, 2, 1)


def test_a_gate_that_cannot_count_reports_it_and_still_decides(tmp_path: Path) -> None:
    (tmp_path / ".goopspec").write_text("a file in the way", encoding="utf-8")
    (tmp_path / "prompt.md").write_text(PROMPT, encoding="utf-8")
    ended = run("gate", "prompt.md", "--record", cwd=tmp_path)
    assert ended.code == 0
    assert "could not be counted" in ended.err


def test_the_statistics_are_restricted_by_time_and_agent(tmp_path: Path) -> None:
    gate(tmp_path, PROMPT, "--record")

    def prompts(*options: str) -> int:
        found = json.loads(run("stats", "--format", "json", *options, cwd=tmp_path).out)[
            "adoption"
        ]["prompts"]
        assert isinstance(found, int)
        return found

    assert prompts("--weeks", "1") == prompts("--since", "2020-01-01") == 1
    assert prompts("--since", "2999-01-01T10:00+02:00") == prompts("--agent", "goop-nobody") == 0


def test_a_terminal_shows_tables_with_lines(tmp_path: Path) -> None:
    gate(tmp_path, PROMPT, "--record")
    shown = run_on_terminal("stats", cwd=tmp_path)
    assert shown.code == 0
    assert "│" in shown.out or "─" in shown.out
    assert "| Metric" not in shown.out
    assert "\x1b[" in shown.out
    assert "\x1b[" not in run_on_terminal("stats", "--color", "never", cwd=tmp_path).out


def test_an_empty_project_is_reported_and_nothing_is_created(tmp_path: Path) -> None:
    ended = run("stats", cwd=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert "Nothing is recorded yet." in ended.out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--since", "yesterday"), "--since is 'yesterday'; expected a day such as 2026-01-15"),
        (("--since", "2026-01-01", "--weeks", "2"), "give one of them"),
        (("--weeks", "0"), "--weeks"),
    ],
)
def test_an_invalid_time_is_refused(
    tmp_path: Path, options: tuple[str, ...], expected: str
) -> None:
    ended = run("stats", *options, cwd=tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert expected in ended.err
