"""Folders for the time of one look at a repository, which only their owner may enter."""

import os
from contextlib import suppress
from importlib import import_module
from typing import Final

from goop_mcp.recording.configured_programs import read_small

__all__ = ["furnish", "make_room", "remove_room"]

_TEMPORARY: Final = f"{os.sep}tmp"
_COPIED: Final = ("exclude", "attributes")
_MOST_BYTES: Final = 1024 * 1024


def make_room(rooms: list[str]) -> str:
    """Return the path of a new folder, which is in `rooms` before it is there; raise OSError.

    So a signal at any moment leaves none that its caller does not know.
    """
    folder = os.environ.get("TMPDIR") or _TEMPORARY
    # A random name; where another process was faster, making it fails.
    place = f"{folder}{os.sep}goop-tree-{os.urandom(8).hex()}"
    if folder[:1] == os.sep:
        rooms.append(place)
        with suppress(OSError):
            os.mkdir(place, 0o700)  # noqa: PTH102 - pathlib is loaded meanwhile
            return place
        rooms.pop()

    # It knows all places where a system may keep temporary files, and takes long to load.
    rooms.append(str(import_module("tempfile").mkdtemp(prefix="goop-tree-")))
    return rooms[-1]


def remove_room(room: str) -> None:
    """Remove the folder with all that is in it."""
    # Not needed before the command of a run starts.
    import_module("shutil").rmtree(room, ignore_errors=True)


def furnish(room: str, content: bytes, common: str) -> None:
    """Make the folder one that git takes for the common one of a repository (GIT_COMMON_DIR).

    Its configuration is `content`; what git leaves out and the attributes are those in the folder
    `common`, as they are now. Raises OSError.
    """
    os.mkdir(f"{room}{os.sep}refs")  # noqa: PTH102
    _write(f"{room}{os.sep}config", content)
    for name in _COPIED:
        lines = _read(f"{common}{os.sep}info{os.sep}{name}", name)
        # In most repositories there are only comments.
        if any(line and not line.startswith(b"#") for line in lines.splitlines()):
            with suppress(FileExistsError):
                os.mkdir(f"{room}{os.sep}info")  # noqa: PTH102
            _write(f"{room}{os.sep}info{os.sep}{name}", lines)


def _read(path: str, name: str) -> bytes:
    try:
        return read_small(path, most=_MOST_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return b""
    except OSError as error:
        raise OSError(f"info/{name} cannot be read: {error.strerror or error}") from None


def _write(path: str, content: bytes) -> None:
    with open(path, "wb") as file:  # noqa: PTH123
        file.write(content)
