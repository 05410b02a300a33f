"""Prometheus fetches the metrics of a server on a network."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from goop_mcp.validation.samples import COMPLETE_REPLY
from tests.cli.running import run
from tests.server.connections import connect, target
from tests.server.http.requests import ask
from tests.server.http.serving import Served, served

TOKEN = "the-token-of-prometheus"
ASKED_FOR = {"OTEL_METRICS_EXPORTER": "prometheus"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("project")
    with served(
        "--transport", "http", "--rate-limit", "5", project=folder, GOOP_TOKEN=TOKEN, **ASKED_FOR
    ) as running:
        yield running


def samples(server: Served) -> dict[str, float]:
    """Return the sum of each series."""
    answer = ask(f"{server.address}/metrics", method="GET", token=TOKEN)
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    sums: dict[str, float] = {}
    for family in text_string_to_metric_families(answer.text):
        for sample in family.samples:
            sums[sample.name] = sums.get(sample.name, 0) + sample.value

    return sums


def test_verdicts_are_counted(server: Served) -> None:
    before = samples(server).get("goop_verdicts_total", 0)
    with connect(target(server, "streamable-http", token=TOKEN), "auto") as client:
        client.tool("validate_report", text=COMPLETE_REPLY)
    after = samples(server)

    assert after["goop_verdicts_total"] == before + 1
    assert after["mcp_server_operation_duration_seconds_count"] >= 1
    assert after["process_resident_memory_bytes"] > 0


def test_the_address_needs_a_token_and_has_a_rate(server: Served) -> None:
    assert ask(f"{server.address}/metrics", method="GET").status_code == 401
    codes = {
        ask(f"{server.address}/metrics", method="GET", token=TOKEN).status_code for _ in range(40)
    }

    assert codes == {200, 429}


def test_without_the_variable_there_is_no_such_address(tmp_path: Path) -> None:
    with served("--transport", "http", project=tmp_path) as running:
        assert ask(f"{running.address}/metrics", method="GET").status_code == 404


def test_on_standard_input_a_warning_names_the_way_that_works(tmp_path: Path) -> None:
    ended = run("serve", "--project", tmp_path, env=ASKED_FOR)

    assert "fetches /metrics from a server on a network; use otlp here" in ended.err
