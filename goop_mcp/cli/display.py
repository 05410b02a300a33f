"""Show a run while it goes on: lines redrawn in place, or a line for each event in a pipe."""

import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Final

import click

from goop_mcp.cli.rendering.styled import cut
from goop_mcp.cli.streams import emit, show, terminal_width, wants_colour, without_controls
from goop_mcp.delegation.run_views import RunView, TaskView, rejection_of
from goop_mcp.store.graph_rows import GraphEventRow
from goop_mcp.validation.findings import excerpt

__all__ = ["event_json", "event_line", "leave_display", "run_lines", "show_run_lines", "shown_live"]

_ICONS: Final = {
    "waiting": "·",
    "ready": "·",
    "running": "▶",
    "retrying": "▶",
    "input_required": "?",
    "accepted": "✓",
    "failed": "✗",
    "skipped": "-",
    "cancelled": "-",
}
_COLORS: Final = {
    "running": "blue",
    "retrying": "blue",
    "input_required": "yellow",
    "accepted": "green",
    "failed": "red",
}
_SHOWN_EVENTS: Final = (
    "state",
    "answered",
    "added",
    "decided",
    "late",
    "lease_lost",
    "kept",
    "not_recorded",
)
_REDRAWN_EVERY: Final = 0.25
"""Seconds."""
_HIDE_CURSOR, _SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"

OnEvent = Callable[[GraphEventRow], None]


def run_lines(view: RunView, *, now: datetime | None = None) -> list[str]:
    """Return one line for each task, in columns, and a last one for the run."""
    tasks = [*view.tasks.values()]
    widths = (
        max((len(each.id) for each in tasks), default=0),
        max((len(each.agent or "person") for each in tasks), default=0),
        max((len(_state(each)) for each in tasks), default=0),
    )
    lines = [
        f"{_ICONS.get(each.state, ' ')} {each.id:{widths[0]}}  {each.agent or 'person':{widths[1]}}"
        f"  {_state(each):{widths[2]}}  {_details(each, now)}".rstrip()
        for each in tasks
    ]
    ended = sum(each.state in ("accepted", "failed", "skipped", "cancelled") for each in tasks)
    tokens = sum(each.tokens or 0 for each in tasks)
    spent = f", {tokens:,} tokens" if tokens else ""
    lines.append(f"{view.id}: {view.words}, {ended} of {len(tasks)} ended{spent}")

    return lines


def show_run_lines(view: RunView) -> None:
    """Print one line for each task, in the colors of their states where a terminal has colors."""
    lines = run_lines(view)
    colors = [_COLORS.get(each.state) for each in view.tasks.values()]
    styled = [
        click.style(line, fg=color) for line, color in zip(lines, [*colors, None], strict=True)
    ]
    show("\n".join(styled) + "\n", colour=wants_colour("auto"))


def event_json(event: GraphEventRow) -> str:
    """Return an event as one line of JSON."""
    shown = {
        "run": event.run,
        "seq": event.seq,
        "at": event.at,
        "task": event.task,
        "what": event.what,
        "data": json.loads(event.data),
    }
    return json.dumps(shown, ensure_ascii=False)


@contextmanager
def shown_live(view: RunView, form: str) -> Iterator[OnEvent]:
    """Yield what each event is given to; `form` is "text" or "jsonl".

    Events that `view` has seen are not shown again, as those before a run is resumed.
    """
    if form == "jsonl":

        def write(event: GraphEventRow) -> None:
            if event.seq <= view.seq:
                return
            view.follow([event])
            emit(f"{event_json(event)}\n")

        yield write
    elif terminal_width() is None or os.environ.get("TERM") == "dumb":

        def print_line(event: GraphEventRow) -> None:
            if event.seq <= view.seq:
                return
            view.follow([event])
            if (line := event_line(event)) is not None:
                show(f"{line}\n")

        yield print_line
    else:
        yield from _redrawn(view)


