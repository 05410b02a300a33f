"""Events of a day are read in whatever form they have, and no file of them breaks anything."""

import json
from pathlib import Path

import pytest

from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.history import MOST_BYTES, MOST_EVENTS, History, HistoryEvent, read_history

FOLDER = ".goopspec/history"


def save(root: Path, day: str, text: str) -> None:
    path = root / FOLDER / f"{day}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    "text",
    [
        '[{"timestamp": "10:00", "message": "Began"}, {"time": "11:00", "type": "Ended"}]',
        (
            '\ufeff {"date": "x", "events": [{"at": "10:00", "title": "Began"}, {"time": "11:00",'
            ' "event": "Ended"}]}'
        ),
        (
            '[{"at": "10:00", "summary": "Began"}, 7, null, {}, {"time": "11:00", "action": "'
            ' Ended\\n"}]'
        ),
    ],
)
def test_a_list_of_events_or_an_object_with_one_is_read_newest_first(
    tmp_path: Path, text: str
) -> None:
    save(tmp_path, "2026-01-15", text)

    assert read_history(ProjectFiles(tmp_path)) == History(
        events=(
            HistoryEvent(day="2026-01-15", time="11:00", text="Ended"),
            HistoryEvent(day="2026-01-15", time="10:00", text="Began"),
        ),
        days=1,
    )


def test_newer_days_come_first_and_the_number_of_events_is_limited(tmp_path: Path) -> None:
    save(tmp_path, "2026-01-15", json.dumps([f"old {number}" for number in range(9)]))
    save(tmp_path, "2026-01-16", '["new"]')
    save(tmp_path, "notes", '["no day"]')

    history = read_history(ProjectFiles(tmp_path))

    assert [event.text for event in history.events] == ["new", "old 8", "old 7", "old 6", "old 5"]
    assert (len(history.events), history.days) == (MOST_EVENTS, 2)


def test_a_day_that_cannot_be_read_is_named_and_stops_no_other(tmp_path: Path) -> None:
    root = tmp_path / "project"
    save(root, "2026-01-11", '["sound"]')
    save(root, "2026-01-12", '[{"message": }]')
    save(root, "2026-01-13", '{"message": "no list"}')
    save(root, "2026-01-14", " " * (MOST_BYTES + 1))
    (root / FOLDER / "2026-01-15.json").write_bytes(b"\xff\xfe")
    (tmp_path / "secret.json").write_text('["secret"]', encoding="utf-8")
    (root / FOLDER / "2026-01-16.json").symlink_to(tmp_path / "secret.json")
    save(root, "2026-01-10", "[" * 5_000)

    history = read_history(ProjectFiles(root))

    assert [event.text for event in history.events] == ["sound"]
    assert history.errors == (
        f"path '{FOLDER}/2026-01-16.json' leads out of the project through a link; remove the link",
        f"{FOLDER}/2026-01-15.json is not UTF-8 text: byte 0xff in line 1; save it as UTF-8",
        f"{FOLDER}/2026-01-14.json has 1,048,577 bytes; expected at most 1,048,576",
        (
            f"{FOLDER}/2026-01-13.json holds no list of events; expected a list of objects, or an"
            " object with one"
        ),
        f"{FOLDER}/2026-01-12.json cannot be read at line 1, column 14: unexpected '}}'",
        f"{FOLDER}/2026-01-10.json cannot be read at line 1, column 1: it nests deeper than 64",
    )


def test_a_project_without_a_history_has_none_and_nothing_is_made(tmp_path: Path) -> None:
    assert read_history(ProjectFiles(tmp_path)) == History()
    assert list(tmp_path.iterdir()) == []
