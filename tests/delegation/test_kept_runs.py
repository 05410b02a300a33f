"""`ask_many` with a store: its jobs are a run, which a kill does not end and others can see."""

import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest

from goop_mcp import Job, Outcome, RetryPolicy, ask_many
from goop_mcp.delegation import Graph, KeptRun, RunError
from goop_mcp.delegation.expand import Expansion
from goop_mcp.delegation.ledger import Ledger
from goop_mcp.retry import AgentInterruptedError, Message, Reply, Usage
from goop_mcp.store.interface import Store
from goop_mcp.store.opening import open_store
from tests.cli.running import run
from tests.delegation.job_process import COUNT, prompt
from tests.delegation.reports import report
from tests.delegation.runners import Place, check_run, within
from tests.retry.agents import BAD_AGENT, BAD_STATUS, GOOD, Scripted, both_backends


def start(place: Place, run_id: str, seconds: float) -> "subprocess.Popen[str]":
    words = ["-m", "tests.delegation.job_process", str(place.folder), place.url or "", run_id]
    return subprocess.Popen(
        [sys.executable, *words, str(seconds)], stdout=subprocess.PIPE, text=True
    )


def asked(place: Place) -> list[str]:
    file = place.folder / "asked.txt"
    return [*map(json.loads, file.read_text().splitlines())] if file.exists() else []


def test_jobs_that_a_kill_ended_go_on_and_what_was_answered_is_not_asked_again(
    any_place: Place,
) -> None:
    with start(any_place, "", 0.3) as process:
        try:
            within(60, lambda: len(asked(any_place)) >= 5)
        finally:
            process.send_signal(signal.SIGKILL)

    # Whoever looks sees it, by its name.
    [row] = any_place.store.read(lambda reading: reading.graphs.runs())
    assert (row.name, row.state) == ("eight jobs", "running")
    attempts = any_place.store.read(lambda reading: reading.graphs.attempts(row.id))
    answered = [each.message for each in attempts if each.outcome is not None]
    assert answered

    with start(any_place, row.id, 0.0) as process:
        found, _ = process.communicate(timeout=60)
    # The wrong report of the third counts as its first attempt, whichever process heard it.
    outcomes = json.loads(found)
    assert [because for because, _ in outcomes] == ["accepted"] * COUNT
    assert outcomes[2][1] == 2
    # At most the two calls under way were made again.
    times = Counter(asked(any_place))
    assert all(times[text] == 1 for text in answered)
    assert sum(times.values()) <= COUNT + 1 + 2
    # One that was claimed when the process died is asked for the first time as if it had been.
    asked_for = {text.rpartition("\n")[2] for text in times}
    assert {prompt(number) for number in range(1, COUNT + 1)} <= asked_for
    check_run(any_place.store, row.id)
    assert any_place.ledger.run(row.id).state == "finished"


class Talking:
    """A conversation that costs tokens and never sends what is wanted."""

    async def ask(self, message: Message) -> Reply:
        return Reply(text=BAD_STATUS if message.attempt == 1 else BAD_AGENT, usage=Usage(tokens=5))


class Interrupted:
    async def ask(self, _message: Message) -> Reply:
        raise AgentInterruptedError("which color?")


def mixed() -> list[Job]:
    """Return jobs that end in all the ways there are; each with agents of its own."""
    policy = RetryPolicy(max_attempts=2)
    rescued = RetryPolicy(
        max_attempts=1, when_exhausted="fallback", fallback=[Scripted(BAD_STATUS), Scripted(GOOD)]
    )
    return [
        Job(Scripted(GOOD), "a", protocol="goop_report"),
        Job(Scripted(BAD_STATUS, GOOD), "b", protocol="goop_report"),
        Job(Talking(), "c", protocol="goop_report", policy=policy, agent_name="the talker!"),
        Job(Scripted(ValueError("broken")), "d"),
        Job(Scripted(BAD_STATUS), "e", protocol="goop_report", policy=rescued),
        Job(Scripted(report("BLOCKED", blockers="no key", next_agent="user")), "f"),
        Job(Interrupted(), "", protocol="goop_report"),
        Job(Scripted(GOOD), "f", policy=RetryPolicy(max_calls=1), agent_name="6"),
    ]


