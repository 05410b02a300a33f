"""Checks of the project folder and the database."""

from collections.abc import Iterator
from contextlib import suppress

from goop_mcp.context import AppContext
from goop_mcp.errors import GoopError, StoreError, StoreVersionError
from goop_mcp.hosts.doctor.checks import DoctorCheck, failure, ok, warning
from goop_mcp.protocols import RULES
from goop_mcp.services.confirmed_settings import unconfirmed
from goop_mcp.services.options_file import read_options, read_severities, remarks_on_rules
from goop_mcp.services.stop_hooks.policy import read_policy
from goop_mcp.settings import SettingsError
from goop_mcp.validation.findings import excerpt
from goop_mcp.workspace.checkpoints import read_checkpoints
from goop_mcp.workspace.document_lookup import is_there
from goop_mcp.workspace.files import FileKind, ProjectFiles
from goop_mcp.workspace.layout import FOLDER, PEOPLES_DOCUMENTS, document_path
from goop_mcp.workspace.state import StateDefect, parse_state, read_state
from goop_mcp.workspace.used_revisions import older_copy_of

__all__ = ["check_database", "check_project"]

_STATE = f"{FOLDER}/state.json"


def check_project(application: AppContext) -> Iterator[DoctorCheck]:
    """Yield what is found in the project's folder."""
    files = application.files
    if files.kind(FOLDER) is not FileKind.FOLDER:
        yield ok("project", f"{files.root} has no {FOLDER}; it is created when something is saved")
    else:
        stored = None
        # An error of the database is the result of its own check.
        with suppress(StoreError, SettingsError):
            if not application.settings.writes_files and application.store.exists():
                stored = application.store.read(lambda reading: reading.stored_state())

        yield _check_state(files, stored)

    # The options of a project need no folder .goopspec.
    options = read_options(str(files.root))
    unusable = (*read_policy(str(files.root))[1], *remarks_on_rules(options, RULES))
    for remark in unusable:
        yield warning("project", remark, "fix the file, or remove it")
    try:
        weakened = unconfirmed(str(files.root), "HEAD")
    except GoopError as error:
        yield warning("project", str(error), "look at the file")
    else:
        if weakened is not None:
            what, file = weakened
            yield warning(
                "project",
                f"settings that weaken how reports are judged: {what}",
                f"if they are right, commit them or run goop-mcp trust {file}",
            )
    for note in read_severities(options).notes:
        yield ok("project", f"severity changed by the project: {note}")


def check_database(application: AppContext) -> Iterator[DoctorCheck]:
    """Yield what is found about the database; a missing one is not created."""
    try:
        store = application.store
        if not store.exists():
            yield ok(
                "database",
                f"{store.location} does not exist yet; the first memory or report creates it",
            )
            return

        for remark in store.warnings:
            what, _, fix = remark.partition("; ")
            yield warning("database", what, fix)

        files = application.files if application.settings.writes_files else None
        revision, older = store.read(
            lambda reading: (reading.revision(), older_copy_of(reading, files))
        )
        damage = store.check()
    except (StoreError, SettingsError) as error:
        # Errors of the store read "what is wrong; what to do".
        message, semicolon, fix = str(error).partition("; ")
        if not semicolon:
            fix = "look at the file, or name another with GOOP_DATABASE_URL"
        elif isinstance(error, StoreVersionError):
            fix = "install the newest goop-mcp, then restart the hosts"
        yield failure("database", message, fix)
        return

    if damage:
        yield failure(
            "database",
            f"{store.location} is damaged: {damage[0]}",
            "put a backup in its place with goop-mcp restore FILE; save memories with goop-mcp"
            " memory export first",
        )
    else:
        yield ok("database", f"{store.location} is valid, revision {revision}")
        if older is not None:
            what, _, fix = str(older).partition("; ")
            yield warning("database", what, fix)


def _check_state(files: ProjectFiles, stored: str | None) -> DoctorCheck:
    """Return whether the state that counts can be read: the row if there is one, else the file."""
    if stored is not None:
        row = parse_state(stored)
        if isinstance(row, StateDefect):
            return failure(
                "project",
                f"the state in the database is broken in line {row.line}, column {row.column}:"
                f" {row.message}",
                "run goop-mcp project resume, which takes it from the newest checkpoint",
            )
        return ok("project", f"the state in the database is valid, phase {row.phase}")

    try:
        state = read_state(files)
    except GoopError as error:
        return failure("project", str(error), f"put the file itself at {_STATE}")

    if state is None:
        if any(is_there(files, document_path(name)) for name in PEOPLES_DOCUMENTS):
            return ok("project", f"{files.root} has no {_STATE}")
        return ok("project", f"none has begun in {files.root}; goop-mcp init begins one")
    if not isinstance(state, StateDefect):
        return ok("project", f"{_STATE} is valid, phase {state.phase}")

    if not state.line:
        what, _, advice = state.message.partition("; ")
        return failure("project", what, advice or f"put the file itself at {_STATE}")

    newest = read_checkpoints(files).newest
    fix = "fix that place by hand"
    if newest is not None:
        phase = f", phase {excerpt(newest.phase, 40)}" if newest.phase is not None else ""
        fix += (
            ", run goop-mcp project resume if goop-mcp saved a checkpoint, or take over what you"
            f" need from {newest.path} (saved {newest.saved_at:%Y-%m-%d %H:%M} UTC{phase})"
        )

    return failure(
        "project",
        f"{_STATE} is broken in line {state.line}, column {state.column}: {state.message}",
        fix,
    )
