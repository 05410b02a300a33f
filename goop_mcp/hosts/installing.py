"""Register goop-mcp in a host and remove it: plan every file first, then write all of them."""

import dataclasses
import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from goop_mcp.hosts.catalogue import Asset, Element, FileLocation, Host, Part, Scope
from goop_mcp.hosts.contents import Contents, Entries, InstructionBlock, WholeFile, is_our_file
from goop_mcp.hosts.launch import Launch
from goop_mcp.hosts.records import InstallRecord, InstallRecords
from goop_mcp.hosts.targets import ConfigurationError, Target, find_target
from goop_mcp.workspace.replacing import sha256

__all__ = [
    "InstallAction",
    "InstallChange",
    "Registration",
    "carry_out",
    "is_our_target",
    "plan_install",
    "plan_uninstall",
]


class InstallAction(StrEnum):
    """What happens to a file."""

    CREATE = "create"
    CHANGE = "change"
    RESTORE = "restore"
    REMOVE = "remove"
    KEEP = "keep"


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """Where goop-mcp is registered: a host, a scope, and the folders that these stand for here.

    `tasks` includes the hooks on the host's own tasks, which are installed only when asked for.
    `commands` False leaves out the slash commands of a project's life, and removes those there.
    """

    host: Host
    scope: Scope
    project: Path
    environment: Mapping[str, str]
    tasks: bool = False
    commands: bool = True

    def target(self, location: FileLocation) -> Target:
        """Return the file that `location` stands for here."""
        return find_target(location, project=self.project, environment=self.environment)

    @property
    def optional_hooks(self) -> tuple[Element, ...]:
        """The hooks on the host's own tasks, whether they are asked for or not."""
        return self.host.task_hooks.get(self.scope, ())

    def files(self) -> Iterator[tuple[Target, list[Part] | Asset]]:
        """Yield the files of the host with what belongs in each; whole files come last."""
        entries: dict[Target, list[Part]] = {}
        asked_for = self.optional_hooks if self.tasks else ()
        for part in (*self.host.parts[self.scope], *asked_for):
            if not isinstance(part, Asset):
                entries.setdefault(self.target(part.location), []).append(part)

        yield from entries.items()
        for part in self.host.parts[self.scope]:
            if isinstance(part, Asset):
                yield self.target(part.location), part

    @property
    def command_files(self) -> Mapping[Target, Asset]:
        """The files of the slash commands; empty for a host that has none."""
        return {
            target: part
            for target, part in self.files()
            if isinstance(part, Asset) and part.is_command
        }

    def has_commands(self) -> bool:
        """Return whether a slash command of goop-mcp is there; an unreadable file is none."""
        return any(map(is_our_target, self.command_files))

    def instructions(self) -> Target | None:
        """Return the host's file of instructions; None where it has none for this scope."""
        location = self.host.instructions.get(self.scope)
        return None if location is None else self.target(location)


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallChange:
    """The content of one file `before` and `after` the change; None when the file does not exist.

    `record` is kept about the file from then on, None for nothing. `folders` are removed together
    with the file if they are empty. `ours` is true when the file holds exactly what was installed,
    which needs no backup.
    """

    target: Target
    action: InstallAction
    before: bytes | None
    after: bytes | None
    record: InstallRecord | None
    notes: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    ours: bool = False

    def diff(self) -> str:
        """Return the difference in the unified form; empty when there is none."""
        old, new = (
            [] if data is None else data.decode("utf-8", "replace").splitlines(keepends=True)
            for data in (self.before, self.after)
        )
        source, result = (
            self.target.shown if data is not None else "/dev/null"
            for data in (self.before, self.after)
        )
        pieces = difflib.unified_diff(old, new, source, result)

        return "".join(
            piece if piece.endswith("\n") else f"{piece}\n\\ no line feed at the end\n"
            for piece in pieces
        )


