"""Generate docs/protocols/visual_style.md; `make docs` writes it."""

import sys

from goop_mcp.messages.icons import PHASE_ICONS, STYLE_VERSION, StatusIcon
from goop_mcp.messages.rendering import (
    Choice,
    Position,
    TaskLine,
    decision_required,
    gate_blocked,
    gate_passed,
    phase_complete,
    phase_start,
    progress,
    session_handoff,
    status_display,
)
from goop_mcp.messages.rules import VISUAL_STYLE_RULES

__all__ = ["visual_style_markdown"]

_HEAD = """\
# The visual style, v{version}

Messages that people read from agents and from goop-mcp have one form: a header with the crystal
ball and the middle dot, sections with a blank line between them, `→` before the next step, `---` at
the end. The style has its own version, independent of that of the envelopes. This file is generated
from the templates by `make docs`.
"""

_SAMPLES = (
    ("A phase begins", phase_start("Plan", "Interview and blueprint")),
    ("A gate is passed", gate_passed()),
    ("A gate is closed", gate_blocked("Specification not locked.", command="/goop-plan")),
    (
        "Where the work stands",
        progress(
            phase="execute",
            wave=Position(2, 3),
            task=Position(3, 4),
            completed=[TaskLine("2.2", "Add the login endpoint")],
            in_progress=[TaskLine("2.3", "Add the session store")],
        ),
    ),
    (
        "A phase is finished",
        phase_complete("Execute", summary="Every wave is done.", next_command="/goop-accept"),
    ),
    (
        "The user decides",
        decision_required(
            "Which store?", [Choice("A", "Postgres (recommended)"), Choice("B", "SQLite")]
        ),
    ),
    (
        "A session hands over",
        session_handoff(
            accomplished=["Add the login endpoint"],
            phase="execute",
            spec_locked=True,
            wave=Position(2, 3),
            next_command="/goop-execute",
        ),
    ),
    (
        "How a project stands",
        status_display(
            project="demo",
            interview_complete=True,
            spec_locked=True,
            accepted=False,
            next_command="/goop-execute",
        ),
    ),
)


def visual_style_markdown() -> str:
    """Return docs/protocols/visual_style.md, ending with a line feed."""
    icons = [(icon.value, icon.name.lower()) for icon in StatusIcon]
    phases = [(icon, phase) for phase, icon in PHASE_ICONS.items()]
    rules = [(f"`{rule.id}`", rule.catches) for rule in VISUAL_STYLE_RULES]

    return "\n".join(
        [
            _HEAD.replace("{version}", STYLE_VERSION),
            "## Messages\n",
            *(f"### {title}\n\n````markdown\n{text.rstrip()}\n````\n" for title, text in _SAMPLES),
            "## Icons\n",
            _table(("icon", "means"), icons),
            _table(("icon", "phase"), phases),
            (
                "## Rules\n\n`check_message` finds what is not in the style; all are warnings.\n\n"
                "```python\nfrom goop_mcp.messages import check_message\n\n"
                "for finding in check_message(message):\n"
                "    print(finding.line, finding.rule, finding.message)\n```\n"
            ),
            _table(("rule", "catches"), rules),
        ]
    )


def _table(head: tuple[str, str], rows: list[tuple[str, str]]) -> str:
    return "".join(f"| {first} | {second} |\n" for first, second in (head, ("---", "---"), *rows))


if __name__ == "__main__":
    sys.stdout.write(visual_style_markdown())
