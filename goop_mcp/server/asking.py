"""Ask the person at the client to choose, where the client can show a question.

In 2025-11-25 the server sends the question while the call waits. In 2026-07-28 the call ends with
the question, and the client calls again with the reply. A client may declare forms although nobody
reads them: only an explicit choice counts, anything else is nobody's reply.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

import anyio
from mcp import MCPError
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp.server.mcpserver import Context
from mcp.types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from goop_mcp.server.order import out_of_turn
from goop_mcp.server.server import GoopServer
from goop_mcp.validation.findings import one_line

__all__ = [
    "LONGEST_LINE",
    "NOBODYS_REPLY",
    "QUESTION_SECONDS",
    "TOO_LONG",
    "WAITING_SECONDS",
    "EarlierReply",
    "ElicitedQuestion",
    "ElicitedReply",
    "ask",
    "can_ask",
    "earlier_reply",
    "name_of_client",
    "without_stale_state",
]

QUESTION_SECONDS: Final = 24 * 60 * 60.0
"""How long a question of 2026-07-28, which waits at the client, may be answered."""

WAITING_SECONDS: Final = 10 * 60.0
"""How long a call of 2025-11-25 stays open for the reply; open calls are limited."""

# Lines of a question. Clients show it in a small dialog, and cut what does not fit.
_MOST_LINES: Final = 3
LONGEST_LINE: Final = 100
TOO_LONG: Final = (
    "No dialog was shown, as it could not show all that would be recorded: a reason, a comment and"
    f" a choice each have to fit into a line of {LONGEST_LINE} characters. Shorten them, and ask"
    " again."
)
"""Why nobody was asked, for the agent that wrote the texts."""
# The name is shown to people later, as that of who asked.
_LONGEST_NAME: Final = 60

# The keys of the question among the requests of a result, and of the choice in its form.
_QUESTION: Final = "confirmation"
_CHOICE: Final = "choice"


@dataclass(frozen=True, slots=True, kw_only=True)
class ElicitedReply:
    """What came back for a question: one of its choices, a no to the whole question, or nothing.

    Nothing: cancelled, not shown, too late, or in a form that is not a choice. `is_first`: the
    choice is the first one, which does what was asked.
    """

    choice: str | None = None
    is_first: bool = False
    is_declined: bool = False

    @property
    def is_nobodys(self) -> bool:
        """Whether no person answered."""
        return self.choice is None and not self.is_declined


NOBODYS_REPLY: Final = ElicitedReply()


@dataclass(frozen=True, slots=True, kw_only=True)
class ElicitedQuestion:
    """What a person is asked: `lines` are shown, and one of the choices has to be made."""

    lines: Sequence[str]
    choices: tuple[str, ...]

    @property
    def fits(self) -> bool:
        """Whether a dialog shows all of it: clients cut long texts, and a person must see the end.

        Nor may a text of an agent begin another line, which would look like one of ours.
        """
        texts = (*self.lines, *self.choices)
        is_shown = all(len(each) <= LONGEST_LINE and each == one_line(each) for each in texts)
        return is_shown and len(self.lines) <= _MOST_LINES


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierReply:
    """The reply to a question that ended an earlier call; `about` is None if it is not known."""

    about: str | None
    reply: ElicitedReply


def can_ask(ctx: Context[Any, Any]) -> bool:
    """Whether the client shows forms, a question reaches it, and its caller may confirm."""
    # Asked before the question is made: where nobody can answer, the request stays open and the
    # answer of the tool says where it can be confirmed.
    capabilities = ctx.client_capabilities
    forms = capabilities.elicitation if capabilities is not None else None

    # An object without any mode is how clients declared forms before there were modes.
    shows_forms = forms is not None and (forms.form is not None or forms.url is None)
    is_reached = _asks_by_result(ctx) or ctx.session.can_send_request

    return shows_forms and is_reached and _may_confirm(ctx)


async def ask(
    ctx: Context[Any, Any], question: ElicitedQuestion, *, about: str
) -> ElicitedReply | InputRequiredResult:
    """Ask `question`; call it only if `can_ask` and the question fits.

    A result is to be returned from the tool: `earlier_reply` then gives the reply in the call that
    follows, with `about`, which identifies what was asked.
    """
    # Joined with line breaks: dialogs show plain text.
    form = ElicitRequestFormParams(
        message="\n".join(question.lines),
        requested_schema={
            "type": "object",
            # Without a default, so that a single key press confirms nothing.
            "properties": {
                _CHOICE: {
                    "type": "string",
                    "title": "Your choice",
                    "enum": list(question.choices),
                }
            },
            "required": [_CHOICE],
        },
    )
    if _asks_by_result(ctx):
        # Sealed by the SDK. It holds what was asked, so that a reply cannot be used for another
        # question.
        state = {"about": about, "choices": question.choices}
        return InputRequiredResult(
            input_requests={_QUESTION: ElicitRequest(params=form)}, request_state=json.dumps(state)
        )

    # None when the time is over: the call then goes on with the request still open.
    reply = None
    async with out_of_turn():
        with anyio.move_on_after(WAITING_SECONDS), suppress(MCPError, ValidationError):
            # Suppressed: the client does not know the method, has gone, or sent something else.
            reply = await ctx.session.elicit_form(
                form.message, form.requested_schema, related_request_id=ctx.request_id
            )

    # The scope may have been taken away since the question was asked.
    return _choice(reply, question.choices) if _may_confirm(ctx) else NOBODYS_REPLY


def earlier_reply(ctx: Context[Any, Any]) -> EarlierReply | None:
    """Return the reply that this call brings, None if it is the first call.

    The state comes back sealed: it is what `ask` put into it, for the same tool, arguments and
    caller.
    """
    if ctx.request_state is None:
        # Replies without a valid state are nobody's: what was asked is not known.
        has_replies = ctx.input_responses is not None
        return EarlierReply(about=None, reply=NOBODYS_REPLY) if has_replies else None

    state = json.loads(ctx.request_state)
    given = (ctx.input_responses or {}).get(_QUESTION)
    # A question of an older version has other keys; it is asked again.
    reply = _choice(given, state.get("choices", ()))

    # The scope may have been taken away since the question was asked.
    return EarlierReply(
        about=str(state["about"]), reply=reply if _may_confirm(ctx) else NOBODYS_REPLY
    )


def name_of_client(ctx: Context[Any, Any]) -> str | None:
    """Return the name and version that the client states, as one short line; None without them."""
    params = ctx.session.client_params
    if params is None:
        return None

    # Control characters would reach the documents in which people read who confirmed something.
    stated = " ".join(f"{params.client_info.name} {params.client_info.version}".split())
    # After a comma stands the holder of the token, which no client may state itself.
    return "".join(c for c in stated if c.isprintable() and c != ",")[:_LONGEST_NAME] or None


def without_stale_state(tools: Collection[str]) -> ServerMiddleware[Any]:
    """Return a middleware that runs `tools` although the state of a question is not valid any more.

    It has expired, or another process sealed it. The tool then gets a reply without a question,
    which is nobody's, and can say how to go on; otherwise the client would see a protocol error. It
    has to be outside of the middleware of the SDK that opens the seal.
    """

    async def run_without(
        ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        try:
            return await call_next(ctx)
        except MCPError as error:
            params: Mapping[str, Any] = ctx.params or {}
            reason = error.data.get("reason") if isinstance(error.data, dict) else None
            if params.get("name") not in tools or reason != "invalid_request_state":
                raise

        # An empty reply and not none: the tool must know that a question was asked before.
        # The seal is opened before anything else, so the tool has not run yet.
        kept = {name: value for name, value in params.items() if name != "requestState"}
        return await call_next(replace(ctx, params={**kept, "inputResponses": {}}))

    return run_without


def _asks_by_result(ctx: Context[Any, Any]) -> bool:
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


def _may_confirm(ctx: Context[Any, Any]) -> bool:
    server = ctx.mcp_server
    return isinstance(server, GoopServer) and server.may_confirm()


def _choice(given: object, choices: Sequence[str]) -> ElicitedReply:
    if not isinstance(given, ElicitResult):
        return NOBODYS_REPLY
    # "decline" is a person's no; "cancel" may be a closed window, and decides nothing.
    if given.action == "decline":
        return ElicitedReply(is_declined=True)

    chosen = (given.content or {}).get(_CHOICE) if given.action == "accept" else None
    if not isinstance(chosen, str) or chosen not in choices:
        return NOBODYS_REPLY
    return ElicitedReply(choice=chosen, is_first=chosen == choices[0])
