"""Reports, events and what we know of files; the same on every engine."""

from dataclasses import asdict, replace

import pytest

from goop_mcp.errors import StoreError
from goop_mcp.store.interface import Store, WriteTransaction
from goop_mcp.store.records import Event, Projection, StoredAttempt, StoredReport
from tests.store.conftest import OpenStore
from tests.store.rows import ATTEMPT, EVENT, REPORT, add_named, new_memory


def test_a_report_is_read_back_in_every_field(store: Store, open_again: OpenStore) -> None:
    stored = store.write(lambda writing: writing.add_report(REPORT))
    assert stored == StoredReport(id=1, revision=1, **asdict(REPORT))
    assert open_again().read(lambda reading: reading.report_by_key("report-1")) == stored
    assert store.read(lambda reading: reading.report_by_key("report-2")) is None


def test_reports_are_listed_newest_first(store: Store) -> None:
    def record(writing: WriteTransaction) -> None:
        for number, task in enumerate(("W1.T1", "W1.T2", None, "W1.T1")):
            writing.add_report(replace(REPORT, idempotency_key=f"k{number}", task_id=task))

    store.write(record)
    everything = store.read(lambda reading: [report.id for report in reading.reports()])
    newest = store.read(lambda reading: [report.id for report in reading.reports(limit=1)])
    assert (everything, newest) == ([4, 3, 2, 1], [4])
    store.write(lambda writing: writing.add_report(REPORT))
    assert store.read(
        lambda reading: [report.id for report in reading.reports(after_revision=1)]
    ) == [5]
    assert store.read(lambda reading: reading.report_count()) == 5


def test_the_last_reports_are_those_of_each_task_agent_and_phase(store: Store) -> None:
    keys = [
        ("W1.T1", "goop-executor", "execute"),
        ("W1.T1", "goop-verifier", "execute"),
        ("W1.T1", "goop-executor", "execute"),
        (None, "goop-planner", "plan"),
        (None, "goop-planner", "plan"),
        (None, "goop-planner", None),
        (None, None, None),
        (None, None, None),
    ]

    def record(writing: WriteTransaction) -> None:
        for number, (task, agent, phase) in enumerate(keys):
            row = replace(
                REPORT, idempotency_key=f"k{number}", task_id=task, agent=agent, phase=phase
            )
            writing.add_report(row)

    assert store.read(lambda reading: (reading.last_reports(round=1), reading.report_count())) == (
        [],
        0,
    )
    store.write(record)
    assert store.read(lambda reading: [report.id for report in reading.last_reports(round=1)]) == [
        8,
        6,
        5,
        3,
        2,
    ]


def test_the_newest_event_of_a_document_is_known_by_its_revision(store: Store) -> None:
    def newest(document: str) -> int:
        return store.read(lambda reading: reading.document_revision(document))

    def add(document: str | None) -> None:
        store.write(lambda writing: writing.add_event(replace(EVENT, document=document)))

    assert newest("CHRONICLE.md") == 0
    for document in ("CHRONICLE.md", "ADL.md", "CHRONICLE.md", None):
        add(document)

    assert [newest(name) for name in ("CHRONICLE.md", "ADL.md", "HANDOFF.md")] == [3, 2, 0]


def test_a_second_report_under_the_same_key_is_refused(store: Store) -> None:
    store.write(lambda writing: writing.add_report(REPORT))
    with pytest.raises(StoreError):
        store.write(lambda writing: writing.add_report(REPORT))
    assert store.read(lambda reading: len(reading.reports())) == 1


def test_events_are_listed_in_the_order_in_which_they_happened(
    store: Store, open_again: OpenStore
) -> None:
    first = store.write(lambda writing: writing.add_event(EVENT))
    # The clock goes back; the order does not.
    earlier = replace(EVENT, created_at="2025-01-01T00:00:00Z", document="ADL.md")
    second = store.write(lambda writing: writing.add_event(earlier))
    third = store.write(lambda writing: writing.add_event(replace(EVENT, document=None)))
    assert first == Event(id=1, revision=1, **asdict(EVENT))
    other = open_again()
    assert other.read(lambda reading: reading.events()) == [first, second, third]
    assert other.read(lambda reading: reading.events(after_revision=1)) == [second, third]
    assert other.read(lambda reading: reading.events(document="ADL.md")) == [second]
    assert other.read(lambda reading: reading.events(limit=2)) == [first, second]


