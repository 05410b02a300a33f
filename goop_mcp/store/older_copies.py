"""A copy of a database that was put back, and is older than what was shown of it since.

Revisions that were given after the copy was made stand in files and answers. A database that learns
of them gives none of them again, and notes once which of them it lacks.
"""

from typing import Final, Self

from goop_mcp.store.records import Event, NewEvent, Record

__all__ = ["OLDER_COPIES", "OlderCopy"]

OLDER_COPIES: Final = "database"
"""What the events about older copies name as their document, as events are found by that."""

_KIND: Final = "older_copy"


class OlderCopy(Record, frozen=True, kw_only=True):
    """The newest revision that a database `had`, when those up to `used` were given already."""

    had: int
    used: int

    def __str__(self) -> str:
        return (
            "the database was replaced by an older copy, or the project's files came from"
            f" elsewhere: it had revision {self.had}, and revisions up to {self.used} were given"
            " before, which now stand in files alone and are not given again; put a newer copy back"
            " with goop-mcp restore FILE, if there is one"
        )

    def event(self, *, now: str) -> NewEvent:
        """Return the event that notes it."""
        return NewEvent(
            kind=_KIND,
            author="goop-mcp",
            text=f"{self.had} {self.used}",
            created_at=now,
            document=OLDER_COPIES,
        )

    @classmethod
    def of_event(cls, event: Event) -> Self:
        """Return what `event` notes."""
        had, used = event.text.split()
        return cls(had=int(had), used=int(used))
