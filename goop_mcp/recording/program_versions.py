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
        # A name with a separator is not looked for; reading anything but a file might wait for
        # ever.
        path = environment.get("PATH", os.defpath)
        folders = [str(cwd)] if os.sep in argv[0] else filter(None, path.split(os.pathsep))
        files = (Path(each, argv[0]) for each in folders)
        program = next(
            (each for each in files if each.is_file() and os.access(each, os.X_OK)), None
        )
        if program is None:
            return ""
        if argv[1:2] == ("-m",):
            return _of_distribution(program, argv[2].partition(".")[0])

        # The first line of a script names the Python that runs it.
        with program.open("rb") as file:
            line = file.read(_FIRST_LINE).partition(b"\n")[0]
        words = line.removeprefix(b"#!").decode("utf-8").split()
        if line.startswith(b"#!") and words and "python" in Path(words[0]).name:
            return _of_distribution(Path(words[0]), program.stem)

        for folder in program.resolve().parents[:_LEVELS]:
            # node_modules/NAME, or node_modules/@SCOPE/NAME
            if "node_modules" in (folder.parent.name, folder.parent.parent.name):
                with suppress(FileNotFoundError), (folder / "package.json").open("rb") as file:
                    values = json.loads(file.read(_MOST_BYTES))
                    return _shown(values.get("version") if isinstance(values, dict) else None)

    return ""


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


def _plain(name: str) -> str:
    return name.lower().replace("-", "_").replace(".", "_")


def _shown(version: object) -> str:
    text = version if isinstance(version, str) else ""
    return text if text.isprintable() and len(text) <= _LONGEST_VERSION else ""
