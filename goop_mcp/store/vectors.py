"""Vectors as the databases store them: 32-bit floats, little-endian."""

import sys
from array import array
from collections.abc import Sequence

__all__ = ["BYTES_A_NUMBER", "packed", "unpacked"]

BYTES_A_NUMBER = 4


def packed(vector: Sequence[float]) -> bytes:
    """Return `vector` as bytes."""
    return _little(array("f", vector)).tobytes()


def unpacked(data: bytes) -> Sequence[float]:
    """Return the vector from the bytes that `packed` returned."""
    return _little(array("f", data))


def _little(numbers: "array[float]") -> "array[float]":
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers
