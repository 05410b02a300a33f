"""The block at the top of CHRONICLE.md that states where the work stands: write, find, read it.

It stands between two comments. The first names the revision that wrote the block and a digest of
its text, so that a block that people edited is recognised in the file itself, whichever database or
machine wrote it.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from goop_mcp.messages.quoting import code, inert, line, paragraph
from goop_mcp.workspace.documents.markdown import find_headings

__all__ = [
    "MOST_LISTED",
    "MOST_TASKS",
    "StateBlock",
    "StateBlockPlace",
    "find_state_block",
    "marked_state_block",
    "place_state_block",
    "state_block_text",
]

MOST_TASKS = 20
MOST_LISTED = 10
"""How many open tasks are listed, and how many entries of each other list."""

_START = re.compile(r"<!-- goop:state (\d{1,18}) ([0-9a-f]{16}) -->")
_LINE_END = re.compile(r"\r\n|\n|\r")
_NOW = "`goop-mcp status`, or `project_status` for an agent, shows what waits now"
_LONGEST = 300
# Nobody but a person can put more blocks into a chronicle, and the first few are enough to look at.
_MOST_LOOKED_AT = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class StateBlock:
    """Where the work stands; None is unknown and left out.

    `outcome` is that of a closed round. `wave` counts from 1, 0 before the first. `done` is how
    many tasks are done; `tasks` are the others, (id, name, status) in the order of the plan, with
    the statuses failed, blocked, open and pending. `waiting` is what waits for a person,
    `decisions` what was decided in the round, newest first.
    """

    phase: str | None = None
    round: int | None = None
    outcome: str | None = None
    wave: int | None = None
    waves: int | None = None
    done: int = 0
    tasks: Sequence[tuple[str, str, str]] = ()
    blockers: Sequence[str] = ()
    waiting: Sequence[str] = ()
    decisions: Sequence[str] = ()
    next_command: str | None = None


@dataclass(frozen=True, slots=True)
class StateBlockPlace:
    """A block in a document, from `start` to `end`, marks included; `text` is between the marks.

    `is_edited` is whether the text is not the one that was written, because people changed it.
    """

    start: int
    end: int
    text: str
    is_edited: bool


def state_block_text(state: StateBlock) -> str:
    """Return the Markdown of `state` without its marks and without a final line end.

    At most 20 open tasks and 10 entries of each other list are shown, the others counted.
    """
    total = state.done + len(state.tasks)
    rows = [
        ("Current Phase", line(state.phase) if state.phase else None),
        (
            "Round",
            state.round
            and f"{state.round}" + (f" (closed: {state.outcome})" if state.outcome else ""),
        ),
        ("Wave", f"{state.wave or 0}/{state.waves}" if state.waves else None),
        ("Tasks", f"{state.done}/{total}" if total else None),
        ("Next Step", f"`{code(state.next_command)}`" if state.next_command else None),
        # What runs ask, and which have stopped, changes without a change of the project.
        ("Waiting", f"{len(state.waiting) or 'nothing'} when this was written; {_NOW}"),
    ]
    parts = ["\n".join(f"- **{name}:** {value}" for name, value in rows if value is not None)]
    lists: Sequence[tuple[str, int, Sequence[str | tuple[str, str, str]]]] = (
        ("Open Tasks", MOST_TASKS, state.tasks),
        ("Active Blockers", MOST_LISTED, state.blockers),
        ("Waiting for a Person", MOST_LISTED, state.waiting),
        ("Decisions Made", MOST_LISTED, state.decisions),
    )
    for title, most, entries in lists:
        if entries:
            more = [f"… and {len(entries) - most} more"] if len(entries) > most else []
            items = "\n".join(f"- {text}" for text in [*map(_entry, entries[:most]), *more])
            parts.append(f"**{title}:**\n\n{items}")

    return inert("\n\n".join(filter(None, parts)))


def _entry(entry: str | tuple[str, str, str]) -> str:
    if isinstance(entry, str):
        return paragraph(line(entry, longest=_LONGEST))
    id, name, status = entry
    return f"{line(f'{id} {name}', longest=_LONGEST)}: {line(status)}"


def marked_state_block(text: str, revision: int) -> str:
    """Return the block of `text` between its marks, with line feeds."""
    start = f"<!-- goop:state {revision} {_digest(text)} -->"
    return f"{start}\n{text}\n{_end_mark(str(revision))}"


def find_state_block(document: str) -> StateBlockPlace | None:
    """Return the block in `document`, the first unedited one, else the first; None without any."""
    edited: StateBlockPlace | None = None
    for looked_at, mark in enumerate(_START.finditer(document)):
        if looked_at == _MOST_LOOKED_AT:
            break

        end_mark = _end_mark(mark[1])
        at = document.find(end_mark, mark.end())
        # Without its end the block reaches to nowhere: only the mark itself is known to be ours.
        inner = document[mark.end() : at] if at >= 0 else ""
        end = at + len(end_mark) if at >= 0 else mark.end()
        text = _LINE_END.sub("\n", inner).removeprefix("\n").removesuffix("\n")
        found = StateBlockPlace(mark.start(), end, text, is_edited=_digest(text) != mark[2])
        if not found.is_edited:
            return found
        edited = edited or found

    return edited


def place_state_block(document: str, block: str, *, line_end: str) -> str:
    """Return `document` with `block`, which has its marks, in place of the unedited one.

    Without one it is inserted below the title. Every other character stays.
    """
    own = block.replace("\n", line_end)
    found = find_state_block(document)
    if found is not None and not found.is_edited:
        return document[: found.start] + own + document[found.end :]

    gap = line_end * 2
    headings = find_headings(document)
    title = next((each for each in headings if each.level == 1), None)
    if title is not None:
        return document[: title.end] + gap + own + document[title.end :]

    # Before the first heading, since a document may begin with front matter.
    at = headings[0].start if headings else len(document)
    before = "" if at == 0 else gap if at == len(document) else ""
    after = gap if headings else line_end

    return document[:at] + before + own + after + document[at:]


def _end_mark(revision: str) -> str:
    return f"<!-- goop:end-state {revision} -->"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
