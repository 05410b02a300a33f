"""Rounds, the reports that belong to them, and what a project keeps for each."""

from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from goop_mcp.errors import StoreError
from goop_mcp.store.interface import ReadTransaction, Store, WriteTransaction
from goop_mcp.store.records import (
    MOST_BYTES_OF_KEPT_REPLIES,
    MOST_KEPT_REPLIES,
    Confirmation,
    ConfirmationAnswer,
    KeptDocument,
    NewConfirmation,
    NewKeptDocument,
    NewKeptReply,
    NewReport,
    Round,
    StoredReport,
)
from goop_mcp.validation.safe_json import JsonValue
from tests.store.conftest import OpenStore
from tests.store.rows import EVENT, NOW, REPLY, REPORT, REQUEST, SPEC

LATER = "2026-01-16T10:30:00Z"


def close(writing: WriteTransaction) -> Round:
    return writing.close_round(outcome="accept", closed_at=NOW, plan_sha256="c" * 64)


def begin_next(writing: WriteTransaction) -> Round:
    """Close the present round and open the next one."""
    close(writing)
    return writing.open_round(name="Second", opened_at=LATER)


def named(name: str, *, round: int = 1, task: str = "W1.T1") -> NewReport:
    return replace(REPORT, idempotency_key=name, round=round, task_id=task)


def record(store: Store, *reports: NewReport) -> list[int]:
    """Record each report in a change of its own, and return their ids."""
    return [store.write(partial(add_report, new)).id for new in reports]


def add_report(new: NewReport, writing: WriteTransaction) -> StoredReport:
    return writing.add_report(new)


def keep(new: NewKeptDocument, writing: WriteTransaction) -> KeptDocument:
    return writing.keep_document(new)


def count(value: JsonValue, writing: WriteTransaction) -> None:
    writing.set_counters(round=1, task="", values={"value": value})


def ids(reports: list[StoredReport]) -> list[int]:
    return [report.id for report in reports]


def test_a_project_begins_in_round_1_without_a_row(store: Store, open_again: OpenStore) -> None:
    first = Round(number=1, name=None, opened_at=None, first_revision=0)
    assert first.is_open
    assert store.read(lambda reading: (reading.round(), reading.rounds())) == (first, [first])
    record(store, REPORT)
    assert open_again().read(lambda reading: reading.rounds(limit=5)) == [first]
    assert store.read(lambda reading: reading.reports()[0].round) == 1


def test_a_round_is_closed_reopened_and_followed_by_the_next(
    store: Store, open_again: OpenStore
) -> None:
    closed = store.write(close)
    assert closed == Round(
        number=1,
        closed_at=NOW,
        closed_revision=1,
        outcome="accept",
        plan_sha256="c" * 64,
    )
    assert not closed.is_open
    assert open_again().read(lambda reading: reading.round()) == closed

    assert store.write(lambda writing: writing.reopen_round()) == Round()
    assert store.read(lambda reading: reading.rounds()) == [Round()]

    second = store.write(begin_next)
    assert second == Round(number=2, name="Second", opened_at=LATER, first_revision=3)
    first = replace(closed, closed_revision=3)
    assert open_again().read(lambda reading: reading.rounds()) == [second, first]
    assert store.read(lambda reading: reading.rounds(limit=1)) == [second]
    assert store.check() == []


def test_a_round_is_opened_and_closed_only_in_its_turn(store: Store) -> None:
    with pytest.raises(StoreError, match="round 1 is open"):
        store.write(lambda writing: writing.open_round(name=None, opened_at=NOW))

    with pytest.raises(StoreError, match="round 1 is open"):
        store.write(lambda writing: writing.reopen_round())

    store.write(close)
    with pytest.raises(StoreError, match="round 1 is closed already, as accept"):
        store.write(close)

    assert store.read(lambda reading: (reading.round().number, reading.revision())) == (1, 1)


