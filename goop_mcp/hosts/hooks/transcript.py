"""Read the transcript of an agent: how it ended, and what it did.

The file is untrusted: it may be of any size, a pipe, or still being written.
"""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from goop_mcp.evidence import readers
from goop_mcp.evidence.activity import NO_ACTIVITY
from goop_mcp.evidence.evidence import Evidence
from goop_mcp.evidence.readers.claude_code import HOST
from goop_mcp.evidence.readers.endings import Ending, read_ending
from goop_mcp.services.small_files import read_end
from goop_mcp.services.transcripts import (
    LATE_SECONDS,
    SECOND_LOOK,
    read_activity,
    wait_for_file,
)

if TYPE_CHECKING:
    from goop_mcp.services.stop_hooks.task_bases import TaskBase

__all__ = ["ending_of", "ends_with", "observe"]

_MOST_BYTES = 8 * 1024 * 1024


def observe(
    session: Mapping[str, object] | None,
    path: str | None,
    report: str | None,
    *,
    host: str = HOST,
    base: "TaskBase | None",
) -> Evidence:
    """Return what the agent did until its `report`, from the session of OpenCode or else a file.

    `host` is "claude-code" or "codex", which wrote the file at `path`. `base` is what
    the agent began with, None if unknown.
    """
    if session is not None:
        activity = readers.opencode.read_opencode(session, report=report)
    else:
        activity = read_activity(path, report, host=host) if path else NO_ACTIVITY

    if base is None:
        return Evidence(activity=activity)
    return Evidence(activity=activity, base=base.commit, changed=base.changed, began=base.began)


def ending_of(
    session: Mapping[str, object] | None,
    path: str | None,
    *,
    host: str,
    patient: bool,
    last: str = "",
) -> Ending | None:
    """Return how the agent ended, from the session of OpenCode or else the transcript at `path`.

    None where neither holds it: Codex writes files of another form. A host may write the last lines
    a little later than it sends the event: with `patient` this waits for them, at most half a
    second, and looks once more for a file that is not there. `last` is how the last message ends,
    where that is known. Raises OSError.
    """
    if session is not None:
        return Ending(stop_reason=readers.opencode.stop_word_of_session(session))
    if not path or host != HOST:
        return None

    if patient and not last:
        wait_for_file(path)

    give_up = time.monotonic() + (LATE_SECONDS if patient else 0)
    while True:
        ending = read_ending(read_end(path, most=_MOST_BYTES))
        has_reply = ending.handed_back is not None or (ending.message and ends_with(ending, last))
        if has_reply or time.monotonic() >= give_up:
            return ending
        time.sleep(SECOND_LOOK)


def ends_with(ending: Ending, last: str) -> bool:
    """Return whether `last` is the end of the last message, as hosts cut it, or all of it."""
    return ending.message.rstrip().endswith(last.strip())
