"""Translate errors of PostgreSQL and its driver into StoreError; no text holds a password."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg

from goop_mcp.errors import (
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
    StoreUnavailableError,
)
from goop_mcp.store.postgres.address import NoAnswerError

__all__ = ["OutcomeUnknownError", "lost", "translated", "translating", "was_lost"]


class OutcomeUnknownError(StoreUnavailableError):
    """Raised for a commit that was sent and never answered."""

    def __init__(self, place: str) -> None:
        super().__init__(
            f"the connection to {place} was lost while a change was committed, so nobody knows"
            " whether it was; repeat the same call with the same idempotency key: it is not done"
            " twice"
        )


@dataclass(frozen=True, slots=True)
class _Translation:
    """The error to raise for one kind of failure; `{place}` in the text is the database."""

    kind: type[StoreError]
    text: str


_UNREACHABLE = _Translation(
    StoreUnavailableError, "{place} cannot be reached; nothing was done, call again when it is back"
)
_LOST = _Translation(
    StoreUnavailableError, "the connection to {place} was lost; nothing was done, call again"
)
_CONFLICT = _Translation(
    StoreBusyError, "another change of {place} came first; nothing was done, call again"
)
_DENIED = _Translation(
    StoreReadOnlyError, "the user of {place} may not do this; grant it the role goop_app"
)
_REFUSED = _Translation(
    StoreError,
    "{place} refuses the user or its password; check both, and pg_hba.conf on the server",
)
_DAMAGED = _Translation(StoreCorruptError, "{place} reports damaged data; restore it from a backup")
_STRANGE = _Translation(
    StoreCorruptError, "the tables of {place} are not those of goop-mcp; restore them from a backup"
)
_SILENT = _Translation(
    StoreUnavailableError,
    "{place} keeps the connection and does not answer; nothing was done, call again later",
)
_NO_ROLE = _Translation(
    StoreError,
    "the server at {place} no longer has the role goop_app; another server"
    " may answer there now, or it was restored without its roles: restore them (pg_dumpall"
    " --roles-only), or start goop-mcp again without it",
)
_TEXT = _Translation(
    StoreError, "a text holds a character that {place} cannot keep, such as NUL; remove it"
)

# By SQLSTATE. A whole code has precedence over its class, the first two characters.
_BY_STATE = {
    "08": _LOST,
    "22021": _TEXT,
    "22023": _NO_ROLE,
    "22P05": _TEXT,
    "23505": _Translation(
        StoreError,
        "the key or text is in {place} already; look for it in the same transaction first",
    ),
    "25006": _Translation(
        StoreReadOnlyError, "{place} is read-only, as a standby is; use the primary server"
    ),
    "25P03": _Translation(
        StoreUnavailableError,
        "{place} cut off a change that stood still for too long; nothing was done, call again",
    ),
    "25P04": _Translation(
        StoreUnavailableError,
        "{place} cut off a change that took too long; nothing was done, call again",
    ),
    "28": _REFUSED,
    "3D000": _Translation(StoreError, "{place} does not exist; create the database first"),
    "3F000": _STRANGE,
    "40": _CONFLICT,
    "42501": _DENIED,
    "42703": _STRANGE,
    "42P01": _STRANGE,
    "53": _Translation(
        StoreUnavailableError, "the server of {place} is overloaded; nothing was done, call again"
    ),
    "53100": _Translation(
        StoreFullError,
        "the server of {place} has no space left on its disk; free some, then call again",
    ),
    "55P03": _Translation(
        StoreBusyError, "others wrote to {place} for too long; nothing was done, call again"
    ),
    "57": _LOST,
    "57014": _Translation(
        StoreBusyError, "{place} took too long and was interrupted; nothing was done, call again"
    ),
    "58030": _DAMAGED,
    "XX001": _DAMAGED,
    "XX002": _DAMAGED,
}
# While connecting the driver has the server's message but no SQLSTATE. Messages in other languages
# than English fall back to "cannot be reached".
_BY_MESSAGE = (
    (
        re.compile(
            r"authentication failed|no pg_hba\.conf entry|no password supplied|role .* does not"
            r" exist"
        ),
        _REFUSED,
    ),
    (re.compile(r"database .* does not exist"), _BY_STATE["3D000"]),
    (re.compile(r"too many clients|too many connections|connection slots"), _BY_STATE["53"]),
)


def translated(error: Exception, place: str) -> StoreError:
    """Return the StoreError for an error of the driver; `place` is the database, no password."""
    translation = _translation_of(error)
    return translation.kind(translation.text.format(place=place))


@contextmanager
def translating(place: str) -> Iterator[None]:
    """Raise errors of the driver in the block as subclasses of StoreError."""
    try:
        yield
    except (psycopg.Error, UnicodeEncodeError) as error:
        raise translated(error, place) from error


def was_lost(error: psycopg.Error) -> bool:
    """Return whether the connection is gone: it broke, or an administrator ended it."""
    return (
        # Without a SQLSTATE the server sent no error: the connection broke.
        error.sqlstate is None
        or error.sqlstate[:2] == "08"
        or error.sqlstate in {"57P01", "57P02", "57P05", "25P03"}
    )


def lost(place: str) -> StoreError:
    """Return the error for a connection that broke before anything was done."""
    return _LOST.kind(_LOST.text.format(place=place))


def _translation_of(error: Exception) -> _Translation:
    if isinstance(error, UnicodeEncodeError):
        return _TEXT
    if isinstance(error, NoAnswerError):
        return _SILENT

    state = error.sqlstate if isinstance(error, psycopg.Error) else None
    if state:
        unknown = _Translation(
            StoreError, "{place} " + f"refused the statement (SQLSTATE {state}); please report this"
        )
        return _BY_STATE.get(state) or _BY_STATE.get(state[:2]) or unknown

    if isinstance(error, psycopg.DataError):
        return _TEXT

    message = str(error)
    return next(
        (translation for pattern, translation in _BY_MESSAGE if pattern.search(message)),
        _UNREACHABLE,
    )
