import random
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from operator import methodcaller

import psycopg
import pytest

from goop_mcp.delegation.graph import Graph
from goop_mcp.delegation.ledger import Claim, Ledger, RunError
from goop_mcp.delegation.parts import GraphAgent, GraphTask
from goop_mcp.delegation.processes import this_process
from goop_mcp.retry.replies import Message
from goop_mcp.store.graph_rows import GraphReportRow
from goop_mcp.store.interface import ReadTransaction, WriteTransaction
from goop_mcp.store.postgres import PostgresStore
from goop_mcp.store.postgres.reading import PostgresReadTransaction
from goop_mcp.store.records import MemoryFilter, Projection, StoredMemory
from goop_mcp.store.search_text import project_token
from tests.documentation.pages import fences
from tests.postgres import Database
from tests.repository import ROOT
from tests.store.postgres.conftest import OpenStore
from tests.store.postgres.samples import event, memory, report
from tests.store.rows import NOW, REPLY, REQUEST, RUN, SPEC

ALL = MemoryFilter()
PROJECTS = [("acme", "shop"), ("acme", "blog"), ("rival", "shop"), ("rival", "blog")]
TABLES = (
    "meta",
    "memories",
    "memory_sketches",
    "reports",
    "events",
    "projections",
    "rounds",
    "confirmations",
    "project_state",
    "kept_documents",
    "counters",
    "kept_replies",
    "recorded_runs",
    "graph_runs",
    "graph_tasks",
    "graph_needs",
    "graph_attempts",
    "graph_events",
    "graph_runners",
    "graph_circuits",
    "graph_reports",
)


def _everything(rows: ReadTransaction) -> str:
    """Return all that can be read without a key."""
    found = rows.search(["common"], operator="OR", wanted=ALL, limit=50)
    of_rounds = (
        rows.rounds(),
        rows.last_reports(round=1),
        rows.open_confirmations(),
        rows.stored_state(),
        rows.kept_document("SPEC.md"),
        rows.counters(round=1, task=""),
        rows.agents_with_kept_replies(),
        rows.kept_reply("goop-executor"),
        rows.kept_runs(limit=50),
        rows.kept_run("r-0123456789ab"),
    )
    return repr(
        (
            rows.memories(ALL),
            found,
            rows.reports(),
            rows.events(),
            rows.projections(),
            of_rounds,
        )
    )


def _change(rows: WriteTransaction, *, owner: str, number: int, pick: random.Random) -> int:
    if pick.random() < 0.6:
        rows.add_memory(memory(number, title=f"{owner} common", content=owner))
    if pick.random() < 0.3:
        rows.add_report(report(number))
    if pick.random() < 0.3:
        rows.add_event(event(number))

    if pick.random() < 0.2:
        _add_for_the_round(rows, owner)

    rows.set_projection(Projection(path=f"{owner}.md", revision=rows.next_revision()))
    # Ids that the others have as well, and more of them than there are here.
    if pick.random() < 0.2:
        rows.forget_memory(pick.randrange(1, 60), forgotten_at=NOW, purge=pick.random() < 0.5)
    return rows.next_revision()


def _add_for_the_round(rows: WriteTransaction, owner: str) -> None:
    """Change the round, and add a row to each table that belongs to it."""
    if rows.round().is_open:
        rows.close_round(outcome="accept", closed_at=NOW, plan_sha256=owner)
        rows.open_round(name=owner, opened_at=NOW)

    rows.add_confirmation(replace(REQUEST, subject=owner, subject_key=owner))
    rows.set_stored_state(owner)
    rows.keep_document(replace(SPEC, text=owner))
    rows.set_counters(round=1, task="", values={"owner": owner})
    rows.keep_reply(replace(REPLY, text=owner))
    if rows.kept_run(RUN.run) is None:
        rows.keep_run(replace(RUN, content=owner))


def _ask_without_filter(rows: ReadTransaction) -> list[tuple[object, ...]]:
    assert isinstance(rows, PostgresReadTransaction)
    assert rows._connection is not None
    return rows._connection.execute(
        "SELECT current_user, (SELECT count(*) FROM goop.events)"
    ).fetchall()


@pytest.fixture
def superuser_made_it(open_store: OpenStore) -> None:
    """Let the tables belong to the superuser, so that everybody else needs the role goop_app."""
    open_store(user="postgres").write(lambda rows: rows.next_revision())


