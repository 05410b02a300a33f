"""What remains possible for an agent with a shell: every row of the table in docs/security.md.

A row is tried by the test that has its name, here or in a browser (tests/ui). The docstring of the
test is what the row says that happens: a row whose door was closed fails here and has to go. The
markers of programs are files in the folder of the test.
"""

import ast
import json
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlencode

import anyio
import pytest
from mcp.types import ElicitResult

from goop_mcp.memory.drafts import MemoryDraft
from goop_mcp.memory.saving import save_memory
from goop_mcp.processes import started
from goop_mcp.recording.sealing import machine_key, seal, unseal
from goop_mcp.retry.programs import run_program
from goop_mcp.services.project_status import project_status
from goop_mcp.store.opening import open_store
from goop_mcp.validation.samples import COMPLETE_REPLY
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.scaffold import create_project
from tests.cli.running import run, run_command_on_terminal, run_on_terminal
from tests.documentation.pages import read_page
from tests.evidence.recorded import recorded
from tests.hosts.hooks.hooks import BAD, Host
from tests.hosts.hooks.test_plugin import start
from tests.hosts.hooks.test_weakened_settings import begin, trusted
from tests.hosts.machine import make_machine
from tests.recording.played import PYTEST, Player
from tests.recording.repositories import GIT, Work
from tests.recording.test_repository_programs import Scene, by_run, digest_in, in_worktree, trust
from tests.repository import ROOT
from tests.server.connections import PROTOCOL_MODES, connect, stdio_server, target
from tests.server.http.serving import environment, served
from tests.server.test_asking import (
    MERGE,
    PERSON,
    TOKENS,
    Person,
    accepting,
    confirmation,
    merge,
    status_of,
)
from tests.test_processes import QUOTED, Left, some_live, within
from tests.workbench.projects import NOW, opened, play_until
from tests.workbench.runs import create_waiting_run
from tests.workbench.test_terminal import UI, on_terminal
from tests.workspace.projects import put_in_phase
from tests.workspace.true_projects import commit, git, write

PAGE = "docs/security.md"
STOP = "SubagentStop"
TOML, HOOKS = "goop-mcp.toml", ".goopspec/hooks.json"
SHOWN = "12 passed in 0.31s"
TEST = "def test_app():\n    import app\n    assert app.add(1, 2) == 3\n"
BROKEN = "def add(a, b):\n    return a - b\n"
HEADING = "## What remains possible for an agent with a shell"
BY_HAND = " (tried by hand)"
TABLE = "the-table"

only_linux = pytest.mark.skipif(
    sys.platform != "linux", reason="asks the kernel of Linux about other processes"
)


def rows() -> dict[str, str]:
    """Return what happens in each row of the table, by its name."""
    _, _, section = read_page(PAGE).partition(HEADING)
    section, _, _ = section.partition("\n## ")
    lines = [line for line in section.splitlines() if line.startswith("|")]
    assert lines[0] == "| row | attempt | what happens | what prevents it |"
    found: dict[str, str] = {}
    for line in lines[2:]:
        key, _, happens, _ = line.strip("| ").split(" | ")
        assert key not in found, key
        found[key.strip("`")] = happens
    return found


def tried() -> dict[str, str]:
    """Return what the test of each row states, here and in a browser."""
    texts: dict[str, str] = {}
    for file in (Path(__file__), ROOT / "tests" / "ui" / "test_remaining_doors.py"):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if not isinstance(node, ast.FunctionDef) or not node.name.startswith("test_"):
                continue
            text = ast.get_docstring(node) or ""
            key = node.name.removeprefix("test_").replace("_", "-")
            texts[key] = f"{text[:1].lower()}{text[1:]}".removesuffix(".")
    del texts[TABLE]
    return texts


def test_the_table() -> None:
    by_hand = {key for key, happens in rows().items() if happens.endswith(BY_HAND)}
    assert len(by_hand) <= 3, "write a test"
    assert {key: text for key, text in rows().items() if key not in by_hand} == tried()


