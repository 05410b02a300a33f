"""The lock of the kernel on an open file, between processes: given in the order of asking, taken from the dead."""

import os
import sys
import time

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

__all__ = ["give_lock", "take_lock", "take_lock_if_free"]

# Windows locks bytes, and locked bytes cannot be read: the one that is locked lies far behind
# whatever is in the file.
_LOCKED_BYTE = 1 << 30
_WINDOWS_PAUSE = 0.005


if sys.platform == "win32":

    def take_lock(file: int) -> None:
        """Wait until the lock on the open file is ours. Raises OSError."""
        while not take_lock_if_free(file):
            time.sleep(_WINDOWS_PAUSE)

    def take_lock_if_free(file: int) -> bool:
        """Take the lock on the open file if it is free, and tell whether it is ours."""
        os.lseek(file, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False

        return True

    def give_lock(file: int) -> None:
        """Let the next one in."""
        os.lseek(file, _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_UNLCK, 1)

else:

    def take_lock(file: int) -> None:
        """Wait until the lock on the open file is ours. Raises OSError."""
        fcntl.flock(file, fcntl.LOCK_EX)

    def take_lock_if_free(file: int) -> bool:
        """Take the lock on the open file if it is free, and tell whether it is ours."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False

        return True

    def give_lock(file: int) -> None:
        """Let the next one in."""
        fcntl.flock(file, fcntl.LOCK_UN)
