"""guardrails."""

from collections.abc import Sequence
from itertools import cycle

from guardrails import Guard

from benchmarks.peers.contender import Contender, Talk
from benchmarks.peers.payload import PROMPT, Reply

__all__ = ["CONTENDERS"]


def _talk(replies: Sequence[str]) -> Talk:
    script = cycle(replies)
    asked: list[object] = []
    guard = Guard.for_pydantic(Reply)

    def model(**arguments: object) -> str:
        asked.append(arguments)
        return next(script)

    def talk() -> None:
        asked.clear()
        outcome = guard(
            model, messages=[{"role": "user", "content": PROMPT}], num_reasks=len(replies) - 1
        )
        assert outcome.validation_passed
        assert len(asked) == len(replies)

    return talk


def _read(text: str) -> str | None:
    outcome = Guard.for_pydantic(Reply).parse(text, num_reasks=0)
    read = outcome.validated_output
    return read["summary"] if outcome.validation_passed and read else None


CONTENDERS = {
    "json": [Contender(name="guardrails", package="guardrails-ai", talk=_talk, read=_read)]
}
