"""Bind the port before anything else is started; if it is in use, name the process that has it."""

import errno
import os
import socket
import sys
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Final

from goop_mcp.settings import SettingsError

__all__ = ["allow_many_sockets", "bind"]

_LISTENING: Final = "0A"
_INODE, _STATE, _LOCAL = 9, 3, 1
_BACKLOG: Final = 2048
_FILES: Final = 256


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that listens on `host` and `port`; port 0 is any that is free.

    Raises SettingsError if that is not possible, with the reason and what to do.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM
        )[0]
    except OSError as error:
        raise SettingsError(
            f"--host is {host!r}, which no address is known for; name one of this machine"
        ) from error

    opened = socket.socket(family, kind, protocol)

    try:
        if os.name == "posix":
            # Connections of the last server may still be closing, which must not block the port.
            # On Windows the option would let two servers share the port.
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)

        opened.bind(address)
        opened.listen(_BACKLOG)
    except OSError as error:
        opened.close()
        raise SettingsError(_refusal(error, host, port)) from error

    opened.setblocking(False)

    return opened


def _refusal(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        owner = _owner(port)
        has = f"process {owner} has it" if owner else "another process has it"
        return (
            f"port {port} of {host} is in use ({has}); end that, or give another --port, or 0 for"
            " any that is free"
        )

    if error.errno == errno.EACCES:
        return f"port {port} of {host} is not for this user; give a --port from 1024 on"
    if error.errno == errno.EADDRNOTAVAIL:
        return (
            f"--host is {host!r}, not an address of this machine; name one that is, such as"
            " 127.0.0.1"
        )

    return (
        f"port {port} of {host} cannot be used ({(error.strerror or str(error)).lower()}); give"
        " another --port"
    )


def _owner(port: int) -> str | None:
    """Return number and name of the process that listens on `port`, None if the system hides it."""
    # /proc/net lists listening sockets with their inodes, and each process links to its sockets.
    inodes = set()
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        try:
            rows = [line.split() for line in table.read_text(encoding="ascii").splitlines()[1:]]
        except OSError:
            continue

        inodes |= {
            f"socket:[{row[_INODE]}]"
            for row in rows
            if row[_STATE] == _LISTENING and int(row[_LOCAL].rpartition(":")[2], 16) == port
        }

    if not inodes:
        return None

    for process in Path("/proc").glob("[0-9]*"):
        if _has_socket(process, inodes):
            try:
                name = (process / "comm").read_text(encoding="utf-8", errors="replace").strip()
            except OSError:
                name = "unknown"

            return f"{process.name} ({name})"

    return None


def _has_socket(process: Path, inodes: Collection[str]) -> bool:
    try:
        handles = list((process / "fd").iterdir())
    except OSError:
        return False

    for handle in handles:
        # A file may be closed, or its process end, in the meantime.
        with suppress(OSError):
            if str(handle.readlink()) in inodes:
                return True

    return False


def allow_many_sockets(count: int) -> None:
    """Let this process open `count` sockets in addition to its files, if the system allows it."""
    if sys.platform == "win32":
        return

    import resource  # noqa: PLC0415 - not on Windows

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count + _FILES if hard == resource.RLIM_INFINITY else min(count + _FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
