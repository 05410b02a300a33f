"""Scaffold a project for `goop-mcp init`: documents with headings, and state.json.

Nothing is overwritten.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from goop_mcp.messages.quoting import line
from goop_mcp.store.git_ignore import GIT_IGNORE, NOT_FOR_GIT
from goop_mcp.workspace.document_templates import document_template
from goop_mcp.workspace.documents.state_block import (
    StateBlock,
    marked_state_block,
    place_state_block,
    state_block_text,
)
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.layout import (
    ADL,
    BLUEPRINT,
    CHRONICLE,
    HOOK_SETTINGS,
    REQUIREMENTS,
    SPEC,
    STATE,
    document_path,
)
from goop_mcp.workspace.replacing import create_file
from goop_mcp.workspace.state import ProjectState, read_state

__all__ = ["Scaffolded", "create_project", "first_state"]

_DOCUMENTS: Mapping[str, str] = {
    REQUIREMENTS: "requirements",
    SPEC: "spec",
    BLUEPRINT: "blueprint",
    CHRONICLE: "chronicle",
    ADL: "adl",
}
"""The documents that are created, with the names of their templates."""

_HOOKS_OF_A_NEW_PROJECT = '{"record": true}\n'
"""Hooks record what they accept, so that nobody has to send a report twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaffolded:
    """The files that were created and those that existed, as paths relative to the project.

    `remark` says that another name was wanted than the project has, None if that is not so.
    """

    created: tuple[str, ...]
    kept: tuple[str, ...]
    remark: str | None = None


def create_project(
    files: ProjectFiles, *, name: str, now: str, stored: str | None = None
) -> Scaffolded:
    """Create the documents and state.json of a project that do not exist yet.

    Calling it again is safe. `now` is ISO 8601 in UTC. `stored` is the text of the state that a
    shared database keeps in place of a file. Raises PathRefusedError and UnwritableFileError.
    """
    title = line(name)
    texts = {
        document: document_template(template).filled(project=title, date=now)
        for document, template in _DOCUMENTS.items()
    }
    texts[GIT_IGNORE] = NOT_FOR_GIT
    found = read_state(files, stored=stored)
    # The first change of a state gives it a revision.
    never_changed = isinstance(found, ProjectState) and found.revision is None
    is_new = found is None or (stored is not None and never_changed)

    # The block of state in CHRONICLE.md repeats the state.json that exists.
    phase = "idle"
    if found is not None:
        phase = found.phase if isinstance(found, ProjectState) else ""

    # The gate of a phase depends on all documents, and the first report or step shows it.
    command = "/goop-discuss" if phase == "idle" else None
    # Only a project that begins here is known to be in its first round.
    round = 1 if is_new else None
    block = state_block_text(StateBlock(phase=phase or None, round=round, next_command=command))
    marked = marked_state_block(block, 0)
    texts[CHRONICLE] = place_state_block(texts[CHRONICLE], marked, line_end="\n")

    # Older projects keep their settings, or the defaults of those that have none.
    if is_new or files.exists(document_path(HOOK_SETTINGS)):
        texts[HOOK_SETTINGS] = _HOOKS_OF_A_NEW_PROJECT
    # Last: with its state a project is an older one, also for the call after one that was killed.
    if stored is None:
        texts[STATE] = first_state(name, now=now)

    # What git ignores comes with the folder, whoever creates it.
    ordered = sorted(texts.items(), key=lambda item: item[0] != GIT_IGNORE)
    created = {
        document
        for document, text in ordered
        if create_file(files, document_path(document), text.encode())
    }

    return Scaffolded(
        created=tuple(document_path(each) for each in texts if each in created),
        kept=tuple(document_path(each) for each in texts if each not in created),
    )


def first_state(name: str, *, now: str) -> str:
    """Return the text of state.json for a new project."""
    state = {
        "version": 1,
        "project": {"name": line(name), "initialized": now},
        "workflow": {
            "currentPhase": None,
            "phase": "idle",
            "mode": "standard",
            "depth": "standard",
            "researchOptIn": False,
            "specLocked": False,
            "acceptanceConfirmed": False,
            "interviewComplete": False,
            "interviewCompletedAt": None,
            "currentWave": 0,
            "totalWaves": 0,
            "lastActivity": now,
            "status": "idle",
        },
        "execution": {"activeCheckpointId": None, "completedPhases": [], "pendingTasks": []},
    }
    return json.dumps(state, indent=2, ensure_ascii=False) + "\n"