# The settings


@pytest.fixture
def machine(tmp_path: Path) -> Host:
    """Begin a session of a person with a home of their own, who trusts nothing yet."""
    project = tmp_path / "project"
    write(project, "src/login.py")
    home = {"HOME": str(tmp_path / "home"), "XDG_STATE_HOME": str(tmp_path / "state")}
    return Host(project, tmp_path / "data", environment=home)


def is_judged(host: Host, **changes: object) -> bool:
    """End the turn of an agent without a report, and return whether it is sent back."""
    return not host.send(STOP, prompt_id=os.urandom(4).hex(), **changes).passed


def weaken(host: Host) -> None:
    """Write settings that take every agent out, after the session began."""
    begin(host)
    host.configure(agents=[])


def test_settings_digest(machine: Host) -> None:
    """The weaker settings count from the next event on."""
    weaken(machine)
    assert is_judged(machine), "they count without any of these ways"
    trusted(machine, HOOKS)
    assert not is_judged(machine)


def test_settings_terminal(machine: Host) -> None:
    """The weaker settings count from the next event on."""
    weaken(machine)
    answered = run_on_terminal("trust", cwd=machine.project, env=machine.environment, typed="y\n")
    assert answered.code == 0
    assert not is_judged(machine)


def test_settings_state_folder(machine: Host) -> None:
    """The weaker settings count from the next event on."""
    weaken(machine)
    shown = run("trust", cwd=machine.project, env=machine.environment).err
    folder = Path(machine.environment["XDG_STATE_HOME"]) / "goop-mcp" / "recorder"
    place = f"{machine.project.resolve()}/.goopspec/settings"
    write(folder, "trusted.json", json.dumps({place: digest_in(shown)}))
    (folder / "trusted.json").chmod(0o600)
    assert not is_judged(machine)


def test_settings_kept(machine: Host) -> None:
    """The weaker settings count; after a removal only where the project has no git repository."""
    weaken(machine)
    [kept] = (machine.data / "session-settings").iterdir()
    begin(machine, session_id="another one")
    [weaker] = set((machine.data / "session-settings").iterdir()) - {kept}
    kept.write_bytes(weaker.read_bytes())
    assert not is_judged(machine)

    kept.unlink()
    assert not is_judged(machine)

    git(machine.project, "init", "--quiet")
    write(machine.project, HOOKS, "{}")
    commit(machine.project, "begin")
    kept.unlink()
    weaken(machine)
    kept.unlink()
    assert is_judged(machine)


def test_settings_late(machine: Host) -> None:
    """The weaker settings count."""
    git(machine.project, "init", "--quiet")
    write(machine.project, HOOKS, "{}")
    commit(machine.project, "begin")
    machine.configure(agents=[])
    moved = replace(machine, data=machine.data.with_name("moved"))
    (machine.project / ".git").rename(machine.project.parent / "git")
    assert not is_judged(moved)
    (machine.project.parent / "git").rename(machine.project / ".git")
    commit(machine.project, "mine")
    assert not is_judged(machine)


def test_settings_session(machine: Host) -> None:
    """The weaker settings count in it, unless a person had trusted the stricter ones."""
    weaken(machine)
    begin(machine, session_id="next")
    assert not is_judged(machine, session_id="next")

    machine.configure(agents=["*"])
    trusted(machine, HOOKS)
    machine.configure(agents=[])
    begin(machine, session_id="third")
    assert is_judged(machine, session_id="third", agent_type="helper")


def test_settings_server(machine: Host) -> None:
    """The new server judges by the weaker settings."""
    wrong = COMPLETE_REPLY.replace("COMPLETE", "FINISHED")
    server = stdio_server(machine.project)
    verdicts = []
    for _ in range(2):
        with connect(server, "auto") as client:
            client.tools()
            write(machine.project, TOML, '[check]\nignore = ["goop_report"]\n')
            answer = client.tool("validate_report", text=wrong, check_workspace=False)
            assert answer.structured_content is not None
            verdicts.append(answer.structured_content["verdict"])
    assert verdicts == ["rejected", "accepted"]


