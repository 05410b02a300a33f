"""The log as text and as JSON, each record with the request that it belongs to."""

import json
import logging
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path
from uuid import uuid4

import anyio
import anyio.to_thread
import pytest

from goop_mcp.current_request import ClientMessage, answering, current_request, request_id
from goop_mcp.logs import LogFormat, configure_logging
from goop_mcp.redaction import redact
from goop_mcp.store.opening import open_store
from tests.repository import ROOT
from tests.server.http.serving import environment

SECRET = "ghp_" + "a1B2" * 9
REQUEST = ClientMessage("request-1", "save_memory")
PATIENCE = 60
log = logging.getLogger("goop_mcp.test")


@pytest.fixture
def own_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a test set up the log of the process, and take that back."""
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [])
    monkeypatch.setattr(root, "level", root.level)


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err.splitlines()


def start(form: LogFormat) -> None:
    configure_logging("INFO", clean=lambda text: redact(text).text, form=form)


@pytest.mark.usefixtures("own_root")
def test_a_record_is_one_json_object_without_secrets(capsys: pytest.CaptureFixture[str]) -> None:
    start("json")
    with answering(REQUEST):
        log.warning("first\nsecond %s", SECRET)

    (line,) = lines(capsys)
    record = json.loads(line)
    assert datetime.fromisoformat(record.pop("time")).utcoffset() == timedelta(0)
    assert record == {
        "level": "WARNING",
        "logger": "goop_mcp.test",
        "message": "first\nsecond [REDACTED]",
        "request_id": "request-1",
        "tool": "save_memory",
    }


@pytest.mark.usefixtures("own_root")
def test_a_traceback_stands_in_the_object_and_what_is_not_known_is_left_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    start("json")
    try:
        raise RuntimeError(f'"quoted" {SECRET} \u2028')
    except RuntimeError:
        log.exception("it broke")

    (line,) = lines(capsys)
    record = json.loads(line)
    assert line.isascii()
    assert "request_id" not in record
    assert "tool" not in record
    assert 'RuntimeError: "quoted" [REDACTED]' in record["exception"]


@pytest.mark.usefixtures("own_root")
@pytest.mark.parametrize("form", ["text", "json"])
def test_details_of_libraries_are_cut_after_their_secrets_are_taken_out(
    form: LogFormat, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logging("DEBUG", clean=lambda text: redact(text).text, form=form)
    library = logging.getLogger("mcp.server.sse")
    library.debug("Received JSON: %s", "b" * 170 + f" {SECRET} " + "c" * 5_000)
    library.warning("w" * 300)
    log.debug("o" * 300)
    library.warning("x" * 30_000)
    detail, warning, own, remark = lines(capsys)
    assert len(detail) < 400
    assert "ghp_" not in detail
    assert "b" * 170 in detail
    assert "characters)" in detail
    assert "w" * 300 in warning
    assert "x" * 900 in remark
    assert len(remark) < 1_300
    assert "o" * 300 in own


@pytest.mark.usefixtures("own_root")
def test_a_line_of_text_names_the_request_that_it_belongs_to(
    capsys: pytest.CaptureFixture[str],
) -> None:
    start("text")
    log.info("before")
    with answering(REQUEST):
        log.info("within")

    log.info("after")
    ends = [line.split(" INFO ")[1] for line in lines(capsys)]
    assert ends == [
        "goop_mcp.test: before",
        "goop_mcp.test [request-1]: within",
        "goop_mcp.test: after",
    ]


@pytest.mark.parametrize("given", ["a", "0af7651916cd43dd", "a.b-c_d", "x" * 64])
def test_an_id_of_sane_shape_is_kept(given: str) -> None:
    assert request_id(given) == given


@pytest.mark.parametrize(
    "given", [None, "", "x" * 65, "a b", "a\n", "-a", "a.", "é", "<script>", "a\0", "٣"]
)
def test_any_other_id_is_replaced_by_a_new_one(given: str | None) -> None:
    new = {request_id(given) for _ in range(100)}
    assert len(new) == 100
    assert all(len(id) == 16 and int(id, 16) >= 0 for id in new)


def test_the_request_is_known_in_worker_threads_and_in_the_writer_of_the_database(
    tmp_path: Path,
) -> None:
    seen: list[ClientMessage | None] = []

    async def serve(id: str) -> None:
        store = open_store(None, project=tmp_path / id)
        (tmp_path / id).mkdir()
        with answering(ClientMessage(id)):
            await anyio.to_thread.run_sync(lambda: seen.append(current_request()))
            await anyio.to_thread.run_sync(
                lambda: store.write(lambda _: seen.append(current_request()))
            )

        store.close()

    async def serve_all() -> None:
        async with anyio.create_task_group() as tasks:
            for number in range(5):
                tasks.start_soon(serve, f"r{number}")

    anyio.run(serve_all)
    assert sorted(request.id for request in seen if request) == sorted(
        [f"r{number}" for number in range(5)] * 2
    )
    assert current_request() is None


def test_a_server_logs_json_with_an_id_for_each_message(tmp_path: Path) -> None:
    calls = [
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "id": 2, "method": "ping"},
    ]
    variables = environment(GOOP_LOG_LEVEL="INFO", GOOP_LOG_FORMAT="json", PYTHONPATH=str(ROOT))
    ended = subprocess.run(
        [sys.executable, "-m", "goop_mcp", "serve", "--project", str(tmp_path)],
        input="".join(f"{json.dumps(call)}\n" for call in calls).encode(),
        env=variables,
        cwd=ROOT,
        check=True,
        capture_output=True,
        timeout=PATIENCE,
    )
    records = [json.loads(line) for line in ended.stderr.decode().splitlines()]
    pings = [record for record in records if record["message"].startswith("ping answered")]
    assert len({record["request_id"] for record in pings}) == 2


@pytest.mark.usefixtures("own_root")
@pytest.mark.parametrize("form", ["text", "json"])
def test_an_id_of_a_session_is_cut_where_a_library_logs_it(
    form: LogFormat, capsys: pytest.CaptureFixture[str]
) -> None:
    start(form)
    id = uuid4()
    library = logging.getLogger("mcp.server.sse")
    library.warning("could not find the session %s or /messages/?session_id=%s", id, id.hex)

    try:
        raise RuntimeError(f"the session {id.hex} is gone")
    except RuntimeError:
        library.exception("it broke")

    log.warning("incident %s in a tool", id.hex)
    found, broke, own = lines(capsys)
    assert str(id) not in found + broke
    assert id.hex not in found + broke
    assert found.count(id.hex[:8]) == 2
    assert "the session " + id.hex[:8] in broke
    # The caller may choose such an id for a request, and looks for the whole of it.
    assert id.hex in own
