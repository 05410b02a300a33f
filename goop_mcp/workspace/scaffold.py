"""What `goop-mcp init` lays down: the documents with their headings, and state.json; nothing is overwritten."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from goop_mcp.messages.quoting import line
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.layout import ADL, BLUEPRINT, CHRONICLE, REQUIREMENTS, SPEC, STATE, document_path
from goop_mcp.workspace.replacing import create_file

__all__ = ["Scaffolded", "create_project"]

_SPEC = """\
# SPEC: {name}

**Version:** 0.1
**Created:** {date}
**Last Updated:** {date}
**Status:** Draft
**Locked:** No
**Locked At:** –

## Vision

## Must-Haves

## Nice-to-Haves

## Out of Scope

## Technical Constraints

### Stack

### Conventions

### Boundaries

- **Always:**
- **Ask First:**
- **Never:**

## Assumptions

## Risks

| Risk | Impact | Mitigation |
|---|---|---|

## Traceability Matrix

| Must-Have | Tasks | Status |
|---|---|---|

**Coverage:** 0%

## Acceptance Criteria

## Amendment History

| Version | Date | Change | Reason |
|---|---|---|---|

## Verification Protocol
"""

_BLUEPRINT = """\
# BLUEPRINT: {name}

**Spec Version:** 0.1
**Created:** {date}
**Last Updated:** {date}
**Mode:** standard

## Overview

## Spec Mapping

| Must-Have | Tasks |
|---|---|

## Wave Architecture

## Verification Checklist

## Risk Assessment

## Deviation Protocol

## Execution Notes

## Handoff Protocol
"""

_CHRONICLE = """\
# CHRONICLE: {name}

**Last Updated:** {date}
**Current Phase:** idle
**Session:** –

## Journey Status

## Current Wave

## Active Blockers

None

## Pending Decisions

None

## Recent Activity

## Decisions Made

## Learnings

## Session History

## Checkpoints

## Handoff History

## Memory Integration

## Next Steps

Run `/goop-discuss`.

## Quick Commands
"""

_REQUIREMENTS = """\
# REQUIREMENTS: {name}

**Generated:** {date}
**Interview Status:** Pending
**Ready for Planning:** No

## Vision

**Problem Solved:**
**Why Now:**

## Must-Haves (The Contract)

## Nice-to-Haves

## Out of Scope

## Constraints

### Technical Constraints

### Practical Constraints

### Integration Constraints

## Assumptions

## Risks & Mitigations

| Risk | Mitigation |
|---|---|

## Open Questions

## Interview Checklist

- [ ] Vision
- [ ] Must-Haves
- [ ] Constraints
- [ ] Out of Scope
- [ ] Assumptions
- [ ] Risks

**Interview Complete:** No
"""

_ADL = "# ADL: decisions and deviations\n"

_DOCUMENTS: Mapping[str, str] = {
    REQUIREMENTS: _REQUIREMENTS,
    SPEC: _SPEC,
    BLUEPRINT: _BLUEPRINT,
    CHRONICLE: _CHRONICLE,
    ADL: _ADL,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaffolded:
    """Which files were created and which were there already, as paths relative to the project."""

    created: tuple[str, ...]
    kept: tuple[str, ...]


def create_project(files: ProjectFiles, *, name: str, now: str) -> Scaffolded:
    """Create the documents of a project and its state.json, each only where nothing is there. Calling again is safe.

    `now` is ISO 8601 in UTC. Raises PathRefusedError and UnwritableFileError.
    """
    title = line(name)
    texts = {document: text.replace("{name}", title).replace("{date}", now) for document, text in _DOCUMENTS.items()}
    texts[STATE] = json.dumps(_state(title, now), indent=2, ensure_ascii=False) + "\n"
    done = {document_path(document): _create(files, document, text) for document, text in texts.items()}
    return Scaffolded(
        created=tuple(path for path, created in done.items() if created),
        kept=tuple(path for path, created in done.items() if not created),
    )


def _create(files: ProjectFiles, document: str, text: str) -> bool:
    return create_file(files, document_path(document), text.encode())


def _state(name: str, now: str) -> Mapping[str, object]:
    return {
        "version": 1,
        "project": {"name": name, "initialized": now},
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
