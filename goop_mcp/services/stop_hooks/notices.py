"""What a person sees of an accepted reply: each kind once in a session, and in `goop-mcp status`.

A warning sends no report back, so that no agent reads it; and what cannot be compared is no reason
to reject a report (D-105, D-106). Without these notices they would reach no one.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from goop_mcp import redaction
from goop_mcp.errors import GoopError
from goop_mcp.services.stop_hooks.attempt_storage import EntryFile
from goop_mcp.services.stop_hooks.judging import shown_name
from goop_mcp.services.unverified import number_of_claims
from goop_mcp.validation.findings import Severity, excerpt

if TYPE_CHECKING:
    from goop_mcp.evidence.activity import AgentActivity
    from goop_mcp.services.stop_hooks.judging import AgentTurn
    from goop_mcp.validation.verdict import Verdict

__all__ = ["SHOWN_RULES", "Notice", "NoticeFile", "joined", "notices_of", "why_unread"]

SHOWN_RULES: Final = (
    "evidence/nothing-done",
    "evidence/file-not-touched",
    "evidence/check-stale",
    "evidence/vacuous-command",
    "correction/claim-changed",
)
"""The warnings of accepted replies that a person sees."""

_FILE: Final = "hook-notices.json"
_UNREAD: Final = "unread"
_UNVERIFIED: Final = "unverified"
_LONGEST: Final = 500
_LONGEST_SESSION: Final = 200


class Notice(NamedTuple):
    """A sentence for a person, when it was first shown (seconds since 1970), and how often it came.

    `kind` is the id of a rule, "unread" or "unverified".
    """

    kind: str
    sentence: str
    at: float
    times: int

    def to_dict(self) -> dict[str, object]:
        """Return the notice as JSON values."""
        return self._asdict()


def why_unread(activity: "AgentActivity", host: str) -> str:
    """Return why what an agent did cannot be read, with the host and its version."""
    name = f"{activity.host or host} {activity.host_version or 'of an unknown version'}"
    why = activity.why_incomplete
    return why if why.startswith(name) else f"{name}: {why}"


def notices_of(turn: "AgentTurn", verdict: "Verdict | None", unread: str) -> Mapping[str, str]:
    """Return the sentences about a reply that is passed on, by kind.

    `unread` is why what its agent did could not be read, "" where it was.
    """
    if verdict is None or verdict.envelope is None:
        return {}

    name = shown_name(turn.agent) if turn.agent else "the main agent"
    found: dict[str, str] = {}
    warnings = verdict.of_severity(Severity.WARNING)
    for rule in SHOWN_RULES:
        broken = [each for each in warnings if each.rule == rule]
        if broken:
            more = f", and {len(broken) - 1} more" if len(broken) > 1 else ""
            found[rule] = f"{name}: {broken[0].message} ({rule}{more})"
    if unread and number_of_claims(verdict):
        found[_UNREAD] = f"reports are not compared with what agents did, because {unread}"
    if verdict.unverified is not None:
        found[_UNVERIFIED] = f"{name}: {verdict.unverified.sentence}"

    return {
        kind: excerpt(redaction.shareable(text, turn.text), _LONGEST)
        for kind, text in found.items()
    }


def joined(message: str | None, shown: Sequence[str]) -> str | None:
    """Return `message` with the sentences that a person has not seen in this session."""
    lines = [] if message is None else [message]
    if shown:
        lines.append(f"goop-mcp: {'; '.join(shown)}. Shown once in a session, see goop-mcp status.")
    return "\n".join(lines) or None


class NoticeFile:
    """The notices of the last day, of all projects, in a file that processes share."""

    def __init__(self, folder: str, *, now: float) -> None:
        """Use the file in `folder`, which is created with the first notice."""
        self._file, self._now = EntryFile(folder, _FILE, now=now), now

    def show(
        self, project: str, session: str, found: Mapping[str, str]
    ) -> tuple[Sequence[str], tuple[str, ...]]:
        """Return those of `found` that are new in the session, and remarks for the host's log.

        Where they cannot be kept all are new: shown twice is better than never.
        """
        shown: list[str] = []
        try:
            with self._file.changing() as entries:
                for kind, sentence in found.items():
                    key = "\n".join((project, session[:_LONGEST_SESSION], kind))
                    before = _notice(kind, entries.get(key))
                    if before is None:
                        shown.append(sentence)
                        entries[key] = [sentence, self._now, 1]
                    else:
                        entries[key] = [before.sentence, before.at, before.times + 1]
        except (OSError, GoopError) as error:
            shown = [*found.values()]
            return shown, (*shown, f"notices for the person cannot be kept: {error}")

        return shown, tuple(shown)

    def of_project(self, project: str) -> list[Notice]:
        """Return the notices of a project, the newest first. Raises OSError."""
        found = [
            _notice(key.rpartition("\n")[2], value)
            for key, value in self._file.read().items()
            if key.startswith(f"{project}\n")
        ]
        return sorted((each for each in found if each is not None), key=lambda each: -each.at)


def _notice(kind: str, value: object) -> Notice | None:
    match value:
        case [str() as sentence, int() | float() as at, int() as times]:
            return Notice(kind, sentence, at, times)
        case _:
            return None
