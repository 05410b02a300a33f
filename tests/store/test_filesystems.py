"""Network filesystems are recognised by the table of mounts."""

import os
from pathlib import Path

import pytest

from goop_mcp.store.filesystems import network_filesystem


def table(folder: Path, kind: str, *, device: str | None = None) -> Path:
    """Write a table of mounts in which `folder` is on a filesystem of `kind`."""
    number = folder.stat().st_dev
    here = device or f"{os.major(number)}:{os.minor(number)}"
    path = folder / "mountinfo"
    path.write_text(
        "1 0 0:1 / /proc rw,nosuid shared:1 - proc proc rw\n"
        "2 0 254:99 / /else rw - nfs4 other:/x rw\n"
        f"3 0 {here} / /with\\040blank rw,relatime shared:5 master:2 - {kind} source rw,x=-\n"
        "broken\n"
    )

    return path


@pytest.mark.parametrize(
    "kind", ["nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "fuseblk", "virtiofs"]
)
def test_a_shared_filesystem_is_named(tmp_path: Path, kind: str) -> None:
    assert network_filesystem(tmp_path, mount_table=table(tmp_path, kind)) == kind


@pytest.mark.parametrize("kind", ["ext4", "btrfs", "tmpfs", "xfs", "overlay", "zfs", "nfsd"])
def test_a_local_filesystem_is_not(tmp_path: Path, kind: str) -> None:
    assert network_filesystem(tmp_path, mount_table=table(tmp_path, kind)) is None


def test_where_the_system_does_not_say_it_is_taken_for_local(tmp_path: Path) -> None:
    assert network_filesystem(tmp_path, mount_table=tmp_path / "missing") is None
    assert (
        network_filesystem(tmp_path, mount_table=table(tmp_path, "nfs4", device="0:9999")) is None
    )
    assert network_filesystem(tmp_path / "missing") is None
