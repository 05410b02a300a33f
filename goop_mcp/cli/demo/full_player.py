"""Play the steps of a project against a server, as an orchestrator with a person at its side."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import anyio
from mcp import Client
from mcp.client import ClientRequestContext
from mcp.client.session import ElicitationFnT
from mcp.types import ElicitRequestFormParams, ElicitRequestParams, ElicitResult, TextContent
from pydantic import JsonValue

__all__ = [
    "Chapter",
    "Confirm",
    "Connect",
    "PlayStep",
    "Player",
    "ProjectPosition",
    "ToolAnswer",
    "position_of",
]

FOLDER: Final = ".goopspec"
# A choice of the person that begins so answers the question with no.
_REFUSAL_PREFIX: Final = "do not "


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectPosition:
    """Where a project is: what every reader must find after a step.

    `gates` are the gates that are passed, `planned` the ids of the plan; `done`, `failed` and
    `open` divide those that were reported. `reports` is the number of all recorded ones. `waiting`
    are the actions by which a person answers what waits, `drift` the rules of findings about the
    project, without infos.
    """

    exists: bool = False
    phase: str | None = None
    round: int = 1
    is_open: bool = True
    interview: bool = False
    locked: bool = False
    wave: int | None = None
    planned: tuple[str, ...] = ()
    done: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    blockers: tuple[str, ...] = ()
    gates: tuple[str, ...] = ()
    next: str | None = None
    reports: int = 0
    waiting: tuple[str, ...] = ()
    drift: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayStep:
    """One step: files that somebody writes, then a call of a tool, and what must follow.

    `writes` are whole files, `edits` replace one text by another; paths are relative to the
    project. `person` is the choice of the person, who is asked only if it is not None.
    `status` and `actions` are those of the answer, `says` texts that it contains, `findings` the
    rules of all its findings except infos, for a rejected report of some. `changes` are the
    documents that the call may change, `shows` texts that documents contain afterwards, `after` the
    fields of ProjectPosition that change. `new_session` starts another server and connection first.
    """

    name: str
    title: str
    writes: Mapping[str, str] = field(default_factory=dict)
    edits: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    tool: str | None = None
    arguments: Mapping[str, JsonValue] = field(default_factory=dict)
    person: str | None = None
    status: str | None = None
    actions: tuple[str, ...] = ()
    says: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    shows: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    after: Mapping[str, Any] = field(default_factory=dict)
    new_session: bool = False

    def position(self, before: ProjectPosition) -> ProjectPosition:
        """Return the position after this step, which began at `before`."""
        return replace(before, **self.after)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """The steps of one part of the play, with a heading for people."""

    title: str
    steps: Sequence[PlayStep]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnswer:
    """The answer of a tool: its text, and the same as JSON values; `asked` are the questions."""

    text: str
    values: Mapping[str, Any]
    is_error: bool
    asked: tuple[str, ...] = ()

    @property
    def status(self) -> str | None:
        """The status of a step or of a recorded report."""
        status = self.values.get("status")
        return status if isinstance(status, str) else None

    @property
    def findings(self) -> tuple[str, ...]:
        """The rules of the findings about the report and the project, without infos."""
        verdict = self.values.get("verdict")
        own = verdict["findings"] if isinstance(verdict, Mapping) else []
        return tuple(
            each["rule"]
            for each in (*own, *self.values.get("findings", ()))
            if each["severity"] != "info"
        )

    @property
    def actions(self) -> tuple[str, ...]:
        """The actions of the decision about a report."""
        decision = self.values.get("decision")
        return tuple(decision["actions"]) if isinstance(decision, Mapping) else ()


Connect = Callable[[ElicitationFnT | None], AbstractAsyncContextManager[Client]]
"""Starts a server if needed and returns a client, with the function that answers questions."""
Confirm = Callable[[str, bool], Awaitable[bool]]
"""Runs the command for people that an answer names, and answers its question with yes or no.

