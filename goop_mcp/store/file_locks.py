"""The kernel's lock on an open file, between processes.

The kernel grants it in the order of requests and releases it when the process that holds it dies.
No lock can therefore be left over from a killed process, which a lock file with a process id in it
could be. `flock` locks belong to the open file and not to the process, so closing another
descriptor of the same file does not release them, as it would with `lockf`.
"""

import os
import sys
import time

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

__all__ = ["give_lock", "take_lock", "take_lock_if_free"]

# Windows locks ranges of bytes, and locked bytes cannot be read. The locked byte is far beyond the
# end of the file, so that others can still read the note about the holder.
_LOCKED_BYTE = 1 << 30
_WINDOWS_PAUSE = 0.005


if sys.platform == "win32":

    def take_lock(file: int) -> None:
        """Wait until the lock on the open file is ours. Raises OSError."""
        while not take_lock_if_free(file):
            time.sleep(_WINDOWS_PAUSE)

    def take_lock_if_free(file: int) -> bool:
        """Take the lock on the open file if it is free, and return whether it is ours."""
        os.lseek(file, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False

        return True

    def give_lock(file: int) -> None:
        """Release the lock on the open file."""
        os.lseek(file, _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_UNLCK, 1)

else:

    def take_lock(file: int) -> None:
        """Wait until the lock on the open file is ours. Raises OSError."""
        fcntl.flock(file, fcntl.LOCK_EX)

    def take_lock_if_free(file: int) -> bool:
        """Take the lock on the open file if it is free, and return whether it is ours."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False

        return True

    def give_lock(file: int) -> None:
        """Release the lock on the open file."""
        fcntl.flock(file, fcntl.LOCK_UN)
