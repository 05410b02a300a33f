"""The same play over every transport and protocol version, confirmed at the client or a terminal.

Slow, so that only `make scenarios` runs it.
"""

import secrets
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import anyio.to_thread
import pytest
from mcp import Client
from mcp.client.session import ElicitationFnT

from goop_mcp.cli.demo.full_player import Connect
from tests.scenarios.playing import Transcript, play, stdio
from tests.scenarios.terminal import answer_at_terminal
from tests.server.connections import target
from tests.server.http.serving import served

pytestmark = pytest.mark.scenarios

TOKEN = secrets.token_hex(16)
TOKENS = f"""\
[tokens.ann]
token = "{TOKEN}"
scopes = ["read", "write", "workspace", "confirm"]
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Combination:
    """How a play is played."""

    transport: str = "stdio"
    protocol_mode: str = "auto"
    at_terminal: bool = False

    def __str__(self) -> str:
        asked = "terminal" if self.at_terminal else "elicitation"
        return f"{self.transport}-{self.protocol_mode}-{asked}"


REFERENCE = Combination()
OTHERS = [
    replace(REFERENCE, transport=transport, protocol_mode=protocol_mode)
    for transport in ("stdio", "streamable-http")
    for protocol_mode in ("auto", "legacy")
]
OTHERS.remove(REFERENCE)
OTHERS += [
    replace(REFERENCE, at_terminal=True),
    replace(REFERENCE, at_terminal=True, transport="streamable-http"),
]


@contextmanager
def connecting(combination: Combination, project: Path) -> Iterator[Connect]:
    """Yield what connects to a server for `project`, over HTTP the same one each time."""
    if combination.transport == "stdio":
        yield stdio("--project", str(project), protocol_mode=combination.protocol_mode)
        return

    tokens = project.parent / "tokens.toml"
    tokens.touch(mode=0o600)
    tokens.write_text(TOKENS, encoding="utf-8")
    network = ["--transport", combination.transport, "--rate-limit", "0", "--stateful"]
    with served(*network, "--token-file", str(tokens), project=project) as server:

        def connect(answer: ElicitationFnT | None) -> AbstractAsyncContextManager[Client]:
            transport = target(server, "streamable-http", token=TOKEN)
            return Client(transport, mode=combination.protocol_mode, elicitation_callback=answer)

        yield connect


async def play_as(combination: Combination, project: Path) -> Transcript:
    """Play everything as `combination` says, in an empty folder."""

    async def confirm(command: str, accept: bool) -> bool:
        answered = partial(answer_at_terminal, command, "--project", str(project), accept=accept)
        code = await anyio.to_thread.run_sync(answered)
        assert code == (0 if accept else 1), f"{command} ended with {code}"
        return accept

    with connecting(combination, project) as connect:
        return await play(
            project,
            connect,
            confirm=confirm if combination.at_terminal else None,
        )


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Transcript:
    """Play it once as `make test` does."""
    return anyio.run(play_as, REFERENCE, tmp_path_factory.mktemp("reference"))


@pytest.mark.parametrize("combination", OTHERS, ids=str)
async def test_every_combination_comes_to_the_same_answers_and_documents(
    combination: Combination,
    tmp_path: Path,
    reference: Transcript,
) -> None:
    project = tmp_path / "project"
    project.mkdir()

    played = await play_as(combination, project)

    assert played.steps == reference.steps
    assert list(played.documents) == list(reference.documents)
    for path, text in played.documents.items():
        assert text == reference.documents[path], path
