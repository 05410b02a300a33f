"""`follow` with a store: its steps are tasks of a run, which a kill does not end."""

import json
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest

from goop_mcp import Job, RetryPolicy, UnknownNameError, ask_many, follow
from goop_mcp.delegation import KeptRun, RunError
from goop_mcp.delegation.expand import Expansion
from goop_mcp.delegation.ledger import Ledger
from goop_mcp.retry import Agent, AgentInterruptedError, Message, Reply, WorkflowRun, shared_budget
from goop_mcp.store.graph_rows import GraphTaskRow
from goop_mcp.store.interface import Store
from goop_mcp.store.opening import open_store
from tests.cli.running import run
from tests.delegation.follow_process import CONTEXT, PROMPT, asked, shown, team
from tests.delegation.reports import report
from tests.delegation.runners import Place, check_run, within
from tests.retry.agents import BAD_STATUS, GOOD, PROSE, Scripted, both_backends
from tests.retry.test_follow import IMPLEMENTED, REVIEWED, TEST_FAILED, TESTED, speckit
from tests.validation.replies import BLOCKED, changed, read_case


def start(place: Place, run_id: str, seconds: float) -> "subprocess.Popen[str]":
    words = ["-m", "tests.delegation.follow_process", str(place.folder), place.url or "", run_id]
    return subprocess.Popen(
        [sys.executable, *words, str(seconds)], stdout=subprocess.PIPE, text=True
    )


def rows_of(store: Store, run_id: str) -> dict[str, GraphTaskRow]:
    return {row.id: row for row in store.read(lambda reading: reading.graphs.tasks(run_id))}


