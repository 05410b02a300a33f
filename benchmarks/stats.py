"""How long the statistics of a project with 100,000 attempts and judgements take."""

import math
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.tables import Bound, Table
from benchmarks.timing import take_turns
from goop_mcp.services.stats import project_stats
from goop_mcp.services.stats_page import stats_page
from goop_mcp.store.interface import Store, WriteTransaction
from goop_mcp.store.opening import open_store
from goop_mcp.store.records import AttemptResult, NewAttempt, NewJudgement

__all__ = ["run"]

_ATTEMPTS: Final = 80_000
_JUDGEMENTS: Final = 20_000
_TURNS: Final = 5
# Seconds depend on the machine: no value is a defect.
_SECONDS: Final = Bound(goal=0.5, defect=math.inf)
_RULES: Final = tuple(f"goop_report/rule-{number}" for number in range(40))


def run() -> Table:
    """Fill a database and ask for everything, and for one agent."""
    table = Table(
        "stats",
        ("", "p10 ms", "median ms"),
        [f"{_ATTEMPTS + _JUDGEMENTS:,} rows on SQLite, 20 agents, a year"],
    )
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(None, project=Path(folder))
        store.write(_fill)
        clocks = {
            "all metrics, all agents": lambda: _seconds(store, agent=None),
            "all metrics, one agent": lambda: _seconds(store, agent="goop-agent-3"),
        }

        for name, timing in take_turns(clocks, turns=_TURNS).items():
            table.add(
                name,
                f"{timing.p10 * 1e3:.0f}",
                f"{timing.median * 1e3:.0f}",
                judgement=_SECONDS.judge(timing.p10),
            )

        store.close()

    return table


def _seconds(store: Store, *, agent: str | None) -> float:
    began = time.thread_time()
    stats_page(project_stats(store, agent=agent))
    return time.thread_time() - began


def _fill(writing: WriteTransaction) -> None:
    writing.add_attempts(list(_attempts()))
    for number in range(_JUDGEMENTS):
        writing.add_judgement(
            NewJudgement(
                surface="gate" if number % 2 else "record_report",
                result="rejected" if number % 3 else "accepted",
                has_envelope=number % 5 != 0,
                created_at=_time(number),
                agent=_agent(number),
                rules=(_RULES[number % len(_RULES)],) if number % 3 else (),
            )
        )


def _attempts() -> Iterator[NewAttempt]:
    for number in range(_ATTEMPTS):
        call, attempt = divmod(number, 2)
        result: AttemptResult = "accepted" if attempt else "rejected"
        yield NewAttempt(
            call_id=str(call),
            number=attempt + 1,
            result=result,
            way="first",
            created_at=_time(call),
            agent=_agent(call),
            rules=() if attempt else (_RULES[call % len(_RULES)], _RULES[call % 7]),
            ended="accepted" if attempt else None,
        )


def _agent(number: int) -> str:
    return f"goop-agent-{number % 20}"


def _time(number: int) -> str:
    return f"2026-{number % 12 + 1:02}-{number % 28 + 1:02}T10:30:00.000Z"
