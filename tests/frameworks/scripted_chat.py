"""A model on loopback with OpenAI's chat completions, for the real clients of frameworks."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from goop_mcp.validation.feedback import OPENING
from tests.retry.agents import BAD_STATUS, GOOD

__all__ = ["HANG", "TOKENS", "Busy", "Call", "ScriptedChat", "Turn", "repaired", "scripted_chat"]

TOKENS = 15
"""What each answer uses: 10 for the messages, 5 for the reply."""

LONGEST_HOLD = 60


@dataclass(frozen=True)
class Call:
    """A turn in which the model calls a tool."""

    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Busy:
    """A turn that the provider refuses with 429; `retry_after` is the header, in seconds."""

    retry_after: int


HANG = object()
"""A turn without an answer, until the model is closed."""

Turn = str | Call | Busy | object


def repaired(body: dict[str, Any]) -> Turn:
    """Return a rejected report, and after feedback an accepted one.

    It serves many conversations at once.
    """
    return GOOD if OPENING in json.dumps(body["messages"]) else BAD_STATUS


class ScriptedChat:
    """Answers with each of `turns` and repeats the last one, or answers with `script`.

    `heard` holds the requests. With `hold` the answers to repaired reports wait until that many
    conversations had their first report rejected.
    """

    def __init__(
        self,
        turns: tuple[Turn, ...] = (),
        script: Callable[[dict[str, Any]], Turn] | None = None,
        hold: int = 0,
    ) -> None:
        self._turns, self._script, self._hold = turns, script, hold
        self.heard: list[dict[str, Any]] = []
        self.address = ""
        self.asked = threading.Event()
        self.hanging = threading.Event()
        self.closed = threading.Event()
        self._all_rejected = threading.Event()
        self._rejected = 0
        self._lock = threading.Lock()

    def turn(self, body: dict[str, Any]) -> Turn:
        with self._lock:
            self.heard.append(body)
            number = len(self.heard)
            turn = (
                self._turns[min(number, len(self._turns)) - 1]
                if self._script is None
                else self._script(body)
            )
            self._rejected += turn == BAD_STATUS
            if self._rejected >= self._hold:
                self._all_rejected.set()

        self.asked.set()
        if turn == GOOD:
            self._all_rejected.wait(LONGEST_HOLD)
        if turn is HANG:
            self.hanging.set()
            self.closed.wait(LONGEST_HOLD)

        return turn


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 2048


@contextmanager
def scripted_chat(
    *turns: Turn, script: Callable[[dict[str, Any]], Turn] | None = None, hold: int = 0
) -> Iterator[ScriptedChat]:
    """Serve the model within the context."""
    chat = ScriptedChat(turns, script, hold)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            turn = chat.turn(body)
            if isinstance(turn, Busy):
                error = {"message": "rate limited", "type": "rate_limit", "code": "busy"}
                headers = {"Retry-After": str(turn.retry_after)}
                self._send(429, {"error": error}, headers)
            elif turn is not HANG:
                self._send(200, _completion(body, turn, len(chat.heard)), {})

        def _send(self, status: int, value: object, headers: dict[str, str]) -> None:
            content = json.dumps(value).encode()
            self.send_response(status)
            for name, text in {**headers, "Content-Type": "application/json"}.items():
                self.send_header(name, text)

            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = _Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    chat.address = f"http://127.0.0.1:{server.server_port}/v1"

    try:
        yield chat
    finally:
        chat.closed.set()
        server.shutdown()
        server.server_close()
        thread.join(10)


def _completion(body: dict[str, Any], turn: Turn, number: int) -> dict[str, Any]:
    tools = {each["function"]["name"] for each in body.get("tools") or ()}
    if isinstance(turn, str) and "final_answer" in tools:
        # smolagents ends a run with a tool.
        turn = Call("final_answer", {"answer": turn})

    message: dict[str, Any] = {"role": "assistant", "content": turn}
    if isinstance(turn, Call):
        function = {"name": turn.tool, "arguments": json.dumps(turn.arguments)}
        call = {"id": f"call_{number}", "type": "function", "function": function}
        message |= {"content": None, "tool_calls": [call]}

    choice = {
        "index": 0,
        "message": message,
        "finish_reason": "tool_calls" if isinstance(turn, Call) else "stop",
    }
    usage = {"prompt_tokens": TOKENS - 5, "completion_tokens": 5, "total_tokens": TOKENS}

    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 0,
        "model": body["model"],
        "choices": [choice],
        "usage": usage,
    }
