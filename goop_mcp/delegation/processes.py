"""Which process this is, among those of all machines."""

import os
import secrets
import socket
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from goop_mcp.processes import started

__all__ = ["ThisProcess", "boot_id", "this_process"]

_PROC: Final = Path("/proc")


@dataclass(frozen=True, slots=True)
class ThisProcess:
    """A runner: a random id that is never configured, and where it runs.

    `boot_id` names the start of the machine and, on Linux, the namespace of process ids; "" where
    that is not known.
    """

    owner: str
    host: str
    boot_id: str
    pid: int
    pid_started: str


def this_process() -> ThisProcess:
    """Return this process as a new runner; each call is another one."""
    pid = os.getpid()
    return ThisProcess(secrets.token_hex(8), socket.gethostname(), boot_id(), pid, started(pid))


@cache
def boot_id() -> str:
    """Return what names this start of this machine, and the process ids that are seen in it."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        # Containers share the kernel and its boot id, and each counts process ids by itself.
        return f"{boot} {(_PROC / 'self/ns/pid').readlink()}"
    except OSError:
        return ""
