"""Detect network filesystems, on which processes of different machines cannot share memory."""

import os
import sys
from pathlib import Path
from typing import Final

__all__ = ["MOUNT_TABLE", "network_filesystem"]

MOUNT_TABLE: Final = Path("/proc/self/mountinfo")

_KINDS: Final = frozenset(
    [
        *(
            "9p",
            "afs",
            "ceph",
            "cifs",
            "coda",
            "drvfs",
            "fuse",
            "fuseblk",
            "glusterfs",
            "gpfs",
            "lustre",
            "ncpfs",
        ),
        *("nfs", "nfs4", "ocfs2", "pvfs2", "smb2", "smb3", "smbfs", "vboxsf", "virtiofs"),
    ]
)


def network_filesystem(folder: Path, *, mount_table: Path = MOUNT_TABLE) -> str | None:
    """Return the type of the filesystem of `folder` if machines may share it, such as nfs4.

    None for a local filesystem and where it cannot be determined: Linux lists its mounts, on
    Windows the path shows it.
    """
    if sys.platform == "win32":
        return "a network share" if str(folder).startswith("\\\\") else None

    try:
        device, mounts = (
            folder.stat().st_dev,
            mount_table.read_text(encoding="utf-8", errors="replace"),
        )
    except OSError:
        return None

    wanted = f"{os.major(device)}:{os.minor(device)}"
    line = next((each for each in mounts.splitlines() if each.split()[2:3] == [wanted]), "")
    # The type is the first field after the separator `-` (proc(5), mountinfo).
    kind = "".join(line.partition(" - ")[2].split()[:1])

    return kind if kind.partition(".")[0] in _KINDS else None
