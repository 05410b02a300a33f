"""What the database says, shown in the project's files; what people wrote there is never overwritten (STORAGE, 4).

A writer calls `plan_projections` as the last thing of its transaction and `ProjectionPlan.apply` behind the commit,
while the queue of writers still waits. `catch_up` does at start what a killed writer could not.
"""

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count

from goop_mcp.errors import DocumentUnreadableError, PathRefusedError
from goop_mcp.store.interface import Reading, Writing
from goop_mcp.store.records import Event, NewEvent, Projection
from goop_mcp.workspace.archive import PlannedAppend, archive_row, archived_parts, newest_blocks
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.layout import ADL, CHRONICLE, FOLDER, HANDOFF
from goop_mcp.workspace.projection_text import (
    PEOPLES_KINDS,
    Block,
    added_lines,
    blocks_of,
    chunk_hash,
    handoff_of,
    insert_blocks,
    is_ours,
    new_pieces,
    newest_mark,
    people_wrote,
    remove_blocks,
)
from goop_mcp.workspace.replacing import replace_file, sha256

__all__ = [
    "PROJECTED",
    "Conflict",
    "NewerDocument",
    "PlannedFile",
    "ProjectionPlan",
    "is_stale",
    "newer_documents",
    "open_conflicts",
    "plan_projections",
]

PROJECTED = (CHRONICLE, ADL, HANDOFF)
"""The documents that events are shown in."""

_CONFLICT = re.compile(r"(.+)\.conflict-\d{1,18}\.md")

# Versions before the archive wrote up to 16 MiB; with what people added it is still read, to be
# made smaller.
_MOST_BYTES = 64 * 1024 * 1024
_MOST_LOOKUPS = 200
_MOST_OF_A_REVISION = 200

