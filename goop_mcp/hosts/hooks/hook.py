"""`goop-mcp hook`: read the event of a host on standard input, write the answer to standard output.

An error in goop-mcp never breaks a session: the exit code is always 0, and the error is one line on
standard error. A person waits for the hook at each prompt, so that this module loads next to
nothing: no `typing`, `json` or `threading` before it knows that there is something to answer.
"""

import _thread
import os
import sys
from collections.abc import Callable, Sequence

from goop_mcp.errors import GoopError
from goop_mcp.hosts import hooks

__all__ = ["HOSTS", "MOST_BYTES", "main"]

HOSTS = ("claude-code", "codex", "opencode")
MOST_BYTES = 32 * 1024 * 1024
"""Of an event; a longer one passes unread."""
_CHUNK_BYTES = 1024 * 1024
# Less than the timeouts that the hosts are configured with: 30 seconds for events that may record a
# report, 10 seconds for all others.
_SECONDS = 8.0
_SECONDS_TO_RECORD = 25.0
_MAY_RECORD = frozenset({"Stop", "SubagentStop"})
# A text inside of the event cannot hold these bytes: its quotation marks are escaped.
_PROMPTS = (b'"hook_event_name":"UserPromptSubmit"', b'"hook_event_name": "UserPromptSubmit"')
_NOTIFICATION = b"<task-notification>"


def main(arguments: Sequence[str], content: bytes | None = None) -> int:
    """Answer an event for the host that `arguments` name; always return 0.

    The event is `content`, by default what is on standard input. Hosts show any other exit code as
    an error, and treat 2 as a request to continue.
    """
    try:
        _answer(arguments, content)
    except GoopError as error:
        _report(str(error))
    except Exception as error:  # an error in goop-mcp must not stop the user's work
        _report(
            f"the hook failed and allows everything ({type(error).__name__}: {error}); please"
            " report this"
        )

    return 0


def _limit(seconds: float) -> Callable[[], None]:
    """End the process with 0 after `seconds`, unless the returned function is called before.

    A host may show an error when it has to stop the hook itself. A project can make the hook hang:
    by a pipe instead of a file, rules that never return, a database that blocks its readers.
    """
    running = _thread.allocate_lock()
    running.acquire()

    def watch() -> None:
        if not running.acquire(timeout=seconds):
            _report(
                f"the hook was not done after {seconds:g} seconds and allows everything; look at"
                " what .goopspec holds"
            )
            # The main thread may hang in a system call, so the process ends without it.
            os._exit(0)

    _thread.start_new_thread(watch, ())

    return running.release


def _answer(arguments: Sequence[str], content: bytes | None) -> None:
    host, *options = arguments or [""]
    # Options come in pairs: `--rules` and where the rules are.
    if host not in HOSTS or options[::2] != ["--rules"] * (len(options) // 2):
        known = ", ".join(HOSTS)
        _report(
            "hook takes the name of a host and, optionally, --rules WHERE; expected one"
            f" of {known}, for example: goop-mcp hook claude-code"
        )
        return

    if content is None:
        content = _read_event()
    if len(content) > MOST_BYTES:
        raise GoopError(f"the event has more than {MOST_BYTES:,} bytes; it passed unread")
    if any(mark in content for mark in _PROMPTS) and _NOTIFICATION not in content:
        return

    # These modules are loaded here, as most prompts are those of a person.
    event, rules = hooks.events.read_event(content), tuple(options[1::2])
    done = _limit(_SECONDS_TO_RECORD if event.name in _MAY_RECORD else _SECONDS)
    # Custom rules may print, and standard output must hold nothing but the answer.
    stdout, sys.stdout = sys.stdout, sys.stderr
    try:
        answer, remarks = hooks.answers.answer_event(event, os.environ, host=host, rules=rules)
    finally:
        sys.stdout = stdout
        done()

    for remark in remarks:
        _report(remark)

    if answer and sys.stdout is not None:
        # Not through Python's buffer: if the host no longer reads, flushing that at exit would fail
        # and change the exit code.
        written = hooks.events.answer_bytes(answer)
        while written:
            written = written[os.write(sys.stdout.fileno(), written) :]


def _read_event() -> bytes:
    """Return what the host wrote to standard input, its end only if that is much too long."""
    content = bytearray()
    done = _limit(_SECONDS)
    try:
        while sys.stdin is not None and (chunk := os.read(sys.stdin.fileno(), _CHUNK_BYTES)):
            content += chunk
            if len(content) > MOST_BYTES:
                break
    finally:
        done()

    return bytes(content)


def _report(message: str) -> None:
    line = " ".join(f"goop-mcp: {message}".split())
    try:
        if sys.stderr is not None:
            os.write(sys.stderr.fileno(), f"{line}\n".encode("utf-8", "backslashreplace"))
    except (OSError, ValueError):
        # A closed standard error must not change the exit code.
        return