def test_reports_are_listed_by_round_and_continued_from_an_id(store: Store) -> None:
    record(store, *(named(f"k{number}", round=1 + number // 3) for number in range(9)))

    def listed(
        *,
        round: int | None = None,
        before: int | None = None,
        limit: int | None = None,
        after: int = 0,
    ) -> list[int]:
        return ids(
            store.read(
                lambda reading: reading.reports(
                    after_revision=after, round=round, before_id=before, limit=limit
                )
            )
        )

    assert listed() == [9, 8, 7, 6, 5, 4, 3, 2, 1]
    assert listed(round=2) == [6, 5, 4]
    assert listed(round=2, limit=2) == [6, 5]
    assert listed(round=2, before=5) == [4]
    assert listed(before=8, limit=3) == [7, 6, 5]
    assert listed(before=1000, limit=1) == [9]
    assert listed(before=1) == listed(round=4) == []
    assert listed(round=2, after=4) == [6, 5]
    assert store.read(
        lambda reading: [reading.report_count(round=round) for round in (None, 2, 4)]
    ) == [9, 3, 0]


def test_several_reports_of_one_change_are_continued_from_an_id(store: Store) -> None:
    def change(writing: WriteTransaction) -> None:
        for number in range(4):
            writing.add_report(named(f"k{number}"))

    store.write(change)
    assert ids(store.read(lambda reading: reading.reports(before_id=3))) == [2, 1]


def test_a_retired_report_does_not_count_and_can_be_recorded_again(
    store: Store, open_again: OpenStore
) -> None:
    record(store, named("a"), named("b"), named("c", task="W1.T2"))
    assert store.write(lambda writing: writing.retire_reports([2, 3, 77], reason="replanned")) == 2

    other = open_again()
    assert ids(other.read(lambda reading: reading.reports())) == [1]
    assert ids(other.read(lambda reading: reading.reports(include_retired=True))) == [3, 2, 1]
    assert ids(
        other.read(lambda reading: reading.reports(round=1, include_retired=True, limit=2))
    ) == [3, 2]
    assert ids(other.read(lambda reading: reading.last_reports(round=1))) == [1]
    assert other.read(lambda reading: (reading.report_count(), reading.report_count(round=1))) == (
        1,
        1,
    )

    gone = other.read(lambda reading: reading.report(2))
    assert gone is not None
    assert (gone.retired, gone.idempotency_key, gone.envelope) == (
        "replanned",
        "b:2",
        REPORT.envelope,
    )
    assert other.read(lambda reading: (reading.report(1), reading.report(99))) == (
        other.read(lambda reading: reading.reports()[0]),
        None,
    )
    assert other.read(lambda reading: reading.report_by_key("b")) is None
    assert record(store, named("b")) == [4]


def test_a_report_is_retired_once(store: Store) -> None:
    record(store, named("a"))
    assert store.write(lambda writing: writing.retire_reports([1], reason="withdrawn")) == 1
    assert store.write(lambda writing: writing.retire_reports([1], reason="rejected")) == 0
    assert store.write(lambda writing: writing.retire_reports([], reason="rejected")) == 0
    assert store.read(lambda reading: reading.reports(include_retired=True))[0].retired == (
        "withdrawn"
    )
    assert store.read(lambda reading: (reading.revision(), reading.reports_changed_at())) == (2, 2)


def test_the_last_reports_are_those_of_one_round(store: Store) -> None:
    record(
        store,
        named("a"),
        named("b", task="W1.T2"),
        named("c", round=2),
        named("d", round=2),
        named("e", round=2, task="W1.T2"),
    )

    def last(round: int) -> list[int]:
        return ids(store.read(lambda reading: reading.last_reports(round=round)))

    assert (last(1), last(2), last(3)) == ([2, 1], [5, 4], [])
    store.write(lambda writing: writing.retire_reports([4], reason="withdrawn"))
    assert last(2) == [5, 3]


def test_it_is_known_when_reports_changed_other_than_by_a_new_one(store: Store) -> None:
    def changed_at() -> int:
        return store.read(lambda reading: reading.reports_changed_at())

    assert changed_at() == 0
    record(store, named("a"), named("b"))
    assert changed_at() == 0
    store.write(lambda writing: writing.retire_reports([1], reason="withdrawn"))
    assert changed_at() == 3
    store.write(lambda writing: writing.add_event(EVENT))
    assert changed_at() == 3

    for number, change in enumerate((close, lambda writing: writing.reopen_round(), begin_next)):
        store.write(change)
        assert changed_at() == 5 + number

    def inside(writing: WriteTransaction) -> tuple[int, int]:
        writing.retire_reports([2], reason="rejected")
        return writing.reports_changed_at(), writing.next_revision()

    assert store.write(inside) == (8, 8)


def test_a_request_for_a_confirmation_is_read_back_and_answered_once(
    store: Store, open_again: OpenStore
) -> None:
    asked = store.write(lambda writing: writing.add_confirmation(REQUEST))
    assert asked == Confirmation(id=1, revision=1, status="open", **asdict(REQUEST))
    other = open_again()
    assert other.read(lambda reading: reading.confirmation(1)) == asked
    assert other.read(lambda reading: reading.open_confirmations()) == [asked]
    assert store.read(lambda reading: reading.confirmation(2)) is None

    def answer(status: ConfirmationAnswer, id: int = 1) -> Confirmation:
        return store.write(
            lambda writing: writing.answer_confirmation(
                id, status=status, via="terminal anna", comment="Fine.", answered_at=LATER
            )
        )

    answered = replace(
        asked, status="confirmed", via="terminal anna", comment="Fine.", answered_at=LATER
    )
    assert answer("confirmed") == answered
    assert other.read(lambda reading: reading.confirmation(1)) == answered
    assert other.read(lambda reading: reading.open_confirmations()) == []

    with pytest.raises(StoreError, match="request 1 for a confirmation was answered before"):
        answer("refused")

    with pytest.raises(StoreError, match="there is no request 9"):
        answer("confirmed", 9)

    assert other.read(lambda reading: reading.confirmation(1)) == answered
    assert store.read(lambda reading: reading.revision()) == 2
    assert store.check() == []


def test_at_most_one_request_is_open_for_each_action_and_subject(store: Store) -> None:
    def ask(new: NewConfirmation) -> Confirmation:
        return store.write(lambda writing: writing.add_confirmation(new))

    first = ask(REQUEST)
    # The same question again is the same request, whoever asks.
    assert ask(replace(REQUEST, asked_by="somebody else", asked_at=LATER)) == first
    assert store.read(lambda reading: reading.revision()) == 1

    # What is to be confirmed has changed: the earlier request is outdated.
    changed = replace(REQUEST, subject="d" * 64, asked_at=LATER)
    second = ask(changed)
    outdated = store.read(lambda reading: reading.confirmation(1))
    assert outdated == replace(first, status="outdated", answered_at=LATER)
    third = ask(replace(changed, arguments="{}"))
    others = [
        ask(new)
        for new in (
            replace(REQUEST, subject_key="blocker 1"),
            replace(REQUEST, action="accept"),
            replace(REQUEST, round=2),
        )
    ]
    assert [each.id for each in (second, third, *others)] == [2, 3, 4, 5, 6]
    assert store.read(lambda reading: reading.open_confirmations()) == [third, *others]


def test_the_oldest_fifty_open_requests_are_listed(store: Store) -> None:
    def ask_many(writing: WriteTransaction) -> None:
        for number in range(60):
            writing.add_confirmation(replace(REQUEST, subject_key=str(number)))

    store.write(ask_many)
    listed = store.read(lambda reading: reading.open_confirmations())
    assert [each.id for each in listed] == list(range(1, 51))


def test_the_clock_of_the_database_gives_utc_with_milliseconds(store: Store) -> None:
    before = datetime.now(UTC) - timedelta(seconds=1)
    times = [store.read(lambda reading: reading.now())]
    store.write(lambda writing: writing.add_event(EVENT))
    times += [
        store.read(lambda reading: reading.now()),
        store.write(lambda writing: writing.now()),
    ]
    after = datetime.now(UTC) + timedelta(seconds=1)
    assert [len(time) for time in times] == [len("2026-01-15T10:30:00.000Z")] * 3
    assert all(before < datetime.fromisoformat(time) < after for time in times)
    assert times == sorted(times)


def test_the_state_is_kept_as_text_with_a_revision_for_each_change(
    store: Store, open_again: OpenStore
) -> None:
    assert store.read(lambda reading: reading.stored_state()) is None
    store.write(lambda writing: writing.set_stored_state('{"version": 1}\n'))

    def change(writing: WriteTransaction) -> str | None:
        writing.set_stored_state('{"version": 1, "name": "Größe"}')
        return writing.stored_state()

    assert store.write(change) == '{"version": 1, "name": "Größe"}'
    assert open_again().read(lambda reading: (reading.stored_state(), reading.revision())) == (
        '{"version": 1, "name": "Größe"}',
        2,
    )


def test_documents_are_kept_by_step_and_round_and_the_newest_is_found(
    store: Store, open_again: OpenStore
) -> None:
    kept = store.write(lambda writing: writing.keep_document(SPEC))
    assert kept == KeptDocument(id=1, revision=1, **asdict(SPEC))
    for changed in (
        replace(SPEC, text="amended", step="amend"),
        replace(SPEC, text="plan", name="BLUEPRINT.md", step="execute"),
        replace(SPEC, text="second", round=2),
        replace(SPEC, text="requirements", name="REQUIREMENTS.md", step="interview"),
    ):
        store.write(partial(keep, changed))

    def texts(reading: ReadTransaction) -> list[str | None]:
        found = (
            reading.kept_document("SPEC.md"),
            reading.kept_document("SPEC.md", round=1),
            reading.kept_document("SPEC.md", step="lock", round=1),
            reading.kept_document("SPEC.md", step="execute"),
            reading.kept_document("BLUEPRINT.md"),
            reading.kept_document("ADL.md"),
        )
        return [None if each is None else each.text for each in found]

    assert open_again().read(texts) == ["second", "amended", "# Größe", None, "plan", None]
    assert store.check() == []


def test_counters_are_kept_for_each_task_of_a_round(store: Store, open_again: OpenStore) -> None:
    def counted(round: int, task: str) -> object:
        return open_again().read(lambda reading: reading.counters(round=round, task=task))

    assert counted(1, "W1.T1") == {}
    values: dict[str, JsonValue] = {"partials": 2, "findings": ["größe"], "last": None}

    def change(writing: WriteTransaction) -> None:
        writing.set_counters(round=1, task="W1.T1", values={"partials": 1})
        writing.set_counters(round=1, task="W1.T1", values=values)
        writing.set_counters(round=1, task="", values={"iterations": 3})
        writing.set_counters(round=2, task="W1.T1", values={"partials": 9})

    store.write(change)
    assert (counted(1, "W1.T1"), counted(1, ""), counted(2, "W1.T1"), counted(2, "")) == (
        values,
        {"iterations": 3},
        {"partials": 9},
        {},
    )
    assert store.read(lambda reading: reading.revision()) == 0


def test_counters_are_bounded(store: Store) -> None:
    for value in ("x" * 70_000, float("nan")):
        with pytest.raises(StoreError, match=r"^counters of a task"):
            store.write(partial(count, value))

    assert store.read(lambda reading: reading.counters(round=1, task="")) == {}


@pytest.mark.parametrize("text", ["\0", "\udc80"])
def test_text_that_no_engine_keeps_is_refused(store: Store, text: str) -> None:
    asked = store.write(lambda writing: writing.add_confirmation(REQUEST))
    changes = (
        lambda writing: writing.add_confirmation(replace(REQUEST, summary=text)),
        lambda writing: writing.answer_confirmation(
            asked.id, status="refused", via=None, comment=text, answered_at=NOW
        ),
        lambda writing: writing.keep_document(replace(SPEC, text=text)),
        lambda writing: writing.keep_reply(replace(REPLY, text=text)),
        lambda writing: writing.set_stored_state(text),
        lambda writing: writing.set_counters(round=1, task=text, values={}),
        lambda writing: writing.close_round(outcome="accept", closed_at=text, plan_sha256=None),
    )
    for change in changes:
        with pytest.raises(StoreError, match=r"holds (the character NUL|half of a character)"):
            store.write(change)

    assert store.read(lambda reading: reading.revision()) == 1


def test_a_change_that_fails_leaves_nothing_of_a_round(store: Store) -> None:
    record(store, REPORT)

    def change(writing: WriteTransaction) -> None:
        begin_next(writing)
        writing.retire_reports([1], reason="rejected")
        writing.add_confirmation(REQUEST)
        writing.keep_document(SPEC)
        writing.set_stored_state("{}")
        writing.keep_reply(REPLY)
        writing.set_counters(round=1, task="", values={"a": 1})
        raise RuntimeError

    with pytest.raises(RuntimeError):
        store.write(change)

    assert store.read(
        lambda reading: (
            reading.rounds(),
            ids(reading.reports()),
            reading.open_confirmations(),
            reading.kept_document("SPEC.md"),
            reading.stored_state(),
            reading.agents_with_kept_replies(),
            reading.counters(round=1, task=""),
            reading.reports_changed_at(),
            reading.revision(),
        )
    ) == ([Round()], [1], [], None, None, [], {}, 0, 1)


def test_a_reopened_round_removes_an_empty_one_after_it(store: Store) -> None:
    store.write(begin_next)
    assert store.write(lambda writing: writing.reopen_round()) == Round()
    assert store.read(lambda reading: reading.rounds()) == [Round()]

    store.write(begin_next)
    record(store, named("second", round=2))
    with pytest.raises(StoreError, match="round 2 has reports"):
        store.write(lambda writing: writing.reopen_round())
    assert store.read(lambda reading: reading.round().number) == 2


def test_what_people_confirmed_in_a_round_is_listed(store: Store) -> None:
    def answer(new: NewConfirmation, status: ConfirmationAnswer, writing: WriteTransaction) -> int:
        asked = writing.add_confirmation(new)
        writing.answer_confirmation(
            asked.id, status=status, via="terminal anna", comment=None, answered_at=LATER
        )
        return asked.id

    first = store.write(partial(answer, REQUEST, "confirmed"))
    store.write(partial(answer, REQUEST, "refused"))
    other = store.write(partial(answer, replace(REQUEST, round=2), "confirmed"))
    again = store.write(partial(answer, REQUEST, "confirmed"))
    store.write(lambda writing: writing.add_confirmation(REQUEST))

    listed = store.read(lambda reading: [reading.confirmations(round=each) for each in (1, 2, 3)])
    assert [[each.id for each in found] for found in listed] == [[first, again], [other], []]


def test_the_documents_of_a_step_are_listed_as_kept_last(store: Store) -> None:
    for name, text, step_round in (
        ("SPEC.md", "old", 1),
        ("SPEC.md", "new", 1),
        ("BLUEPRINT.md", "plan", 1),
        ("SPEC.md", "next", 2),
    ):
        store.write(
            partial(keep, replace(SPEC, name=name, text=text, step="left", round=step_round))
        )
    store.write(partial(keep, replace(SPEC, text="locked", step="lock")))

    kept = store.read(lambda reading: reading.kept_documents(step="left", round=1))
    assert [(each.name, each.text) for each in kept] == [
        ("BLUEPRINT.md", "plan"),
        ("SPEC.md", "new"),
    ]
    assert store.read(lambda reading: reading.kept_documents(step="left", round=3)) == []


def test_of_many_documents_of_a_step_only_the_last_names_are_read(store: Store) -> None:
    def keep_many(writing: WriteTransaction) -> None:
        for number in range(105):
            writing.keep_document(replace(SPEC, name=f"cp-{number:03}", step="checkpoint"))

    store.write(keep_many)
    kept = store.read(lambda reading: reading.kept_documents(step="checkpoint", round=1))
    assert [each.name for each in kept] == [f"cp-{number:03}" for number in range(5, 105)]


def keep_replies(*replies: NewKeptReply) -> Callable[[WriteTransaction], None]:
    def change(writing: WriteTransaction) -> None:
        for reply in replies:
            writing.keep_reply(reply)

    return change


def kept(store: Store, agent: str) -> str | None:
    found = store.read(lambda reading: reading.kept_reply(agent))
    return None if found is None else found.text


def test_the_last_reply_of_each_agent_is_kept_until_its_round_is_closed(
    store: Store, open_again: OpenStore
) -> None:
    other = replace(REPLY, agent_key="session-1 agent-2", text="Of another run.")
    planner = replace(REPLY, agent="goop-planner", text="A plan.")
    store.write(keep_replies(REPLY, planner, other, replace(REPLY, text="Corrected.")))

    again = open_again()
    assert (kept(again, "goop-executor"), kept(again, "goop-planner")) == ("Corrected.", "A plan.")
    assert kept(again, "goop-tester") is None
    assert again.read(lambda reading: (reading.agents_with_kept_replies(), reading.revision())) == (
        ["goop-executor", "goop-planner"],
        0,
    )
    found = again.read(lambda reading: reading.kept_reply("goop-planner"))
    assert found is not None
    assert asdict(found) == {**asdict(planner), "id": found.id}

    again.write(close)
    assert again.read(lambda reading: reading.agents_with_kept_replies()) == []
    assert again.write(lambda writing: writing.keep_reply(REPLY)).id > found.id
    assert again.check() == []


def test_kept_replies_are_bounded_in_number_and_bytes(store: Store) -> None:
    store.write(
        keep_replies(*(replace(REPLY, agent=f"goop-{n:03}", agent_key="") for n in range(70)))
    )
    agents = store.read(lambda reading: reading.agents_with_kept_replies())
    assert agents == [f"goop-{n:03}" for n in range(70 - MOST_KEPT_REPLIES, 70)]

    half = "ß" * (MOST_BYTES_OF_KEPT_REPLIES // 4)
    large = [replace(REPLY, agent=name, text=half) for name in ("first", "second", "third")]
    store.write(keep_replies(*large))
    assert store.read(lambda reading: reading.agents_with_kept_replies()) == ["second", "third"]

    with pytest.raises(StoreError, match="the most that is kept"):
        store.write(keep_replies(replace(REPLY, text=half * 2 + "x")))
    assert store.read(lambda reading: reading.agents_with_kept_replies()) == ["second", "third"]
