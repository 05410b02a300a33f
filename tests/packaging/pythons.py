"""The Python interpreters of this machine, each run and not only looked up."""

import os
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

__all__ = ["find_pythons", "version_of"]

_PROGRAM = re.compile(r"python3\.(?P<minor>[0-9]+)")
_ASK = (
    "import platform, sys, venv, ensurepip; print(platform.python_version(), sys.version_info[:2]"
    " >= (3, 11))"
)
_LONGEST = 30


def find_pythons(named: Iterable[str] = ()) -> dict[str, Path]:
    """Return interpreters by version, oldest first: those `named`, or all that can be found.

    The search covers the PATH, /usr/bin and the folders of pyenv and uv. The first interpreter of
    each version counts; versions before 3.11 and interpreters without venv are left out.
    """
    found: dict[str, Path] = {}
    for program in [Path(each) for each in named] or _candidates():
        version = version_of(program)
        if version is not None:
            found.setdefault(version, program)

    return dict(
        sorted(found.items(), key=lambda pair: [int(part) for part in re.findall(r"\d+", pair[0])])
    )


def version_of(program: Path) -> str | None:
    """Return the version of `program`, such as 3.12.1; None if it does not start or is too old."""
    try:
        asked = subprocess.run(
            [program, "-c", _ASK],
            check=False,
            capture_output=True,
            encoding="utf-8",
            timeout=_LONGEST,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None

    version, _, new_enough = asked.stdout.strip().partition(" ")

    return version if asked.returncode == 0 and new_enough == "True" else None


def _candidates() -> Iterator[Path]:
    home = Path.home()
    folders = [Path(each) for each in os.get_exec_path()] + [Path("/usr/bin")]
    pyenv = Path(os.environ.get("PYENV_ROOT") or home / ".pyenv")
    folders += sorted(pyenv.glob("versions/*/bin"))
    folders += sorted((home / ".local" / "share" / "uv" / "python").glob("*/bin"))
    for folder in folders:
        yield from sorted(
            path for path in folder.glob("python3.*") if _PROGRAM.fullmatch(path.name)
        )
