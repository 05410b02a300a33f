"""`goop-mcp hook` for Claude Code, Codex and OpenCode: an event on standard input, the answer on standard output.

A fault of ours never breaks a session: every way ends with 0, and what went wrong is one line on standard error.
"""

import json
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from typing import Final

from goop_mcp.errors import GoopError
from goop_mcp.hosts.claude_code.answers import answer_event
from goop_mcp.hosts.claude_code.events import read_event

__all__ = ["HOSTS", "main"]

HOSTS: Final = ("claude-code", "codex", "opencode")
_MOST_BYTES = 32 * 1024 * 1024
_PIECE = 1024 * 1024
# Less than the plugins ask of the hosts: 30 seconds for what may record a report, 10 for all else.
_SECONDS: Final = 8.0
_SECONDS_TO_RECORD: Final = 25.0
_MAY_RECORD: Final = frozenset({"Stop", "SubagentStop"})


def main(arguments: Sequence[str]) -> int:
    """Answer the event on standard input for the host that `arguments` name; return 0 whatever happens.

    Any other code would be taken for a fault of the session, and 2 for a request to go on.
    """
    try:
        _answer(arguments)
    except GoopError as error:
        _say(str(error))
    except Exception as error:  # a fault of ours must not stop somebody else's work
        _say(
            f"the hook failed and lets everything pass ({type(error).__name__}: {error}); please"
            " report this"
        )

    return 0


@contextmanager
def _end_within(seconds: float) -> Iterator[None]:
    """End the process with 0 when what is done inside takes longer.

    That a host stops the hook itself may be taken for an error, and a project may hold anything: a
    pipe in place of a file, rules without end, a database made to hang its readers.
    """
    limit = threading.Timer(seconds, _give_up, (seconds,))
    limit.daemon = True
    limit.start()

    try:
        yield
    finally:
        limit.cancel()


def _give_up(seconds: float) -> None:
    _say(
        f"the hook was not done after {seconds:g} seconds and lets everything pass; look at what"
        " .goopspec holds"
    )
    os._exit(0)


def _answer(arguments: Sequence[str]) -> None:
    host, *options = arguments or [""]
    if host not in HOSTS or options[::2] != ["--rules"] * (len(options) // 2):
        known = ", ".join(HOSTS)
        _say(
            "hook takes the name of a host, and behind it nothing or --rules WHERE; expected one"
            f" of {known}, for example: goop-mcp hook claude-code"
        )
        return

    with _end_within(_SECONDS):
        event = read_event(_read_input())

    seconds = _SECONDS_TO_RECORD if event.name in _MAY_RECORD else _SECONDS
    # Rules may print when they judge, and the answer has to be all that is there.
    with _end_within(seconds), redirect_stdout(sys.stderr):
        answer, remarks = answer_event(event, os.environ, rules=tuple(options[1::2]))

    for remark in remarks:
        _say(remark)

    if answer:
        _write(json.dumps(answer).encode())


def _read_input() -> bytes:
    if sys.stdin is None:
        return b""

    content = bytearray()
    while piece := os.read(sys.stdin.fileno(), _PIECE):
        content += piece
        if len(content) > _MOST_BYTES:
            raise GoopError(
                f"the event has more than {_MOST_BYTES:,} bytes; it was let pass unread"
            )

    return bytes(content)


def _write(content: bytes) -> None:
    # Past Python's buffer: what nobody reads any more would be a fault at the very end of the
    # process.
    if sys.stdout is not None:
        while content:
            content = content[os.write(sys.stdout.fileno(), content) :]


def _say(words: str) -> None:
    line = " ".join(f"goop-mcp: {words}".split())
    with suppress(OSError, ValueError):  # what nobody can hear is no reason to end otherwise
        if sys.stderr is not None:
            os.write(sys.stderr.fileno(), f"{line}\n".encode("utf-8", "backslashreplace"))