Returns whether the step was done.
"""


class Player:
    """Plays steps in the project in `folder`; an async context manager.

    Without `confirm` the client answers the server's questions; with it the client cannot be asked.
    """

    def __init__(self, folder: Path, connect: Connect, *, confirm: Confirm | None = None) -> None:
        """Connect later, when the context is entered."""
        self.folder, self._connect, self._confirm = folder, connect, confirm
        self._choice: str | None = None
        self._asked: list[str] = []
        self._session = AsyncExitStack()
        self._client: Client | None = None

    async def __aenter__(self) -> "Player":
        await self.begin_session()
        return self

    async def __aexit__(self, *failure: object) -> None:
        await self._session.aclose()

    async def begin_session(self) -> None:
        """End the present connection and open another one."""
        await self._session.aclose()
        answer = self._answer if self._confirm is None else None
        self._client = await self._session.enter_async_context(self._connect(answer))

    @property
    def client(self) -> Client:
        """The client of the present session."""
        if self._client is None:
            raise RuntimeError("a player is an async context manager; enter it first")
        return self._client

    async def write(self, step: PlayStep) -> None:
        """Write what people and agents write in this step."""
        for path, text in step.writes.items():
            target = anyio.Path(self.folder, path)
            await target.parent.mkdir(parents=True, exist_ok=True)
            await target.write_text(text, encoding="utf-8")

        for path, (old, new) in step.edits.items():
            target = anyio.Path(self.folder, path)
            text = await target.read_text(encoding="utf-8")
            if text.count(old) != 1:
                raise ValueError(f"{path} has {text.count(old)} times {old!r}; expected once")
            await target.write_text(text.replace(old, new), encoding="utf-8")

    async def call(self, step: PlayStep) -> ToolAnswer | None:
        """Make the call of this step, with the person's answer; None without a call."""
        if step.tool is None:
            return None

        self._choice, self._asked = step.person, []
        answer = await self.ask(step.tool, step.arguments)
        if answer.status == "waiting" and step.person is not None and self._confirm is not None:
            command = str(answer.values["command"])
            is_done = await self._confirm(command, not step.person.startswith(_REFUSAL_PREFIX))
            status = "done" if is_done else "refused"
            answer = replace(answer, values={**answer.values, "status": status})

        return replace(answer, asked=tuple(self._asked))

    async def ask(self, tool: str, arguments: Mapping[str, JsonValue]) -> ToolAnswer:
        """Call a tool."""
        result = await self.client.call_tool(tool, dict(arguments))
        text = "\n".join(block.text for block in result.content if isinstance(block, TextContent))
        return ToolAnswer(
            text=text, values=result.structured_content or {}, is_error=bool(result.is_error)
        )

    async def position(self) -> ProjectPosition:
        """Return where the server says the project is."""
        return position_of((await self.ask("project_status", {"detail": "full"})).values)

    async def _answer(
        self, context: ClientRequestContext, params: ElicitRequestParams
    ) -> ElicitResult:
        """Choose what the person of the step chooses; without one nobody answers."""
        del context
        self._asked.append(params.message)
        if self._choice is None or not isinstance(params, ElicitRequestFormParams):
            return ElicitResult(action="cancel")

        (name,) = params.requested_schema["properties"]
        return ElicitResult(action="accept", content={name: self._choice})


def position_of(status: Mapping[str, Any]) -> ProjectPosition:
    """Return the position in the structured answer of project_status."""
    tasks = [task for wave in status["waves"] for task in wave["tasks"]]
    ids = {
        state: tuple(task["id"] for task in tasks if task["status"] == state)
        for state in ("done", "failed", "open")
    }
    return ProjectPosition(
        exists=status["exists"],
        phase=status["phase"],
        round=status["round"]["number"],
        is_open=status["round"]["is_open"],
        interview=bool(status["interview_complete"]),
        locked=bool(status["spec_locked"]),
        wave=status["progress"]["current_wave"],
        planned=tuple(task["id"] for task in tasks),
        blockers=tuple(status["blockers"]),
        gates=tuple(gate["gate"] for gate in status["gates"] if gate["passed"]),
        next=status["next_command"],
        reports=status["reports"] or 0,
        waiting=tuple(each["action"] for each in status["waiting"]),
        drift=tuple(
            finding["rule"] for finding in status["drift"] if finding["severity"] != "info"
        ),
        **ids,
    )
