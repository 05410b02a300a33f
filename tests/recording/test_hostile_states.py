"""States that a hostile repository, command or agent brings about on purpose, and broken ones.

As in the states next to this, each is lived with real processes; none may leave one.
"""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.recording.played import Player
from tests.recording.repositories import Work
from tests.recording.test_recorder_states import (
    CLAIM,
    GITHUB_TOKEN,
    citing,
    processes_of,
)

pytestmark = pytest.mark.recorder


@pytest.fixture
def player(tmp_path: Path) -> Iterator[Player]:
    state = tmp_path / "state"
    state.mkdir()
    work = Work(tmp_path / "work")
    work.write(".gitignore", ".goopspec/\n")
    work.commit("ignored")
    player = Player(work, state)
    # What `nohup` ignores, the programs that it starts ignore too.
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield player
    signal.signal(signal.SIGHUP, before)
    assert processes_of(player) == []


def shown(player: Player, run: str) -> dict[str, object]:
    values = json.loads(player.goop("evidence", "show", run, "--format", "json").stdout)
    assert isinstance(values, dict)
    return values


def is_bound(player: Player, *command: str) -> bool:
    run, _ = player.record(*(command or (player.runner(),)))
    return bool(shown(player, run)["tree"])


# Hostile configuration


def configuration(player: Player) -> Path:
    return player.work.folder / ".git" / "config"


@pytest.mark.parametrize(
    "setting",
    [
        "[core]\n\tfsmonitor = touch {proof}\n",
        "[core]\n\thooksPath = {hooks}\n",
        "[diff]\n\texternal = touch {proof}\n",
        "[core]\n\tpager = touch {proof}\n[pager]\n\tls-files = true\n\tdiff-index = true\n",
        "[core]\n\tsshCommand = touch {proof}\n\talternateRefsCommand = touch {proof}\n",
        "[alias]\n\tls-files = !touch {proof}\n\twrite-tree = !touch {proof}\n",
        "[gpg]\n\tprogram = {proof}\n[log]\n\tshowSignature = true\n",
        "[credential]\n\thelper = !touch {proof}\n",
        "[include]\n\tpath = {included}\n",
    ],
)
@pytest.mark.requirement("R-02")
def test_programs_that_the_repository_configures_do_not_run(
    player: Player, tmp_path: Path, setting: str
) -> None:
    proof, hooks, included = tmp_path / "ran", tmp_path / "hooks", tmp_path / "included"
    hooks.mkdir()
    for name in ("post-index-change", "pre-commit", "reference-transaction", "post-checkout"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch '{proof}'\n", encoding="utf-8")
        (hooks / name).chmod(0o755)
    included.write_text(f"[core]\n\tfsmonitor = touch {proof}\n", encoding="utf-8")
    with configuration(player).open("a", encoding="utf-8") as file:
        file.write(setting.format(proof=proof, hooks=hooks, included=included))

    # Clean, and with a file that git has to read and to add.
    assert is_bound(player)
    player.work.write("src/app.py", "changed = 1\n")
    run, _ = player.record(player.runner())
    assert shown(player, run)["tree"]
    assert player.judge(citing(run), require="recorded").tier == "recorded"
    assert not proof.exists()


def test_a_work_tree_that_is_set_elsewhere_is_not_read(player: Player) -> None:
    player.work.git("config", "core.worktree", "/")
    began = time.monotonic()
    _, line = player.record(player.runner())
    assert "it is bound to no files: its work tree is set to another folder" in line
    # A guard: git would read every file of the machine.
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("settings", [("core.trustctime", "false"), ("core.checkStat", "minimal"),
                                      ("core.ignoreStat", "true")])  # fmt: skip
def test_a_change_under_old_times_is_seen(player: Player, settings: tuple[str, str]) -> None:
    player.work.git("config", *settings)
    path = player.work.folder / "src" / "app.py"
    run, _ = player.record(player.runner())
    about = path.stat()
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("a + b", "a - b"), encoding="utf-8")
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))
    assert player.judge(citing(run)).rules == {"other-tree": "warning"}


