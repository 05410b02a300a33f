"""A model on loopback with the messages API, whose subagent sends `bad` until corrected.

Looks only at the conversation it is sent. A prompt with GOOP-STUBBORN is never repaired.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["PAY", "scripted_messages"]

PAY = "mcp__shop__pay"
"""The tool that a conversation with GOOP-PAY calls first, and with GOOP-PAY-TWICE once again."""

_TOO_MANY_REQUESTS = 429
_LONGEST_HANG = 30
_BROKEN = b'{"type": "error", "error": {"type": "invalid_request_error", "message": "broken"}}'
_BUSY = b'{"type": "error", "error": {"type": "rate_limit_error", "message": "busy"}}'

_USAGE = {
    "input_tokens": 10,
    "output_tokens": 5,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
}


@contextmanager
def scripted_messages(
    *, bad: str, good: str, feedback: str, hanging: threading.Event | None = None
) -> Iterator[str]:
    """Serve the model within the context; gives its address.

    `hanging` is set when a conversation with GOOP-HANG waits for its second report; with
    GOOP-BROKEN that is refused for good. The first request with GOOP-BUSY is refused with 429.
    """
    refused: list[str] = []
    closed = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self._send(b"", "application/json")

        def do_GET(self) -> None:
            self._send(b'{"data": [], "has_more": false, "object": "list"}', "application/json")

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if "count_tokens" in self.path:
                self._send(b'{"input_tokens": 10}', "application/json")
            elif "GOOP-BUSY" in json.dumps(body["messages"]) and not refused:
                refused.append(self.path)
                self._send(_BUSY, "application/json", status=429)
            elif (
                hanging is not None
                and not hanging.is_set()
                and _is_after_feedback(body, "GOOP-HANG")
            ):
                hanging.set()
                closed.wait(_LONGEST_HANG)
            elif _is_after_feedback(body, "GOOP-BROKEN"):
                self._send(_BROKEN, "application/json", status=400)
            elif body.get("stream"):
                self._send(_events(body, _block(body)), "text/event-stream")
            else:
                message = _message(body, _block(body))
                self._send(json.dumps(message).encode(), "application/json")

        def _send(self, content: bytes, kind: str, status: int = 200) -> None:
            self.send_response(status)
            if status == _TOO_MANY_REQUESTS:
                self.send_header("Retry-After", "1")
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    def _is_after_feedback(body: dict[str, Any], mark: str) -> bool:
        conversation = json.dumps(body["messages"])
        return mark in conversation and feedback in conversation

    def _block(body: dict[str, Any]) -> dict[str, Any]:
        conversation = json.dumps(body["messages"])
        calls = conversation.count('"tool_use"')
        if "GOOP-PAY" in conversation and calls < (2 if "GOOP-PAY-TWICE" in conversation else 1):
            return {"type": "tool_use", "id": f"toolu_1{calls}", "name": PAY, "input": {}}
        if "GOOP-SUB" in _first_text(body) or "GOOP-ALONE" in conversation:
            repaired = feedback in conversation and "GOOP-STUBBORN" not in conversation
            return {"type": "text", "text": good if repaired else bad}
        if "GOOP-MAIN" in conversation and '"tool_use"' not in conversation:
            return _delegation("GOOP-STUBBORN" if "GOOP-STUBBORN" in conversation else "")
        return {"type": "text", "text": "ok"}

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()

    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        closed.set()
        server.shutdown()
        server.server_close()
        thread.join(10)


def _first_text(body: dict[str, Any]) -> str:
    return json.dumps(body["messages"][0])


def _delegation(words: str) -> dict[str, Any]:
    task = {
        "description": "do it",
        "prompt": f"GOOP-SUB please {words}",
        "subagent_type": "goop-executor",
    }
    return {"type": "tool_use", "id": "toolu_0001", "name": "Agent", "input": task}


def _message(body: dict[str, Any], block: dict[str, Any]) -> dict[str, Any]:
    stop = "tool_use" if block["type"] == "tool_use" else "end_turn"
    return {
        "id": "msg_0001",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [block],
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": _USAGE,
    }


def _events(body: dict[str, Any], block: dict[str, Any]) -> bytes:
    whole = _message(body, block)
    called = block["type"] == "tool_use"
    empty = {**block, "input": {}} if called else {**block, "text": ""}
    delta = (
        {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        if called
        else {"type": "text_delta", "text": block["text"]}
    )
    events: list[tuple[str, dict[str, Any]]] = [
        ("message_start", {"message": whole | {"content": [], "stop_reason": None}}),
        ("content_block_start", {"index": 0, "content_block": empty}),
        ("content_block_delta", {"index": 0, "delta": delta}),
        ("content_block_stop", {"index": 0}),
        (
            "message_delta",
            {
                "delta": {"stop_reason": whole["stop_reason"], "stop_sequence": None},
                "usage": _USAGE,
            },
        ),
        ("message_stop", {}),
    ]

    return b"".join(
        f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n".encode()
        for name, data in events
    )
