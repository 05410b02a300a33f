"""Whether the time of a call grows with its text and no faster, which hostile texts try to change.

Times of a busy machine are compared with care: processor time only, the collector off, the least of
several tries, and a try that is slow for another reason fails nothing as long as one is not.
"""

import gc
import time
from collections.abc import Callable
from typing import Final, TypeVar

__all__ = ["assert_linear"]

_Text = TypeVar("_Text", str, bytes)

_TRIES: Final = 6
_SLACK: Final = 3
_NOISE: Final = 0.1


def assert_linear(
    read: Callable[[_Text], object], build: Callable[[int], _Text], *, sizes: tuple[int, int]
) -> None:
    """Assert that reading `build(large)` takes at most three times its share of `build(small)`.

    A square at eight times the size would take eight times its share. `sizes` are what `build`
    understands (characters, repetitions); the share is that of the lengths that it returned.
    """
    small, large = (build(size) for size in sizes)
    share = len(large) / len(small)
    read(small)

    least_small = least_large = float("inf")
    for _ in range(_TRIES):
        least_small = min(least_small, _seconds(read, small))
        least_large = min(least_large, _seconds(read, large))
        if least_large < _SLACK * share * least_small + _NOISE:
            return

    raise AssertionError(
        f"{least_large:.3f} s for {len(large):,} characters, {least_small:.3f} s for {len(small):,}"
    )


def _seconds(read: Callable[[_Text], object], text: _Text) -> float:
    gc.disable()
    try:
        began = time.process_time()
        read(text)
        return time.process_time() - began
    finally:
        gc.enable()