Redact = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """Bytes that are to lie at `path` once the transaction is committed.

    `replaces` is the sha256 of what lay there when that was decided, None for nothing.
    """

    path: str
    data: bytes
    replaces: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """A document that people changed where it is ours: theirs stays at `path`, ours lies at `ours`."""

    path: str
    ours: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NewerDocument:
    """A document that shows a `revision` after `known`, that of the database: this is older than its files."""

    path: str
    revision: int
    known: int

    def __str__(self) -> str:
        return (
            f"the database is older than its own files: {self.path} shows revision {self.revision},"
            f" the database has {self.known}; put a newer copy back with goop-mcp restore FILE,"
            " unless the files came from another machine. What they show is left as it is"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectionPlan:
    """What follows from a transaction.

    Entries to append to archives, files to replace, how many pieces of people's text were taken in,
    open conflicts, and the documents that are newer than the database.
    """

    appends: tuple[PlannedAppend, ...] = ()
    files: tuple[PlannedFile, ...] = ()
    imported: int = 0
    conflicts: tuple[Conflict, ...] = ()
    newer: tuple[NewerDocument, ...] = ()

    def apply(self, files: ProjectFiles) -> tuple[str, ...]:
        """Replace the files and return the paths of those that somebody has saved since; they are left for later.

        The caller holds the queue of writers; people's editors do not wait in it. Raises as `replace_file` does.
        """
        moved = tuple(
            each.path for each in self.files if _digest(_read(files, each.path)) != each.replaces
        )
        # An entry stands in the archive before its document goes without it: killed in between, it
        # stands in both, and the next change sees to that.
        for append in self.appends:
            if append.document not in moved:
                append.apply(files)

        for planned in self.files:
            if planned.path not in moved:
                replace_file(files, planned.path, planned.data)

        return moved


def plan_projections(
    writing: Writing,
    files: ProjectFiles,
    *,
    now: str,
    redact: Redact,
    documents: Sequence[str] = PROJECTED,
    before: int | None = None,
) -> ProjectionPlan:
    """Compare `documents` with their events, and remember in this transaction what is about to be written.

    `documents` are paths below `.goopspec`. Text that people added is taken in as events of the author "human", after
    `redact`; what they changed of ours is left alone, and ours goes to a file beside it. `before` is the revision
    before this transaction, None where it has not raised it.
    """
    known = writing.revision() if before is None else before
    rows = {row.path: row for row in writing.projections()}
    plans = [
        _Document(writing, files, name=name, rows=rows, now=now, redact=redact).plan()
        for name in documents
    ]

    return ProjectionPlan(
        appends=tuple(append for plan in plans for append in plan.appends),
        files=tuple(file for plan in plans for file in plan.files),
        imported=sum(plan.imported for plan in plans),
        conflicts=tuple(conflict for plan in plans for conflict in plan.conflicts),
        newer=newer_documents(files, known=known, documents=documents),
    )


def newer_documents(
    files: ProjectFiles, *, known: int, documents: Sequence[str] = PROJECTED
) -> tuple[NewerDocument, ...]:
    """Return those of `documents` that show a revision after `known`, that of the database."""
    found = []
    for name in documents:
        path = f"{FOLDER}/{name}"
        text = _read(files, path)
        if isinstance(text, str) and (revision := newest_mark(text)) > known:
            found.append(NewerDocument(path=path, revision=revision, known=known))

    return tuple(found)


def is_stale(
    reading: Reading, files: ProjectFiles, *, documents: Sequence[str] = PROJECTED
) -> bool:
    """Tell whether `plan_projections` has anything to do: events not shown yet, or files not as they were written."""
    rows = {row.path: row for row in reading.projections()}
    # While people's change stands, what is ours is shown beside it.
    beside = {each.path: rows[each.ours] for each in open_conflicts(reading)}

    for name in documents:
        path = f"{FOLDER}/{name}"
        row = beside.get(path) or rows.get(path)
        if reading.document_revision(name) > (row.revision if row else 0):
            return True
        if row is not None and _digest(_read(files, row.path)) != (
            row.pending_sha256 or row.sha256
        ):
            return True

    return False


def open_conflicts(reading: Reading) -> tuple[Conflict, ...]:
    """Return the documents that people changed where they are ours and have not settled since."""
    found = []
    for row in reading.projections():
        match = _CONFLICT.fullmatch(row.path)
        if match and (row.sha256 or row.pending_sha256):
            found.append(Conflict(path=f"{match[1]}.md", ours=row.path))

    return tuple(found)


class _Document:
    """One document within one transaction."""

    def __init__(
        self,
        writing: Writing,
        files: ProjectFiles,
        *,
        name: str,
        rows: dict[str, Projection],
        now: str,
        redact: Redact,
    ) -> None:
        self.writing, self.files, self.now, self.redact = writing, files, now, redact
        self.name, self.kind = name, name.rpartition("/")[2]
        self.path = f"{FOLDER}/{name}"
        self.row = rows.get(self.path)
        self.conflict = next((row for row in rows.values() if self._is_open_conflict(row)), None)
        self.archive = rows.get(archive_row(self.path))
        self.text: str | None = None
        self.old: Sequence[Block] = ()
        self.kept: Sequence[Block] = ()

    def plan(self) -> ProjectionPlan:
        if self.row is None and not self.writing.document_revision(self.name):
            return ProjectionPlan()

        read = _read(self.files, self.path)
        self.text = None if isinstance(read, _Unreadable) else read
        if self.kind == HANDOFF:
            return (
                self._put_aside(self._newest_handoff())
                if isinstance(read, _Unreadable)
                else self._plan_whole()
            )

        self.old, self.kept = newest_blocks(self._not_archived())
        appends = self._plan_archive()
        plan = (
            self._put_aside(_joined(self.kept))
            if isinstance(read, _Unreadable)
            else self._plan_entries()
        )

        return replace(plan, appends=appends)

    # entries that the document shows no longer

    def _not_archived(self) -> list[Block]:
        """Return the blocks that are not known to stand in the archive, oldest first."""
        row = self.archive
        blocks = blocks_of(self._events(row.revision if row else 0))
        if row is None or row.pending_sha256 is None:
            return blocks

        through = int(row.pending_sha256)
        planned = [block for block in blocks if block.revision <= through]
        if not all(part.is_done(self.files) for part in archived_parts(self.path, planned)):
            return blocks

        self.archive = Projection(path=row.path, revision=through)
        self.writing.set_projection(self.archive)

        return blocks[len(planned) :]

    def _plan_archive(self) -> tuple[PlannedAppend, ...]:
        """Remember how far the archive is about to reach, which the next change confirms, and return what it lacks."""
        if not self.old:
            return ()

        known = self.archive.revision if self.archive is not None else 0
        # This row is about revisions only; the column of what is under way holds the one that is
        # aimed at.
        through = str(self.old[-1].revision)
        row = Projection(path=archive_row(self.path), revision=known, pending_sha256=through)
        self.writing.set_projection(row)

        return archived_parts(self.path, self.old)

    def _without_archived(self, text: str) -> str:
        if not self.kept:
            return text

        old = {block.revision: block for block in self.old}
        lookups = iter(range(_MOST_LOOKUPS))

        def find(revision: int) -> Block | None:
            if revision in old or next(lookups, None) is None:
                return old.get(revision)

            # Archived before, and here again with a file of an earlier time.
            events = self.writing.events(
                after_revision=revision - 1, document=self.name, limit=_MOST_OF_A_REVISION
            )
            return next(iter(blocks_of(each for each in events if each.revision == revision)), None)

        return remove_blocks(text, before=self.kept[0].revision, find=find)

    # entries among people's text

    def _plan_entries(self) -> ProjectionPlan:
        row, found = self.row, _digest(self.text)
        if self.text is None:
            return self._write(self.kept)
        if row is None:
            self._adopt(since=0)
            return self._write([block for block in self.kept if not block.stands_in(self.text)])
        if found == row.pending_sha256:
            return self._write([block for block in self.kept if block.revision > row.revision])

        since, known = self._adopted()
        blocks = [block for block in self.kept if block.revision > since]
        lost = [block for block in blocks if not block.stands_in(self.text)]
        if found == row.sha256:
            return self._write(lost)
        return self._plan_edited(row, lost, known)

    def _plan_edited(
        self, row: Projection, lost: Sequence[Block], known: frozenset[str]
    ) -> ProjectionPlan:
        # The newest block may never have been written: its writer was killed between commit and
        # rename.
        unsure = row.revision if row.pending_sha256 is not None else row.revision + 1
        changed = [
            block for block in lost if block.revision < unsure or block.begins_in(self.text or "")
        ]
        if changed and self._dismissed():
            # What was dismissed was there
            assert self.conflict is not None  # noqa: S101
            self._adopt(since=self.conflict.revision)
            lost = [block for block in lost if block.revision > self.conflict.revision]
        elif changed:
            return self._put_aside(_joined(lost))

        return replace(self._write(lost), imported=self._import(known))

    def _write(self, blocks: Sequence[Block]) -> ProjectionPlan:
        self._settle_conflict()
        shown = None if self.text is None else self._without_archived(self.text)
        if not blocks and shown is not None and shown == self.text:
            self._remember(self.path, sha=_digest(self.text), pending=None)
            return ProjectionPlan()

        whole = (
            insert_blocks(shown, blocks, document=self.kind) if blocks or shown is None else shown
        )
        data = whole.encode()
        found = _digest(self.text)
        self._remember(self.path, sha=found, pending=sha256(data))

        return ProjectionPlan(files=(PlannedFile(self.path, data, found),))

    def _import(self, known: frozenset[str]) -> int:
        pieces = [self._taken(piece) for piece in people_wrote(self.text or "", document=self.kind)]
        return self._add_imported(new_pieces(pieces, known))

    def _adopt(self, *, since: int) -> None:
        """Take what people have in the file for granted: it is not news later, and older blocks are not missed."""
        pieces = people_wrote(self.text or "", document=self.kind)
        words = [str(since), *(chunk_hash(self._taken(piece)) for piece in pieces)]
        self._add("adopted", "goop-mcp", " ".join(words))

    def _adopted(self) -> tuple[int, frozenset[str]]:
        """Return the revision behind which blocks are expected in the file, and the hashes of people's pieces."""
        since, known = 0, frozenset[str]()
        for event in self.writing.events(document=self.name, kinds=PEOPLES_KINDS):
            if event.kind == "adopted":
                first, *hashes = event.text.split(" ")
                since, known = int(first), known | frozenset(hashes)
            elif event.kind == "imported":
                known |= {chunk_hash(event.text)}

        return since, known

    # a document that is ours as a whole

    def _plan_whole(self) -> ProjectionPlan:
        row, found = self.row, _digest(self.text)
        events = self._handoff_events()
        ours = handoff_of(events)
        if ours is None or found == sha256(ours.encode()):
            return self._write_whole(None)
        if self.text is None or (
            row is not None and found == row.sha256 != row.pending_sha256 is not None
        ):
            return self._write_whole(ours)

        newer = row is None or any(
            is_ours(event) for event in events if event.revision > row.revision
        )
        if row is not None and found in (row.sha256, row.pending_sha256):
            return self._write_whole(ours if newer else None)
        return self._plan_edited_whole(ours, newer=newer)

    def _plan_edited_whole(self, ours: str, *, newer: bool) -> ProjectionPlan:
        added = None if self.row is None else self._added_to(self.row)
        if added is not None:
            imported = self._add_imported(new_pieces(map(self._taken, added), self._adopted()[1]))
            plan = self._write_whole(self._newest_handoff() if newer else None)
            return replace(plan, imported=imported)

        if not self._dismissed():
            return self._put_aside(ours)

        imported = self._add_imported([self._taken(self.text or "")])

        return replace(self._write_whole(None), imported=imported)

    def _added_to(self, row: Projection) -> list[str] | None:
        """Return what people added to the handoff that was written last, None when they changed it otherwise."""
        before = handoff_of(
            [event for event in self._handoff_events() if event.revision <= row.revision]
        )
        return None if before is None or self.text is None else added_lines(before, self.text)

    def _write_whole(self, ours: str | None) -> ProjectionPlan:
        self._settle_conflict()
        if ours is None:
            self._remember(self.path, sha=_digest(self.text), pending=None)
            return ProjectionPlan()

        data = ours.encode()
        found = _digest(self.text)
        self._remember(self.path, sha=found, pending=sha256(data))

        return ProjectionPlan(files=(PlannedFile(self.path, data, found),))

    def _newest_handoff(self) -> str | None:
        return handoff_of(self._handoff_events())

    def _handoff_events(self) -> list[Event]:
        """Return the events that the newest handoff is made of, and the one that was written last."""
        written = self.row.revision if self.row is not None else None
        # What people add is carried from the handoff before: of each, two.
        before = self.writing.event_revisions(
            self.name, without=PEOPLES_KINDS, up_to=written, limit=2
        )
        newest = self.writing.event_revisions(self.name, without=PEOPLES_KINDS, limit=2)

        return self._events(min([*before, *newest], default=1) - 1)

    # conflicts

    def _is_open_conflict(self, row: Projection) -> bool:
        match = _CONFLICT.fullmatch(row.path)
        return (
            match is not None
            and f"{match[1]}.md" == self.path
            and bool(row.sha256 or row.pending_sha256)
        )

    def _put_aside(self, ours: str | None) -> ProjectionPlan:
        """Leave their file alone and write `ours` beside it, over an older one of ours that nobody touched."""
        if ours is None:
            return ProjectionPlan()

        data, row = ours.encode(), self.conflict
        beside = _digest(_read(self.files, row.path)) if row is not None else None
        if row is not None and beside == sha256(data):
            self._remember(row.path, sha=beside, pending=None)
            return ProjectionPlan(conflicts=(Conflict(path=self.path, ours=row.path),))
        if row is None or beside not in (None, row.sha256, row.pending_sha256):
            self._settle_conflict()
            row, beside = Projection(path=self._free_name(), revision=0), None

        self._remember(row.path, sha=beside, pending=sha256(data))
        conflict = Conflict(path=self.path, ours=row.path)

        return ProjectionPlan(files=(PlannedFile(row.path, data, beside),), conflicts=(conflict,))

    def _free_name(self) -> str:
        """Return the name for a conflict of this revision; where something has that name already, the next one."""
        stem = self.path.removesuffix(".md")
        names = (f"{stem}.conflict-{number}.md" for number in count(self.writing.next_revision()))
        return next(name for name in names if _read(self.files, name) is None)

    def _dismissed(self) -> bool:
        """Tell whether somebody has settled the conflict by removing our file, which was seen there before."""
        row = self.conflict
        return row is not None and row.sha256 is not None and _read(self.files, row.path) is None

    def _settle_conflict(self) -> None:
        if self.conflict is not None:
            self.writing.set_projection(
                Projection(path=self.conflict.path, revision=self.conflict.revision)
            )

    # rows

    def _events(self, after: int) -> list[Event]:
        return self.writing.events(after_revision=after, document=self.name)

    def _remember(self, path: str, *, sha: str | None, pending: str | None) -> None:
        revision = self.writing.revision()
        self.writing.set_projection(
            Projection(path=path, revision=revision, sha256=sha, pending_sha256=pending)
        )

    def _taken(self, piece: str) -> str:
        """Return people's text as it may be kept: redacted, and without NUL, which no database takes."""
        return self.redact(piece).replace("\0", "\ufffd")

    def _add_imported(self, pieces: Sequence[str]) -> int:
        for piece in pieces:
            self._add("imported", "human", piece)
        return len(pieces)

    def _add(self, kind: str, author: str, text: str) -> None:
        event = NewEvent(
            kind=kind, author=author, text=text, created_at=self.now, document=self.name
        )
        self.writing.add_event(event)


def _joined(blocks: Sequence[Block]) -> str:
    return "\n\n".join(block.text for block in blocks) + "\n"


@dataclass(frozen=True, slots=True)
class _Unreadable:
    """Stands for a file that is there and cannot be read as text, or may not be followed."""

    reason: str


def _read(files: ProjectFiles, path: str) -> "str | _Unreadable | None":
    try:
        if files.is_link(path):
            return _Unreadable("it is a link")
        return files.read_text(path, most=_MOST_BYTES)
    except (DocumentUnreadableError, PathRefusedError) as error:
        return _Unreadable(str(error))


def _digest(text: "str | _Unreadable | None") -> str | None:
    """Return the digest of what lies on disk, None for nothing, and "" for what is not ours to compare."""
    if text is None:
        return None
    return "" if isinstance(text, _Unreadable) else hashlib.sha256(text.encode()).hexdigest()
