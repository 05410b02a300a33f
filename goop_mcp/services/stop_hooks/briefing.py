"""Instructions for agents before they work: the form of their report, and what to read first.

The texts are short, because each agent pays for them in tokens.
"""

import os
from typing import Final

from goop_mcp.protocols import families_of
from goop_mcp.services.stop_hooks.judged_by import JudgedBy
from goop_mcp.services.stop_hooks.profile import read_profile
from goop_mcp.validation.expectations import Expectations
from goop_mcp.workflow.agents import PLANNER, RESEARCHER, may_report_as, plain_agent_name
from goop_mcp.workflow.commands import PLUGIN_PREFIX
from goop_mcp.workspace.layout import BLUEPRINT, FOLDER, READING_ORDER, RESEARCH, SPEC

__all__ = ["brief_main_agent", "brief_subagent", "first_reading"]

_BEFORE_SEARCH: Final = 2
_RULES: Final = """\
Your last message must end with one envelope, and nothing after it. goop-mcp checks it and sends \
it back when it is missing or wrong. Build it with the tool build_report{protocol} from plain \
fields, and end with the text that it returns. Without that tool write it yourself in this form, \
filled in:
{envelope_template}"""
_GOOP_REPORT_RULES: Final = """
Where | divides words, write one of them. COMPLETE needs <verification> with checks that passed; \
BLOCKED needs its reason in <blockers>. For what you changed and saved add before <handoff>: \
<artifacts><files><file path="" action="created|modified|deleted">what</file></files>\
<commits><commit sha="">message</commit></commits></artifacts>\
<memory><saved type="decision|observation|note" importance="0.7">title</saved></memory>\
<verification><check name="tests" passed="true|false">command: result</check></verification>. \
In text write & as &amp; and < as &lt;."""
_SECTION_RULES: Final = """
All five sections, in Markdown and without XML. Where | divides words, write one of them; complete \
needs its checks under VERIFICATION with command and result, blocked its reason under NEXT. Each \
line of ARTIFACTS is a file by its path from the top of the project; after one that is gone write \
(deleted)."""
_MORE_RULES: Final = {"0.x": _GOOP_REPORT_RULES, "v1": _SECTION_RULES}
_MAIN: Final = """\
Subagents end with a machine-readable report; goop-mcp sends a missing or wrong one back before \
you see it. One that is marked as not accepted is not done. Tool route_next_action says who \
continues after a report; record_report(agent=NAME, last=true) also records it, without its text."""

_PREFIXED: Final = (
    "Commands are named with a prefix here: for /goop-plan the user types"
    f" /{PLUGIN_PREFIX}goop-plan, and so on for every /goop-… that a message names."
)


def brief_subagent(agent: str, judged_by: JudgedBy, *, project: str) -> str:
    """Return the instructions for a subagent of the type `agent`: its report, and what to read."""
    policy, profile = judged_by
    name = plain_agent_name(agent)
    expected = Expectations(
        agent=name if may_report_as(name, policy.agents) else None, agents=policy.agents
    )
    wanted = "goop_report" if policy.protocol == "auto" else policy.protocol
    # The form comes from the protocol itself, so that it cannot differ from what is checked.
    profile = profile or read_profile(project)
    family = next(each for each in families_of(profile) if each.name == wanted)
    rules = _RULES.format(
        protocol="" if wanted == "goop_report" else f" (protocol={wanted})",
        # An agent may be kept from all tools but its own, and still has to report.
        envelope_template=family.envelope_template(expected),
    )
    more = _MORE_RULES[profile] if wanted == "goop_report" else ""

    reading = first_reading(project)
    # Only the planner changes the contract and the plan (P-17).
    if name != PLANNER and any(document in reading for document in (SPEC, BLUEPRINT)):
        reading += f" {SPEC} and {BLUEPRINT} are read-only for you."
    if name == RESEARCHER and FOLDER in reading:
        reading += f" Write what you find out to {FOLDER}/{RESEARCH} and name it in your report."

    return f"{rules}{more}\n{reading}"


def brief_main_agent(project: str, *, prefixed: bool = False) -> str:
    """Return the instructions for the main agent at the start of a session.

    `prefixed` states that the host has the commands under the names of the plugin only, whereas
    messages and documents name them as the packages do.
    """
    names = f"\n{_PREFIXED}" if prefixed else ""
    return f"{_MAIN}{names}\n{first_reading(project)}"


def first_reading(project: str) -> str:
    """Return the order in which to read the existing documents and to search memory (P-05)."""
    # `os.path` instead of pathlib, which is slow to import.
    folder = os.path.join(project, FOLDER)  # noqa: PTH118
    there = [
        name
        for name in READING_ORDER
        if os.path.isfile(f"{folder}{os.sep}{name}")  # noqa: PTH113
    ]
    early = _read([name for name in READING_ORDER[:_BEFORE_SEARCH] if name in there])
    late = _read([name for name in READING_ORDER[_BEFORE_SEARCH:] if name in there])
    steps = [*early, "search the project's memory (tool search_memory)", *late]
    return f"Before you work {', then '.join(steps)}."


def _read(names: list[str]) -> list[str]:
    return [f"read {', '.join(f'{FOLDER}/{name}' for name in names)}"] if names else []
