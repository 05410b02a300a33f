"""Start servers from a process that has loaded their code already, which saves a second each.

`python -m tests.server.preloaded SOCKET` waits at SOCKET until its input ends. A client runs
`starting(SOCKET, …)` instead of the program: it passes its streams to a fork of that process, which
serves as the program would, and ends with the same exit code.
"""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mcp.client.stdio import StdioServerParameters

from tests.repository import ROOT
from tests.server.http.serving import environment

__all__ = ["preloading", "starting"]

_STARTER = """
import json, socket, sys
door = socket.socket(socket.AF_UNIX)
door.connect(sys.argv[1])
socket.send_fds(door, [json.dumps(sys.argv[2:]).encode()], [0, 1, 2])
sys.exit(int(door.recv(8) or b"1"))
"""
_MOST_BYTES = 65_536


@contextmanager
def preloading() -> Iterator[Path]:
    """Run the process that the servers are forked from, and return its socket."""
    # A short path: that of a socket has 107 bytes at most.
    with tempfile.TemporaryDirectory(prefix="goop-") as folder:
        door = Path(folder) / "door"
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.server.preloaded", str(door)],
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        with process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            yield door


def starting(door: Path, *arguments: str) -> StdioServerParameters:
    """Return what starts `goop-mcp` with `arguments` out of the process at `door`."""
    return StdioServerParameters(
        command=sys.executable, args=["-I", "-S", "-c", _STARTER, str(door), *arguments]
    )


def main(path: str) -> None:
    """Fork a server for whoever comes to the socket at `path`, until the input ends."""
    # All that a server loads when it starts.

    import goop_mcp.server.app  # noqa: F401, PLC0415 - as above

    with socket.socket(socket.AF_UNIX) as door:
        door.bind(path)
        door.listen()
        # Nobody waits for the forks.
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        sys.stdout.write("ready\n")
        sys.stdout.flush()

        while True:
            ready, _, _ = select.select([door, sys.stdin], [], [])
            if door not in ready:
                return

            caller, _ = door.accept()
            with caller:
                _fork(caller)


def _fork(caller: socket.socket) -> None:
    message, streams, _, _ = socket.recv_fds(caller, _MOST_BYTES, 3)
    if os.fork() == 0:
        os._exit(_serve(caller, json.loads(message), streams))
    for stream in streams:
        os.close(stream)


def _serve(caller: socket.socket, arguments: list[str], streams: list[int]) -> int:
    """Be the program that the caller has started, with its streams in place of ours."""
    from goop_mcp.cli import main as program  # noqa: PLC0415 - loaded already

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)

    code = program(arguments)
    sys.stdout.flush()
    sys.stderr.flush()
    caller.send(str(code).encode())

    return code


if __name__ == "__main__":
    main(sys.argv[1])
