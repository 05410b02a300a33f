"""Hostile clients, a thread an attack: `python -m tests.soak.hostile PORT SECONDS TOKEN...`."""

import http.client
import json
import random
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Final

from tests.server.http.large_messages import VERSIONS, fields, large_values
from tests.soak.connection import Connection

_PAUSE: Final = 0.05
_SOCKETS: Final = 50
_INITIALIZE: Final = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": VERSIONS[0],
        "capabilities": {},
        "clientInfo": {"name": "x" * 100_000, "version": ""},
    },
}

Attack = Callable[[int, str], object]


def send_large_messages(port: int, token: str) -> None:
    """Send one message with a field of 4 MB."""
    field = random.choice(_FIELDS)
    value = random.choice(list(_VALUES.values()))
    connection = Connection(port, token)
    headers = (
        {"MCP-Protocol-Version": field.version, "Mcp-Method": field.method}
        if field.version == VERSIONS[1]
        else {}
    )

    try:
        connection.post(field.message(value), headers)
    finally:
        connection.close()


def open_sessions(port: int, token: str) -> None:
    """Open a session, let it hold as much as it may, and leave it."""
    connection = Connection(port, token)
    try:
        connection.post(json.dumps(_INITIALIZE).encode())
    finally:
        connection.close()


def name_unknown_arguments(port: int, token: str) -> None:
    """Call a tool with thousands of arguments that it does not have."""
    connection = Connection(port, token)
    try:
        connection.call(
            "validate_report", **{f"argument{number}": number for number in range(7_500)}
        )
    finally:
        connection.close()


def guess_tokens(port: int, token: str) -> None:
    """Send an unknown token in the form of an issuer's token."""
    connection = Connection(port, f"{token[:4]}.{random.random()}.guess")
    try:
        connection.post(b"{}")
    finally:
        connection.close()


def stay_silent(port: int, _: str) -> None:
    """Open connections, begin a request on each, and never end it."""
    with ExitStack() as stack:
        for _number in range(_SOCKETS):
            opened = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=5))
            opened.sendall(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n")

        time.sleep(2)


def read_nothing(port: int, token: str) -> None:
    """Open a stream over SSE, send messages to it, and read no answer."""
    head = f"GET /sse HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", port), timeout=5) as stream:
        stream.sendall(head)
        event = stream.recv(4_096) + stream.recv(4_096)
        path = event.partition(b"data: ")[2].partition(b"\r\n")[0].decode()
        connection = Connection(port, token)

        try:
            for number in range(30):
                message = {"jsonrpc": "2.0", "id": number, "method": "tools/list", "params": {}}
                connection.post(
                    json.dumps(_INITIALIZE if number == 0 else message).encode(), path=path
                )
                time.sleep(_PAUSE)
        finally:
            connection.close()


def speak_no_http(port: int, _: str) -> None:
    """Send bytes that are no request."""
    with socket.create_connection(("127.0.0.1", port), timeout=5) as opened:
        opened.sendall(random.randbytes(2_000) + b"\r\n\r\n")
        opened.recv(4_096)


ATTACKS: Final[tuple[Attack, ...]] = (
    send_large_messages,
    open_sessions,
    name_unknown_arguments,
    guess_tokens,
    stay_silent,
    read_nothing,
    speak_no_http,
)
_FIELDS: Final = [field for version in VERSIONS for field in fields(version)]
_VALUES: Final = large_values()


def attack(port: int, seconds: float, tokens: list[str]) -> dict[str, int]:
    """Do all of it at once for `seconds`, and return how often."""
    end, counts = time.monotonic() + seconds, dict.fromkeys((each.__name__ for each in ATTACKS), 0)

    def repeat(each: Attack, token: str) -> None:
        while time.monotonic() < end:
            # The server may close any of these connections, as it should.
            with suppress(OSError, http.client.HTTPException):
                each(port, token)

            counts[each.__name__] += 1
            time.sleep(_PAUSE)

    threads = [
        threading.Thread(target=repeat, args=(each, tokens[n % len(tokens)]))
        for n, each in enumerate(ATTACKS)
    ]
    for thread in threads:
        thread.start()

    for thread in threads:
        thread.join()

    return counts


if __name__ == "__main__":
    sys.stdout.write(json.dumps(attack(int(sys.argv[1]), float(sys.argv[2]), sys.argv[3:])))
