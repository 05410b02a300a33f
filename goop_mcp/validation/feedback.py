"""Turn findings into feedback that an agent can act on.

Every text starts with the same phrase and ends with exactly one instruction. It names only the
violated rules: where, what was found, what was expected, what to do. It contains no address, no
message of a library and no echo of the reply, which would distract a model or be repeated by it.
"""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from goop_mcp.validation.envelope_rules import TOO_LARGE, TRUNCATED
from goop_mcp.validation.findings import Finding, Severity, counted_noun, excerpt
from goop_mcp.validation.limits import Limits
from goop_mcp.validation.stop_reasons import StopReason, advice_on

__all__ = ["OPENING", "after_stop", "compose_feedback", "for_hand_back", "for_last_message"]

OPENING = "Your report was not accepted."
"""The beginning of every feedback, by which hosts and tests recognize it."""

_LINE_CHARACTERS = 300
_SHORT_LINE_CHARACTERS = 230  # two of them, the opening and the instruction stay under 600
_FEW_ERRORS = 2
_LEAST_MESSAGE = 60
_TEMPLATE_CHARACTERS = 500
_RESEND = "Send the whole envelope again with these fixed and nothing else changed."
_SEND_ENVELOPE = (
    "Send only the envelope, in this form and filled in; the rest of your reply is kept."
)
_FOR_LAST_MESSAGE = {
    _SEND_ENVELOPE: (
        "Send your whole reply again with the envelope, in this form and filled in, at its end; "
        "only your last message is handed on."
    ),
    _RESEND: (
        "Send your whole reply again with these fixed and nothing else changed; only your last"
        " message is handed on."
    ),
}
_FOR_HAND_BACK = {
    _SEND_ENVELOPE: (
        "Call SubagentHandback again with your whole reply and the envelope, in this form and "
        "filled in, at its end; only what you give to it is handed on."
    ),
    _RESEND: (
        "Call SubagentHandback again with your whole reply, these fixed and nothing else changed;"
        " only what you give to it is handed on."
    ),
}
_FIRST = {
    TRUNCATED.id: 0,
    TOO_LARGE.id: 1,
    "xml/doctype": 2,
    "xml/malformed": 3,
    "json/malformed": 3,
}


def compose_feedback(
    findings: Sequence[Finding], *, no_envelope: bool, template: str, limits: Limits
) -> str:
    """Return the feedback to the agent about the errors among `findings`.

    `template` is the smallest envelope of the protocol; it is shown if there was none. The text has
    at most `limits.feedback_characters`; errors that do not fit are counted.
    """
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    if no_envelope:
        what = _sentence(errors[0].message) if errors else "It holds no envelope."
        form = template if len(template) <= _TEMPLATE_CHARACTERS else ""
        return f"{OPENING} {what}\n{form}\n{_SEND_ENVELOPE}"

    cut_off = next((finding for finding in errors if finding.rule == TRUNCATED.id), None)
    if cut_off is not None:
        return f"{OPENING} {_sentence(cut_off.message)} {cut_off.fix}"

    errors.sort(key=lambda finding: _FIRST.get(finding.rule, 9))
    count = counted_noun(len(errors), "error")
    head = f"{OPENING} {count}:"
    shown = _joined(errors)
    room = limits.feedback_characters - len(head) - len(_RESEND) - 60
    longest = _SHORT_LINE_CHARACTERS if len(shown) <= _FEW_ERRORS else _LINE_CHARACTERS
    lines: list[str] = []
    for finding in shown[: limits.feedback_findings]:
        place = f"line {finding.line}: " if finding.line is not None else ""
        rest = f" ({finding.rule}). {finding.fix}"
        # A long message is cut, never the rule and the fix.
        width = max(longest - len(place) - len(rest), _LEAST_MESSAGE)
        line = f"- {place}{excerpt(finding.message, width)}{rest}"
        if len(line) + 1 > room:
            break

        room -= len(line) + 1
        lines.append(line)

    left = len(shown) - len(lines)
    if left:
        lines.append(
            f"… and {left} more; fix these first." if lines else f"{counted_noun(left, 'error')}."
        )
    return "\n".join([head, *lines, _RESEND])


def for_last_message(feedback: str) -> str:
    """Return `feedback` for a host that passes on only the last message of an agent.

    It asks to repeat the whole reply.
    """
    return _with_instruction(feedback, _FOR_LAST_MESSAGE)


def for_hand_back(feedback: str) -> str:
    """Return `feedback` for an agent that hands its report back by a tool."""
    return _with_instruction(feedback, _FOR_HAND_BACK)


def after_stop(feedback: str, reason: StopReason | None) -> str:
    """Return `feedback` on a reply after which the model stopped for `reason`."""
    advice = advice_on(reason)
    return feedback.replace(OPENING, f"{OPENING} {advice}", 1) if advice else feedback


def _with_instruction(feedback: str, instructions: Mapping[str, str]) -> str:
    body, break_, instruction = feedback.rpartition("\n")
    return body + break_ + instructions.get(instruction, instruction)


def _joined(errors: Sequence[Finding]) -> Sequence[Finding]:
    """Return `errors` with one in place of many template values.

    An agent that copied a form does not need a list of its slots.
    """
    left = [finding for finding in errors if finding.rule.endswith("/placeholder-left")]
    if len(left) <= _FEW_ERRORS:
        return errors

    names: dict[str, None] = {}
    for finding in left:
        # An item of a list has the name of the list.
        steps = [step for step in (finding.path or "").split("/") if not step.isdecimal()]
        named = [step for step in steps if step not in ("", "text()")]
        if named:
            names[named[-1].lstrip("@").partition("[")[0]] = None

    places = counted_noun(len(left), "value")
    message = f"template text left in {places}: {', '.join(filter(None, names))}"
    fix = "Replace each by what is true; leave out what does not apply."
    first = replace(left[0], message=message, fix=fix)

    return [
        first if finding is left[0] else finding
        for finding in errors
        if finding is left[0] or finding not in left
    ]


def _sentence(message: str) -> str:
    return message[:1].upper() + message[1:].rstrip(".") + "."
