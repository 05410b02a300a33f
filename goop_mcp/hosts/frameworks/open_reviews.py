"""The reviews that are under way, one for each conversation of a framework."""

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Final, Unpack

from goop_mcp.retry.review import Review, ReviewTerms

__all__ = ["OpenReviews"]

_MOST: Final = 1000  # those of conversations that broke off are never closed; the oldest of them go


class OpenReviews:
    """Keeps a review from the first reply of a conversation to its last. May be shared by threads."""

    def __init__(self, **terms: Unpack[ReviewTerms]) -> None:
        Review(**terms)  # refuses terms of no use at once, and not at the first reply
        self._terms = terms
        self._reviews: OrderedDict[Hashable, Review] = OrderedDict()
        self._lock = Lock()

    @contextmanager
    def of(self, conversation: Hashable, **changed: Unpack[ReviewTerms]) -> Iterator[Review]:
        """Lend the review of a conversation; a new one, on the terms as `changed`, when there is none open."""
        review = self._opened(conversation, changed)
        try:
            yield review
        finally:
            if review.stopped:
                with self._lock:
                    self._reviews.pop(conversation, None)

    def _opened(self, conversation: Hashable, changed: ReviewTerms) -> Review:
        with self._lock:
            review = self._reviews.get(conversation)
            if review is None:
                review = self._reviews[conversation] = Review(**(self._terms | changed))
            self._reviews.move_to_end(conversation)
            while len(self._reviews) > _MOST:
                self._reviews.popitem(last=False)
        return review
