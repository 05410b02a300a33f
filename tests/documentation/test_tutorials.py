"""The tutorials, followed as a reader does: each piece in its order, in a folder of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.running import run
from tests.documentation.pages import fences, read_page
from tests.documentation.test_examples import names_of
from tests.server.http.serving import served


def test_the_program_of_the_library_tutorial_does_what_the_page_says(
    capsys: pytest.CaptureFixture[str],
) -> None:
    page = "docs/tutorial-library.md"
    defined = names_of(page)
    printed = capsys.readouterr().out.splitlines()

    assert printed[0] == "False"
    assert printed[1].startswith("Your report was not accepted. 1 error:")
    assert printed[-2] == "True accepted 2"
    assert printed[-1].startswith("goop-executor ")
    assert defined["agent"].messages[1] == defined["verdict"].feedback
    assert [repair.before for repair in defined["verdict"].repairs] == ["&"]
    assert "`True accepted 2`" in read_page(page)


def test_the_commands_of_the_team_tutorial_share_a_memory(tmp_path: Path) -> None:
    page = "docs/tutorial-team.md"
    prepare, *_ = fences(page, "sh")
    (client,) = fences(page, "python")
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    for name, words in (("goop-mcp", "-m goop_mcp"), ("python3", "")):
        program = bin_folder / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n', encoding="utf-8")
        program.chmod(0o755)
    environment = os.environ | {"PATH": f"{bin_folder}:{os.environ['PATH']}"}
    subprocess.run(
        ["/bin/sh", "-ec", prepare.text], cwd=tmp_path, env=environment, check=True, timeout=300
    )
    team = tmp_path / "team"
    (team / "client.py").write_text(client.text, encoding="utf-8")

    options = ["--transport", "http", "--token-file", str(team / "token")]
    with served(*options, project=team) as server:
        ended = subprocess.run(
            [sys.executable, "client.py", server.mcp],
            cwd=team,
            check=True,
            capture_output=True,
            text=True,
            timeout=300,
        )

    assert ended.stdout.startswith("saved: memory 1")
    assert '"Tokens live for an hour"' in ended.stdout
    assert "Tokens live for an hour" in run("memory", "list", cwd=team).out
