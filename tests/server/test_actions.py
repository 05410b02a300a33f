"""The table of all actions: every tool has its row, and does what the row says for every caller."""

import json
from itertools import chain, combinations
from pathlib import Path

import pytest
from mcp.types import ElicitResult
from pydantic import JsonValue

from goop_mcp.context import AppContext
from goop_mcp.server import create_server
from goop_mcp.server.actions import ACTIONS, needs_of
from goop_mcp.server.scopes import CONFIRM, READ, SCOPES, WRITE
from goop_mcp.server.tools.registry import offered_tools
from goop_mcp.settings import Settings
from goop_mcp.validation.samples import COMPLETE_REPLY
from tests.documentation.doors import PAGE, with_table
from tests.documentation.pages import read_page
from tests.server.connections import Connection, connect, stdio_server, target, text_of
from tests.server.http.requests import ask
from tests.server.http.serving import served
from tests.server.test_asking import Person, status_of
from tests.workbench.projects import play_until
from tests.workbench.runs import create_waiting_run

SUBSETS = [
    frozenset(each) for each in chain.from_iterable(combinations(SCOPES, n) for n in range(5))
]
REPLY: dict[str, JsonValue] = {"text": COMPLETE_REPLY}
CALLS: dict[str, dict[str, JsonValue]] = {
    "validate_report": REPLY,
    "validate_report check_workspace": {**REPLY, "check_workspace": True},
    "validate_report file": {"file": "reply.md"},
    "route_next_action": REPLY,
    "route_next_action check_workspace": {**REPLY, "check_workspace": True},
    "route_next_action file": {"file": "reply.md"},
    "record_report": {**REPLY, "check_workspace": False},
    # Its default is to look.
    "record_report check_workspace": REPLY,
    "record_report file": {"file": "reply.md", "check_workspace": False},
    "build_report": {"status": "COMPLETE"},
    "build_handoff": {"kind": "session"},
    "build_handoff write": {"kind": "session", "write": True},
    "project_status": {},
    "update_project": {"action": "checkpoint"},
    "save_memory": {"title": "A title", "content": "Something."},
    "memory_save": {"title": "A title", "content": "Something."},
    "search_memory": {"queries": "title"},
    "memory_search": {"query": "title"},
    "get_memory": {"id": 1},
    "forget_memory": {"id": 1},
    "explain_rule": {"rule": "goop_report/unknown-status"},
    "hook_check": {"event": "SubagentStop", "text": COMPLETE_REPLY},
    "run_check": {"name": "tests"},
}
TOOLS = [door for action in ACTIONS for door in action.tools]


def settings_of(project: Path) -> Settings:
    return Settings(project=project, hook_tool=True, allow_run=True, goopspec_aliases=True)


def test_every_tool_has_a_row_and_every_row_a_tool_and_a_call(tmp_path: Path) -> None:
    offered = {each.tool.name for each in offered_tools(AppContext(settings_of(tmp_path)))}
    assert {door.partition(" ")[0] for door in TOOLS} == offered
    assert offered <= {*TOOLS}
    assert len(TOOLS) == len({*TOOLS})
    assert CALLS.keys() == {*TOOLS}


def test_a_tool_that_is_not_in_the_table_cannot_be_declared() -> None:
    with pytest.raises(LookupError, match="send_mail is not in the table"):
        needs_of("send_mail")


def test_the_page_has_the_table() -> None:
    page = read_page(PAGE)
    assert page == with_table(page), "run `make docs`"


def walk(client: Connection, scopes: frozenset[str], doors: list[str]) -> None:
    """Call each tool as a caller with `scopes`; only what the table says is refused."""
    needs = {each: needs_of(each).scopes for each in doors}
    listed = client.tools().keys()
    for door in doors:
        tool = door.partition(" ")[0]
        assert (tool in listed) == (needs_of(tool).scopes <= scopes), (tool, scopes)
        result = client.tool(tool, **CALLS[door])
        is_refused = result.is_error is True and "needs the scope" in text_of(result)
        assert is_refused == (not needs[door] <= scopes), (door, sorted(scopes), text_of(result))


@pytest.mark.parametrize("scopes", SUBSETS, ids=lambda each: " ".join(sorted(each)) or "none")
def test_a_caller_does_what_the_table_says(tmp_path: Path, scopes: frozenset[str]) -> None:
    play_until(tmp_path, "blueprint")
    (tmp_path / "reply.md").write_text(COMPLETE_REPLY, encoding="utf-8")
    server = create_server(settings_of(tmp_path), without_token=scopes)
    with connect(server, "auto") as client:
        walk(client, scopes, TOOLS)


def test_tokens_with_every_subset_of_scopes_do_so_over_http(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    play_until(tmp_path, "blueprint")
    (tmp_path / "reply.md").write_text(COMPLETE_REPLY, encoding="utf-8")
    file = tmp_path_factory.mktemp("tokens") / "tokens.toml"
    tokens = {f"token-of-holder-number-{at}": scopes for at, scopes in enumerate(SUBSETS)}
    lines = [
        f'[tokens.h{at}]\ntoken = "{token}"\nscopes = {json.dumps(sorted(scopes))}'
        for at, (token, scopes) in enumerate(tokens.items())
        if scopes
    ]
    file.write_text("\n".join(lines), encoding="utf-8")
    file.chmod(0o600)
    doors = [door for door in TOOLS if door != "run_check"]
    options = ("--transport", "http", "--token-file", str(file), "--rate-limit", "0")
    more = ("--hook-tool", "--goopspec-aliases")
    with served(*options, *more, project=tmp_path) as server:
        for token, scopes in tokens.items():
            # Resources, subscriptions, completions and prompts have no door but this one.
            if READ not in scopes:
                assert ask(server.mcp, token=token).status_code == (403 if scopes else 401)
                continue
            with connect(target(server, "streamable-http", token=token), "auto") as client:
                walk(client, scopes, doors)
                assert client.read("goop://project/SPEC.md").text
                assert client.prompt("start_task", agent="goop-executor", task="x", phase="execute")


@pytest.mark.parametrize("scopes", SUBSETS, ids=lambda each: " ".join(sorted(each)) or "none")
def test_only_a_client_that_may_write_and_confirm_is_asked(
    tmp_path: Path, scopes: frozenset[str]
) -> None:
    # A closed window: nothing is decided, so that each step stays as it was.
    person = Person(ElicitResult(action="cancel"))
    play_until(tmp_path, "blueprint")
    run = create_waiting_run(tmp_path)
    server = create_server(Settings(project=tmp_path), without_token=scopes)
    with connect(server, "legacy", elicitation=person) as client:
        answers = [
            client.tool("update_project", action="lock_spec"),
            client.tool("update_project", action="decide", run=run, task="ship"),
        ]
    assert len(person.asked) == (2 if scopes >= {READ, WRITE, CONFIRM} else 0)
    may_ask = scopes >= {READ, WRITE}
    assert [each.is_error is True for each in answers] == [not may_ask] * 2
    if may_ask:
        assert [status_of(each) for each in answers] == ["waiting", "waiting"]


def test_a_client_of_stdio_may_do_everything(tmp_path: Path) -> None:
    play_until(tmp_path, "blueprint")
    (tmp_path / "reply.md").write_text(COMPLETE_REPLY, encoding="utf-8")
    options = ("--hook-tool", "--goopspec-aliases", "--allow-run")
    with connect(stdio_server(tmp_path, *options), "auto") as client:
        walk(client, frozenset(SCOPES), TOOLS)
