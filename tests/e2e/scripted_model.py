"""A model server on loopback that speaks three published protocols and answers by the script.

It keeps every conversation that it receives, and no headers, because they hold keys.
"""

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.e2e.conversation import Conversation, Json, ToolCall, read_conversation
from tests.e2e.script import answer

__all__ = ["Costly", "Cut", "Refusal", "ScriptedModel", "scripted_model"]

_USAGE = {
    "input_tokens": 10,
    "output_tokens": 5,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
}
_OPENAI_USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


@dataclass(frozen=True, slots=True)
class Refusal:
    """The refusal of a request as providers send it: an HTTP status and the type of error."""

    status: int
    kind: str


@dataclass(frozen=True, slots=True)
class Costly:
    """A reply to a conversation that the model counts as `tokens` long."""

    reply: str | ToolCall
    tokens: int


@dataclass(frozen=True, slots=True)
class Cut:
    """A reply that the model ends at its token limit."""

    reply: str


_Script = Callable[[Conversation], str | ToolCall | Refusal | Costly | Cut]


class ScriptedModel(ThreadingHTTPServer):
    """A server on a free port of 127.0.0.1; `conversations` are those it received, in order."""

    daemon_threads = True

    def __init__(self, script: _Script) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = script
        self.conversations: list[Conversation] = []

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self.server_address[1])

    @property
    def url(self) -> str:
        """Its address, without a path."""
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def scripted_model(script: _Script = answer) -> Iterator[ScriptedModel]:
    """Run a scripted model until the end of the context."""
    with ScriptedModel(script) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join(timeout=10)