def test_what_is_known_of_a_file_is_replaced_and_listed_by_path(store: Store) -> None:
    handoff = Projection(path="HANDOFF.md", revision=1, pending_sha256="b" * 64)
    store.write(lambda writing: writing.set_projection(handoff))
    store.write(
        lambda writing: writing.set_projection(
            Projection(path="ADL.md", revision=2, sha256="c" * 64)
        )
    )
    assert store.read(lambda reading: [known.path for known in reading.projections()]) == [
        "ADL.md",
        "HANDOFF.md",
    ]
    written = replace(handoff, revision=3, sha256="b" * 64, pending_sha256=None)
    store.write(lambda writing: writing.set_projection(written))
    assert store.read(lambda reading: reading.projections())[1] == written


def test_attempts_are_read_back_in_every_field_oldest_first(
    store: Store, open_again: OpenStore
) -> None:
    bare = replace(
        ATTEMPT,
        number=2,
        agent=None,
        session_id=None,
        protocol=None,
        rules=(),
        tokens=None,
        reply=None,
    )
    stored = store.write(lambda writing: writing.add_attempts([ATTEMPT, bare]))
    assert stored == [
        StoredAttempt(id=id, **asdict(each)) for id, each in ((1, ATTEMPT), (2, bare))
    ]
    assert open_again().read(lambda reading: reading.attempts()) == stored
    assert store.read(lambda reading: reading.attempts(limit=1)) == stored[:1]


def test_attempts_are_listed_from_a_time_on(store: Store) -> None:
    times = ("2026-01-15T10:30:00.000Z", "2026-01-15T10:30:00.001Z", "2026-02-01T00:00:00.000Z")
    rows = [replace(ATTEMPT, number=number, created_at=time) for number, time in enumerate(times)]
    store.write(lambda writing: writing.add_attempts(rows))
    since = store.read(lambda reading: reading.attempts(since=times[1]))
    assert [attempt.number for attempt in since] == [1, 2]


def test_recorded_attempts_leave_the_revision_and_the_ids_of_others_alone(store: Store) -> None:
    store.write(lambda writing: writing.add_attempts([ATTEMPT]))
    assert store.read(lambda reading: reading.revision()) == 0
    assert store.write(lambda writing: writing.add_event(EVENT)).id == 1
    assert store.check() == []


def test_an_attempt_is_recorded_once_and_a_change_whole_or_not_at_all(store: Store) -> None:
    store.write(lambda writing: writing.add_attempts([ATTEMPT]))
    with pytest.raises(StoreError):
        store.write(lambda writing: writing.add_attempts([replace(ATTEMPT, number=2), ATTEMPT]))
    assert [attempt.number for attempt in store.read(lambda reading: reading.attempts())] == [1]


@pytest.mark.parametrize("text", ["\0", "\udc80"])
def test_text_that_no_engine_keeps_is_refused(store: Store, text: str) -> None:
    with pytest.raises(StoreError, match=r"^text "):
        store.write(lambda writing: writing.add_event(replace(EVENT, text=text)))

    with pytest.raises(StoreError, match=r"^envelope "):
        store.write(lambda writing: writing.add_report(replace(REPORT, envelope=text)))

    with pytest.raises(StoreError, match=r"^reply "):
        store.write(lambda writing: writing.add_attempts([replace(ATTEMPT, reply=text)]))

    assert store.read(lambda reading: reading.revision()) == 0


def test_all_of_one_change_has_one_revision_and_the_next_change_the_next(store: Store) -> None:
    def change(writing: WriteTransaction) -> list[int]:
        revisions = [writing.next_revision(), writing.add_memory(new_memory("a")).revision]
        revisions += [
            writing.add_event(EVENT).revision,
            writing.add_report(REPORT).revision,
            writing.next_revision(),
        ]
        return [*revisions, writing.revision()]

    assert store.write(change) == [1] * 6
    add_named(store, "b")
    assert store.read(lambda reading: reading.revision()) == 2
