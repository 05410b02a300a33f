"""The tutorials, followed as a reader does: each piece in its order, in a folder of its own."""

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

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
    prepare, serve, call, look = (each.text for each in fences(page, "sh"))
    (client,) = fences(page, "python")
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    for called, words in (("goop-mcp", "-m goop_mcp"), ("python3", "")):
        program = bin_folder / called
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n', encoding="utf-8")
        program.chmod(0o755)
    environment = os.environ | {"PATH": f"{bin_folder}:{os.environ['PATH']}"}

    def type_in(folder: Path, script: str) -> str:
        ended = subprocess.run(
            ["/bin/sh", "-ec", script],
            cwd=folder,
            env=environment,
            check=True,
            capture_output=True,
            text=True,
            timeout=300,
        )
        return ended.stdout

    type_in(tmp_path, prepare)
    team = tmp_path / "team"
    (team / "client.py").write_text(client.text, encoding="utf-8")

    # The port of the page may be taken: the test gives its client the address of a free one.
    name, command, *options = shlex.split(serve)
    assert (name, command) == ("goop-mcp", "serve")
    del options[options.index("--port") : options.index("--port") + 2]
    options[options.index("token")] = str(team / "token")
    with served(*options, project=team) as server:
        printed = type_in(team, f"{call.strip()} {server.mcp}")
        seen = type_in(team, look)
        # Ctrl-C, as the page says.
        assert server.stop(signal.SIGINT) == 130

    assert printed.startswith("saved: memory 1")
    assert '"Tokens live for an hour"' in printed
    assert "Tokens live for an hour" in seen
    assert "memories" in seen