# The answer of a person


@pytest.fixture
def accepting_project(tmp_path: Path) -> Path:
    """Return a project whose work a person is to merge."""
    project = tmp_path / "shop"
    project.mkdir()
    create_project(ProjectFiles(project), name="Shop", now=NOW)
    put_in_phase(project, "accept")
    return project


def test_answer_terminal(accepting_project: Path) -> None:
    """It counts as the answer of a person, with the name of your user."""
    ended = run_on_terminal("project", "merge", cwd=accepting_project, typed="y\n")
    assert ended.code == 0
    answered = confirmation(accepting_project)
    assert answered.status == "confirmed"
    assert str(answered.via).startswith("terminal ")


def test_answer_pasted(accepting_project: Path) -> None:
    """It counts as your answer, before you can read the question."""
    goop = shlex.join([sys.executable, "-m", "goop_mcp"])
    pasted = f"{goop} project merge\ny\nexit\n"
    run_command_on_terminal(["sh"], cwd=accepting_project, typed=pasted)
    answered = confirmation(accepting_project)
    assert answered.status == "confirmed"
    assert str(answered.via).startswith("terminal ")


def test_answer_again(accepting_project: Path) -> None:
    """The dialog is shown each time; each no counts for its question alone."""
    person = Person(ElicitResult(action="decline"))
    with connect(stdio_server(accepting_project), PROTOCOL_MODES[0], elicitation=person) as client:
        for _ in range(3):
            client.tool("update_project", action="confirm_merge")
    assert len(person.asked) == 3
    assert confirmation(accepting_project, 3).status == "refused"


def test_answer_workbench(tmp_path: Path) -> None:
    """It counts as the answer of a person."""
    play_until(tmp_path, "blueprint")
    with on_terminal(UI, tmp_path) as ui:
        _, page, cookie = ui.ask(ui.login)
        root, key = (re.findall(rf'data-{name}="([^"]+)"', page)[0] for name in ("root", "key"))
        [csrf, *_] = re.findall(r'name="csrf" value="(\w+)"', ui.ask(f"{root}/", cookie=cookie)[1])
        for path, fields in (
            ("/steps", {"action": "lock_spec"}),
            ("/confirm/1", {"answer": "yes"}),
        ):
            body = urlencode({"csrf": csrf, "key": key, **fields})
            assert ui.ask(f"{root}{path}", body=body, cookie=cookie)[0] == 303
    assert is_locked(tmp_path)


def is_locked(project: Path) -> bool | None:
    with opened(project) as context:
        return project_status(context).spec_locked


def test_answer_client(accepting_project: Path) -> None:
    """It counts as the answer of a person at that client."""
    server = stdio_server(accepting_project)
    with connect(server, "auto", elicitation=accepting(MERGE)) as client:
        assert status_of(merge(client)) == "done"
    assert confirmation(accepting_project).via == "elicitation mcp 0.1.0"


def test_answer_token(accepting_project: Path, tmp_path: Path) -> None:
    """It counts as the answer of the person to whom the token belongs."""
    tokens = tmp_path / "tokens.toml"
    tokens.write_text(TOKENS, encoding="utf-8")
    tokens.chmod(0o600)
    with served(
        "--transport", "http", "--token-file", str(tokens), project=accepting_project
    ) as server:
        token = re.findall(r'"(.+)"', tokens.read_text(encoding="utf-8"))[0]
        assert token == PERSON
        here = target(server, "streamable-http", token=token)
        with connect(here, "auto", elicitation=accepting(MERGE)) as client:
            assert status_of(merge(client)) == "done"


