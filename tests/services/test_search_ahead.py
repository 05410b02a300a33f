"""Nothing is searched for secrets while other writers wait, and what is stored shows none."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from contextvars import ContextVar
from pathlib import Path

import apsw
import pytest

from goop_mcp.memory.drafts import MemoryDraft
from goop_mcp.memory.saving import save_memory
from goop_mcp.redaction import redact, redacting
from goop_mcp.redaction.ahead import remembering, search_ahead
from goop_mcp.services.project_context import ProjectContext
from goop_mcp.services.project_snapshot import take_snapshot
from goop_mcp.services.project_step import ProjectStep
from goop_mcp.services.project_steps import take_step
from goop_mcp.services.recorded_reports import withdraw_report
from goop_mcp.store.interface import ReadTransaction, Store
from goop_mcp.store.opening import open_store
from goop_mcp.store.postgres.store import PostgresStore
from goop_mcp.store.sqlite.store import SqliteStore
from goop_mcp.workspace.files import ProjectFiles
from tests.postgres import Database
from tests.services.redaction_samples import ADDRESS, NEEDLES, PASSWORD, SECRETS
from tests.services.reporting import NOW, record, report, working_in
from tests.workspace.projects import copied

_transactions: ContextVar[bool] = ContextVar("within a transaction", default=False)


class Watched:
    """How often texts were searched outside transactions, and how often transactions ran."""

    def __init__(self) -> None:
        self.searches = self.runs = 0


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    """Count, and fail where a text is searched within a transaction that writes."""
    seen, search = Watched(), redacting._search

    def searched(text: str) -> redacting.Redacted:
        assert not _transactions.get(), f"searched within a transaction: {text[:60]!r}"
        seen.searches += 1
        return search(text)

    def within(change: Callable[[object], object]) -> Callable[[object], object]:
        def run(writing: object) -> object:
            seen.runs += 1
            token = _transactions.set(True)
            try:
                return change(writing)
            finally:
                _transactions.reset(token)

        return run

    def watch(store: type, name: str) -> None:
        inner = getattr(store, name)

        def watched_run(self: object, *given: object, **named: object) -> object:
            # `change` is the one function among the arguments.
            return inner(
                self, *(within(each) if callable(each) else each for each in given), **named
            )

        monkeypatch.setattr(store, name, watched_run)

    # Whether a name is one of secrets is asked once a name, and is not a search of a text.
    monkeypatch.setattr(redacting, "_search", searched)
    watch(SqliteStore, "_transaction")
    watch(PostgresStore, "_changed")
    return seen


@pytest.fixture(params=["sqlite", "postgresql"])
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ProjectContext]:
    """Yield a project with a plan, its database in its folder or on a server."""
    copied("profile_0x", tmp_path)
    if request.param == "sqlite":
        with working_in(tmp_path) as project_context:
            yield project_context
        return

    database: Database = request.getfixturevalue("database")
    with closing(open_store(database.url(), project=tmp_path, project_id="shop")) as store:
        yield ProjectContext(store=store, files=ProjectFiles(tmp_path), writes_files=False)


def all_rows(store: Store) -> str:
    """Return the reports, events, memories, counters and confirmations as one text."""

    def ask(reading: ReadTransaction) -> str:
        return repr(
            [
                reading.reports(include_retired=True),
                reading.events(limit=1_000),
                reading.confirmations(round=1),
                reading.open_confirmations(),
                [
                    reading.counters(round=1, task=task)
                    for task in ("", "W1.T1", "agent goop-executor")
                ],
            ]
        )

    return store.read(ask)


def test_no_transaction_of_a_project_searches_for_secrets(
    project: ProjectContext, watched: Watched
) -> None:
    secret = SECRETS[0]
    for number, text in enumerate(
        [
            report(task="W1.T1", summary=f"Uses {secret}."),
            report(task="W1.T2", status="PARTIAL", blockers=f"The key {secret} has expired"),
            report(task="W2.T1", status="BLOCKED", blockers=f"Which of {ADDRESS} and {secret}?"),
            report(task="W2.T1", new_session="true", summary=f"Connected to {ADDRESS}."),
        ]
    ):
        recorded = record(project, text, task_id=f"{secret}-{number}", session_id="s-1")
        assert recorded.status == "recorded"
    step = ProjectStep(action="decide", task="W1.T2", choice=f"use {secret}")
    take_step(project, step, by="ann", can_ask=False, now=NOW)
    take_step(
        project, ProjectStep(action="checkpoint", note=ADDRESS), by="ann", can_ask=False, now=NOW
    )
    withdraw_report(project, 1, reason=f"It shows {secret}.", by="ann", now=NOW)
    draft = MemoryDraft(type="note", title=f"Key {secret}", content=ADDRESS)
    save_memory(project.store, draft)

    assert watched.searches
    stored = all_rows(project.store)
    assert not [needle for needle in NEEDLES if needle in stored]


def test_a_plain_report_runs_one_transaction(project: ProjectContext, watched: Watched) -> None:
    for task in ("W1.T1", "W1.T2", "W2.T1"):
        before = watched.runs
        assert record(project, report(task=task)).status == "recorded"
        assert watched.runs == before + 1


def test_what_people_write_is_searched_before_it_is_stored(
    tmp_path: Path, watched: Watched
) -> None:
    with working_in(tmp_path) as project:
        record(project, report(summary="First."))
        chronicle = tmp_path / ".goopspec" / "CHRONICLE.md"
        chronicle.write_text(f"{chronicle.read_text()}\nWe use {ADDRESS}.\n\nAnd {SECRETS[1]}.\n")
        before = watched.runs
        record(project, report(summary="Second."))
        imported = project.store.read(lambda reading: reading.events(kinds=["imported"]))

    assert watched.runs == before + 2
    assert [PASSWORD in each.text for each in imported] == [False, False]
    assert "We use" in imported[0].text


@pytest.mark.parametrize("secret", SECRETS)
def test_rows_of_an_older_version_show_no_secret_that_it_did_not_know(
    tmp_path: Path, secret: str
) -> None:
    with working_in(tmp_path) as project:
        record(project, report(task="W1.T1", status="BLOCKED", blockers="Which key?"))
    with closing(apsw.Connection(str(tmp_path / ".goopspec" / "goop.db"))) as connection:
        [(envelope,)] = connection.execute("SELECT envelope FROM reports").fetchall()
        changed = json.loads(str(envelope))
        changed["handoff"]["blockers"] = f"Which key? {secret}"
        connection.execute("UPDATE reports SET envelope = ?", (json.dumps(changed),))

    with working_in(tmp_path) as project:
        assert any(needle in repr(take_snapshot(project).records) for needle in NEEDLES)
        recorded = record(project, report(task="W1.T2", new_session="true"))
        folder = tmp_path / ".goopspec"
        shown = [(folder / name).read_text() for name in ("CHRONICLE.md", "HANDOFF.md")]

    assert recorded.status == "recorded"
    assert "Which key?" in shown[0]
    for text in (*shown, json.dumps(recorded.to_dict())):
        assert not [needle for needle in NEEDLES if needle in text]


def test_a_change_runs_again_with_what_was_searched_outside() -> None:
    seen: list[list[str]] = []

    def change(texts: list[str]) -> list[str]:
        seen.append([redact(text).text for text in texts])
        return seen[-1]

    texts = ["a plain text of this test", f"a login: {ADDRESS}"]
    answer = search_ahead(change, lambda run: run(texts))

    assert seen[0] == ["[REDACTED]", "[REDACTED]"]
    assert answer == seen[1] == [redact(text).text for text in texts]
    # What holds no secret is known to the process now, what holds one is searched again.
    assert search_ahead(change, lambda run: run(texts[:1])) == texts[:1]
    assert len(seen) == 3
    with remembering():
        assert redact(texts[1]).count == 1


def test_an_error_about_an_unsearched_text_is_not_raised() -> None:
    def change(text: str) -> str:
        if redact(text).text != text:
            raise ValueError(text)
        return text

    assert (
        search_ahead(change, lambda run: run("nothing secret in here")) == "nothing secret in here"
    )
    with pytest.raises(ValueError, match="login"):
        search_ahead(change, lambda run: run(f"a login: {ADDRESS}"))


def test_a_text_that_is_another_each_time_does_not_run_for_ever() -> None:
    runs: list[int] = []

    def change(_: None) -> str:
        runs.append(1)
        return redact(f"{len(runs)}: {ADDRESS}").text

    assert PASSWORD not in search_ahead(change, lambda run: run(None))
    assert len(runs) < 20
