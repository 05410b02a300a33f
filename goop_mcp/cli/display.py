"""Show a run while it goes on: lines redrawn in place, or a line for each event in a pipe."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Final

import click

from goop_mcp.cli.streams import emit, show, terminal_width, wants_colour
from goop_mcp.delegation.run_views import RunView, TaskView
from goop_mcp.store.graph_rows import GraphEventRow
from goop_mcp.validation.findings import excerpt

__all__ = ["event_json", "event_line", "run_lines", "show_run_lines", "shown_live"]

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
    lines.append(f"{view.id}: {_words(view.state)}, {ended} of {len(tasks)} ended{spent}")

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
    elif terminal_width() is None:

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
    # Slow to import, and only people at a terminal need it.
    from rich.console import Console  # noqa: PLC0415
    from rich.live import Live  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    def draw() -> Text:
        text = Text(no_wrap=True, overflow="ellipsis")
        lines = run_lines(view, now=datetime.now(UTC))
        for line, task in zip(lines, [*view.tasks.values(), None], strict=True):
            style = "bold" if task is None else _COLORS.get(task.state, "dim")
            text.append(f"{line}\n" if task is not None else line, style=style)
        return text

    # Live draws by itself a few times a second, so that the seconds of running tasks go on. At the
    # end it takes its lines away: the final ones follow.
    with Live(console=Console(), get_renderable=draw, refresh_per_second=4, transient=True) as live:

        def redraw(event: GraphEventRow) -> None:
            if event.seq > view.seq:
                view.follow([event])
                live.refresh()

        yield redraw


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
        found = excerpt(data.get("error") or ", ".join(data.get("rules", ())), 200)
        # That it is accepted follows as its state.
        attempt = f"{event.task}: attempt {data['attempt']}"
        return None if data.get("accepted") else f"{attempt} not accepted ({found})"

    if event.what == "kept":
        return f"{event.task}: kept ({excerpt(data['message'], 200)})"
    if event.what == "lease_lost":
        return f"{event.task}: its runner is gone; another one goes on"

    values = ", ".join(f"{name} {excerpt(str(value), 100)}" for name, value in data.items())
    return f"{event.task}: {_words(event.what)} ({values})"
