"""Keep what custom rules print out of the two streams that the host reads.

A host takes an answer only if nothing else is in standard output, and only when no process holds
standard output or standard error open any more: not if a rule has started a program that prints, or
one that goes on running. Therefore both lead to a file while rules run.
"""

import os

__all__ = ["RuleOutput"]

_MOST_SHOWN = 64 * 1024


class RuleOutput:
    """What custom rules print, whether by Python, in C, or by programs that they start.

    `out` and `err` are the streams of the host from now on, None for one that is closed. Nothing
    leads back to them until the process ends: a thread of a rule may print later.
    """

    def __init__(self, folder: str, out: int | None, err: int | None) -> None:
        """Take the descriptors `out` and `err` from the rules; `folder` need not exist."""
        # Programs that a rule starts do not inherit a duplicate, and what it forks closes them.
        self.out = None if out is None else os.dup(out)
        self.err = None if err is None else os.dup(err)
        ours = [each for each in (self.out, self.err) if each is not None]

        def close() -> None:
            while ours:
                os.close(ours.pop())

        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=close)

        self._file = _nameless_file(folder)
        for each in (out, err):
            if each is not None:
                os.dup2(self._file, each)

    def show(self) -> None:
        """Write the beginning of what was printed to the host's standard error."""
        if self.err is None:
            return

        os.lseek(self._file, 0, os.SEEK_SET)
        printed = os.read(self._file, _MOST_SHOWN)
        while printed:
            printed = printed[os.write(self.err, printed) :]


def _nameless_file(folder: str) -> int:
    """Return the descriptor of a file that is gone when the last process closes it."""
    path = f"{folder}{os.sep}printed-{os.getpid()}"
    flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    try:
        # `os` instead of pathlib and tempfile, which are slow to import.
        os.makedirs(folder, exist_ok=True)  # noqa: PTH103
        # Windows removes no open file, but has a flag for it.
        file = os.open(
            path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_TEMPORARY", 0), 0o600
        )
        if not hasattr(os, "O_TEMPORARY"):
            os.unlink(path)  # noqa: PTH108
    except OSError:
        # A folder that cannot be written costs the log, not the answer.
        return os.open(os.devnull, os.O_RDWR)

    return file
