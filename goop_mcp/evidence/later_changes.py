"""Whether files changed after a run, so that its result is that of other code."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from goop_mcp.evidence.attribution import Run
from goop_mcp.evidence.history import TaskHistory, file_name
from goop_mcp.evidence.runners import word_set

__all__ = ["Change", "change_after"]

# Files in which programs also write their results.
_DATA: Final = word_set(".cfg .ini .json .toml .xml .yaml .yml")


class Change(NamedTuple):
    """A change after a run, of the file `path`, "" if it is not known, at a position of its own.

    `certain` is False where a shell line may have changed nothing, or nothing of the project.
    """

    path: str
    position: int
    certain: bool

    @property
    def name(self) -> str:
        """The name of the file, without its folders."""
        return file_name(self.path)


def change_after(run: Run, history: TaskHistory, *, current: bool = True) -> Change | None:
    """Return a change of a file on which `run` depends that came after it, a certain one first.

    Of this task, or of the earlier ones of the agent.
    """
    changes = list(_changes(run, history, current=current))
    return next((each for each in changes if each.certain), changes[0] if changes else None)


def _changes(run: Run, history: TaskHistory, *, current: bool) -> Iterator[Change]:
    for file in history.activity.files:
        later = file.position > run.position and file.ok and file.current is current
        if later and _ending(file.path) in run.sources:
            yield Change(file.path, file.position, certain=True)

    for position, written in history.written_after(run, current=current):
        ending = _ending(written.path)
        if not run.sources or (written.path and ending not in run.sources):
            continue
        changed: bool | None = written.changed
        if written.reached and not changed:
            # The line may have changed nothing: what it names is compared.
            changed = history.is_changed_since(run, written.path)
            if changed is False:
                continue
        certain = bool(changed) and written.reached and ending not in _DATA
        yield Change(written.path, position, certain=certain)


def _ending(path: str) -> str:
    name = file_name(path)
    return name[name.rfind(".") :] if "." in name else ""
