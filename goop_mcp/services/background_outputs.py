"""Read what a background command printed, from the file that Claude Code keeps of it.

The line of the transcript that names the file is the host's own, and the file is one that only the
host and programs of the same user can write. Nothing else is read: no link, and no other folder.
"""

import os
import re
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from goop_mcp import redaction
from goop_mcp.errors import PathRefusedError
from goop_mcp.evidence.readers.claude_code import OutputFile
from goop_mcp.workspace.folders import open_folder

__all__ = ["read_output"]

_MOST_BYTES: Final = 64 * 1024
# Both become a part of a path.
_SESSION: Final = re.compile(r"[A-Za-z0-9-]{8,100}", re.ASCII)
_TASK: Final = re.compile(r"[A-Za-z0-9_-]{1,100}", re.ASCII)


def read_output(transcript: str, file: OutputFile) -> tuple[str, bool] | None:
    """Return the output of a command that the transcript with this path names.

    That is its redacted end, of at most 64 KiB, and whether it is all of it; None for a file that
    is not where the host keeps those of this session, a link, or a file of another user.
    """
    if not (_SESSION.fullmatch(file.session) and _TASK.fullmatch(file.task)):
        return None

    user = _user()
    # The folder of a project has the same name there as among the transcripts.
    names = [name.removesuffix(".jsonl") for name in Path(transcript).parts]
    at = names.index(file.session) if file.session in names else 0
    if user is None or at < 1:
        return None

    folders = (f"claude-{user}", names[at - 1], file.session, "tasks")
    name = f"{file.task}.output"
    root = next((each for each in _roots() if str(Path(each, *folders, name)) == file.path), None)
    if root is None:
        return None

    try:
        with open_folder(Path(root), folders) as folder:
            opened = folder.open(name, os.O_RDONLY | os.O_NONBLOCK)
    except (OSError, PathRefusedError):
        return None

    status = os.fstat(opened)
    # A second name would make it a file of another folder.
    if not stat.S_ISREG(status.st_mode) or status.st_uid != user or status.st_nlink != 1:
        os.close(opened)
        return None

    with os.fdopen(opened, "rb") as reader:
        reader.seek(max(0, status.st_size - _MOST_BYTES))
        content = reader.read(_MOST_BYTES)

    if status.st_size > _MOST_BYTES:
        # Half of a line may hold half of a secret, which nothing recognizes.
        content = content.partition(b"\n")[2] or content
    text = redaction.redact(content.decode("utf-8", "replace")).text
    return text, status.st_size <= _MOST_BYTES


def _user() -> int | None:
    """Return the number of the user, None where the system has none, as Windows."""
    return os.getuid() if hasattr(os, "getuid") and hasattr(os, "O_NOFOLLOW") else None


def _roots() -> Iterator[str]:
    """Yield the folders in which the host may keep its temporary files, without links."""
    usual = str(Path(os.sep, "tmp"))
    for root in (os.environ.get("CLAUDE_CODE_TMPDIR"), tempfile.gettempdir(), usual):
        if root and Path(root).is_absolute():
            yield root
            yield os.path.realpath(root)
