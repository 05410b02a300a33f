"""A person is asked at the client, and only an explicit choice counts."""

import json
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client import ClientRequestContext
from mcp.client.session import ElicitationFnT
from mcp.client.stdio import StdioServerParameters
from mcp.types import (
    CallToolResult,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitResult,
    ErrorData,
    InputRequiredResult,
    InputResponses,
)
from pydantic import JsonValue

from goop_mcp.server import asking, create_server
from goop_mcp.services.project_steps import ProjectStep, answer_confirmation, take_step
from goop_mcp.settings import Settings
from goop_mcp.store.interface import WriteTransaction
from goop_mcp.store.opening import open_store
from goop_mcp.store.records import Confirmation
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.scaffold import create_project
from tests.repository import ROOT
from tests.server.connections import (
    PROTOCOL_MODES,
    Connection,
    Transport,
    check_against_schema,
    connect,
    target,
    text_of,
)
from tests.server.http.serving import served
from tests.server.test_stdio_process import SERVE, running
from tests.services.reporting import record, report, working_in
from tests.workspace.projects import put_in_phase

NOW = "2026-11-22T12:00:00.000Z"
MERGE: dict[str, Any] = {"choice": "merge"}
NOT_MERGE: dict[str, Any] = {"choice": "do not merge"}
COMMAND = 'Waiting for a person: run "goop-mcp project merge" in a terminal, or open "goop-mcp ui".'
PERSON, AGENT = "token-of-the-person", "token-of-the-agent"
TOKENS = f"""\
[tokens.ann]
token = "{PERSON}"
scopes = ["read", "write", "confirm"]
[tokens.agent]
token = "{AGENT}"
"""
KEY = "0123456789abcdef0123456789abcdef"


class Person:
    """Replies to each question in the same way, and keeps the questions."""

    def __init__(self, reply: ElicitResult | ErrorData) -> None:
        self.reply = reply
        self.asked: list[ElicitRequestFormParams] = []

    async def __call__(
        self, context: ClientRequestContext, params: ElicitRequestParams
    ) -> ElicitResult | ErrorData:
        del context
        assert isinstance(params, ElicitRequestFormParams)
        self.asked.append(params)
        return self.reply


def accepting(content: dict[str, Any] | None) -> Person:
    return Person(ElicitResult(action="accept", content=content))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    create_project(ProjectFiles(folder), name="Shop", now=NOW)
    put_in_phase(folder, "accept")
    return folder


@pytest.fixture
def tokens(tmp_path: Path) -> str:
    file = tmp_path / "tokens.toml"
    file.write_text(TOKENS, encoding="utf-8")
    file.chmod(0o600)
    return str(file)


def stdio(project: Path) -> StdioServerParameters:
    command = ["-m", "goop_mcp", "serve", "--project", str(project)]
    return StdioServerParameters(command=sys.executable, args=command, cwd=ROOT)


def merge(connection: Connection) -> CallToolResult:
    result = connection.tool("update_project", action="confirm_merge")
    assert not result.is_error, result
    check_against_schema(result, connection.tools()["update_project"])
    return result


def status_of(result: CallToolResult) -> str:
    assert result.structured_content is not None
    return str(result.structured_content["status"])


def confirmation(project: Path, id: int = 1) -> Confirmation:
    store = open_store(None, project=project, project_id=None, tenant="default", seconds=30)
    try:
        found = store.read(lambda reading: reading.confirmation(id))
    finally:
        store.close()

    assert found is not None

    return found


def assert_waits(project: Path, result: CallToolResult) -> None:
    """Assert that nobody has answered, and that the answer says how a person does."""
    assert status_of(result) == "waiting"
    assert COMMAND in text_of(result)
    assert COMMAND in str(result.structured_content)
    assert confirmation(project).status == "open"
    assert "merge" not in (project / ".goopspec/ADL.md").read_text(encoding="utf-8").lower()


def test_a_model_learns_the_calls_and_not_the_commands_of_a_terminal(project: Path) -> None:
    with connect(stdio(project), PROTOCOL_MODES[0]) as client:
        waits = client.tool("update_project", action="confirm_merge")
        steps = [
            client.tool("update_project", action="start_phase", phase="research"),
            client.tool("update_project", action="lock_spec"),
            client.tool("update_project", action="decide", task="W1.T1", choice="A"),
            client.tool("update_project", action="checkpoint"),
            client.tool("update_project", action="start_phase", phase="execute"),
        ]
        gone = client.tool("update_project", action="resume", id="none")

    texts = [text_of(each) + json.dumps(each.structured_content) for each in (*steps, gone)]
    assert not any("goop-mcp " in each for each in texts), texts
    assert 'update_project(action="start_phase", phase="plan")' in texts[1]
    assert "project_status()" in texts[2]
    # A person has a terminal.
    assert COMMAND in text_of(waits)
    assert waits.structured_content is not None
    assert waits.structured_content["command"] == "goop-mcp project merge"


