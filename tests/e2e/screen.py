"""A program on a terminal in memory: read its screen as a person does, and press keys."""

import os
import pty
import select
import subprocess
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pyte

from tests.e2e.pace import patience

__all__ = ["DOWN", "ENTER", "ESCAPE", "RIGHT", "ProgramOnScreen", "on_screen"]

ENTER: Final = "\r"
ESCAPE: Final = "\x1b"
DOWN: Final = "\x1b[B"
RIGHT: Final = "\x1b[C"
_COLUMNS = 120
_AGAIN: Final = 2.0
"""Seconds after which a key is pressed again, as hosts ignore one that follows too soon."""


class ProgramOnScreen:
    """A running program; the screen changes only while something is waited for."""

    def __init__(self, terminal: int, *, rows: int) -> None:
        self._terminal = terminal
        self._screen = pyte.Screen(_COLUMNS, rows)
        self._stream = pyte.ByteStream(self._screen)

    @property
    def text(self) -> str:
        """What the screen shows."""
        return "\n".join(line.rstrip() for line in self._screen.display)

    def wait_for(self, *texts: str, without: str = "", pressing: str | None = None) -> None:
        """Wait until the screen shows all of `texts`, and press a key every two seconds meanwhile.

        `without` is what it must not show any more, such as a message that lies over the rest.

        All at once: in the middle of being drawn again, a screen lacks what it showed before.
        """
        now = time.monotonic()
        give_up, due = now + patience(), now
        while (missing := [each for each in texts if each not in self.text]) or (
            without and without in self.text
        ):
            now = time.monotonic()
            what = f"{missing[0]!r} is not shown" if missing else f"{without!r} is still shown"
            assert now < give_up, f"{what}:\n{self.text}"
            if pressing is not None and now >= due:
                os.write(self._terminal, pressing.encode())
                due = now + _AGAIN

            if select.select([self._terminal], [], [], 0.1)[0]:
                self._stream.feed(os.read(self._terminal, 65_536))

    def press(self, key: str, *, then: str) -> None:
        """Press a key, and wait until the screen shows `then`."""
        os.write(self._terminal, key.encode())
        self.wait_for(then)


@contextmanager
def on_screen(
    command: Sequence[str], *, cwd: Path, environment: Mapping[str, str], rows: int = 50
) -> Iterator[ProgramOnScreen]:
    """Run `command` on a terminal until the end of the context."""
    terminal, side_of_program = pty.openpty()
    termios.tcsetwinsize(terminal, (rows, _COLUMNS))

    with subprocess.Popen(
        command,
        cwd=cwd,
        env=dict(environment),
        stdin=side_of_program,
        stdout=side_of_program,
        stderr=side_of_program,
        start_new_session=True,
    ) as process:
        os.close(side_of_program)
        try:
            yield ProgramOnScreen(terminal, rows=rows)
        finally:
            process.kill()
            process.wait()
            os.close(terminal)
