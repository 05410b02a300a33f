"""Restrict root like any other user, so that tests of permissions run in containers too."""

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

__all__ = ["ordinary_rights"]

_VERSION = 0x20080522
"""Of the structures below, as Linux numbers them: two sets of 32 bits for each kind."""
_SET_SECUREBITS = 28
_ROOT_IS_NOTHING_SPECIAL = 1
"""A program that is started gets no rights for belonging to root."""


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Rights(ctypes.Structure):
    _fields_ = (
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    )


@contextmanager
def ordinary_rights() -> Iterator[None]:
    """Make permissions of files apply to this thread and its children, also for root.

    Root keeps its name and what belongs to it, and has its rights back afterwards.
    """
    if os.geteuid() != 0:
        yield
        return
    if sys.platform != "linux":
        pytest.skip("root can give up its rights for a while on Linux only")

    linux = ctypes.CDLL(None, use_errno=True)
    if linux.prctl(_SET_SECUREBITS, _ROOT_IS_NOTHING_SPECIAL, 0, 0, 0):
        pytest.skip(f"root may not give up its rights here ({os.strerror(ctypes.get_errno())})")

    _set_rights(linux, used=False)

    try:
        yield
    finally:
        _set_rights(linux, used=True)
        linux.prctl(_SET_SECUREBITS, 0, 0, 0, 0)


def _set_rights(linux: ctypes.CDLL, *, used: bool) -> None:
    """Make use of all rights that are permitted, or of none."""
    header, rights = _Header(_VERSION, 0), (_Rights * 2)()
    failed = linux.capget(ctypes.byref(header), rights)
    for each in rights:
        each.effective = each.permitted if used else 0

    if failed or linux.capset(ctypes.byref(header), rights):
        raise OSError(ctypes.get_errno(), "the rights of this thread cannot be set")
