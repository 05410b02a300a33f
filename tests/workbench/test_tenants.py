"""`goop-mcp serve --ui` on PostgreSQL: people of several tenants, each with pages of their own."""

import re
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from goop_mcp.delegation.graph import Graph
from goop_mcp.delegation.ledger import Ledger
from goop_mcp.delegation.parts import GraphAgent, GraphTask
from goop_mcp.store.opening import open_store
from goop_mcp.validation.samples import COMPLETE_REPLY
from goop_mcp.workbench.pages import ROUTES
from goop_mcp.workbench.visits import WorkbenchPage
from tests.postgres import Database
from tests.server.connections import connect, target, text_of
from tests.server.http.serving import Served, served
from tests.workbench.browsing import key_of, root_of

LAUNCH = "the launch is on a Tuesday"
SCOPES = ["read", "write", "confirm"]
TOKENS = "\n".join(
    f'[tokens.{name}]\ntoken = "token-of-the-tenant-{name}"\ntenant = "{name}"\nscopes = {SCOPES}'
    for name in ("acme", "rival")
)
PAGES = [each.path for each in ROUTES if isinstance(each, WorkbenchPage) and "{" not in each.path]
# What only acme has, by its number; and a form that shows what it is given.
OF_ONE = ["/reports/1", "/handoff?report=1", "/memory?id=1", f"/memory?text={LAUNCH[:10]}"]


@pytest.fixture
def server(database: Database, tmp_path: Path) -> Iterator[Served]:
    tokens = tmp_path / "tokens.toml"
    tokens.write_text(TOKENS, encoding="utf-8")
    tokens.chmod(0o600)
    (tmp_path / "project").mkdir()
    with served(
        *("--transport", "http", "--ui", "--token-file", str(tokens), "--rate-limit", "0"),
        project=tmp_path / "project",
        GOOP_DATABASE_URL=database.url(),
        GOOP_PROJECT_ID="shop",
    ) as running:
        yield running


def test_each_tenant_sees_its_own_on_every_page(server: Served, database: Database) -> None:
    store = open_store(database.url(), project=".", project_id="shop", tenant="acme")
    graph = Graph(
        name="Launch",
        agents=(GraphAgent("kim", run="person"),),
        tasks=(GraphTask("write", agent="kim", prompt=LAUNCH),),
    )
    run = Ledger(store).create(graph, input={})
    before = store.read(lambda reading: reading.graphs.task(run, "write"))
    assert before is not None
    store.close()
    of_acme = "token-of-the-tenant-acme"
    with connect(target(server, "streamable-http", token=of_acme), "auto") as acme:
        saved = acme.tool("save_memory", title="Launch", content=LAUNCH)
        assert not saved.is_error, text_of(saved)
        reply = COMPLETE_REPLY.replace("<summary>", f"<summary>{LAUNCH}. ", 1)
        recorded = acme.tool("record_report", text=reply, check_workspace=False)
        assert not recorded.is_error, text_of(recorded)

    found: dict[str, set[str]] = {}
    for tenant in ("acme", "rival"):
        origin = f"http://127.0.0.1:{server.port}"
        with httpx2.Client(base_url=origin, headers={"Origin": origin}, timeout=60) as person:
            entered = person.post("/login", data={"token": f"token-of-the-tenant-{tenant}"})
            assert entered.status_code == 200, entered.text
            root = root_of(entered)
            found[tenant] = set()
            for path in (*PAGES, *OF_ONE, f"/runs/{run}", f"/runs/{run}/tasks/write"):
                page = person.get(f"{root}{path}")
                assert page.status_code in (200, 404), (path, page.text[:300])
                if run in page.text.replace(path, "") and page.status_code == 200:
                    found[tenant].add("a run")
                if LAUNCH in page.text or "Launch" in page.text:
                    found[tenant].add(path)

            csrf = re.findall(r'name="csrf" value="(\w+)"', person.get(f"{root}/").text)[0]
            if tenant == "rival":
                for act in ("cancel", "retry", "answer"):
                    sent = person.post(
                        f"{root}/runs/{run}/{act}",
                        data={"csrf": csrf, "key": key_of(entered), "task": "write"},
                    )
                    # Back to the page of the run, which there is not for this tenant.
                    assert sent.status_code in (303, 404, 422), (act, sent.text[:200])

    assert {"/reports", "/reports/1", "/memory", "/runs", "a run"} <= found["acme"]
    assert found["rival"] == set()
    store = open_store(database.url(), project=".", project_id="shop", tenant="acme")
    assert store.read(lambda reading: reading.graphs.task(run, "write")) == before
    store.close()
