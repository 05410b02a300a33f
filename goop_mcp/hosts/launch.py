"""Find the command by which a host can start this very installation, and say why it is that one."""

import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path, PurePath

__all__ = [
    "PROGRAM",
    "Launch",
    "Surroundings",
    "find_launch",
    "is_ours",
    "look_around",
    "runs_throwaway",
]

PROGRAM = "goop-mcp"
_MODULE = "goop_mcp"
_WINDOWS_ENDINGS = (".exe", ".cmd", ".bat")


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A command that starts goop-mcp when nothing or a command of ours is added, and why it was taken."""

    command: str
    arguments: tuple[str, ...] = ()
    why: str

    @property
    def words(self) -> tuple[str, ...]:
        """The whole command."""
        return (self.command, *self.arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What the choice depends on: folders of the interpreter, and what the shell finds under a name."""

    executable: Path
    prefix: Path
    base_prefix: Path
    which: Callable[[str], str | None]

    @property
    def programs(self) -> Path:
        """The folder in which the interpreter's own programs lie."""
        return self.prefix / ("Scripts" if os.name == "nt" else "bin")


def look_around(environment: Mapping[str, str]) -> Surroundings:
    """Return the surroundings of this process; `environment` tells the PATH."""
    path = environment.get("PATH", os.defpath)
    return Surroundings(
        executable=Path(sys.executable),
        prefix=Path(sys.prefix),
        base_prefix=Path(sys.base_prefix),
        which=lambda name: shutil.which(name, path=path),
    )


def find_launch(around: Surroundings, *, portable: bool) -> Launch:
    """Return the command for a host's configuration.

    An ordered ladder: environments that are thrown away first, for nothing in them may be named;
    then what outlives this shell; a path of this machine last. With `portable` a name is preferred
    to a path: others read the file too.
    """
    if "uv" in _cache_of(around.prefix) and around.which("uvx"):
        return Launch(
            command="uvx",
            arguments=(PROGRAM,),
            why="this is run by uvx, which makes its environment anew each time",
        )

    if "pipx" in _cache_of(around.prefix) and around.which("pipx"):
        return Launch(
            command="pipx",
            arguments=("run", PROGRAM),
            why="this is run by pipx, which may throw its environment away",
        )

    found = around.which(PROGRAM)
    if (
        found is not None
        and _leads_to(found, around.prefix)
        and not _only_while_active(found, around)
    ):
        why = f"{PROGRAM} is installed for good and found on the PATH"
        return Launch(command=PROGRAM if portable else found, why=why)

    script = next((path for path in _scripts(around.programs) if path.is_file()), None)
    if script is not None:
        kind = (
            "the virtual environment"
            if around.prefix != around.base_prefix
            else "the Python installation"
        )
        return Launch(
            command=str(script),
            why=f"this is the program of {kind} in use, which is not on every PATH",
        )

    return Launch(
        command=str(around.executable),
        # Without -P a folder of that name in the project would be run in place of ours.
        arguments=("-P", "-m", _MODULE),
        why=f"the interpreter in use has no program {PROGRAM}; it runs the module instead",
    )


def is_ours(words: Sequence[str]) -> bool:
    """Tell whether a command starts goop-mcp, in whatever way."""
    if not words:
        return False

    names = [_plain(word) for word in words]
    runs_module = any(pair == ("-m", _MODULE) for pair in pairwise(words))
    return names[0] == PROGRAM or runs_module or (names[0] in _RUNNERS and PROGRAM in names[1:])


def runs_throwaway(words: Sequence[str]) -> bool:
    """Tell whether a command makes an environment for each start."""
    return bool(words) and _plain(words[0]) in _RUNNERS


def _cache_of(prefix: Path) -> str:
    """Return whose throw-away environment `prefix` is, as far as its path tells; empty for none."""
    parts = prefix.parts
    if "uv" in parts and any(
        part.startswith(("archive-v", "environments-v", "builds-v")) for part in parts
    ):
        return "uv"

    # pipx keeps what `pipx run` made in a folder named .cache or pipx/.cache.
    return "pipx" if "pipx" in parts and ".cache" in parts else ""


def _leads_to(found: str, prefix: Path) -> bool:
    """Tell whether a program on the PATH, perhaps a link, belongs to the installation at `prefix`."""
    return Path(found).resolve().is_relative_to(prefix.resolve())


def _only_while_active(found: str, around: Surroundings) -> bool:
    """Tell whether a program is found only because a virtual environment is active."""
    return around.prefix != around.base_prefix and Path(found).parent == around.programs


def _scripts(folder: Path) -> tuple[Path, ...]:
    return tuple(folder / f"{PROGRAM}{ending}" for ending in ("", *_WINDOWS_ENDINGS))


def _plain(word: str) -> str:
    """Return the name of a program without folder and ending, or of a package without its version."""
    name = PurePath(word.replace("\\", "/")).name.lower()
    for ending in _WINDOWS_ENDINGS:
        name = name.removesuffix(ending)
    return name.partition("@")[0].partition("==")[0].partition("[")[0]


_RUNNERS = frozenset({"uvx", "uv", "pipx"})
