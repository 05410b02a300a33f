"""`goop-mcp hook`: read the event of a host on standard input, write the answer to standard output.

An error in goop-mcp never breaks a session: the exit code is always 0, and the error is one line on
standard error.
"""

import json
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from typing import Final

from goop_mcp.errors import GoopError
from goop_mcp.hosts.hooks.answers import answer_event
from goop_mcp.hosts.hooks.events import read_event

__all__ = ["HOSTS", "main"]

HOSTS: Final = ("claude-code", "codex", "opencode")
_MOST_BYTES = 32 * 1024 * 1024
_CHUNK_BYTES = 1024 * 1024
# Less than the timeouts that the hosts are configured with: 30 seconds for events that may record a
# report, 10 seconds for all others.
_SECONDS: Final = 8.0
_SECONDS_TO_RECORD: Final = 25.0
_MAY_RECORD: Final = frozenset({"Stop", "SubagentStop"})


def main(arguments: Sequence[str]) -> int:
    """Answer the event on standard input for the host that `arguments` name; always return 0.

    Hosts show any other exit code as an error, and treat 2 as a request to continue.
    """
    try:
        _answer(arguments)
    except GoopError as error:
        _report(str(error))
    except Exception as error:  # an error in goop-mcp must not stop the user's work
        _report(
            f"the hook failed and allows everything ({type(error).__name__}: {error}); please"
            " report this"
        )

    return 0


@contextmanager
def _end_within(seconds: float) -> Iterator[None]:
    """End the process with 0 when the block takes longer than `seconds`.

    A host may show an error when it has to stop the hook itself. A project can make the hook hang:
    by a pipe instead of a file, rules that never return, a database that blocks its readers.
    """

    def give_up() -> None:
        _report(
            f"the hook was not done after {seconds:g} seconds and allows everything; look at what"
            " .goopspec holds"
        )
        # The main thread may hang in a system call, so the process ends without it.
        os._exit(0)

    limit = threading.Timer(seconds, give_up)
    limit.daemon = True
    limit.start()

    try:
        yield
    finally:
        limit.cancel()


def _answer(arguments: Sequence[str]) -> None:
    host, *options = arguments or [""]
    if host not in HOSTS or options[::2] != ["--rules"] * (len(options) // 2):
        known = ", ".join(HOSTS)
        _report(
            "hook takes the name of a host and, optionally, --rules WHERE; expected one"
            f" of {known}, for example: goop-mcp hook claude-code"
        )
        return

    with _end_within(_SECONDS):
        event = read_event(_read_input())

    seconds = _SECONDS_TO_RECORD if event.name in _MAY_RECORD else _SECONDS
    # Custom rules may print, and standard output must hold nothing but the answer.
    with _end_within(seconds), redirect_stdout(sys.stderr):
        answer, remarks = answer_event(event, os.environ, rules=tuple(options[1::2]), host=host)

    for remark in remarks:
        _report(remark)

    if answer and sys.stdout is not None:
        # Not through Python's buffer: if the host no longer reads, flushing that at exit would fail
        # and change the exit code.
        content = json.dumps(answer).encode()
        while content:
            content = content[os.write(sys.stdout.fileno(), content) :]


def _read_input() -> bytes:
    if sys.stdin is None:
        return b""

    content = bytearray()
    while chunk := os.read(sys.stdin.fileno(), _CHUNK_BYTES):
        content += chunk
        if len(content) > _MOST_BYTES:
            raise GoopError(f"the event has more than {_MOST_BYTES:,} bytes; it passed unread")

    return bytes(content)


def _report(message: str) -> None:
    line = " ".join(f"goop-mcp: {message}".split())
    with suppress(OSError, ValueError):  # a closed standard error must not change the exit code
        if sys.stderr is not None:
            os.write(sys.stderr.fileno(), f"{line}\n".encode("utf-8", "backslashreplace"))
