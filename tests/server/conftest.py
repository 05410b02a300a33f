from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.connections import ERAS, TRANSPORTS, Connection, Transport, connected
from tests.server.preloaded import preloading

COMBINATIONS = [
    pytest.param((transport, era), id=f"{transport}-{era}")
    for transport in TRANSPORTS
    for era in ERAS
]
LOCAL_COMBINATIONS = [
    pytest.param((transport, era), id=f"{transport}-{era}")
    for transport in ("memory", "stdio")
    for era in ERAS
]
"""Without a network: for tests that start a server each."""


@pytest.fixture(scope="session", params=COMBINATIONS)
def connection(request: pytest.FixtureRequest) -> Iterator[Connection]:
    """Connect once for all tests: no request leaves anything behind in the server."""
    transport: Transport
    transport, era = request.param
    with connected(transport, era) as opened:
        yield opened


@pytest.fixture(scope="session")
def preloaded() -> Iterator[Path]:
    """Load the server once; see `tests.server.preloaded`."""
    with preloading() as door:
        yield door
