"""`goop-mcp demo`: a short session of the real client with the real server.

Only the replies of the agents are made up; every verdict comes from the server.
"""

from collections.abc import Sequence
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Literal

import anyio
import click
from mcp import Client, MCPError

from goop_mcp.cli.demo.full import PlayedStep, play_full
from goop_mcp.cli.demo.stage import DemoTerminal
from goop_mcp.cli.demo.steps import DemoStep
from goop_mcp.cli.demo.story import CHAPTERS, DemoContext, server_of
from goop_mcp.cli.options import COLOUR
from goop_mcp.cli.streams import complain, emit_json, show, wants_colour

__all__ = ["demo"]

_TIMEOUT = 30.0
"""Seconds that the whole demo may take."""


@click.command()
@click.option(
    "--format",
    "format",
    type=click.Choice(["text", "json"]),
    default="text",
    help="text for people, or json: one object with every step.",
)
@click.option(
    "--full",
    is_flag=True,
    help="Play a whole project: two rounds from the idea to acceptance, with a person's decisions.",
)
@COLOUR
def demo(format: Literal["text", "json"], colour: str, *, full: bool) -> int:
    """Show a complete example; no network, no API key.

    A wrong reply is judged, the agent receives the errors, its second reply is accepted and
    recorded, what it learned is saved and found, and a second session continues from there. The
    demo works in a temporary folder. With --full it plays a whole project, from the idea to the end
    of its second round. Exit code: 0 when everything went as expected, else 1.
    """
    stage = DemoTerminal(colour=wants_colour(colour)) if format == "text" else None
    chapters: list[DemoStep] = []
    played: list[PlayedStep] = []
    steps: Sequence[DemoStep | PlayedStep] = played if full else chapters
    answered = False
    started = perf_counter()
    try:
        if full:
            anyio.run(play_full, played, stage)
        else:
            anyio.run(_run, chapters, stage)
        answered = True
    except* (MCPError, OSError, TimeoutError):
        complain("the server did not answer as it should; start it by `goop-mcp serve` to see why")
    seconds = perf_counter() - started
    passed = answered and steps[-1].as_expected
    if format == "json":
        result = {
            "passed": passed,
            "seconds": round(seconds, 3),
            "steps": [step.to_dict() for step in steps],
        }
        emit_json(result)
    elif passed:
        way = (
            "from an idea to the end of round 2" if full else "from a wrong reply to a new session"
        )
        show(f"\nThat was the complete way, {way}, in {seconds:.1f} seconds.\n")

    if answered and not passed:
        complain(
            f"the demo went wrong at {steps[-1].name}: its outcome was not expected; please"
            " report this"
        )

    return 0 if passed else 1


async def _run(steps: list[DemoStep], stage: DemoTerminal | None) -> None:
    """Add the steps to `steps`, up to the first unexpected outcome, and show each on `stage`."""
    with TemporaryDirectory(prefix="goop-demo-") as project, anyio.fail_after(_TIMEOUT):
        async with Client(server_of(project)) as client:
            for chapter in CHAPTERS:
                steps.append(
                    await chapter(DemoContext(client=client, project=project, earlier=steps))
                )
                if stage is not None:
                    stage.present(len(steps), steps[-1])
                if not steps[-1].as_expected:
                    break
