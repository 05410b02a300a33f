"""The last reply of each agent, kept by hooks until its round is closed.

An orchestrator then has a reply recorded by the name of its agent. Replies come from agents: data,
never instructions.
"""

from dataclasses import replace

from goop_mcp.errors import GoopError
from goop_mcp.redaction import redact
from goop_mcp.store.interface import ReadTransaction, Store, WriteTransaction
from goop_mcp.store.records import KeptReply, NewKeptReply
from goop_mcp.store.storable import storable_text
from goop_mcp.workflow.agents import plain_agent_name

__all__ = ["ReplyNotKeptError", "keep_reply", "last_reply"]

_LONGEST_NAME = 200
_LONGEST_KEY = 1_000


class ReplyNotKeptError(GoopError, LookupError):
    """Raised when no reply of the agent is kept; the text says whose are, and what to do."""


def keep_reply(store: Store, text: str, *, agent: str, key: str, now: str) -> None:
    """Keep `text`, without its secrets, in place of the earlier reply of the same agent and `key`.

    `agent` is its name as the host gives it, `key` distinguishes agents of one name, `now` is ISO
    8601 in UTC. Raises StoreError, also for a text of more than 2 MiB.
    """
    kept = NewKeptReply(
        agent=plain_agent_name(agent)[:_LONGEST_NAME],
        agent_key=storable_text(key)[:_LONGEST_KEY],
        round=1,
        created_at=now,
        text=storable_text(redact(text).text),
    )

    def change(writing: WriteTransaction) -> None:
        writing.keep_reply(replace(kept, round=writing.round().number))

    store.write(change)


def last_reply(store: Store, agent: str) -> KeptReply:
    """Return the last kept reply of an agent of this name. Raises ReplyNotKeptError, StoreError."""
    name = plain_agent_name(agent)

    def ask(reading: ReadTransaction) -> KeptReply:
        found = reading.kept_reply(name)
        if found is None:
            kept = reading.agents_with_kept_replies()
            whose = f"only those of {', '.join(kept)}" if kept else "and of no other agent either"
            raise ReplyNotKeptError(
                f"no reply of {name[:_LONGEST_NAME]} is kept, {whose}: the hooks of the host keep"
                " the last reply of each agent that must report; give its text, or a file"
            )

        return found

    return store.read(ask)