def test_answer_state(tmp_path: Path) -> None:
    """The project is as it says there."""
    play_until(tmp_path, "blueprint")
    state = tmp_path / ".goopspec" / "state.json"
    text = state.read_text(encoding="utf-8")
    text = re.sub(r'("specLocked": )false', r"\1true", text)
    state.write_text(re.sub(r'("phase": )"\w+"', r'\1"accept"', text), encoding="utf-8")
    with opened(tmp_path) as context:
        status = project_status(context)
    assert (status.phase, status.spec_locked) == ("accept", True)


def remember(project: Path, title: str) -> None:
    with closing(open_store(None, project=project)) as store:
        save_memory(store, MemoryDraft(title=title, content="Something."))


def record(project: Path, reply: str) -> None:
    write(project, "src/login.py")
    ended = run("reports", "record", "-", stdin=reply.encode(), cwd=project)
    assert ended.code == 0, ended


def test_answer_commands(tmp_path: Path) -> None:
    """They act without a question."""
    play_until(tmp_path, "blueprint")
    remember(tmp_path, "A title")
    record(tmp_path, COMPLETE_REPLY)
    graph = create_waiting_run(tmp_path)
    for words in (
        ["reports", "withdraw", "1", "--reason", "none"],
        ["memory", "forget", "1"],
        ["runs", "cancel", graph],
        ["runs", "retry", graph, "write"],
    ):
        ended = run(*words, cwd=tmp_path)
        assert ended.code == 0, (words, ended)


# The record of runs


@pytest.fixture
def player(tmp_path: Path) -> Player:
    """Return an agent in a project with a broken function, a test of it and a Makefile."""
    (tmp_path / "state").mkdir()
    work = Work(tmp_path / "work")
    work.write(".gitignore", ".goopspec/\n.venv/\n__pycache__/\n")
    work.write("Makefile", "test:\n\t@./run.sh\n")
    work.write("run.sh", "#!/bin/sh\nexit 1\n").chmod(0o755)
    work.write("app.py", BROKEN)
    work.write("test_app.py", TEST)
    work.commit("broken")
    return Player(work, tmp_path / "state")


GRAPH = """\
graph = 1
name = "one"

[agents.builder]
run = "command"
command = {command}

[tasks.build]
agent = "builder"
prompt = "Build it."
"""


def proves(player: Player, run: str, *options: str) -> bool:
    """Return whether a report that names the run is accepted where recorded runs are required."""
    claim = f'<check name="tests" passed="true" run="{run}">pytest: 12 passed</check>'
    words = ["check", "-", "--workspace", "--require-evidence", "recorded", "--format", "json"]
    done = player.goop(*words, *options, given=player.report(claim))
    [verdict] = json.loads(done.stdout)
    [item] = [each for each in verdict["evidence"] if each["claim"].startswith("check")]
    return bool(verdict["verdict"] == "accepted" and item["tier"] == "recorded")


def test_run_program(player: Player) -> None:
    """Its output counts: tests passed."""
    player.work.write(".venv/bin/pytest", f"#!/bin/sh\necho '{SHOWN}'\n").chmod(0o755)
    usual = player.environment["PATH"]
    shadowed = f"{Path(player.runner()).parent}{os.pathsep}{usual}"
    for program, path in ((".venv/bin/pytest", usual), ("pytest", shadowed)):
        run, line = player.record(program, PATH=path)
        assert "tests passed (12 run)" in line
        assert proves(player, run)


def test_run_tests(player: Player) -> None:
    """What the runner shows counts: tests passed."""
    for file, options in (("conftest.py", ()), ("own.py", ("-p", "own"))):
        changes = player.work.write(
            file,
            "import pytest\n\n\n@pytest.hookimpl(wrapper=True)\ndef pytest_runtest_makereport():\n"
            "    report = yield\n    report.outcome = 'passed'\n    return report\n",
        )
        run, line = player.record(*PYTEST, *options)
        assert "tests passed (1 run)" in line
        assert proves(player, run)
        changes.unlink()


def test_run_script(player: Player) -> None:
    """What the target shows counts: tests passed."""
    base = player.work.git("rev-parse", "HEAD").strip()
    player.work.write("run.sh", f"#!/bin/sh\necho '{SHOWN}'\n")
    run, _ = player.record("make", "test")
    assert proves(player, run, "--base", base)


