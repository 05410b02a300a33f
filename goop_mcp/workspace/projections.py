"""Projections: the events of the database shown in the project's files.

What people wrote there is never overwritten. A writer calls `plan_projections` at the end of its
transaction and `ProjectionPlan.apply` after the commit, while the queue of writers still waits.

Why this is correct: for each file a row holds the digest that was on disk when a write was decided
(`sha256`) and the digest that was about to be written (`pending_sha256`), committed together with
the events. A file with one of the two digests is ours, whether a writer was killed before or after
replacing it, and is updated. Any other content is an edit of people: additions are imported as
events, and a change of our text leads to a second file, never to a loss. `recover` does at start
what a killed writer left undone.
"""

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count

from goop_mcp.errors import DocumentUnreadableError, PathRefusedError
from goop_mcp.store.interface import ReadTransaction, WriteTransaction
from goop_mcp.store.records import Event, NewEvent, Projection
from goop_mcp.workspace.archive import PlannedAppend, archive_row, archived_parts, newest_blocks
from goop_mcp.workspace.documents.state_block import find_state_block, place_state_block
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.layout import ADL, CHRONICLE, FOLDER, HANDOFF
from goop_mcp.workspace.projection_text import (
    HIDDEN_KINDS,
    PEOPLES_KINDS,
    STATE_KIND,
    EntryBlock,
    added_lines,
    blocks_of,
    chunk_hash,
    handoff_of,
    insert_blocks,
    is_ours,
    line_end_of,
    new_pieces,
    newest_mark,
    people_wrote,
    remove_blocks,
    state_block_of,
)
from goop_mcp.workspace.replacing import replace_file, sha256

__all__ = [
    "PROJECTED",
    "Conflict",
    "PlannedWrite",
    "ProjectionPlan",
    "is_stale",
    "lacks_events",
    "newest_state_block",
    "open_conflicts",
    "plan_projections",
    "record_state_block",
]

PROJECTED = (CHRONICLE, ADL, HANDOFF)
"""The documents that show events."""

_CONFLICT = re.compile(r"(.+)\.conflict-\d{1,18}\.md")

# Versions without an archive wrote up to 16 MiB. Such a document, with additions of people, must
# still be read, so that its old entries can move to the archive.
_MOST_BYTES = 64 * 1024 * 1024
# Looking up an archived entry reads the database; a file with more of them is left as it is.
_MOST_LOOKUPS = 200
# Events of one revision in one document; a transaction adds a few.
_MOST_OF_A_REVISION = 200
# All other events of a document change its text.
_NOT_WRITTEN = tuple(kind for kind in HIDDEN_KINDS if kind != STATE_KIND)

Redact = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class PlannedWrite:
    """The bytes to write to `path` after the commit of the transaction.

    `replaces` is the sha256 of the file when that was decided, None without a file.
    """

    path: str
    data: bytes
    replaces: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """A document whose entries people changed: their version stays at `path`, ours is at `ours`.

    `is_unknown` is whether it shows an entry of ours that the database does not have.
    """

    path: str
    ours: str
    is_unknown: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectionPlan:
    """The file changes that follow from a transaction.

    Entries to append to archives, files to replace, the number of imported pieces of people's text,
    and open conflicts.
    """

    appends: tuple[PlannedAppend, ...] = ()
    files: tuple[PlannedWrite, ...] = ()
    imported: int = 0
    conflicts: tuple[Conflict, ...] = ()

    def apply(self, files: ProjectFiles) -> tuple[str, ...]:
        """Replace the files; return the paths of those that were changed since, which are skipped.

        The caller holds the lock of the queue of writers, but editors of people do not wait in it.
        The next change treats a skipped file as edited. Raises as `replace_file`.
        """
        # Compared once more, because people save files while the transaction runs and hold no lock.
        # A digest and not the time of change: editors and version control set times as they like.
        moved = tuple(
            each.path for each in self.files if _digest(_read(files, each.path)) != each.replaces
        )
        # Entries are in the archive before they leave their document. A writer killed in between
        # leaves them in both, and the next change removes them from the document; the other order
        # would lose them.
        for append in self.appends:
            if append.document not in moved:
                append.apply(files)

        for planned in self.files:
            if planned.path not in moved:
                replace_file(files, planned.path, planned.data)

        return moved


