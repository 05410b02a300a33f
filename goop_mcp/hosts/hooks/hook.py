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

TYPE_CHECKING = False  # that of `typing` takes too long to load

if TYPE_CHECKING:
    from typing import TextIO

    from goop_mcp.hosts.hooks.rule_output import RuleOutput

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


class _Streams:
    """The descriptors to which the host listens: `out` and `err`, None for one that is closed."""

    def __init__(self) -> None:
        self.out, self.err = map(_descriptor, (sys.stdout, sys.stderr))
        self._rules: RuleOutput | None = None

    def keep_from_rules(self) -> None:
        """From now on only this object writes to the host, whatever custom rules print or start."""
        folder = hooks.answers.state_folder(os.environ)
        self._rules = hooks.rule_output.RuleOutput(folder, self.out, self.err)
        self.out, self.err = self._rules.out, self._rules.err

    def show_rules(self) -> None:
        """Add what custom rules have printed to the host's log."""
        try:
            if self._rules is not None:
                self._rules.show()
        except OSError:
            # As for a line of the log.
            return

    def answer(self, content: bytes) -> None:
        """Write the answer to the event, which is all that the host may read."""
        # Not through Python's buffer: if the host no longer reads, flushing that at exit would fail
        # and change the exit code.
        while content and self.out is not None:
            content = content[os.write(self.out, content) :]

    def report(self, message: str) -> None:
        """Write a line to the host's log."""
        line = " ".join(f"goop-mcp: {message}".split())
        try:
            if self.err is not None:
                os.write(self.err, f"{line}\n".encode("utf-8", "backslashreplace"))
        except OSError:
            # A closed standard error must not change the exit code.
            return


def _descriptor(stream: "TextIO | None") -> int | None:
    try:
        return None if stream is None else stream.fileno()
    except (OSError, ValueError):
        return None


def main(arguments: Sequence[str], content: bytes | None = None) -> int:
    """Answer an event for the host that `arguments` name; always return 0.

    The event is `content`, by default what is on standard input. Hosts show any other exit code as
    an error, and treat 2 as a request to continue.
    """
    streams = _Streams()
    try:
        _answer(arguments, content, streams)
    except GoopError as error:
        streams.report(str(error))
    except BaseException as error:  # neither goop-mcp nor a custom rule may stop the user's work
        streams.report(
            f"the hook failed and allows everything ({type(error).__name__}: {error}); please"
            " report this"
        )

    streams.show_rules()

    return 0


def _limit(seconds: float, streams: _Streams) -> Callable[[], None]:
    """End the process with 0 after `seconds`, unless the returned function is called before.

    A host may show an error when it has to stop the hook itself. A project can make the hook hang:
    by a pipe instead of a file, rules that never return, a database that blocks its readers.
    """
    running = _thread.allocate_lock()
    running.acquire()

    def watch() -> None:
        if not running.acquire(timeout=seconds):
            streams.report(
                f"the hook was not done after {seconds:g} seconds and allows everything; look at"
                " what .goopspec holds"
            )
            streams.show_rules()
            # The main thread may hang in a system call, so the process ends without it.
            os._exit(0)

    _thread.start_new_thread(watch, ())

    return running.release


def _answer(arguments: Sequence[str], content: bytes | None, streams: _Streams) -> None:
    host, *options = arguments or [""]
    # Options come in pairs: `--rules` and where the rules are.
    if host not in HOSTS or options[::2] != ["--rules"] * (len(options) // 2):
        known = ", ".join(HOSTS)
        streams.report(
            "hook takes the name of a host and, optionally, --rules WHERE; expected one"
            f" of {known}, for example: goop-mcp hook claude-code"
        )
        return

    if content is None:
        content = _read_event(streams)
    if len(content) > MOST_BYTES:
        raise GoopError(f"the event has more than {MOST_BYTES:,} bytes; it passed unread")
    if any(mark in content for mark in _PROMPTS) and _NOTIFICATION not in content:
        return

    # These modules are loaded here, as most prompts are those of a person.
    event, rules = hooks.events.read_event(content), tuple(options[1::2])
    done = _limit(_SECONDS_TO_RECORD if event.name in _MAY_RECORD else _SECONDS, streams)
    if rules:
        streams.keep_from_rules()

    # What is printed by accident belongs to the host's log as well.
    stdout, sys.stdout = sys.stdout, sys.stderr
    try:
        answer, remarks = hooks.answers.answer_event(event, os.environ, host=host, rules=rules)
    finally:
        sys.stdout = stdout
        done()

    if answer:
        streams.answer(hooks.events.answer_bytes(answer))
    for remark in remarks:
        streams.report(remark)


def _read_event(streams: _Streams) -> bytes:
    """Return what the host wrote to standard input, its end only if that is much too long."""
    content = bytearray()
    done = _limit(_SECONDS, streams)
    try:
        while sys.stdin is not None and (chunk := os.read(sys.stdin.fileno(), _CHUNK_BYTES)):
            content += chunk
            if len(content) > MOST_BYTES:
                break
    finally:
        done()

    return bytes(content)
