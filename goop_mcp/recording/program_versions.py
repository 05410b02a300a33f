"""Which version of a program ran, from what its installer left next to it: nothing is started."""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final

__all__ = ["version_of_program"]

_FIRST_LINE: Final = 512
_MOST_BYTES: Final = 256 * 1024
_MOST_ENTRIES: Final = 20_000
_LONGEST_VERSION: Final = 60
_LEVELS: Final = 6


def version_of_program(argv: tuple[str, ...], cwd: Path, environment: Mapping[str, str]) -> str:
    """Return the version of the program that `argv` starts, "" if its installer left none.

    Known are commands and modules (`python -m`) of Python distributions, and commands of npm
    packages. Never raises.
    """
    with suppress(OSError, ValueError, IndexError, RecursionError):
        program = _found(argv[0], cwd, environment.get("PATH", os.defpath))
        if program is None:
            return ""
        if argv[1:2] == ("-m",):
            return _of_distribution(program, argv[2].partition(".")[0])
        if (interpreter := _interpreter(program)) is not None:
            return _of_distribution(interpreter, program.stem)
        return _of_package(program.resolve())

    return ""


def _found(name: str, cwd: Path, path: str) -> Path | None:
    # A name with a separator is not looked for; reading anything but a file might wait for ever.
    folders = [str(cwd)] if os.sep in name else filter(None, path.split(os.pathsep))
    files = (Path(each, name) for each in folders)
    return next((file for file in files if file.is_file() and os.access(file, os.X_OK)), None)


def _interpreter(script: Path) -> Path | None:
    """Return the Python that a script names in its first line, None for another program."""
    with script.open("rb") as file:
        line = file.read(_FIRST_LINE).partition(b"\n")[0]
    words = line.removeprefix(b"#!").decode("utf-8").split()
    is_python = line.startswith(b"#!") and words and "python" in Path(words[0]).name
    return Path(words[0]) if is_python else None


def _of_distribution(interpreter: Path, name: str) -> str:
    # Not resolved: a virtual environment links to a Python that has other packages.
    for folder in interpreter.parent.parent.glob("lib/python3.*/site-packages"):
        with os.scandir(folder) as entries:
            for entry in islice(entries, _MOST_ENTRIES):
                # NAME-VERSION.dist-info; only the name is written in several ways, without a dash.
                found, _, version = entry.name.removesuffix(".dist-info").partition("-")
                if entry.name.endswith(".dist-info") and _plain(found) == _plain(name):
                    return _shown(version)
    return ""


def _of_package(program: Path) -> str:
    for folder in program.parents[:_LEVELS]:
        # node_modules/NAME, or node_modules/@SCOPE/NAME
        if "node_modules" in (folder.parent.name, folder.parent.parent.name):
            with suppress(FileNotFoundError), (folder / "package.json").open("rb") as file:
                values = json.loads(file.read(_MOST_BYTES))
                return _shown(values.get("version") if isinstance(values, dict) else None)
    return ""


def _plain(name: str) -> str:
    return name.lower().replace("-", "_").replace(".", "_")


def _shown(version: object) -> str:
    text = version if isinstance(version, str) else ""
    return text if text.isprintable() and len(text) <= _LONGEST_VERSION else ""
