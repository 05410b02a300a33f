"""A model on the loopback that speaks the chat API of OpenAI and answers from a list."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = dict[str, Any]


def call(name: str, arguments: str, id: str = "call_1") -> Reply:
    """Return a call of a tool; `arguments` is the JSON text as the model wrote it."""
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def reply(text: str | None, *calls: Reply, finish: str | None = None) -> Reply:
    """Return an answer of the model; `finish` is why it ended."""
    message: Reply = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = list(calls)
    return {"message": message, "finish": finish or ("tool_calls" if calls else "stop")}


class ScriptedModel:
    """Gives one answer for each request, the last one for all further ones."""

    def __init__(self, *replies: Reply) -> None:
        self._replies = list(replies)
        self.requests: list[Reply] = []
        model = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                pass

            def do_POST(self) -> None:
                size = int(self.headers["Content-Length"])
                request = json.loads(self.rfile.read(size))
                kind, body = model._answer(request)
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{server.server_port}/v1"

    def _answer(self, request: Reply) -> tuple[str, bytes]:
        self.requests.append(request)
        next_one = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        head = {"id": "c1", "created": 1, "model": "scripted"}
        if request.get("stream"):
            events = [
                {**head, "object": "chat.completion.chunk", "choices": [choice]}
                for choice in _pieces(next_one)
            ]
            text = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
            return "text/event-stream", f"{text}data: [DONE]\n\n".encode()

        choice = {"index": 0, "message": next_one["message"], "finish_reason": next_one["finish"]}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        whole = {**head, "object": "chat.completion", "choices": [choice], "usage": usage}
        return "application/json", json.dumps(whole).encode()


def _pieces(answer: Reply) -> Iterator[Reply]:
    """Yield the choices of a stream, with the arguments of calls a few characters at a time."""

    def piece(delta: Reply, finish: str | None = None) -> Reply:
        return {"index": 0, "delta": delta, "finish_reason": finish}

    message = answer["message"]
    yield piece({"role": "assistant", "content": message["content"] or ""})
    for index, made in enumerate(message.get("tool_calls", ())):
        name, arguments = made["function"]["name"], made["function"]["arguments"]
        start = {"index": index, "id": made["id"], "type": "function"}
        yield piece({"tool_calls": [{**start, "function": {"name": name, "arguments": ""}}]})
        for at in range(0, len(arguments), 7):
            part = {"index": index, "function": {"arguments": arguments[at : at + 7]}}
            yield piece({"tool_calls": [part]})
    yield piece({}, answer["finish"])
