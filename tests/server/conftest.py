from collections.abc import Iterator

import pytest

from tests.server.connections import ERAS, Connection, Transport, connect, server_for

COMBINATIONS = [
    pytest.param((transport, era), id=f"{transport}-{era}") for transport in ("memory", "stdio") for era in ERAS
]


@pytest.fixture(scope="session", params=COMBINATIONS)
def connection(request: pytest.FixtureRequest) -> Iterator[Connection]:
    """Connect once for all tests: no request leaves anything behind in the server."""
    transport: Transport
    transport, era = request.param
    with connect(server_for(transport), era) as opened:
        yield opened