def shown(outcomes: list[Outcome]) -> list[tuple[str, list[tuple[str, str | None, str, bool]]]]:
    return [
        (
            each.stopped_because,
            [(a.message, a.reply, a.way, a.fallback) for a in each.attempts],
        )
        for each in outcomes
    ]


@both_backends
def test_the_outcomes_are_those_without_a_store(store: Store, backend: str) -> None:
    async def call() -> None:
        plain = await ask_many(mixed(), limit=3)
        kept = KeptRun(store)
        outcomes = await ask_many(mixed(), limit=3, store=kept)
        assert shown(outcomes) == shown(plain)
        assert kept.id is not None
        check_run(store, kept.id)

        # The same list again asks nobody, and has the same outcomes from the database.
        agents = [Scripted() for _ in mixed()]
        again = [
            Job(agent, job.prompt, protocol=job.protocol, agent_name=name)
            for agent, job, name in zip(
                agents,
                mixed(),
                (None, None, "the talker!", None, None, None, "Interrupted", "6"),
                strict=True,
            )
        ]
        stored = await KeptRun(store, run=kept.id).ask_many(again)
        assert shown(stored) == shown(plain)
        assert [each.envelope for each in stored] == [each.envelope for each in outcomes]
        assert [agent.heard for agent in agents] == [[]] * len(agents)

    anyio.run(call, backend=backend)


async def hang(_message: str) -> str:
    await anyio.sleep_forever()
    return GOOD


@both_backends
def test_a_scope_that_ends_it_leaves_a_run_that_goes_on(store: Store, backend: str) -> None:
    first = Scripted(GOOD)

    async def call() -> None:
        kept = KeptRun(store, "ended early")
        with anyio.move_on_after(1.5) as scope:
            await ask_many(
                [Job(first, "a"), Job(hang, "b", agent_name="slow")], limit=2, store=kept
            )
        assert scope.cancelled_caught
        assert kept.id is not None
        assert Ledger(store).run(kept.id).state == "running"
        check_run(store, kept.id)

        later = [Job(first, "a"), Job(Scripted(GOOD), "b", agent_name="slow")]
        outcomes = await ask_many(later, store=KeptRun(store, run=kept.id))
        assert [each.accepted for each in outcomes] == [True, True]
        assert len(first.heard) == 1
        assert Ledger(store).run(kept.id).state == "finished"

    anyio.run(call, backend=backend)


@pytest.mark.parametrize("by_a_person", [False, True])
def test_jobs_are_cancelled_by_the_first_failure_or_by_a_person(
    store: Store, by_a_person: bool
) -> None:
    async def call() -> list[Outcome]:
        kept = KeptRun(store)

        begun = anyio.Event()

        async def wait(message: str) -> str:
            begun.set()
            return await hang(message)

        async def cancel() -> None:
            await begun.wait()
            assert kept.id is not None
            Ledger(store).cancel(kept.id, by="Kim")

        failing = wait if by_a_person else Scripted(ValueError())
        jobs = [Job(failing, "a"), Job(hang, "b"), Job(hang, "c")]
        async with anyio.create_task_group() as group:
            if by_a_person:
                group.start_soon(cancel)
            with anyio.fail_after(20):
                found = await ask_many(jobs, limit=2, cancel_others=not by_a_person, store=kept)
        assert kept.id is not None
        check_run(store, kept.id)
        return found

    outcomes = anyio.run(call)
    first = "cancelled" if by_a_person else "agent_error"
    assert [each.stopped_because for each in outcomes] == [first, "cancelled", "cancelled"]
    assert outcomes[2].attempts == ()


def test_no_more_run_at_once_than_the_limit(store: Store) -> None:
    now, most = 0, 0

    async def agent(_message: str) -> str:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await anyio.sleep(0.05)
        now -= 1
        return GOOD

    async def call() -> list[Outcome]:
        return await ask_many([Job(agent, f"{n}") for n in range(6)], limit=2, store=KeptRun(store))

    assert all(anyio.run(call))
    assert most == 2


