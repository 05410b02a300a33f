"""The message templates of visual-style-0.2.0, with slots in braces.

Slots are filled by plain replacement, each once: what agents wrote is never read as a template
(D-85).
"""

from goop_mcp.messages.icons import PRIMARY_ICON, SEPARATOR

__all__ = [
    "DECISION_REQUIRED",
    "DIVIDER",
    "GATE_BLOCKED",
    "GATE_PASSED",
    "HEADER",
    "NEXT_STEP",
    "NOTICE",
    "PHASE_COMPLETE",
    "PROGRESS",
    "RUN",
    "SESSION_HANDOFF",
    "STATUS_DISPLAY",
    "TO_CONTINUE",
]

HEADER = f"## {PRIMARY_ICON} GoopSpec {SEPARATOR} "
DIVIDER = "---"

NOTICE = "{content}"
GATE_PASSED = "✓ Gate passed. Proceeding..."
GATE_BLOCKED = "{icon} {reason}"
RUN = "→ Run: `{command}`"
NEXT_STEP = "### Next Step\n→ `{command}`"
PROGRESS = "**Phase:** {phase} | **Wave:** {wave} | **Task:** {task}"
PHASE_COMPLETE = "✨ {phase} finished successfully\n\n### Summary\n{summary}"
DECISION_REQUIRED = "⚠️ {context}"
SESSION_HANDOFF = "### Current State\n**Phase:** {phase} | **Spec:** {spec} | **Wave:** {wave}"
TO_CONTINUE = "### To Continue\nStart a new session, then run: `{command}`"
STATUS_DISPLAY = """\
**Project:** {project}

| Gate | Status |
|------|--------|
| Interview | {interview} |
| Spec Lock | {lock} |
| Acceptance | {acceptance} |"""
