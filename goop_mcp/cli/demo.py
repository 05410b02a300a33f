"""`goop-mcp demo`: the main job as a short story, told by the real server to the real client.

A story is a list of chapters; each looks at what was told before and returns the next step. To tell more, add a
chapter. Only what the agents say is made up; every judgement comes from the server.
"""

import json
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from io import StringIO
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Literal

import anyio
import click
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters
from mcp.types import INTERNAL_ERROR, TextContent
from pydantic import JsonValue
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from goop_mcp.cli.options import COLOUR
from goop_mcp.cli.streams import complain, emit, show, terminal_width, wants_colour
from goop_mcp.server.memory_models import FoundModel, SavedModel
from goop_mcp.server.models import (
    DecisionModel,
    FindingModel,
    HandoffModel,
    RecordedModel,
    RepairModel,
    StatusModel,
    VerdictModel,
)

__all__ = ["demo"]

_PATIENCE = 30.0
"""Seconds until a server that does not answer is given up."""

_HANDOFF = ".goopspec/HANDOFF.md"

_FIRST_REPLY = """\
<thinking>
Draft: <goop_report><status>COMPLETE</status></goop_report>
No: two tests still fail, so it is not complete.
</thinking>

I built the login endpoint, but tokens expire too early. My report:

```xml
<goop_report version="0.1.6">
  <Status>FAILED</Status>
  <agent>goop-executor</agent>
  <task_id>W2.T3</task_id>
  <state>
    <phase>coding</phase>
    <wave current="2" total="3"/>
    <task current="3" total="4"/>
  </state>
  <summary>Login & logout work; tokens expire early (ttl < 60).</summary>
  <artifacts>
    <files>
      <file path="src/login.ts" action="created">Login and logout</file>
    </files>
    <commits><commit sha="a1b2c3d">feat: add login</commit></commits>
  </artifacts>
  <memory>
    <saved type="decision" importance="8">Use jose for tokens</saved>
  </memory>
  <verification>
    <check name="tests" passed="false">10 passed, 2 failed</check>
  </verification>
  <handoff>
    <ready>false</ready>
    <next_action>Compare the clocks</next_action>
    <blockers>None</blockers>
    <suggest_new_session>false</suggest_new_session>
  </handoff>
</goop_report>
```

Shall I go on?
"""

_SECOND_REPLY = """\
<goop_report version="0.1.6">
  <status>BLOCKED</status>
  <agent>goop-executor</agent>
  <task_id>W2.T3</task_id>
  <state>
    <phase>execute</phase>
    <wave current="2" total="3"/>
    <task current="3" total="4"/>
  </state>
  <summary>Login & logout work; tokens expire early (ttl < 60).</summary>
  <artifacts>
    <files>
      <file path="src/login.ts" action="created">Login and logout</file>
    </files>
    <commits><commit sha="a1b2c3d">feat: add login</commit></commits>
  </artifacts>
  <memory>
    <saved type="decision" importance="0.8">Use jose for tokens</saved>
  </memory>
  <verification>
    <check name="tests" passed="false">10 passed, 2 failed</check>
  </verification>
  <handoff>
    <ready>false</ready>
    <next_action agent="goop-debugger">Compare the clocks</next_action>
    <blockers>API and token store disagree about the time</blockers>
    <suggest_new_session>false</suggest_new_session>
  </handoff>
</goop_report>
"""


