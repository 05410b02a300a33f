"""Commands use the settings of a project as they stand, and name what weakens."""

import json
import re
import shlex
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.running import REJECTED, Ended, run
from tests.workspace.true_projects import commit, git, write

NOTE = "goop-mcp: note: settings that weaken how reports are judged are in force: "
LAX = '[check]\nignore = ["goop_report"]\n'


@pytest.fixture
def home(tmp_path: Path) -> Mapping[str, str]:
    return {"HOME": str(tmp_path / "home"), "XDG_STATE_HOME": str(tmp_path / "state")}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a repository with a rejected reply and no settings."""
    shop = tmp_path / "shop"
    write(shop, "reply.xml", REJECTED.read_text())
    git(shop, "init", "--quiet")
    commit(shop, "begin")
    return shop


@pytest.mark.parametrize(
    ("command", "before", "after"),
    [
        (("check", "reply.xml"), 1, 0),
        (("check", "--format", "json", "reply.xml"), 1, 0),
        (("check", "reply.xml", "reply.xml"), 1, 0),
        (("route", "reply.xml"), 1, 0),
        (("reports", "record", "reply.xml"), 1, 1),
    ],
    ids=lambda each: "-".join(each) if isinstance(each, tuple) else str(each),
)
def test_a_command_names_what_weakens_once_and_uses_it(
    folder: Path, home: Mapping[str, str], command: tuple[str, ...], before: int, after: int
) -> None:
    first = run(*command, cwd=folder, env=home)
    assert first.code == before
    assert "weaken" not in first.err

    write(folder, "goop-mcp.toml", LAX)
    ended = run(*command, cwd=folder, env=home)
    assert ended.code == after
    assert (
        ended.err.count(
            f'{NOTE}check.ignore = ["goop_report"] (goop-mcp.toml, line 2; before: []). If they are'
            " right, commit them or run goop-mcp trust goop-mcp.toml.\n"
        )
        == 1
    )
    if "json" in command:
        assert json.loads(ended.out)


def test_nothing_is_named_once_it_is_committed_or_trusted(
    folder: Path, home: Mapping[str, str]
) -> None:
    write(folder, "goop-mcp.toml", LAX)
    [digest] = re.findall(r"[0-9a-f]{64}", run("trust", cwd=folder, env=home).err)
    assert run("trust", "--digest", digest, cwd=folder, env=home).code == 0
    assert run("check", "reply.xml", cwd=folder, env=home) == Ended(
        0, run("check", "reply.xml", cwd=folder, env=home).out, ""
    )
    assert run("trust", "--forget", cwd=folder, env=home).code == 0
    assert NOTE in run("check", "reply.xml", cwd=folder, env=home).err

    commit(folder, "settings")
    assert run("check", "reply.xml", cwd=folder, env=home).err == ""
    # What tightens is nothing to name, nor is another form of the same.
    write(folder, "goop-mcp.toml", f"# mine\n[hooks]\nmode = 'strict'\n{LAX}")
    assert run("check", "reply.xml", cwd=folder, env=home).err == ""


def test_a_change_is_named_compared_with_the_base_of_the_work(
    folder: Path, home: Mapping[str, str]
) -> None:
    base = git(folder, "rev-parse", "HEAD")
    write(folder, "goop-mcp.toml", LAX)
    commit(folder, "settings of a pull request")
    assert run("check", "reply.xml", cwd=folder, env=home).err == ""
    assert NOTE in run("check", "--base", base, "reply.xml", cwd=folder, env=home).err


def test_a_file_that_is_gone_is_named(folder: Path, home: Mapping[str, str]) -> None:
    write(folder, ".goopspec/hooks.json", '{"agents": ["*"]}')
    commit(folder, "settings")
    (folder / ".goopspec" / "hooks.json").unlink()
    ended = run("check", "reply.xml", cwd=folder, env=home)
    assert f'{NOTE}agents is not set any more (before: ["*"])' in ended.err


def test_doctor_names_it(folder: Path, home: Mapping[str, str]) -> None:
    write(folder, "goop-mcp.toml", LAX)
    found = run("doctor", cwd=folder, env=home).out
    assert "settings that weaken how reports are judged: check.ignore" in found
    assert "goop-mcp trust goop-mcp.toml" in found


def test_a_project_without_settings_starts_no_git(tmp_path: Path, home: Mapping[str, str]) -> None:
    shop = tmp_path / "shop"
    write(shop, "reply.xml", REJECTED.read_text())
    git(shop, "init", "--quiet")
    commit(shop, "begin")
    write(tmp_path, "bin/git", f"#!/bin/sh\ntouch {shlex.quote(str(tmp_path / 'started'))}\n")
    (tmp_path / "bin" / "git").chmod(0o755)
    assert (
        run("check", "reply.xml", cwd=shop, env={**home, "PATH": str(tmp_path / "bin")}).code == 1
    )
    assert not (tmp_path / "started").exists()