def _redrawn(view: RunView) -> Iterator[OnEvent]:
    """Draw the run over what was drawn before; at the end it is erased, the final lines follow."""
    coloured = wants_colour("auto")
    drawing, ended = threading.Lock(), threading.Event()
    drawn = 0

    def draw() -> None:
        nonlocal drawn
        lines = _on_screen(view, coloured=coloured)
        show(_over(drawn) + "\n".join(lines), colour=True)
        drawn = len(lines)

    def draw_again() -> None:
        # So that the seconds of running tasks go on. If the output is gone, the next event says so.
        with suppress(click.ClickException):
            while not ended.wait(_REDRAWN_EVERY):
                with drawing:
                    draw()

    def redraw(event: GraphEventRow) -> None:
        with drawing:
            if event.seq > view.seq:
                view.follow([event])
                draw()

    thread = threading.Thread(target=draw_again, name="goop-mcp display", daemon=True)
    show(_HIDE_CURSOR, colour=True)
    try:
        draw()
        thread.start()
        yield redraw
    finally:
        ended.set()
        if thread.ident is not None:
            thread.join()
        show(_over(drawn) + _SHOW_CURSOR, colour=True)


def leave_display() -> None:
    """Show the cursor again, for a process that ends in the middle of a display."""
    if terminal_width() is not None:
        show(f"\n{_SHOW_CURSOR}", colour=True)


def _on_screen(view: RunView, *, coloured: bool) -> list[str]:
    """Return the lines of the run that fit on the terminal; the last one is about the run."""
    size = shutil.get_terminal_size()
    *tasks, last = (
        cut(without_controls(line), size.columns) for line in run_lines(view, now=datetime.now(UTC))
    )
    room = max(size.lines - 1, 1)
    colors = [_COLORS.get(each.state) for each in view.tasks.values()]
    if coloured:
        tasks = [
            click.style(line, fg=color, dim=color is None)
            for line, color in zip(tasks, colors, strict=True)
        ]
        last = click.style(last, bold=True)
    if len(tasks) > room:
        tasks = [*tasks[: room - 1], f"… and {len(tasks) - room + 1} more"]

    return [*tasks, last]


def _over(lines: int) -> str:
    """Return what moves the cursor to the first of `lines` and erases them."""
    up = f"\x1b[{lines - 1}A" if lines > 1 else ""
    return f"\r{up}\x1b[J"


def _state(task: TaskView) -> str:
    return _words(task.state) + (f" ({_words(task.reason)})" if task.reason else "")


def _words(name: str) -> str:
    return name.replace("_", " ")


def _details(task: TaskView, now: datetime | None) -> str:
    seconds = task.seconds
    if task.since is not None and now is not None:
        seconds = max(seconds, (now - task.since).total_seconds())
    parts = [
        f"round {task.round + 1}" if task.round else "",
        f"attempt {task.attempt}/{max(task.most, task.attempt)}" if task.attempt else "",
        f"{seconds:.0f} s" if seconds >= 1 else "",
        f"{task.tokens:,} tokens" if task.tokens else "",
        # The message of a gate begins with its answer: it would stand there twice.
        f"decided: {excerpt(task.decision, 40)}"
        if task.decision and not task.message.startswith(task.decision)
        else "",
        excerpt(task.message, 200),
        f"last rejected: {excerpt(task.rejected, 120)}"
        if task.rejected and task.state in ("running", "retrying")
        else "",
        excerpt(task.kept, 200),
    ]
    return ", ".join(filter(None, parts))


def event_line(event: GraphEventRow) -> str | None:
    """Return one line for an event, None for one that says nothing to a person."""
    data = json.loads(event.data)
    if event.task is None:
        return f"{event.run}: {_words(data['state'])}" if event.what == "run" else None
    if event.what not in _SHOWN_EVENTS or (event.what == "state" and data["to"] == "ready"):
        return None
    if event.what == "state":
        why = excerpt(data.get("message") or _words(data.get("reason", "")), 200)
        return f"{event.task}: {_words(data['to'])}" + (f" ({why})" if why else "")
    if event.what == "answered":
        found = excerpt(rejection_of(data), 200)
        # That it is accepted follows as its state.
        attempt = f"{event.task}: attempt {data['attempt']}"
        return None if data.get("accepted") else f"{attempt} not accepted ({found})"

    if event.what == "kept":
        # It names a folder, whose path may be long, and after it what to do.
        return f"{event.task}: kept ({excerpt(data['message'], 1_000)})"
    if event.what == "not_recorded":
        # Of the present round where none is named.
        which = f"report of round {data['round'] + 1}" if "round" in data else "report"
        return f"{event.task}: {which} not recorded ({excerpt(data['message'], 200)})"
    if event.what == "lease_lost":
        return f"{event.task}: its runner is gone; another one goes on"

    # People count rounds from 1.
    data |= {"round": data["round"] + 1} if "round" in data else {}
    values = ", ".join(f"{name} {excerpt(str(value), 100)}" for name, value in data.items())
    return f"{event.task}: {_words(event.what)} ({values})"