def plan_install(
    registration: Registration,
    launch: Launch,
    records: InstallRecords,
    *,
    replace: bool = False,
    block: str | None = None,
) -> list[InstallChange]:
    """Return the changes that register goop-mcp in the host; nothing is written.

    `replace` overwrites entries that were written by hand. `block`, if given, is added to the
    host's file of instructions. Raises ConfigurationError for the first file that cannot be changed
    safely.
    """
    contents: list[tuple[Target, Contents]] = []
    removed: list[tuple[Target, Contents]] = []
    for target, parts in registration.files():
        if isinstance(parts, Asset) and parts.is_command and not registration.commands:
            removed.append((target, WholeFile(asset=parts)))
            continue
        if isinstance(parts, Asset):
            contents.append((target, WholeFile(asset=parts, replace=replace)))
            continue

        # Hooks that an earlier installation was asked for are renewed with the others.
        renewed = [
            hook
            for hook in registration.optional_hooks
            if hook not in parts and registration.target(hook.location) == target
        ]
        entries = Entries(parts=parts, launch=launch, replace=replace, renewed=renewed)
        contents.append((target, entries))

    instructions = registration.instructions()
    if block is not None and instructions is not None:
        contents.append((instructions, InstructionBlock(text=block)))
    return [
        *(_plan_install_of(registration, target, content, records) for target, content in contents),
        *(
            _plan_uninstall_of(registration, target, content, records)
            for target, content in removed
        ),
    ]


def plan_uninstall(registration: Registration, records: InstallRecords) -> list[InstallChange]:
    """Return the changes that remove goop-mcp from the host; nothing is written.

    Raises ConfigurationError for the first file that cannot be changed safely.
    """
    contents: list[tuple[Target, Contents]] = [
        (
            target,
            WholeFile(asset=parts) if isinstance(parts, Asset) else Entries(parts=parts),
        )
        for target, parts in registration.files()
    ]
    instructions = registration.instructions()
    if instructions is not None:
        contents.append((instructions, InstructionBlock()))
    return [
        _plan_uninstall_of(registration, target, content, records) for target, content in contents
    ]


def carry_out(changes: Sequence[InstallChange], records: InstallRecords) -> list[Path | None]:
    """Make the changes in order, all or none; return the path of each file's backup, or None.

    When a file cannot be written, those before it are restored. Raises ConfigurationError, which
    says that nothing was changed, or names the files that could not be restored.
    """
    earlier = [records.read(change.target) for change in changes]
    backups: list[Path | None] = []

    for number, change in enumerate(changes):
        try:
            backups.append(_apply(change, records))
        except (ConfigurationError, KeyboardInterrupt) as error:
            # The change that failed is undone as well: it may have stopped halfway.
            begun = list(zip(changes, earlier, strict=True))[: number + 1]
            stuck = [
                each.target.shown
                for each, record in reversed(begun)
                if not _roll_back(each, record, records)
            ]
            if isinstance(error, KeyboardInterrupt):
                raise

            outcome = (
                f"{', '.join(stuck)} could not be restored, uninstall fixes it"
                if stuck
                else "no file was changed"
            )
            raise ConfigurationError(f"{error}; {outcome}") from error

    return backups


def _roll_back(
    change: InstallChange, record: InstallRecord | None, records: InstallRecords
) -> bool:
    """Restore the file and the earlier record of a change that was begun; return whether it worked.

    The file is only touched if it differs from what it was.
    """
    try:
        if change.target.read() != change.before:
            if change.before is None:
                change.target.remove()
            else:
                change.target.write(change.before)

        if change.before is None and change.record is not None:
            change.target.remove_folders(change.record.folders)
        if record is None:
            records.forget(change.target)
        else:
            records.keep(change.target, record)
    except ConfigurationError:
        return False

    return True


def _apply(change: InstallChange, records: InstallRecords) -> Path | None:
    backup = None
    if change.action is not InstallAction.KEEP and change.before is not None and not change.ours:
        backup = records.back_up(change.target, change.before)
    # The record is written before the file: after a crash in between, uninstall still works.
    if change.record is not None:
        records.keep(change.target, change.record)
    if change.action is not InstallAction.KEEP:
        if change.after is None:
            change.target.remove(change.folders)
        else:
            change.target.write(change.after)

    if change.record is None:
        records.forget(change.target)
    return backup