def test_no_secret_of_a_prompt_or_a_reply_is_kept(tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2" * 9
    agent = Scripted(BAD_STATUS, report(summary=f"The token {secret} works."))

    async def call(store: Store) -> None:
        job = Job(agent, f"Try the token {secret}.", protocol="goop_report")
        kept = KeptRun(store)
        assert all(await ask_many([job], store=kept))
        # Found again by what is kept of it.
        assert all(await ask_many([job], store=kept))

    with closing(open_store(None, project=tmp_path)) as store:
        anyio.run(call, store)
    assert agent.heard[0] == f"Try the token {secret}."
    assert len(agent.heard) == 2
    files = [*(tmp_path / ".goopspec").glob("goop.db*")]
    assert files
    assert not [each for each in files if secret.encode() in each.read_bytes()]


def test_a_job_that_a_person_finished_has_no_outcome(store: Store) -> None:
    async def call() -> None:
        kept = KeptRun(store)
        [outcome] = await ask_many([Job(asks_person, "one")], store=kept)
        assert outcome.stopped_because == "interrupted"
        assert kept.id is not None
        Ledger(store).finish_by_hand(
            kept.id,
            "job-1",
            result={"protocol": "goop_report", "envelope": None, "text": GOOD},
            decide=lambda _: Expansion(),
            by="Kim",
        )
        with pytest.raises(RunError, match=r"job-1 of .* was finished by hand; `goop-mcp runs"):
            await ask_many([Job(asks_person, "one")], store=kept)

    async def asks_person(_message: str) -> str:
        raise AgentInterruptedError("a person is asked")

    anyio.run(call)


NOT_JOBS: Any = [hang]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda store: ask_many([Job(hang, "a")], store=store), TypeError, "expected goop_mcp.del"),
        (lambda store: ask_many([Job(hang, "a")], limit=0, store=store), ValueError, "limit is 0"),
        (lambda store: KeptRun(store, run="nope").ask_many([Job(hang, "a")]), RunError, "no run"),
        (lambda store: ask_many(NOT_JOBS, store=KeptRun(store)), TypeError, "the job is function"),
        (lambda store: KeptRun(store).ask_many([Job(hang, "a" * 200_001)]), ValueError, "200,001"),
    ],
)
def test_a_wrong_call_says_what_is_expected(
    store: Store, call: Callable[[Store], Awaitable[object]], error: type[Exception], message: str
) -> None:
    async def made() -> None:
        await call(store)

    with pytest.raises(error, match=message):
        anyio.run(made)
    assert store.read(lambda reading: reading.graphs.runs(include_ended=True)) == []


def test_a_run_goes_on_with_its_own_jobs_only(store: Store) -> None:
    async def call() -> None:
        kept = KeptRun(store)
        assert await ask_many([], store=kept) == []
        assert kept.id is None
        await ask_many([Job(Scripted(GOOD), "a")], store=kept)
        with pytest.raises(RunError, match="was begun with other jobs"):
            await ask_many([Job(Scripted(GOOD), "b")], store=kept)

    anyio.run(call)


def test_the_command_line_lists_it_and_leaves_it_to_its_program(tmp_path: Path) -> None:
    async def call(store: Store) -> None:
        with anyio.move_on_after(1):
            await ask_many([Job(hang, "a")], store=KeptRun(store, "my jobs"))

    with closing(open_store(None, project=tmp_path)) as store:
        anyio.run(call, store)
    listed = run("runs", cwd=tmp_path)
    assert "  my jobs  running  " in listed.out
    id = listed.out.split()[0]
    assert "job-1" in run("runs", "show", id, cwd=tmp_path).out

    # Its agents are not known to anybody else.
    state = {"XDG_STATE_HOME": str(tmp_path / "state")}
    digest = Graph.from_dict(json.loads(source_of(tmp_path, id))).digest
    ended = run("runs", "resume", id, "--trust", digest, cwd=tmp_path, env=state)
    assert ended.code != 0
    assert "nobody gave it" in ended.err
    assert run("runs", "cancel", id, cwd=tmp_path).code == 0


def source_of(project: Path, id: str) -> str:
    with closing(open_store(None, project=project)) as store:
        return store.read(lambda reading: reading.graphs.source(id)).graph
