"""claude-agent-sdk: hooks that keep a subagent at work until its report is accepted."""

import logging
from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any, Final, Literal, NamedTuple, Unpack, cast

from goop_mcp.errors import PolicyError
from goop_mcp.hosts.frameworks.open_reviews import OpenReviews
from goop_mcp.hosts.frameworks.packages import needing
from goop_mcp.hosts.hooks.events import is_busy
from goop_mcp.hosts.hooks.transcript import ending_of
from goop_mcp.protocols import validate
from goop_mcp.retry.jobs import DEFAULT_POLICY
from goop_mcp.retry.review import ReviewOptions
from goop_mcp.validation.expectations import NOTHING_EXPECTED, Expectations

with needing("claude_agent_sdk", extra="claude-agent-sdk"):
    from claude_agent_sdk import HookContext, HookInput, HookJSONOutput, HookMatcher
    from claude_agent_sdk.types import HookEvent

__all__ = ["MainThread", "envelope_hooks"]

MainThread = Literal["if_present", "always", "never"]
"""Whether a message of the main agent is judged: if it has an envelope, always, or never."""

Event = Mapping[str, Any]
"""The data of an event; newer hosts send more fields than the types of the SDK declare."""

# The host cuts a ninth block in a row short, and the final text may then be lost.
_MOST_ATTEMPTS: Final = 8

_logger = logging.getLogger(__name__)


def envelope_hooks(
    *,
    agents: str = "goop-.*",
    main_thread: MainThread = "if_present",
    **terms: Unpack[ReviewOptions],
) -> dict[HookEvent, list[HookMatcher]]:
    """Return the hooks for `ClaudeAgentOptions(hooks=...)`.

    `agents` is a pattern for the subagents whose replies are judged. `terms` are those of `Review`;
    without an expected agent the subagent's own name is expected. A reply that is rejected goes
    back with what is wrong; when the review ends without an accepted one, the agent may stop, a
    message says what is left, and `on_stop` receives the outcome. So it does when the model fails
    for good, when another prompt follows an interrupted one, and when the program ends; a session
    that is closed after an interrupt is reported then. A failure of the hook itself is logged and
    lets the agent stop. A hook receives no usage, and it cannot bound a call of the model: a
    deadline is checked when a reply comes, counted from the first one. Raises PolicyError for more
    than 8 attempts and for `when_exhausted="raise"`, as a hook has nobody to raise to.
    """
    policy = terms.get("policy", DEFAULT_POLICY)
    if policy.max_attempts > _MOST_ATTEMPTS:
        raise PolicyError(
            f"max_attempts is {policy.max_attempts}; the host allows {_MOST_ATTEMPTS} at most"
        )

    if policy.when_exhausted == "raise":
        raise PolicyError(
            "when_exhausted is raise; a hook has nobody to raise to, so expected return and an"
            " on_stop"
        )

    hook = _StopHook(OpenReviews(**terms), terms.get("expected") or NOTHING_EXPECTED, main_thread)

    hooks: dict[Any, list[HookMatcher]] = {
        "SubagentStop": [HookMatcher(matcher=agents, hooks=[hook.on_subagent])],
        "Stop": [HookMatcher(hooks=[hook.on_main])],
        "UserPromptSubmit": [HookMatcher(hooks=[hook.on_prompt])],
        # The host calls it; the types of the SDK do not name it yet.
        "StopFailure": [HookMatcher(hooks=[hook.on_failure])],
    }

    return hooks


class _Reply(NamedTuple):
    """What the host delivers of an agent; `delivered` states that it takes no other reply."""

    text: str
    delivered: bool = False
    stop_reason: str | None = None