class _Handler(BaseHTTPRequestHandler):
    server: ScriptedModel

    def do_HEAD(self) -> None:
        """Report that the server is running."""
        self._send(b"", "application/json")

    def do_GET(self) -> None:
        """List no models; answer all else with nothing."""
        models = {"data": [], "has_more": False, "object": "list"}
        self._send_json(models if "models" in self.path else {})

    def do_POST(self) -> None:
        """Answer a conversation in the form in which it was sent."""
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        path = self.path.partition("?")[0]
        if path.endswith("/count_tokens"):
            self._send_json({"input_tokens": 10})
        elif path.endswith("/v1/messages"):
            self._answer(read_conversation(body, form="messages"))
        elif path.endswith("/responses"):
            self._answer(read_conversation(body, form="responses"))
        elif path.endswith("/chat/completions"):
            self._answer(read_conversation(body, form="completions"))
        else:
            self._send_json({})

    def log_message(self, format: str, *args: object) -> None:
        """Keep silent: the conversations are the log."""

    def _answer(self, conversation: Conversation) -> None:
        self.server.conversations.append(conversation)
        reply = self.server.script(conversation)
        number = len(self.server.conversations)
        usage = _USAGE
        is_cut = isinstance(reply, Cut)
        if isinstance(reply, Cut):
            reply = reply.reply
        if isinstance(reply, Costly):
            usage, reply = {**_USAGE, "input_tokens": reply.tokens}, reply.reply

        if isinstance(reply, Refusal):
            error = {
                "type": "error",
                "error": {"type": reply.kind, "message": "Please try again later."},
            }
            self._send(json.dumps(error).encode(), "application/json", status=reply.status)
        elif conversation.form == "responses":
            self._send(_response(reply, number, is_cut=is_cut), "text/event-stream")
        elif conversation.form == "completions":
            content = _completion(conversation, reply, number)
            if is_cut:
                content = content.replace(b'"finish_reason": "stop"', b'"finish_reason": "length"')
            self._send(content, "text/event-stream")
        elif conversation.streamed:
            content = _events(conversation, reply, number, usage)
            if is_cut:
                content = content.replace(b'"end_turn"', b'"max_tokens"')
            self._send(content, "text/event-stream")
        else:
            message, _ = _message(conversation, reply, number, usage)
            self._send_json(message)

    def _send_json(self, value: Json) -> None:
        self._send(json.dumps(value).encode(), "application/json")

    def _send(self, content: bytes, kind: str, *, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(content)
        self.close_connection = True


def _message(
    conversation: Conversation, reply: str | ToolCall, number: int, usage: Mapping[str, int]
) -> tuple[dict[str, object], str]:
    """Return a whole message and the reason why it stops."""
    if isinstance(reply, str):
        block: dict[str, object] = {"type": "text", "text": reply}
        stop = "end_turn"
    else:
        block = {
            "type": "tool_use",
            "id": f"toolu_{number:04}",
            "name": reply.name,
            "input": reply.arguments,
        }
        stop = "tool_use"

    message: dict[str, object] = {
        "id": f"msg_{number:04}",
        "type": "message",
        "role": "assistant",
        "model": conversation.model,
        # A model that writes nothing sends no block.
        "content": [block] if reply else [],
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage,
    }

    return message, stop


def _events(
    conversation: Conversation, reply: str | ToolCall, number: int, usage: Mapping[str, int]
) -> bytes:
    message, stop = _message(conversation, reply, number, usage)
    if isinstance(reply, str):
        block: Json = {"type": "text", "text": ""}
        delta: Json = {"type": "text_delta", "text": reply}
    else:
        block = {"type": "tool_use", "id": f"toolu_{number:04}", "name": reply.name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(reply.arguments)}

    events: list[tuple[str, Json]] = [
        ("message_start", {"message": {**message, "content": [], "stop_reason": None}}),
        ("content_block_start", {"index": 0, "content_block": block}),
        ("content_block_delta", {"index": 0, "delta": delta}),
        ("content_block_stop", {"index": 0}),
        (
            "message_delta",
            {"delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 5}},
        ),
        ("message_stop", {}),
    ]

    return _stream(events if reply else [each for each in events if "block" not in each[0]])


def _response(reply: str | ToolCall, number: int, *, is_cut: bool) -> bytes:
    if isinstance(reply, str):
        content = [{"type": "output_text", "text": reply}]
        item: dict[str, object] = {
            "type": "message",
            "id": f"msg_{number:04}",
            "role": "assistant",
            "content": content,
        }
    else:
        namespace, _, name = reply.name.rpartition(".")
        item = {"type": "function_call", "call_id": f"call_{number:04}", "name": name}
        item |= {
            "arguments": json.dumps(reply.arguments),
            **({"namespace": namespace} if namespace else {}),
        }

    head = {"id": f"resp_{number:04}"}
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    end = "response.incomplete" if is_cut else "response.completed"
    why = {"incomplete_details": {"reason": "max_output_tokens"}} if is_cut else {}
    events: list[tuple[str, Json]] = [
        ("response.created", {"response": head}),
        ("response.output_item.done", {"item": item}),
        (end, {"response": {**head, **why, "usage": usage}}),
    ]

    return _stream(events)


def _stream(events: Iterable[tuple[str, Json]]) -> bytes:
    lines = (
        f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n" for name, data in events
    )
    return "".join(lines).encode()


def _completion(conversation: Conversation, reply: str | ToolCall, number: int) -> bytes:
    delta: dict[str, object] = {
        "role": "assistant",
        "content": reply if isinstance(reply, str) else None,
    }
    if isinstance(reply, ToolCall):
        function = {"name": reply.name, "arguments": json.dumps(reply.arguments)}
        delta["tool_calls"] = [
            {"index": 0, "id": f"call_{number}", "type": "function", "function": function}
        ]

    end = "stop" if isinstance(reply, str) else "tool_calls"
    chunks: list[Json] = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": end}]},
        {"choices": [], "usage": _OPENAI_USAGE},
    ]
    head = {
        "id": f"completion_{number}",
        "created": 0,
        "model": conversation.model,
        "object": "chat.completion.chunk",
    }
    lines = "".join(f"data: {json.dumps({**head, **chunk})}\n\n" for chunk in chunks)

    return f"{lines}data: [DONE]\n\n".encode()
