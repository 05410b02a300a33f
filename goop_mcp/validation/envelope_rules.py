"""Rules about any envelope: its place, its completeness, its size."""

import json

from goop_mcp.validation.findings import Severity
from goop_mcp.validation.rules import Example, RuleList
from goop_mcp.validation.samples import COMPLETE_REPLY, REQUEST_PROMPT

__all__ = [
    "AMBIGUOUS",
    "CONFLICTING_DUPLICATE",
    "ENVELOPE_RULES",
    "FOREIGN_BLOCK",
    "HOST_ERROR",
    "HOST_TRANSFORMED",
    "IN_THINKING",
    "LINE_ENDS",
    "MULTIPLE",
    "NOT_AT_END",
    "NO_ENVELOPE",
    "ROOT_NOT_CLOSED",
    "TAKEN_BACK",
    "TOO_DEEP",
    "TOO_LARGE",
    "TRUNCATED",
]

_ROOT_END = "</goop_report>"
_REPORT = COMPLETE_REPLY[COMPLETE_REPLY.index("<goop_report") : COMPLETE_REPLY.index("```\n", 60)]
_DEEP = "<a>" * 70 + "deep" + "</a>" * 70

ENVELOPE_RULES = RuleList()

NO_ENVELOPE = ENVELOPE_RULES.add(
    id="envelope/no-envelope",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches='`protocol="auto"` and nothing in the text looks like an envelope',
    why=(
        "Output that cannot be read must never count as done; the orchestrator would go on without"
        " knowing what happened."
    ),
    fix="End the reply with the envelope; `goop-mcp prompt goop_report` shows its form.",
    requirements=("G-01", "S-09", "F-10"),
    example=Example(good=COMPLETE_REPLY, bad="Done. All tests pass.", reply=COMPLETE_REPLY),
)

MULTIPLE = ENVELOPE_RULES.add(
    id="envelope/multiple",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches=(
        "several complete envelopes; the last one outside a thinking block is taken, all are listed"
        " in `candidates`"
    ),
    why=(
        "A reply may quote the template or an earlier draft. The agent's last word counts, and the"
        " caller should know that there was more than one."
    ),
    fix="Send one envelope only, as the last thing in the reply.",
    requirements=("G-04",),
    example=Example(
        good="The login endpoint is there and tested.",
        bad=f"First draft:\n\n```xml\n{_REPORT}```\n\nFinal report:",
        reply=COMPLETE_REPLY,
    ),
)

AMBIGUOUS = ENVELOPE_RULES.add(
    id="envelope/ambiguous",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches='`protocol="auto"`, envelopes of different protocols, and none of them ends the text',
    why=(
        "A report may quote the request it answers. Where neither comes last, taking one would be a"
        " guess."
    ),
    fix=(
        "Send one envelope only, as the last thing in the reply; quote others inside of it or not"
        " at all."
    ),
    requirements=("G-04", "F-26"),
    example=Example(
        good="```\n",
        bad=(
            '```\n\n```json\n{"status": "failure", "error": {"type": "technical_error", "message":'
            ' "x"}}\n```\n\nThat was all.\n'
        ),
        reply=COMPLETE_REPLY,
    ),
)

NOT_AT_END = ENVELOPE_RULES.add(
    id="envelope/not-at-end",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="goop_report only: text after `</goop_report>` other than the closing fence",
    why="The report stands at the END of the reply, so that whoever reads from the end finds it.",
    fix="Move everything that follows the envelope in front of it.",
    requirements=("G-02", "P-02"),
    example=Example(
        good=f"{_ROOT_END}\n```\n",
        bad=f"{_ROOT_END}\n```\n\nLet me know if I should go on.\n",
        reply=COMPLETE_REPLY,
    ),
)

TAKEN_BACK = ENVELOPE_RULES.add(
    id="envelope/taken-back",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches=(
        "text after the envelope says that it does not hold: `disregard the report above`,"
        " `Correction: …`"
    ),
    why=(
        "The orchestrator would go on with what the agent has taken back. Only fixed forms decide;"
        " quotations and fences are left out."
    ),
    fix="Send one report that says what is true now, and nothing after it.",
    requirements=("G-02", "P-02"),
    example=Example(
        good=f"{_ROOT_END}\n```\n",
        bad=f"{_ROOT_END}\n```\n\nCorrection: the report above is wrong, the work is blocked.\n",
        reply=COMPLETE_REPLY,
    ),
)

TRUNCATED = ENVELOPE_RULES.add(
    id="envelope/truncated",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches=(
        "the envelope stops in the middle (cut-off reply); nothing is completed, no field of it is"
        " used for routing"
    ),
    why=(
        "A reply that hit the token limit may carry a complete status and nothing else. Completing"
        " it would invent the rest."
    ),
    fix=(
        "Your reply was cut off. Send the whole envelope again, shorter: a brief summary, no long"
        " lists."
    ),
    requirements=("G-01", "S-09", "F-10", "H-31"),
    example=Example(
        good=COMPLETE_REPLY,
        bad='<goop_report version="0.1.6">\n<status>COMPLETE</status>\n<agent>goop-ex',
        reply=COMPLETE_REPLY,
    ),
)

