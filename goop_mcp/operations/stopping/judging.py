"""Judge the last message of an agent that wants to end its turn: send it back, or let it pass and say why.

A host waits for a process that loads this: the values are named tuples, as a dataclass takes a millisecond to make.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias, TypeVar
from zlib import crc32

from goop_mcp.operations.stopping.attempts import Attempt, Outcome, Rejection, weigh
from goop_mcp.operations.stopping.policy import StopPolicy
from goop_mcp.protocols import FAMILIES, validate
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.feedback import for_last_message
from goop_mcp.validation.findings import Severity, excerpt
from goop_mcp.validation.verdict import Verdict
from goop_mcp.workflow.agents import may_report_as, plain_agent_name

if TYPE_CHECKING:
    from goop_mcp.validation.expectations import Profile
    from goop_mcp.validation.rules import Rule

__all__ = [
    "Allow",
    "Attempts",
    "Block",
    "Judge",
    "Turn",
    "describe_errors",
    "hook_answer",
    "judge_text",
    "judge_turn",
    "must_report",
]

_T = TypeVar("_T")
_MOST_NAMED = 3
_WHY: Final = {
    Outcome.LIMIT: "it was asked {asked}",
    Outcome.SAME_REPLY: "it sent the same reply again after it was asked {asked}",
    Outcome.SAME_FINDINGS: "the same is wrong again after it was asked {asked}",
}
_ENDED: Final = {
    Outcome.LIMIT: "attempts",
    Outcome.SAME_REPLY: "no_progress",
    Outcome.SAME_FINDINGS: "no_progress",
}


class Turn(NamedTuple):
    """What an agent says last.

    `agent` is its type, None where the host names none; `text` is as the agent gave it.

    `main` is True for the agent that talks with the person. `again` tells that this follows a
    request to mend. `key` names the agent and its task among all that run. `agents` are the
    patterns of names that the project lists for agents that report, `profile` says which form its
    reports have.
    """

    agent: str | None
    text: str
    main: bool
    again: bool
    key: str
    agents: tuple[str, ...] = ()
    profile: "Profile" = "0.x"

    @property
    def expected(self) -> Expectations:
        """What the envelope has to say; an agent whose name neither GoopSpec nor the project has may bear any in it."""
        name = plain_agent_name(self.agent) if self.agent else ""
        named = name if may_report_as(name, self.agents) else None
        return Expectations(agent=named, agents=self.agents, profile=self.profile)


class Block(NamedTuple):
    """The agent goes on: `feedback` is what it is told about its reply `number` of this turn, counted from 1.

    `told` is what the person has to know, None for nothing.
    """

    feedback: str
    verdict: Verdict
    number: int
    message: str | None = None


class Allow(NamedTuple):
    """The turn ends.

    `verdict` is None where nothing was owed; `told` is for the person, None when all is well.

    `number` is that of the reply in its turn, and `ended` says why the turn ends, as attempts on
    record do; None for a message that was no report.
    """

    verdict: Verdict | None = None
    message: str | None = None
    number: int | None = None
    ended: str | None = None


class Attempts(Protocol):
    """Where attempts are kept; raises OSError when they cannot be."""

    def change(self, key: str, decide: Callable[[Attempt | None], tuple[Attempt, _T]]) -> _T:
        """Replace the attempt under `key` by what `decide` makes of it, and return what it says besides."""
        ...  # pragma: no cover

    def forget(self, key: str) -> int:
        """Drop the attempt under `key`, and return how often the agent was asked."""
        ...  # pragma: no cover


Judge: TypeAlias = Callable[[str, Expectations], Verdict]


def must_report(turn: Turn, policy: StopPolicy) -> bool:
    """Tell whether the message is to be judged: a report is owed, or the main agent gives one of its own accord.

    A person talks with the main agent, so that most of its messages are no reports. A main agent that runs as one of
    the agents of the policy is held to it like a subagent.
    """
    if turn.agent is not None and policy.requires_report(turn.agent):
        return True
    if not turn.main or policy.main == "ignored":
        return False
    return policy.main == "required" or _may_report(turn.text, policy)


def judge_turn(
    turn: Turn,
    policy: StopPolicy,
    *,
    attempts: Attempts,
    judge: Judge | None = None,
    rules: "Sequence[Rule]" = (),
) -> Block | Allow:
    """Return what happens with a turn of which a report is owed.

    `judge` gives the verdict; None means that of the text alone, by our rules and the caller's own
    `rules`. When `attempts` cannot be kept, the agent is asked once, which the host's own word for
    a second check is enough for. Raises RuleFailedError.
    """
    verdict = (
        judge_text(turn, policy, rules=rules) if judge is None else judge(turn.text, turn.expected)
    )
    if _only_mentioned(turn, verdict, policy):
        attempts.forget(turn.key)
        return Allow(verdict)
    if verdict.accepted:
        asked = attempts.forget(turn.key)
        return Allow(
            verdict,
            None,
            asked + 1,
            "accepted_at_last" if asked >= policy.ask_again else "accepted",
        )

    rejection = Rejection(
        reply=_digest(turn.text), findings=_findings_digest(verdict), again=turn.again
    )
    asked, outcome, error = _count(turn, rejection, policy, attempts)
    if outcome is Outcome.ASK:
        return Block(for_last_message(verdict.feedback or ""), verdict, asked, message=error)

    told = _tell(turn, verdict, asked, outcome)

    return Allow(verdict, f"{told} ({error})" if error else told, asked + 1, _ENDED[outcome])


def hook_answer(outcome: Block | Allow) -> dict[str, str]:
    """Return `outcome` as hosts with the hooks of Claude Code understand it; {} lets the turn end without a word."""
    said = {"decision": "block", "reason": outcome.feedback} if isinstance(outcome, Block) else {}
    return {**said, "systemMessage": outcome.message} if outcome.message else said


def judge_text(turn: Turn, policy: StopPolicy, *, rules: "Sequence[Rule]" = ()) -> Verdict:
    """Return the verdict on what the agent says, without a look at the project."""
    return validate(
        turn.text, protocol=policy.protocol, mode=policy.mode, expected=turn.expected, rules=rules
    )


def describe_errors(verdict: Verdict) -> str:
    """Return the worst of what is wrong in one line: rules with their lines, the rest counted."""
    errors = verdict.of_severity(Severity.ERROR)
    named = [
        f"{each.rule} (line {each.line})" if each.line else each.rule
        for each in errors[:_MOST_NAMED]
    ]
    left = len(errors) - len(named) + verdict.omitted

    return ", ".join(named) + (f" and {left} more" if left else "")


def _count(
    turn: Turn, rejection: Rejection, policy: StopPolicy, attempts: Attempts
) -> tuple[int, Outcome, str | None]:
    """Return how often the agent was asked, what to do, and a sentence about a count that cannot be kept."""

    def decide(before: Attempt | None) -> tuple[Attempt, tuple[int, Outcome]]:
        after, outcome = weigh(before, rejection, limit=policy.ask_again)
        return after, (after.asked, outcome)

    try:
        asked, outcome = attempts.change(turn.key, decide)
    except OSError as error:
        outcome = Outcome.ASK if policy.ask_again and not rejection.again else Outcome.LIMIT
        why = str(error.strerror or error).lower()
        return (
            1,
            outcome,
            (
                f"goop-mcp cannot keep the count of its requests ({why}), so it asks an agent once"
                " only."
            ),
        )

    return asked, outcome, None


def _tell(turn: Turn, verdict: Verdict, asked: int, outcome: Outcome) -> str:
    times = {0: "not at all", 1: "once", 2: "twice"}.get(asked, f"{asked} times")
    name = excerpt(plain_agent_name(turn.agent), 100) if turn.agent else "the main agent"
    return (
        f"goop-mcp lets the report of {name} pass although it is not accepted:"
        f" {_WHY[outcome].format(asked=times)}. Still wrong: {describe_errors(verdict)}. The reply"
        " is unchanged; do not count its task as done."
    )


def _may_report(text: str, policy: StopPolicy) -> bool:
    """Tell without loading a protocol whether `text` may hold an envelope of it."""
    marks: Sequence[str] = [
        mark for each in FAMILIES if policy.protocol in ("auto", each.name) for mark in each.marks
    ]
    return any(mark in text for mark in marks)


def _only_mentioned(turn: Turn, verdict: Verdict, policy: StopPolicy) -> bool:
    """Tell whether the main agent only talked about envelopes."""
    if verdict.accepted:
        return False
    owes = policy.main == "required" or (
        turn.agent is not None and policy.requires_report(turn.agent)
    )
    return not owes and not any(candidate.chosen for candidate in verdict.candidates)


def _findings_digest(verdict: Verdict) -> str:
    errors = sorted(
        {
            (each.rule, each.path or "", each.found or "")
            for each in verdict.of_severity(Severity.ERROR)
        }
    )
    return _digest(repr(errors))


def _digest(text: str) -> str:
    """Return what tells two texts apart; whom a chance in billions meets is let go one request early."""
    content = text.encode("utf-8", "surrogatepass")
    return f"{len(content)}-{crc32(content):08x}"
