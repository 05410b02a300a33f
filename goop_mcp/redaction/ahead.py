"""Search for secrets before a transaction, so that no writer waits for a search.

Within a transaction a text is looked up among those that were searched before. One that is unknown
counts as a secret as a whole until the transaction is over: it is undone, the text is searched, and
the transaction runs again. Texts without secrets are remembered by their digests, so that a process
searches what it writes again with each change, such as a plan, only once.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import Any, Final, TypeVar

__all__ = ["remembering", "search_ahead", "searched_texts"]

A = TypeVar("A")
T = TypeVar("T")

# Each run meets the texts of at least one more document; a program that saves a file all the time
# must not keep a change from its end.
_MOST_RUNS: Final = 8
_MOST_REMEMBERED: Final = 4_096


class _UnsearchedError(Exception):
    """Undoes a transaction that has met texts which were not searched yet."""


class _Searched:
    """The results for texts by now, and how to search those that are missing."""

    def __init__(self, *, searches: bool) -> None:
        self.searches = searches
        self.results: dict[str, Any] = {}
        self.missing: dict[str, Callable[[str], Any]] = {}

    def look_up(self, text: str, search: Callable[[str], T], *, clean: T, unknown: T) -> T:
        """Return what `search` has found in `text`: `clean` where it holds no secret.

        `unknown` is for a text that was not searched yet, where nothing is searched.
        """
        if text in self.results:
            found: T = self.results[text]
            return found
        if _digest(text) in _clean:
            return clean
        self.missing[text] = search
        return self.search_missing()[text] if self.searches else unknown

    def search_missing(self) -> dict[str, Any]:
        """Search what is missing, and return all results."""
        for text, search in self.missing.items():
            found = self.results[text] = search(text)
            if found.count == 0:
                while len(_clean) >= _MOST_REMEMBERED:
                    _clean.pop(next(iter(_clean)), None)
                _clean[_digest(text)] = None
        self.missing = {}
        return self.results


_clean: dict[bytes, None] = {}
_within: ContextVar[_Searched | None] = ContextVar("searched texts", default=None)


def searched_texts() -> _Searched | None:
    """Return what is known within a transaction or `remembering`, None anywhere else."""
    return _within.get()


@contextmanager
def remembering() -> Iterator[None]:
    """Search no text again of which this process knows that it holds no secret."""
    if _within.get() is not None:
        yield
        return

    with _known(_Searched(searches=True)):
        yield


def search_ahead(change: Callable[[A], T], write: Callable[[Callable[[A], T]], T]) -> T:
    """Return `write(change)`, where `change` searches nothing, whatever it calls.

    `write` undoes what an exception of `change` leaves, and is called again with the same change
    after the texts that were unknown to it have been searched.
    """
    known = _Searched(searches=False)

    def run(argument: A) -> T:
        with _known(known):
            try:
                answer = change(argument)
            except Exception:
                # It may be about what counts as a secret for now.
                if not known.missing:
                    raise
            if known.missing:
                raise _UnsearchedError
            return answer

    for _ in range(_MOST_RUNS):
        try:
            return write(run)
        except _UnsearchedError:
            known.search_missing()

    return write(change)


@contextmanager
def _known(known: _Searched) -> Iterator[None]:
    token = _within.set(known)
    try:
        yield
    finally:
        _within.reset(token)


def _digest(text: str) -> bytes:
    # Loaded on use: most hooks write nothing.
    made: bytes = (
        import_module("hashlib")
        .blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16)
        .digest()
    )
    return made
