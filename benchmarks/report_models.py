"""Pydantic models shaped like a report: what a program would load that has only these and lxml.

Imported by the floor of the import benchmark.
"""

from typing import Literal

from pydantic import BaseModel

__all__ = ["Report"]


class Counter(BaseModel):
    """A wave or task."""

    current: int
    total: int


class State(BaseModel):
    """Where the workflow stands."""

    phase: Literal["plan", "research", "specify", "execute", "accept"]
    wave: Counter | None = None
    task: Counter | None = None
    spec_locked: bool | None = None


class FileChange(BaseModel):
    """A file that was touched."""

    path: str
    action: Literal["created", "modified", "deleted"]
    description: str = ""


class Commit(BaseModel):
    """A commit that was made."""

    sha: str
    message: str


class SavedMemory(BaseModel):
    """A memory that was saved."""

    type: Literal["decision", "observation", "note", "todo"]
    importance: float
    title: str


class Check(BaseModel):
    """A check that was run."""

    name: str
    passed: bool
    evidence: str = ""


class NextAction(BaseModel):
    """Who continues with what."""

    agent: str
    text: str


class Handoff(BaseModel):
    """How to continue."""

    ready: bool
    next_action: NextAction | None = None
    files_to_read: list[str] = []
    blockers: str | None = None
    suggest_new_session: bool = False


class Report(BaseModel):
    """The whole envelope."""

    version: str | None = None
    status: Literal["COMPLETE", "PARTIAL", "BLOCKED", "CHECKPOINT"]
    agent: str
    task_id: str | None = None
    state: State
    summary: str
    files: list[FileChange] = []
    commits: list[Commit] = []
    memory: list[SavedMemory] = []
    verification: list[Check] = []
    handoff: Handoff
