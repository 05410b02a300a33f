"""Saved positions are read in whatever form they have."""

import os
from datetime import UTC, datetime
from pathlib import Path

from goop_mcp.workspace.checkpoints import MOST_BYTES, MOST_READ, Checkpoint, read_checkpoints
from goop_mcp.workspace.files import ProjectFiles
from tests.workspace.projects import CASES

FOLDER = ".goopspec/checkpoints"


def save(root: Path, name: str, text: str, *, changed: int = 0) -> Path:
    path = root / FOLDER / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    os.utime(path, (changed, changed))
    return path


def test_the_times_in_the_checkpoints_decide_the_newest_and_a_torn_one_is_named() -> None:
    checkpoints = read_checkpoints(ProjectFiles(CASES / "checkpoints"))

    assert checkpoints.found == (
        Checkpoint(
            id="cp-2",
            path=f"{FOLDER}/cp-2.json",
            saved_at=datetime(2026, 1, 18, 16, tzinfo=UTC),
            phase="execute",
        ),
        Checkpoint(
            id="in-milliseconds",
            path=f"{FOLDER}/in-milliseconds.json",
            saved_at=datetime(2026, 1, 17, 9, tzinfo=UTC),
        ),
        Checkpoint(
            id="cp-1",
            path=f"{FOLDER}/cp-1.json",
            saved_at=datetime(2026, 1, 16, 9, tzinfo=UTC),
            phase="plan",
        ),
    )
    assert checkpoints.newest == checkpoints.found[0]
    (error,) = checkpoints.errors
    assert error.startswith(f"{FOLDER}/torn.json cannot be read at line 1, column ")


def test_a_checkpoint_without_a_usable_time_was_saved_when_its_file_was_changed(
    tmp_path: Path,
) -> None:
    save(
        tmp_path, "a.json", '{"timestamp": "yesterday", "time": 1e300, "phase": 7}', changed=86_400
    )

    (checkpoint,) = read_checkpoints(ProjectFiles(tmp_path)).found

    assert checkpoint == Checkpoint(
        id="a", path=f"{FOLDER}/a.json", saved_at=datetime(1970, 1, 2, tzinfo=UTC)
    )


def test_a_project_without_checkpoints_has_none(tmp_path: Path) -> None:
    checkpoints = read_checkpoints(ProjectFiles(tmp_path))

    assert (checkpoints.newest, checkpoints.errors, checkpoints.unopened) == (None, (), 0)
    assert list(tmp_path.iterdir()) == []


def test_only_the_files_changed_last_are_opened(tmp_path: Path) -> None:
    for number in range(MOST_READ + 3):
        save(tmp_path, f"cp-{number}.json", "{}", changed=number)

    checkpoints = read_checkpoints(ProjectFiles(tmp_path))

    assert [each.id for each in checkpoints.found] == [
        f"cp-{number}" for number in range(MOST_READ + 2, 2, -1)
    ]
    assert checkpoints.unopened == 3


def test_what_is_too_large_no_file_or_leads_out_is_named(tmp_path: Path) -> None:
    root = tmp_path / "project"
    save(root, "large.json", " " * (MOST_BYTES + 1))
    (root / FOLDER / "folder.json").mkdir()
    outside = tmp_path / "secret.json"
    outside.write_text('{"phase": "secret"}', encoding="utf-8")
    (root / FOLDER / "out.json").symlink_to(outside)

    checkpoints = read_checkpoints(ProjectFiles(root))

    assert checkpoints.found == ()
    assert sorted(checkpoints.errors) == [
        f"{FOLDER}/folder.json is not a file; expected a saved position",
        f"{FOLDER}/large.json has 1,048,577 bytes; expected at most 1,048,576",
        f"path '{FOLDER}/out.json' leads out of the project through a link; remove the link",
    ]


def test_a_folder_of_checkpoints_that_leads_out_is_named(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    save(tmp_path / "outside", "a.json", "{}")
    root = tmp_path / "project"
    (root / ".goopspec").mkdir(parents=True)
    (root / FOLDER).symlink_to(tmp_path / "outside" / FOLDER)

    checkpoints = read_checkpoints(ProjectFiles(root))

    assert (checkpoints.found, len(checkpoints.errors)) == ((), 1)
