"""The server as a process: what it does with its streams, its signals and its settings."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

import pytest
from mcp.client.stdio import StdioServerParameters
from pydantic import JsonValue

from goop_mcp.store.file_locks import take_lock
from tests.repository import ROOT
from tests.server.connections import PROTOCOL_MODES, connect, text_of
from tests.server.http.serving import environment

SERVE = [sys.executable, "-m", "goop_mcp", "serve", "--transport", "stdio"]
BOUND = 60.0
"""Seconds in which a process must end.

It takes a few hundredths, but test machines can be slow. A process that waits for more input never
ends.
"""

INITIALIZE: JsonValue = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "tests", "version": "1"},
}


class Process:
    """A running server, spoken to line by line."""

    def __init__(self, command: list[str], **variables: str) -> None:
        self.popen = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment(**variables),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self.popen.stdin is not None
        assert self.popen.stdout is not None
        assert self.popen.stderr is not None
        self.stdin, self.stdout, self.stderr = (
            self.popen.stdin,
            self.popen.stdout,
            self.popen.stderr,
        )

    def write(self, line: bytes) -> None:
        self.stdin.write(line + b"\n")
        self.stdin.flush()

    def ask(self, method: str, params: JsonValue, *, id: int) -> dict[str, JsonValue]:
        self.write(
            json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode()
        )
        return self.answer()

    def answer(self) -> dict[str, JsonValue]:
        message: dict[str, JsonValue] = json.loads(self.stdout.readline())
        return message

    def open(self) -> None:
        assert "result" in self.ask("initialize", INITIALIZE, id=0)
        self.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')

    def ended(self) -> tuple[int, float]:
        """Return the exit code and after how many seconds it was there."""
        started = monotonic()
        code = self.popen.wait(timeout=BOUND)
        return code, monotonic() - started


@contextmanager
def running(command: list[str] = SERVE, **variables: str) -> Iterator[Process]:
    process = Process(command, **variables)
    try:
        yield process
    finally:
        process.popen.kill()
        process.popen.wait()
        # A pipe that was broken on purpose has something left to flush.
        for stream in (process.stdout, process.stderr):
            stream.close()

        process.stdin.close()


def explain(process: Process, *, id: int) -> dict[str, JsonValue]:
    return process.ask(
        "tools/call", {"name": "explain_rule", "arguments": {"rule": "xml/unescaped"}}, id=id
    )


@pytest.mark.parametrize(
    "command", [SERVE, [sys.executable, "-m", "goop_mcp"]], ids=["serve", "piped"]
)
def test_end_of_input_ends_the_server_with_0_and_a_silent_stderr(command: list[str]) -> None:
    with running(command) as process:
        process.open()
        process.stdin.close()
        assert process.ended()[0] == 0
        assert process.stdout.read() == b""
        assert process.stderr.read() == b""


@pytest.mark.parametrize(
    "command", [SERVE, [sys.executable, "-m", "goop_mcp"]], ids=["serve", "piped"]
)
@pytest.mark.parametrize(
    "given", [b"My report:\n\n<goop_report>\n", b"{}", b'\n\n{"jsonrpc": 2}\n[1]', b"[" * 100_000]
)
def test_a_reply_that_is_piped_into_the_server_reads_what_was_meant(
    command: list[str], given: bytes
) -> None:
    finished = subprocess.run(
        command,
        cwd=ROOT,
        env=environment(),
        input=given,
        check=False,
        capture_output=True,
        timeout=BOUND,
    )
    assert finished.returncode == 2
    # A line that no client may send is refused by an answer all the same.
    assert finished.stdout == b"" or b'"error"' in finished.stdout
    assert finished.stderr.count(b"\n") == 1
    assert finished.stderr.endswith(b"did you mean `goop-mcp check -`?\n")


@pytest.mark.parametrize("given", [b"", b"\n \n"])
def test_input_without_any_text_is_a_client_that_went_away(given: bytes) -> None:
    finished = subprocess.run(
        SERVE,
        cwd=ROOT,
        env=environment(),
        input=given,
        check=False,
        capture_output=True,
        timeout=BOUND,
    )
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, b"", b"")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signal_ends_the_server_while_its_input_is_still_open(
    number: signal.Signals, code: int
) -> None:
    with running() as process:
        process.open()
        process.popen.send_signal(number)
        assert process.ended()[0] == code
        assert process.stderr.read() == b""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signal_leaves_all_that_was_saved_in_one_file(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    with running([*SERVE, "--project", str(tmp_path)]) as process:
        process.open()
        memory: JsonValue = {"title": "kept", "content": "what a host ends with a signal"}
        saved = process.ask("tools/call", {"name": "save_memory", "arguments": memory}, id=7)
        assert "saved: memory 1" in json.dumps(saved)
        process.popen.send_signal(number)
        assert process.ended()[0] == code

    assert [path.name for path in (tmp_path / ".goopspec").glob("goop.db*")] == ["goop.db"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signal_ends_the_server_while_another_program_holds_the_lock(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    folder = tmp_path / ".goopspec"
    folder.mkdir()
    file = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT)

    try:
        take_lock(file)
        with running([*SERVE, "--project", str(tmp_path)]) as process:
            process.open()
            memory: JsonValue = {"title": "never", "content": "saved"}
            call: JsonValue = {"name": "save_memory", "arguments": memory}
            process.write(
                json.dumps(
                    {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call}
                ).encode()
            )
            assert "result" in process.ask("ping", {}, id=8)
            process.popen.send_signal(number)
            assert process.ended()[0] == code
    finally:
        os.close(file)


def test_lines_that_are_no_messages_do_not_stop_the_server() -> None:
    with running() as process:
        process.open()
        for line in (b"hello?", b"[]", b"\xff\xfe", b"", b'{"jsonrpc":"2.0"', b'{"id":1}', b"null"):
            process.write(line)

        answer = explain(process, id=7)
        assert answer["id"] == 7
        assert "result" in answer
        process.stdin.close()
        assert process.ended()[0] == 0
        assert process.stderr.read() == b""


def test_every_id_of_a_batch_and_one_that_is_no_integer_get_an_answer() -> None:
    ping: dict[str, JsonValue] = {"jsonrpc": "2.0", "method": "ping"}
    with running() as process:
        process.open()
        process.write(json.dumps([{**ping, "id": 1}, ping, {**ping, "id": "b"}, 3]).encode())
        answers = [process.answer(), process.answer()]
        assert [each["id"] for each in answers] == [1, "b"]
        assert all("send each message on a line of its own" in str(each) for each in answers)

        for id in (1.5, 2.0, -7.25):
            process.write(json.dumps({**ping, "id": id}).encode())
            answer = process.answer()
            assert (answer["id"], "neither a text nor an integer" in str(answer)) == (id, True)

        # Nothing else was answered in between.
        assert explain(process, id=4)["id"] == 4


def test_client_that_stops_reading_ends_the_server_without_a_traceback() -> None:
    with running() as process:
        process.open()
        process.stdout.close()
        process.write(b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}')
        process.stdin.close()
        assert process.ended()[0] == 0
        assert process.stderr.read() == b""


@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
def test_noise_on_stdout_does_not_reach_the_client(protocol_mode: str) -> None:
    noisy = StdioServerParameters(
        command=sys.executable, args=["-m", "tests.server.noisy"], cwd=ROOT
    )
    with connect(noisy, protocol_mode) as connection:
        assert text_of(connection.tool("make_noise")) == "quiet"
        assert list(connection.tools())[-2:] == ["explain_rule", "make_noise"]


def test_log_goes_to_stderr_one_line_a_record() -> None:
    with running(GOOP_LOG_LEVEL="info") as process:
        process.open()
        process.ask("resources/read", {"uri": "goop://x\ny"}, id=1)
        process.stdin.close()
        assert process.ended()[0] == 0
        lines = process.stderr.read().decode().splitlines()

    assert len(lines) >= 3
    assert all(" INFO " in line for line in lines)
    assert any("initialize answered in" in line for line in lines)
    assert any(r"resources/read goop://x\ny failed in" in line for line in lines)


@pytest.mark.parametrize(
    ("options", "variables", "message"),
    [
        ([], {"GOOP_LOG_LEVEL": "LOUD"}, "GOOP_LOG_LEVEL is 'LOUD'; expected one of DEBUG"),
        (
            [],
            {"GOOP_PROJECT_DIR": "no-such-folder"},
            "GOOP_PROJECT_DIR is 'no-such-folder', which is not a folder",
        ),
        (
            ["--project", "pyproject.toml"],
            {},
            "--project is 'pyproject.toml', which is not a folder",
        ),
        (["--transport", "carrier-pigeon"], {}, "'carrier-pigeon' is not"),
    ],
)
def test_bad_setting_is_one_sentence_and_exit_code_2(
    options: list[str], variables: dict[str, str], message: str
) -> None:
    command = [sys.executable, "-m", "goop_mcp", "serve", *options]
    finished = subprocess.run(
        command,
        cwd=ROOT,
        env=environment(**variables),
        check=False,
        capture_output=True,
        text=True,
        timeout=BOUND,
    )
    assert finished.returncode == 2
    assert finished.stdout == ""
    (line,) = finished.stderr.splitlines()
    assert message in line


def test_settings_are_judged_before_the_sdk_is_loaded() -> None:
    code = (
        "import sys\n"
        "from goop_mcp.cli import main\n"
        "exit_code = main(['serve', '--project', 'no-such-folder'])\n"
        "sys.exit(exit_code if 'mcp' not in sys.modules else 1)\n"
    )
    finished = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=environment(),
        check=False,
        capture_output=True,
        timeout=BOUND,
    )
    assert finished.returncode == 2


def after_serving_nobody(expressions: str) -> str:
    """Return the values of `expressions` in a program that has served to the end of its input."""
    code = (
        "import gc, sys; from goop_mcp.__main__ import main; sys.argv[1:] = ['serve']; main();"
        f" print({expressions})"
    )
    finished = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=environment(),
        check=True,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=BOUND,
    )

    return finished.stdout.strip()


def test_a_server_loads_what_it_judges_and_stores_with_at_the_first_call_that_needs_it() -> None:
    needed_later = {
        "apsw",
        "goop_mcp.routing",
        "goop_mcp.services.check_workspace",
        "goop_mcp.services.project_steps",
        "goop_mcp.services.recorded_reports",
        "goop_mcp.validation.pipeline",
        "jinja2",
        "lxml",
        "psycopg",
    }
    assert after_serving_nobody(f"{needed_later!r} & sys.modules.keys()") == "set()"


def test_a_server_looks_for_garbage_but_not_in_what_was_loaded() -> None:
    assert (
        after_serving_nobody("gc.isenabled(), gc.get_freeze_count() > len(sys.modules)")
        == "True True"
    )


def test_importing_the_package_loads_neither_the_sdk_nor_pydantic_nor_click() -> None:
    code = (
        "import sys, goop_mcp; print(*sorted({'mcp', 'mcp_types', 'pydantic', 'click'} &"
        " sys.modules.keys()))"
    )
    finished = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
        timeout=BOUND,
    )
    assert finished.stdout == "\n"


def test_server_starts_in_any_folder_that_exists(tmp_path: Path) -> None:
    with running([*SERVE, "--project", str(tmp_path)]) as process:
        process.open()
        assert "result" in explain(process, id=1)


def test_end_of_input_leaves_the_whole_database_in_one_file(tmp_path: Path) -> None:
    with running([*SERVE, "--project", str(tmp_path)]) as process:
        process.open()
        memory: JsonValue = {"title": "Ports", "content": "The server listens on port 8080."}
        assert "result" in process.ask(
            "tools/call", {"name": "save_memory", "arguments": memory}, id=1
        )
        query: JsonValue = {"queries": ["port"]}
        assert "result" in process.ask(
            "tools/call", {"name": "search_memory", "arguments": query}, id=2
        )
        process.stdin.close()
        assert process.ended()[0] == 0

    folder = tmp_path / ".goopspec"
    assert sorted(path.name for path in folder.glob("goop.db*")) == ["goop.db"]
    assert b"port 8080" in (folder / "goop.db").read_bytes()
