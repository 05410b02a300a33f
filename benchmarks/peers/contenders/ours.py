"""goop-mcp."""

from collections.abc import Sequence
from itertools import cycle

from benchmarks.peers.contender import OURS, Contender, Talk
from benchmarks.peers.payload import PROMPT
from goop_mcp import ask_until_accepted, validate

__all__ = ["CONTENDERS"]


def _talk(replies: Sequence[str]) -> Talk:
    script = cycle(replies)

    async def agent(_message: str) -> str:
        return next(script)

    async def talk() -> None:
        outcome = await ask_until_accepted(agent, PROMPT, protocol="factory")
        assert outcome.accepted
        assert len(outcome.attempts) == len(replies)

    return talk


def _read(text: str, protocol: str) -> str | None:
    verdict = validate(text, protocol=protocol)
    if not verdict.accepted or verdict.envelope is None:
        return None
    summary: str = verdict.envelope.to_dict()["summary"]
    return summary


CONTENDERS = {
    "json": [
        Contender(
            name=OURS, package="goop-mcp", talk=_talk, read=lambda text: _read(text, "factory")
        ),
    ],
    "xml": [Contender(name=OURS, package="goop-mcp", read=lambda text: _read(text, "goop_report"))],
}
