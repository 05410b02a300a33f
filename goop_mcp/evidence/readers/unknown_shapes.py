"""Find work in JSON of a kind that a reader does not know, as newer hosts write it.

Most of what a new version adds to its files shows no commands: settings, timings, copies
of requests. Only what may show a call that is listed nowhere else makes a history incomplete.
"""

from collections.abc import Container, Mapping
from typing import Final

__all__ = ["may_hide_work"]

_KINDS: Final = ("tool_use", "tool_result", "tool_call", "toolcall", "function_call", "command")
# A schema of a tool describes its argument "command" as well, but with an object.
_VALUES: Final[Mapping[str, tuple[type, ...]]] = {
    **dict.fromkeys(("argv", "cmd", "command", "commandline", "command_line"), (str, list)),
    **dict.fromkeys(("script", "stderr", "stdout", "tool", "toolname", "tool_name"), (str,)),
    **dict.fromkeys(("tooluseid", "tool_use_id", "toolcallid", "tool_call_id", "call_id"), (str,)),
    **dict.fromkeys(("exitcode", "exit_code", "exitstatus", "exit_status"), (int,)),
}
_MOST_VALUES: Final = 20_000


def may_hide_work(value: object, calls: Container[str]) -> bool:
    """Whether `value` shows a tool call or a command that is none of `calls`, their ids.

    Looks at 20,000 values at most; True for more. Linear.
    """
    pending = [value]
    seen = 0
    while pending:
        current = pending.pop()
        seen += 1
        if seen > _MOST_VALUES:
            return True
        if isinstance(current, list):
            pending += current
        elif isinstance(current, Mapping):
            if not _shows_work(current):
                pending += current.values()
            elif not any(isinstance(each, str) and each in calls for each in current.values()):
                return True

    return False


def _shows_work(value: Mapping[str, object]) -> bool:
    for name, inner in value.items():
        key = name.lower()
        if key == "type":
            if isinstance(inner, str) and any(kind in inner.lower() for kind in _KINDS):
                return True
        # A schema of a tool describes its argument "command" with an object.
        elif isinstance(inner, _VALUES.get(key, ())):
            return True

    return False
