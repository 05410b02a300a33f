"""Messages in the visual style, one function a template (V-02 to V-15).

Every argument may hold an agent's words: each is put on one line and stays data.
"""

from collections.abc import Iterable, Sequence

from goop_mcp.messages import templates
from goop_mcp.messages.icons import StatusIcon, phase_label
from goop_mcp.messages.quoting import cell, code, line, paragraph
from goop_mcp.structs import DataStruct

__all__ = [
    "Choice",
    "Position",
    "TaskLine",
    "decision_required",
    "gate_blocked",
    "gate_passed",
    "no_project",
    "notice",
    "phase_complete",
    "phase_start",
    "progress",
    "session_handoff",
    "status_display",
    "success",
    "table",
    "warning",
]

_UNKNOWN = "–"
_MOST_ITEMS = 20
_LETTERS = 3


class Position(DataStruct, frozen=True):
    """A position within a total; None where it is unknown."""

    current: int | None = None
    total: int | None = None

    def __str__(self) -> str:
        """Return `2/3`, or a dash when both are unknown."""
        if self.current is None and self.total is None:
            return _UNKNOWN
        # One of both may be known: "2/–" says more than a dash.
        current, total = (_UNKNOWN if n is None else n for n in (self.current, self.total))
        return f"{current}/{total}"


NOWHERE = Position()


class TaskLine(DataStruct, frozen=True):
    """A task by its number (`2.3`; None for a task without one) and what it is about."""

    number: str | None
    description: str

    def __str__(self) -> str:
        """Return `Task 2.3: description` on one line."""
        return line(f"Task {self.number}: {self.description}" if self.number else self.description)


class Choice(DataStruct, frozen=True):
    """One way to go on, by its letter."""

    letter: str
    description: str


def phase_start(phase: str, description: str) -> str:
    """Return the message that a phase begins (V-08)."""
    return _message(phase, templates.NOTICE.replace("{content}", paragraph(description)))


def notice(context: str, *lines: str) -> str:
    """Return a message without a template: header, `lines` as paragraphs, divider (V-02)."""
    return _message(context, *(paragraph(each) for each in lines))


def table(
    context: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    lines: Sequence[str] = (),
) -> str:
    """Return a message with `lines` as paragraphs, and a table below them if it has rows (V-02)."""
    # Cells escape the bar, which would otherwise begin another column.
    body = [f"| {' | '.join(cell(each) for each in row)} |" for row in rows]
    head = [
        f"| {' | '.join(columns)} |",
        f"|{'|'.join('-' * (len(each) + 2) for each in columns)}|",
    ]

    return _message(
        context, *(paragraph(each) for each in lines), "\n".join([*head, *body]) if body else ""
    )


def success(text: str) -> str:
    """Return the success header with its message (V-04)."""
    return _message("Phase Complete", f"{StatusIcon.SUCCESS.value} {line(text)}")


def warning(reason: str, *, command: str | None = None, details: Sequence[str] = ()) -> str:
    """Return the header style of a blocked step, with ⚠️ (V-05).

    The result of a gate is `gate_blocked` (D-39).
    """
    return _blocked(StatusIcon.WARNING, reason, command, details)


def no_project(*, command: str) -> str:
    """Return that there is no project, with the command that creates it."""
    reason = "There is no project here yet."
    return _blocked(StatusIcon.WARNING, reason, command, (), context="No Project")


def gate_passed() -> str:
    """Return the message of a gate that is passed (V-09)."""
    return _message("Gate Check", templates.GATE_PASSED)


def gate_blocked(reason: str, *, command: str | None = None, details: Sequence[str] = ()) -> str:
    """Return the message of a gate that is closed, with ✗ and the command to run (V-10).

    `details` are listed under the reason, `command` is left out where there is nothing to run.
    """
    return _blocked(StatusIcon.BLOCKED, reason, command, details)


def progress(
    *,
    phase: str,
    wave: Position = NOWHERE,
    task: Position = NOWHERE,
    completed: Sequence[TaskLine] = (),
    in_progress: Sequence[TaskLine] = (),
    remarks: Sequence[str] = (),
) -> str:
    """Return where the work stands (V-11); a list without an entry is left out."""
    # Values of the program first, an agent's words last: none of them can hold a placeholder that
    # is filled in later.
    position = (
        templates.PROGRESS.replace("{wave}", str(wave))
        .replace("{task}", str(task))
        .replace("{phase}", cell(phase_label(phase)))
    )
    return _message(
        "Progress",
        position,
        _section("Completed", StatusIcon.COMPLETE, map(str, completed)),
        _section("In Progress", StatusIcon.PENDING, map(str, in_progress)),
        *_remarks(remarks),
    )


