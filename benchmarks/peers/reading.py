"""What each reader makes of the corpus of corrupted replies."""

import signal
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from benchmarks.peers.contender import OURS, Contender
from benchmarks.tables import Table
from goop_mcp.testing import CorruptedReply, load_corpus

__all__ = ["run"]

_SOUGHT: Final = ("read", "mended", "refused")
_DRAFTS: Final = ("draft taken", "example taken")
_CUT: Final = ("cut reply accepted",)
_PATIENCE: Final = 5.0
_TOO_SLOW: Final = f"no answer within {_PATIENCE:g} s"


class _TooSlowError(BaseException):
    """Raised in a reading that takes too long; `except Exception` in a peer must not catch it."""


def run(contenders: dict[str, Sequence[Contender]]) -> Iterator[Table]:
    """Let every contender that reads texts read the corpus; one table for each syntax."""
    corpus = {"json": _cases("factory"), "xml": _cases("goop_report")}
    for syntax, cases in corpus.items():
        yield _table(syntax, cases, contenders[syntax])


def _cases(protocol: str) -> list[CorruptedReply]:
    return [case for case in load_corpus() if case.protocol == protocol]


def _table(syntax: str, cases: Sequence[CorruptedReply], contenders: Iterable[Contender]) -> Table:
    count = Counter(case.wanted for case in cases)
    table = Table(
        f"corrupted replies, {syntax.upper()}",
        (
            "",
            *(f"{wanted}, of {count[wanted]}" for wanted in _SOUGHT),
            "drafts taken",
            "cut accepted",
            "other harm",
        ),
        [
            "how many got the wanted answer; other harm: text lost, a placeholder or a"
            " contradiction accepted, and so on"
        ],
    )
    for each in contenders:
        if each.read is not None:
            _add(table, each.name, _judge(cases, each.read))

    return table


def _judge(cases: Sequence[CorruptedReply], read: Callable[[str], str | None]) -> Counter[str]:
    """Count the wanted answers by what is wanted, and the harms by their names."""
    results: Counter[str] = Counter()
    for case in cases:
        try:
            with _bounded():
                happened = case.what_happened(read(case.text))
        except _TooSlowError:
            results[_TOO_SLOW] += 1
        else:
            results[case.wanted if happened == "as wanted" else happened] += 1

    return results


@contextmanager
def _bounded() -> Iterator[None]:
    def stop(_number: int, _frame: object) -> None:
        raise _TooSlowError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, _PATIENCE)

    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _add(table: Table, name: str, results: Counter[str]) -> None:
    drafts, cut = (sum(results[harm] for harm in harms) for harms in (_DRAFTS, _CUT))
    known = {*_SOUGHT, *_DRAFTS, *_CUT, "good reply refused"}
    others = {harm: number for harm, number in results.items() if harm not in known}
    harmed = drafts + cut + sum(others.values()) and name == OURS
    table.add(
        name,
        *(str(results[wanted]) for wanted in _SOUGHT),
        str(drafts),
        str(cut),
        ", ".join(f"{number} {harm}" for harm, number in sorted(others.items())) or "0",
        judgement="DEFECT" if harmed else "",
    )
