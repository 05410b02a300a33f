"""Read how a call of Codex ended where a rollout has no item for it: earlier versions of the host.

Until 0.128 or later the host wrote an event of its own for the end of each kind of call, and
some versions none at all: there the status stands in what the host gave to the model, before the
output, in lines that a command cannot write.
"""

import json
import re
from collections.abc import Mapping
from typing import Final

from goop_mcp.evidence.readers.blocks import text_at

__all__ = ["CUT", "ENDS", "item_of_end", "item_of_output"]

ENDS: Final[Mapping[str, str]] = {
    "exec_command_end": "CommandExecution",
    "patch_apply_end": "FileChange",
    "mcp_tool_call_end": "McpToolCall",
}
"""The events with which a call ended, and the item that the host completes instead today."""

CUT: Final = "Total output lines: "
# Each part is there at most once and in this order, and the output comes last.
_HEAD: Final = re.compile(
    r"(?:Chunk ID: [0-9a-f]{1,40}\n)?"
    r"(?:Exit code: (?P<code>\d{1,3})\n)?"
    r"Wall time: [\d.]{1,20} seconds?\n"
    r"(?:Process exited with code (?P<exited>\d{1,3})\n)?"
    r"(?:Original token count: \d{1,12}\n)?"
    rf"(?P<cut>{CUT}\d{{1,12}}\n)?"
    r"Output:(?:\n|\Z)"
)


def item_of_end(payload: Mapping[str, object]) -> Mapping[str, object] | None:
    """Return the item that an event of an earlier version stands for, None for any other event."""
    kind = ENDS.get(text_at(payload, "type"))
    if kind is None:
        return None

    item = {**payload, "type": kind, "id": text_at(payload, "call_id")}
    if kind == "FileChange":
        item["status"] = "completed" if payload.get("success") is True else "failed"
    elif kind == "McpToolCall":
        # A value of Rust: the result, or why there is none.
        result = payload.get("result")
        done = result.get("Ok") if isinstance(result, Mapping) else None
        item["status"] = "failed" if done is None else "completed"
        item["result"] = done
    return item


def item_of_output(output: str | None) -> Mapping[str, object] | None:
    """Return the item that an output given to the model stands for, None if it has no status.

    The output of a command that the host has shortened begins with `CUT`.
    """
    if output is None:
        return None
    if output.startswith('{"output":'):
        return _of_json(output)

    head = _HEAD.match(output)
    digits = head and (head["code"] or head["exited"])
    if head is None or not digits:
        return None
    return _ended(int(digits), (head["cut"] or "") + output[head.end() :])


def _of_json(output: str) -> Mapping[str, object] | None:
    try:
        value = json.loads(output)
    except (ValueError, RecursionError):
        return None

    about = value.get("metadata") if isinstance(value, Mapping) else None
    status = about.get("exit_code") if isinstance(about, Mapping) else None
    text = value.get("output") if isinstance(value, Mapping) else None
    if not isinstance(text, str) or not isinstance(status, int) or isinstance(status, bool):
        return None
    return _ended(status, text)


def _ended(status: int, output: str) -> Mapping[str, object]:
    return {"exit_code": status, "status": "completed", "aggregated_output": output}