def _plan_install_of(
    registration: Registration, target: Target, content: Contents, records: InstallRecords
) -> InstallChange:
    data, record = target.read(), records.read(target)
    text = None if data is None else _decoded(target, data)
    if record is None and text is not None and isinstance(content, Entries):
        # A checkout or a lost record: what an earlier version wrote is ours all the same.
        earlier = content.earlier(text, shown=target.shown)
        record = InstallRecord(before=None, after="", written=earlier) if earlier else None

    known = () if record is None else record.written
    edited = content.add(text, shown=target.shown, known=known)
    after = edited.text.encode()
    if after == data:
        kept = None if record is None else _with_owner(record, registration)
        return InstallChange(
            target=target,
            action=InstallAction.KEEP,
            before=data,
            after=data,
            record=kept,
            notes=edited.notes,
        )

    target.refuse_unwritable()

    # First installation: the present content is the original.
    before, folders = data, target.missing_folders()
    owners: tuple[str, ...] = ()
    if record is not None and data is not None:
        # A second installation keeps the original content from the first record. If somebody edited
        # the file in between, the original is the present content without our entries.
        folders, owners = record.folders, record.owners
        left = content.remove(_decoded(target, data), shown=target.shown, record=record)
        before = (
            record.before if record.is_untouched(data) else None if left is None else left.encode()
        )

    fresh = InstallRecord(
        before=before,
        after=sha256(after),
        folders=folders,
        written=edited.written,
        owners=owners,
    )

    return InstallChange(
        target=target,
        action=InstallAction.CREATE if data is None else InstallAction.CHANGE,
        before=data,
        after=after,
        record=_with_owner(fresh, registration),
        notes=edited.notes,
    )


def _with_owner(record: InstallRecord, registration: Registration) -> InstallRecord:
    return dataclasses.replace(
        record, owners=tuple(dict.fromkeys([*record.owners, registration.host.name]))
    )


def _plan_uninstall_of(
    registration: Registration, target: Target, content: Contents, records: InstallRecords
) -> InstallChange:
    data, record = target.read(), records.read(target)
    others = (
        ()
        if record is None
        else tuple(name for name in record.owners if name != registration.host.name)
    )
    # Two hosts may share a file, AGENTS.md for example: the last one removes the content.
    if data is None or (record is not None and others):
        kept = (
            None if record is None or data is None else dataclasses.replace(record, owners=others)
        )
        notes = (f"stays as it is for {', '.join(others)}",) if others and data is not None else ()
        return InstallChange(
            target=target,
            action=InstallAction.KEEP,
            before=data,
            after=data,
            record=kept,
            notes=notes,
        )

    if record is not None and record.is_untouched(data):
        # Nobody edited the file since: the original comes back byte for byte.
        after, action = record.before, InstallAction.RESTORE
    else:
        left = content.remove(_decoded(target, data), shown=target.shown, record=record)
        after, action = None if left is None else left.encode(), InstallAction.CHANGE

    if after == data:
        return InstallChange(
            target=target, action=InstallAction.KEEP, before=data, after=data, record=None
        )

    target.refuse_unwritable()

    return InstallChange(
        target=target,
        action=InstallAction.REMOVE if after is None else action,
        before=data,
        after=after,
        record=None,
        folders=() if record is None else record.folders,
        ours=record is not None and record.is_untouched(data),
    )


def is_our_target(target: Target) -> bool:
    """Return whether a file that is installed as a whole is there and was written by goop-mcp."""
    try:
        data = target.read()
    except ConfigurationError:
        return False
    return data is not None and is_our_file(data.decode("utf-8", "replace"))


def _decoded(target: Target, data: bytes) -> str:
    """Return the text of a file with its byte order mark; raise ConfigurationError if not UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise target.refusal(
            f"is not UTF-8 text: byte 0x{data[error.start]:02x} in line {line}; save it as UTF-8"
            " first"
        ) from None
