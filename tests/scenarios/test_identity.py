"""Who blocks, and what is the same report again, for orchestrators in two sessions (D-110)."""

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from goop_mcp.cli.demo.full_player import Player, PlayStep, ToolAnswer
from goop_mcp.cli.demo.full_texts import report
from tests.cli.running import run
from tests.postgres import Server
from tests.requirements import requirement
from tests.scenarios.connecting import stdio
from tests.scenarios.orders_story import ORDERS

REGION = "RULE 4 DEVIATION: Which region? Options: A) Europe, B) Asia"
LICENCE = "RULE 4 DEVIATION: Which licence? Options: A) MIT, B) Apache"


@pytest.fixture(params=["sqlite", "postgresql"])
def options(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[str]]:
    """Return the options of a project in `tmp_path`, in each database."""
    if request.param == "sqlite":
        yield ["--project", str(tmp_path)]
        return
    server: Server = request.getfixturevalue("postgres_server")
    with server.database() as database:
        url = ["--database", database.url(), "--project-id", "shop"]
        yield ["--project", str(tmp_path), *url]


@asynccontextmanager
async def two_sessions(project: Path, options: Sequence[str]) -> AsyncIterator[list[Player]]:
    """Open two sessions, each with a server process of its own, in a new project."""
    async with AsyncExitStack() as stack:
        players = [
            await stack.enter_async_context(Player(project, stdio(*options))) for _ in range(2)
        ]
        await players[0].ask("update_project", {"action": "init", "name": "shop"})
        yield players


def blocked(
    blockers: str = REGION, *, task: str | None = None, agent: str = "goop-researcher"
) -> str:
    """Return the reply of an agent that is blocked, usually without a task."""
    return report(
        task,
        "BLOCKED",
        of=(1, 1),
        summary="I cannot go on",
        blockers=blockers,
        agent=agent,
        next_agent="user",
        next_action="Decide",
    )


def ready(
    summary: str = "All is looked up",
    *,
    task: str | None = None,
    status: str = "COMPLETE",
    agent: str = "goop-researcher",
) -> str:
    """Return the reply of an agent that is not blocked, usually without a task."""
    return report(task, status, of=(1, 1), summary=summary, agent=agent)


def about(reply: str, key: str) -> str:
    """Return `reply` as a report that names `key` as its task."""
    return reply.replace("</agent>", f"</agent>\n  <task_id>{key}</task_id>")


async def recorded(player: Player, reply: str) -> int:
    """Record a reply, and return the number of its report."""
    answer = await player.ask("record_report", {"text": reply, "detail": "full"})
    assert answer.status == "recorded", answer.text
    return int(answer.values["written"]["report"])


async def decided(player: Player, task: str, choice: str) -> ToolAnswer:
    """Let a person decide on `task` in a dialog."""
    step = PlayStep(
        name="decide",
        title="a person decides",
        tool="update_project",
        arguments={"action": "decide", "task": task, "choice": choice},
        person="decide",
    )
    answer = await player.call(step)
    assert answer is not None
    return answer


async def waiting(player: Player) -> dict[str, str]:
    """Return what waits for a decision, by its key, as the next session reads it."""
    found = (await player.ask("project_status", {"detail": "full"})).values["waiting"]
    shown = dict(each["summary"].split(": ", 1) for each in found)
    for key, each in zip(shown, found, strict=True):
        assert f'task="{key}"' in each["call"]
        assert key in each["command"]
    return shown


def on_terminal(options: Sequence[str], *words: str) -> tuple[int, str]:
    """Return exit code and output of a command of the terminal."""
    ended = run(*words, *options)
    return ended.code, ended.out + ended.err


@requirement("G-48")
async def test_each_report_without_a_task_keeps_its_own_blocker(
    tmp_path: Path, options: list[str]
) -> None:
    async with two_sessions(tmp_path, options) as (one, other):
        first = await recorded(one, blocked(REGION))
        second = await recorded(other, blocked(LICENCE))
        await recorded(other, ready())
        expected = {f"report {first}": REGION, f"report {second}": LICENCE}
        assert await waiting(one) == expected
        assert await waiting(other) == expected
        (page,) = (await other.client.read_resource("goop://project/CHRONICLE.md")).contents
        for key in expected:
            assert f"{key} waits for a decision" in str(getattr(page, "text", ""))

        # The agent's name is enough while it has one blocker, and no longer.
        unclear = await decided(one, "(goop-researcher)", "A")
        assert unclear.status == "refused"
        assert f"report {first}" in unclear.text
        assert f"report {second}" in unclear.text
        assert (await decided(one, f"Report {first}", "A")).status == "done"
        assert await waiting(other) == {f"report {second}": LICENCE}
        assert (await decided(other, "(goop-researcher)", "B")).status == "done"
        assert await waiting(one) == {}

        # Both decisions stand, and each can be replaced.
        found = (await one.ask("project_status", {"detail": "full"})).values["decisions"]
        assert [each.split(" (")[0] for each in found] == [
            f"report {second}: Which licence? B) Apache",
            f"report {first}: Which region? A) Europe",
        ]
        assert (await decided(one, f"report {first}", "B")).status == "done"


