"""Tokens change while the server runs: SIGHUP reads the file again."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.documentation.pages import fences
from tests.server.http.requests import ask
from tests.server.http.serving import PATIENCE, Served, environment, served

OLD, NEW = "the-token-of-yesterday", "the-token-of-today-1"


def write_private(file: Path, text: str) -> None:
    """Replace the file as a deployment does: whole, and never readable for others."""
    fresh = file.with_suffix(".new")
    fresh.touch(mode=0o600)
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(file)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "tokens.toml"
    write_private(file, f'[tokens.ann]\ntoken = "{OLD}"\n')
    return file


@pytest.fixture
def server(tmp_path: Path, file: Path) -> Iterator[Served]:
    options = ("--transport", "http", "--token-file", str(file))
    with served(*options, project=tmp_path) as running:
        yield running


def code(server: Served, token: str) -> int:
    return ask(server.mcp, token=token).status_code


def test_a_new_token_counts_and_a_removed_one_is_refused(server: Served, file: Path) -> None:
    assert code(server, OLD) != 401
    assert code(server, NEW) == 401

    write_private(file, f'[tokens.ann]\ntoken = "{NEW}"\n[tokens.bob]\ntoken = "{NEW}-bob"\n')
    os.kill(server.process.pid, signal.SIGHUP)
    server.wait_for_line("read the file of tokens again: 2 tokens")

    assert code(server, OLD) == 401
    assert code(server, NEW) != 401
    assert code(server, f"{NEW}-bob") != 401


def test_the_command_of_the_page_reaches_the_server_on_a_network_only(
    tmp_path: Path, file: Path
) -> None:
    real = shutil.which("pkill")
    if real is None:
        pytest.skip("pkill is not installed")

    (command,) = (each.text for each in fences("docs/security.md", "sh") if "HUP" in each.text)
    # The same program, which looks only at what this test has started.
    pkill = tmp_path / "bin" / "pkill"
    pkill.parent.mkdir()
    pkill.write_text(f'#!/bin/sh\nexec {real} -P {os.getpid()} "$@"\n', encoding="utf-8")
    pkill.chmod(0o755)

    # As installed: the name of the program stands in the list of processes.
    program = [sys.executable, str(Path(sys.executable).with_name("goop-mcp")), "serve"]
    options = ["--transport", "http", "--port", "0", "--token-file", str(file)]
    with (
        subprocess.Popen(
            [*program, *options, "--project", str(tmp_path)],
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        ) as process,
        subprocess.Popen(
            [*program, "--project", str(tmp_path)],
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
        ) as of_a_host,
    ):
        try:
            running = Served(process).started()
            write_private(file, f'[tokens.ann]\ntoken = "{NEW}"\n')
            script = f"PATH={shlex.quote(str(pkill.parent))}:$PATH\n{command}"
            subprocess.run(["/bin/sh", "-ec", script], check=True, timeout=PATIENCE)
            running.wait_for_line("read the file of tokens again: 1 token")
            assert (code(running, OLD), code(running, NEW)) == (401, 200)
        finally:
            process.kill()
            # The pipe closes, and the server of the host ends by itself: no signal has reached it.
            of_a_host.communicate(timeout=PATIENCE)

    assert of_a_host.returncode == 0


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no token"),
        ("short", "16"),
        ('[tokens.ann]\ntoken = "the-token-of-acme-1"\ntenant = "acme"\n', "name tenants"),
    ],
)
def test_a_file_that_cannot_be_used_leaves_the_tokens_from_before(
    server: Served, file: Path, text: str, reason: str
) -> None:
    write_private(file, text)
    os.kill(server.process.pid, signal.SIGHUP)
    line = server.wait_for_line("the tokens from before are kept")

    assert reason in line
    assert text not in line or not text
    assert code(server, OLD) != 401


def test_a_pipe_in_place_of_the_file_keeps_no_request_waiting(server: Served, file: Path) -> None:
    file.unlink()
    os.mkfifo(file, 0o600)
    os.kill(server.process.pid, signal.SIGHUP)

    # Nobody writes to the pipe, which is waited for ten seconds.
    begin = time.monotonic()
    codes = [code(server, OLD) for _ in range(5)]
    taken = time.monotonic() - begin

    assert 401 not in codes
    assert taken < 5
    assert "nobody writes to" in server.wait_for_line("the tokens from before are kept")


def test_without_a_file_of_tokens_the_signal_changes_nothing(tmp_path: Path) -> None:
    with served("--transport", "http", project=tmp_path, GOOP_TOKEN=OLD) as running:
        os.kill(running.process.pid, signal.SIGHUP)
        running.wait_for_line("there is no file of tokens to read again")

        assert code(running, OLD) != 401