ROOT_NOT_CLOSED = ENVELOPE_RULES.add(
    id="envelope/root-not-closed",
    lenient=Severity.WARNING,
    strict=Severity.ERROR,
    catches=(
        "every part is closed and everything required is there, only the outermost end tag is"
        " missing; closed. In JSON only where the closing fence follows: without it members may be"
        " missing, and it is `envelope/truncated`"
    ),
    why=(
        "All of the agent's words are there, so closing the root adds no meaning. Anything less is"
        " a cut-off reply."
    ),
    fix="Close the envelope with its end tag.",
    requirements=("G-01", "S-09"),
    example=Example(good=f"{_ROOT_END}\n", bad="", reply=COMPLETE_REPLY),
)

IN_THINKING = ENVELOPE_RULES.add(
    id="envelope/in-thinking",
    lenient=Severity.INFO,
    strict=Severity.INFO,
    catches="an envelope inside a thinking block was passed over",
    why="What an agent thinks aloud is a draft, not its answer.",
    fix="Nothing to do: envelopes in thinking blocks are ignored.",
    requirements=("G-04",),
    example=Example(
        good="The login endpoint is there and tested.",
        bad=f"<thinking>draft:\n{_REPORT}</thinking>",
        reply=COMPLETE_REPLY,
    ),
)

HOST_TRANSFORMED = ENVELOPE_RULES.add(
    id="envelope/host-transformed",
    lenient=Severity.INFO,
    strict=Severity.INFO,
    catches=(
        "a host had indented or XML-escaped the whole text, or put it into JSON of its own; that"
        " was undone before reading"
    ),
    why="Hosts hand a subagent's reply on in altered form. The agent did nothing wrong.",
    fix="Nothing to do: the host changed the text, not the agent.",
    requirements=("G-03",),
    example=Example(
        good=COMPLETE_REPLY,
        bad="<task-notification>\n<result>"
        + COMPLETE_REPLY.replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
        + "</result>\n</task-notification>",
        reply=COMPLETE_REPLY,
    ),
)

HOST_ERROR = ENVELOPE_RULES.add(
    id="envelope/host-error",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="JSON of a host around the reply that says that the run failed (`is_error`)",
    why="A run that ended at a limit or with an error may have stopped before its work was done.",
    fix="Look at why the run ended, and have it finished before the report counts.",
    requirements=("G-03",),
    example=Example(
        good=COMPLETE_REPLY,
        bad=json.dumps({"type": "result", "is_error": True, "result": COMPLETE_REPLY}),
        reply=COMPLETE_REPLY,
    ),
)

LINE_ENDS = ENVELOPE_RULES.add(
    id="envelope/line-ends",
    lenient=Severity.WARNING,
    strict=Severity.ERROR,
    catches="lines that end with a carriage return alone, in the whole text; read as line feeds",
    why=(
        "Fences and headings stand on lines of their own. To most readers such a text is one single"
        " line."
    ),
    fix="End lines with a line feed.",
    requirements=("H-27", "G-03"),
    example=Example(
        good=COMPLETE_REPLY, bad=COMPLETE_REPLY.replace("\n", "\r"), reply=COMPLETE_REPLY
    ),
)

FOREIGN_BLOCK = ENVELOPE_RULES.add(
    id="envelope/foreign-block",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="agent_request only: an `xml` fence with another root; ignored",
    why=(
        "A task about a pom.xml shows one. It is not a handoff, and the agent that gets the prompt"
        " should know so too."
    ),
    fix="Nothing to do unless the block was meant as the handoff: its root is <agent_request>.",
    requirements=("H-26",),
    example=Example(
        good="The sessions are described in docs/sessions.md.\n",
        bad="Fix this:\n\n```xml\n<project><modelVersion>4.0.0</modelVersion></project>\n```\n",
        reply=REQUEST_PROMPT,
    ),
)

TOO_LARGE = ENVELOPE_RULES.add(
    id="envelope/too-large",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="text or envelope over a size limit: bytes, elements, attributes, one field",
    why="A hostile or runaway reply must not hold up the process that checks it.",
    fix="Shorten the envelope: name files and results, leave their contents out.",
    requirements=("H-63",),
    example=Example(
        good="Added the login endpoint.",
        bad="Added the login endpoint. " + "x" * 70_000,
        reply=COMPLETE_REPLY,
    ),
)

TOO_DEEP = ENVELOPE_RULES.add(
    id="envelope/too-deep",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="nesting over the depth limit",
    why="No envelope needs more than a few levels; deep nesting serves to exhaust a parser.",
    fix="Remove the deeply nested elements.",
    requirements=("H-60", "H-63"),
    example=Example(
        good="  <memory>", bad=f"  <extra>{_DEEP}</extra>\n  <memory>", reply=COMPLETE_REPLY
    ),
)

CONFLICTING_DUPLICATE = ENVELOPE_RULES.add(
    id="envelope/conflicting-duplicate",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches=(
        "an attribute or key twice, in different case, with different values; a root attribute that"
        " contradicts its element"
    ),
    why="Readers differ in which of the two they take, so the reply says two things at once.",
    fix="Keep the one value that is true, under the name of the schema.",
    requirements=("G-08", "S-13"),
    example=Example(
        good='<check name="tests" passed="true">',
        bad='<check name="tests" passed="true" Passed="false">',
        reply=COMPLETE_REPLY,
    ),
)