_MEMORY: dict[str, JsonValue] = {
    "title": "Tokens expire early when clocks differ",
    "content": "The token store's clock is 60 s ahead of the API's. Seen with the test login, password=tiger-4711.",
    "type": "observation",
    "importance": 0.7,
    "concepts": ["auth"],
    "agent": "goop-debugger",
}
_QUERIES = ["login tokens expire", "clock of the token store"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """One step as it went; the last five fields are what there is to see. `as_expected`: the story may go on."""

    name: str
    title: str
    words: str
    as_expected: bool = True
    reply: str | None = None
    verdict: VerdictModel | None = None
    feedback: str | None = None
    decision: DecisionModel | None = None
    answer: str | None = None

    def to_dict(self) -> dict[str, object]:
        """Return the step as JSON values, without what it does not show."""
        values = {
            "name": self.name,
            "title": self.title,
            "words": self.words,
            "as_expected": self.as_expected,
            "reply": self.reply,
            "verdict": self.verdict.model_dump(mode="json") if self.verdict is not None else None,
            "feedback": self.feedback,
            "decision": self.decision.model_dump(mode="json") if self.decision is not None else None,
            "answer": self.answer,
        }
        return {key: value for key, value in values.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scene:
    """Where a chapter plays: a client of the server, the folder of the project made for the demo, what was told."""

    client: Client
    project: str
    told: Sequence[_Step]


_Chapter = Callable[[_Scene], Awaitable[_Step]]


async def _first_reply(scene: _Scene) -> _Step:
    return _Step(
        name="first_reply",
        title="An agent ends its task with this reply",
        words=f"It goes to a server started for this demo, over MCP {scene.client.protocol_version}.",
        reply=_FIRST_REPLY,
    )


async def _first_verdict(scene: _Scene) -> _Step:
    verdict = await _judge(scene.client, _FIRST_REPLY)
    return _Step(
        name="first_verdict",
        title="The verdict",
        words=f"{_summary(verdict)} All faults are told at once.",
        as_expected=verdict.verdict == "rejected",
        verdict=verdict,
    )


async def _feedback(scene: _Scene) -> _Step:
    verdict = scene.told[-1].verdict
    return _Step(
        name="feedback",
        title="What the agent is told",
        words="This goes back to the agent as its next message.",
        feedback=verdict.feedback if verdict is not None else None,
    )


async def _second_reply(_scene: _Scene) -> _Step:
    return _Step(
        name="second_reply",
        title="The agent sends its report again",
        words="What was asked for is mended; a bare & and < are still there.",
        reply=_SECOND_REPLY,
    )


async def _second_verdict(scene: _Scene) -> _Step:
    verdict = await _judge(scene.client, _SECOND_REPLY)
    return _Step(
        name="second_verdict",
        title="The verdict",
        words=f"{_summary(verdict)} Faults of form are mended and told; meaning is never touched.",
        as_expected=verdict.verdict == "accepted",
        verdict=verdict,
    )


async def _next_action(scene: _Scene) -> _Step:
    decision = DecisionModel.model_validate(await _ask(scene.client, "route_next_action", _SECOND_REPLY))
    return _Step(
        name="next_action",
        title="What happens next",
        words="The report says that it is blocked, so nothing goes on by itself. People are shown this.",
        as_expected=decision.actions == ["ask_user"],
        decision=decision,
    )


async def _recorded(scene: _Scene) -> _Step:
    # The file and the commit are made up, so the claims are believed.
    arguments: dict[str, JsonValue] = {"text": _SECOND_REPLY, "check_workspace": False}
    recorded = RecordedModel.model_validate((await _call(scene.client, "record_report", arguments))[1])
    return _Step(
        name="record",
        title="The report is recorded",
        words="In a project made for this demo, in one transaction. It stands in .goopspec/CHRONICLE.md now.",
        as_expected=recorded.status == "recorded",
        answer=recorded.written.chronicle,
    )


async def _save(scene: _Scene) -> _Step:
    told, values = await _call(scene.client, "save_memory", _MEMORY)
    saved = SavedModel.model_validate(values)
    return _Step(
        name="save",
        title="What an agent learns is kept",
        words="The debugger found the cause and saves it. A password slipped into its words; it is never stored.",
        as_expected=(saved.status, saved.redactions) == ("saved", 1),
        answer=told,
    )


async def _search(scene: _Scene) -> _Step:
    told, values = await _call(scene.client, "search_memory", {"queries": [*_QUERIES]})
    found = FoundModel.model_validate(values)
    asked = " and ".join(f'"{query}"' for query in _QUERIES)
    return _Step(
        name="search",
        title="The next agent finds it",
        words=f"Before it starts, an agent asks in several phrasings: {asked}.",
        as_expected=[item.title for item in found.items] == [_MEMORY["title"]],
        answer=told,
    )


async def _hand_over(scene: _Scene) -> _Step:
    arguments: dict[str, JsonValue] = {
        "kind": "session",
        "write": True,
        "next_action": "Compare the clocks of API and token store",
    }
    told, values = await _call(scene.client, "build_handoff", arguments)
    handoff = HandoffModel.model_validate(values)
    return _Step(
        name="hand_over",
        title="The session hands over",
        words="What the next one needs is taken from what was recorded and saved, and written for it.",
        as_expected=handoff.path == _HANDOFF and handoff.verdict.verdict == "accepted",
        answer=told,
    )


async def _resume(scene: _Scene) -> _Step:
    async with Client(_server(scene.project)) as next_session:
        status = StatusModel.model_validate((await _call(next_session, "project_status", {}))[1])
    handoff = await anyio.Path(scene.project, _HANDOFF).read_text(encoding="utf-8")
    instructions = handoff.partition("## Next Session Instructions\n\n")[2].partition("\n\n---")[0]
    return _Step(
        name="resume",
        title="A new session begins",
        words=f"Another server knows of {len(status.blockers)} blocker. The agent goes on from {_HANDOFF}:",
        as_expected=status.reports == len(status.blockers) == 1 and "Compare the clocks" in instructions,
        answer=instructions,
    )


_CHAPTERS: tuple[_Chapter, ...] = (
    _first_reply,
    _first_verdict,
    _feedback,
    _second_reply,
    _second_verdict,
    _next_action,
    _recorded,
    _save,
    _search,
    _hand_over,
    _resume,
)


async def _judge(client: Client, reply: str) -> VerdictModel:
    return VerdictModel.model_validate(await _ask(client, "validate_report", reply))


async def _ask(client: Client, tool: str, reply: str) -> object:
    return (await _call(client, tool, {"text": reply}))[1]


async def _call(client: Client, tool: str, arguments: dict[str, JsonValue]) -> tuple[str, object]:
    """Return the text and the structure of a tool's answer. Raises MCPError when it gave none."""
    answer = await client.call_tool(tool, arguments)
    if answer.is_error:
        raise MCPError(INTERNAL_ERROR, f"{tool} gave no answer")
    text = "\n".join(block.text for block in answer.content if isinstance(block, TextContent))
    return text, answer.structured_content


def _summary(verdict: VerdictModel) -> str:
    errors = sum(finding.severity == "error" for finding in verdict.findings)
    counts = ((errors, "error"), (len(verdict.repairs), "repair"))
    found = ", ".join(f"{number} {noun}{'s' if number > 1 else ''}" for number, noun in counts if number)
    return f"{verdict.verdict.capitalize()}{f': {found}' if found else ''}."


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

    A faulty reply is judged, the agent is told what to mend, its second reply is accepted and recorded, what was
    learned is saved and found, and a second session goes on from there. It works in a folder of its own. Exit code: 0
    when the story went as expected, else 1.
    """
    stage = _Stage(colour=wants_colour(colour)) if format == "text" else None
    told: list[_Step] = []
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
        story = {"passed": passed, "seconds": round(seconds, 3), "steps": [step.to_dict() for step in told]}
        emit(json.dumps(story, ensure_ascii=False, indent=2) + "\n")
    elif passed:
        show(f"\nThat is the main job, from a faulty reply to a new session, in {seconds:.1f} seconds.\n")
    if answered and not passed:
        complain(f"the story went wrong at {told[-1].name}: its outcome was not expected; please report it")
    return 0 if passed else 1


async def _tell(told: list[_Step], stage: "_Stage | None") -> None:
    """Add the steps to `told`, up to the first that did not go as expected, and show each on `stage`."""
    with TemporaryDirectory(prefix="goop-demo-") as project, anyio.fail_after(_PATIENCE):
        async with Client(_server(project)) as client:
            for chapter in _CHAPTERS:
                told.append(await chapter(_Scene(client=client, project=project, told=told)))
                if stage is not None:
                    stage.present(len(told), told[-1])
                if not told[-1].as_expected:
                    break


def _server(project: str) -> StdioServerParameters:
    """Return a server of a project of its own, whatever database its user has."""
    options = ["--project", project, "--database", "sqlite:///.goopspec/goop.db"]
    return StdioServerParameters(command=sys.executable, args=["-m", "goop_mcp", "serve", *options])


class _Stage:
    """Shows the steps on the terminal as they come."""

    def __init__(self, *, colour: bool) -> None:
        """Prepare for a terminal with or without `colour`."""
        self.colour = colour
        self.width = max(40, min(terminal_width() or 80, 100))

    def present(self, number: int, step: _Step) -> None:
        """Show one step."""
        page = StringIO()
        console = Console(
            file=page,
            force_terminal=self.colour,
            width=self.width,
            highlight=False,
            markup=False,
            emoji=False,
        )
        heading = Text(f"{number}. {step.title}", style="bold")
        for line in ("", Rule(heading, align="left", style="dim"), step.words, ""):
            console.print(line)
        for part in _parts(step):
            console.print(Padding(part, (0, 0, 0, 2)))
        # The console fills up lines with blanks; copied text should have none.
        show("".join(f"{line.rstrip()}\n" for line in page.getvalue().splitlines()), colour=self.colour)


def _parts(step: _Step) -> list[RenderableType]:
    """Return what there is to see of a step, from top to bottom."""
    parts: list[RenderableType] = []
    if step.reply is not None:
        reply = step.reply.rstrip()
        parts.append(
            Syntax(reply, "xml", theme="ansi_dark", background_color="default", line_numbers=True, word_wrap=True)
        )
    if step.verdict is not None:
        parts.append(_findings(step.verdict))
    if step.feedback is not None:
        parts.append(Text(step.feedback))
    if step.answer is not None:
        parts.append(Text(step.answer))
    if step.decision is not None:
        parts.append(Text(f"{step.decision.message.rstrip()}\n\nactions: {', '.join(step.decision.actions)}"))
    return parts


def _findings(verdict: VerdictModel) -> Table:
    table = Table.grid(padding=(0, 1, 0, 0))
    for width in (7, 7, None):
        table.add_column(width=width)
    mended = {(repair.rule, repair.line): repair for repair in verdict.repairs}
    for finding in verdict.findings:
        table.add_row(*_cells(finding, mended.get((finding.rule, finding.line))))
    return table


def _cells(finding: FindingModel, repair: RepairModel | None) -> tuple[str, Text, Text]:
    styles = {"error": "red", "warning": "yellow", "info": "cyan"}
    kind = Text(finding.severity, style=styles[finding.severity])
    what = Text.assemble(finding.message, " ", (f"[{finding.rule}]", "dim"))
    if repair is not None:
        kind = Text("mended", style="green")
        what.append(f"\n- {repair.before}", style="red").append(f"\n+ {repair.after}", style="green")
    return (f"line {finding.line}" if finding.line is not None else "", kind, what)