@requirement("G-48")
async def test_a_report_that_takes_up_another_one_ends_its_blocker_alone(
    tmp_path: Path, options: list[str]
) -> None:
    async with two_sessions(tmp_path, options) as (one, other):
        first = await recorded(one, blocked(REGION))
        second = await recorded(one, blocked(LICENCE))
        await recorded(other, ready(f"See report {first}, which is still open"))
        assert len(await waiting(one)) == 2
        # The same work may be blocked again, by something else.
        await recorded(other, about(blocked("No access to Europe"), f"report {first}"))
        assert (await waiting(one))[f"report {first}"] == "No access to Europe"
        await recorded(other, about(ready(), f"report #{first}"))
        assert await waiting(one) == {f"report {second}": LICENCE}

        third = await recorded(one, blocked("Which colour?"))
        await recorded(other, ready(f"Continues report {second}: MIT is what all others have"))
        assert await waiting(one) == {f"report {third}": "Which colour?"}

    # A process that has read no report before finds the same.
    code, text = on_terminal(options, "status", "--exit-code")
    assert code == 3
    assert f"report {third}" in text
    assert f"report {first}" not in text
    assert f"report {second}" not in text


@requirement("G-48")
async def test_the_same_words_after_an_answer_block_again(
    tmp_path: Path, options: list[str]
) -> None:
    async with two_sessions(tmp_path, options) as (one, other):
        for task in ("W1.T1", None):
            await answered_three_times(one, other, blocked(task=task))


async def answered_three_times(one: Player, other: Player, reply: str) -> None:
    """Assert that a reply is recorded once and after each answer; at the end it is answered."""
    numbers = [await recorded(one, reply)]
    for player in (one, other, one):
        # Without an answer between them it is the same report.
        again = await player.ask("record_report", {"text": reply, "detail": "full"})
        assert again.status == "duplicate"
        assert again.values["written"]["report"] == numbers[-1]
        (key,) = await waiting(other)
        assert (await decided(player, key, "A")).status == "done"
        assert await waiting(other) == {}

        numbers.append(await recorded(other, reply))
        ((key, text),) = (await waiting(one)).items()
        assert text == REGION
    assert len(set(numbers)) == 4
    assert (await decided(other, key, "A")).status == "done"


@requirement("G-48")
async def test_an_agent_that_went_on_and_is_stopped_by_the_same_blocks_again(
    tmp_path: Path, options: list[str]
) -> None:
    reply = blocked(task="W1.T1")
    async with two_sessions(tmp_path, options) as (one, other):
        first = await recorded(one, reply)
        await recorded(other, ready("A part is done", task="W1.T1", status="PARTIAL"))
        assert await waiting(one) == {}
        assert await recorded(one, reply) > first
        assert await waiting(other) == {"W1.T1": REGION}

        # What is done is not blocked by words that come late.
        await recorded(one, ready("It is done", task="W1.T1"))
        late = await other.ask("record_report", {"text": reply})
        assert late.status == "duplicate"
        assert await waiting(other) == {}


async def in_round_2(player: Player, replies: Sequence[str] = ()) -> None:
    """Play the first round of the orders, record `replies` in it, and begin the second."""
    for step in ORDERS:
        if step.name == "accept":
            for reply in replies:
                await recorded(player, reply)
        await player.write(step)
        await player.call(step)


@requirement("G-60")
async def test_a_reply_of_a_closed_round_is_refused_as_by_its_number(tmp_path: Path) -> None:
    looked = ready("All sources are read")
    released = looked.replace("All sources are read", "Released as 4f1d2ab")
    stopped = blocked()
    server = stdio("--project", str(tmp_path))
    async with Player(tmp_path, server) as player:
        await in_round_2(player, [looked, released, stopped])
        old = {
            text: int(row["report"])
            for row in _reports(tmp_path, 1)
            for text in (looked, released, stopped)
            if f"<summary>{row['summary']}</summary>" in text
        }
        # Nothing has run in the second round: it cannot be a reply of it.
        refused = await player.ask("record_report", {"text": looked})
        assert refused.is_error
        assert f"report {old[looked]}, which belongs to round 1" in refused.text
        by_number = await player.ask("record_report", {"report": old[looked]})
        assert by_number.is_error
        assert _reports(tmp_path, 2) == []

        # Who is blocked by the same may say so, and it is marked.
        marked = await player.ask("record_report", {"text": stopped, "detail": "full"})
        assert marked.status == "recorded"
        mark = f"same words as report {old[stopped]} of round 1"
        assert mark in marked.text.lower()
        assert mark in (tmp_path / ".goopspec" / "CHRONICLE.md").read_text(encoding="utf-8")
        number = str(marked.values["written"]["report"])
        code, shown = on_terminal(["--project", str(tmp_path)], "reports", "show", number)
        assert code == 0
        assert mark in shown

        # Now something has run; what names a commit of the first round is still of that round.
        assert (await player.ask("record_report", {"text": looked})).status == "recorded"
        named = await player.ask("record_report", {"text": released})
        assert named.is_error
        assert "names what was made in that round" in named.text

    reply = tmp_path / "reply.md"
    reply.write_text(released, encoding="utf-8")
    code, shown = on_terminal(["--project", str(tmp_path)], "reports", "record", str(reply))
    assert code != 0
    assert "belongs to round 1" in shown
    assert len(_reports(tmp_path, 2)) == 2


def _reports(project: Path, round: int) -> list[dict[str, Any]]:
    words = ("reports", "list", "--format", "json", "--round", str(round))
    code, text = on_terminal(["--project", str(project)], *words)
    assert code == 0, text
    listed: list[dict[str, Any]] = json.loads(text)["reports"]
    return listed
