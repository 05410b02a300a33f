"""Find the reply that a caller names: its text, a recorded report, a file, or a kept reply.

Whoever has a number or a path need not write kilobytes out once more to have them judged.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from goop_mcp import services
from goop_mcp.errors import DocumentMissingError, GoopError, ProjectElsewhereError
from goop_mcp.protocols import FAMILIES
from goop_mcp.validation.limits import DEFAULT_LIMITS
from goop_mcp.workspace.layout import FOLDER

if TYPE_CHECKING:
    from goop_mcp.settings import Settings
    from goop_mcp.store.interface import Store
    from goop_mcp.workspace.files import ProjectFiles

__all__ = ["FoundReply", "ReplySourceError", "find_reply", "recorded_text"]

_MOST_BYTES: Final = DEFAULT_LIMITS.text_bytes
_BYTE_ORDER_MARK: Final = "\ufeff"


class ReplySourceError(GoopError, ValueError):
    """Raised when no reply or more than one is named, or a recorded one cannot be written out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundReply:
    """A reply to judge.

    `source` says where it was found, such as "report 3"; None for a text that the caller gave.
    """

    text: str = field(repr=False)
    source: str | None = None


class Places(Protocol):
    """Where replies are found: the database and the files of a project, opened when asked for."""

    @property
    def settings(self) -> "Settings":
        """What the process was started with."""
        ...  # pragma: no cover

    @property
    def store(self) -> "Store":
        """The database of the project."""
        ...  # pragma: no cover

    @property
    def files(self) -> "ProjectFiles":
        """The files of the project."""
        ...  # pragma: no cover


def find_reply(
    places: Places,
    *,
    text: str | None = None,
    report: int | None = None,
    file: str | None = None,
    agent: str | None = None,
    last: bool = False,
) -> FoundReply:
    """Return the reply that exactly one of the arguments names.

    `text` is the reply itself, `report` the number of a recorded report, `file` a path of at most 2
    MiB in the project, with `/`; a path that leads out of it, by a link too, is refused. `agent`
    names the agent whose last reply a hook has kept, and goes with `last` only: agents that mean
    another reply take `agent` for expected_agent. Raises ReplySourceError, ReportNotFoundError,
    ReplyNotKeptError, WorkspaceError and StoreError, whose texts say what to do.
    """
    if (agent is not None) != last:
        raise ReplySourceError(
            "agent and last=true go together: agent=NAME, last=true means the last kept reply of"
            " that agent; expected_agent names the agent of another reply"
        )

    named = {"text": text, "report": report, "file": file, "agent": agent}
    given = [name for name, value in named.items() if value is not None]
    if len(given) != 1:
        which = f"{' and '.join(given)} are given" if given else "no reply is named"
        raise ReplySourceError(
            f"{which}; expected exactly one of text, report, file, and agent with last=true"
        )

    if text is not None:
        return FoundReply(text=text)
    if report is not None:
        return FoundReply(text=recorded_text(places.store, report), source=f"report {report}")
    if agent is not None:
        kept = services.kept_replies.last_reply(places.store, agent)
        source = f"the last reply of {kept.agent}, kept at {kept.created_at}"
        return FoundReply(text=kept.text, source=source)

    # Of the four, only the path is left.
    path = file or ""
    files = places.files
    # Where callers are remote, only the tenant that owns the folder has files on this machine.
    if not places.settings.keeps_files and not files.exists(FOLDER):
        raise ProjectElsewhereError(
            f"there is no folder {FOLDER} of the project on this server, so that it has no file"
            " of yours; give the reply as text"
        )

    found = files.read_text(path, most=_MOST_BYTES)
    shown = files.relative(path)
    if found is None:
        raise DocumentMissingError(
            f"there is no file {shown!r} in the project; expected a path from its top, such as"
            " docs/reply.md"
        )

    return FoundReply(text=found.removeprefix(_BYTE_ORDER_MARK), source=f"file {shown}")


def recorded_text(store: "Store", report: int) -> str:
    """Return the envelope of the report with this number as a text that is read as the same model.

    The reply around it is not recorded. Raises ReportNotFoundError, ReplySourceError, StoreError.
    """
    # `services` loads the module now: most replies are given as text and do not need it.
    stored = store.read(lambda reading: services.recorded_reports.find_report(reading, report))
    family = next((each for each in FAMILIES if each.name == stored.protocol), None)
    if family is None:
        raise ReplySourceError(
            f"report {report} is in the protocol {stored.protocol!r}, which this version does not"
            " know; give its text"
        )

    try:
        values = services.project_snapshot.envelope_of(stored)
        return family.write(family.envelope_from(values))
    except (GoopError, ValueError) as error:
        # An older version may have stored what this one does not write.
        raise ReplySourceError(
            f"report {report} cannot be written out ({error}); give its text"
        ) from error
