"""What `goop-mcp run` is to do, read from its arguments without the library of the command line.

A person or an agent waits for the command, so that what is loaded before it starts costs them time.
This module loads next to nothing before git looks for the repository; the rest is loaded while git
and the command run.
"""

import _thread
import gc
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple

from goop_mcp import recording, services, store
from goop_mcp.errors import GoopError
from goop_mcp.recording.git_calls import asked_git

if TYPE_CHECKING:
    from goop_mcp.recording.commands import RunRequest

__all__ = [
    "LONGEST_NAME",
    "MOST_SECONDS",
    "RunArguments",
    "exit_at_signals",
    "is_name",
    "main",
    "named_folder",
    "read_arguments",
]

LONGEST_NAME: Final = 60
MOST_SECONDS: Final = 24 * 3600.0

_INTERRUPTED: Final = 130
_SIGNALLED: Final = 128
# Longer than it takes to end git and to remove what was written.
_AGAIN_SECONDS: Final = 2.0
_OPTIONS: Final = {
    "--name": "name",
    "--junit": "junit",
    "--ctrf": "ctrf",
    "--tap": "tap",
    "--coverage": "coverage",
    "--timeout": "timeout",
    "--project": "project",
    "--database": "database",
    "--project-id": "project_id",
}
# What a run needs once its command has ended, in the order of need.
_NEEDED_LATER: Final = (
    "goop_mcp.recording.describing",
    "shutil",
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
    tap: str | None = None
    coverage: str | None = None
    timeout: float | None = None
    project: str | None = None
    database: str | None = None
    project_id: str | None = None


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


def named_folder(option: str | None) -> str | None:
    """Return the project folder that an option or the environment names, None if none does."""
    environment = os.environ
    return option or environment.get("GOOP_PROJECT_DIR") or environment.get("CLAUDE_PROJECT_DIR")


def main(arguments: Sequence[str], *, before: object) -> int | None:
    """Do what `arguments` say; return the exit code, None if the command line has to answer.

    `before` is the handler of interrupts that the process had until now.
    """
    read = read_arguments(arguments)
    if read is None:
        return None

    if signal.getsignal(signal.SIGINT) is before:
        # From here on an interrupt has to end what was started, and to remove temporary files.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    exit_at_signals()
    git = None
    try:
        git = asked_git(named_folder(read.project) or os.curdir)
        return services.run_check.run_recorded(read, meanwhile=_load, git=git)
    except GoopError:
        # Nothing was run: the command line finds the same, and says it to a person.
        return None
    except (KeyboardInterrupt, SystemExit) as stopped:
        return int(stopped.code or 0) if isinstance(stopped, SystemExit) else _INTERRUPTED
    finally:
        # It may wait for a file that never ends, where nothing was run that would end it.
        if git is not None:
            git.end()


def exit_at_signals() -> None:
    """Raise SystemExit at what a host or a terminal sends to end this process.

    Otherwise git, which is in a session of its own, would be left: it may wait for ever, for a file
    that is a pipe. While the command runs it gets these signals instead.
    """

    def stop(number: int, _frame: object) -> None:
        # Python drops an exception that is raised within a callback, such as one of an import: the
        # signal comes again then, here or to the command that runs by that time.
        if hasattr(signal, "setitimer"):
            signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), number))
            signal.setitimer(signal.ITIMER_REAL, _AGAIN_SECONDS)
        raise SystemExit(_SIGNALLED + number)

    for name in ("SIGTERM", "SIGHUP", "SIGQUIT"):
        number = getattr(signal, name, None)
        # `nohup` has one ignored, and that stays.
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, stop)


def _load(request: "RunRequest") -> None:
    """Load in a thread what is needed when the command has ended, while this one waits for it."""
    sys.setswitchinterval(_SWITCH_SECONDS)

    def load() -> None:
        try:
            for name in _NEEDED_LATER:
                import_module(name)
            # Opening a file compares its tables with those that the migrations make, which are
            # found once in a process.
            store.sqlite.schema.find_foreign_objects({}, store.migrations.load_migrations("sqlite"))
            recording.describing.prepare(request)
        except ImportError:
            # Whoever needs it loads it again, and shows the error.
            return
        finally:
            # Collections during imports only take time; the command may run for hours.
            gc.enable()

    _thread.start_new_thread(load, ())
