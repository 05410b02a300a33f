"""Let servers save in one folder, kill some, and compare the stored with the acknowledged."""

import random
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.reliability.products import Product
from tests.reliability.stdio_server import ServerGoneError, StdioServer

__all__ = ["WORKS", "Outcome", "Work", "do_work"]

_LONGEST_DELAY: Final = 0.005


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """`servers` save `saves` notes each, one by one or all at once; `killed` of them are killed."""

    name: str
    servers: int
    saves: int
    killed: int = 0
    together: bool = False
    runs: int = 1


WORKS: Final = (
    Work(name="8 processes x 50 saves", servers=8, saves=50, runs=3),
    Work(name="2 processes x 50 saves", servers=2, saves=50),
    Work(name="8 processes x 200 saves, four killed with -9", servers=8, saves=200, killed=4),
    Work(name="one process, 50 saves at once", servers=1, saves=50, together=True),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a work; titles of notes."""

    acknowledged: tuple[str, ...]
    stored: tuple[str, ...]
    strays: tuple[str, ...]

    @property
    def lost(self) -> tuple[str, ...]:
        """Acknowledged and not stored."""
        return tuple(sorted(set(self.acknowledged) - set(self.stored)))

    @property
    def doubled(self) -> tuple[str, ...]:
        """Stored more than once."""
        return tuple(sorted(title for title, count in Counter(self.stored).items() if count > 1))

    @property
    def survived(self) -> float:
        """The share of the acknowledged notes that is stored, 0 to 1."""
        return 1 - len(self.lost) / len(self.acknowledged) if self.acknowledged else 0.0


def do_work(product: Product, work: Work, folder: Path, *, seed: int) -> Outcome:
    """Do `work` once in an empty `folder`; `seed` determines the moments of the kills."""
    chance = random.Random(seed)
    with ExitStack() as stack:
        servers = [stack.enter_context(product.start(folder)) for _ in range(work.servers)]
        writers = [
            _Writer(product, server, work, f"writer {number}")
            for number, server in enumerate(servers)
        ]
        for writer in writers[: work.killed]:
            writer.death = chance.randint(1, work.saves - 1)
            writer.delay = chance.uniform(0, _LONGEST_DELAY)

        with ThreadPoolExecutor(len(writers)) as pool:
            acknowledged = [title for titles in pool.map(_Writer.save, writers) for title in titles]

    return Outcome(
        tuple(acknowledged), tuple(product.stored(folder)), tuple(product.strays(folder))
    )


@dataclass(slots=True)
class _Writer:
    """A server with its part of the work; killed `delay` seconds after save `death` began."""

    product: Product
    server: StdioServer
    work: Work
    name: str
    death: int | None = None
    delay: float = 0.0

    def save(self) -> list[str]:
        """Save all notes, or until the server dies, and return the acknowledged titles."""
        titles = [f"{self.name}, note {number}" for number in range(self.work.saves)]
        if self.work.together:
            tool = self.product.saving("")[0]
            answers = self.server.call_together(
                tool, [self.product.saving(title)[1] for title in titles]
            )
            return [
                title
                for title, answer in zip(titles, answers, strict=True)
                if self.product.acknowledges(answer)
            ]

        return list(self._one_by_one(titles))

    def _one_by_one(self, titles: Sequence[str]) -> Iterator[str]:
        for number, title in enumerate(titles):
            if number == self.death:
                # Other calls run meanwhile, so the kill hits them at an unknown step.
                threading.Timer(self.delay, self.server.kill).start()

            tool, arguments = self.product.saving(title)
            try:
                answer = self.server.call(tool, **arguments)
            except ServerGoneError:
                if self.death is None:
                    raise
                return

            if self.product.acknowledges(answer):
                yield title