@pytest.mark.parametrize("user", ["plain_owner", "postgres"])
@pytest.mark.parametrize("seed", range(3))
def test_two_tenants_with_two_projects_each_never_meet(
    open_store: OpenStore, user: str, seed: int
) -> None:
    pick = random.Random(seed)
    stores = {
        f"{tenant}{project}": open_store(project, tenant=tenant, user=user)
        for tenant, project in PROJECTS
    }
    expected = dict.fromkeys(stores, 0)

    for number in range(120):
        owner = pick.choice(list(stores))
        expected[owner] = stores[owner].write(
            partial(_change, owner=owner, number=number, pick=pick)
        )

    for owner, store in stores.items():
        seen = store.read(_everything)
        assert [other for other in stores if other in seen and other != owner] == []
        assert owner in seen
        assert store.read(lambda rows: rows.revision()) == expected[owner]
        assert store.check() == []


def test_keys_ids_and_fingerprints_of_another_project_are_unknown(open_store: OpenStore) -> None:
    mine, other = open_store("shop"), open_store("blog")
    for number in range(5):
        mine.write(partial(_add, number))

    theirs = memory(3)

    for ask in (
        lambda rows: rows.memory(4),
        lambda rows: rows.memory_by_key(theirs.idempotency_key),
        lambda rows: rows.memory_by_fingerprint(theirs.fingerprint),
        lambda rows: rows.memories_by_sketch(theirs.sketches, limit=5) or None,
        lambda rows: rows.search(["sessions"], operator="OR", wanted=ALL, limit=5) or None,
    ):
        assert mine.read(ask) is not None
        assert other.read(ask) is None

    run = Ledger(mine).create(Graph(name="x", tasks=(GraphTask("a", agent="worker"),)), input={})
    with pytest.raises(RunError, match="no run"):
        Ledger(other).run(run)
    assert other.read(lambda rows: rows.graphs.runs(include_ended=True)) == []
    assert other.read(lambda rows: (rows.graphs.tasks(run), rows.graphs.events(run))) == ([], [])

    assert other.write(lambda rows: rows.forget_memory(4, forgotten_at=NOW, purge=True)) is None
    assert other.write(partial(_add, 3)).id == 1
    assert len(mine.read(lambda rows: rows.memories(ALL))) == 5


def _add(number: int, rows: WriteTransaction) -> StoredMemory:
    return rows.add_memory(memory(number))


@pytest.fixture(params=["plain_owner", "reader"])
def bound_connection(
    request: pytest.FixtureRequest, open_store: OpenStore, database: Database
) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """Return a connection without superuser rights to a database with rows of two tenants."""
    for tenant in ("acme", "rival"):
        _fill_store(open_store(tenant=tenant))

    with database.connect() as admin:
        admin.execute("DROP ROLE IF EXISTS reader")
        admin.execute("CREATE ROLE reader LOGIN")
        admin.execute("GRANT USAGE ON SCHEMA goop TO reader")
        admin.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA goop TO reader")

    with database.connect(request.param) as connection:
        yield connection

    with database.connect() as admin:
        admin.execute("DROP OWNED BY reader")
        admin.execute("DROP ROLE reader")


def _fill_store(store: PostgresStore) -> None:
    """Add a row to each table, those of runs by a run."""
    store.write(_fill)
    agent = GraphAgent("worker", rate=1.0)
    task = GraphTask("b", agent="worker", needs=("a",))
    graph = Graph(
        name="x", agents=(agent,), tasks=(GraphTask("a", agent="worker", prompt="Do it."), task)
    )
    ledger = Ledger(store)
    runner = this_process()
    ledger.register(runner)
    claim = ledger.claim(ledger.create(graph, input={}), runner)
    assert isinstance(claim, Claim)
    # A call that nobody writes with its claim: the rate of the agent decides when it may begin.
    assert claim.begun or ledger.begin_attempt(claim, Message("Do it."))[0]


def _fill(rows: WriteTransaction) -> None:
    rows.add_memory(memory())
    rows.add_report(report())
    rows.add_event(event())
    rows.set_projection(Projection(path="HANDOFF.md", revision=1))
    rows.close_round(outcome="accept", closed_at=NOW, plan_sha256=None)
    rows.add_confirmation(REQUEST)
    rows.set_stored_state("{}")
    rows.keep_document(SPEC)
    rows.set_counters(round=1, task="", values={})
    rows.keep_reply(REPLY)
    rows.keep_run(RUN)
    left = GraphReportRow(
        run="run-1", task="a", fence=1, round=0, spec="{}", owner=None, result="{}"
    )
    rows.graphs.add(left)


