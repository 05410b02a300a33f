"""Make a recorded transcript small, and independent of the machine that recorded it."""

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.e2e.clients import Sandbox
from tests.repository import ROOT

__all__ = ["clean_lines", "clean_rollout", "clean_session"]

_LONGEST_TEXT = 120
_MOST_ITEMS = 3
_COUNTED = ("assistant", "user")
_COUNTED_OF_CODEX = ("response_item", "event_msg", "compacted")


def clean_lines(text: str, sandbox: Sandbox) -> str:
    """Return a transcript in JSON Lines; lines that no reader counts are shortened."""
    lines = []
    for line in text.splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            lines.append(line)  # a line that was cut off is part of the record
            continue

        if value.get("type") not in _COUNTED and "queued_command" not in line:
            value = _shorten(value)
        lines.append(json.dumps(value, ensure_ascii=False, separators=(",", ":")))

    return _without_paths("\n".join(lines), sandbox) + "\n"


def clean_session(text: str, sandbox: Sandbox) -> str:
    """Return the session of a host that exports it as one JSON value."""
    value = json.loads(text)
    for message in value["messages"]:
        # The system prompt and the summary of changes are long, and no reader looks at them.
        message["info"].pop("system", None)
        message["info"].pop("summary", None)

    return _without_paths(json.dumps(value, ensure_ascii=False, indent=1), sandbox) + "\n"


def clean_rollout(text: str, sandbox: Sandbox) -> str:
    """Return a rollout of Codex; long instructions of the host are shortened."""
    lines = []
    for line in text.splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            lines.append(line)  # a line that was cut off is part of the record
            continue

        payload = value.get("payload", {})
        own = payload.get("role") == "developer" or value.get("type") not in _COUNTED_OF_CODEX
        lines.append(
            json.dumps(_shorten(value) if own else value, ensure_ascii=False, separators=(",", ":"))
        )

    return _without_paths("\n".join(lines), sandbox) + "\n"


def _shorten(value: object) -> object:
    match value:
        case str():
            return value if len(value) <= _LONGEST_TEXT else f"{value[:_LONGEST_TEXT]}…"
        case list():
            return [_shorten(each) for each in value[:_MOST_ITEMS]]
        case Mapping():
            return {key: _shorten(each) for key, each in value.items()}
        case _:
            return value


def _without_paths(text: str, sandbox: Sandbox) -> str:
    """Replace every path of this machine; the hosts make names of folders out of them as well."""
    folder = sandbox.project.parent
    places: dict[str, str] = {
        str(sandbox.project): "/project",
        str(sandbox.home): "/var/lib/user",
        str(sandbox.scratch): "/tmp/scratch",  # noqa: S108 - only a name in a record
        str(sandbox.programs): "/usr/local/bin",
        str(folder): "",
        str(Path(sys.prefix)): "/usr",
        str(Path(sys.base_prefix)): "/usr",
        str(ROOT): "/checkout",
    }
    for place, name in places.items():
        text = text.replace(place, name)
        slug = re.sub(r"[^A-Za-z0-9]", "-", place)
        text = text.replace(slug, re.sub(r"[^A-Za-z0-9]", "-", name))

    return text