class _StopHook:
    """Answers the events SubagentStop and Stop."""

    def __init__(
        self, reviews: OpenReviews, expected: Expectations, main_thread: MainThread
    ) -> None:
        self._reviews, self._expected, self._main_thread = reviews, expected, main_thread

    async def on_subagent(
        self, hook_input: HookInput, _tool: str | None, _context: HookContext
    ) -> HookJSONOutput:
        event = cast("Event", hook_input)
        try:
            if event.get("agent_type") == "":
                return {}  # the host's own subagent, such as the one that compacts a conversation

            expected = replace(
                self._expected, agent=self._expected.agent or event.get("agent_type")
            )
            return self._answer(event, _last_reply(event, main=False), expected)
        except Exception:
            _logger.exception("the reply could not be judged; the agent may stop")
            return {}

    async def on_main(
        self, hook_input: HookInput, _tool: str | None, _context: HookContext
    ) -> HookJSONOutput:
        event = cast("Event", hook_input)
        try:
            reply = _last_reply(event, main=True)
            if self._main_thread == "never" or is_busy(event.get("background_tasks")):
                return {}
            if self._main_thread == "if_present" and not validate(reply.text).candidates:
                return {}
            return self._answer(event, reply, self._expected)
        except Exception:
            _logger.exception("the reply could not be judged; the agent may stop")
            return {}

    async def on_prompt(
        self, hook_input: HookInput, _tool: str | None, _context: HookContext
    ) -> HookJSONOutput:
        """Close the reviews of earlier prompts to the main agent: they were interrupted."""
        session, agent, prompt = _conversation(cast("Event", hook_input))

        def is_over(conversation: Any) -> bool:  # noqa: ANN401 - what _conversation made
            return bool(conversation[:2] == (session, agent) and conversation[2] != prompt)

        try:
            self._reviews.close(is_over)
        except Exception:
            _logger.exception("an interrupted prompt could not be reported")

        return {}

    async def on_failure(
        self, hook_input: HookInput, _tool: str | None, _context: HookContext
    ) -> HookJSONOutput:
        """End the review of an agent whose model failed for good."""
        event = cast("Event", hook_input)
        why = event.get("last_assistant_message") or event.get("error") or "the host does not say"
        try:
            self._reviews.fail(_conversation(event), RuntimeError(str(why)))
        except Exception:
            _logger.exception("the failure could not be reported")
        return {}

    def _answer(self, event: Event, reply: _Reply, expected: Expectations) -> HookJSONOutput:
        with self._reviews.of(_conversation(event), expected=expected) as review:
            feedback = review.hear(
                reply.text,
                last=reply.delivered,
                conversation_id=event.get("session_id"),
                stop_reason=reply.stop_reason,
            )
        if feedback is not None:
            return {"decision": "block", "reason": feedback}

        outcome = review.outcome
        if outcome.accepted:
            return {}

        last = review.attempts[-1]
        why = last.error or ", ".join(sorted({rule for rule, _ in last.findings_key}))
        return {"systemMessage": f"the report was not accepted ({outcome.stopped_because}): {why}"}


def _conversation(event: Event) -> tuple[Hashable, Hashable, Hashable]:
    """Return what the attempts are counted by: the session, the agent, and the prompt to it."""
    return event.get("session_id"), event.get("agent_id") or "main", event.get("prompt_id") or ""


def _last_reply(event: Event, *, main: bool) -> _Reply:
    """Return what the host delivers of the agent.

    An older host gives only the path of the transcript, and the event does not hold what an agent
    hands back by a tool.
    """
    text = event.get("last_assistant_message")
    message = text if isinstance(text, str) else None
    if main and message is not None:
        return _Reply(message)

    path = event.get("agent_transcript_path")
    if message is None:
        path = path or event.get("transcript_path")
    try:
        # Without waiting for late lines, which would stop all else in the event loop.
        ending = ending_of(None, path, host="claude-code", patient=False)
    except OSError:
        if message is None:
            raise
        ending = None

    if ending is None:
        return _Reply(message or "")
    if ending.handed_back is not None and not main:
        return _Reply(ending.handed_back, delivered=True)

    return _Reply(ending.message if message is None else message, stop_reason=ending.stop_reason)