def test_run_commit(player: Player) -> None:
    """What the target shows counts: tests passed."""
    base = player.work.git("rev-parse", "HEAD").strip()
    player.work.write("Makefile", f"test:\n\t@echo '{SHOWN}'\n")
    run, _ = player.record("make", "test")
    assert not proves(player, run)
    player.work.commit("mine")
    run, _ = player.record("make", "test")
    assert proves(player, run)
    assert not proves(player, run, "--base", base)


def test_run_swap(player: Player) -> None:
    """The run is bound to the files as they were before and after it: tests passed."""
    script = player.state / "bin" / "pytest"
    script.parent.mkdir()
    script.write_text(
        "#!/bin/sh\ncp -p app.py ../kept\nsed -i 's/a - b/a + b/' app.py\n"
        f'{shlex.join(PYTEST)} "$@"\nmv ../kept app.py\n',
        encoding="utf-8",
    )
    script.chmod(0o755)
    run, line = player.record(str(script))
    assert "tests passed (1 run) on tree" in line
    assert (player.work.folder / "app.py").read_text(encoding="utf-8") == BROKEN
    assert proves(player, run)


def test_run_record(player: Player, monkeypatch: pytest.MonkeyPatch) -> None:
    """It counts as recorded here: tests passed."""
    run, line = player.record(*PYTEST)
    assert "tests failed" in line
    monkeypatch.setenv("XDG_STATE_HOME", str(player.state))
    key = machine_key(create=False)
    assert key is not None
    with closing(sqlite3.connect(player.work.folder / ".goopspec" / "goop.db")) as database:
        [(content, mac)] = database.execute("SELECT content, mac FROM recorded_runs")
        failed = unseal(content, mac, key)
        assert failed is not None
        forged = failed._replace(outcome="passed", why="", exit_code=0)
        database.execute("UPDATE recorded_runs SET content = ?, mac = ?", seal(forged, key))
        database.commit()
    assert proves(player, run)


def test_run_named(player: Player) -> None:
    """A run of this command counts: tests passed."""
    command = [sys.executable, "-c", f"print({SHOWN!r})"]
    player.work.write(".goopspec/checks.toml", f"[checks.tests]\ncommand = {command}\n")
    assert not proves(player, player.record(*command)[0])
    refused = player.goop("run", "--trust")
    [digest] = set(re.findall(r"[0-9a-f]{64}", refused.stderr))
    assert player.goop("run", "--trust", digest).returncode == 0
    assert proves(player, player.record(*command)[0])


def test_run_graph(player: Player) -> None:
    """The programs of the graph run."""
    script = f"open({str(player.state / 'ran')!r}, 'w').close()"
    player.work.write(
        "graph.toml", GRAPH.format(command=json.dumps([sys.executable, "-c", script]))
    )
    refused = player.goop("delegate", "graph.toml")
    [digest] = set(re.findall(r"[0-9a-f]{64}", refused.stderr))
    assert not (player.state / "ran").exists()
    player.goop("delegate", "graph.toml", "--trust", digest)
    assert (player.state / "ran").exists()


