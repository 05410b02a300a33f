"""Describe the environment of a measurement: interpreter, libraries, processors."""

import os
import platform
from importlib.metadata import version
from pathlib import Path

from lxml import etree

__all__ = ["describe_machine", "resident_mb"]

_LIBRARIES = ("lxml", "mcp", "pydantic")


def describe_machine() -> str:
    """Return one line with the class of the machine and every version that results depend on."""
    libraries = ", ".join(f"{name} {version(name)}" for name in _LIBRARIES)
    libxml = ".".join(str(part) for part in etree.LIBXML_VERSION)
    system = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"

    return (
        f"{platform.python_implementation()} {platform.python_version()}, {libraries}, libxml2"
        f" {libxml}; {system}"
    )


def resident_mb(process: int) -> float | None:
    """Return the resident size of a process in MB, None if the system does not show it."""
    status = Path(f"/proc/{process}/status")
    if not status.exists():
        return None

    line = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024 / 1e6
