"""The reviews that are under way, one for each conversation of a framework."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from threading import Lock
from time import monotonic
from typing import Final, Unpack
from weakref import finalize

from goop_mcp.retry.review import Review, ReviewOptions

__all__ = ["OpenReviews"]

# Conversations that broke off are rarely closed. They are given up after a day, and the oldest of
# too many sooner; `on_stop` receives each of them.
_MOST: Final = 10_000
_KEPT_SECONDS: Final = 24 * 60 * 60


class OpenReviews:
    """Keeps a review from the first reply of a conversation to its last. May be shared by threads.

    `now` gives seconds that never go back.
    """

    def __init__(
        self, *, now: Callable[[], float] = monotonic, **terms: Unpack[ReviewOptions]
    ) -> None:
        Review(**terms)  # refuses terms of no use at once, and not at the first reply
        self._terms = terms
        self._now = now
        self._reviews: OrderedDict[Hashable, tuple[float, Review]] = OrderedDict()
        self._lock = Lock()
        # When nobody can send another reply, as the owner is gone or the program ends.
        finalize(self, _cancel_all, self._reviews)

    @contextmanager
    def of(self, conversation: Hashable, **changed: Unpack[ReviewOptions]) -> Iterator[Review]:
        """Lend the open review of a conversation, or a new one on the terms as `changed`."""
        now = self._now()
        abandoned: list[Review] = []
        with self._lock:
            _, review = self._reviews.get(conversation, (0.0, None))
            if review is None:
                review = Review(**(self._terms | changed))

            self._reviews[conversation] = now, review
            self._reviews.move_to_end(conversation)

            while (
                len(self._reviews) > _MOST
                or next(iter(self._reviews.values()))[0] < now - _KEPT_SECONDS
            ):
                abandoned.append(self._reviews.popitem(last=False)[1][1])

        # Not under the lock: what `on_stop` does is the caller's.
        for each in abandoned:
            each.cancel()

        try:
            yield review
        finally:
            if review.stopped:
                with self._lock:
                    self._reviews.pop(conversation, None)

    def close(self, is_over: Callable[[Hashable], bool]) -> None:
        """Cancel the reviews of the conversations that are over without another reply."""
        with self._lock:
            over = [each for each in self._reviews if is_over(each)]
            reviews = [self._reviews.pop(each)[1] for each in over]

        for review in reviews:
            review.cancel()

    def fail(self, conversation: Hashable, failure: Exception) -> None:
        """End the review of a conversation whose next call failed for good, if one is open."""
        with self._lock:
            _, review = self._reviews.pop(conversation, (0.0, None))

        if review is not None:
            review.fail(failure)


def _cancel_all(reviews: dict[Hashable, tuple[float, Review]]) -> None:
    for _, review in list(reviews.values()):
        review.cancel()