def test_a_pipe_in_place_of_a_file_of_git_ends_in_time(player: Player, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    player.work.git("config", "core.attributesFile", str(tmp_path / "pipe"))
    player.work.write("new.txt", "new\n")
    _, line = player.record(player.runner())
    assert "it is bound to no files: git did not answer in time" in line


@pytest.mark.parametrize("name", ["exclude", "attributes", "../config"])
def test_a_pipe_in_place_of_a_file_of_the_repository_is_not_waited_for(
    player: Player, name: str
) -> None:
    path = player.work.folder / ".git" / "info" / name
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    _, line = player.record(player.runner())
    assert "it is bound to no files" in line
    assert name == "../config" or f"info/{name} cannot be read: it is not a file" in line


def test_nothing_is_left_where_nothing_was_run(player: Player) -> None:
    work = player.work
    work.write(".goopspec/checks.toml", '[checks.tests]\ncommand = ["true"]\n')
    # Git opens it to know what is ignored, and waits for ever; the fixture looks for processes.
    (work.folder / ".gitignore").unlink()
    os.mkfifo(work.folder / ".gitignore")
    assert "are not trusted as they are now" in player.goop("run", "tests").stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("words", [["--", "true"], ["--name=tests", "true"]], ids=["run", "click"])
def test_nothing_is_left_where_the_recorder_is_ended_before_the_command(
    player: Player, number: int, words: list[str]
) -> None:
    (player.work.folder / ".gitignore").unlink()
    os.mkfifo(player.work.folder / ".gitignore")
    running = subprocess.Popen(
        [sys.executable, "-m", "goop_mcp", "run", *words],
        cwd=player.work.folder,
        env=player.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 60
    while not lists_files(player) and time.monotonic() < deadline:
        time.sleep(0.05)

    assert lists_files(player)
    running.send_signal(number)
    assert running.wait(60) == 128 + number


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_nothing_is_left_where_the_recorder_is_ended_after_the_command(
    player: Player, number: int
) -> None:
    # Git waits for ever to know what is ignored, once the command has ended.
    script = "rm -f .gitignore; mkfifo .gitignore; echo ended"
    running = subprocess.Popen(
        [sys.executable, "-m", "goop_mcp", "run", "--name", "tests", "--", "sh", "-c", script],
        cwd=player.work.folder,
        env=player.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stdout is not None
    assert running.stdout.readline() == "ended\n"
    deadline = time.monotonic() + 60
    while not lists_files(player) and time.monotonic() < deadline:
        time.sleep(0.05)

    assert lists_files(player)
    running.send_signal(number)
    _, line = running.communicate(timeout=60)
    assert running.returncode == 128 + number
    assert line == "goop-mcp: NOT recorded: it was ended by a signal\n"


def lists_files(player: Player) -> bool:
    """Whether git waits for the pipe; other calls of it end at once."""
    return any(" ls-files " in each for each in processes_of(player))


def test_no_signal_is_lost_while_the_recorder_starts(player: Player, tmp_path: Path) -> None:
    # The folders for the time of a look are made there.
    rooms = tmp_path / "rooms"
    rooms.mkdir()
    (player.work.folder / ".gitignore").unlink()
    os.mkfifo(player.work.folder / ".gitignore")
    for at in range(60):
        running = subprocess.Popen(
            [sys.executable, "-m", "goop_mcp", "run", "--", "true"],
            cwd=player.work.folder,
            env=player.environment | {"TMPDIR": str(rooms)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(0.02 + at / 1000)
        running.terminate()
        # Before anything is loaded, the signal ends the process as any other.
        assert running.wait(30) in (143, -signal.SIGTERM)
    assert list(rooms.iterdir()) == []


def test_a_repository_of_another_user_is_not_read(player: Player) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can give a folder to another user")
    os.chown(player.work.folder, 12345, 12345)
    os.chown(player.work.folder / ".git", 12345, 12345)
    _, line = player.record(player.runner())
    assert "it is bound to no files: the project is in no git work tree that can be read" in line


# States of a repository


def submodule(player: Player, tmp_path: Path) -> Path:
    inner = Work(tmp_path / "inner")
    player.work.git("submodule", "add", "-q", str(inner.folder), "vendor")
    player.work.commit("with a submodule")
    return player.work.folder / "vendor"


def test_a_submodule_counts_by_its_commit_until_it_has_changes(
    player: Player, tmp_path: Path
) -> None:
    vendor = submodule(player, tmp_path)
    run, _ = player.record(player.runner())
    assert player.judge(citing(run), require="recorded").tier == "recorded"

    (vendor / "new.txt").write_text("new\n", encoding="utf-8")
    _, line = player.record(player.runner())
    assert "the nested repository 'vendor' has changes of its own" in line
    # The run of before says nothing about these files either.
    assert not player.judge(citing(run), require="recorded").accepted


@pytest.mark.parametrize(
    "state",
    ["shallow", "detached", "conflict", "rebase", "locked index", "no index", "partial", "bare"],
)
def test_unusual_states_of_a_repository(player: Player, tmp_path: Path, state: str) -> None:
    work = player.work
    if state in ("shallow", "partial"):
        work.write("src/app.py", "second = 2\n")
        work.commit("second")
        work.git("config", "uploadpack.allowFilter", "true")
        how = ["--depth", "1"] if state == "shallow" else ["--filter=blob:none"]
        clone = tmp_path / "clone"
        work.git("clone", "-q", *how, f"file://{work.folder}", str(clone))
        player.work = Work(clone, commit=False)
    elif state == "detached":
        work.git("checkout", "-q", "--detach")
    elif state in ("conflict", "rebase"):
        work.git("checkout", "-q", "-b", "other")
        work.write("src/app.py", "other = 1\n")
        work.commit("other")
        work.git("checkout", "-q", "main")
        work.write("src/app.py", "mine = 1\n")
        work.commit("mine")
        verb = "merge" if state == "conflict" else "rebase"
        with pytest.raises(subprocess.CalledProcessError):
            work.git(verb, "-q", "other")
    elif state == "locked index":
        # Another git runs, or was killed.
        (work.folder / ".git" / "index.lock").write_bytes(b"")
    elif state == "no index":
        (work.folder / ".git" / "index").unlink()
    elif state == "bare":
        work.git("config", "core.bare", "true")

    run, line = player.record(player.runner())
    if state == "bare":
        assert "it is bound to no files: the project is in no git work tree" in line
        return
    assert player.judge(citing(run), require="recorded").tier == "recorded"
    player.work.write("src/app.py", "changed afterwards = 1\n")
    assert player.judge(citing(run), require="recorded").rules == {"other-tree": "error"}


def test_pointers_of_large_files(player: Player) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:{0}\nsize 9\n"
    player.work.write(".gitattributes", "*.bin filter=lfs -text\n")
    player.work.write("a.bin", pointer.format("0" * 64))
    player.work.commit("with a pointer")
    # The filter is not installed, so that the pointers are the files.
    run, _ = player.record(player.runner())
    player.work.write("a.bin", pointer.format("1" * 64))
    assert player.judge(citing(run), require="recorded").rules == {"other-tree": "error"}

    # Required and missing: git refuses, and nothing is bound to what nobody could read.
    (player.state / ".gitconfig").write_text(
        '[filter "lfs"]\n\tclean = git-lfs-that-is-not-there clean %f\n\trequired = true\n',
        encoding="utf-8",
    )
    _, line = player.record(player.runner())
    assert "it is bound to no files: git refused `git " in line


# What a command does


@pytest.mark.parametrize(
    ("script", "shown_as"),
    [
        ("rm -rf .git", "it is bound to no files: the project is in no git work tree"),
        ("git checkout -q -b elsewhere HEAD~2", "files changed while it ran"),
        (
            "git init -q nested",
            "it is bound to no files: the nested repository 'nested' has no commit",
        ),
        ("mkdir -p a && echo x > a/new.txt", "files changed while it ran"),
        ("chmod +x README.md", "files changed while it ran"),
        ("git commit -q --allow-empty -m x", " on tree "),
        ("git update-index --refresh; git gc -q", " on tree "),
        ("echo x > .goopspec/note.md", " on tree "),
        ("rm -rf .goopspec", " on tree "),
        ("echo x > ignored.log; rm ignored.log", " on tree "),
    ],
)
def test_what_a_command_does_to_the_repository(player: Player, script: str, shown_as: str) -> None:
    player.work.commit("another")
    for role in ("AUTHOR", "COMMITTER"):
        player.environment |= {f"GIT_{role}_NAME": "A", f"GIT_{role}_EMAIL": "a@example.org"}
    line = f"{script}; exec {player.runner()}"
    done = player.goop("run", "--name", "tests", "--", "sh", "-c", line)
    assert done.returncode == 0, done
    assert shown_as in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_a_command_that_a_signal_ends_did_not_finish(
    player: Player, number: signal.Signals
) -> None:
    script = f"echo '12 passed in 0.1s'; kill -{number.value} $$"
    done = player.goop("run", "--name", "tests", "--", "sh", "-c", script)
    assert done.returncode == 128 + number
    assert f"did not finish (signal {number.value} ended it)" in done.stderr
    assert not player.judge(CLAIM, require="recorded").accepted


@pytest.mark.parametrize(
    "text",
    [
        b"\xff\xfe\x00\x01 12 passed in 0.1s\n",
        b"\x1b[2J\x1b]0;title\x07\x9b31m12 passed in 0.1s\n",
        b"x" * 3_000_000 + b"\n12 passed in 0.1s\n",
        "\u202e12 passed in 0.1s\n".encode(),
        b"\r".join(b"%d%%" % n for n in range(100)) + b"\n12 passed in 0.1s\n",
    ],
)
def test_output_of_any_bytes_passes_through_and_is_kept_as_text(
    player: Player, text: bytes
) -> None:
    file = player.state / "out.bin"
    file.write_bytes(text)
    done = subprocess.run(
        [sys.executable, "-m", "goop_mcp", "run", "--name", "x", "--", "cat", str(file)],
        cwd=player.work.folder, env=player.environment, capture_output=True, timeout=120,
        check=False,
    )  # fmt: skip
    assert done.stdout == text
    [run] = json.loads(player.goop("evidence", "list", "--format", "json").stdout)["runs"]
    assert run["output"]["bytes"] == len(text)
    # What a terminal would obey is shown as symbols.
    printed = player.goop("evidence", "show", run["run"]).stdout
    assert "12 passed" in printed
    assert not set(printed) & set("\x1b\x07\x9b\u202e\x00\r")


def test_a_secret_that_is_given_as_an_argument_of_its_own(player: Player) -> None:
    hidden = "hunter2-Xk93vQ"
    run, _ = player.record("true", "--password", hidden, "--token", GITHUB_TOKEN, "-v")
    content = (player.work.folder / ".goopspec" / "goop.db").read_bytes()
    assert hidden.encode() not in content
    assert GITHUB_TOKEN.encode() not in content
    argv = shown(player, run)["argv"]
    assert isinstance(argv, list)
    assert argv[:2] == ["true", "--password"]
    assert argv[-1] == "-v"


def test_half_a_secret_at_the_cut_of_the_output_is_not_kept(player: Player) -> None:
    # Longer than what is kept, so that the kept part begins within the token; a private key is
    # replaced by one word, so that all of it would be shown.
    key = "-----BEGIN RSA PRIVATE KEY-----\n" + "A" * 64 * 250 + "\n-----END RSA PRIVATE KEY-----\n"
    end = f"{key}12 passed in 0.1s\n"
    text = "x" * 100_000 + f" {GITHUB_TOKEN} " + end
    file = player.state / "out.txt"
    for cut in range(4, 36, 8):
        kept = f"{GITHUB_TOKEN[cut:]} {end}"
        padding = 16 * 1024 - len(kept)
        assert padding > 0
        file.write_text(text[: -len(end)] + "y" * 0 + end[:-1] + "z" * padding + "\n")
        run, _ = player.record("cat", str(file), name="x")
        tail = json.dumps(shown(player, run)["output"])
        assert GITHUB_TOKEN[-8:] not in tail, cut


def test_a_run_within_a_run(player: Player) -> None:
    program = player.runner()
    command = (sys.executable, "-m", "goop_mcp", "run", "--name", "tests", "--", program)
    _, line = player.record(*command)
    runs = json.loads(player.goop("evidence", "list", "--format", "json").stdout)["runs"]
    assert len(runs) == 2
    # The outer command is ours, which is no runner of tests.
    assert {each["outcome"] for each in runs} == {"passed", "unproven"}, line
    assert player.judge(CLAIM).accepted


def test_the_folder_of_the_command_is_removed(player: Player) -> None:
    folder = player.work.folder / "gone"
    folder.mkdir()
    (player.work.folder / ".goopspec").mkdir()
    script = f"rmdir '{folder}'; exec {player.runner()}"
    done = player.goop("run", "--name", "tests", "--", "sh", "-c", script, folder=folder)
    assert done.returncode == 0
    assert " tests passed (12 run) on tree " in done.stderr


def test_many_processes_outside_of_the_group_end_at_the_limit(player: Player) -> None:
    script = "for n in $(seq 40); do setsid sleep 600 & done; wait"
    done = player.goop("run", "--timeout", "2", "--name", "tests", "--", "sh", "-c", script)
    assert done.returncode == 124


# Records and trust


def test_the_file_of_another_project_is_not_trusted_through_a_link(
    player: Player, tmp_path: Path
) -> None:
    proof = tmp_path / "ran"
    mine = Work(tmp_path / "mine")
    mine.write(".goopspec/checks.toml", '[checks.tests]\ncommand = ["sh", "run.sh"]\n')
    assert player.trust(mine.folder).returncode == 0

    # A repository from elsewhere links to what a person trusts, and brings the script.
    player.work.write("run.sh", f"touch '{proof}'\n")
    state = player.work.folder / ".goopspec"
    for link, target in (
        (state / "checks.toml", mine.folder / ".goopspec" / "checks.toml"),
        (state, mine.folder / ".goopspec"),
    ):
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(target)
        done = player.goop("run", "tests")
        assert done.returncode == 2, done
        assert "not trusted" in done.stderr
        link.unlink()
        if link.parent == state:
            state.rmdir()
    assert not proof.exists()
    # Its own folder under another name is the same project.
    (tmp_path / "alias").symlink_to(mine.folder)
    mine.write("run.sh", "true\n")
    # The options may also follow the name.
    for words in (("--project", tmp_path / "alias", "tests"), ("tests", "--project", mine.folder)):
        assert player.goop("run", *words).returncode == 0


@pytest.mark.parametrize(
    "forge",
    [
        lambda values: values | {"outcome": "passed", "exit_code": 0},
        lambda values: values | {"id": "r-000000000000"},
        lambda values: {**values, "key": "ffff"},
        lambda values: [values],
        lambda _: "x" * 100_000,
        lambda values: values | {"argv": 5, "counts": None},
        lambda values: values | {"before": {}, "after": {}},
        lambda values: values | {"after": {**values["after"], "digest": "0" * 40}},
        dict.fromkeys,
    ],
)
def test_a_forged_content_is_no_proof_and_breaks_nothing(
    player: Player, forge: Callable[[dict[str, dict[str, object]]], object]
) -> None:
    failed, _ = player.record(player.runner(prints="2 failed in 0.1s", status=1))
    database = sqlite3.connect(player.work.folder / ".goopspec" / "goop.db")
    [content] = database.execute("SELECT content FROM recorded_runs").fetchone()
    forged = json.dumps(forge(json.loads(content)), sort_keys=True, separators=(",", ":"))
    database.execute("UPDATE recorded_runs SET content = ?", (forged,))
    database.commit()
    database.close()

    judged = player.judge(citing(failed), require="recorded")
    assert not judged.accepted
    assert judged.tier == "claimed"
    assert player.goop("evidence", "verify", failed).returncode != 0
    for words in (["list"], ["show", failed], ["export", failed]):
        assert "Traceback" not in player.goop("evidence", *words).stderr


@pytest.mark.parametrize("content", [b"", b"\x00" * 100, b"not a database", b"SQLite format 3\x00"])
def test_a_damaged_database_changes_no_exit_code(player: Player, content: bytes) -> None:
    player.work.write(".goopspec/note", "")
    (player.work.folder / ".goopspec" / "goop.db").write_bytes(content)
    done = player.goop("run", "--name", "tests", "--", player.runner(status=3, prints="x"))
    assert done.returncode == 3
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith(("goop-mcp: NOT recorded: ", "goop-mcp: run r-"))


def test_a_database_that_cannot_be_read_accuses_nobody(player: Player) -> None:
    run, _ = player.record(player.runner())
    (player.work.folder / ".goopspec" / "goop.db").write_bytes(b"not a database")
    judged = player.judge(citing(run))
    assert judged.accepted
    assert judged.rules == {"not-checked": "info"}
    needed = player.judge(citing(run), require="recorded")
    assert not needed.accepted
    assert "expected a run that was recorded (.goopspec/goop.db is not a database" in needed.text


def test_what_keeps_a_required_run_from_being_found_is_named(player: Player) -> None:
    claim = '<check name="tests" passed="true">it works</check>'
    never = player.judge(claim, require="recorded")
    assert never.rules == {"check-not-run": "error"}
    assert "Run the check with `goop-mcp run --name tests -- COMMAND`" in never.text

    run, _ = player.record(player.runner())
    nested = player.work.folder / "nested"
    player.work.git("init", "-q", str(nested))
    needed = player.judge(citing(run), require="recorded")
    assert "recorded (the nested repository 'nested' has no commit)" in needed.text
