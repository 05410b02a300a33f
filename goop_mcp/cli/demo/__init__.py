"""`goop-mcp demo`: the main job as a short story, told by the real server to the real client.

Only what the agents say is made up; every judgement comes from the server.
"""

from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Literal

import anyio
import click
from mcp import Client, MCPError

from goop_mcp.cli.demo.stage import Stage
from goop_mcp.cli.demo.steps import Step
from goop_mcp.cli.demo.story import CHAPTERS, Scene, server_of
from goop_mcp.cli.options import COLOUR
from goop_mcp.cli.streams import complain, emit_json, show, wants_colour

__all__ = ["demo"]

_PATIENCE = 30.0
"""Seconds until a server that does not answer is given up."""


@click.command()
@click.option(
    "--format",
    "format",
    type=click.Choice(["text", "json"]),
    default="text",
    help="text for people, or json: one object with every step.",
)
@COLOUR
def demo(format: Literal["text", "json"], colour: str) -> int:
    """Show the main job on real input, without network or key.

    A faulty reply is judged, the agent is told what to mend, its second reply is accepted and
    recorded, what was learned is saved and found, and a second session goes on from there. It works
    in a folder of its own. Exit code: 0 when the story went as expected, else 1.
    """
    stage = Stage(colour=wants_colour(colour)) if format == "text" else None
    told: list[Step] = []
    answered = False
    started = perf_counter()
    try:
        anyio.run(_tell, told, stage)
        answered = True
    except* (MCPError, OSError, TimeoutError):
        complain("the server did not answer as it should; start it by `goop-mcp serve` to see why")
    seconds = perf_counter() - started
    passed = answered and told[-1].as_expected
    if format == "json":
        story = {
            "passed": passed,
            "seconds": round(seconds, 3),
            "steps": [step.to_dict() for step in told],
        }
        emit_json(story)
    elif passed:
        show(
            f"\nThat is the main job, from a faulty reply to a new session, in {seconds:.1f}"
            " seconds.\n"
        )

    if answered and not passed:
        complain(
            f"the story went wrong at {told[-1].name}: its outcome was not expected; please"
            " report it"
        )

    return 0 if passed else 1


async def _tell(told: list[Step], stage: Stage | None) -> None:
    """Add the steps to `told`, up to the first that did not go as expected, and show each on `stage`."""
    with TemporaryDirectory(prefix="goop-demo-") as project, anyio.fail_after(_PATIENCE):
        async with Client(server_of(project)) as client:
            for chapter in CHAPTERS:
                told.append(await chapter(Scene(client=client, project=project, told=told)))
                if stage is not None:
                    stage.present(len(told), told[-1])
                if not told[-1].as_expected:
                    break