def test_a_workflow_that_was_killed_in_its_third_step_goes_on_there(
    any_place: Place, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with start(any_place, "", 0.4) as process:
        try:
            within(60, lambda: len(asked(any_place.folder)) == 3)
        finally:
            process.send_signal(signal.SIGKILL)

    # Whoever looks sees it, by its name, and as far as it came.
    [row] = any_place.store.read(lambda reading: reading.graphs.runs())
    assert (row.name, row.state) == ("a team", "running")
    assert any_place.states(row.id) == {
        "step-1": "accepted",
        "step-2": "accepted",
        "step-3": "running",
    }

    with start(any_place, row.id, 0.0) as process:
        found, _ = process.communicate(timeout=60)
    # The same steps and the same end as without a kill and without a store.
    elsewhere = tmp_path_factory.mktemp("plain")
    plain = anyio.run(lambda: follow(team(elsewhere, 0), "implement", PROMPT, context=CONTEXT))
    assert json.loads(found) == shown(plain)
    assert plain.finished

    # Nothing that was answered was asked again; the call that was cut off was, with a remark.
    names = [name for name, _ in asked(any_place.folder)]
    assert names == ["implement", "test", "implement", "implement", "test", "review"]
    messages = [message for _, message in asked(any_place.folder)]
    assert messages[3].endswith(messages[2])
    assert messages[3].startswith("You were interrupted at attempt 1.")
    check_run(any_place.store, row.id)

    # Between two steps it never looked as if it had ended.
    events = any_place.store.read(lambda reading: reading.graphs.events(row.id))
    states = [json.loads(each.data)["state"] for each in events if each.what == "run"]
    assert states == ["finished"]
    assert all(each.kind == "task" for each in rows_of(any_place.store, row.id).values())
    assert any_place.ledger.run(row.id).state == "finished"


class Interrupted:
    async def ask(self, _message: Message) -> Reply:
        raise AgentInterruptedError("which color?")


Team = Callable[[], Mapping[str, Agent]]
ONE = RetryPolicy(max_attempts=1)
STRICT = RetryPolicy(max_attempts=2, allow_repairs=False)
RESCUED = RetryPolicy(max_attempts=1, when_exhausted="fallback", fallback=[Scripted(IMPLEMENTED)])

# How a workflow can end: its agents, its policy, how it ends, and how the run is shown then.
ENDS: dict[str, tuple[Team, RetryPolicy, str, str]] = {
    "finish": (
        lambda: {
            "implement": Scripted(IMPLEMENTED),
            "test": Scripted(TEST_FAILED, TESTED),
            "review": Scripted(REVIEWED),
        },
        RetryPolicy(),
        "finish",
        "finished",
    ),
    "a limit of feedback": (
        lambda: {"implement": Scripted(IMPLEMENTED), "test": Scripted(TEST_FAILED)},
        RetryPolicy(),
        "ask_user",
        "waiting_for_person",
    ),
    "a question": (
        lambda: {"goop-executor": Scripted(BLOCKED)},
        RetryPolicy(),
        "ask_user",
        "waiting_for_person",
    ),
    "attempts": (
        lambda: {"goop-executor": Scripted(BAD_STATUS, PROSE)},
        RetryPolicy(max_attempts=2),
        "ask_user",
        "failed",
    ),
    "unknown agent": (
        lambda: {"implement": Scripted(IMPLEMENTED), "plan": Scripted("")},
        RetryPolicy(),
        "unknown_agent",
        "waiting_for_person",
    ),
    "broken": (
        lambda: {"implement": Scripted(IMPLEMENTED), "test": Scripted(ValueError("broken"))},
        RetryPolicy(),
        "agent_error",
        "failed",
    ),
    "interrupted": (
        lambda: {"implement": Scripted(IMPLEMENTED), "test": Interrupted()},
        RetryPolicy(),
        "interrupted",
        "waiting_for_person",
    ),
    "a circle": (
        lambda: {
            "goop-executor": Scripted(report(next_agent="goop-tester")),
            "goop-tester": Scripted(report(agent="goop-tester", next_agent="goop-executor")),
        },
        RetryPolicy(),
        "no_progress",
        "waiting_for_person",
    ),
    "a limit of steps": (
        lambda: {
            "goop-executor": Scripted(
                *(report(next_agent="goop-executor", summary=f"Part {n}.") for n in range(9))
            )
        },
        RetryPolicy(),
        "limit",
        "waiting_for_person",
    ),
    # Rejected in strict mode, and yet the router has an answer to it.
    "a rejected report that is gone on from": (
        lambda: {
            "goop-executor": Scripted(
                report(passed=False), report(passed=False, summary="More."), GOOD
            )
        },
        STRICT,
        "no_progress",
        "waiting_for_person",
    ),
    "a pause": (
        lambda: {"implement": Scripted(speckit("error_timeout"), IMPLEMENTED)},
        RetryPolicy(),
        "unknown_agent",
        "waiting_for_person",
    ),
    "a prerequisite": (
        lambda: {
            "tasks": Scripted(speckit("error_prerequisite"), PROSE),
            "plan": Scripted(speckit("plan")),
        },
        ONE,
        "ask_user",
        "failed",
    ),
    "a fallback": (
        lambda: {"implement": Scripted(PROSE)},
        RESCUED,
        "unknown_agent",
        "waiting_for_person",
    ),
    "names of any kind": (
        lambda: {"implement": Scripted(IMPLEMENTED), "test": Scripted(TESTED), "5 !": Scripted("")},
        RetryPolicy(),
        "unknown_agent",
        "waiting_for_person",
    ),
}


SEVERAL_STEPS = ("finish", "a prerequisite", "a rejected report that is gone on from")


async def go(
    agents: Mapping[str, Agent],
    store: KeptRun | None,
    policy: RetryPolicy = ONE,
    prompt: str = "Build it.",
) -> WorkflowRun:
    first = next(iter(agents))
    return await follow(
        agents, first, prompt, context=CONTEXT, policy=policy, max_steps=7, store=store
    )


def attempts(workflow: WorkflowRun) -> list[list[tuple[str, str, str | None, bool]]]:
    return [
        [(each.message, each.way, each.reply, each.fallback) for each in step.outcome.attempts]
        for step in workflow.steps
    ]


@pytest.mark.parametrize("end", ENDS)
@both_backends
def test_steps_and_end_are_those_without_a_store(tmp_path: Path, backend: str, end: str) -> None:
    make, policy, because, state = ENDS[end]

    async def call(store: Store) -> None:
        # Pauses of minutes are not waited for.
        with shared_budget(deadline=20):
            plain = await go(make(), None, policy)
            kept = KeptRun(store, end)
            found = await go(make(), kept, policy)
            assert shown(found) == shown(plain)
            assert attempts(found) == attempts(plain)
            assert found.stopped_because in (because, "deadline")
            assert len(found.steps) == len(plain.steps) > (end in SEVERAL_STEPS)
            assert kept.id is not None
            check_run(store, kept.id)
            if found.stopped_because != "deadline":
                assert Ledger(store).run(kept.id).state == state

            # The same call again asks nobody and reports the same.
            silent = {name: Scripted(ValueError("asked")) for name in make()}
            again = await go(silent, KeptRun(store, run=kept.id), policy)
            assert shown(again) == shown(plain)
            assert attempts(again) == attempts(plain)
            assert [each.decision for each in again.steps] == [
                each.decision for each in found.steps
            ]
            assert not any(each.heard for each in silent.values())

    with closing(open_store(None, project=tmp_path)) as store:
        anyio.run(call, store, backend=backend)


REPLIES = [
    IMPLEMENTED, TESTED, REVIEWED, TEST_FAILED, GOOD, BAD_STATUS, BLOCKED, PROSE, "",
    report(next_agent="implement"), report(passed=False), report(blockers="no key"),
    *(speckit(name) for name in ("plan", "tasks", "analyze", "error_prerequisite", "clarify")),
    *(read_case(f"factory/concrete_{name}.json") for name in ("critic_blocking", "critic_pass")),
]  # fmt: skip
NAMES = ("implement", "test", "review", "plan", "tasks", "architect", "critic", "goop-executor")


@pytest.mark.parametrize("seed", range(30))
def test_any_replies_lead_where_they_lead_without_a_store(tmp_path: Path, seed: int) -> None:
    chosen = random.Random(seed)
    replies = chosen.choices(REPLIES, k=8)
    policy = RetryPolicy(max_attempts=2, allow_repairs=chosen.random() < 0.5)
    names = chosen.sample(NAMES, len(NAMES))

    async def call(store: Store) -> None:
        plain = await go(dict.fromkeys(names, Scripted(*replies)), None, policy)
        kept = KeptRun(store)
        found = await go(dict.fromkeys(names, Scripted(*replies)), kept, policy)
        assert shown(found) == shown(plain)
        silent = Scripted(ValueError("asked"))
        again = await go(dict.fromkeys(names, silent), KeptRun(store, run=kept.id), policy)
        assert shown(again) == shown(plain)
        assert not silent.heard

    with closing(open_store(None, project=tmp_path)) as store:
        anyio.run(call, store)


async def hang(_message: str) -> str:
    await anyio.sleep_forever()
    return GOOD


@both_backends
def test_a_scope_that_ends_it_leaves_a_run_that_goes_on(store: Store, backend: str) -> None:
    implement = Scripted(IMPLEMENTED)
    heard: list[str] = []

    async def call() -> None:
        kept = KeptRun(store, "ended early")
        with anyio.move_on_after(1.5) as scope:
            await go({"implement": implement, "test": hang, "review": hang}, kept)
        assert scope.cancelled_caught
        assert kept.id is not None
        assert Ledger(store).run(kept.id).state == "running"
        check_run(store, kept.id)

        later = {"implement": implement, "test": Scripted(TESTED), "review": Scripted(REVIEWED)}
        found = await follow(
            later,
            "implement",
            "Build it.",
            context=CONTEXT,
            on_step=lambda step: heard.append(step.agent),
            store=kept,
        )
        assert found.finished
        # What is stored is heard of again: nobody knows whether the process before came to it.
        assert heard == ["implement", "test", "review"]
        assert len(implement.heard) == 1
        assert Ledger(store).run(kept.id).state == "finished"

    anyio.run(call, backend=backend)


@both_backends
def test_a_person_cancels_it(store: Store, backend: str) -> None:
    async def call() -> None:
        kept, begun = KeptRun(store), anyio.Event()

        async def wait(message: str) -> str:
            begun.set()
            return await hang(message)

        async def cancel() -> None:
            await begun.wait()
            assert kept.id is not None
            Ledger(store).cancel(kept.id, by="Kim")

        agents: dict[str, Agent] = {"implement": Scripted(IMPLEMENTED), "test": wait}
        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                group.start_soon(cancel)
                found = await go(agents, kept)
        assert found.stopped_because == "cancelled"
        assert [each.agent for each in found.steps] == ["implement", "test"]
        assert kept.id is not None
        check_run(store, kept.id)
        assert Ledger(store).run(kept.id).state == "cancelled"
        again = await go({"implement": Scripted(), "test": Scripted()}, kept)
        assert again.stopped_because == "cancelled"
        assert [each.agent for each in again.steps] == ["implement", "test"]

    anyio.run(call, backend=backend)


def test_a_person_who_was_asked_lets_it_go_on(store: Store) -> None:
    async def call() -> None:
        kept = KeptRun(store)
        agents = {"goop-executor": Scripted(BLOCKED, report()), "goop-tester": Scripted("")}
        found = await go(agents, kept)
        assert found.stopped_because == "ask_user"
        assert kept.id is not None
        [row] = rows_of(store, kept.id).values()
        assert (row.state, row.reason) == ("input_required", "blocked")
        assert row.message == found.reason

        Ledger(store).answer(kept.id, "step-1", "retry", by="Kim", note="Use the second key.")
        again = await go(agents, KeptRun(store, run=kept.id))
        assert again.decision is not None
        assert again.decision.rule == "G4"
        assert agents["goop-executor"].heard == ["Build it.", "Build it.\n\nUse the second key."]
        check_run(store, kept.id)

        # Taken as done, it stays as it is.
        Ledger(store).answer(kept.id, "step-1", "accept", by="Kim")
        assert Ledger(store).run(kept.id).state == "finished"
        assert shown(await go(agents, kept)) == shown(again)
        assert len(agents["goop-executor"].heard) == 2

    anyio.run(call)


def test_a_step_that_failed_is_run_again_and_leads_on(store: Store) -> None:
    async def call() -> None:
        kept = KeptRun(store)
        agents = {
            "implement": Scripted(IMPLEMENTED),
            "test": Scripted(PROSE, TESTED),
            "review": Scripted(REVIEWED),
        }
        found = await go(agents, kept)
        assert found.stopped_because == "ask_user"
        assert kept.id is not None
        assert Ledger(store).run(kept.id).state == "failed"

        Ledger(store).retry(kept.id, "step-2", by="Kim")
        again = await go(agents, kept)
        assert again.finished
        assert [len(each.heard) for each in agents.values()] == [1, 2, 1]
        assert Ledger(store).run(kept.id).state == "finished"
        check_run(store, kept.id)

    anyio.run(call)


def test_two_programs_at_once_make_each_step_once(store: Store) -> None:
    heard: list[str] = []

    async def call() -> None:
        begun = anyio.Event()

        def slow(name: str, reply: str) -> Agent:
            async def answer(_message: str) -> str:
                heard.append(name)
                begun.set()
                await anyio.sleep(0.2)
                return reply

            return answer

        agents = {
            "implement": slow("implement", IMPLEMENTED),
            "test": slow("test", TESTED),
            "review": slow("review", REVIEWED),
        }
        first = KeptRun(store)
        ends: list[WorkflowRun] = []

        async def join(kept: KeptRun) -> None:
            ends.append(await go(agents, kept))

        with anyio.fail_after(30):
            async with anyio.create_task_group() as group:
                group.start_soon(join, first)
                await begun.wait()
                group.start_soon(join, KeptRun(store, run=first.id))
        assert heard == ["implement", "test", "review"]
        assert shown(ends[0]) == shown(ends[1])
        assert ends[0].finished
        assert first.id is not None
        check_run(store, first.id)

    anyio.run(call)


def test_a_deadline_ends_the_wait_for_another_program(store: Store) -> None:
    async def call() -> None:
        first, begun = KeptRun(store), anyio.Event()

        async def wait(message: str) -> str:
            begun.set()
            return await hang(message)

        async with anyio.create_task_group() as group:
            group.start_soon(go, {"implement": wait}, first)
            await begun.wait()
            with anyio.fail_after(20), shared_budget(deadline=0.6):
                found = await go({"implement": hang}, KeptRun(store, run=first.id))
            assert found.stopped_because == "deadline"
            group.cancel_scope.cancel()

    anyio.run(call)


@pytest.mark.parametrize("asks", [False, True])
def test_no_secret_of_a_prompt_or_a_report_is_kept(tmp_path: Path, asks: bool) -> None:
    secret = "ghp_" + "a1B2" * 9
    executor = Scripted(
        report(next_agent="goop-tester", next_action=f"Test it with the token {secret}.")
    )
    blocked = report("BLOCKED", agent="goop-tester", blockers=f"The token {secret} has expired")
    questions = changed(
        read_case("factory/concrete_questions.json"),
        ("multiple concurrent sessions", f"the token {secret}"),
    )
    tester = Scripted(questions if asks else blocked)
    agents = {"goop-executor": executor, "goop-tester": tester}

    async def call(store: Store) -> None:
        kept = KeptRun(store)
        found = await go(agents, kept, prompt=f"Try the token {secret}.")
        assert found.stopped_because == "ask_user"
        assert found.decision is not None
        assert bool(found.decision.questions) is asks
        # Found again by what is kept of it.
        again = await go(agents, kept, prompt=f"Try the token {secret}.")
        assert [each.agent for each in again.steps] == ["goop-executor", "goop-tester"]

    with closing(open_store(None, project=tmp_path)) as store:
        anyio.run(call, store)
    assert executor.heard == [f"Try the token {secret}."]
    assert len(tester.heard) == 1
    assert secret in tester.heard[0]
    files = [*(tmp_path / ".goopspec").glob("goop.db*")]
    assert files
    assert not [each for each in files if secret.encode() in each.read_bytes()]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda store: follow({"a": hang}, "a", "Go.", store=store),
            TypeError,
            r"expected goop_mcp.delegation.KeptRun\(",
        ),
        (
            lambda store: go({"a": hang}, KeptRun(store), prompt="a" * 200_001),
            ValueError,
            "200,001",
        ),
        (
            lambda store: follow({"a": hang}, "a", "", max_steps=1_001, store=KeptRun(store)),
            ValueError,
            "max_steps is 1,001; expected 1,000",
        ),
        (
            lambda store: go({f"a{n}": hang for n in range(201)}, KeptRun(store)),
            ValueError,
            "expected at most 200",
        ),
        (lambda store: go({"a": hang}, KeptRun(store, run="nope")), RunError, "no run"),
        (lambda store: follow({"a": hang}, "b", "", store=KeptRun(store)), UnknownNameError, "'b'"),
    ],
)
def test_a_wrong_call_says_what_is_expected(
    store: Store, call: Callable[[Store], Any], error: type[Exception], message: str
) -> None:
    async def made() -> None:
        await call(store)

    with pytest.raises(error, match=message):
        anyio.run(made)
    assert store.read(lambda reading: reading.graphs.runs(include_ended=True)) == []


