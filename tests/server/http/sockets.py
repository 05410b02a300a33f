"""Bytes to a server on the network, for what no HTTP library would send."""

import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from tests.server.http.serving import PATIENCE

HEALTH = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


@contextmanager
def opened(port: int, *, count: int = 1) -> Iterator[list[socket.socket]]:
    """Open `count` connections to a server of this machine."""
    with ExitStack() as stack:
        yield [
            stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE))
            for _ in range(count)
        ]


def exchange(port: int, data: bytes, *, half_close: bool = False) -> bytes:
    """Send `data` on a new connection, and return the answer until the server closes it."""
    with opened(port) as (connection,):
        connection.sendall(data)
        if half_close:
            connection.shutdown(socket.SHUT_WR)
        return rest_of(connection)


def rest_of(connection: socket.socket) -> bytes:
    """Return what comes until the other side closes."""
    chunks = []
    try:
        while chunk := connection.recv(1 << 16):
            chunks.append(chunk)
    except ConnectionResetError:
        pass

    return b"".join(chunks)


def until(connection: socket.socket, pattern: bytes) -> re.Match[bytes]:
    """Read until what has come holds `pattern`, and return where it does."""
    read = b""
    while (found := re.search(pattern, read)) is None:
        chunk = connection.recv(1 << 16)
        assert chunk, f"the server closed the connection after {read!r}"
        read += chunk

    return found
