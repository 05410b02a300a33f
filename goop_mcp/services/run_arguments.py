"""What `goop-mcp run` is to do, read from its arguments without the library of the command line.

A person or an agent waits for the command, so that what is loaded before it starts costs them time.
This module loads next to nothing; the rest is loaded in a thread while git and the command run.
"""

import _thread
import gc
import os
import signal
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Final, NamedTuple

from goop_mcp import services, store
from goop_mcp.errors import GoopError
from goop_mcp.recording.commands import RunRequest
from goop_mcp.recording.tree_digest import folder_of_project

__all__ = [
    "LONGEST_NAME",
    "MOST_SECONDS",
    "ProjectFolderError",
    "RunArguments",
    "is_name",
    "main",
    "project_of",
    "read_arguments",
    "run_recorded",
]

LONGEST_NAME: Final = 60
MOST_SECONDS: Final = 24 * 3600.0

_INTERRUPTED: Final = 130
_OPTIONS: Final = {
    "--name": "name",
    "--junit": "junit",
    "--ctrf": "ctrf",
    "--timeout": "timeout",
    "--project": "project",
    "--database": "database",
    "--project-id": "project_id",
}
# What a run needs once its command has ended, in the order of need.
_NEEDED_LATER: Final = (
    "goop_mcp.recording.descendants",
    "goop_mcp.recording.describing",
    "goop_mcp.services.recorded_runs",
    "goop_mcp.store.sqlite",
)
# The thread that loads must not keep the one that reads the output of git and of the command.
_SWITCH_SECONDS: Final = 0.0005


class RunArguments(NamedTuple):
    """The arguments; None where one was not given.

    `words` are the program and its arguments or, if `by_name`, the name of one named command.
    `timeout` is in seconds.
    """

    words: tuple[str, ...]
    by_name: bool = False
    name: str | None = None
    junit: str | None = None
    ctrf: str | None = None
    timeout: float | None = None
    project: str | None = None
    database: str | None = None
    project_id: str | None = None


class ProjectFolderError(GoopError, ValueError):
    """Raised when the named project is no folder; the text says what to do."""


def read_arguments(arguments: Sequence[str]) -> RunArguments | None:
    """Return what the arguments after `run` say, None for a call that needs an explanation.

    Those are everything that the command line answers with its help, an error or a question.
    """
    given: dict[str, str] = {}
    rest = list(arguments)
    while rest and rest[0].startswith("--") and rest[0] != "--":
        name, equals, value = rest.pop(0).partition("=")
        if name not in _OPTIONS or not (equals or rest):
            return None
        given[_OPTIONS[name]] = value if equals else rest.pop(0)

    is_command = rest[:1] == ["--"]
    words = tuple(rest[1:] if is_command else rest)
    # A program without the two dashes, or an option that is none: the command line knows.
    if not words or (not is_command and (len(words) > 1 or "name" in given or words[0][:1] == "-")):
        return None
    if "name" in given and not is_name(given["name"]):
        return None

    try:
        timeout = float(given.pop("timeout")) if "timeout" in given else None
    except ValueError:
        return None
    # Not-a-number fails both comparisons.
    if timeout is not None and not 0 < timeout <= MOST_SECONDS:
        return None

    return RunArguments(words, by_name=not is_command, timeout=timeout, **given)


def is_name(text: str) -> bool:
    """Return whether a check may be called `text`."""
    return bool(text.strip()) and text.isprintable() and len(text) <= LONGEST_NAME


def main(arguments: Sequence[str], *, before: object) -> int | None:
    """Do what `arguments` say; return the exit code, None if the command line has to answer.

    `before` is the handler of interrupts that the process had until now.
    """
    read = read_arguments(arguments)
    if read is None:
        return None

    gc.enable()
    if signal.getsignal(signal.SIGINT) is before:
        # From here on an interrupt has to end what was started, and to remove temporary files.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return run_recorded(read, meanwhile=_load)
    except GoopError:
        # Nothing was run: the command line finds the same, and says it to a person.
        return None
    except KeyboardInterrupt:
        return _INTERRUPTED


def _load() -> None:
    """Load in a thread what is needed when the command has ended, while this one waits for it."""
    sys.setswitchinterval(_SWITCH_SECONDS)

    def load() -> None:
        try:
            for name in _NEEDED_LATER:
                import_module(name)
            # Opening a file compares its tables with those that the migrations make, which are
            # found once in a process.
            store.sqlite.schema.find_foreign_objects({}, store.migrations.load_migrations("sqlite"))
        except ImportError:
            # Whoever needs it loads it again, and shows the error.
            return

    _thread.start_new_thread(load, ())


def project_of(named: str | None) -> Path:
    """Return the folder that `named` or the environment names; raise ProjectFolderError."""
    environment = os.environ
    named = named or environment.get("GOOP_PROJECT_DIR") or environment.get("CLAUDE_PROJECT_DIR")
    if not named:
        return folder_of_project(Path.cwd())
    if not Path(named).is_dir():
        raise ProjectFolderError(f"{named!r} is not a folder; name the project with --project")

    return Path(named)


def run_recorded(arguments: RunArguments, *, meanwhile: Callable[[], None] = lambda: None) -> int:
    """Run the command and record it; write the last line, and return the exit code of the process.

    `meanwhile` is called once the command runs, and must return at once.
    Raises GoopError where nothing was run: no such folder, an untrusted file, no such check.
    """
    folder = project_of(arguments.project)
    files = ((arguments.junit, "junit"), (arguments.ctrf, "ctrf"))
    results = tuple((Path(file).absolute(), kind) for file, kind in files if file)
    if arguments.by_name:
        checks = services.named_checks
        request = checks.request_of(folder, checks.trusted_check(folder, arguments.words[0]))
        request = request._replace(
            timeout=arguments.timeout or request.timeout, results=results or request.results
        )
    else:
        request = RunRequest(
            argv=arguments.words,
            project=folder,
            cwd=Path.cwd(),
            name=(arguments.name or "").strip(),
            timeout=arguments.timeout,
            results=results,
        )

    ended = services.run_check.run_check(
        request,
        database=arguments.database,
        project_id=arguments.project_id,
        meanwhile=meanwhile,
    )
    # After the output of the command: both go through the same descriptors.
    sys.stderr.write(f"{services.run_check.summary_line(ended)}\n")
    sys.stderr.flush()

    return ended.exit_code
