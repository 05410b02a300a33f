"""A relay to a PostgreSQL server that can fall silent, or break a connection at some message."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Literal, Self

from tests.postgres import OWNER, Database

__all__ = ["CutOff", "Relay"]

CutOff = Literal["message", "answer"]
"""What no longer arrives: the message of a client, or the answer of the server to it."""

_PIECE = 65_536


class Relay:
    """Listens on a port of the loopback and passes bytes to a server's socket, until `silence`."""

    def __init__(self, database: Database) -> None:
        """Pass on to the server of `database`."""
        self._database = database
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._passes = _set_event()
        self._opened: list[socket.socket] = []
        self._choose: Callable[[bytes], CutOff | None] = lambda _: None
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        """The URL of the database through it."""
        port = self._listening.getsockname()[1]
        settings = "connect_timeout=2&sslmode=disable"
        return f"postgresql://{OWNER}@127.0.0.1:{port}/{self._database.name}?{settings}"

    def silence(self) -> None:
        """Forward nothing from now on; new connections are still accepted."""
        self._passes.clear()

    def silence_at(self, text: bytes) -> None:
        """Forward nothing from the message of a client on that contains `text`."""

        def choose(message: bytes) -> CutOff | None:
            if text in message:
                self.silence()
                # The thread that passes this message on has looked already.
                self._passes.wait()
            return None

        self.cut(choose)

    def silence_the_open(self) -> None:
        """Forward nothing more on connections that are open now; new ones work."""
        silent, self._passes = self._passes, _set_event()
        silent.clear()

    def pass_on(self) -> None:
        """Pass on again, what was held back first."""
        self._passes.set()

    def cut(self, choose: Callable[[bytes], CutOff | None]) -> None:
        """From now on break each connection at the message for which `choose` returns something.

        It is called with all that a client sends, from several threads.
        """
        self._choose = choose

    def lead_to(self, database: Database) -> None:
        """Take new connections to another server, as a name does that was given to it."""
        self._database = database

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.pass_on()
        self._listening.close()
        for each in self._opened:
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return

            server = socket.socket(socket.AF_UNIX)
            self._opened += [client, server]
            try:
                server.connect(f"{self._database.socket}/.s.PGSQL.5432")
            except OSError:
                # It is being started again.
                _close(client, server)
                continue
            last = threading.Event()
            passes = self._passes
            for target, ends in ((self._ask, (client, server)), (self._answer, (server, client))):
                threading.Thread(target=target, args=(*ends, last, passes), daemon=True).start()

    def _ask(
        self,
        client: socket.socket,
        server: socket.socket,
        last: threading.Event,
        passes: threading.Event,
    ) -> None:
        """Pass on what a client sends; `last` is set before a message without an answer."""
        try:
            while data := client.recv(_PIECE):
                passes.wait()
                cut_off = self._choose(data)
                if cut_off == "message":
                    _close(client, server)
                    return
                if cut_off == "answer":
                    last.set()
                server.sendall(data)

            server.shutdown(socket.SHUT_WR)
        except OSError:
            return

    def _answer(
        self,
        server: socket.socket,
        client: socket.socket,
        last: threading.Event,
        passes: threading.Event,
    ) -> None:
        try:
            while data := server.recv(_PIECE):
                passes.wait()
                if last.is_set():
                    _close(client, server)
                    return
                client.sendall(data)

            client.shutdown(socket.SHUT_WR)
        except OSError:
            return


def _set_event() -> threading.Event:
    event = threading.Event()
    event.set()
    return event


def _close(*sockets: socket.socket) -> None:
    for each in sockets:
        with suppress(OSError):
            # Another thread reads from it, which keeps it open until then.
            each.shutdown(socket.SHUT_RDWR)
        each.close()
