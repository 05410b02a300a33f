"""The project folder and the database."""

from collections.abc import Iterator

from goop_mcp.composition import Application
from goop_mcp.errors import GoopError, StoreError, StoreVersionError
from goop_mcp.hosts.doctor.checks import Check, fault, fine, warning
from goop_mcp.operations.stopping.policy import read_policy
from goop_mcp.settings import SettingsError
from goop_mcp.validation.findings import excerpt
from goop_mcp.workspace.checkpoints import Checkpoint, read_checkpoints
from goop_mcp.workspace.files import FileKind, ProjectFiles
from goop_mcp.workspace.layout import FOLDER
from goop_mcp.workspace.projections import newer_documents
from goop_mcp.workspace.state import StateDefect, read_state

__all__ = ["check_database", "check_project"]

_STATE = f"{FOLDER}/state.json"


def check_project(files: ProjectFiles) -> Iterator[Check]:
    """Yield what is found in the folder of the project."""
    if files.kind(FOLDER) is not FileKind.FOLDER:
        yield fine("project", f"{files.root} has no {FOLDER}; it is made when something is saved")
        return

    yield _state(files)
    for remark in read_policy(str(files.root))[1]:
        yield warning("project", remark, "mend the file, or remove it")


def check_database(application: Application) -> Iterator[Check]:
    """Yield what is found about the database; none is created."""
    try:
        store = application.store
        if not store.exists():
            yield fine(
                "database",
                f"{store.location} is not there yet; the first memory or report creates it",
            )
            return

        for remark in store.warnings:
            what, _, cure = remark.partition("; ")
            yield warning("database", what, cure)

        revision = store.read(lambda reading: reading.revision())
        damage = store.check()
    except (StoreError, SettingsError) as error:
        yield _broken(error)
        return

    if damage:
        yield fault(
            "database",
            f"{store.location} is damaged: {damage[0]}",
            "put a backup in its place with goop-mcp restore FILE; save memories with goop-mcp"
            " memory export first",
        )
    else:
        yield fine("database", f"{store.location} is sound, revision {revision}")
        if application.settings.writes_files:
            for newer in newer_documents(application.files, known=revision)[:1]:
                what, _, cure = str(newer).partition("; ")
                yield warning("database", what, cure)


def _broken(error: GoopError) -> Check:
    message, semicolon, cure = str(error).partition("; ")
    if isinstance(error, StoreVersionError):
        cure = "install the newest goop-mcp, then restart the hosts"
    return fault(
        "database",
        message,
        cure if semicolon else "look at the file, or name another with GOOP_DATABASE_URL",
    )


def _state(files: ProjectFiles) -> Check:
    try:
        state = read_state(files)
    except GoopError as error:
        return fault("project", str(error), f"put the file itself at {_STATE}")

    if state is None:
        return fine("project", f"{files.root} has no {_STATE}")
    if not isinstance(state, StateDefect):
        return fine("project", f"{_STATE} is sound, phase {state.phase}")

    newest = read_checkpoints(files).newest
    repair = f"mend that place by hand{_offer(newest) if newest is not None else ''}"

    return fault(
        "project",
        f"{_STATE} is broken in line {state.line}, column {state.column}: {state.message}",
        repair,
    )


def _offer(checkpoint: Checkpoint) -> str:
    phase = f", phase {excerpt(checkpoint.phase, 40)}" if checkpoint.phase is not None else ""
    return (
        f", or take over what you need from {checkpoint.path} (saved"
        f" {checkpoint.saved_at:%Y-%m-%d %H:%M} UTC{phase})"
    )