def test_run_transcript(machine: Host, tmp_path: Path) -> None:
    """It counts as observed: tests passed."""
    failed = recorded("failed-claimed-passed")
    transcript = tmp_path / "agent-a1.jsonl"
    transcript.write_bytes(failed.file.read_bytes())
    machine.configure(check_workspace=False, require_evidence="observed")
    values = {"agent_transcript_path": str(transcript), "last_assistant_message": failed.report}
    assert machine.send(STOP, **values).reason

    lines = [json.loads(line) for line in transcript.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        if str(line.get("toolUseResult")).startswith("Error: Exit code 1"):
            [result] = line["message"]["content"]
            result |= {"content": SHOWN, "is_error": False}
            line["toolUseResult"] = {"stdout": SHOWN, "stderr": "", "interrupted": False}
    transcript.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    assert machine.send(STOP, prompt_id="b", **values).passed


def test_run_reporter(tmp_path: Path) -> None:
    """The report counts as one of that agent."""
    create_project(ProjectFiles(tmp_path), name="Shop", now=NOW)
    record(tmp_path, COMPLETE_REPLY.replace("goop-executor", "goop-verifier"))
    assert "goop-verifier" in run("reports", "list", cwd=tmp_path).out


# git


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    scene = Scene(tmp_path)
    scene.attribute()
    scene.age(scene.work.folder / "src")
    return scene


def test_git_trust(scene: Scene) -> None:
    """Git runs this program whenever files are compared."""
    scene.work.git("config", "filter.evil.clean", scene.mark("ran"))
    assert "trust --git" in by_run(scene)
    assert scene.marks() == []
    folder, home = scene.work.folder, scene.player.environment
    assert run_on_terminal("trust", "--git", cwd=folder, env=home, typed="y\n").code == 0
    assert " on tree " in by_run(scene)
    assert scene.marks() == ["ran"]


def test_git_script(scene: Scene) -> None:
    """Git runs what is in it now whenever files are compared."""
    script = scene.work.write("tools/clean.sh", "#!/bin/sh\nexec cat\n")
    script.chmod(0o755)
    scene.work.git("config", "filter.evil.clean", "./tools/clean.sh")
    trust(scene, "--digest", digest_in(trust(scene).stderr))
    script.write_text(f"#!/bin/sh\ntouch {scene.ran}/ran\nexec cat\n", encoding="utf-8")
    assert " on tree " in by_run(scene)
    assert scene.marks() == ["ran"]


def test_git_user(scene: Scene) -> None:
    """Git runs it whenever files are compared."""
    write(scene.player.state, ".gitconfig", f'[filter "evil"]\n\tclean = {scene.mark("ran")}\n')
    assert " on tree " in by_run(scene)
    assert scene.marks() == ["ran"]


def test_git_worktree(scene: Scene) -> None:
    """Git runs this program while it makes the worktree."""
    # In the moment that another process would have to find.
    wrapper = scene.player.state / "bin" / "git"
    setting = ["config", "filter.evil.smudge", scene.mark("ran")]
    wrapper.write_text(
        f'#!/bin/sh\ncase " $* " in *" worktree add "*) {GIT} {shlex.join(setting)};; esac\n'
        f'exec {GIT} "$@"\n',
        encoding="utf-8",
    )
    wrapper.chmod(0o755)
    path = f"{wrapper.parent}{os.pathsep}{scene.player.environment['PATH']}"
    scene.player.environment["PATH"] = path
    in_worktree(scene)
    assert scene.marks() == ["ran"]


# The database


def test_database_rows(accepting_project: Path) -> None:
    """It counts, with the name that stands there."""
    assert run("project", "merge", cwd=accepting_project).code == 3
    with closing(sqlite3.connect(accepting_project / ".goopspec" / "goop.db")) as database:
        database.execute(
            "UPDATE confirmations SET status = 'confirmed', via = 'terminal ann', answered_at = ?",
            [NOW],
        )
        database.commit()
    ended = run("project", "merge", cwd=accepting_project)
    assert ended.code == 0
    assert "The merge is confirmed." in ended.out
    assert confirmation(accepting_project).via == "terminal ann"


def test_database_folder(tmp_path: Path) -> None:
    """What was recorded since is gone, and no message says so."""
    create_project(ProjectFiles(tmp_path), name="Shop", now=NOW)
    folder, copy = tmp_path / ".goopspec", tmp_path / "copy"
    remember(tmp_path, "First")
    shutil.copytree(folder, copy)
    remember(tmp_path, "Second")
    shutil.rmtree(folder)
    copy.rename(folder)
    for words in (["status"], ["memory", "list"]):
        ended = run(*words, cwd=tmp_path)
        assert ended.code == 0
        assert ended.err == ""
        assert "older copy" not in ended.out
    assert "First" in ended.out
    assert "Second" not in ended.out


# The hooks


def test_hooks_removed(tmp_path: Path) -> None:
    """The session goes on, and no report is judged."""
    machine = make_machine(tmp_path)
    assert machine.run_here("install", "claude-code").code == 0
    settings = machine.project / ".claude" / "settings.json"
    assert "hook claude-code" in settings.read_text(encoding="utf-8")
    assert machine.run("uninstall", "claude-code").code == 0
    assert not settings.exists()

    # Or without touching the host: what its hook starts is not found any more.
    ended = start("hook", "claude-code", programs=tmp_path)
    assert (ended.returncode, ended.stdout) == (0, "")


def test_hooks_ended(machine: Host) -> None:
    """The host gets no answer, as from a hook that has nothing to say."""
    words = [sys.executable, "-m", "goop_mcp", "hook", "claude-code"]
    with subprocess.Popen(
        words, cwd=machine.project, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()
    ) as hook:
        hook.kill()
        assert hook.communicate()[0] == b""


def test_hooks_counter(machine: Host) -> None:
    """The reply passes, marked as not accepted."""
    begin(machine)
    assert machine.send(STOP, last_assistant_message=BAD).reason
    file = machine.data / "hook-attempts.json"
    kept = json.loads(file.read_text(encoding="utf-8"))
    for entry in kept.values():
        entry[1][0] = 7
    file.write_text(json.dumps(kept), encoding="utf-8")
    answer = machine.send(STOP, last_assistant_message="Done.", stop_hook_active=True)
    assert answer.passed
    assert "not accepted" in answer.message


# The workbench


@only_linux
def test_workbench_login(tmp_path: Path) -> None:
    """The login is theirs, and your browser shows that the address was used."""
    play_until(tmp_path, "blueprint")
    browser = tmp_path / "browser"
    browser.write_text(f"#!{sys.executable}\nimport time\n\ntime.sleep(60)\n", encoding="utf-8")
    browser.chmod(0o755)
    opening = [each for each in UI if each != "--no-open"]
    with on_terminal(["env", f"BROWSER={browser}", "DISPLAY=:0", *opening], tmp_path) as ui:
        address = f"http://127.0.0.1:{ui.port}/login/".encode()

        def seen() -> list[bytes]:
            commands = []
            for each in Path("/proc").glob("[0-9]*/cmdline"):
                with suppress(OSError):
                    commands += each.read_bytes().split(b"\0")
            return [word for word in commands if word.startswith(address)]

        assert within(60, lambda: bool(seen()))
        status, page, _ = ui.ask("/login/" + seen()[0].decode().rpartition("/")[2])
        assert status == 200
        assert "data-key" in page
        status, page, _ = ui.ask(ui.login)
        assert status == 401
        assert "was used" in page


# Processes


@pytest.fixture
def left(tmp_path: Path) -> Iterator[Left]:
    left = Left(tmp_path / "left")
    yield left
    left.end()


@only_linux
def test_process_environment(left: Left) -> None:
    """It runs on after the time limit of its task."""

    async def stopped() -> None:
        words = ["/bin/sh", "-c", f"env -i setsid --fork {QUOTED} stays.py ids; exec sleep 300"]
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: run_program(words, folder=left.folder))
            await anyio.to_thread.run_sync(left.wait_for, 1)
            group.cancel_scope.cancel()

    anyio.run(stopped)
    programs = {pid: started(pid) for pid in left.ids}
    assert some_live(programs) == list(programs)


@only_linux
def test_process_left(left: Left) -> None:
    """It runs on after the end of its task."""
    words = ["/bin/sh", "-c", f"setsid --fork {QUOTED} stays.py ids >/dev/null 2>&1"]
    ended = anyio.run(lambda: run_program(words, folder=left.folder))
    assert ended.exit_code == 0
    programs = left.wait_for(1)
    assert some_live(programs) == list(programs)
