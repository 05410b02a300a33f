from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.connections import PROTOCOL_MODES, TRANSPORTS, Connection, Transport, connected
from tests.server.preloaded import preloading

COMBINATIONS = [
    pytest.param((transport, protocol_mode), id=f"{transport}-{protocol_mode}")
    for transport in TRANSPORTS
    for protocol_mode in PROTOCOL_MODES
]
LOCAL_COMBINATIONS = [
    pytest.param((transport, protocol_mode), id=f"{transport}-{protocol_mode}")
    for transport in ("memory", "stdio")
    for protocol_mode in PROTOCOL_MODES
]
"""Connections without a network, for tests that start a server each."""


@pytest.fixture(scope="session", params=COMBINATIONS)
def connection(request: pytest.FixtureRequest) -> Iterator[Connection]:
    """Connect once for all tests: no request changes the state of the server."""
    transport: Transport
    transport, protocol_mode = request.param
    with connected(transport, protocol_mode) as opened:
        yield opened


@pytest.fixture(scope="session")
def preloaded() -> Iterator[Path]:
    """Load the server once; see `tests.server.preloaded`."""
    with preloading() as door:
        yield door
