"""Programs that the git configuration of a repository names: no surface runs one without trust.

Each way to name a program is tried on each surface that starts git. A program that runs leaves a
file with the name of its key.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from mcp.client.stdio import StdioServerParameters

from goop_mcp.recording.configured_programs import flattened, read_programs
from goop_mcp.recording.tree_digest import TreeLook, digest_work_tree
from tests.cli.running import Ended, run_on_terminal
from tests.recording.played import Player
from tests.recording.repositories import GIT, Work
from tests.server.connections import connect, text_of

NOT_TRUSTED = "a person has to run goop-mcp trust --git"
CLAIM = '<check name="tests" passed="true" run="{run}">pytest - 12 passed</check>'
_FILE = '<artifacts><files><file path="src/app.py" action="modified">It adds</file></files>'
_AGENT = "import pathlib, sys; sys.stdin.read(); print(pathlib.Path(sys.argv[1]).read_text())"


class Scene:
    """A recorded run in a repository whose files then get the attributes of filters.

    `mark` makes a program for a key: it leaves a file in `ran`, and passes on what it is given.
    """

    def __init__(self, folder: Path) -> None:
        self.ran = folder / "ran"
        self.ran.mkdir()
        (folder / "state").mkdir()
        self.work = Work(folder / "work")
        self.work.write(".gitignore", ".goopspec/\n")
        self.work.write("src/note.txt", "note\n")
        self.work.write("src/other.txt", "other\n")
        self.work.commit("with texts")
        self.player = Player(self.work, folder / "state")
        self.run, line = self.player.record(self.player.runner())
        assert " on tree " in line
        self.program = folder / "state" / "bin" / "mark"
        self.program.write_text('#!/bin/sh\ntouch "$1"\nexec cat\n', encoding="utf-8")
        self.program.chmod(0o755)

    def mark(self, key: str) -> str:
        return f"{self.program} {self.ran}/{key}"

    def marks(self) -> list[str]:
        return sorted(each.name for each in self.ran.iterdir())

    def attribute(self, git: Path | None = None, *, attributes: str = "filter=evil") -> None:
        """Give each text the filter, and make git compare them all by their content."""
        folder = git or self.work.folder / ".git"
        (folder / "info").mkdir(exist_ok=True)
        (folder / "info" / "attributes").write_text(f"*.txt {attributes}\n", encoding="utf-8")

    def age(self, folder: Path) -> None:
        for path in folder.rglob("*.txt"):
            os.utime(path, (1, 1))

    def report(self) -> str:
        text = self.player.report(CLAIM.format(run=self.run))
        return text.replace("<artifacts><files/>", _FILE)


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


# Surfaces. Each returns what it says about the files.


def by_run(scene: Scene) -> str:
    return scene.player.goop("run", "--name", "tests", "--", scene.player.runner()).stderr


def by_check(scene: Scene) -> str:
    checked = scene.player.goop(
        "check", "-", "--workspace", "--format", "json", given=scene.report()
    )
    return checked.stdout


def by_verify(scene: Scene) -> str:
    return scene.player.goop("evidence", "verify", scene.run).stdout


def by_hook(scene: Scene) -> str:
    # Only what is required shows why a run was not compared.
    hooks = scene.work.folder / ".goopspec" / "hooks.json"
    hooks.write_text('{"require_evidence": "recorded"}', encoding="utf-8")
    event = {
        "hook_event_name": "SubagentStop",
        "session_id": "s-1",
        "cwd": str(scene.work.folder),
        "agent_id": os.urandom(4).hex(),
        "agent_type": "goop-executor",
        "stop_hook_active": False,
        "last_assistant_message": scene.report(),
    }
    done = scene.player.goop("hook", "claude-code", given=json.dumps(event))
    hooks.unlink()
    assert done.returncode == 0, done
    return done.stdout


def by_record(scene: Scene) -> str:
    done = scene.player.goop("reports", "record", "-", "--format", "json", given=scene.report())
    return done.stdout + done.stderr


def by_mcp(scene: Scene) -> str:
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "goop_mcp", "serve", "--project", str(scene.work.folder)],
        env=scene.player.environment,
    )
    with connect(server, "auto") as connection:
        answer = connection.tool(
            "validate_report", text=scene.report(), check_workspace=True, detail="full"
        )
    return text_of(answer) + json.dumps(answer.structured_content)


SURFACES: Mapping[str, Callable[[Scene], str]] = {
    "run": by_run,
    "check": by_check,
    "verify": by_verify,
    "hook": by_hook,
    "record": by_record,
    "mcp": by_mcp,
}


def in_worktree(scene: Scene, *, folder: Path | None = None, script: str = "") -> str:
    """Delegate a task with a worktree, whose agent runs `script` in it; return what is shown."""
    place = scene.player.state
    (place / "report.md").write_text(scene.player.report(), encoding="utf-8")
    command = ["sh", "-c", f'cat > /dev/null; {script or ":"}; cat "{place}/report.md"']
    (place / "graph.toml").write_text(
        'graph = 1\nname = "w"\nprotocol = "goop_report"\n'
        f'[agents.a]\nrun = "command"\ncommand = {json.dumps(command)}\n'
        '[tasks.t]\nagent = "a"\nprompt = "Work."\nworkspace = "worktree"\n',
        encoding="utf-8",
    )
    goop, graph = scene.player.goop, place / "graph.toml"
    digest = goop("delegate", graph, "--check", folder=folder).stdout.rpartition(" ")[2].strip()
    done = goop("delegate", graph, "--new", "--trust", digest, folder=folder)
    return done.stdout + done.stderr


# Ways to name a filter


def in_config(scene: Scene, name: str) -> None:
    scene.work.git("config", f"filter.evil.{name}", scene.mark(f"filter.{name}"))


def in_old_form(scene: Scene) -> None:
    text = f"[FILTER.evil]\n\tCLEAN = {scene.mark('old-form')}\n"
    with (scene.work.folder / ".git" / "config").open("a", encoding="utf-8") as file:
        file.write(text)


def included(scene: Scene) -> None:
    other = scene.work.folder.parent / "other.cfg"
    other.write_text(f'[filter "evil"]\n\tclean = {scene.mark("included")}\n', encoding="utf-8")
    scene.work.git("config", "include.path", "../../other.cfg")


def included_if(scene: Scene) -> None:
    # In the repository, where an agent writes it with its usual tools.
    scene.work.write("tools/x.cfg", f'[filter "evil"]\n\tclean = {scene.mark("if")}\n')
    scene.work.git("config", f"includeIf.gitdir:{scene.work.folder}/.path", "../tools/x.cfg")


def of_work_tree(scene: Scene) -> None:
    scene.work.git("config", "extensions.worktreeConfig", "true")
    scene.work.git("config", "--worktree", "filter.evil.clean", scene.mark("config.worktree"))


def of_another_folder(scene: Scene) -> None:
    """Have .git take its configuration from elsewhere, as that of a linked work tree does."""
    git = scene.work.folder / ".git"
    git.rename(scene.work.folder.parent / "real")
    git.mkdir()
    for name in ("HEAD", "index"):
        (git / name).write_bytes((scene.work.folder.parent / "real" / name).read_bytes())
    (git / "commondir").write_text("../../real\n", encoding="utf-8")
    (git / "config").write_text("[core]\n", encoding="utf-8")
    config = scene.work.folder.parent / "real" / "config"
    scene.work.git("config", "-f", str(config), "filter.evil.clean", scene.mark("commondir"))


def of_submodule(scene: Scene, *, deep: bool = False) -> None:
    origin = Work(scene.work.folder.parent / "origin")
    origin.write("in.txt", "in\n")
    origin.commit("with a text")
    if deep:
        inner = Work(scene.work.folder.parent / "inner")
        inner.write("deep.txt", "deep\n")
        inner.commit("with a text")
        origin.git("submodule", "--quiet", "add", str(inner.folder), "deep")
        origin.commit("with a submodule")
    scene.work.git("submodule", "--quiet", "add", str(origin.folder), "lib")
    scene.work.git("submodule", "--quiet", "update", "--init", "--recursive")
    scene.work.commit("with a submodule")
    lib = scene.work.folder / "lib" / "deep" if deep else scene.work.folder / "lib"
    scene.work.git("config", "filter.evil.clean", scene.mark("submodule"), folder=lib)
    scene.attribute(Path(scene.work.git("rev-parse", "--absolute-git-dir", folder=lib).strip()))
    scene.age(lib)
    scene.work.write("src/new.py", "new = 1\n")


def of_nested(scene: Scene) -> None:
    nested = Work(scene.work.folder / "nested")
    nested.write("in.txt", "in\n")
    nested.commit("with a text")
    nested.git("config", "filter.evil.clean", scene.mark("nested"))
    scene.attribute(nested.folder / ".git")
    scene.age(nested.folder)


def under_a_damaged_one(scene: Scene) -> None:
    """Put a `.git` into a folder of the project that git passes over, to the one above."""
    in_config(scene, "clean")
    (scene.work.folder / "src" / ".git").mkdir()
    (scene.work.folder / "src" / ".git" / "index").write_bytes(
        (scene.work.folder / ".git" / "index").read_bytes()
    )
    (scene.work.folder / "src" / ".git" / "config").write_text("[core]\n", encoding="utf-8")


def of_lfs(scene: Scene) -> None:
    """Have a filter of the user run what the repository names, as Git LFS does."""
    filter_ = scene.player.state / "bin" / "pretended-lfs"
    filter_.write_text(
        '#!/bin/sh\nsh -c "$(git config lfs.extension.evil.clean || echo true)" >/dev/null\ncat\n',
        encoding="utf-8",
    )
    filter_.chmod(0o755)
    (scene.player.state / ".gitconfig").write_text(
        f'[filter "evil"]\n\tclean = {filter_}\n', encoding="utf-8"
    )
    scene.work.git("config", "lfs.extension.evil.clean", f"touch {scene.ran}/lfs-extension")


NAMED: Mapping[str, Callable[[Scene], None]] = {
    "clean": lambda scene: in_config(scene, "clean"),
    "process": lambda scene: in_config(scene, "process"),
    "smudge": lambda scene: in_config(scene, "smudge"),
    "old form": in_old_form,
    "include": included,
    "includeIf": included_if,
    "config.worktree": of_work_tree,
    "commondir": of_another_folder,
    "submodule": of_submodule,
    "deep submodule": lambda scene: of_submodule(scene, deep=True),
    "nested": of_nested,
    "lfs extension": of_lfs,
}


@pytest.mark.parametrize("way", NAMED)
@pytest.mark.requirement("R-02")
def test_only_the_digest_is_refused_where_a_repository_names_a_filter(
    scene: Scene, way: str
) -> None:
    scene.attribute()
    NAMED[way](scene)
    scene.age(scene.work.folder / "src")

    # The other surfaces look at the files as `check` does, and each process takes time to start.
    surfaces = SURFACES if way in ("clean", "deep submodule") else ("run", "check")
    for surface in surfaces:
        shown = SURFACES[surface](scene)
        assert scene.marks() == [], (surface, shown)
        assert NOT_TRUSTED in shown, surface

    # The claims about files were compared all the same.
    [verdict] = json.loads(shown if surface == "check" else by_check(scene))
    assert "file 'src/app.py' modified" in [each["claim"] for each in verdict["evidence"]]
    assert not any(each["rule"] == "evidence/other-tree" for each in verdict["findings"])


def test_a_damaged_repository_within_does_not_hide_the_configuration_of_the_one_around(
    scene: Scene,
) -> None:
    scene.attribute()
    under_a_damaged_one(scene)
    scene.age(scene.work.folder / "src")
    player = scene.player
    done = player.goop("run", "--name", "tests", "--", player.runner(),
                       folder=scene.work.folder / "src")  # fmt: skip
    assert scene.marks() == []
    assert NOT_TRUSTED in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_nothing_runs_in_a_repository_of_another_user(scene: Scene) -> None:
    scene.attribute()
    in_config(scene, "clean")
    scene.age(scene.work.folder / "src")
    for path in (scene.work.folder, *scene.work.folder.rglob("*")):
        os.chown(path, 65_534, 65_534)
    assert "in no git work tree that can be read" in by_run(scene)
    assert scene.marks() == []


# What git does not need for any of our questions


def everything_else(scene: Scene) -> dict[str, str]:
    """Return keys that name programs which no question of ours runs."""
    keys = (
        "core.fsmonitor", "core.sshCommand", "core.pager", "pager.status", "pager.ls-files",
        "pager.config", "core.editor", "sequence.editor", "core.askPass", "core.gitProxy",
        "core.alternateRefsCommand", "diff.external", "diff.evil.command", "diff.evil.textconv",
        "merge.evil.driver", "gpg.program", "gpg.ssh.program", "gpg.ssh.defaultKeyCommand",
        "credential.helper", "uploadpack.packObjectsHook", "gc.recentObjectsHook",
        "interactive.diffFilter", "trailer.evil.command", "trailer.evil.cmd",
        "remote.origin.uploadpack", "difftool.evil.cmd", "mergetool.evil.cmd", "browser.x.cmd",
    )  # fmt: skip
    found = {key: scene.mark(key) for key in keys}
    for name in ("status", "ls-files", "cat-file", "config", "rev-parse", "worktree", "add"):
        found[f"alias.{name}"] = f"!{scene.mark(f'alias.{name}')}"
    found |= {"submodule.lib.update": f"!{scene.mark('submodule.update')}"}
    found |= {"log.showSignature": "true", "remote.origin.url": f"ext::{scene.mark('ext')}"}
    found |= {"protocol.allow": "always", "protocol.ext.allow": "always"}

    return found | {"core.hooksPath": str(hooks_of(scene))}


def hooks_of(scene: Scene) -> Path:
    folder = scene.work.folder.parent / "hooks"
    folder.mkdir(exist_ok=True)
    for name in ("post-index-change", "post-checkout", "reference-transaction", "pre-auto-gc"):
        hook = folder / name
        hook.write_text(f"#!/bin/sh\n{scene.mark(name)} </dev/null\n", encoding="utf-8")
        hook.chmod(0o755)
    return folder


@pytest.mark.parametrize("changed", [False, True], ids=["clean", "changed"])
@pytest.mark.requirement("R-02")
def test_other_programs_of_a_repository_neither_run_nor_refuse_anything(
    scene: Scene, *, changed: bool
) -> None:
    scene.attribute(attributes="diff=evil merge=evil")
    for key, value in everything_else(scene).items():
        scene.work.git("config", "-f", ".git/config", key, value)
    scene.age(scene.work.folder / "src")
    if changed:
        scene.work.write("src/app.py", "changed = 1\n")

    before = scene.marks()
    for surface in ("run", "check") if changed else SURFACES:
        assert NOT_TRUSTED not in SURFACES[surface](scene), surface
        assert scene.marks() == before, surface

    assert " on tree " in by_run(scene)
    shown = in_worktree(scene)
    assert "accepted" in shown
    assert scene.marks() == before


def test_the_file_system_monitor_is_off_in_both_forms(scene: Scene) -> None:
    # The daemon of git is one for the whole work tree, and outlives what starts it.
    for value in (scene.mark("fsmonitor"), "true"):
        scene.work.git("config", "-f", ".git/config", "core.fsmonitor", value)
        assert " on tree " in by_run(scene)
        assert "accepted" in in_worktree(scene)
        assert scene.marks() == []
        assert not list((scene.work.folder / ".git").glob("fsmonitor--daemon*"))


@pytest.mark.parametrize("surface", ["run", "check", "worktree"])
def test_nothing_is_fetched_into_a_partial_clone(scene: Scene, surface: str) -> None:
    source = scene.work
    source.git("config", "uploadpack.allowFilter", "true")
    source.write("src/note.txt", "changed\n")
    source.commit("second")
    clone = source.folder.parent / "clone"
    source.git("clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{source.folder}",
               str(clone))  # fmt: skip
    scene.work = scene.player.work = Work(clone, commit=False)
    scene.work.git("config", "-f", ".git/config", "remote.origin.uploadpack", scene.mark("upload"))
    scene.work.git("config", "-f", ".git/config", "protocol.allow", "always")

    if surface == "worktree":
        shown = in_worktree(scene)
        assert "this partial clone lacks files, and nothing is fetched here" in shown
    else:
        SURFACES[surface](scene)
    assert scene.marks() == []


# What is written after it was looked at


@pytest.mark.parametrize("step", ["begun", "read"])
@pytest.mark.parametrize("is_linked", [False, True])
def test_a_configuration_that_is_written_meanwhile_is_not_used(
    scene: Scene, tmp_path: Path, step: str, *, is_linked: bool
) -> None:
    # Another process, perhaps one in a sandbox, may wait for this moment.
    scene.attribute()
    folder = scene.work.folder
    if is_linked:
        folder = tmp_path / "linked"
        scene.work.git("worktree", "add", "-q", "-b", "side", str(folder))
    scene.age(folder / "src")
    (folder / "src" / "new.txt").write_text("new\n", encoding="utf-8")

    with TreeLook(folder) as look:
        look.begin()
        if step == "read" or is_linked:
            look.read_files()
        in_config(scene, "clean")
        of_work_tree(scene)
        assert look.tree().digest
    assert scene.marks() == []
    assert digest_work_tree(folder).why.startswith(NOT_TRUSTED)


@pytest.mark.parametrize(
    "text",
    [
        "[core]\n\tx = \\\n",
        "[core]\n\tx = a\\",
        '[core]\n\tx = "a\n',
        "[core]\n\tx = # \\\n",
    ],
)
def test_an_open_end_of_the_configuration_lets_nothing_else_in(scene: Scene, text: str) -> None:
    scene.attribute()
    config = scene.work.folder / ".git" / "config"
    config.write_text("[extensions]\n\tworktreeConfig = true\n" + text, encoding="utf-8")
    scene.age(scene.work.folder / "src")
    with TreeLook(scene.work.folder) as look:
        look.begin()
        # Git would read it, but for the last word of the copy.
        (scene.work.folder / ".git" / "config.worktree").write_text(
            f'[filter "evil"]\n\tclean = {scene.mark("late")}\n', encoding="utf-8"
        )
        look.tree()
    assert scene.marks() == []


VALUES = {
    "core.autocrlf": "input",
    "core.excludesFile": '/a b/\\"c"#;\t',
    'remote.o"r\\i.g in.url': "https://example.org/a?b=c#d",
    "branch.a/b.description": "two\nlines\\n ",
    "a.empty": "",
}


def test_a_copy_of_settings_is_read_as_they_are(scene: Scene, tmp_path: Path) -> None:
    for key, value in VALUES.items():
        scene.work.git("config", key, value)
    with (scene.work.folder / ".git" / "config").open("a", encoding="utf-8") as file:
        file.write("[a]\n\tbare\n")

    listing = scene.work.git("config", "--list", "-z", "--show-scope", "--show-origin")
    copy = tmp_path / "copy"
    copy.write_bytes(flattened(listing))

    def listed(*words: str) -> list[str]:
        shown = scene.work.git("config", "--list", "-z", *words).split("\0")
        return [each if "\n" in each else f"{each}\ntrue" for each in shown if each]

    assert listed("-f", str(copy)) == [*listed("--local"), "extensions.worktreeconfig\nfalse"]


# Trust


def trust(scene: Scene, *options: str) -> "subprocess.CompletedProcess[str]":
    return scene.player.goop("trust", "--git", *options)


def digest_in(text: str) -> str:
    found = re.search(r"--digest ([0-9a-f]{64})", text)
    assert found is not None, text
    return found[1]


@pytest.mark.requirement("R-02")
def test_a_person_trusts_exactly_the_keys_and_values(scene: Scene) -> None:
    scene.attribute()
    in_config(scene, "clean")
    scene.work.git("config", "filter.evil.required", "true")
    scene.work.git("config", "filter.evil.smudge", "cat")

    asked = trust(scene)
    assert asked.returncode == 3
    assert f"filter.evil.clean = {scene.mark('filter.clean')} (in .git/config)" in asked.stdout
    assert "filter.evil.required = true (in .git/config)" in asked.stdout
    digest = digest_in(asked.stderr)
    assert trust(scene, "--digest", digest[:12]).returncode == 2
    assert trust(scene, "--digest", "0" * 64).returncode == 3
    assert NOT_TRUSTED in by_run(scene)
    assert trust(scene, "--digest", digest).returncode == 0

    scene.age(scene.work.folder / "src")
    assert " on tree " in by_run(scene)
    assert scene.marks() == ["filter.clean"]
    assert "accepted" in in_worktree(scene)
    assert "recorded" in by_check(scene)

    # Any other key, value or order is not what was trusted.
    for key, value in (("filter.evil.clean", "cat"), ("filter.evil.required", "false"),
                       ("filter.evil.smudge", "tac"), ("filter.x.clean", "cat")):  # fmt: skip
        config = scene.work.folder / ".git" / "config"
        before = config.read_bytes()
        scene.work.git("config", key, value)
        assert NOT_TRUSTED in by_run(scene), key
        config.write_bytes(before)
    # What names no program may change.
    scene.work.git("config", "user.name", "Somebody")
    assert " on tree " in by_run(scene)

    # Another repository with the same settings is another one.
    other = scene.work.folder.parent / "copy"
    shutil.copytree(scene.work.folder, other)
    done = scene.player.goop("run", "--name", "tests", "--", scene.player.runner(), folder=other)
    assert NOT_TRUSTED in done.stderr


def test_a_person_reads_all_of_it_on_a_terminal(scene: Scene) -> None:
    # A line feed ends the comment of the shell.
    value = f"cat # {'x' * 500}\n{scene.mark('hidden')}"
    scene.work.git("config", "filter.evil.clean", value)

    def answered(typed: str) -> Ended:
        return run_on_terminal("trust", "--git", cwd=scene.work.folder,
                               env=scene.player.environment, typed=typed)  # fmt: skip

    refused = answered("n\n")
    assert refused.code == 3
    assert value.replace("\n", "\\n") in refused.out
    assert NOT_TRUSTED in by_run(scene)
    assert answered("y\n").code == 0
    assert " on tree " in by_run(scene)
    assert trust(scene).returncode == 0


def test_trust_holds_for_all_work_trees_of_a_repository(scene: Scene, tmp_path: Path) -> None:
    in_config(scene, "clean")
    trust(scene, "--digest", digest_in(trust(scene).stderr))
    linked = tmp_path / "linked"
    scene.work.git("worktree", "add", "-q", "-b", "side", str(linked))
    done = scene.player.goop("run", "--name", "tests", "--", scene.player.runner(), folder=linked)
    assert " on tree " in done.stderr


def test_a_nested_repository_is_trusted_by_itself(scene: Scene) -> None:
    of_submodule(scene)
    shown = by_run(scene)
    assert "nested repository 'lib'" in shown
    assert f"{NOT_TRUSTED} --project=lib" in shown
    asked = trust(scene, "--project=lib")
    assert "(in .git/modules/lib/config)" in asked.stdout
    assert trust(scene, "--project=lib", "--digest", digest_in(asked.stderr)).returncode == 0
    assert " on tree " in by_run(scene)
    assert scene.marks() == ["submodule"]


def test_a_repository_that_names_no_program_has_nothing_to_trust(scene: Scene) -> None:
    done = trust(scene)
    assert done.returncode == 0
    assert "names no program" in done.stdout
    outside = scene.player.goop("trust", "--git", folder=scene.player.state)
    assert outside.returncode == 2
    assert "in no git work tree" in outside.stderr


def test_filters_of_the_user_need_no_trust(scene: Scene) -> None:
    (scene.player.state / ".gitconfig").write_text(
        f'[filter "evil"]\n\tclean = {scene.mark("user")}\n\tsmudge = cat\n', encoding="utf-8"
    )
    scene.attribute()
    # An empty value turns the filter of the user off for this repository.
    for value in (None, ""):
        if value is not None:
            scene.work.git("config", "filter.evil.smudge", value)
        scene.age(scene.work.folder / "src")
        assert " on tree " in by_run(scene)
    assert scene.marks() == ["user"]
    assert "accepted" in in_worktree(scene)


def test_secrets_in_a_value_are_not_shown_to_agents(scene: Scene) -> None:
    token = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    scene.work.git("config", "filter.evil.clean", f"upload --token {token}")
    assert token not in by_run(scene)
    assert token not in by_check(scene)


# Worktrees of delegated tasks


@pytest.mark.parametrize("way", ["clean", "process", "smudge", "include", "config.worktree"])
def test_no_worktree_is_made_with_programs_that_no_person_trusts(scene: Scene, way: str) -> None:
    scene.attribute()
    NAMED[way](scene)
    shown = in_worktree(scene)
    assert scene.marks() == []
    assert NOT_TRUSTED in shown


def test_a_filter_of_the_user_downloads_with_no_program_of_the_repository(scene: Scene) -> None:
    (scene.player.state / ".gitconfig").write_text(
        '[filter "evil"]\n\tsmudge = sh -c "$(git config core.sshCommand)"\n', encoding="utf-8"
    )
    scene.attribute()
    scene.work.git("config", "core.sshCommand", f"touch {scene.ran}/ssh; cat")
    # To compare files, nothing is downloaded.
    assert " on tree " in by_run(scene)
    assert "core.sshcommand" in in_worktree(scene)
    assert scene.marks() == []


@pytest.mark.parametrize(
    ("script", "kept"),
    [
        ("git config filter.evil.clean 'touch {ran}/clean; cat'", NOT_TRUSTED),
        ("git update-index --assume-unchanged src/note.txt; echo x > src/note.txt", "src/note.txt"),
        ("git update-index --skip-worktree src/note.txt; echo x > src/note.txt", "src/note.txt"),
    ],
)
def test_a_worktree_in_which_changes_may_be_is_kept(scene: Scene, script: str, kept: str) -> None:
    scene.attribute()
    shown = in_worktree(scene, script=script.format(ran=scene.ran))
    assert scene.marks() == []
    assert kept in shown
    [note] = (scene.player.state / "goop-mcp" / "worktrees").rglob("note.txt")
    assert note.exists()


def test_a_submodule_in_a_worktree_runs_nothing(scene: Scene) -> None:
    of_submodule(scene)
    scene.work.commit("new")
    before = scene.marks()
    script = (
        "git -c protocol.file.allow=always submodule --quiet update --init;"
        f" git -C lib config filter.evil.clean 'touch {scene.ran}/sub; cat';"
        " d=$(git -C lib rev-parse --absolute-git-dir); mkdir -p $d/info;"
        " echo '*.txt filter=evil' > $d/info/attributes; touch -d 2001-01-01 lib/in.txt"
    )
    shown = in_worktree(scene, script=script)
    assert scene.marks() == before
    assert f"in which changes may be: {NOT_TRUSTED}" in shown


# Hooks that newer versions of git read from the configuration


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"hook.x.command": "evil", "hook.x.event": "post-index-change"}, ["hook.x.command"]),
        ({"hook.x.command": "evil", "hook.x.event": "pre-commit"}, []),
        ({"hook.x.command": "evil"}, []),
    ],
)
def test_hooks_of_the_configuration(settings: dict[str, str], named: list[str]) -> None:
    listing = "".join(f"local\0file:.git/config\0{k}\n{v}\0" for k, v in settings.items())
    found = read_programs(listing, "/p/.git")
    assert [each.key for each in found.named] == named
    # One of the user, for which the repository names another program.
    of_user = "global\0file:user.cfg\0hook.x.event\npost-checkout\0"
    overridden = read_programs(f"{of_user}local\0file:.git/config\0hook.x.command\nevil\0", "/w")
    assert [each.key for each in overridden.named] == ["hook.x.command"]
    assert read_programs(of_user, "/w").named == ()


def test_hooks_of_the_configuration_do_not_run(scene: Scene) -> None:
    printed = subprocess.run([GIT, "--version"], capture_output=True, text=True, check=True).stdout
    if tuple(map(int, re.findall(r"\d+", printed)[:2])) < (2, 54):
        pytest.skip("this git knows no hooks of the configuration")

    scene.work.git("config", "hook.x.command", f"touch {scene.ran}/hook")
    for event in ("post-index-change", "post-checkout", "reference-transaction"):
        scene.work.git("config", "--add", "hook.x.event", event)
    scene.work.write("src/new.py", "new = 1\n")
    before = scene.marks()
    for surface, ask in SURFACES.items():
        assert NOT_TRUSTED in ask(scene), surface
    in_worktree(scene)
    assert scene.marks() == before
