"""The scenes that each framework is put through, and what they share."""

from collections.abc import Callable
from typing import TypeVar

__all__ = ["MANY", "SCENES", "TASK", "Payments", "scene"]

T = TypeVar("T", bound=Callable[..., object])

SCENES = (
    "approval",
    "handoff",
    "session",
    "structured output",
    "tools counted",
    "100 at once",
    "cancelled during a call",
    "429 with Retry-After",
    "usage",
    "1,200 open conversations",
    "deadline",
)

TASK = "Implement the login form."
MANY = 1200


def scene(name: str) -> Callable[[T], T]:
    """Mark a test as the scene `name` of its framework; docs/frameworks.md has the table."""
    assert name in SCENES

    def mark(test: T) -> T:
        return test

    return mark


class Payments:
    """A side effect that is counted."""

    def __init__(self) -> None:
        self.made = 0

    def pay(self) -> str:
        """Pay the bill."""
        self.made += 1
        return "paid"
