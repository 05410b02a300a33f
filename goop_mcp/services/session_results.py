"""The results of spawned agents: gathered, checked against their schema, and counted (H-67, H-73).

A result is result.json in the folder of a session, of the form `goop-mcp schema result` prints. It
is not an envelope: the response of the agent is a goop_report.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from goop_mcp.protocols.agent_request.sessions import mentioned_sessions
from goop_mcp.services.adoption import AdoptionReport, measure_adoption
from goop_mcp.services.gate import Adoption
from goop_mcp.services.json_objects import kind_of
from goop_mcp.validation.safe_json import JsonValue
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.sessions import list_sessions, read_session, read_sessions

__all__ = ["ReadSessionResult", "gather_results", "session_adoption"]

_TEXTS = ("status", "summary")
_LISTS = ("deliverables", "errors", "recommendations")
# The newest ones: a result may have megabytes, and all are held at once.
_MOST_SESSIONS = 1_000
_MOST_CHARACTERS = 8_000_000
_NO_ROOM = (
    f"not read, as the newer results have over {_MOST_CHARACTERS:,} characters; ask for this"
    " session by its id"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSessionResult:
    """The result of session `id`.

    `result` is None where there is none that can be read. `errors` say what is missing or has
    another form than the schema.
    """

    id: str
    status: str | None
    result: Mapping[str, JsonValue] | None
    errors: tuple[str, ...]

    def to_dict(self) -> dict[str, object]:
        """Return the result as JSON values."""
        return {
            "session": self.id,
            "status": self.status,
            "result": dict(self.result) if self.result is not None else None,
            "errors": list(self.errors),
        }


def gather_results(
    files: ProjectFiles, ids: Sequence[str] = (), *, text: str = ""
) -> tuple[ReadSessionResult, ...]:
    """Return the results of `ids` and of the sessions that `text` names; by default of all.

    Of all sessions, the newest 1,000. A missing result is an error of its session only (H-46); so
    is one that the others leave no room for: all together have at most 8 million characters.
    Raises PathRefusedError for an id that is not a name of a folder.
    """
    wanted = tuple(dict.fromkeys((*ids, *mentioned_sessions(text))))
    if not wanted and not text:
        wanted = list_sessions(files)[-_MOST_SESSIONS:]

    found: list[ReadSessionResult] = []
    left = _MOST_CHARACTERS
    # The newest first, as these are looked for when there is not room for all.
    for id in reversed(wanted):
        if left <= 0:
            found.append(ReadSessionResult(id=id, status=None, result=None, errors=(_NO_ROOM,)))
            continue

        session = read_session(files, id)
        left -= len(json.dumps(session.result)) if session.result is not None else 0
        errors = (*session.errors, *_defects(session.result))
        found.append(
            ReadSessionResult(id=id, status=session.status, result=session.result, errors=errors)
        )

    return tuple(reversed(found))


def session_adoption(files: ProjectFiles, *, phase: Adoption) -> AdoptionReport:
    """Return how many sessions of the project got a request in their prompt (H-72)."""
    sessions = read_sessions(files, list_sessions(files)[-_MOST_SESSIONS:])
    prompts = (session.prompt for session in sessions)
    return measure_adoption((prompt for prompt in prompts if prompt), phase=phase)


def _defects(result: Mapping[str, JsonValue] | None) -> list[str]:
    """Return where `result` has another form than schemas/result/1.json."""
    if result is None:
        return []

    defects = []
    for name in _TEXTS:
        value = result.get(name)
        if not isinstance(value, str) or not value:
            shown = "empty" if value == "" else kind_of(value) if name in result else "missing"
            defects.append(f"result.json: {name} is {shown}; expected a text")
    for name in _LISTS:
        entries = result.get(name, [])
        if not isinstance(entries, list):
            defects.append(f"result.json: {name} is {kind_of(entries)}; expected a list")
            continue

        wrong = next(
            (at for at, each in enumerate(entries, 1) if not isinstance(each, str | dict)), None
        )
        if wrong is not None:
            defects.append(
                f"result.json: entry {wrong} of {name} is {kind_of(entries[wrong - 1])}; expected a"
                " text or an object"
            )

    return defects
