"""The messages that ask an agent again, one form for each strategy."""

from collections.abc import Sequence

from goop_mcp.protocols import RULES
from goop_mcp.retry.attempts import Attempt
from goop_mcp.retry.replies import Message, Way
from goop_mcp.validation.envelope_rules import TRUNCATED
from goop_mcp.validation.feedback import OPENING, after_stop
from goop_mcp.validation.findings import Finding, Severity

__all__ = ["ask_again"]

_MOST_EXAMPLES = 3
_MOST_FIXES = 8
_EXAMPLE_CHARACTERS = 300
_END = "End your reply with the report."
_KEEP_SHORT = (
    "- Keep the reply short, with a brief summary and no long lists: a long one is cut off before"
    " its end."
)
# Of what the agent sent. The end of a longer text is repeated, as reports are at the end.
_REPEATED_CHARACTERS = 32_000


def ask_again(task: str, replies: Sequence[Attempt], way: Way, *, attempt: int) -> Message:
    """Return the message that follows on `replies`, the last of which was rejected.

    An error that the previous reply had as well is marked as repeated, with a correct line.
    """
    if way == "fresh":
        return Message(_fresh(task, replies), way, attempt)

    text = _feedback(replies)
    if way == "minimal":
        # There is no history, so what was sent is repeated: the envelope, or all without one.
        last = replies[-1]
        sent = last.reply or ""
        if last.verdict is not None and last.verdict.span is not None:
            sent = last.verdict.read_text[slice(*last.verdict.span)]
        if len(sent) > _REPEATED_CHARACTERS:
            sent = f"…{sent[-_REPEATED_CHARACTERS:]}"

        text = f"This is what you sent:\n\n{sent}\n\n{text}"

    return Message(text, way, attempt)


def _fresh(task: str, replies: Sequence[Attempt]) -> str:
    """Return the task with what to avoid.

    The rejected replies are left out: an agent that reads them repeats their errors.
    """
    errors = _errors(replies[-1])
    if any(finding.rule.endswith("/no-envelope") for finding in errors):
        form = _feedback(replies[-1:]).partition("\n")[2].rpartition("\n")[0].strip()
        instruction = (
            f"End your reply with the report, in this form and filled in:\n{form}" if form else _END
        )
        return f"{task}\n\n{instruction}"

    short = [_KEEP_SHORT] if replies[-1].stop_reason == "token_limit" else []
    lines = list(dict.fromkeys([*short, *map(_to_mind, errors)]))[:_MOST_FIXES]

    return "\n".join(
        [
            task,
            "",
            "End your reply with the report, and mind what is often done wrong in it:",
            *lines,
        ]
    )


def _to_mind(finding: Finding) -> str:
    """Return what to do at which place, for an agent that does not know of the error."""
    if finding.rule == TRUNCATED.id:
        return _KEEP_SHORT

    place = f"{finding.path}: " if finding.path else ""
    values = (
        finding.expected
        if finding.expected and any(each not in finding.fix for each in finding.expected)
        else ()
    )

    return f"- {place}{finding.fix}" + (f" One of: {', '.join(values)}." if values else "")


def _feedback(replies: Sequence[Attempt]) -> str:
    """Return the verdict's feedback, with repeated errors before its last line.

    That line is the instruction.
    """
    verdict = replies[-1].verdict
    feedback = (verdict.feedback if verdict is not None else None) or ""
    feedback = after_stop(feedback, replies[-1].stop_reason)
    if len(replies) == 1:
        return feedback

    # One line for each rule that the last two replies broke at the same place.
    before = replies[-2].findings_key
    same = {each.rule: each for each in _errors(replies[-1]) if (each.rule, each.path) in before}
    repeated = [_describe_repeated(finding) for finding in list(same.values())[:_MOST_EXAMPLES]]
    if not repeated:
        return feedback

    # The instruction stays last. Feedback of a single line has no instruction apart.
    head, _, instruction = feedback.rpartition("\n")
    if not head:
        return "\n".join([OPENING, *repeated, feedback.removeprefix(OPENING).strip()])
    return "\n".join([head, *repeated, instruction])


def _describe_repeated(finding: Finding) -> str:
    """Say that an error is repeated, and show a correct line.

    Where one of several values is to be chosen, all are shown: an example would suggest its value.
    """
    again = f"{finding.rule} stands again: the reply before had the same error."
    if finding.expected:
        return f"{again} Write exactly one of: {', '.join(finding.expected)}"

    line = RULES[finding.rule].example.good.strip() if finding.rule in RULES else ""

    return (
        f"{again} A line of this form is expected: {line}"
        if 0 < len(line) <= _EXAMPLE_CHARACTERS
        else again
    )


def _errors(reply: Attempt) -> tuple[Finding, ...]:
    return reply.verdict.of_severity(Severity.ERROR) if reply.verdict is not None else ()
