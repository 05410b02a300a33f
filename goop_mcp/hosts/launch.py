"""Find the command by which a host starts this installation, and the reason for the choice."""

import os
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path, PurePath

__all__ = [
    "PROGRAM",
    "Launch",
    "PythonEnvironment",
    "current_environment",
    "find_launch",
    "is_ours",
    "runs_throwaway",
]

PROGRAM = "goop-mcp"
_MODULE = "goop_mcp"
_WINDOWS_ENDINGS = (".exe", ".cmd", ".bat")


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A command that starts goop-mcp, to which subcommands may be appended; `why` it was chosen."""

    command: str
    arguments: tuple[str, ...] = ()
    why: str

    @property
    def words(self) -> tuple[str, ...]:
        """The command with its arguments."""
        return (self.command, *self.arguments)

    def shell_line(self, *words: str, windows: bool = os.name == "nt") -> str:
        """Return the command with `words` after it as one line for a shell, quoted where needed.

        A line for `sh`; on `windows` one that Git Bash and cmd both read.
        """
        if not windows:
            return shlex.join([*self.words, *words])

        # A backslash escapes in Git Bash, and single quotation marks are letters in cmd.
        plain = [self.command.replace("\\", "/"), *self.arguments, *words]
        return " ".join(each if shlex.quote(each) == each else f'"{each}"' for each in plain)


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonEnvironment:
    """The facts the choice depends on: the interpreter's folders, and programs on the PATH."""

    executable: Path
    prefix: Path
    base_prefix: Path
    which: Callable[[str], str | None]

    @property
    def programs(self) -> Path:
        """The folder with the interpreter's scripts."""
        return self.prefix / ("Scripts" if os.name == "nt" else "bin")


def current_environment(environment: Mapping[str, str]) -> PythonEnvironment:
    """Return the environment of this process, with the PATH of `environment`."""
    path = environment.get("PATH", os.defpath)
    return PythonEnvironment(
        executable=Path(sys.executable),
        prefix=Path(sys.prefix),
        base_prefix=Path(sys.base_prefix),
        which=lambda name: shutil.which(name, path=path),
    )


def find_launch(python: PythonEnvironment, *, portable: bool) -> Launch:
    """Return the command for a host's configuration.

    With `portable` a name is preferred to a path, because people on other machines read the file as
    well.
    """
    # From the least to the most permanent installation: the environments of uvx and pipx are thrown
    # away, so no path in them may be written down. Then a program that outlives this shell, and a
    # path that is valid on this machine only as the last resort.
    if "uv" in _cache_of(python.prefix) and python.which("uvx"):
        return Launch(
            command="uvx",
            arguments=(PROGRAM,),
            why="this is run by uvx, which makes a new environment each time",
        )

    if "pipx" in _cache_of(python.prefix) and python.which("pipx"):
        return Launch(
            command="pipx",
            arguments=("run", PROGRAM),
            why="this is run by pipx, which may delete its environment",
        )

    found = python.which(PROGRAM)
    in_environment = python.prefix != python.base_prefix
    if found is not None and Path(found).resolve().is_relative_to(python.prefix.resolve()):
        # In an active virtual environment the name is found only until it is deactivated. A link to
        # the program from another folder is permanent.
        only_while_active = in_environment and Path(found).parent == python.programs
        if not only_while_active:
            why = f"{PROGRAM} is installed permanently and found on the PATH"
            return Launch(command=PROGRAM if portable else found, why=why)

    scripts = [python.programs / f"{PROGRAM}{ending}" for ending in ("", *_WINDOWS_ENDINGS)]
    script = next((path for path in scripts if path.is_file()), None)
    if script is not None:
        kind = "the virtual environment" if in_environment else "the Python installation"
        return Launch(
            command=str(script),
            why=f"this is the program of {kind} in use, which is not on every PATH",
        )

    return Launch(
        command=str(python.executable),
        # Without -P, Python would run a folder of that name in the project instead of ours.
        arguments=("-P", "-m", _MODULE),
        why=f"the interpreter in use has no program {PROGRAM}; it runs the module instead",
    )


def is_ours(words: Sequence[str]) -> bool:
    """Return whether a command starts goop-mcp: the program, the module, or by uvx or pipx."""
    if not words:
        return False

    names = [_plain(word) for word in words]
    runs_module = any(pair == ("-m", _MODULE) for pair in pairwise(words))
    return names[0] == PROGRAM or runs_module or (names[0] in _RUNNERS and PROGRAM in names[1:])


def runs_throwaway(words: Sequence[str]) -> bool:
    """Return whether a command creates an environment for each start."""
    return bool(words) and _plain(words[0]) in _RUNNERS


def _cache_of(prefix: Path) -> str:
    """Return the tool that made a temporary environment at `prefix`, uv or pipx; empty for none."""
    parts = prefix.parts
    if "uv" in parts and any(
        part.startswith(("archive-v", "environments-v", "builds-v")) for part in parts
    ):
        return "uv"

    # `pipx run` creates its environments in a folder named .cache or pipx/.cache.
    return "pipx" if "pipx" in parts and ".cache" in parts else ""


def _plain(word: str) -> str:
    """Return a program's name without folder and ending, a package's without version and extras."""
    name = PurePath(word.replace("\\", "/")).name.lower()
    for ending in _WINDOWS_ENDINGS:
        name = name.removesuffix(ending)
    return name.partition("@")[0].partition("==")[0].partition("[")[0]


_RUNNERS = frozenset({"uvx", "uv", "pipx"})
