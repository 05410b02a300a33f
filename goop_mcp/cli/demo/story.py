"""The chapters of the demo: each is a function that returns the next step.

To extend the demo, add a chapter.
"""

import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

import anyio
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters
from mcp.types import INTERNAL_ERROR, TextContent
from pydantic import JsonValue

from goop_mcp.cli.demo.replies import FIRST_REPLY, MEMORY, QUERIES, SECOND_REPLY
from goop_mcp.cli.demo.steps import DemoStep
from goop_mcp.server.memory_models import FoundModel, SavedModel
from goop_mcp.server.models import (
    DecisionModel,
    HandoffModel,
    RecordedModel,
    StatusModel,
    VerdictModel,
)

__all__ = ["CHAPTERS", "DemoContext", "server_of"]

_HANDOFF: Final = ".goopspec/HANDOFF.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoContext:
    """What a chapter works with: a client of the server, a temporary project, earlier steps."""

    client: Client
    project: str
    earlier: Sequence[DemoStep]


Chapter = Callable[[DemoContext], Awaitable[DemoStep]]


async def first_reply(context: DemoContext) -> DemoStep:
    return DemoStep(
        name="first_reply",
        title="An agent ends its task with this reply",
        words=(
            "It goes to a server started for this demo, over MCP"
            f" {context.client.protocol_version}."
        ),
        reply=FIRST_REPLY,
    )


async def first_verdict(context: DemoContext) -> DemoStep:
    verdict = await _judge(context.client, FIRST_REPLY)
    return DemoStep(
        name="first_verdict",
        title="The verdict",
        words=f"{_summary(verdict)} All errors are reported at once.",
        as_expected=verdict.verdict == "rejected",
        verdict=verdict,
    )


async def show_feedback(context: DemoContext) -> DemoStep:
    verdict = context.earlier[-1].verdict
    return DemoStep(
        name="feedback",
        title="The feedback to the agent",
        words="This goes back to the agent as its next message.",
        feedback=verdict.feedback if verdict is not None else None,
    )


async def second_reply(_context: DemoContext) -> DemoStep:
    return DemoStep(
        name="second_reply",
        title="The agent sends its report again",
        words="The errors are fixed; a bare & and < are still there.",
        reply=SECOND_REPLY,
    )


async def second_verdict(context: DemoContext) -> DemoStep:
    verdict = await _judge(context.client, SECOND_REPLY)
    return DemoStep(
        name="second_verdict",
        title="The verdict",
        words=f"{_summary(verdict)} Errors of form are repaired; meaning is never changed.",
        as_expected=verdict.verdict == "accepted",
        verdict=verdict,
    )


async def next_action(context: DemoContext) -> DemoStep:
    decision = DecisionModel.model_validate(
        await _ask(context.client, "route_next_action", SECOND_REPLY)
    )
    return DemoStep(
        name="next_action",
        title="What happens next",
        words=(
            "The report says that it is blocked, so nothing continues automatically; you decide."
        ),
        as_expected=decision.actions == ["ask_user"],
        decision=decision,
    )


async def record(context: DemoContext) -> DemoStep:
    # The file and the commit are made up, so the claims cannot be verified.
    arguments: dict[str, JsonValue] = {
        "text": SECOND_REPLY,
        "check_workspace": False,
        "detail": "full",
    }
    recorded = RecordedModel.model_validate(
        (await _call(context.client, "record_report", arguments))[1]
    )
    return DemoStep(
        name="record",
        title="The report is recorded",
        words=(
            "In a project made for this demo, in one transaction. It is in"
            " .goopspec/CHRONICLE.md now."
        ),
        as_expected=recorded.status == "recorded",
        answer=recorded.written.chronicle,
    )


async def save(context: DemoContext) -> DemoStep:
    text, values = await _call(context.client, "save_memory", MEMORY)
    saved = SavedModel.model_validate(values)
    return DemoStep(
        name="save",
        title="What an agent learns is saved",
        words=(
            "The debugger found the cause and saves it. The text contains a password, which is"
            " never stored."
        ),
        as_expected=(saved.status, saved.redactions) == ("saved", 1),
        answer=text,
    )


async def search(context: DemoContext) -> DemoStep:
    text, values = await _call(context.client, "search_memory", {"queries": [*QUERIES]})
    found = FoundModel.model_validate(values)
    asked = " and ".join(f'"{query}"' for query in QUERIES)

    return DemoStep(
        name="search",
        title="The next agent finds it",
        words=f"Before it starts, an agent asks in several phrasings: {asked}.",
        as_expected=[item.title for item in found.items] == [MEMORY["title"]],
        answer=text,
    )


async def hand_over(context: DemoContext) -> DemoStep:
    arguments: dict[str, JsonValue] = {
        "kind": "session",
        "write": True,
        "next_action": "Compare the clocks of API and token store",
    }
    text, values = await _call(context.client, "build_handoff", arguments)
    handoff = HandoffModel.model_validate(values)

    return DemoStep(
        name="hand_over",
        title="The session hands over",
        words=("What the next session needs is collected from the records and the memory."),
        as_expected=handoff.path == _HANDOFF and handoff.verdict.verdict == "accepted",
        answer=text,
    )


async def resume(context: DemoContext) -> DemoStep:
    async with Client(server_of(context.project)) as next_session:
        _, values = await _call(next_session, "project_status", {"detail": "full"})
        status = StatusModel.model_validate(values)

    handoff = await anyio.Path(context.project, _HANDOFF).read_text(encoding="utf-8")
    instructions = handoff.partition("## Next Session Instructions\n\n")[2].partition("\n\n---")[0]

    return DemoStep(
        name="resume",
        title="A new session begins",
        words=(
            f"Another server finds {len(status.blockers)} blocker. The agent continues from"
            f" {_HANDOFF}:"
        ),
        as_expected=status.reports == len(status.blockers) == 1
        and "Compare the clocks" in instructions,
        answer=instructions,
    )


CHAPTERS: tuple[Chapter, ...] = (
    first_reply,
    first_verdict,
    show_feedback,
    second_reply,
    second_verdict,
    next_action,
    record,
    save,
    search,
    hand_over,
    resume,
)


async def _judge(client: Client, reply: str) -> VerdictModel:
    return VerdictModel.model_validate(await _ask(client, "validate_report", reply))


async def _ask(client: Client, tool: str, reply: str) -> object:
    return (await _call(client, tool, {"text": reply, "detail": "full"}))[1]


async def _call(client: Client, tool: str, arguments: dict[str, JsonValue]) -> tuple[str, object]:
    """Return the text and the structured content of a tool's answer; raise MCPError on error."""
    answer = await client.call_tool(tool, arguments)
    if answer.is_error:
        raise MCPError(INTERNAL_ERROR, f"{tool} returned an error")

    text = "\n".join(block.text for block in answer.content if isinstance(block, TextContent))
    return text, answer.structured_content


def _summary(verdict: VerdictModel) -> str:
    errors = sum(finding.severity == "error" for finding in verdict.findings)
    counts = ((errors, "error"), (len(verdict.repairs), "repair"))
    found = ", ".join(
        f"{number} {noun}{'s' if number > 1 else ''}" for number, noun in counts if number
    )
    return f"{verdict.verdict.capitalize()}{f': {found}' if found else ''}."


def server_of(project: str) -> StdioServerParameters:
    """Return a server for `project` that ignores the database settings of the user."""
    options = ["--project", project, "--database", "sqlite:///.goopspec/goop.db"]
    return StdioServerParameters(
        command=sys.executable, args=["-P", "-m", "goop_mcp", "serve", *options]
    )
