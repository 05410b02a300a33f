"""An agent of the Agent Client Protocol as a program, made with the library that its authors keep.

`python acp_agent.py FOLDER [TRAIT …]` on standard input and output. It answers the first prompt of
a session without a report, and any later one with a report. What it was sent and answered stays in
`FOLDER/acp.jsonl`, and its sessions in `FOLDER/SESSION.json`, where another process of it finds
them. Traits:

- `cannot-load`, `resumes`: it cannot go on with such a session, or does so with session/resume
- `dies`: it exits with 0 in the middle of the second prompt
- `waits`: it does not answer a second prompt, and has a child then
- `leaves`: it starts a program in a session of its own, which does not end with it
- `asks`: it asks for a permission at each prompt, and the report names what became of it
- `needs-login`: it refuses new sessions before somebody logged in
- `cut`: the model reaches its token limit in the first answer
- `talks`: it writes text before and between the calls of tools
"""

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

import acp
from acp.interfaces import Client
from acp.schema import (
    AgentCapabilities,
    Cost,
    DeniedOutcome,
    Implementation,
    InitializeResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PermissionOption,
    PromptResponse,
    ResumeSessionResponse,
    SessionCapabilities,
    SessionResumeCapabilities,
    ToolCallUpdate,
    Usage,
    UsageUpdate,
)

from tests.delegation.reports import report


class ReportingAgent:
    """Remembers in its folder what was heard in each session."""

    def __init__(self, folder: Path, traits: frozenset[str]) -> None:
        self._folder, self._traits = folder, traits
        self._client: Client | None = None
        self._heard: dict[str, list[str]] = {}

    def on_connect(self, conn: Client) -> None:
        """Keep the way back to the client."""
        self._client = conn

    async def initialize(self, protocol_version: int, **_: object) -> InitializeResponse:
        """Say what this agent can do."""
        self._note("initialize", version=protocol_version, key=os.environ["GOOP_IDEMPOTENCY_KEY"])
        resume = SessionResumeCapabilities() if "resumes" in self._traits else None
        loads = self._traits.isdisjoint({"cannot-load", "resumes"})
        return InitializeResponse(
            protocol_version=acp.PROTOCOL_VERSION,
            agent_info=Implementation(name="reporting-agent", version="1"),
            agent_capabilities=AgentCapabilities(
                load_session=loads, session_capabilities=SessionCapabilities(resume=resume)
            ),
        )

    async def new_session(self, cwd: str, **_: object) -> NewSessionResponse:
        """Begin a conversation."""
        if "needs-login" in self._traits:
            raise acp.RequestError.auth_required()
        session = f"s-{uuid4().hex[:8]}"
        self._note("new", session=session, cwd=cwd)
        self._heard[session] = []
        return NewSessionResponse(session_id=session)

    async def load_session(self, cwd: str, session_id: str, **_: object) -> LoadSessionResponse:
        """Go on with a conversation, and repeat what happened in it as the protocol asks for."""
        self._remember("load", cwd, session_id)
        for text in self._heard[session_id]:
            await self._update(session_id, acp.update_user_message_text(text))
            await self._update(session_id, acp.update_agent_message_text("An old answer."))
        return LoadSessionResponse()

    async def resume_session(self, session_id: str, cwd: str, **_: object) -> ResumeSessionResponse:
        """Go on with a conversation."""
        self._remember("resume", cwd, session_id)
        return ResumeSessionResponse()

    async def prompt(self, session_id: str, prompt: list[Any], **_: object) -> PromptResponse:
        """Answer a message in a conversation."""
        heard = self._heard[session_id]
        heard.append("".join(block.text for block in prompt))
        (self._folder / f"{session_id}.json").write_text(json.dumps(heard))
        self._note("prompt", session=session_id, text=heard[-1])
        if len(heard) == 2 and "dies" in self._traits:
            # Once: its next process has the file, and does not die of it.
            os._exit(0)
        if "leaves" in self._traits:
            words = (sys.executable, "-c", "import time; time.sleep(600)")
            daemon = await asyncio.create_subprocess_exec(*words, start_new_session=True)
            self._note("leaves", programs=[daemon.pid])
        if len(heard) > 1 and "waits" in self._traits:
            words = (sys.executable, "-c", "import time; time.sleep(600)")
            child = await asyncio.create_subprocess_exec(*words)
            self._note("waits", programs=[os.getpid(), child.pid])
            await asyncio.sleep(600)

        summary = f"Heard {len(heard)} messages."
        if "asks" in self._traits:
            summary = await self._permission(session_id)
        if "talks" in self._traits:
            await self._update(session_id, acp.update_agent_message_text("I look first."))
            await self._update(session_id, acp.start_tool_call("call-1", "Read a file"))
        text = report(summary=summary) if len(heard) > 1 else "It is all done."
        for begin in range(0, len(text), 100):
            await self._update(session_id, acp.update_agent_message_text(text[begin : begin + 100]))
        await self._update(
            session_id,
            UsageUpdate(
                session_update="usage_update",
                used=100,
                size=1000,
                cost=Cost(amount=0.25 * len(heard), currency="USD"),
            ),
        )
        used = Usage(total_tokens=120, input_tokens=70, output_tokens=30, cached_read_tokens=20)
        cut = "cut" in self._traits and len(heard) == 1
        return PromptResponse(stop_reason="max_tokens" if cut else "end_turn", usage=used)

    async def _permission(self, session: str) -> str:
        assert self._client is not None
        answer = await self._client.request_permission(
            session_id=session,
            tool_call=ToolCallUpdate(tool_call_id="call-2", title="Delete everything"),
            options=[
                PermissionOption(option_id="always", name="Always", kind="allow_always"),
                PermissionOption(option_id="once", name="Once", kind="allow_once"),
                PermissionOption(option_id="no", name="No", kind="reject_once"),
            ],
        )
        outcome = answer.outcome
        chosen = "cancelled" if isinstance(outcome, DeniedOutcome) else outcome.option_id
        return f"The permission was {chosen}."

    async def _update(self, session: str, update: Any) -> None:  # noqa: ANN401 - one of many models
        assert self._client is not None
        await self._client.session_update(session_id=session, update=update)

    def _remember(self, how: str, cwd: str, session: str) -> None:
        self._note(how, session=session, cwd=cwd)
        try:
            self._heard[session] = json.loads((self._folder / f"{session}.json").read_text())
        except FileNotFoundError as error:
            raise acp.RequestError.resource_not_found(session) from error

    def _note(self, what: str, **values: object) -> None:
        line = {"what": what, "pid": os.getpid(), "at": time.monotonic(), **values}
        with (self._folder / "acp.jsonl").open("ab", buffering=0) as file:
            file.write(json.dumps(line).encode() + b"\n")


if __name__ == "__main__":
    # It has the methods that it needs, and not all of them.
    agent: Any = ReportingAgent(Path(sys.argv[1]), frozenset(sys.argv[2:]))
    # Which to the library session/resume belongs to.
    asyncio.run(acp.run_agent(agent, use_unstable_protocol=True))