def plan_projections(
    writing: WriteTransaction,
    files: ProjectFiles,
    *,
    now: str,
    redact: Redact,
    documents: Sequence[str] = PROJECTED,
) -> ProjectionPlan:
    """Compare `documents` with their events, and record in this transaction what will be written.

    `documents` are paths below `.goopspec`. Text that people added is imported as events of the
    author "human", after `redact`; a document whose entries they changed is left alone, and ours is
    written to a file next to it.
    """
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
    )


def record_state_block(writing: WriteTransaction, text: str, *, now: str) -> None:
    """Record `text` as the block of state of CHRONICLE.md, unless it is that already.

    Call it before `plan_projections`, which places the newest block in the document.
    """
    known = newest_state_block(writing, CHRONICLE)
    # An event for each step would repeat the same block, and every reader would go through them.
    if known is not None and known.text == text:
        return

    event = writing.add_event(
        NewEvent(kind=STATE_KIND, author="goop-mcp", text=text, created_at=now, document=CHRONICLE)
    )
    # The row of the block has no digests: it only names the newest event, since a search
    # for it would grow with their number.
    writing.set_projection(Projection(path=_state_row(CHRONICLE), revision=event.revision))


def newest_state_block(reading: ReadTransaction, name: str) -> Event | None:
    """Return the event with the block of state of the document `name`, None without one."""
    path = _state_row(name)
    row = next((row for row in reading.projections() if row.path == path), None)
    if row is None:
        return None

    events = reading.events(after_revision=row.revision - 1, document=name, kinds=(STATE_KIND,))
    return events[-1] if events else None


def _state_row(name: str) -> str:
    return f"{FOLDER}/{name}#state"


def lacks_events(
    reading: ReadTransaction, files: ProjectFiles, *, documents: Sequence[str] = PROJECTED
) -> bool:
    """Whether `documents` lack events that are recorded, since their writer was killed.

    A document that people edited lacks nothing: the next change imports what they wrote.
    """
    rows = {row.path: row for row in reading.projections()}
    conflicts = {each.path: rows[each.ours] for each in open_conflicts(reading)}
    for name in documents:
        path = f"{FOLDER}/{name}"
        row = conflicts.get(path) or rows.get(path)
        # One newest event is enough: revisions only rise.
        shown = reading.event_revisions(name, without=_NOT_WRITTEN, limit=1)
        if max(shown, default=0) > (row.revision if row else 0):
            return True
        # Nothing was being written, or what was written is confirmed.
        if row is None or row.pending_sha256 in (None, row.sha256):
            continue
        if _digest(_read(files, row.path)) == row.sha256:
            return True

    return False


def is_stale(
    reading: ReadTransaction, files: ProjectFiles, *, documents: Sequence[str] = PROJECTED
) -> bool:
    """Whether `plan_projections` has work: events not shown yet, or files changed since written."""
    rows = {row.path: row for row in reading.projections()}
    # During a conflict our version of a document is in another file.
    conflicts = {each.path: rows[each.ours] for each in open_conflicts(reading)}

    for name in documents:
        path = f"{FOLDER}/{name}"
        row = conflicts.get(path) or rows.get(path)
        shown = reading.event_revisions(name, without=_NOT_WRITTEN, limit=1)
        if max(shown, default=0) > (row.revision if row else 0):
            return True
        if row is not None and _digest(_read(files, row.path)) != (
            row.pending_sha256 or row.sha256
        ):
            return True

    return False


def open_conflicts(reading: ReadTransaction) -> tuple[Conflict, ...]:
    """Return the documents whose entries people changed, unless they have resolved that since."""
    found = []
    # A settled conflict keeps its row without digests, so that its number is not used again.
    for row in reading.projections():
        match = _CONFLICT.fullmatch(row.path)
        if match and (row.sha256 or row.pending_sha256):
            found.append(Conflict(path=f"{match[1]}.md", ours=row.path))

    return tuple(found)


