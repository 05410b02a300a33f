"""How rounds follow each other, and how what belongs to them is checked; for every engine."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from goop_mcp.errors import StoreError
from goop_mcp.store.records import (
    MOST_BYTES_OF_KEPT_REPLIES,
    Confirmation,
    NewKeptReply,
    Round,
    RoundOutcome,
)
from goop_mcp.validation.safe_json import JsonValue, load_object

__all__ = [
    "close_round",
    "counters_text",
    "next_round",
    "read_counters",
    "refuse_answered",
    "refuse_long_reply",
    "reopen_round",
]

_MOST_COUNTERS: Final = 64 * 1024
_DEPTH: Final = 8


def next_round(newest: Round, *, name: str | None, opened_at: str, revision: int) -> Round:
    """Return the round after `newest`. Raises StoreError while that is open."""
    if newest.is_open:
        raise StoreError(f"round {newest.number} is open; close it before the next one is opened")
    return Round(number=newest.number + 1, name=name, opened_at=opened_at, first_revision=revision)


def close_round(
    newest: Round, *, outcome: RoundOutcome, closed_at: str, plan_sha256: str | None, revision: int
) -> Round:
    """Return `newest` as closed. Raises StoreError when it is closed already."""
    if not newest.is_open:
        raise StoreError(f"round {newest.number} is closed already, as {newest.outcome}")
    return replace(
        newest,
        outcome=outcome,
        closed_at=closed_at,
        closed_revision=revision,
        plan_sha256=plan_sha256,
    )


def reopen_round(newest: Round) -> Round:
    """Return `newest` as open again. Raises StoreError when it is open."""
    if newest.is_open:
        raise StoreError(f"round {newest.number} is open; only a closed one is opened again")
    return replace(newest, outcome=None, closed_at=None, closed_revision=None, plan_sha256=None)


def refuse_answered(found: Confirmation | None, id: int) -> Confirmation:
    """Return the request `found` under `id`. Raises StoreError unless it waits for an answer."""
    if found is None:
        raise StoreError(f"there is no request {id} for a confirmation")
    if found.status != "open":
        raise StoreError(f"request {id} for a confirmation was answered before: {found.status}")
    return found


def refuse_long_reply(new: NewKeptReply) -> None:
    """Raise StoreError for a reply that has more bytes than all kept ones may have together."""
    # Without this the newest reply would be the first to be removed, and all others with it.
    if len(new.text.encode()) > MOST_BYTES_OF_KEPT_REPLIES:
        raise StoreError(
            f"the reply of {new.agent} has more than {MOST_BYTES_OF_KEPT_REPLIES:,} bytes, the most"
            " that is kept"
        )


def counters_text(values: Mapping[str, JsonValue]) -> str:
    """Return counters as the JSON that is stored.

    Raises StoreError for more than 64 KiB, and for what `read_counters` would not accept.
    """
    text = json.dumps(dict(values), sort_keys=True)
    if len(text) > _MOST_COUNTERS:
        raise StoreError(
            f"counters of a task take {len(text)} bytes of JSON; expected at most {_MOST_COUNTERS}"
        )
    if read_counters(text) is None:
        raise StoreError(f"counters of a task are no JSON of at most {_DEPTH} levels")

    return text


def read_counters(text: str) -> Mapping[str, JsonValue] | None:
    """Return the counters in stored JSON, None for any other text."""
    return load_object(text, depth=_DEPTH)
