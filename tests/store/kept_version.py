"""Keep the database of the newest version: `python -m tests.store.kept_version` writes the file.

Run it once for each new migration, before the release that contains it.
"""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from goop_mcp.store.interface import Store, WriteTransaction
from goop_mcp.store.migrations import load_migrations
from goop_mcp.store.opening import open_store
from goop_mcp.store.records import Projection
from tests.repository import ROOT
from tests.store.rows import (
    ATTEMPT,
    EVENT,
    JUDGEMENT,
    NOW,
    REPLY,
    REPORT,
    REQUEST,
    RUN,
    SPEC,
    new_memory,
)

__all__ = ["KEPT_FILES", "fill"]

KEPT_FILES = ROOT / "tests" / "cases" / "store"


def fill(store: Store) -> None:
    """Write a row of each kind, three memories of which the second is forgotten."""

    def write(writing: WriteTransaction) -> None:
        writing.add_memory(
            replace(new_memory("one"), concepts=("Auth", "größe"), sketches=(7,), facts=("A fact",))
        )
        two = writing.add_memory(new_memory("two"))
        writing.add_memory(new_memory("three"))
        writing.forget_memory(two.id, forgotten_at=NOW)
        writing.add_report(REPORT)
        writing.add_event(EVENT)
        writing.set_projection(Projection(path="HANDOFF.md", revision=writing.next_revision()))
        writing.add_attempts([ATTEMPT])
        writing.add_judgement(JUDGEMENT)
        writing.add_confirmation(REQUEST)
        writing.set_stored_state("{}")
        writing.keep_document(SPEC)
        writing.set_counters(round=1, task="W1.T1", values={"attempts": 2})
        writing.keep_reply(REPLY)
        writing.keep_run(RUN)

    store.write(write)


if __name__ == "__main__":
    newest = load_migrations("sqlite")[-1].version
    with TemporaryDirectory() as name:
        project = Path(name)
        store = open_store(None, project=project)
        fill(store)
        store.close()
        database = project / ".goopspec" / "goop.db"
        (KEPT_FILES / f"version-{newest}.db").write_bytes(database.read_bytes())
