"""Tokens change while the server runs: SIGHUP reads the file again."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.http.requests import ask
from tests.server.http.serving import Served, served

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
