"""HANDOFF.md, from which the next session starts: write it as a whole, read it tolerantly."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from goop_mcp.messages.quoting import cell, code, inert, line, paragraph
from goop_mcp.validation.findings import counted_noun
from goop_mcp.workspace.documents.markdown import Line, Section, fields, items, prose, read_markdown
from goop_mcp.workspace.documents.status_markers import without_checkbox

__all__ = [
    "NOTES_TITLE",
    "DoneTask",
    "HandoffCommit",
    "NextTask",
    "SessionHandoff",
    "command_in",
    "handoff_text",
    "read_handoff",
]

_SHA = re.compile(r"`([0-9a-fA-F]{7,40})`")
_COMMAND = re.compile(r"/goop-[a-z-]{1,40}")
_QUOTED = re.compile(r"`([^`]{1,1000})`")
_TASK_IN_ITEM = re.compile(r"^(?:[✓✅] ?)?(.*?)(?:[ ]\(`[0-9a-fA-F]{7,40}`\))?$")
# An object that a reader of replies would accept as an envelope.
_JSON_OBJECT = re.compile(r"\{(?=\s*[\"'])")
_MOST_LISTED = 50
_MOST_CLAIMS = 5
_CLAIMED_ONLY = " · claimed only: "

NOTES_TITLE: Final = "Notes From People"
"""The heading of each text that people added to an earlier handoff."""
_NONE = "None"
_CHECKLIST = (
    "Call `project_status`, or run `goop-mcp status`: where it differs, the project has gone on"
    " since this was written, and what waits for a person stands there",
    "Read the files to read first, and `.goopspec/PROJECT_KNOWLEDGE_BASE.md`, if it exists",
    "Search memory for the task at hand",
    "Run the command to run",
)
_CHECKLIST_OF_REPORTS = ("Search memory for the task at hand", "Read the files to read first")


@dataclass(frozen=True, slots=True)
class DoneTask:
    """A completed task: its name, the commit's sha or None, and what its agent only claims.

    `claimed` are claims that nobody verified. In the text they follow the task, at most 5 of them;
    they are for the reader, and reading the text leaves them out.
    """

    name: str
    commit: str | None = None
    claimed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HandoffCommit:
    """A commit: its sha and the first line of its message."""

    sha: str
    subject: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NextTask:
    """The next task; None and empty parts are unknown."""

    task: str
    files: tuple[str, ...] = ()
    action: str | None = None
    verify: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionHandoff:
    """A session handoff.

    `generated` is ISO 8601. `phase` is empty where no project has begun. `spec_locked` is None
    if unknown; wave and task are texts. `notes` are texts of people, with their own lines.
    """

    generated: str
    phase: str
    session: str | None = None
    completed: tuple[DoneTask, ...] = ()
    outcomes: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    spec_locked: bool | None = None
    wave: str | None = None
    task: str | None = None
    files_modified: tuple[str, ...] = ()
    commits: tuple[HandoffCommit, ...] = ()
    command: str | None = None
    files_to_read: tuple[str, ...] = ()
    context: str = ""
    next_task: NextTask | None = None
    blockers: tuple[str, ...] = ()
    gotchas: tuple[str, ...] = ()
    pending_decisions: tuple[str, ...] = ()
    memories: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def handoff_text(handoff: SessionHandoff) -> str:
    """Return the text of HANDOFF.md, without the optional sections that have nothing to say.

    Without a phase, what only the life of a project has is left out: position and command. Where
    nothing is a statement, such as no decision, the text is "None". Each text of an agent is put on
    one line and cannot begin a heading, a tag, an image or an envelope.
    """
    head = [
        ("Generated", handoff.generated),
        *([("Phase", handoff.phase)] if handoff.phase else []),
        *([("Session", handoff.session)] if handoff.session else []),
    ]
    checklist = _CHECKLIST if handoff.phase else _CHECKLIST_OF_REPORTS
    warnings = [
        "## Warnings & Blockers",
        _section("### Active Blockers", _texts(handoff.blockers)),
        *_optional("### Gotchas Discovered", _texts(handoff.gotchas)),
        _section("### Pending Decisions", _texts(handoff.pending_decisions)),
    ]
    parts = [
        _section(
            "# Session Handoff", "\n".join(f"**{name}:** {line(text)}" for name, text in head)
        ),
        _accomplished(handoff),
        *_state(handoff),
        _instructions(handoff),
        "\n\n".join(warnings),
        *_optional("## Memory Saved", _texts(handoff.memories)),
        _section("## Resume Checklist", "\n".join(f"- [ ] {step}" for step in checklist)),
    ]
    document = "\n\n---\n\n".join(parts) + "\n"
    # As a note that was added to the handoff before this one is shown.
    document += "".join(f"\n## {NOTES_TITLE}\n\n{note.strip()}\n" for note in handoff.notes)

    return _JSON_OBJECT.sub("❴", inert(document))


def _accomplished(handoff: SessionHandoff) -> str:
    done = []
    for each in handoff.completed:
        text = f"✓ {line(each.name)}" + (f" (`{code(each.commit)}`)" if each.commit else "")
        # The next session would otherwise take "tests passed" for something that somebody saw.
        if each.claimed:
            more = len(each.claimed) - _MOST_CLAIMS
            text += _CLAIMED_ONLY + ", ".join(map(line, each.claimed[:_MOST_CLAIMS]))
            text += f" and {more} more" if more > 0 else ""

        done.append(text)

    return "\n\n".join(
        [
            "## Accomplished This Session",
            _section("### Completed Tasks", _bullets(done)),
            *_optional("### Key Outcomes", _texts(handoff.outcomes)),
            _section("### Decisions Made", _texts(handoff.decisions)),
        ]
    )


def _state(handoff: SessionHandoff) -> list[str]:
    locked = {True: "🔒 Yes", False: "🔓 No", None: "Unknown"}[handoff.spec_locked]
    rows = [
        ("Phase", handoff.phase),
        ("Spec Locked", locked),
        ("Wave", handoff.wave),
        ("Task", handoff.task),
    ]
    table = [
        "| Attribute | Value |",
        "|---|---|",
        *(f"| {name} | {cell(text or '–')} |" for name, text in rows),
    ]

    position = [_section("### Workflow Position", "\n".join(table))] if handoff.phase else []
    parts = [
        *position,
        *_optional(
            "### Files Modified",
            _bullets([f"`{code(path)}`" for path in handoff.files_modified]),
        ),
        *_optional(
            "### Commits Made",
            _bullets([f"`{code(each.sha)}` {line(each.subject)}" for each in handoff.commits]),
        ),
    ]
    return ["\n\n".join(["## Current State", *parts])] if parts else []


def _instructions(handoff: SessionHandoff) -> str:
    command = f"`{code(handoff.command)}`" if handoff.command else _NONE
    read_first = [
        f"{number}. `{code(path)}`" for number, path in enumerate(handoff.files_to_read, start=1)
    ]

    # Only what is known of the task has a row.
    task, next_task = handoff.next_task, _NONE
    if task is not None:
        rows = [
            ("Task", line(task.task)),
            ("Files", ", ".join(f"`{code(path)}`" for path in task.files)),
            ("Action", line(task.action) if task.action else ""),
            ("Verify", line(task.verify) if task.verify else ""),
        ]
        next_task = "\n".join(f"- **{name}:** {text}" for name, text in rows if text)

    # A caller may name a command also where no project has begun.
    shown = [_section("### Command to Run", command)] if handoff.phase or handoff.command else []
    return "\n\n".join(
        [
            "## Next Session Instructions",
            *shown,
            _section("### Files to Read First", "\n".join(read_first[:_MOST_LISTED]) or _NONE),
            _section(
                "### Context Summary",
                paragraph(handoff.context) if handoff.context.strip() else _NONE,
            ),
            _section("### Immediate Next Task", next_task),
        ]
    )


def _section(heading: str, body: str) -> str:
    return f"{heading}\n\n{body}"


def _optional(heading: str, body: str) -> list[str]:
    return [] if body == _NONE else [_section(heading, body)]


def _texts(texts: Sequence[str]) -> str:
    return _bullets([paragraph(text) for text in texts])


def _bullets(texts: Sequence[str]) -> str:
    # The newest are last, and matter most to the one who goes on.
    listed = [f"- {text}" for text in texts[-_MOST_LISTED:]]
    if len(texts) > _MOST_LISTED:
        listed.insert(0, f"- {counted_noun(len(texts) - _MOST_LISTED, 'earlier one')}")
    return "\n".join(listed) or _NONE


def command_in(text: str) -> str | None:
    """Return the first /goop command in `text` without its arguments, None if there is none."""
    match = _COMMAND.search(text)
    return match[0] if match else None


def read_handoff(text: str) -> SessionHandoff:
    """Read HANDOFF.md tolerantly: any order, any case, missing parts. Never raises."""
    document = read_markdown(text)
    head = next((section for section in document.walk() if section.level == 1), document)
    found = fields([*document.lines, *head.lines])
    position = fields(_lines(document, "workflow position", "current state"))
    command = _lines(document, "command to run", "next session instructions")
    context = prose(_lines(document, "context summary")).removeprefix("\\")

    # This program writes an icon before the word; people write only the word.
    lock = position.get("spec locked", "").lower()
    locked = True if "🔒" in lock or lock.startswith(("yes", "true", "locked")) else None
    if "🔓" in lock or lock.startswith(("no", "false", "unlocked")):
        locked = False

    return SessionHandoff(
        generated=found.get("generated", ""),
        phase=(found.get("phase") or position.get("phase") or "").lower(),
        session=_known(found.get("session")),
        completed=tuple(map(_done_task, _items(document, "completed tasks"))),
        outcomes=_items(document, "key outcomes"),
        decisions=_items(document, "decisions made"),
        spec_locked=locked,
        wave=_known(position.get("wave")),
        task=_known(position.get("task")),
        files_modified=tuple(item.strip("`") for item in _items(document, "files modified")),
        commits=tuple(
            HandoffCommit(sha[1], _SHA.sub("", item).strip())
            if (sha := _SHA.search(item))
            else HandoffCommit("", item)
            for item in _items(document, "commits made")
        ),
        command=command_in(" ".join(each.text for each in command)),
        files_to_read=tuple(
            quoted[1] if (quoted := _QUOTED.search(item)) else item
            for item in _items(document, "files to read first", "files to read")
        ),
        context=context if _known(context) else "",
        next_task=_read_next_task(document),
        blockers=_items(document, "active blockers"),
        gotchas=_items(document, "gotchas discovered", "gotchas"),
        pending_decisions=_items(document, "pending decisions"),
        memories=_items(document, "memory saved"),
    )


def _lines(document: Section, *titles: str) -> tuple[Line, ...]:
    section = document.find(*titles)
    return tuple(section.all_lines()) if section is not None else ()


def _items(document: Section, *titles: str) -> tuple[str, ...]:
    listed = (without_checkbox(item) for item in items(_lines(document, *titles)))
    # The backslash keeps Markdown from reading the text of an item as markup; it was added when the
    # item was written.
    return tuple(item.removeprefix("\\") for item in listed if _known(item) is not None)


def _done_task(item: str) -> DoneTask:
    # A claim may name a commit too, which is not that of the task.
    task, _, _ = item.partition(_CLAIMED_ONLY)
    sha = _SHA.search(task)
    match = _TASK_IN_ITEM.match(task)
    return DoneTask(match[1] if match else task, sha[1] if sha else None)


def _read_next_task(document: Section) -> NextTask | None:
    lines = _lines(document, "immediate next task")
    found = fields(lines)
    task = _known(found.get("task")) or _known(prose(lines))
    if task is None:
        return None

    files = tuple(
        name.strip(" `") for name in found.get("files", "").split(",") if name.strip(" `")
    )

    return NextTask(
        task=task,
        files=files,
        action=_known(found.get("action")),
        verify=_known(found.get("verify")),
    )


def _known(text: str | None) -> str | None:
    return (
        None
        if text is None or text.strip().lower() in ("", "none", "n/a", "–", "-", "unknown")
        else text
    )
