"""The tool update_project, which takes a project through its phases, locks and rounds."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import anyio.to_thread
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, InputRequiredResult
from pydantic import Field

from goop_mcp import services
from goop_mcp.errors import ProjectElsewhereError
from goop_mcp.memory.times import utc_now, written
from goop_mcp.server.answers import step_answer
from goop_mcp.server.asking import (
    LONGEST_LINE,
    NOBODYS_REPLY,
    TOO_LONG,
    ElicitedQuestion,
    ElicitedReply,
    ask,
    can_ask,
    earlier_reply,
    name_of_client,
)
from goop_mcp.server.models import StepModel
from goop_mcp.server.permissions import name_of_caller
from goop_mcp.store.records import REPORTED_BY
from goop_mcp.validation.findings import excerpt, one_line
from goop_mcp.workspace.layout import FOLDER

if TYPE_CHECKING:
    from goop_mcp.context import AppContext
    from goop_mcp.services.project_steps import ProjectStep, StepResult
    from goop_mcp.services.runs import WaitingStep

__all__ = ["StepTools"]

_NAME = 200
_TEXT = 2_000
_MOST_TASKS = 100
_SHOWN = 500

_Action = Annotated[
    Literal[
        "init",
        "start_phase",
        "skip_gate",
        "complete_interview",
        "lock_spec",
        "unlock_spec",
        "amend_spec",
        "checkpoint",
        "resume",
        "decide",
        "confirm_merge",
        "accept",
        "start_round",
        "reopen_round",
    ],
    Field(description="The step."),
]
_Phase = Annotated[str | None, Field(description="start_phase: where to.", max_length=_NAME)]
_Force = Annotated[
    bool, Field(description="start_phase: an illegal move; needs reason.", strict=True)
]
_Gate = Annotated[
    str | None, Field(description="skip_gate: discovery or execution.", max_length=_NAME)
]
_Reason = Annotated[
    str | None, Field(description="Of force, skip_gate, amend_spec.", max_length=_TEXT)
]
_Note = Annotated[str | None, Field(description="checkpoint: for the next one.", max_length=_TEXT)]
_Checkpoint = Annotated[
    str | None, Field(description="resume: which; else the newest.", max_length=_NAME)
]
_Blocker = Annotated[
    str | None, Field(description="decide: part of the blocker's text.", max_length=_TEXT)
]
_Task = Annotated[str | None, Field(description="decide: the blocked task.", max_length=_NAME)]
_Run = Annotated[str | None, Field(description="decide: its run.", max_length=_NAME)]
_ChoiceMade = Annotated[
    str | None, Field(description="decide: an option's letter, or a text.", max_length=_TEXT)
]
_Comment = Annotated[str | None, Field(description="Of decide, accept.", max_length=_TEXT)]
_Outcome = Annotated[
    Literal["accept", "accept_with_issues", "reject"] | None,
    Field(description="Of accept."),
]
_Tasks = Annotated[
    list[Annotated[str, Field(max_length=_NAME)]] | None,
    Field(description="accept, reject: tasks to do again.", max_length=_MOST_TASKS),
]
_Name = Annotated[str | None, Field(description="Of the project or round.", max_length=_NAME)]


def _still_waiting(
    waiting: "WaitingStep", *, is_declined: bool, remarks: tuple[str, ...]
) -> "StepResult":
    """Return that a step of a run still waits: a closed or declined dialog decides nothing."""
    why = "The person declined to decide. " if is_declined else ""
    message = f"{why}{waiting.task} waits for a person, who runs `{waiting.command}`:"
    return services.project_steps.StepResult(
        status="waiting",
        action="decide",
        message=f"{message} {excerpt(waiting.question, _SHOWN)}",
        command=waiting.command,
        remarks=remarks,
    )


def _caller(ctx: Context[Any, Any]) -> str:
    """Return the client and the holder of the token, as whoever asks and answers is recorded."""
    client, holder = name_of_client(ctx) or "a client", name_of_caller()
    return client if holder is None else f"{client}, token {holder}"


class StepTools:
    """Takes a project through its life; clients read the method's docstring."""

    def __init__(self, application: "AppContext") -> None:
        """Work on the project of `application`."""
        self._application = application

    async def update_project(
        self,
        action: _Action,
        *,
        phase: _Phase = None,
        force: _Force = False,
        gate: _Gate = None,
        reason: _Reason = None,
        note: _Note = None,
        id: _Checkpoint = None,
        blocker: _Blocker = None,
        task: _Task = None,
        run: _Run = None,
        choice: _ChoiceMade = None,
        comment: _Comment = None,
        outcome: _Outcome = None,
        tasks: _Tasks = None,
        name: _Name = None,
        ctx: Context[Any, Any],
    ) -> Annotated[CallToolResult, StepModel] | InputRequiredResult:
        """Take the project one step further: phases, gates, locks, decisions, acceptance, rounds.

        Use it instead of editing state.json. Locks, acceptance, force, skip_gate, confirm_merge and
        reopen_round need a person, who is asked here or runs the command that the answer names;
        waiting is not an error: do other work.
        """
        if run is not None:
            if action != "decide" or task is None:
                raise ToolError(
                    "run goes with action=decide and task: the step that waits;"
                    " project_status with run shows what waits"
                )
            return await self._decide(run, task, choice, note=comment or "", ctx=ctx)

        step = services.project_steps.ProjectStep(
            action=action,
            phase=phase,
            force=force,
            gate=gate,
            reason=reason,
            note=note,
            id=id,
            blocker=blocker,
            task=task,
            choice=choice,
            comment=comment,
            outcome=outcome,
            tasks=tuple(tasks or ()),
            name=name,
        )
        by = _caller(ctx)
        via = f"elicitation {by}"

        earlier = earlier_reply(ctx)
        if earlier is not None and earlier.about is not None and not earlier.reply.is_nobodys:
            return step_answer(await self._answer(int(earlier.about), earlier.reply, via=via))

        # A person who did not reply is not asked again by the same call.
        asks = earlier is None and can_ask(ctx)
        result = await self._take(step, by=by, can_ask=asks)
        if asks and result.confirmation is not None and result.choices is not None:
            question = ElicitedQuestion(lines=result.question, choices=result.choices)
            about = result.confirmation.id
            reply = await ask(ctx, question, about=str(about)) if question.fits else NOBODYS_REPLY
            if isinstance(reply, InputRequiredResult):
                return reply
            if not reply.is_nobodys:
                return step_answer(await self._answer(about, reply, via=via))

            # Nobody can be asked: a project may let the agent's decision be recorded as such.
            result = await self._take(step, by=by, can_ask=False)
            if not question.fits:
                result = replace(result, remarks=(*result.remarks, TOO_LONG))

        return step_answer(result)

    async def _decide(
        self, run: str, task: str, choice: str | None, *, note: str, ctx: Context[Any, Any]
    ) -> Annotated[CallToolResult, StepModel] | InputRequiredResult:
        """Ask a person about a step of a run that waits; the agent may propose an answer.

        A project may let an agent's answer be recorded as reported by it.
        """
        application = self._application
        store = application.writing_context().store
        client = _caller(ctx)
        waiting = await anyio.to_thread.run_sync(services.runs.waiting_step, store, run, task)
        if choice is not None and choice not in waiting.answers:
            raise ToolError(waiting.refusal(choice))

        earlier, reply, seen = earlier_reply(ctx), NOBODYS_REPLY, waiting.seen
        remarks: tuple[str, ...] = ()
        if earlier is not None:
            reply, seen = earlier.reply, earlier.about or seen
        elif can_ask(ctx):
            # The note goes to whoever goes on, so that the person sees all of it.
            lines = [f"Run {run}, {task}:", excerpt(waiting.question, LONGEST_LINE)]
            lines += [f"Note: {one_line(note)}"] if note else []
            question = ElicitedQuestion(lines=lines, choices=waiting.answers)
            asked = await ask(ctx, question, about=seen) if question.fits else NOBODYS_REPLY
            if isinstance(asked, InputRequiredResult):
                return asked
            reply, remarks = asked, () if question.fits else (TOO_LONG,)

        who = f"a person at {client}"
        if reply.is_nobodys and choice is not None:
            context = application.project_context
            if await anyio.to_thread.run_sync(services.project_steps.agents_may_decide, context):
                reply, who = ElicitedReply(choice=choice), f"{REPORTED_BY}{client}"
        if reply.choice is None or reply.choice not in waiting.answers:
            still = _still_waiting(waiting, is_declined=reply.is_declined, remarks=remarks)
            return step_answer(still)

        decide = partial(
            services.runs.decide, store, run, task, reply.choice, seen=seen, by=who, note=note
        )
        state = await anyio.to_thread.run_sync(decide)
        find = partial(services.runs.who_reads, store, run, task, reply.choice, note=note)
        goes = await anyio.to_thread.run_sync(find)
        message = f"{task}: {reply.choice}, {who}. {goes}".rstrip()
        message += f" The run is {state.replace('_', ' ')}."

        return step_answer(
            services.project_steps.StepResult(status="done", action="decide", message=message)
        )

    async def _take(self, step: "ProjectStep", *, by: str, can_ask: bool) -> "StepResult":
        application = self._application
        is_remote = not application.settings.keeps_files and not application.files.exists(FOLDER)
        if step.action == "init" and is_remote:
            # The folder would be one of the server's own, which no caller works in.
            raise ProjectElsewhereError(
                "this server has no project folder: run `goop-mcp init` with the same --database in"
                " a checkout"
            )

        def take() -> "StepResult":
            return services.project_steps.take_step(
                self._application.writing_context(),
                step,
                by=by,
                can_ask=can_ask,
                now=written(utc_now()),
            )

        return await anyio.to_thread.run_sync(take)

    async def _answer(self, id: int, reply: ElicitedReply, *, via: str) -> "StepResult":
        def answer() -> "StepResult":
            return services.project_steps.answer_confirmation(
                self._application.writing_context(),
                id,
                # The other choice refuses the step, as a no to the question does.
                accept=reply.is_first,
                via=via,
                now=written(utc_now()),
            )

        return await anyio.to_thread.run_sync(answer)
