"""Rules about the position of a request in its prompt: in an xml fence, alone, and only once."""

from goop_mcp.validation.findings import Severity
from goop_mcp.validation.rules import Example, RuleList
from goop_mcp.validation.samples import REQUEST_PROMPT

__all__ = [
    "FENCE_COLLISION",
    "FENCE_LANGUAGE",
    "MULTIPLE_REQUESTS",
    "NO_ENVELOPE",
    "PLACEMENT_RULES",
    "UNFENCED",
]

_START = REQUEST_PROMPT.index("```xml\n")
_END = REQUEST_PROMPT.index("```\n", _START + 4) + 4
_FENCED = REQUEST_PROMPT[_START:_END]
_BARE = _FENCED.removeprefix("```xml\n").removesuffix("```\n")
_DETAILS = "<task_details>Write the tests first, then the endpoint.</task_details>"

PLACEMENT_RULES = RuleList()

NO_ENVELOPE = PLACEMENT_RULES.add(
    id="agent_request/no-envelope",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches=(
        "no XML handoff block; the XML is optional. Adoption policy `mandatory` makes it an error,"
        " except for SPIKE and research"
    ),
    why=(
        "A prompt in prose still works, but the agent has to find its limits and its deliverables"
        " by itself."
    ),
    fix="Add an <agent_request> in a fence marked xml, or leave the prompt as prose.",
    requirements=("H-30", "H-35", "H-53"),
    example=Example(good=_FENCED, bad="Add the endpoint and its tests.\n", reply=REQUEST_PROMPT),
)

UNFENCED = PLACEMENT_RULES.add(
    id="agent_request/unfenced",
    lenient=Severity.WARNING,
    strict=Severity.ERROR,
    catches="the block stands outside a fence",
    why=(
        "Tools that look for a fence marked xml do not find it, and Markdown renderers swallow the"
        " tags."
    ),
    fix="Put the request into a fence: a line ```xml before it and a line ``` after it.",
    requirements=("H-01", "H-19"),
    example=Example(good=_FENCED, bad=_BARE, reply=REQUEST_PROMPT),
)

FENCE_LANGUAGE = PLACEMENT_RULES.add(
    id="agent_request/fence-language",
    lenient=Severity.WARNING,
    strict=Severity.ERROR,
    catches="the fence is not marked `xml`",
    why="The mark distinguishes the block from other code.",
    fix="Begin the fence with ```xml.",
    requirements=("H-19",),
    example=Example(good="```xml\n", bad="```\n", reply=REQUEST_PROMPT),
)

FENCE_COLLISION = PLACEMENT_RULES.add(
    id="agent_request/fence-collision",
    lenient=Severity.WARNING,
    strict=Severity.ERROR,
    catches="a fence inside the block closes the outer one; read up to `</agent_request>`",
    why="Whoever cuts the block out by its fence gets only the first part of it.",
    fix="Use four backticks for the outer fence, or indent the inner one by four blanks.",
    requirements=("H-27",),
    example=Example(
        good=_DETAILS,
        bad="<task_details>Run:\n```bash\nmake test\n```\n</task_details>",
        reply=REQUEST_PROMPT,
    ),
)

MULTIPLE_REQUESTS = PLACEMENT_RULES.add(
    id="agent_request/multiple-requests",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="several agent_request blocks in one prompt file",
    why=(
        "One prompt is one task for one agent; taking the last block would drop a task without a"
        " word."
    ),
    fix="Write one prompt file for each request.",
    requirements=("H-19",),
    example=Example(
        good="The sessions are described in docs/sessions.md.\n",
        bad=f"Then do this too:\n\n{_FENCED}",
        reply=REQUEST_PROMPT,
    ),
)
