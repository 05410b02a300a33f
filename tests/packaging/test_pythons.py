"""Interpreters are run before they count."""

import sys
from pathlib import Path

from tests.packaging.pythons import find_pythons, version_of

RUNNING = ".".join(str(part) for part in sys.version_info[:3])


def program(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def test_an_interpreter_says_its_version() -> None:
    assert version_of(Path(sys.executable)) == RUNNING


def test_a_name_that_starts_nothing_is_left_out(tmp_path: Path) -> None:
    assert version_of(program(tmp_path, "python3.13", "exit 127")) is None
    assert version_of(tmp_path / "python3.12") is None


def test_an_interpreter_that_is_too_old_is_left_out(tmp_path: Path) -> None:
    assert version_of(program(tmp_path, "python3.10", "echo 3.10.4 False")) is None


def test_the_oldest_comes_first_and_of_each_version_the_first_counts(tmp_path: Path) -> None:
    newer = program(tmp_path, "a", "echo 3.20.1 True")
    older = program(tmp_path, "b", "echo 3.9.10 True")
    again = program(tmp_path, "c", "echo 3.20.1 True")

    assert list(find_pythons([str(newer), str(older), str(again)]).items()) == [
        ("3.9.10", older),
        ("3.20.1", newer),
    ]
