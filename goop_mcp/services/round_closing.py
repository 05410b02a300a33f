"""Close a round: keep its documents, open the contract for the next one, leave a handoff."""

from goop_mcp.services.project_context import ProjectContext
from goop_mcp.services.project_snapshot import ProjectSnapshot
from goop_mcp.services.session_contents import SessionFields, compose_handoff
from goop_mcp.services.session_handoff import handoff_event
from goop_mcp.services.session_sources import session_sources
from goop_mcp.store.interface import WriteTransaction
from goop_mcp.store.records import KeptStep, NewKeptDocument, RoundOutcome
from goop_mcp.workspace.documents.spec_edits import set_lock
from goop_mcp.workspace.file_changes import ARCHIVED, LEFT, GuardedWrite, plan_archive, plan_spec
from goop_mcp.workspace.layout import (
    BLUEPRINT,
    CHRONICLE,
    HANDOFF,
    SPEC,
    STATE,
    archived_document,
    document_path,
)
from goop_mcp.workspace.project import Project
from goop_mcp.workspace.replacing import sha256

__all__ = ["close_round", "keep_document", "spec_path"]

_AUTHOR = "goop-mcp"


def keep_document(
    writing: WriteTransaction, name: str, text: str, *, step: KeptStep, round: int, now: str
) -> None:
    """Keep the text of a document as `step` judged it."""
    writing.keep_document(
        NewKeptDocument(
            name=name,
            sha256=sha256(text.encode()),
            text=text,
            round=round,
            step=step,
            created_at=now,
        )
    )


def spec_path(project: Project) -> str:
    """Return the path of SPEC.md in the folder, also where only the database has its text."""
    return project.paths[SPEC] if project.has_folder else document_path(SPEC)


def close_round(
    writing: WriteTransaction,
    context: ProjectContext,
    snapshot: ProjectSnapshot,
    *,
    outcome: RoundOutcome,
    now: str,
) -> tuple[GuardedWrite, ...]:
    """Close the present round in this transaction; return the files to write after it.

    `snapshot` is the project before. Its documents are kept as the archive of the round, and what
    it leaves in the folder is kept as well: the next round does not take that for its own. The
    caller moves the phase to idle.
    """
    project, number = snapshot.project, snapshot.round.number
    texts = dict(project.sources)
    for name in (CHRONICLE, HANDOFF):
        if (text := snapshot.text_of_document(context, writing, name)) is not None:
            texts[name] = text
    if project.state is not None:
        texts[STATE] = project.state.text
    for name, text in texts.items():
        keep_document(writing, name, text, step=ARCHIVED, round=number, now=now)

    # The header of the contract says again that it may be changed.
    left = dict(project.sources)
    changes: list[GuardedWrite] = []
    if SPEC in left:
        left[SPEC] = set_lock(left[SPEC], locked=False, now=now)
        if left[SPEC] != project.sources[SPEC]:
            before = project.sources[SPEC]
            changes.append(
                plan_spec(writing, path=spec_path(project), before=before, after=left[SPEC])
            )
    for name, text in left.items():
        keep_document(writing, name, text, step=LEFT, round=number, now=now)

    for each in writing.open_confirmations():
        if each.round == number:
            writing.answer_confirmation(
                each.id, status="outdated", via=None, comment=None, answered_at=now
            )

    plan = project.sources.get(BLUEPRINT)
    digest = sha256(plan.encode()) if plan is not None else None
    writing.close_round(outcome=outcome, closed_at=now, plan_sha256=digest)

    folder = archived_document("", round=number)
    closing = SessionFields(
        summary=(
            f"Round {number} was closed: {outcome.replace('_', ' ')}. {snapshot.claims.sentence}"
            f" Its documents are in {folder}. The next round begins with the interview."
        ),
        next_command="/goop-discuss",
    )
    handoff = compose_handoff(closing, session_sources(snapshot.closed(writing), writing), now=now)
    writing.add_event(handoff_event(handoff, author=_AUTHOR, now=now))
    changes += plan_archive(writing, round=number)

    # Elsewhere they are recorded, and a process that has the folder writes them.
    return tuple(changes) if project.has_folder else ()