def phase_complete(
    phase: str, *, summary: str, next_command: str | None = None, remarks: Sequence[str] = ()
) -> str:
    """Return that a phase is finished, with what comes next (V-12)."""
    # The summary first: only the first "{phase}" is the template's own, whatever the summary says.
    text = templates.PHASE_COMPLETE.replace("{summary}", paragraph(summary)).replace(
        "{phase}", line(phase), 1
    )
    return _message("Phase Complete", text, *_remarks(remarks), _next_step(next_command))


def decision_required(
    context: str, options: Sequence[Choice] = (), *, question: str | None = None
) -> str:
    """Return what the user has to decide (V-13).

    Without options only the question stands, if there is one.
    """
    # Letters are cut too: an agent may send a sentence in their place.
    listed = [
        f"- **{line(each.letter, longest=_LETTERS)})** {line(each.description)}" for each in options
    ]
    return _message(
        "Decision Required",
        templates.DECISION_REQUIRED.replace("{context}", line(context), 1),
        "\n".join(["**Options:**", *listed]) if listed else "",
        paragraph(question) if question else "Which option?" if listed else "",
    )


def session_handoff(
    *,
    accomplished: Sequence[str],
    phase: str,
    spec_locked: bool | None,
    wave: Position = NOWHERE,
    next_command: str | None,
    remarks: Sequence[str] = (),
) -> str:
    """Return what the next session begins with (V-14).

    Without a command it says to start a new session only.
    """
    # Unknown is not unlocked, and must not read like it.
    spec = _UNKNOWN if spec_locked is None else "locked" if spec_locked else "unlocked"
    state = (
        templates.SESSION_HANDOFF.replace("{spec}", spec)
        .replace("{wave}", str(wave))
        .replace("{phase}", cell(phase_label(phase)))
    )
    start = "### To Continue\nStart a new session."
    if next_command:
        start = templates.TO_CONTINUE.replace("{command}", code(next_command))

    done = _section("Accomplished", StatusIcon.COMPLETE, accomplished)

    return _message("Session Handoff", done, state, *_remarks(remarks), start)


def status_display(
    *,
    project: str,
    interview_complete: bool,
    spec_locked: bool,
    accepted: bool,
    next_command: str | None = None,
    interview_skipped: bool = False,
) -> str:
    """Return the status of a project and its gates (V-15)."""
    # The name of the project last: it may hold anything, also "{lock}".
    text = (
        templates.STATUS_DISPLAY.replace(
            "{interview}",
            "✓ Skipped"
            if interview_skipped and not interview_complete
            else _done_or_pending(done=interview_complete),
        )
        .replace("{lock}", "🔒 Locked" if spec_locked else "🔓 Unlocked")
        .replace("{acceptance}", _done_or_pending(done=accepted))
        .replace("{project}", line(project))
    )
    return _message("Status", text, _next_step(next_command))


def _message(context: str, *parts: str) -> str:
    """Return header, parts and divider with a blank line between them; empty parts are left out."""
    return "\n\n".join([templates.HEADER + line(context), *filter(None, parts), templates.DIVIDER])


def _blocked(
    icon: StatusIcon,
    reason: str,
    command: str | None,
    details: Sequence[str],
    *,
    context: str = "Gate Blocked",
) -> str:
    # Replaced once: the reason may contain the same braces.
    head = templates.GATE_BLOCKED.replace("{icon}", icon.value, 1).replace(
        "{reason}", line(reason), 1
    )
    run = templates.RUN.replace("{command}", code(command)) if command else ""
    return _message(context, head, _bullets(StatusIcon.BLOCKED, details), run)


def _next_step(command: str | None) -> str:
    return templates.NEXT_STEP.replace("{command}", code(command)) if command else ""


def _section(title: str, icon: StatusIcon, items: Iterable[str]) -> str:
    bullets = _bullets(icon, items)
    return f"### {title}\n{bullets}" if bullets else ""


def _bullets(icon: StatusIcon, items: Iterable[str]) -> str:
    lines = [f"- {icon.value} {line(each)}" for each in items]
    if len(lines) > _MOST_ITEMS:
        # The number that is left out is shown: a list that ends silently looks complete.
        lines = [*lines[:_MOST_ITEMS], f"- {icon.value} … and {len(lines) - _MOST_ITEMS} more"]
    return "\n".join(lines)


def _remarks(remarks: Sequence[str]) -> list[str]:
    return [f"{StatusIcon.WARNING.value} {line(each)}" for each in remarks]


def _done_or_pending(*, done: bool) -> str:
    return "✓ Complete" if done else "⏳ Pending"
