"""The migrations of the tables: numbered SQL files, one folder for each engine.

A released file never changes its statements, as databases that have run it exist. SQLite keeps the
text of each CREATE statement, comments inside it included, and that text is compared when a file
is opened (`goop_mcp.store.sqlite.schema`). Only comments between statements may change.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

__all__ = ["Engine", "Migration", "load_migrations"]

Engine = Literal["sqlite", "postgres"]


@dataclass(frozen=True, slots=True)
class Migration:
    """The statements that lead from `version - 1` to `version`; they run in one transaction."""

    version: int
    sql: str


def load_migrations(engine: Engine) -> tuple[Migration, ...]:
    """Return all migrations of an engine in order; their versions count from 1 without a gap."""
    files = sorted((Path(__file__).parent / engine).glob("*.sql"))
    return tuple(
        Migration(int(file.name.partition("_")[0]), file.read_text(encoding="utf-8"))
        for file in files
    )
