"""Keep recorded runs, find them again, and give the rules those that belong to a report."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from goop_mcp.errors import GoopError
from goop_mcp.evidence.recorded_runs import KnownRuns, RecordedRun, WorkTree
from goop_mcp.recording.sealing import (
    KeyFileError,
    MachineKey,
    machine_key,
    new_run_id,
    seal,
    unseal,
)
from goop_mcp.recording.tree_digest import (
    digest_work_tree,
    files_changed_since,
    main_work_tree,
    top_of_work_tree,
)
from goop_mcp.settings import Settings, read_settings
from goop_mcp.store.opening import open_store
from goop_mcp.store.records import NewKeptRun

if TYPE_CHECKING:
    from goop_mcp.store.interface import ReadTransaction, Store
    from goop_mcp.store.records import KeptRun
    from goop_mcp.validation.claims import CheckClaim

__all__ = [
    "MOST_LISTED",
    "RunNotFoundError",
    "RunSelection",
    "TreeComparison",
    "compare_tree",
    "find_run",
    "keep_run",
    "known_runs",
    "list_runs",
    "opened",
    "project_of_runs",
    "remove_runs",
    "settings_of",
]

LISTED: Final = 20
MOST_LISTED: Final = 500

_COMPARED: Final = 100
"""How many of the newest runs are compared with a report."""

_STATE: Final = ".goopspec"
_DATABASE: Final = "goop.db"


class RunNotFoundError(GoopError, LookupError):
    """Raised when no recorded run has the id; the text says what to do."""


class RunSelection(NamedTuple):
    """Which runs to remove: those with `ids`, all but the newest `keep`, or all of them."""

    ids: tuple[str, ...] = ()
    keep: int | None = None
    everything: bool = False


def project_of_runs(project: Path) -> Path:
    """Return the project whose database keeps the runs of `project`: itself, in most cases.

    A linked git work tree without a database of its own uses that of the main work tree.
    """
    found = project.resolve()
    top = top_of_work_tree(found) or found
    if (found / _STATE / _DATABASE).exists() or not (top / ".git").is_file():
        return found

    # Only a linked work tree or a submodule has a file there: git says which of them it is.
    main = main_work_tree(found)
    return main if main is not None and (main / _STATE / _DATABASE).exists() else found


@contextmanager
def opened(settings: Settings) -> Iterator["Store"]:
    """Yield the database of `settings`, and close it; raises StoreError where it is used."""
    store = open_store(
        settings.database,
        project=settings.project,
        project_id=settings.project_id,
        seconds=settings.database_seconds,
    )
    try:
        yield store
    finally:
        store.close()


def settings_of(
    project: Path,
    environment: Mapping[str, str],
    *,
    database: str | None = None,
    project_id: str | None = None,
) -> Settings:
    """Return the settings of `project` for the options of these names. Raises SettingsError."""
    return read_settings(
        environment, project=str(project), database=database, project_id=project_id
    )


def keep_run(store: "Store", run: RecordedRun) -> RecordedRun:
    """Keep `run`; return it with its id and MAC. Raises KeyFileError and StoreError."""
    key = machine_key(create=True)
    if key is None:
        raise KeyFileError("the key of recorded runs was removed meanwhile; run it again")

    named = run._replace(id=new_run_id(key), key=key.name)
    content, mac = seal(named, key)
    kept = NewKeptRun(
        run=named.id, name=named.name, created_at=named.started_at, content=content, mac=mac
    )
    store.write(lambda writing: writing.keep_run(kept))

    return named._replace(mac=mac)


def find_run(store: "Store", id: str) -> RecordedRun:
    """Return the run with `id`, which may be the beginning of exactly one of the newest runs.

    Raises RunNotFoundError, KeyFileError and StoreError.
    """
    wanted = id.strip()
    key = machine_key(create=False)

    def ask(reading: "ReadTransaction") -> "KeptRun | None":
        whole = reading.kept_run(wanted)
        if whole is not None:
            return whole
        alike = [
            each
            for each in reading.kept_runs(limit=MOST_LISTED)
            if len(wanted) > len("r-") and each.run.startswith(wanted)
        ]
        return alike[0] if len(alike) == 1 else None

    kept = store.read(ask)
    if kept is None:
        raise RunNotFoundError(
            f"no run {wanted[:40]!r} is recorded; goop-mcp evidence list shows all"
        )
    if not kept.content:
        raise RunNotFoundError(f"the run {kept.run} was recorded, and its record was removed")

    run = unseal(kept.content, kept.mac, key)
    if run is None or run.id != kept.run:
        raise RunNotFoundError(f"the record of the run {kept.run} cannot be read; it was changed")
    return run


def list_runs(store: "Store", *, limit: int = LISTED, name: str | None = None) -> list[RecordedRun]:
    """Return the newest runs, newest first; those of the check `name`, None for all.

    A record that cannot be read is listed with its id and the state "wrong". Raises KeyFileError
    and StoreError.
    """
    key = machine_key(create=False)
    kept = store.read(lambda reading: reading.kept_runs(limit=MOST_LISTED))
    wanted = [each for each in kept if name is None or each.name == name]

    return [_opened(each, key) for each in wanted[: max(0, min(limit, MOST_LISTED))]]


class TreeComparison(NamedTuple):
    """Whether a run is about the present files; `why` says why that is not known, "" if it is."""

    same: bool = False
    changed: tuple[str, ...] = ()
    why: str = ""


def compare_tree(run: RecordedRun, project: Path) -> TreeComparison:
    """Compare the files of `run` with the present ones."""
    if run.tree_moved:
        return TreeComparison(why="files changed while it ran, so it proves neither state")
    if not run.after.digest:
        return TreeComparison(why=f"it is bound to no state of the files: {run.after.why}")

    now = digest_work_tree(project, scopes=[run.paths] if run.paths else [])
    if not now.digest:
        return TreeComparison(why=f"the present files have no state: {now.why}")
    if run.paths:
        same = run.after.scopes.get(run.paths) == now.scopes.get(run.paths)
    else:
        same = run.after.digest == now.digest

    return TreeComparison(same, () if same else files_changed_since(project, run, now))


def remove_runs(store: "Store", selection: RunSelection) -> int:
    """Remove the records of the selected runs, and return how many there were.

    Their ids stay known, so that a report that names one is not taken for a lie.
    """

    def change_ids(reading: "ReadTransaction") -> list[int]:
        kept = reading.kept_runs(limit=MOST_LISTED)
        if selection.everything:
            return [each.id for each in kept]
        if selection.keep is not None:
            return [each.id for each in kept[max(selection.keep, 0) :]]
        return [each.id for each in kept if each.run in selection.ids]

    return store.write(lambda writing: writing.remove_kept_runs(change_ids(writing)))


def known_runs(
    checks: "Sequence[CheckClaim]", *, project: Path, store: "Store | None"
) -> KnownRuns | None:
    """Return the recorded runs that may belong to `checks`, and the present state of the files.

    None where there is nothing to compare: no check is reported as passed, or nobody on this
    machine ever recorded a run and no check names one. The state of the files is read only where
    a valid run needs it. Never raises for what a database or key lacks: the runs are then unknown.
    """
    if not any(check.passed for check in checks):
        return None

    cited = {check.run for check in checks if check.run}
    unread = ""
    try:
        key = machine_key(create=False)
    except KeyFileError as error:
        key, unread = None, str(error)
    if key is None and not cited:
        return None

    try:
        kept = _kept(project, store, cited)
    except GoopError as error:
        kept, unread = [], str(error)
    if not kept and not cited:
        return None

    runs = [_opened(each, key) for each in kept if each.content]
    # A run that was removed is not a lie: nothing is known of it.
    removed = [
        _unknown(each.run)._replace(mac_state="unknown key") for each in kept if not each.content
    ]
    tree = WorkTree()
    changed: dict[str, tuple[str, ...]] = {}
    usable = [run for run in runs if run.mac_state == "valid" and run.after.digest]
    if usable:
        scopes = list(dict.fromkeys(run.paths for run in usable if run.paths))
        tree = digest_work_tree(project, scopes=scopes)
        last = {run.name: run for run in usable}
        for run in usable:
            # Naming the files may take a process of git: only what a finding can be about.
            if run.id in cited or last[run.name] is run:
                changed[run.id] = files_changed_since(project, run, tree)

    keys = frozenset() if key is None else frozenset({key.name})
    return KnownRuns((*removed, *runs), tree, changed, keys, unread)


def _kept(project: Path, store: "Store | None", cited: set[str]) -> list["KeptRun"]:
    """Return the newest runs and those that are named, oldest first. Raises StoreError."""

    def ask(reading: "ReadTransaction") -> list["KeptRun"]:
        found = {each.run: each for each in reading.kept_runs(limit=_COMPARED)}
        for name in sorted(cited - found.keys())[:_COMPARED]:
            if (each := reading.kept_run(name[:40])) is not None:
                found[each.run] = each
        return sorted(found.values(), key=lambda each: each.id)

    if store is not None and store.exists():
        found = store.read(ask)
        if found:
            return found

    # A linked work tree without a database of its own.
    home = project_of_runs(project)
    if store is None or home == project.resolve() or store.engine != "sqlite":
        return []

    other = open_store(None, project=home)
    try:
        return other.read(ask) if other.exists() else []
    finally:
        other.close()


def _opened(kept: "KeptRun", key: MachineKey | None) -> RecordedRun:
    run = unseal(kept.content, kept.mac, key)
    # The id outside of what the MAC covers may be another one than that inside.
    if run is None or run.id != kept.run:
        return _unknown(kept.run, kept.name)._replace(mac_state="wrong")
    return run


def _unknown(id: str, name: str = "") -> RecordedRun:
    return RecordedRun(id, name, ())
