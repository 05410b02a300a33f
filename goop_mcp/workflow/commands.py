"""The commands of the packages (G-35; WORKFLOW, section 3)."""

import re

__all__ = ["KNOWN_COMMANDS", "command_name"]

_NAMES = """
accept amend complete debug discuss execute help map-codebase memory milestone pause plan pr-review quick recall
remember research resume setup specify status
"""

KNOWN_COMMANDS = frozenset(f"/goop-{name}" for name in _NAMES.split())
"""The union over all package versions."""

_FORM = re.compile(r"(/goop-[a-z0-9]+(?:-[a-z0-9]+)*)(?:\s.*)?", re.DOTALL)


def command_name(text: str) -> str | None:
    """Return the `/goop-[command]` at the start of `text`, without its arguments; None when it is none (G-34)."""
    match = _FORM.fullmatch(text.strip())
    return match[1] if match else None