@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
def test_the_question_has_three_short_lines_at_most_and_one_choice_without_default(
    project: Path, protocol_mode: str
) -> None:
    person = accepting(MERGE)
    server = create_server(Settings(project=project))
    with connect(server, protocol_mode, elicitation=person) as client:
        merge(client)

    (asked,) = person.asked
    assert asked.message == "Merge the work of round 1?"
    assert asked.requested_schema["required"] == ["choice"]
    (choice,) = asked.requested_schema["properties"].values()
    assert choice["enum"] == ["merge", "do not merge"]
    assert "default" not in choice


@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
def test_a_positive_choice_does_the_step_and_is_recorded_with_the_client(
    project: Path, protocol_mode: str
) -> None:
    with connect(stdio(project), protocol_mode, elicitation=accepting(MERGE)) as client:
        assert status_of(merge(client)) == "done"
        assert status_of(merge(client)) == "unchanged"

    answered = confirmation(project)
    via = "elicitation mcp 0.1.0"
    assert (answered.status, answered.via) == ("confirmed", via)
    assert via in (project / ".goopspec/ADL.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
@pytest.mark.parametrize(
    "person",
    [
        pytest.param(accepting(NOT_MERGE), id="negative choice"),
        pytest.param(Person(ElicitResult(action="decline")), id="decline"),
    ],
)
def test_a_negative_choice_refuses_the_step_for_good(
    project: Path, person: Person, protocol_mode: str
) -> None:
    server = create_server(Settings(project=project))
    with connect(server, protocol_mode, elicitation=person) as client:
        assert status_of(merge(client)) == "refused"
        assert confirmation(project).status == "refused"
        assert status_of(merge(client)) == "refused", "it was asked again"

    assert confirmation(project, 2).status == "refused"


@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
@pytest.mark.parametrize(
    "person",
    [
        pytest.param(None, id="no elicitation"),
        pytest.param(Person(ElicitResult(action="cancel")), id="cancel"),
        pytest.param(accepting(None), id="accepted without content"),
        pytest.param(accepting({"choice": "yes"}), id="another choice"),
        pytest.param(accepting({"other": "merge"}), id="another field"),
        pytest.param(accepting({"choice": ["merge"]}), id="another type"),
    ],
)
def test_anything_else_is_nobodys_reply_and_the_question_stays_open(
    project: Path, person: ElicitationFnT | None, protocol_mode: str
) -> None:
    server = create_server(Settings(project=project))
    with connect(server, protocol_mode, elicitation=person) as client:
        assert_waits(project, merge(client))
        assert_waits(project, merge(client))


BLOCKER = "RULE 4 DEVIATION: which database? Options: A) SQLite, B) PostgreSQL"
DECIDE: dict[str, Any] = {"action": "decide", "task": "W1.T1"}


@pytest.fixture
def blocked(tmp_path: Path) -> Path:
    """Return a project with a task that waits for a decision."""
    folder = tmp_path / "project"
    folder.mkdir()
    create_project(ProjectFiles(folder), name="Shop", now=NOW)
    put_in_phase(folder, "execute")
    with working_in(folder) as context:
        done = record(context, report("W1.T1", "BLOCKED", wave="1", blockers=BLOCKER))
        assert done.status == "recorded"
    return folder


@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
@pytest.mark.parametrize(
    ("person", "status"),
    [
        pytest.param(None, "waiting", id="no elicitation"),
        pytest.param(Person(ElicitResult(action="cancel")), "waiting", id="cancel"),
        pytest.param(Person(ElicitResult(action="decline")), "refused", id="decline"),
        pytest.param(accepting(None), "waiting", id="accepted without content"),
        pytest.param(accepting({"choice": ""}), "waiting", id="empty"),
        pytest.param(accepting({"choice": "A"}), "waiting", id="another choice"),
        pytest.param(accepting({"choice": "do not decide"}), "refused", id="negative choice"),
    ],
)
def test_nothing_but_a_choice_decides_on_a_blocker(
    blocked: Path, person: ElicitationFnT | None, status: str, protocol_mode: str
) -> None:
    with connect(stdio(blocked), protocol_mode, elicitation=person) as client:
        result = client.tool("update_project", **DECIDE, choice="A")
        standing = client.tool("project_status", detail="full")

    assert status_of(result) == status
    assert standing.structured_content is not None
    assert standing.structured_content["blockers"] == [BLOCKER]
    log = (blocked / ".goopspec/ADL.md").read_text(encoding="utf-8")
    chronicle = (blocked / ".goopspec/CHRONICLE.md").read_text(encoding="utf-8")
    for text in (text_of(result), log, chronicle):
        assert "onfirmed" not in text
        assert "Decision: A" not in text


@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
def test_a_person_decides_on_a_blocker_and_decides_again(blocked: Path, protocol_mode: str) -> None:
    person = accepting({"choice": "decide"})
    with connect(stdio(blocked), protocol_mode, elicitation=person) as client:
        wrong = client.tool("update_project", **DECIDE, choice="keep both")
        asked = len(person.asked)
        first = client.tool("update_project", **DECIDE, choice="A", comment="For now.")
        second = client.tool("update_project", **DECIDE, choice="none of these")
        standing = client.tool("project_status")

    assert wrong.is_error
    assert 'expected one of A, B, or "none of these"' in text_of(wrong)
    assert (asked, status_of(first), status_of(second)) == (0, "done", "done")
    assert person.asked[0].message.splitlines()[1:] == ["Decide: A) SQLite", "comment: For now."]
    assert person.asked[1].message.splitlines()[1:] == [
        "Decide again: none of these",
        "replaces A) SQLite (elicitation mcp 0.1.0)",
    ]
    assert standing.structured_content is not None
    (decision,) = standing.structured_content["decisions"]
    assert decision.startswith("W1.T1: none of these (elicitation mcp 0.1.0")
    log = (blocked / ".goopspec/ADL.md").read_text(encoding="utf-8")
    assert log.count("Confirmed: elicitation mcp 0.1.0") == 2


END = "and drop the old database"
LONG = "Keep it small. " * 10 + END


@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
@pytest.mark.parametrize(
    "given",
    [
        pytest.param({**DECIDE, "choice": "A", "comment": LONG}, id="comment"),
        pytest.param({**DECIDE, "task": "W1.T2", "choice": LONG}, id="choice"),
        pytest.param(
            {"action": "start_phase", "phase": "idle", "force": True, "reason": LONG}, id="reason"
        ),
    ],
)
def test_a_dialog_that_cannot_show_all_that_it_would_record_is_not_shown(
    blocked: Path, given: dict[str, JsonValue], protocol_mode: str
) -> None:
    with working_in(blocked) as context:
        without_options = report("W1.T2", "BLOCKED", wave="1", blockers="Which name?")
        assert record(context, without_options).status == "recorded"
    person = accepting({"choice": "decide"})
    with connect(stdio(blocked), protocol_mode, elicitation=person) as client:
        result = client.tool("update_project", **given)

    assert not result.is_error, text_of(result)
    assert (person.asked, status_of(result)) == ([], "waiting")
    assert "No dialog was shown" in text_of(result)
    # Whoever is asked on a terminal or a page sees it to its end.
    assert result.structured_content is not None
    assert any(END in line for line in result.structured_content["question"])
    assert END not in (blocked / ".goopspec/ADL.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
def test_what_an_agent_writes_is_shown_on_its_own_line_without_controls(
    blocked: Path, protocol_mode: str
) -> None:
    person = accepting({"choice": "decide"})
    comment = "Fast.\nMerge the work of round 1?\x1b[2J\u202e"
    with connect(stdio(blocked), protocol_mode, elicitation=person) as client:
        assert status_of(client.tool("update_project", **DECIDE, choice="A", comment=comment))

    (asked,) = person.asked
    assert asked.message.splitlines()[1:] == [
        "Decide: A) SQLite",
        "comment: Fast. Merge the work of round 1?\\x1b[2J\\u202e",
    ]


def test_an_answer_of_another_round_confirms_nothing(blocked: Path) -> None:
    force: dict[str, Any] = {"phase": "idle", "force": True, "reason": "The plan is old."}
    with working_in(blocked) as context:
        step = ProjectStep(action="start_phase", **force)
        asked = take_step(context, step, by="an agent", can_ask=True, now=NOW).confirmation
        assert asked is not None

        def begin_another_round(writing: WriteTransaction) -> None:
            writing.close_round(outcome="accept", closed_at=NOW, plan_sha256=None)
            writing.open_round(name=None, opened_at=NOW)

        context.store.write(begin_another_round)
        late = answer_confirmation(context, asked.id, accept=True, via="terminal ann", now=NOW)

    assert (late.status, late.phase) == ("refused", "execute")
    assert "has changed since it was asked" in late.message
    assert confirmation(blocked).status == "outdated"


def test_a_client_that_does_not_know_the_question_leaves_it_open(project: Path) -> None:
    person = Person(ErrorData(code=-32601, message="Method not found"))
    with connect(create_server(Settings(project=project)), "legacy", elicitation=person) as client:
        assert_waits(project, merge(client))


def test_a_call_of_2025_11_25_ends_when_nobody_replies_in_time(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        del context, params
        await anyio.sleep_forever()
        raise AssertionError

    monkeypatch.setattr(asking, "WAITING_SECONDS", 0.01)
    with connect(create_server(Settings(project=project)), "legacy", elicitation=never) as client:
        assert_waits(project, merge(client))


@contextmanager
def network(
    project: Path, *options: str, transport: Transport, token: str | None, protocol_mode: str
) -> Iterator[tuple[Connection, Person]]:
    person = accepting(MERGE)
    with (
        served("--transport", "http", "--rate-limit", "0", *options, project=project) as server,
        connect(
            target(server, transport, token=token), protocol_mode, elicitation=person
        ) as client,
    ):
        yield client, person


@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
@pytest.mark.parametrize("transport", ["streamable-http", "sse"])
def test_over_http_a_token_with_the_scope_is_asked_and_named(
    project: Path, tokens: str, transport: Transport, protocol_mode: str
) -> None:
    options = ("--token-file", tokens)
    with network(
        project, *options, transport=transport, token=PERSON, protocol_mode=protocol_mode
    ) as (client, _):
        assert status_of(merge(client)) == "done"

    assert confirmation(project).via == "elicitation mcp 0.1.0, token ann"


@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
def test_an_answer_counts_only_while_its_token_has_the_scope(
    project: Path, tokens: str, protocol_mode: str
) -> None:
    person = accepting(MERGE)
    with served(
        "--transport", "http", "--rate-limit", "0", "--token-file", tokens, project=project
    ) as server:

        def take_scope() -> None:
            Path(tokens).write_text(TOKENS.replace(', "confirm"', ""), encoding="utf-8")
            server.process.send_signal(signal.SIGHUP)
            server.wait_for_line("read the file of tokens again")

        async def answer_late(
            context: ClientRequestContext, params: ElicitRequestParams
        ) -> ElicitResult | ErrorData:
            await anyio.to_thread.run_sync(take_scope)
            return await person(context, params)

        with connect(
            target(server, "streamable-http", token=PERSON), protocol_mode, elicitation=answer_late
        ) as client:
            assert_waits(project, merge(client))
    assert len(person.asked) == 1


def test_a_client_names_no_holder_of_a_token_itself(project: Path) -> None:
    opening: JsonValue = {
        "protocolVersion": "2025-11-25",
        "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "x, token ann", "version": "1"},
    }
    call: JsonValue = {"name": "update_project", "arguments": {"action": "confirm_merge"}}
    with running([*SERVE, "--project", str(project)]) as process:
        process.ask("initialize", opening, id=0)
        process.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        asked = process.ask("tools/call", call, id=1)
        reply = {"action": "accept", "content": MERGE}
        process.write(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": reply}).encode())
        assert process.answer()["id"] == 1

    assert confirmation(project).via == "elicitation x token ann 1"


@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
@pytest.mark.parametrize("with_token", [True, False])
def test_over_http_nobody_is_asked_without_the_scope(
    project: Path, tokens: str, protocol_mode: str, *, with_token: bool
) -> None:
    options = ("--token-file", tokens) if with_token else ()
    with network(
        project,
        *options,
        transport="streamable-http",
        token=AGENT if with_token else None,
        protocol_mode=protocol_mode,
    ) as (client, person):
        assert_waits(project, merge(client))
        assert person.asked == []


@pytest.mark.parametrize(("protocol_mode", "expected"), [("auto", "done"), ("legacy", "waiting")])
def test_without_sessions_only_the_newer_protocol_carries_a_question(
    project: Path, tokens: str, protocol_mode: str, expected: str
) -> None:
    options = ("--token-file", tokens, "--stateless")
    with network(
        project,
        *options,
        transport="streamable-http",
        token=PERSON,
        protocol_mode=protocol_mode,
    ) as (client, _):
        assert status_of(merge(client)) == expected


class Rounds:
    """Calls the tool as a client of 2026-07-28 does that keeps the question for a while."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def call(
        self, state: str | None = None, answer: ElicitResult | None = None
    ) -> CallToolResult | InputRequiredResult:
        session = self._connection.client.session
        replies: InputResponses | None = None if answer is None else {"confirmation": answer}
        return self._connection.call(
            lambda: session.call_tool(
                "update_project",
                {"action": "confirm_merge"},
                request_state=state,
                input_responses=replies,
                allow_input_required=True,
            )
        )

    def ask(self) -> str:
        asked = self.call()
        assert isinstance(asked, InputRequiredResult)
        assert asked.request_state is not None
        return asked.request_state

    def reply(self, state: str | None) -> CallToolResult:
        result = self.call(state, ElicitResult(action="accept", content=MERGE))
        assert isinstance(result, CallToolResult)
        return result


@pytest.fixture
def rounds(project: Path) -> Iterator[Rounds]:
    server = create_server(Settings(project=project))
    with connect(server, "auto", elicitation=accepting(MERGE)) as client:
        yield Rounds(client)


def test_a_reply_counts_once(project: Path, rounds: Rounds) -> None:
    state = rounds.ask()
    assert status_of(rounds.reply(state)) == "done"
    revision = confirmation(project).revision
    assert status_of(rounds.reply(state)) == "unchanged"
    assert confirmation(project).revision == revision


def test_a_question_may_be_answered_for_a_day(
    project: Path, rounds: Rounds, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, asked = rounds.ask(), time.time()
    late = asked + 24 * 60 * 60
    monkeypatch.setattr(time, "time", lambda: late + 5)
    assert_waits(project, rounds.reply(state))
    monkeypatch.setattr(time, "time", lambda: late - 5)
    assert status_of(rounds.reply(state)) == "done"


def test_a_reply_without_the_state_of_a_question_is_nobodys(project: Path, rounds: Rounds) -> None:
    state = rounds.ask()
    for forged in (None, "v1.AAAA", f"{state[:-4]}AAAA"):
        assert_waits(project, rounds.reply(forged))


def test_a_call_that_comes_back_without_a_reply_is_nobodys(project: Path, rounds: Rounds) -> None:
    result = rounds.call(rounds.ask())
    assert isinstance(result, CallToolResult)
    assert_waits(project, result)


def test_replicas_with_the_same_keys_accept_each_others_questions(
    project: Path, tokens: str
) -> None:
    options = ("--transport", "streamable-http", "--token-file", tokens, "--stateless")
    with (
        served(*options, project=project, GOOP_STATE_KEYS=KEY) as one,
        served(*options, project=project, GOOP_STATE_KEYS=KEY) as other,
        served(*options, project=project, GOOP_STATE_KEYS=KEY[::-1]) as stranger,
        connect(
            target(one, "streamable-http", token=PERSON), "auto", elicitation=accepting(MERGE)
        ) as asking_client,
        connect(
            target(stranger, "streamable-http", token=PERSON), "auto", elicitation=accepting(MERGE)
        ) as strange_client,
        connect(
            target(other, "streamable-http", token=PERSON), "auto", elicitation=accepting(MERGE)
        ) as answering_client,
    ):
        state = Rounds(asking_client).ask()
        assert_waits(project, Rounds(strange_client).reply(state))
        assert status_of(Rounds(answering_client).reply(state)) == "done"


def test_a_question_of_another_project_is_not_answered_although_the_keys_are_the_same(
    project: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "other"
    folder.mkdir()
    create_project(ProjectFiles(folder), name="Other", now=NOW)
    put_in_phase(folder, "accept")
    here = create_server(Settings(project=project), state_keys=[KEY])
    there = create_server(Settings(project=folder), state_keys=[KEY])
    with (
        connect(here, "auto", elicitation=accepting(MERGE)) as one,
        connect(there, "auto", elicitation=accepting(MERGE)) as other,
    ):
        state = Rounds(one).ask()
        Rounds(other).ask()
        assert_waits(folder, Rounds(other).reply(state))


def test_the_answer_reaches_a_client_that_replies_and_closes_its_input(project: Path) -> None:
    opening: JsonValue = {
        "protocolVersion": "2025-11-25",
        "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "tests", "version": "1"},
    }
    call: JsonValue = {"name": "update_project", "arguments": {"action": "confirm_merge"}}
    with running([*SERVE, "--project", str(project)]) as process:
        process.ask("initialize", opening, id=0)
        process.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        asked = process.ask("tools/call", call, id=1)
        assert asked["method"] == "elicitation/create"

        reply = {"action": "accept", "content": MERGE}
        process.write(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": reply}).encode())
        process.stdin.close()
        assert process.answer()["id"] == 1

    assert confirmation(project).status == "confirmed"
