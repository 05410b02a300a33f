"""The audit trail: the name of the token in the log and with rows, and a log in JSON."""

import json
from pathlib import Path

import apsw
import pytest

from tests.server.connections import PROTOCOL_MODES, Transport, connect, target
from tests.server.http.issuer import issuing
from tests.server.http.requests import ask
from tests.server.http.serving import Served, served
from tests.server.http.sockets import exchange

TOKENS = {"alice": "the-token-of-alice-in-tests", "build machine": "the-token-of-the-machine"}
CALLERS = """
SELECT callers.caller, callers.tool, memories.title
FROM memories JOIN callers USING (revision) ORDER BY revision
"""


def token_file(folder: Path) -> str:
    file = folder / "tokens"
    file.write_text(
        "".join(f'[tokens."{name}"]\ntoken = "{token}"\n' for name, token in TOKENS.items())
    )
    file.chmod(0o600)
    return str(file)


def records(server: Served) -> list[dict[str, str]]:
    """Return the records of the log of an ended server; each line has to be one."""
    return [json.loads(line) for line in server.stderr().splitlines()]


@pytest.mark.parametrize("transport", ["sse", "streamable-http"])
@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
def test_log_and_rows_show_which_token_did_what(
    tmp_path: Path, transport: Transport, protocol_mode: str
) -> None:
    options = ("--transport", "http", "--token-file", token_file(tmp_path))
    with served(*options, project=tmp_path, GOOP_LOG_LEVEL="DEBUG") as server:
        for name, token in TOKENS.items():
            with connect(target(server, transport, token=token), protocol_mode) as connection:
                assert not connection.tool(
                    "save_memory", title=f"Of {name}", content="Something."
                ).is_error

        server.stop()
        log = server.stderr()

    assert all(token not in log for token in TOKENS.values())

    for name in TOKENS:
        assert any(
            f" {name}]: tools/call save_memory answered" in line for line in log.splitlines()
        )

    rows = list(apsw.Connection(str(tmp_path / ".goopspec" / "goop.db")).execute(CALLERS))
    assert rows == [(name, "save_memory", f"Of {name}") for name in TOKENS]
    files = [each.read_bytes() for each in (tmp_path / ".goopspec").iterdir() if each.is_file()]
    assert not any(token.encode() in content for token in TOKENS.values() for content in files)


def test_a_person_is_named_by_the_claims_of_the_issuer(tmp_path: Path) -> None:
    options = ("--transport", "http")
    with (
        issuing() as issuer,
        served(*options, project=tmp_path, **issuer.variables(), GOOP_LOG_LEVEL="INFO") as server,
    ):
        token = issuer.token(sub="alice@example.com", client_id="editor", scope="read write")
        with connect(target(server, "streamable-http", token=token), "auto") as connection:
            connection.tool("save_memory", title="A title", content="Something.")

        assert " editor alice@example.com]: tools/call save_memory" in server.wait_for_line(
            "save_memory"
        )

    rows = list(
        apsw.Connection(str(tmp_path / ".goopspec" / "goop.db")).execute(
            "SELECT caller FROM callers"
        )
    )
    assert rows == [("editor alice@example.com",)]


def test_without_tokens_nobody_is_named(tmp_path: Path) -> None:
    with (
        served("--transport", "http", project=tmp_path) as server,
        connect(target(server, "streamable-http"), "auto") as connection,
    ):
        connection.tool("save_memory", title="A title", content="Something.")

    database = apsw.Connection(str(tmp_path / ".goopspec" / "goop.db"))
    assert list(database.execute("SELECT count(*) FROM callers")) == [(0,)]


@pytest.mark.parametrize("level", ["DEBUG", "INFO"])
def test_every_line_of_a_log_in_json_is_json_whoever_writes_it(tmp_path: Path, level: str) -> None:
    options = ("--transport", "http", "--token-file", token_file(tmp_path))
    variables = {"GOOP_LOG_FORMAT": "json", "GOOP_LOG_LEVEL": level, "PYTHONWARNINGS": "always"}
    program = "tests.server.http.noisy_server"

    with served(*options, project=tmp_path, program=program, **variables) as server:
        token = TOKENS["build machine"]
        with connect(target(server, "streamable-http", token=token), "auto") as connection:
            connection.tool("validate_report", text="nothing\nto see")

        ask(server.mcp, token="unknown-token-of-the-tests")
        exchange(server.port, b"no http at all\r\n\r\n")
        exchange(server.port, b"\x16\x03\x01\x02\x00\x01" + b"\x00" * 32)
        server.stop()
        written = records(server)

    loggers = {record["logger"] for record in written}
    assert {"py.warnings", "goop_mcp.process", "uvicorn.error"} <= loggers
    assert any("serving http://127.0.0.1" in record["message"] for record in written)
    assert any("ZeroDivisionError" in record.get("exception", "") for record in written)
    assert any(record.get("caller") == "build machine" for record in written)
