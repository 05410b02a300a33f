"""Checks of the installation: versions, and which program the shell starts."""

import os
import platform
from collections.abc import Iterator, Mapping
from pathlib import Path

from goop_mcp import __version__
from goop_mcp.errors import StoreError
from goop_mcp.hosts.doctor.checks import DoctorCheck, failure, ok, warning
from goop_mcp.hosts.launch import PROGRAM, PythonEnvironment, find_launch
from goop_mcp.services.user_files import read_bytes

__all__ = ["check_installation"]

_FIRST_BYTES = 4096
_INSTALL = "uv tool install goop-mcp, or pipx install goop-mcp"


def check_installation(
    python: PythonEnvironment, environment: Mapping[str, str]
) -> Iterator[DoctorCheck]:
    """Yield what is found about versions and the PATH."""
    yield ok("installation", f"goop-mcp {__version__} with Python {platform.python_version()}")
    yield _check_sqlite()
    yield _check_path(python, environment)


def _check_sqlite() -> DoctorCheck:
    try:
        import apsw  # noqa: PLC0415 - whether it can be loaded is the check

        # This module imports apsw itself, so it must not be loaded earlier either.
        from goop_mcp.store.sqlite.connection import refuse_unsafe_sqlite  # noqa: PLC0415
    except ImportError as error:
        return failure("SQLite", f"its driver cannot be loaded ({error})", "install goop-mcp again")

    version = apsw.sqlite_lib_version()
    try:
        refuse_unsafe_sqlite(version)
    except StoreError as error:
        message, _, fix = str(error).partition("; ")
        return failure("SQLite", message, fix)

    return ok("SQLite", f"version {version}")


def _check_path(python: PythonEnvironment, environment: Mapping[str, str]) -> DoctorCheck:
    # The different programs that a shell would find; a link to one of them is the same program.
    programs: dict[Path, Path] = {}
    for folder in environment.get("PATH", os.defpath).split(os.pathsep):
        for name in (PROGRAM, f"{PROGRAM}.exe"):
            program = Path(folder or ".") / name
            # In this order: a folder that this user may not enter has no programs for him, and only
            # the first question is answered there without an error.
            if os.access(program, os.X_OK) and program.is_file():
                programs.setdefault(program.resolve(), program)

    found = list(programs.values())
    if not found:
        launch = find_launch(python, portable=False)
        return warning(
            "PATH",
            f"{PROGRAM} is not on it, so hosts start it as {' '.join(launch.words)}",
            f"install it permanently ({_INSTALL}), or ignore this",
        )

    if len(found) > 1:
        others = ", ".join(str(path) for path in found[1:])
        return warning(
            "PATH",
            f"{len(found)} different programs {PROGRAM} are found; {found[0]} is started, {others}"
            " is not",
            "uninstall those that are not needed",
        )

    is_own = found[0].resolve().is_relative_to(python.prefix.resolve())
    if not is_own:
        try:
            # A script that pip wrote to another folder names its interpreter in the first line.
            first_line = read_bytes(str(found[0]), most=_FIRST_BYTES)
            is_own = os.fsencode(python.prefix) in first_line
        except OSError:
            # As far as can be seen.
            is_own = True

    if not is_own:
        return warning(
            "PATH",
            f"{found[0]} belongs to another installation than the one that runs now"
            f" ({python.prefix})",
            "uninstall one of them, or run the doctor of the one that hosts start",
        )

    return ok("PATH", f"{found[0]}")
