"""Take the port before anything else is started, and say who has it when it is taken."""

import errno
import os
import socket
import sys
from pathlib import Path
from typing import Final

from goop_mcp.settings import SettingsError

__all__ = ["allow_many_sockets", "bind"]

_LISTENING: Final = "0A"
_INODE, _STATE, _LOCAL = 9, 3, 1
_BACKLOG: Final = 2048
_FILES: Final = 256


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that listens on `host` and `port`; 0 takes any port that is free.

    Raises SettingsError.
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
            # The last server's connections may not be forgotten yet. On Windows the option would
            # share the port.
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
            f"--host is {host!r}, which is no address of this machine; name one that is, such as"
            " 127.0.0.1"
        )

    return (
        f"port {port} of {host} cannot be used ({(error.strerror or str(error)).lower()}); give"
        " another --port"
    )


def _owner(port: int) -> str | None:
    """Return number and name of the process that listens on `port`, None where the system does not tell."""
    inodes = {f"socket:[{inode}]" for inode in _listening(port)}
    if not inodes:
        return None

    for process in Path("/proc").glob("[0-9]*"):
        if any(_target(handle) in inodes for handle in _handles(process)):
            return f"{process.name} ({_name(process)})"

    return None


def _listening(port: int) -> list[str]:
    """Return the inodes of the sockets that listen on `port`, on any address."""
    found = []
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        try:
            rows = [line.split() for line in table.read_text(encoding="ascii").splitlines()[1:]]
        except OSError:
            continue

        found += [
            row[_INODE]
            for row in rows
            if row[_STATE] == _LISTENING and int(row[_LOCAL].rpartition(":")[2], 16) == port
        ]

    return found


def _handles(process: Path) -> list[Path]:
    try:
        return list((process / "fd").iterdir())
    except OSError:
        return []


def _target(handle: Path) -> str | None:
    try:
        return str(handle.readlink())
    except OSError:
        return None


def _name(process: Path) -> str:
    try:
        return (process / "comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return "unknown"


def allow_many_sockets(count: int) -> None:
    """Let this process open `count` sockets beside its files, as far as the system lets it."""
    if sys.platform == "win32":
        return

    import resource  # noqa: PLC0415 - not on Windows

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count + _FILES if hard == resource.RLIM_INFINITY else min(count + _FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