def test_a_run_goes_on_with_its_own_agents_and_prompt_only(store: Store) -> None:
    async def call() -> None:
        agents = {"implement": Scripted(IMPLEMENTED), "plan": Scripted("")}
        kept = KeptRun(store)
        await go(agents, kept)
        others: list[tuple[dict[str, Agent], str, str]] = [
            ({**agents, "test": hang}, "implement", "Build it."),
            ({**agents}, "plan", "Build it."),
            ({**agents}, "implement", "Build another one."),
        ]
        for given, first, prompt in others:
            with pytest.raises(RunError, match="was begun with other agents, another first agent"):
                await follow(given, first, prompt, context=CONTEXT, store=kept)
        with pytest.raises(RunError, match="was begun with other jobs"):
            await ask_many([Job(hang, "Build it.")], store=kept)

    anyio.run(call)


def test_what_a_program_cannot_go_on_from_is_reported_before_anybody_is_asked(store: Store) -> None:
    async def call() -> None:
        reports = [report(next_agent="goop-executor", summary=f"Part {n}.") for n in range(9)]
        agents = {"goop-executor": Scripted(*reports)}
        kept = KeptRun(store)
        await go(agents, kept)
        assert kept.id is not None

        # More steps than it ended with.
        with pytest.raises(RunError, match="ended with step-7, which has another end with"):
            await follow(agents, "goop-executor", "Build it.", context=CONTEXT, store=kept)
        # In the middle.
        Ledger(store).retry(kept.id, "step-3", by="Kim")
        with pytest.raises(RunError, match=r"step-3 of .* later steps came from it"):
            await go(agents, kept)
        assert len(agents["goop-executor"].heard) == 7

        # A report that the program never saw.
        other = KeptRun(store)
        await go({"goop-executor": Scripted(BLOCKED)}, other)
        assert other.id is not None
        Ledger(store).finish_by_hand(
            other.id,
            "step-1",
            result={"protocol": "goop_report", "envelope": None, "text": GOOD},
            decide=lambda _: Expansion(),
            by="Kim",
        )
        with pytest.raises(RunError, match=r"step-1 of .* was finished by hand"):
            await go({"goop-executor": Scripted(BLOCKED)}, other)

    anyio.run(call)


def test_the_command_line_lists_it_shows_its_steps_and_ends_it(tmp_path: Path) -> None:
    async def call(store: Store) -> None:
        with anyio.move_on_after(1):
            agents: dict[str, Agent] = {"implement": Scripted(IMPLEMENTED), "test": hang}
            await go(agents, KeptRun(store, "my team"))

    with closing(open_store(None, project=tmp_path)) as store:
        anyio.run(call, store)
    listed = run("runs", cwd=tmp_path)
    assert "  my team  running  " in listed.out
    id = listed.out.split()[0]
    steps = run("runs", "show", id, cwd=tmp_path).out
    assert 0 < steps.index("step-1") < steps.index("step-2")
    assert run("runs", "cancel", id, cwd=tmp_path).code == 0
    assert "cancelled" in run("runs", "show", id, cwd=tmp_path).out
