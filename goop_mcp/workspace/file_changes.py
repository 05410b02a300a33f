"""Files of people that a step changes after its transaction: lines of SPEC.md, copies of a round.

The transaction keeps the new texts, so that a writer killed before the files are written loses
nothing: recovery writes them, but only where nobody has touched the file since.
"""

from dataclasses import dataclass
from typing import Final

from goop_mcp.errors import WorkspaceError
from goop_mcp.store.interface import ReadTransaction, WriteTransaction
from goop_mcp.store.records import KeptStep, NewKeptDocument, Projection
from goop_mcp.workspace.checkpoints import checkpoint_id, checkpoint_path, checkpoint_text
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.layout import FOLDER, SPEC, archived_document
from goop_mcp.workspace.replacing import create_file, replace_file, sha256
from goop_mcp.workspace.state import ProjectState

__all__ = [
    "ARCHIVED",
    "CHECKPOINT",
    "LEFT",
    "GuardedWrite",
    "interrupted_files",
    "pending_spec",
    "plan_archive",
    "plan_checkpoint",
    "plan_spec",
]

ARCHIVED: Final[KeptStep] = "accept"
"""The step whose kept documents are the archive of a round."""

CHECKPOINT: Final[KeptStep] = "checkpoint"
"""The step whose kept documents are checkpoints, by their ids."""

LEFT: Final[KeptStep] = "left"
"""The step whose kept documents are what a closed round left in the folder."""


@dataclass(frozen=True, slots=True)
class GuardedWrite:
    """A text to write to `path`; `replaces` is the sha256 of the file, None to create it only."""

    path: str
    text: str
    replaces: str | None

    def apply(self, files: ProjectFiles) -> bool:
        """Write the file; return whether it has the text now.

        A file that somebody saved meanwhile, and one that exists where it is to be created, stays.
        Raises as `replace_file`.
        """
        data = self.text.encode()
        if self.replaces is None:
            return create_file(files, self.path, data) or files.read_bytes(self.path) == data
        if (found := files.read_bytes(self.path)) is None or sha256(found) != self.replaces:
            return False

        replace_file(files, self.path, data, allowed=lambda path: path == self.path)

        return True


def plan_spec(writing: WriteTransaction, *, path: str, before: str, after: str) -> GuardedWrite:
    """Plan `after` in place of `before` in SPEC.md at `path`, and record it in this transaction.

    The caller keeps the text `after` in the same transaction, and writes the file if the folder is
    on this machine; elsewhere the next change of a process that has the folder writes it.
    """
    old, new = sha256(before.encode()), sha256(after.encode())
    revision = writing.next_revision()
    writing.set_projection(Projection(path=path, revision=revision, sha256=old, pending_sha256=new))

    return GuardedWrite(path, after, replaces=old)


def plan_archive(reading: ReadTransaction, *, round: int) -> tuple[GuardedWrite, ...]:
    """Return the copies of the documents that were kept when `round` was closed."""
    return tuple(
        GuardedWrite(archived_document(kept.name, round=round), kept.text, replaces=None)
        for kept in reading.kept_documents(step=ARCHIVED, round=round)
        if kept.name.endswith(".md")
    )


def plan_checkpoint(
    writing: WriteTransaction,
    state: ProjectState,
    *,
    task: str | None,
    note: str | None,
    now: str,
) -> tuple[str, GuardedWrite]:
    """Keep a checkpoint of `state` in this transaction; return its id, and the file to write.

    The caller sets activeCheckpointId.
    """
    number = writing.round().number
    id = checkpoint_id(now=now, revision=writing.next_revision())
    text = checkpoint_text(id, state=state, round=number, task=task, note=note, now=now)
    writing.keep_document(
        NewKeptDocument(
            name=id,
            sha256=sha256(text.encode()),
            text=text,
            round=number,
            step=CHECKPOINT,
            created_at=now,
        )
    )

    return id, GuardedWrite(checkpoint_path(id), text, replaces=None)


def pending_spec(reading: ReadTransaction, files: ProjectFiles) -> GuardedWrite | None:
    """Return the text of SPEC.md that is recorded and that this folder does not have yet.

    A killed writer left it so, or a server without the folder. A file that somebody has changed
    since is theirs: it has another digest than the one that the change was recorded for.
    """
    for row in reading.projections():
        if not row.path.endswith(f"/{SPEC}") or row.pending_sha256 is None or row.sha256 is None:
            continue

        try:
            on_disk = files.read_bytes(row.path)
        except WorkspaceError:
            continue
        if on_disk is None or sha256(on_disk) != row.sha256:
            continue

        kept = reading.kept_document(SPEC)
        if kept is not None and kept.sha256 == row.pending_sha256:
            return GuardedWrite(row.path, kept.text, replaces=row.sha256)

    return None


def interrupted_files(
    reading: ReadTransaction, files: ProjectFiles, *, active_checkpoint: str | None
) -> tuple[GuardedWrite, ...]:
    """Return the files of people that are recorded, and that this folder does not have yet.

    `active_checkpoint` is the id of the state as it counts, None where checkpoints are rows only.
    """
    if not files.exists(FOLDER):
        return ()

    spec = pending_spec(reading, files)
    found = [spec] if spec is not None else []

    round = reading.round()
    last = round.number - round.is_open
    if last > 0:
        found += [each for each in plan_archive(reading, round=last) if not files.exists(each.path)]

    # Only the active checkpoint: older ones may have been removed by people.
    if active_checkpoint is not None and not files.exists(checkpoint_path(active_checkpoint)):
        kept = reading.kept_document(active_checkpoint, step=CHECKPOINT)
        if kept is not None:
            found.append(GuardedWrite(checkpoint_path(kept.name), kept.text, replaces=None))

    return tuple(found)
