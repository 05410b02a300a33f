"""Every page and form of the workbench: what each login may do, and what its cookie may alone."""

import json
import re
from collections.abc import Iterator
from contextlib import closing
from itertools import chain, combinations
from pathlib import Path

import httpx2
import pytest
from starlette.testclient import TestClient

from goop_mcp.memory.drafts import MemoryDraft
from goop_mcp.memory.saving import save_memory
from goop_mcp.server.actions import ACTIONS, needs_of
from goop_mcp.server.scopes import CONFIRM, READ, SCOPES, WORKSPACE
from goop_mcp.services.project_status import project_status
from goop_mcp.services.project_steps import ProjectStep, take_step
from goop_mcp.store.opening import open_store
from goop_mcp.workbench.pages import ROUTES
from goop_mcp.workbench.visits import RouteList, WorkbenchPage
from tests.cli.running import run as run_program
from tests.workbench.browsing import Browser, browse, key_of, root_of, text_of
from tests.workbench.projects import NOW, opened, play_until
from tests.workbench.runs import create_waiting_run
from tests.workbench.test_handoff import FORM
from tests.workbench.test_team import ANN, served, write_tokens

SUBSETS = [
    frozenset(each) for each in chain.from_iterable(combinations(SCOPES, n) for n in range(5))
]
PAGES = [door for action in ACTIONS for door in action.pages]
# Of the fields that need a scope of their own, and of those without which a form is not read.
FIELDS = {
    "in_project": "yes",
    "session": "20260120-080000-links",
    "text": "A reply without an envelope",
    "action": "checkpoint",
    "answer": "yes",
    "task": "write",
    "reason": "It is about another round.",
}
SESSION = f"docs/.scratch/sessions/{FIELDS['session']}/prompt.md"


def project_with_everything(folder: Path) -> dict[str, str]:
    """Prepare what every page shows; return the parts of the addresses."""
    play_until(folder, "blueprint")
    with opened(folder) as project:
        take_step(project, ProjectStep(action="lock_spec"), by="mcp tests 1.0", now=NOW)
        save_memory(project.store, MemoryDraft(title="A title", content="Something."))
    prompt = folder / SESSION
    prompt.parent.mkdir(parents=True)
    prompt.write_text("# What is in this file\n", encoding="utf-8")
    run = create_waiting_run(folder)
    return {"id": "1", "name": "execute-task", "task": "write", "run": run}


def address_of(path: str, parts: dict[str, str]) -> str:
    """Return an address with the parts that the path names, below the root."""
    known = {**parts, "id": parts["run"]} if path.startswith("/runs/") else parts
    return re.sub(r"\{(\w+)\}", lambda found: known[found[1]], path)


def send(client: TestClient | httpx2.Client, root: str, door: str, **fields: str) -> int:
    """Ask for a page, or send its form; return the status."""
    method, path, *argument = door.split(" ")
    given = {name: FIELDS[name] for name in argument}
    if method == "GET":
        return client.get(f"{root}{path}", params=given).status_code
    # Each form has the fields of all of them, without those that need a scope of their own.
    rest = {name: text for name, text in FIELDS.items() if name not in ("in_project", "session")}
    return client.post(
        f"{root}{path}", data={**rest, **given, **fields}, follow_redirects=False
    ).status_code


def test_every_page_has_a_row_and_every_row_a_page() -> None:
    routes = {
        f"{'GET' if isinstance(each, WorkbenchPage) else 'POST'} {each.path}" for each in ROUTES
    }
    assert routes <= {*PAGES}
    assert {" ".join(door.split(" ")[:2]) for door in PAGES} == routes
    assert len(PAGES) == len({*PAGES})


def test_a_page_that_is_not_in_the_table_cannot_be_declared() -> None:
    routes = RouteList()
    with pytest.raises(LookupError, match="GET /payroll is not in the table"):
        routes.page("/payroll")
    with pytest.raises(LookupError, match="POST /payroll is not in the table"):
        routes.action("/payroll")


def csrf_of(page: httpx2.Response) -> str:
    found = re.search(r'name="csrf" value="(\w+)"', page.text)
    assert found is not None
    return found[1]


