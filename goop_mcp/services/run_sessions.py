"""The tasks of a run as folders of sessions, which other tools and people read (H-42, H-46)."""

import json
import re
from collections.abc import Mapping
from typing import Final

from goop_mcp.store.graph_rows import GraphTaskRow
from goop_mcp.store.interface import ReadTransaction, Store
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.sessions import create_session

__all__ = ["export_sessions"]

_NO_WORD: Final = re.compile(r"[^a-z0-9]+")


def export_sessions(store: Store, files: ProjectFiles, run: str) -> tuple[str, ...]:
    """Create the folder of a session for each task of `run` that has ended; return their paths.

    Each has its five files, with the prompt, what the agent answered and `result.json`, so that
    `gather_results` makes one answer of them. Files that are there stay. Raises PathRefusedError
    and UnwritableFileError.
    """

    def read(reading: ReadTransaction) -> tuple[str, list[GraphTaskRow]]:
        found = reading.graphs.run(run)
        return ("" if found is None else found.created_at), reading.graphs.tasks(run)

    created_at, rows = store.read(read)
    paths = []
    for row in rows:
        # Gates have no prompt, and what was left out was never asked.
        if row.prompt is None or row.state not in ("accepted", "failed"):
            continue

        result = json.loads(row.result) if row.result is not None else {}
        envelope = result.get("envelope") or {}
        artifacts = envelope.get("artifacts")
        listed = artifacts.get("files") if isinstance(artifacts, Mapping) else None
        summary = {
            "status": str(
                envelope.get("status") or ("COMPLETE" if row.state == "accepted" else "BLOCKED")
            ),
            "summary": str(envelope.get("summary") or row.message or row.state),
            "deliverables": [
                each["path"]
                for each in listed or ()
                if isinstance(each, Mapping) and "path" in each
            ],
            "errors": [row.message or row.reason or "failed"] if row.state == "failed" else [],
            "recommendations": [],
        }

        spec = json.loads(row.spec)

        # The id is the same for the same round of the same task.
        digits = "".join(c for c in created_at[:19] if c.isdecimal())
        words = f"{row.run}-{row.id}" + (f"-round-{row.round + 1}" if row.round else "")
        session_id = f"{digits[:8]}-{digits[8:14]}-{_NO_WORD.sub('-', words.lower()).strip('-')}"
        folder = create_session(
            files,
            session_id,
            prompt=row.prompt,
            created_at=created_at,
            agent=spec.get("agent"),
            status="COMPLETED" if row.state == "accepted" else "FAILED",
            result=summary,
            output=result.get("text") or "",
        )
        paths.append(folder)

    return tuple(paths)
