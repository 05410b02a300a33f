"""What others started in the session of an agent: the person at the prompt, and hooks."""

from collections.abc import Mapping

__all__ = ["is_of_hook", "is_of_person", "starts_command_of_person"]

_PERSON = ("<bash-input>", "<bash-stdout>", "<bash-stderr>", "<user_shell_command>")
_STARTS = ("<bash-input>", "<user_shell_command>")


def is_of_person(text: str) -> bool:
    """Return whether a message holds a command that the person ran, or what it printed."""
    return text.lstrip().startswith(_PERSON)


def starts_command_of_person(text: str) -> bool:
    """Return whether a message holds a command that the person ran."""
    return text.lstrip().startswith(_STARTS)


def is_of_hook(attachment: object) -> bool:
    """Return whether a hook of the project ran around a call of a tool; ours checks nothing."""
    if not isinstance(attachment, Mapping):
        return False
    kind, event, command = (attachment.get(key) for key in ("type", "hookEvent", "command"))
    return (
        isinstance(kind, str)
        and kind.startswith("hook_")
        and isinstance(event, str)
        and event.startswith(("PreToolUse", "PostToolUse"))
        and not (isinstance(command, str) and "goop-mcp" in command)
    )