def test_a_statement_that_forgets_its_filter_sees_nothing_of_others(
    bound_connection: psycopg.Connection[tuple[object, ...]],
) -> None:
    for table in TABLES:
        assert bound_connection.execute(f"SELECT * FROM goop.{table}").fetchall() == []  # noqa: S608

    with bound_connection.transaction():
        bound_connection.execute(
            "SELECT set_config('app.tenant', 'acme', true), set_config('app.project', 'shop', true)"
        )
        for table in TABLES:
            seen = bound_connection.execute(f"SELECT tenant, project FROM goop.{table}").fetchall()  # noqa: S608
            assert set(seen) == {("acme", "shop")}, table

    for table in TABLES:
        assert bound_connection.execute(f"SELECT * FROM goop.{table}").fetchall() == []  # noqa: S608


def test_rows_of_others_can_be_neither_written_nor_changed(
    bound_connection: psycopg.Connection[tuple[object, ...]],
) -> None:
    with bound_connection.transaction():
        bound_connection.execute(
            "SELECT set_config('app.tenant', 'acme', true), set_config('app.project', 'shop', true)"
        )
        assert bound_connection.execute("UPDATE goop.events SET text = 'taken'").rowcount == 1
        assert (
            bound_connection.execute("DELETE FROM goop.events WHERE tenant = 'rival'").rowcount == 0
        )

        for moved in (
            "UPDATE goop.events SET tenant = 'rival'",
            "INSERT INTO goop.meta VALUES ('rival', 'new')",
        ):
            with (
                pytest.raises(psycopg.errors.InsufficientPrivilege),
                bound_connection.transaction(),
            ):
                bound_connection.execute(moved)


