"""Session ids: their form, where they are mentioned, and whether sessions wait for each other."""

import re
from collections.abc import Collection, Mapping

__all__ = ["SESSIONS_FOLDER", "find_cycle", "is_session_id", "mentioned_sessions"]

SESSIONS_FOLDER = "docs/.scratch/sessions"
"""Holds one folder per session, named by its id, relative to the project (section 5.1)."""

_SESSION_ID = re.compile(r"[0-9]{8}-[0-9]{6}-[a-z0-9]+(?>(?:-[a-z0-9]+)*)")
_MENTION = re.compile(rf"(?<![\w\-]){_SESSION_ID.pattern}(?![\w])")


def is_session_id(text: str) -> bool:
    """Return whether `text` has the form `YYYYMMDD-HHMMSS-slug` (H-45)."""
    return _SESSION_ID.fullmatch(text) is not None


def mentioned_sessions(text: str) -> tuple[str, ...]:
    """Return the session ids in `text`, each once, in order (H-47)."""
    return tuple(dict.fromkeys(_MENTION.findall(text)))


def find_cycle(start: str, waits_for: Mapping[str, Collection[str]]) -> tuple[str, ...]:
    """Return the sessions of a cycle of waiting that `start` leads to, () when there is none.

    `waits_for` maps a session to those that must be done before it. The first session of a cycle is
    repeated at its end.
    """
    # Depth-first search with an explicit stack, because chains of sessions can be deeper than the
    # recursion limit. `way` is the current path in order; a session found on it again closes a
    # cycle. Each session is expanded once, so that the search is linear in the number of
    # dependencies.
    way: dict[str, None] = {}
    done: set[str] = set()
    ahead = [iter((start,))]

    while ahead:
        session = next(ahead[-1], None)
        if session is None:
            ahead.pop()
            if way:
                done.add(way.popitem()[0])
        elif session in way:
            met = list(way)
            return (*met[met.index(session) :], session)
        elif session not in done:
            way[session] = None
            ahead.append(iter(waits_for.get(session, ())))

    return ()
