"""Create a project: its documents, and its state where that lives."""

from dataclasses import replace

from goop_mcp.messages.quoting import line
from goop_mcp.services.project_context import Change, ProjectContext
from goop_mcp.services.project_snapshot import snapshot_in
from goop_mcp.services.round_closing import keep_document
from goop_mcp.services.state_block import state_block_of
from goop_mcp.store.interface import ReadTransaction, WriteTransaction
from goop_mcp.workspace.layout import CHRONICLE, PEOPLES_DOCUMENTS, STATE, document_path
from goop_mcp.workspace.project import read_project
from goop_mcp.workspace.scaffold import Scaffolded, create_project, first_state

__all__ = ["create"]


def create(context: ProjectContext, *, name: str | None, now: str) -> Scaffolded:
    """Create what does not exist yet of a project; without `name` it is called like its folder.

    Calling it again is safe. Where many machines share the database, the state is a row, and the
    URI of its resource is among what was created. `now` is ISO 8601 in UTC. Raises StoreError,
    PathRefusedError and UnwritableFileError.
    """
    files = context.files
    done = _created(context, name=name, now=now)
    if {document_path(STATE), *context.addresses(STATE)} & {*done.created}:
        _show_beginning(context, now=now)
    if name is None or not context.writes_files or document_path(STATE) not in done.kept:
        return done

    known = read_project(files).name
    if known is None or known == line(name):
        return done

    remark = (
        f'the project keeps its name "{known}"; to change it, edit "name" below "project" in'
        f" {document_path(STATE)}, and the titles of the documents"
    )
    return replace(done, remark=remark)


def _show_beginning(context: ProjectContext, *, now: str) -> None:
    """Show the phase and the next step in a CHRONICLE.md that reports alone have written before."""

    def change(writing: WriteTransaction) -> Change[None]:
        if not writing.document_revision(CHRONICLE):
            return Change(answer=None, shows=False)
        snapshot = snapshot_in(context, writing)
        return Change(answer=None, state_block=state_block_of(snapshot, writing))

    # A new database has nothing to show, and is created when something is saved.
    if context.store.exists():
        context.write(change, now=now)


def _created(context: ProjectContext, *, name: str | None, now: str) -> Scaffolded:
    files = context.files
    title = name or files.root.name or "project"

    def shared_state(reading: ReadTransaction) -> str | None:
        # A state.json of the folder is taken over by the first change.
        stored = reading.stored_state()
        is_new = stored is None and context.state.read(reading) is None
        return first_state(title, now=now) if is_new else stored

    state = None if context.writes_files else context.store.read(shared_state)
    done = create_project(files, name=title, now=now, stored=state)

    def store_state(writing: WriteTransaction) -> bool:
        if state is None or context.state.read(writing) is not None:
            return False

        writing.set_stored_state(state)
        # Servers without the folder show what was created here.
        number = writing.round().number
        for document in PEOPLES_DOCUMENTS:
            text = files.read_text(document_path(document))
            if text is not None:
                keep_document(writing, document, text, step="init", round=number, now=now)

        return True

    if state is None or not context.store.write(store_state):
        return done
    return replace(done, created=(*done.created, *context.addresses(STATE)))
