"""`goop-mcp demo --full`: play the story of a whole project, and show each step as it happens."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import anyio
import click
from mcp import Client
from mcp.client.session import ElicitationFnT
from mcp.types import Implementation

from goop_mcp import __version__
from goop_mcp.cli.demo.full_player import Player, PlayStep, ProjectPosition, ToolAnswer
from goop_mcp.cli.demo.full_story import CHAPTERS
from goop_mcp.cli.demo.stage import DemoTerminal
from goop_mcp.cli.demo.story import server_of
from goop_mcp.validation.findings import excerpt
from goop_mcp.workspace.documents.entries import read_adl

__all__ = ["PlayedStep", "play_full"]

_TIMEOUT: Final = 120.0
"""Seconds that the whole play may take."""
_ITEM, _BELOW = "• ", "    "
_STYLES: Final[Mapping[str, str]] = {
    "done": "green",
    "recorded": "green",
    "rejected": "red",
    "refused": "yellow",
    "duplicate": "cyan",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedStep:
    """A step that was played: the answer, None without a call, and where the project is then."""

    step: PlayStep
    answer: ToolAnswer | None
    position: ProjectPosition
    expected: ProjectPosition

    @property
    def name(self) -> str:
        """The name of the step."""
        return self.step.name

    @property
    def as_expected(self) -> bool:
        """Whether answer and position are those of the story."""
        answer, step = self.answer, self.step
        answered = answer is None or (
            not answer.is_error
            and step.status in (None, answer.status)
            and (not step.actions or step.actions == answer.actions)
            and all(text in answer.text for text in step.says)
        )
        return answered and self.position == self.expected

    def to_dict(self) -> dict[str, object]:
        """Return the step as JSON values."""
        return {
            "name": self.name,
            "title": self.step.title,
            "as_expected": self.as_expected,
            "status": self.answer.status if self.answer is not None else None,
            "actions": list(self.answer.actions) if self.answer is not None else [],
            "phase": self.position.phase,
            "round": self.position.round,
            "done": list(self.position.done),
            "next": self.position.next,
        }


async def play_full(steps: list[PlayedStep], stage: DemoTerminal | None) -> None:
    """Play the story, add its steps to `steps` up to the first unexpected one, and show them."""
    with TemporaryDirectory(prefix="goop-demo-") as project, anyio.fail_after(_TIMEOUT):

        def connect(answer: ElicitationFnT | None) -> AbstractAsyncContextManager[Client]:
            # Its name stands in ADL.md, as the origin of each answer.
            name = Implementation(name="goop-mcp demo", version=__version__)
            return Client(server_of(project), elicitation_callback=answer, client_info=name)

        async with Player(Path(project), connect) as player:
            position = ProjectPosition()
            for number, chapter in enumerate(CHAPTERS, 1):
                if stage is not None:
                    stage.begin(number, chapter.title)

                for step in chapter.steps:
                    if step.new_session:
                        await player.begin_session()
                    await player.write(step)
                    answer = await player.call(step)
                    before, position = position, step.position(position)
                    played = PlayedStep(
                        step=step,
                        answer=answer,
                        position=await player.position(),
                        expected=position,
                    )
                    steps.append(played)
                    if stage is not None:
                        _show(played, before, stage)
                    if not played.as_expected:
                        return

                if stage is not None:
                    stage.add(click.style(f"\n{_summary(position)}", bold=True))

        log = anyio.Path(project, ".goopspec", "ADL.md")
        decisions = read_adl(await log.read_text(encoding="utf-8"))
        if stage is not None:
            stage.begin(len(CHAPTERS) + 1, "What people decided, as ADL.md has it")
            for each in decisions:
                stage.add(f"{excerpt(each.description, 200)} {each.action}", first=_ITEM)


def _show(played: PlayedStep, before: ProjectPosition, stage: DemoTerminal) -> None:
    """Show a step as its title, and below it what came of it."""
    stage.add(played.step.title, first=_ITEM)
    answer = played.answer
    if answer is None:
        return

    if answer.asked:
        question = " · ".join(answer.asked[0].splitlines())
        asked = f"you are asked: {question} → {played.step.person}"
        stage.add(click.style(asked, fg="cyan"), first=_BELOW)
    if answer.status is not None:
        colour = _STYLES.get(answer.status)
        status = click.style(answer.status, fg=colour, bold=colour is None)
        stage.add(f"{status}{_reason(answer, played.position, before)}", first=_BELOW)


def _reason(answer: ToolAnswer, position: ProjectPosition, before: ProjectPosition) -> str:
    """Return why a call was refused, or what it led to."""
    decision = answer.values.get("decision")
    if isinstance(decision, Mapping):
        rules = answer.findings if answer.status == "rejected" else ()
        return f": {decision['reason']}" + (f" ({', '.join(rules)})" if rules else "")

    missing: Sequence[str] = answer.values.get("missing") or ()
    if missing:
        return f", missing: {'; '.join(missing)}"

    opened = [gate for gate in position.gates if gate not in before.gates]
    effects = [
        f"phase {position.phase}" if position.phase != before.phase else "",
        f"gate {', '.join(opened)} open" if opened else "",
        f"round {position.round}" if position.round != before.round else "",
    ]

    return "".join(f", {effect}" for effect in effects if effect)


def _summary(position: ProjectPosition) -> str:
    parts = [
        f"round {position.round}{'' if position.is_open else ', closed'}",
        f"phase {position.phase}",
        f"tasks done: {len(position.done)} of {len(position.planned)}" if position.planned else "",
        f"next {position.next}",
    ]
    return " · ".join(filter(None, parts))
