"""Judge the last message of an agent: block the end of its turn, or allow it with a reason.

A host waits for the process that loads this module, so that the values are named tuples: defining a
dataclass takes a millisecond each.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Protocol, TypeAlias, TypeVar
from zlib import crc32

from goop_mcp import redaction
from goop_mcp.protocols import FAMILIES, validate
from goop_mcp.services import stop_hooks
from goop_mcp.services.stop_hooks.attempts import (
    Rejection,
    RetryDecision,
    TurnState,
    of_turn,
    weigh,
)
from goop_mcp.services.stop_hooks.policy import StopPolicy
from goop_mcp.services.unverified import NO_PROJECT, SWITCHED_OFF
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.feedback import after_stop, for_hand_back, for_last_message
from goop_mcp.validation.findings import Severity, excerpt
from goop_mcp.validation.severities import NO_CHANGES, Severities
from goop_mcp.validation.stop_reasons import StopReason
from goop_mcp.validation.verdict import Requirement, Verdict
from goop_mcp.workflow.agents import may_report_as, plain_agent_name

if TYPE_CHECKING:
    from goop_mcp.evidence.corrections import Correction
    from goop_mcp.evidence.evidence import EvidenceSource
    from goop_mcp.validation.expectations import Profile
    from goop_mcp.validation.rules import Rule

__all__ = [
    "AgentTurn",
    "Allow",
    "Attempts",
    "BlockedStop",
    "Judge",
    "describe_errors",
    "has_mark",
    "hook_answer",
    "is_required",
    "judge_text",
    "judge_turn",
    "must_report",
    "required_tier",
    "shown_name",
    "why_unverified",
]

_T = TypeVar("_T")
_MOST_NAMED = 3
_WHY: Final = {
    RetryDecision.LIMIT: "it was asked {asked}",
    RetryDecision.SAME_REPLY: "it sent the same reply again after it was asked {asked}",
    RetryDecision.SAME_FINDINGS: "the same is wrong again after it was asked {asked}",
}
_DELIVERED: Final = "the host had delivered it already"
_STOPPED: Final[Mapping[StopReason, str]] = {
    "token_limit": " Its last reply was cut at the token limit.",
    "refusal": " The model refused to go on with its last reply.",
}
_ENDED: Final = {
    RetryDecision.LIMIT: "attempts",
    RetryDecision.SAME_REPLY: "no_progress",
    RetryDecision.SAME_FINDINGS: "no_progress",
}


class AgentTurn(NamedTuple):
    """The last message of an agent.

    `agent` is its type, None if the host names none; `text` is unchanged. `main` is True for the
    agent that talks with the person. `again` states that this message follows a request for a
    correction. `key` identifies the agent and its task among all running ones. `agents` are the
    project's name patterns of agents that report, `profile` is the form of their reports and
    `severities` are those that the project chose. `channel` is how the reply is delivered: as
    the last message, by a call of the tool SubagentHandback, which the host can refuse, or by one
    that it has `delivered`; the host takes one call, so that the agent is not asked again then.
    `ending` is why the model stopped, None for an ordinary end and where the host does not say.
    """

    agent: str | None
    text: str
    main: bool
    again: bool
    key: str
    agents: tuple[str, ...] = ()
    profile: "Profile" = "0.x"
    severities: Severities = NO_CHANGES
    channel: Literal["message", "call", "delivered"] = "message"
    ending: StopReason | None = None

    @property
    def expected(self) -> Expectations:
        """The expected values of the envelope.

        The name is expected only if GoopSpec or the project knows the agent.
        """
        name = plain_agent_name(self.agent) if self.agent else ""
        named = name if may_report_as(name, self.agents) else None
        return Expectations(
            agent=named,
            agents=self.agents,
            profile=self.profile,
            severities=self.severities,
        )


class BlockedStop(NamedTuple):
    """The agent must continue, with `feedback` on its reply `number` of this turn, from 1.

    `message` is for the person, None for none.
    """

    feedback: str
    verdict: Verdict
    number: int
    message: str | None = None


class Allow(NamedTuple):
    """The turn ends.

    `verdict` is None if no report was required; `message` is for the person, None if the report is
    accepted without a doubt. `number` is that of the reply in its turn, from 1, and `ended` is the
    reason of the end as in recorded attempts; both are None for a message that is not a report.
    `doubtful`: an accepted report claims more than the one that it corrects, or lacks text of it.
    """

    verdict: Verdict | None = None
    message: str | None = None
    number: int | None = None
    ended: str | None = None
    doubtful: bool = False


class Attempts(Protocol):
    """A storage of attempts; raises OSError if it cannot be used."""

    def change(self, key: str, decide: Callable[[TurnState | None], tuple[TurnState, _T]]) -> _T:
        """Replace the attempt at `key` by the first result of `decide`, and return the second."""
        ...  # pragma: no cover

    def find(self, key: str) -> TurnState | None:
        """Return the attempt at `key`, None without one."""
        ...  # pragma: no cover

    def forget(self, key: str) -> int:
        """Remove the attempt at `key`, and return how often the agent was asked."""
        ...  # pragma: no cover


Judge: TypeAlias = Callable[[str, Expectations, "Correction"], Verdict]


def must_report(turn: AgentTurn, policy: StopPolicy) -> bool:
    """Whether the message must be judged: a report is required, or the main agent gives one.

    Most messages of the main agent are not reports, because a person talks with it. A main agent
    that runs as one of the agents of the policy must report like a subagent.
    """
    if is_required(turn.agent, policy, main=turn.main):
        return True
    return turn.main and policy.main != "ignored" and has_mark(turn.text, policy)


def is_required(agent: str | None, policy: StopPolicy, *, main: bool) -> bool:
    """Whether the agent must report, whatever its message says."""
    named = agent is not None and policy.requires_report(agent)
    return named or (main and policy.main == "required")


def has_mark(text: str, policy: StopPolicy) -> bool:
    """Whether `text` may hold an envelope.

    A text search decides without loading a protocol, which would delay each message.
    """
    marks: Sequence[str] = [
        mark for each in FAMILIES if policy.protocol in ("auto", each.name) for mark in each.marks
    ]
    return any(mark in text for mark in marks)


def judge_turn(
    turn: AgentTurn,
    policy: StopPolicy,
    *,
    attempts: Attempts,
    judge: Judge | None = None,
    rules: "Sequence[Rule]" = (),
    evidence: "EvidenceSource | None" = None,
) -> BlockedStop | Allow:
    """Return whether the turn of an agent that must report may end.

    `judge` returns the verdict, compared with the attempt that the reply corrects; the default
    judges the text alone, by the built-in rules, the
    custom `rules` and the `evidence` of what the agent did. If `attempts` cannot be stored, the
    agent is asked only once, since the host states whether a check is the first of its turn. Raises
    RuleFailedError.
    """
    before = attempts.find(turn.key)
    before = before if of_turn(before, again=turn.again) else None
    correction = stop_hooks.corrections.correction_after(before)
    verdict = (
        judge_text(turn, policy, rules=rules, evidence=evidence, correction=correction)
        if judge is None
        else judge(turn.text, turn.expected, correction)
    )
    # The main agent may talk about envelopes without giving one.
    required = policy.main == "required" or (
        turn.agent is not None and policy.requires_report(turn.agent)
    )
    has_envelope = any(candidate.chosen for candidate in verdict.candidates)
    if not verdict.accepted and not required and not has_envelope:
        attempts.forget(turn.key)
        return Allow(verdict)
    if verdict.accepted:
        asked = attempts.forget(turn.key)
        name = shown_name(turn.agent) if turn.agent else "the main agent"
        lacks_text = stop_hooks.corrections.doubt_about(name, verdict, before)
        return Allow(
            verdict,
            lacks_text,
            asked + 1,
            "accepted_at_last" if asked >= policy.ask_again else "accepted",
            doubtful=lacks_text is not None or stop_hooks.corrections.has_changed_claims(verdict),
        )

    # The same errors with other messages or lines count as no progress.
    errors = sorted(
        {
            (each.rule, each.path or "", each.found or "")
            for each in verdict.of_severity(Severity.ERROR)
        }
    )
    stated, prose = stop_hooks.corrections.kept_of(correction, verdict)
    rejection = Rejection(
        reply=_digest(turn.text),
        findings=_digest(repr(errors)),
        again=turn.again,
        stated=stated,
        prose=prose,
    )
    asked, outcome, error = _count(turn, rejection, policy, attempts)
    if outcome is RetryDecision.ASK:
        form = for_hand_back if turn.channel == "call" else for_last_message
        feedback = after_stop(form(verdict.feedback or ""), turn.ending)
        # Hosts show it to people, and keep it. To look for secrets takes a fifth of a hook, and
        # most feedback quotes nothing but a name.
        if not all(_is_plain(each.found or "") for each in verdict.of_severity(Severity.ERROR)):
            feedback = redaction.shareable(feedback, turn.text)
        return BlockedStop(feedback, verdict, asked, message=error)

    times = {0: "not at all", 1: "once", 2: "twice"}.get(asked, f"{asked} times")
    name = shown_name(turn.agent) if turn.agent else "the main agent"
    why = _DELIVERED if turn.channel == "delivered" and not asked else _WHY[outcome]
    stopped = _STOPPED[turn.ending] if turn.ending is not None else ""
    message = (
        f"goop-mcp lets the report of {name} pass although it is not accepted:"
        f" {why.format(asked=times)}.{stopped} Still wrong: {describe_errors(verdict)}. The reply"
        " is unchanged; do not count its task as done."
    )
    message = f"{message} ({error})" if error else message

    return Allow(verdict, message, asked + 1, _ENDED[outcome])


def shown_name(agent: str) -> str:
    """Return the name of an agent as a message shows it, without the prefix of a plugin."""
    return excerpt(plain_agent_name(agent), 100)


def hook_answer(outcome: BlockedStop | Allow) -> dict[str, str]:
    """Return `outcome` in the form of the hooks of Claude Code; {} ends the turn silently."""
    answer = (
        {"decision": "block", "reason": outcome.feedback}
        if isinstance(outcome, BlockedStop)
        else {}
    )
    return {**answer, "systemMessage": outcome.message} if outcome.message else answer


def judge_text(
    turn: AgentTurn,
    policy: StopPolicy,
    *,
    rules: "Sequence[Rule]" = (),
    evidence: "EvidenceSource | None" = None,
    correction: "Correction | None" = None,
) -> Verdict:
    """Return the verdict on the text of the message, without verifying claims in the project."""
    return validate(
        turn.text,
        protocol=policy.protocol,
        mode=policy.mode,
        expected=turn.expected,
        rules=rules,
        evidence=evidence,
        require=required_tier(policy, evidence),
        correction=correction,
    )


def required_tier(policy: StopPolicy, evidence: "EvidenceSource | None") -> Requirement:
    """Return what a passed check must rest on, given whether the evidence can be read (D-105).

    An agent cannot help it that its transcript cannot be read. `evidence` is asked only where that
    counts, and once more by whoever judges.
    """
    if policy.require_evidence != "observed" or policy.unreadable == "reject":
        return policy.require_evidence

    # Few projects require evidence, and the others need not import this.
    from goop_mcp.evidence.evidence import activity_of  # noqa: PLC0415

    return "claimed" if activity_of(evidence).activity.unreadable else "observed"


def why_unverified(policy: StopPolicy, *, in_project: bool) -> str:
    """Return why claims are not verified in a folder, "" where they are (D-106)."""
    if not policy.check_workspace:
        return SWITCHED_OFF
    return "" if in_project else NO_PROJECT


def describe_errors(verdict: Verdict, *, lines_before: int = 0) -> str:
    """Return the first errors on one line, as rules with line numbers, and the number of others.

    `lines_before` is how many lines of the text that was judged its agent did not write.
    """
    errors = verdict.of_severity(Severity.ERROR)
    named = [
        f"{each.rule} (line {each.line - lines_before})"
        if each.line and each.line > lines_before
        else each.rule
        for each in errors[:_MOST_NAMED]
    ]
    left = len(errors) - len(named) + verdict.omitted

    return ", ".join(named) + (f" and {left} more" if left else "")


def _count(
    turn: AgentTurn, rejection: Rejection, policy: StopPolicy, attempts: Attempts
) -> tuple[int, RetryDecision, str | None]:
    """Return the number of requests, the decision, and a message if the number cannot be stored."""

    def decide(before: TurnState | None) -> tuple[TurnState, tuple[int, RetryDecision]]:
        limit = 0 if turn.channel == "delivered" else policy.ask_again
        after, outcome = weigh(before, rejection, limit=limit)
        return after, (after.asked, outcome)

    try:
        asked, outcome = attempts.change(turn.key, decide)
    except OSError as error:
        outcome = (
            RetryDecision.ASK if policy.ask_again and not rejection.again else RetryDecision.LIMIT
        )
        why = str(error.strerror or error).lower()
        return (
            1,
            outcome,
            (
                f"goop-mcp cannot keep the count of its requests ({why}), so it asks an agent once"
                " only, and does not compare a correction with what it corrects."
            ),
        )

    return asked, outcome, None


def _is_plain(found: str) -> bool:
    """Whether a quoted value is some words: the value of an enumeration, or a name."""
    return all(word.isalpha() for word in found.replace("_", " ").replace("-", " ").split())


def _digest(text: str) -> str:
    """Return a short digest that distinguishes two texts.

    A checksum is sufficient and fast to load: a collision, one in billions, saves one request.
    """
    content = text.encode("utf-8", "surrogatepass")
    return f"{len(content)}-{crc32(content):08x}"
