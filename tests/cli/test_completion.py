"""The shell completes what it is asked, with the line that the page says to add."""

import shlex
from pathlib import Path

import pytest

from goop_mcp.protocols import RULES
from tests.cli.running import PROGRAM, run_command
from tests.documentation.pages import fences

LINE = next(each.text for each in fences("docs/cli.md", "sh") if "_source" in each.text).strip()
PROTOCOLS = {"goop_report", "agent_request", "speckit", "factory"}


def completed_in_bash(words: str, folder: Path) -> set[str]:
    """Return what bash offers where the cursor stands after `words`."""
    program = folder / "goop-mcp"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(PROGRAM)} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    given = words.split(" ")
    # A terminal would beep and page; the function that bash calls for the key is the same.
    script = f"""
        PATH={shlex.quote(str(folder))}:$PATH
        {LINE}
        registered=$(complete -p goop-mcp)
        [[ $registered =~ -F\\ ([^ ]+) ]]
        COMP_WORDS=({" ".join(shlex.quote(word) for word in given)}) COMP_CWORD={len(given) - 1}
        "${{BASH_REMATCH[1]}}" goop-mcp {shlex.quote(given[-1])} {shlex.quote(given[-2])}
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    ended = run_command(["bash", "-c", script], cwd=folder)
    assert (ended.code, ended.err) == (0, "")
    return set(ended.out.split())


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("goop-mcp inst", {"install"}),
        ("goop-mcp check --watc", {"--watch"}),
        ("goop-mcp install ", {"claude-code", "opencode", "cursor", "vscode"}),
        ("goop-mcp install cursor vs", {"vscode"}),
        ("goop-mcp uninstall op", {"opencode"}),
        ("goop-mcp check --protocol ", PROTOCOLS),
        ("goop-mcp prompt ", PROTOCOLS),
        ("goop-mcp rules goop_report/unknown-st", {"goop_report/unknown-status"}),
        ("goop-mcp check --ignore goop_report/unknown-st", {"goop_report/unknown-status"}),
        ("goop-mcp check --select speck", {"speckit"}),
    ],
)
def test_bash_completes_with_the_line_of_the_page(
    words: str, offered: set[str], tmp_path: Path
) -> None:
    assert offered <= completed_in_bash(words, tmp_path)


def test_bash_offers_every_rule(tmp_path: Path) -> None:
    assert set(RULES) <= completed_in_bash("goop-mcp rules ", tmp_path)