class _Document:
    """Plans one document within one transaction."""

    def __init__(
        self,
        writing: WriteTransaction,
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
        self.conflict = next(
            (
                row
                for row in rows.values()
                if (match := _CONFLICT.fullmatch(row.path)) is not None
                and f"{match[1]}.md" == self.path
                and (row.sha256 or row.pending_sha256)
            ),
            None,
        )
        self.archive = rows.get(archive_row(self.path))
        state = newest_state_block(writing, name) if _state_row(name) in rows else None
        self.state = None if state is None else state_block_of(state)
        self.text: str | None = None
        self.old: Sequence[EntryBlock] = ()
        self.kept: Sequence[EntryBlock] = ()

    def plan(self) -> ProjectionPlan:
        # A document without events is never created, so that an empty project stays empty.
        shown = self.writing.event_revisions(self.name, without=HIDDEN_KINDS, limit=1)
        if self.row is None and not shown and self.state is None:
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
        appends: tuple[PlannedAppend, ...] = ()
        if self.old:
            known = self.archive.revision if self.archive is not None else 0
            # The row of an archive has no digests: its pending column holds the revision up to
            # which entries are being appended. The next change confirms it.
            through = str(self.old[-1].revision)
            row = Projection(path=archive_row(self.path), revision=known, pending_sha256=through)
            self.writing.set_projection(row)
            appends = archived_parts(self.path, self.old)

        plan = (
            self._put_aside(self._joined(self.kept))
            if isinstance(read, _Unreadable)
            else self._plan_entries()
        )

        return replace(plan, appends=appends)

    # Entries that move to the archive

    def _not_archived(self) -> list[EntryBlock]:
        """Return the blocks that are not known to be in the archive, oldest first."""
        row = self.archive
        blocks = blocks_of(self._events(row.revision if row else 0))
        if row is not None and row.pending_sha256 is not None:
            # An append was planned and its writer may have been killed. Only the file itself shows
            # whether it was completed, and the row moves on only then.

            # The pending column of an archive holds a revision, see `plan`.
            through = int(row.pending_sha256)
            planned = [block for block in blocks if block.revision <= through]
            if all(part.is_done(self.files) for part in archived_parts(self.path, planned)):
                self.archive = Projection(path=row.path, revision=through)
                self.writing.set_projection(self.archive)
                blocks = blocks[len(planned) :]

        return self._not_there_already(blocks)

    def _not_there_already(self, blocks: list[EntryBlock]) -> list[EntryBlock]:
        """Return `blocks` without the oldest ones that are in the archive and nowhere else.

        They are if the database is an older copy, which does not know that it has archived them.
        """
        text = self.text or ""
        if not blocks or not text or blocks[0].stands_in(text):
            return blocks

        there = 0
        archives: dict[str, str] = {}
        for block in blocks:
            [part] = archived_parts(self.path, [block])
            if part.path not in archives:
                found = _read(self.files, part.path)
                archives[part.path] = found if isinstance(found, str) else ""
            if block.stands_in(text) or block.text not in archives[part.path]:
                break
            there += 1

        if there:
            self.archive = Projection(
                path=archive_row(self.path), revision=blocks[there - 1].revision
            )
            self.writing.set_projection(self.archive)

        return blocks[there:]

    def _without_archived(self, text: str) -> str:
        if not self.kept:
            return text

        # By revision, as the marks in the text have it.
        old = {block.revision: block for block in self.old}
        lookups = iter(range(_MOST_LOOKUPS))

        def find(revision: int) -> EntryBlock | None:
            if revision in old or next(lookups, None) is None:
                return old.get(revision)

            # The entry was archived before, and an older version of the file brought it back.
            events = self.writing.events(
                after_revision=revision - 1, document=self.name, limit=_MOST_OF_A_REVISION
            )
            return next(iter(blocks_of(each for each in events if each.revision == revision)), None)

        return remove_blocks(text, before=self.kept[0].revision, find=find)

    # Entries among people's text

    def _plan_entries(self) -> ProjectionPlan:
        row, found = self.row, _digest(self.text)
        if self.text is None:
            # Nobody has the file, so that all entries are written again.
            return self._write(self.kept)
        if row is None:
            # The document of a project that did not use this program before.
            # All that is there counts as known: it was written before anybody could import it, and
            # would come back as events of today.
            self._adopt(since=0)
            return self._write([block for block in self.kept if not block.stands_in(self.text)])
        if found == row.pending_sha256:
            # Our last write is on disk: only newer entries are missing.
            return self._write([block for block in self.kept if block.revision > row.revision])

        # Blocks up to `since` were removed by people who saw the conflict.
        since, known = self._adopted()
        blocks = [block for block in self.kept if block.revision > since]
        lost = [block for block in blocks if not block.stands_in(self.text)]
        if found == row.sha256:
            # Our last write never reached the disk, and nobody has edited the file meanwhile.
            return self._write(lost)

        # People edited the file: their additions are imported, unless our entries changed.
        # A missing block was changed by people, unless it may never have been written: the writer
        # of the newest one may have been killed between commit and rename. Its start mark in the
        # file proves that it was written.
        # A pending digest says that the newest write may not have happened.
        unsure = row.revision if row.pending_sha256 is not None else row.revision + 1
        changed = [block for block in lost if block.revision < unsure or block.begins_in(self.text)]
        edited = self._edited_state()
        is_conflict = bool(changed) or (edited is not None and chunk_hash(edited) not in known)
        if is_conflict and self._dismissed():
            # `_dismissed` is true only with a conflict.
            assert self.conflict is not None  # noqa: S101
            self._adopt(since=self.conflict.revision)
            lost = [block for block in lost if block.revision > self.conflict.revision]
        elif is_conflict:
            return self._put_aside(self._joined(lost))

        # The additions are imported and stay where they are: the document is written with them.
        plan = self._write(lost)
        pieces = [self._taken(piece) for piece in people_wrote(self.text, document=self.kind)]
        return replace(plan, imported=self._add_imported(new_pieces(pieces, known)))

    def _write(self, blocks: Sequence[EntryBlock]) -> ProjectionPlan:
        # Whoever resolved the conflict did so in the document, so the file next to it is no longer
        # compared.
        self._settle_conflict()
        shown = None if self.text is None else self._without_archived(self.text)
        whole = insert_blocks(shown, blocks, document=self.kind)
        if self.state is not None:
            whole = place_state_block(whole, self.state.text, line_end=line_end_of(whole))
        # Nothing to write, but the revision is recorded: otherwise each later start would plan the
        # same again.
        if whole == self.text:
            self._remember(self.path, sha=_digest(self.text), pending=None)
            return ProjectionPlan()

        data = whole.encode()
        found = _digest(self.text)
        self._remember(self.path, sha=found, pending=sha256(data))

        return ProjectionPlan(files=(PlannedWrite(self.path, data, found),))

    def _adopt(self, *, since: int) -> None:
        """Record that people's text is known, and that blocks up to `since` may be missing."""
        pieces = people_wrote(self.text or "", document=self.kind)
        hashes = [chunk_hash(self._taken(piece)) for piece in pieces]
        # An edited block of state counts as text of people: otherwise it would be a conflict at
        # each change.
        if (edited := self._edited_state()) is not None:
            hashes.append(chunk_hash(edited))
        self._add("adopted", "goop-mcp", " ".join([str(since), *hashes]))

    def _adopted(self) -> tuple[int, frozenset[str]]:
        """Return the revision after which blocks must be present, and hashes of known pieces."""
        since, known = 0, frozenset[str]()
        for event in self.writing.events(document=self.name, kinds=PEOPLES_KINDS):
            if event.kind == "adopted":
                # One event for all pieces: one for each would let a long document flood the
                # history.
                first, *hashes = event.text.split(" ")
                since, known = int(first), known | frozenset(hashes)
            elif event.kind == "imported":
                known |= {chunk_hash(event.text)}

        return since, known

    def _edited_state(self) -> str | None:
        """Return the block of state as people edited it, None without such a block."""
        found = find_state_block(self.text or "")
        return None if found is None or not found.is_edited else found.text

    def _joined(self, blocks: Sequence[EntryBlock]) -> str:
        ours = [*([] if self.state is None else [self.state]), *blocks]
        return "\n\n".join(block.text for block in ours) + "\n"

    # A document that is ours as a whole

    def _plan_whole(self) -> ProjectionPlan:
        row, found = self.row, _digest(self.text)
        events = self._handoff_events()
        ours = handoff_of(events)
        # Nothing to write; the row still has to know that this is on disk.
        if ours is None or found == sha256(ours.encode()):
            return self._write_whole(None)
        # Without a file, or with the one that an interrupted write was to replace, ours is written.
        if self.text is None or (
            row is not None and found == row.sha256 != row.pending_sha256 is not None
        ):
            return self._write_whole(ours)

        newer = row is None or any(
            is_ours(event) for event in events if event.revision > row.revision
        )
        if row is not None and found in (row.sha256, row.pending_sha256):
            return self._write_whole(ours if newer else None)

        # People edited the handoff: additions are imported, any other change is a conflict.
        added = None
        if row is not None:
            # Compare with the handoff that was written last, which need not be the newest one.
            before = handoff_of([event for event in events if event.revision <= row.revision])
            added = None if before is None else added_lines(before, self.text)

        if added is not None:
            imported = self._add_imported(new_pieces(map(self._taken, added), self._adopted()[1]))
            plan = self._write_whole(self._newest_handoff() if newer else None)
            return replace(plan, imported=imported)

        # A rewritten handoff cannot be merged line by line.
        if not self._dismissed():
            return self._put_aside(ours)

        imported = self._add_imported([self._taken(self.text)])

        return replace(self._write_whole(None), imported=imported)

    def _write_whole(self, ours: str | None) -> ProjectionPlan:
        self._settle_conflict()
        if ours is None:
            self._remember(self.path, sha=_digest(self.text), pending=None)
            return ProjectionPlan()

        data = ours.encode()
        found = _digest(self.text)
        self._remember(self.path, sha=found, pending=sha256(data))

        return ProjectionPlan(files=(PlannedWrite(self.path, data, found),))

    def _newest_handoff(self) -> str | None:
        return handoff_of(self._handoff_events())

    def _handoff_events(self) -> list[Event]:
        """Return the events of the newest handoff and of the one that was written last."""
        written = self.row.revision if self.row is not None else None
        # A handoff carries over what people added to the one before it, so two of each are needed.
        before = self.writing.event_revisions(
            self.name, without=HIDDEN_KINDS, up_to=written, limit=2
        )
        newest = self.writing.event_revisions(self.name, without=HIDDEN_KINDS, limit=2)

        return self._events(min([*before, *newest], default=1) - 1)

    # Conflicts

    def _put_aside(self, ours: str | None) -> ProjectionPlan:
        """Leave people's file alone and write `ours` to a conflict file next to it."""
        if ours is None:
            return ProjectionPlan()

        data, row = ours.encode(), self.conflict
        found = _digest(_read(self.files, row.path)) if row is not None else None
        # The same text is there already, from a writer that was killed before it could record it.
        if row is not None and found == sha256(data):
            self._remember(row.path, sha=found, pending=None)
            return ProjectionPlan(conflicts=(self._conflict_at(row.path),))

        # An older conflict file is replaced, unless people edited it as well: then a new one with
        # the first free number is written.
        if row is None or found not in (None, row.sha256, row.pending_sha256):
            self._settle_conflict()
            stem = self.path.removesuffix(".md")
            # Revisions only grow, so the first free number is found at once, whatever number of
            # conflict files there is.
            numbers = count(self.writing.next_revision())
            names = (f"{stem}.conflict-{number}.md" for number in numbers)
            name = next(name for name in names if _read(self.files, name) is None)
            row, found = Projection(path=name, revision=0), None

        self._remember(row.path, sha=found, pending=sha256(data))
        write = PlannedWrite(row.path, data, found)

        return ProjectionPlan(files=(write,), conflicts=(self._conflict_at(row.path),))

    def _conflict_at(self, ours: str) -> Conflict:
        shown = newest_mark(self.text or "")
        events = self.writing.events(after_revision=shown - 1, document=self.name, limit=1)
        known = any(event.revision == shown for event in events)
        return Conflict(path=self.path, ours=ours, is_unknown=bool(shown) and not known)

    def _dismissed(self) -> bool:
        """Whether people resolved the conflict by removing our file after it was seen on disk."""
        # Only after it was seen on disk: a file that was never written was not removed by anybody.
        row = self.conflict
        return row is not None and row.sha256 is not None and _read(self.files, row.path) is None

    def _settle_conflict(self) -> None:
        if self.conflict is not None:
            self.writing.set_projection(
                Projection(path=self.conflict.path, revision=self.conflict.revision)
            )

    # Rows

    def _events(self, after: int) -> list[Event]:
        return self.writing.events(after_revision=after, document=self.name)

    def _remember(self, path: str, *, sha: str | None, pending: str | None) -> None:
        # The revision of now, as everything up to it is in the text.
        revision = self.writing.revision()
        self.writing.set_projection(
            Projection(path=path, revision=revision, sha256=sha, pending_sha256=pending)
        )

    def _taken(self, piece: str) -> str:
        """Return people's text as it is stored: redacted, and without NUL for the database."""
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


@dataclass(frozen=True, slots=True)
class _Unreadable:
    """A file that exists and cannot be read as text, or is a link that leads out."""

    reason: str


def _read(files: ProjectFiles, path: str) -> "str | _Unreadable | None":
    try:
        if files.is_link(path):
            return _Unreadable("it is a link")
        return files.read_text(path, most=_MOST_BYTES)
    except (DocumentUnreadableError, PathRefusedError) as error:
        return _Unreadable(str(error))


def _digest(text: "str | _Unreadable | None") -> str | None:
    """Return the digest of a file, None without a file, and "" for one that cannot be compared."""
    if text is None:
        return None
    return "" if isinstance(text, _Unreadable) else hashlib.sha256(text.encode()).hexdigest()
