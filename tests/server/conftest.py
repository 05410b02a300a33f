from collections.abc import Iterator

import pytest

from tests.server.connections import ERAS, TRANSPORTS, Connection, Transport, connected

COMBINATIONS = [pytest.param((transport, era), id=f"{transport}-{era}") for transport in TRANSPORTS for era in ERAS]


@pytest.fixture(scope="session", params=COMBINATIONS)
def connection(request: pytest.FixtureRequest) -> Iterator[Connection]:
    """Connect once for all tests: no request leaves anything behind in the server."""
    transport: Transport
    transport, era = request.param
    with connected(transport, era) as opened:
        yield opened
