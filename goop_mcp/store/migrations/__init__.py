"""The steps from one version of the tables to the next: numbered SQL files, one folder an engine."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

__all__ = ["Engine", "Migration", "load_migrations"]

Engine = Literal["sqlite", "postgres"]


@dataclass(frozen=True, slots=True)
class Migration:
    """The statements that lead from version `version - 1` to `version`; they run in one transaction."""

    version: int
    sql: str


def load_migrations(engine: Engine) -> tuple[Migration, ...]:
    """Return all steps of an engine in order; their numbers count from 1 without a gap."""
    files = sorted((Path(__file__).parent / engine).glob("*.sql"))
    return tuple(
        Migration(int(file.name.partition("_")[0]), file.read_text(encoding="utf-8"))
        for file in files
    )