@pytest.mark.usefixtures("superuser_made_it")
def test_words_of_others_are_found_by_nobody(open_store: OpenStore, database: Database) -> None:
    for tenant in ("acme", "rival"):
        store = open_store(tenant=tenant, user="postgres")
        store.write(methodcaller("add_memory", memory(content=f"{tenant} common")))

    with database.connect() as admin:
        for role in ("searcher", "stranger"):
            admin.execute(f"DROP ROLE IF EXISTS {role}")
            admin.execute(f"CREATE ROLE {role} LOGIN")
        admin.execute("GRANT goop_app TO searcher")
        admin.execute("GRANT USAGE ON SCHEMA goop TO stranger")

    # Everything is asked for, also the token of the other project.
    asked = f"'common' | 'rival' | '{project_token('rival', 'shop')}'"
    counted = "SELECT goop.count_memories(%s::tsquery, 50)"
    found = "SELECT tsv::text FROM goop.find_memories(%s::tsquery, ''::tsquery, 0, 0, 50)"
    with database.connect("searcher") as connection:
        connection.execute("SET ROLE goop_app")
        assert connection.execute(counted, (asked,)).fetchall() == [(0,)]
        assert connection.execute(found, (asked,)).fetchall() == []
        assert connection.execute("SELECT * FROM goop.memory_words").fetchall() == []

        with connection.transaction():
            connection.execute(
                "SELECT set_config('app.tenant', 'acme', true),"
                " set_config('app.project', 'shop', true)"
            )
            assert connection.execute(counted, (asked,)).fetchall() == [(1,)]
            [(words,)] = connection.execute(found, (asked,)).fetchall()
            assert "acm" in str(words)
            assert "rival" not in str(words)
            assert connection.execute("UPDATE goop.memory_words SET importance = 0").rowcount == 1
            with (
                pytest.raises(psycopg.errors.InsufficientPrivilege),
                connection.transaction(),
            ):
                connection.execute("UPDATE goop.memory_words SET tenant = 'rival'")

    with (
        database.connect("stranger") as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute(counted, (asked,))

    with database.connect() as admin:
        admin.execute("DROP OWNED BY stranger")
        admin.execute("DROP ROLE searcher, stranger")


def test_row_level_security_of_the_words_is_checked(
    open_store: OpenStore, database: Database
) -> None:
    store = open_store()
    store.write(_fill)
    assert store.check() == []
    with database.connect() as admin:
        admin.execute("ALTER TABLE goop.memory_words DISABLE ROW LEVEL SECURITY")

    [defect] = store.check()
    assert "row-level security is not enabled on goop.memory_words" in defect


def test_a_superuser_works_as_the_role_that_owns_nothing(open_store: OpenStore) -> None:
    store = open_store(user="postgres")
    store.write(lambda rows: rows.add_event(event()))
    open_store("other", user="postgres").write(lambda rows: rows.add_event(event()))
    assert store.read(_ask_without_filter) == [("goop_app", 1)]
    assert store.warnings == ()


_PRIVILEGES = """\
SELECT tablename, privilege FROM pg_tables, unnest(array['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS
    each (privilege)
WHERE schemaname = 'goop' AND has_table_privilege('goop_app', 'goop.' || tablename, privilege)
"""


@pytest.mark.usefixtures("superuser_made_it")
def test_the_grants_of_the_documentation_are_those_that_tables_are_made_with(
    database: Database,
) -> None:
    page = (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")
    (grants,) = (
        each for each in re.findall(r"```sql\n(.*?)```", page, re.S) if "ON ALL TABLES" in each
    )
    with database.connect() as admin:
        made = set(admin.execute(_PRIVILEGES).fetchall())
        admin.execute("REVOKE ALL ON ALL TABLES IN SCHEMA goop FROM goop_app")
        assert admin.execute(_PRIVILEGES).fetchall() == []
        admin.execute(grants)
        assert set(admin.execute(_PRIVILEGES).fetchall()) == made


def test_the_page_removes_a_tenant_from_every_table_and_nothing_of_others(
    open_store: OpenStore, database: Database
) -> None:
    for tenant in ("acme", "rival"):
        _fill_store(open_store(tenant=tenant))
    page = (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")
    (removal,) = (
        each for each in re.findall(r"```sql\n(.*?)```", page, re.S) if "DELETE FROM" in each
    )

    with database.connect() as admin:
        held = admin.execute(
            "SELECT table_name FROM information_schema.columns"
            " WHERE table_schema = 'goop' AND column_name = 'tenant'"
        ).fetchall()
        assert {name for (name,) in held} >= set(TABLES)
        admin.execute(removal)
        for (table,) in held:
            left = admin.execute(f"SELECT DISTINCT tenant FROM goop.{table}").fetchall()  # noqa: S608
            # Both had rows in those that are listed; the others may have none at all.
            assert left == [("rival",)] or (left == [] and table not in TABLES), table


@pytest.mark.usefixtures("superuser_made_it")
def test_a_user_that_owns_nothing_works_once_it_has_the_role(
    open_store: OpenStore, database: Database
) -> None:
    (role,) = (each.text for each in fences("docs/scaling.md", "sql") if "CREATE" in each.text)
    with database.connect() as admin:
        admin.execute(role)

    store = open_store("blog", user="replica")
    store.write(_fill)
    assert store.read(lambda rows: rows.revision()) == 1

    with (
        database.connect("replica") as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute("ALTER TABLE goop.events DISABLE ROW LEVEL SECURITY")


def test_a_user_whom_row_level_security_does_not_bind_is_warned(
    open_store: OpenStore, database: Database
) -> None:
    with database.connect() as admin:
        admin.execute("CREATE ROLE unbound LOGIN BYPASSRLS")
        admin.execute(f"GRANT CREATE ON DATABASE {database.name} TO unbound")

    store = open_store(user="unbound")
    store.write(_fill)
    [warning] = store.warnings
    assert "bypasses row-level security" in warning


def test_a_user_that_may_make_roles_is_given_the_one_that_owns_nothing(
    open_store: OpenStore, database: Database
) -> None:
    with database.connect() as admin:
        admin.execute("CREATE ROLE maker LOGIN CREATEROLE")
        admin.execute(f"GRANT CREATE ON DATABASE {database.name} TO maker")
        admin.execute("ALTER ROLE goop_app RENAME TO goop_app_before")

    try:
        store = open_store(user="maker")
        store.write(_fill)
        assert store.read(_ask_without_filter) == [("goop_app", 1)]
    finally:
        with database.connect() as admin:
            admin.execute("DROP OWNED BY goop_app")
            admin.execute("DROP ROLE goop_app")
            admin.execute("ALTER ROLE goop_app_before RENAME TO goop_app")
