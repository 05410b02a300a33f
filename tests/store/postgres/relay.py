"""A relay to a PostgreSQL server that can fall silent: sockets stay open, nothing passes."""

import socket
import threading
from pathlib import Path
from typing import Self

__all__ = ["Relay"]

_PIECE = 65_536


class Relay:
    """Listens on a port of the loopback and passes bytes to a server's socket, until `silence`."""

    def __init__(self, server: Path) -> None:
        """Pass on to the socket at `server`."""
        self._server = server
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._passes = threading.Event()
        self._passes.set()
        self._opened: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def port(self) -> int:
        """Where it listens."""
        port: int = self._listening.getsockname()[1]
        return port

    def silence(self) -> None:
        """Forward nothing from now on; new connections are still accepted."""
        self._passes.clear()

    def pass_on(self) -> None:
        """Pass on again, what was held back first."""
        self._passes.set()

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
            server.connect(str(self._server))
            self._opened += [client, server]
            for source, target in ((client, server), (server, client)):
                threading.Thread(target=self._pass, args=(source, target), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(_PIECE):
                self._passes.wait()
                target.sendall(data)

            target.shutdown(socket.SHUT_WR)
        except OSError:
            return