def test_a_login_with_a_token_does_what_the_table_says(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.toml"
    holders = {f"token-of-holder-number-{at}": scopes for at, scopes in enumerate(SUBSETS)}
    lines = [
        f'[tokens.h{at}]\ntoken = "{token}"\nscopes = {json.dumps(sorted(scopes))}'
        for at, (token, scopes) in enumerate(holders.items())
    ]
    tokens.write_text("\n".join(lines[1:]), encoding="utf-8")
    tokens.chmod(0o600)
    project = tmp_path / "project"
    project.mkdir()
    parts = project_with_everything(project)
    with served(project, tokens, GOOP_RATE_LIMIT="0") as (_, client):
        for token, scopes in holders.items():
            entered = client.post("/login", data={"token": token})
            if READ not in scopes:
                assert entered.status_code == (403 if scopes else 401)
                continue

            root, key = root_of(entered), key_of(entered)
            csrf = csrf_of(client.get(f"{root}/"))
            for door in PAGES:
                method, path, *argument = door.split(" ")
                sent = " ".join([method, address_of(path, parts), *argument])
                status = send(client, root, sent, csrf=csrf, key=key)
                is_refused = not needs_of(door).scopes <= scopes
                assert (status == 403) == is_refused, (door, sorted(scopes), status)


@pytest.mark.parametrize(
    ("is_read_only", "scopes"), [(False, frozenset(SCOPES)), (True, frozenset({READ, WORKSPACE}))]
)
def test_the_person_at_the_terminal_may_do_everything_or_look(
    tmp_path: Path, is_read_only: bool, scopes: frozenset[str]
) -> None:
    parts = project_with_everything(tmp_path)
    with browse(tmp_path, is_read_only=is_read_only) as browser:
        csrf = browser.csrf()
        for door in PAGES:
            method, path, *argument = door.split(" ")
            sent = " ".join([method, address_of(path, parts), *argument])
            status = send(browser.client, browser.root, sent, csrf=csrf, key=browser.key)
            assert (status == 403) == (not needs_of(door).scopes <= scopes), (door, status)


def test_what_is_in_files_is_shown_only_with_the_scope_for_it(tmp_path: Path) -> None:
    tokens = write_tokens(tmp_path, ann='["read", "write", "confirm"]')
    project = tmp_path / "project"
    project.mkdir()
    project_with_everything(project)
    with served(project, tokens) as (_, client):
        root = root_of(client.post("/login", data={"token": ANN}))
        form = client.get(f"{root}/check")
        prompt = client.get(f"{root}/handoff", params={"session": FIELDS["session"]})
        # What was just written is not opened either, and writing it is no error.
        fields = {**FORM, "csrf": csrf_of(form)}
        written = client.post(f"{root}/handoff/write", data=fields)

    assert written.status_code == 200
    assert "Written: docs/.scratch/sessions/" in text_of(written, "#notes")
    assert "in_project" not in form.text
    assert prompt.status_code == 403
    assert "What is in this file" not in prompt.text
    assert "lacks the scope workspace" in text_of(prompt)


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[tuple[Browser, dict[str, str]]]:
    parts = project_with_everything(tmp_path)
    with browse(tmp_path) as browser:
        yield browser, parts


def test_a_cookie_is_for_the_pages_of_its_login_alone(
    waiting: tuple[Browser, dict[str, str]],
) -> None:
    browser, _ = waiting
    client, first = browser.client, browser.root
    browser.log_in()
    assert browser.root != first
    statuses = [client.get(f"{root}/").status_code for root in (first, browser.root)]
    statuses += [client.get(f"{root}/").status_code for root in ("", "/~", f"/~{'0' * 22}")]
    assert statuses == [200, 200, 401, 404, 401]
    # The note for the next page is a cookie too, and its text is nobody else's business.
    done = client.post(
        f"{browser.root}/steps",
        data={"csrf": browser.csrf(), "action": "checkpoint"},
        follow_redirects=False,
    )
    assert f"Path={browser.root}/;" in done.headers["set-cookie"]


def test_a_cookie_alone_confirms_nothing(
    tmp_path: Path, waiting: tuple[Browser, dict[str, str]]
) -> None:
    browser, parts = waiting
    with closing(open_store(None, project=tmp_path)) as store:
        before = store.read(lambda reading: reading.graphs.tasks(parts["run"]))
        csrf = browser.csrf()
        confirming = [door for door in PAGES if CONFIRM in needs_of(door).scopes]
        assert len(confirming) == 5
        for door in confirming:
            method, path = door.split(" ")
            sent = f"{method} {address_of(path, parts)}"
            for key in ("", csrf, browser.key[:-1], f"{browser.key}0", "é"):
                assert send(browser.client, browser.root, sent, csrf=csrf, key=key) == 403
        assert store.read(lambda reading: reading.graphs.tasks(parts["run"])) == before
    with opened(tmp_path) as project:
        assert project_status(project).spec_locked is False

    # No page that the cookie opens has the key.
    pages = [" ".join(door.split(" ")[1:2]) for door in PAGES if door.startswith("GET ")]
    for path in pages:
        assert browser.key not in browser.get(address_of(path, parts)).text


def test_without_script_the_code_is_asked_for_and_nothing_else_again(
    tmp_path: Path, waiting: tuple[Browser, dict[str, str]]
) -> None:
    browser, _ = waiting
    asks = browser.post("/confirm/1", {"answer": "yes", "comment": 'So be it, "ann" <b>'}, key="")
    assert asks.status_code == 403
    assert 'name="comment" value="So be it, &#34;ann&#34; &lt;b&gt;"' in asks.text
    assert "That is not the code" not in text_of(asks)
    wrong = browser.post("/confirm/1", {"answer": "yes"}, key="0" * 32)
    assert "That is not the code" in text_of(wrong)

    fields = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', asks.text))
    assert fields["answer"] == "yes"
    done = browser.post("/confirm/1", {"answer": "yes"}, key=f" {browser.key} ")
    assert "is locked" in text_of(done, "#notes")
    with opened(tmp_path) as project:
        assert project_status(project).spec_locked is True


def test_a_decision_without_the_code_becomes_a_question(tmp_path: Path) -> None:
    play_until(tmp_path, "rule_4")
    decision = {"action": "decide", "task": "W2.T1", "choice": "B"}
    with browse(tmp_path) as browser:
        asked = browser.post("/steps", decision, key="")
        assert asked.url.path.startswith(f"{browser.root}/confirm/")
        done = browser.post(asked.url.path, {"answer": "yes"})
    assert "Take several folders" in text_of(done, "#notes")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "http://127.0.0.1:8000"}, 200),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "http://127.0.0.1:8000"}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
        # Another port is another origin of the same site: browsers send strict cookies along.
        ({"Origin": "http://127.0.0.1:3000"}, 403),
        ({"Origin": "http://localhost:8000"}, 403),
        ({"Sec-Fetch-Site": "same-site", "Origin": "http://127.0.0.1:8000"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": ""}, 403),
        # A proxy that passes the name on without its port.
        ({"Host": "localhost", "Origin": "http://localhost:8443"}, 200),
        ({"Host": "localhost", "Origin": "http://127.0.0.1:8443"}, 403),
    ],
)
def test_only_pages_of_the_own_origin_send_forms(
    waiting: tuple[Browser, dict[str, str]], headers: dict[str, str], status: int
) -> None:
    browser, _ = waiting
    fields = {"csrf": browser.csrf(), "text": "A reply"}
    cookies = "; ".join(f"{name}={value}" for name, value in browser.client.cookies.items())
    sent = browser.client.post(
        f"{browser.root}/check", data=fields, headers={**headers, "Cookie": cookies}
    )
    assert sent.status_code == status


def test_the_command_line_without_a_terminal_leaves_it_to_a_person(tmp_path: Path) -> None:
    run = project_with_everything(tmp_path)["run"]
    hooks = tmp_path / ".goopspec" / "hooks.json"
    hooks.write_text('{"confirm_decisions": true}', encoding="utf-8")
    decision = ["decide", "--run", run, "--task", "write", "--choice", "fail"]
    force = ["phase", "accept", "--force", "--reason", "no time"]
    for words in (["lock"], force, decision):
        ended = run_program("project", *words, cwd=tmp_path, stdin=b"y\ny\n")
        assert ended.code == 3, (words, ended)
    with closing(open_store(None, project=tmp_path)) as store:
        task = store.read(lambda reading: reading.graphs.task(run, "write"))
    assert task is not None
    assert task.state == "input_required"
    with opened(tmp_path) as project:
        status = project_status(project)
    assert (status.spec_locked, status.phase) == (False, "plan")
