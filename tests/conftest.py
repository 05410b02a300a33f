"""Fixtures and settings of all tests: property tests, interrupts, and PostgreSQL."""

import os
import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from tests.postgres import Database, Server

# No deadline: a slow machine is not an error, and pytest shows slow tests.
settings.register_profile("default", max_examples=60, deadline=None)
# In CI the same examples each time, and more of them, so that a red run can be repeated.
settings.register_profile(
    "ci",
    max_examples=100,
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # So a shell starts its background jobs; the programs that the tests interrupt would inherit it
    # and go on.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return how many processes run the tests: three for two cores.

    Many tests wait, for a pause to pass, for the disk or for a program that they have started.
    """
    usable = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else ()
    cores = len(usable) or os.cpu_count() or 1
    return cores + (cores + 1) // 2


@pytest.fixture(scope="session")
def postgres_server() -> Iterator["Server"]:
    """Start PostgreSQL once, for tests that leave it running."""
    # The environments of make frameworks load this file too, and have no PostgreSQL.
    from tests.postgres import Server  # noqa: PLC0415

    with Server() as server:
        yield server


@pytest.fixture
def database(postgres_server: "Server") -> Iterator["Database"]:
    """Return an empty database of PostgreSQL."""
    with postgres_server.database() as database:
        yield database
