"""Projects for the workbench: the story of the full demo, up to a step."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from goop_mcp.cli.demo.full_player import PlayStep
from goop_mcp.cli.demo.full_story import CHAPTERS
from goop_mcp.context import AppContext
from goop_mcp.routing import RoutingContext
from goop_mcp.services.project_context import ProjectContext
from goop_mcp.services.project_steps import ProjectStep, answer_confirmation, take_step
from goop_mcp.services.record_report import record_report
from goop_mcp.settings import Settings

__all__ = ["NOW", "opened", "play_until"]

_PLAYED: dict[str, dict[Path, bytes]] = {}
NOW = "2026-01-20T08:00:00.000Z"


@contextmanager
def opened(folder: Path) -> Iterator[ProjectContext]:
    """Work in the project in `folder`, with its own database, as an agent's server does."""
    with AppContext(Settings(project=folder)) as application:
        yield application.writing_context()


def play_until(folder: Path, last: str) -> None:
    """Play the story in `folder`, the step named `last` included.

    Each part of it is played once and copied from then on, as it takes a second.
    """
    with TemporaryDirectory() as kept:
        ready = Path(kept)
        if last not in _PLAYED:
            _play(ready, last)
            _PLAYED[last] = {
                path.relative_to(ready): path.read_bytes()
                for path in ready.rglob("*")
                if path.is_file()
            }

    for path, content in _PLAYED[last].items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def _play(folder: Path, last: str) -> None:
    with opened(folder) as project:
        for step in (step for chapter in CHAPTERS for step in chapter.steps):
            _write(folder, step)
            if step.tool == "update_project":
                _take(project, step)
            elif step.tool == "record_report":
                arguments: dict[str, Any] = dict(step.arguments)
                text, protocol = arguments.pop("text"), arguments.pop("protocol", "auto")
                arguments.pop("expected_phase", None)
                context = RoutingContext.from_dict(arguments)
                record_report(text, context, project, protocol=protocol, now=NOW)
            if step.name == last:
                return

    raise LookupError(last)


def _write(folder: Path, step: PlayStep) -> None:
    for path, text in step.writes.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    for path, (old, new) in step.edits.items():
        target = folder / path
        target.write_text(target.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")


def _take(project: ProjectContext, step: PlayStep) -> None:
    arguments: dict[str, Any] = dict(step.arguments)
    arguments["tasks"] = tuple(arguments.get("tasks", ()))
    result = take_step(project, ProjectStep(**arguments), by="mcp tests 1.0", can_ask=True, now=NOW)
    if result.confirmation is not None and step.person is not None:
        accepts = not step.person.startswith("do not")
        answer_confirmation(
            project, result.confirmation.id, accept=accepts, via="terminal ann", now=NOW
        )
