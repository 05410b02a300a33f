"""The importance of a memory: 0 to 1 here, 1 to 10 in the original npm packages."""

import math
from typing import Final, Literal

from goop_mcp.validation.findings import Hit, excerpt
from goop_mcp.validation.rules import Problem
from goop_mcp.workflow.memory_rules import IMPORTANCE_AMBIGUOUS, IMPORTANCE_OUT_OF_RANGE

__all__ = ["ImportanceScale", "packages_importance", "read_importance"]

ImportanceScale = Literal["ours", "packages", "either"]
"""Ours is 0 to 1, the one of the packages' data 1 to 10; the packages' tools accept either."""

_HIGHEST: Final = 10
# Python refuses to convert numbers of thousands of digits to text.
_HUGE: Final = 10**20


def read_importance(
    value: object, scale: ImportanceScale = "ours"
) -> tuple[float | None, Problem | None]:
    """Return `value` on our scale and a problem, if there is one; None for an invalid value.

    A boolean, a text and NaN are invalid. With "either", exactly 1 is the highest on our scale and
    the lowest on the packages' one; it is read as the highest.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None, _out_of_range(value, scale)
    if scale == "ours" and 0 <= value <= 1:
        return float(value), None
    if scale == "either" and 0 < value < 1:
        return float(value), None
    if scale == "either" and value == 1:
        message = (
            "importance is 1, the highest from 0 to 1 and the lowest from 1 to 10; read as the"
            " highest"
        )
        hit = Hit(message=message, path="importance", found="1")
        return 1.0, Problem(IMPORTANCE_AMBIGUOUS, hit)
    if scale != "ours" and 1 <= value <= _HIGHEST:
        return value / _HIGHEST, None
    return None, _out_of_range(value, scale)


def packages_importance(importance: float) -> int:
    """Return our importance on the packages' scale: 1 to 10, rounded."""
    return min(max(math.floor(importance * _HIGHEST + 0.5), 1), _HIGHEST)


def _out_of_range(value: object, scale: ImportanceScale) -> Problem:
    expected = "a number from 0 to 1" if scale == "ours" else "a number from 1 to 10"
    found = (
        excerpt(repr(value), 40)
        if not isinstance(value, int) or abs(value) < _HUGE
        else "a huge number"
    )
    hit = Hit(message=f"importance is {found}; expected {expected}", path="importance", found=found)

    return Problem(IMPORTANCE_OUT_OF_RANGE, hit)
