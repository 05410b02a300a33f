"""What a page shows of files and of output is what a project, a server or a host really gets."""

import re
import shlex
import signal
import subprocess
import sys
import time
import tomllib
from contextlib import closing
from pathlib import Path

import pytest

from goop_mcp.delegation.ledger import Ledger
from goop_mcp.store.opening import open_store
from tests.cli.running import PROGRAM, environment, run_command, run_on_terminal
from tests.delegation.test_many_machines import write_graph
from tests.documentation.pages import fences, read_page
from tests.documentation.test_shell_examples import Reader
from tests.hosts.hooks.hooks import Host
from tests.postgres import Database
from tests.repository import ROOT
from tests.server.http.serving import served
from tests.services.reporting import record, report, working_in
from tests.services.test_project_steps import Player
from tests.workspace.projects import copied

SECONDS = 120


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    return Reader(tmp_path)


def example(page: str, begins: str) -> str:
    (found,) = (each.text for each in fences(page) if each.text.startswith(begins))
    return found


def normal(text: str) -> str:
    """Return the text without what differs from machine to machine and from time to time."""
    shown = re.sub(r"(PATH: ).*(/goop-mcp)", r"\1…\2", text)
    shown = re.sub(r"(SPEC\.md )[0-9a-f]{7}", r"\1…", shown)
    shown = re.sub(r"\d+\.\d+(\.\d+)?", "0.0", shown)
    return shown.replace("\r\n", "\n").strip()


def test_the_entries_of_the_chronicle_are_written_as_shown(tmp_path: Path) -> None:
    copied("profile_0x", tmp_path)
    with working_in(tmp_path) as project:
        record(project, report("W2.T1", summary="Items can be ticked off."))
        record(project, report("W2.T2", status="BLOCKED"))

    chronicle = (tmp_path / ".goopspec" / "CHRONICLE.md").read_text(encoding="utf-8")
    page = "docs/workspace.md"
    assert f"\n\n{example(page, '<!-- goop:rev')}" in chronicle
    assert f"\n\n{example(page, '<!-- goop:state')}" in chronicle


def test_a_person_is_asked_to_lock_as_shown(tmp_path: Path) -> None:
    with working_in(tmp_path) as project:
        Player(project).planned()

    ended = run_on_terminal("project", "lock", cwd=tmp_path, typed="n\n")
    shown = normal(example("docs/cli.md", "Lock the"))
    # The terminal repeats what was typed, wherever the program is by then.
    asked = normal(ended.out.replace("n\n", "", 1))
    assert asked.startswith(shown), ended.out


def test_doctor_names_what_the_page_shows(reader: Reader) -> None:
    (reader.project / ".cursor").mkdir()
    reader.save(
        ".cursor/mcp.json", '{"mcpServers": {"goop": {"command": "/old/venv/bin/goop-mcp"}}}'
    )
    reader.type("goop-mcp init --name Shop\ngoop-mcp install claude-code")
    ended = reader.type("goop-mcp doctor")

    assert ended.code == 1
    assert normal(ended.out) == normal(example("docs/cli.md", "ok "))


def test_the_workbench_prints_an_address_as_shown(reader: Reader) -> None:
    command, shown = example("docs/workbench.md", "$ goop-mcp ui").splitlines()
    reader.type("goop-mcp init --name Shop")
    with subprocess.Popen(
        [*PROGRAM, *shlex.split(command)[2:]],
        cwd=reader.project,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        printed = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.wait(SECONDS)

    form = re.sub(r":\d+/", r":\\d+/", re.escape(shown.rpartition("/")[0])) + r"/[\w-]{32}\n"
    assert re.fullmatch(form, printed), printed


def test_a_subagent_that_forgot_its_report_is_sent_what_the_page_shows(tmp_path: Path) -> None:
    host = Host(tmp_path, tmp_path / "data")
    reason = host.send("SubagentStop").reason
    shown = example("docs/hosts/claude-code.md", "SubagentStop hook").partition('code": ')[2]

    # On the page two lines stand for one that is too long.
    assert "".join(shown.split()) == "".join(reason.split())


def test_a_runner_of_many_machines_takes_the_tasks(database: Database, tmp_path: Path) -> None:
    graph = write_graph(tmp_path, "shop", 2, seconds=0)
    line = example("docs/delegation.md", "goop-mcp delegate --runner-only")
    shown = line.replace("postgresql://…", database.url()).replace(line.split()[-1], graph.digest)
    assert shown.count(database.url()) == shown.count(graph.digest) == 1

    with closing(open_store(database.url(), project=tmp_path, project_id="shop")) as store:
        run = Ledger(store).create(graph, input={})
        with subprocess.Popen(
            [*PROGRAM, *shlex.split(shown)[1:]],
            cwd=tmp_path,
            env=environment({"XDG_STATE_HOME": str(tmp_path / "state")}),
            stderr=subprocess.DEVNULL,
        ) as process:
            try:
                end = time.monotonic() + SECONDS
                while Ledger(store).run(run).state != "finished":
                    assert time.monotonic() < end
                    time.sleep(0.1)
                process.send_signal(signal.SIGTERM)
                assert process.wait(SECONDS) == 0
            finally:
                process.kill()


def test_the_settings_of_several_machines_are_taken(
    database: Database, reader: Reader, tmp_path: Path
) -> None:
    first, *_, replica = (each.text for each in fences("docs/scaling.md", "sh"))
    url = "postgresql://goop@db.example/goop"
    assert first.count(url) == replica.count(url) == 1
    reader.type("goop-mcp init --name Shop")
    ended = reader.type(f"{first.replace(url, database.url())}\ngoop-mcp status")
    assert ended.code == 0, ended.err

    (tmp_path / "token").write_text("t" * 40)
    (tmp_path / "token").chmod(0o600)
    (tmp_path / "key").write_text("k" * 40)
    exports, serve = replica.replace(url, database.url()).rstrip().rsplit("\n", 1)
    exports = exports.replace("/run/secrets/goop-tokens", str(tmp_path / "token"))
    exports = exports.replace("/run/secrets/goop-state-key", str(tmp_path / "key"))
    given = reader.type(f"{exports}\nenv").out.splitlines()
    variables = dict(line.split("=", 1) for line in given if line.startswith("GOOP_"))
    assert variables["GOOP_STATE_KEYS"] == "k" * 40

    words = shlex.split(serve)
    # The page listens on all addresses; a test opens nothing to the network.
    del words[words.index("--host") : words.index("--host") + 2]
    with served(*words[2:], project=reader.project, **variables) as server:
        assert server.mcp.endswith("/mcp")


def test_what_the_page_on_frameworks_installs_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (lines,) = (each.text for each in fences("docs/frameworks.md", "") if "pip" in each.text)
    words = [word for line in lines.splitlines() for word in shlex.split(line, comments=True)]
    packages = [word for word in words if word not in ("pip", "install", "--no-deps")]

    assert packages == ["crewai", "lxml>=6", "msgspec>=0.20", "goop-mcp"]
    for package in packages[1:-1]:
        assert any(each.startswith(package) for each in project["dependencies"])


def test_the_page_on_frameworks_installs_what_an_adapter_loads() -> None:
    script = """\
import sys
from importlib.metadata import packages_distributions

from goop_mcp import RetryPolicy, validate
from goop_mcp.hosts.frameworks import open_reviews, reply_text, unaccepted
from goop_mcp.retry import review

validate("<goop_report></goop_report>", protocol="goop_report")
print(*sys.modules.keys() & packages_distributions().keys())
"""
    ended = run_command([sys.executable, "-c", script])
    assert ended.code == 0, ended.err
    # crewai needs anyio and opentelemetry itself, and what those need.
    known = {"anyio", "idna", "opentelemetry", "sniffio", "typing_extensions", "goop_mcp"}
    loaded = {each for each in ended.out.split() if not each.startswith("_")}
    assert loaded - known == {"lxml", "msgspec"}


def test_the_message_of_a_commit_follows_the_page() -> None:
    page = read_page("CONTRIBUTING.md")
    (message,) = (each.text for each in fences("CONTRIBUTING.md", "") if "retry: " in each.text)
    subject, blank, *body = message.rstrip().splitlines()

    assert "`area: reason`, at most 72 characters" in page
    assert re.fullmatch(r"[a-z]+: [a-z].*[^.]", subject)
    assert (ROOT / "goop_mcp" / subject.partition(":")[0]).is_dir()
    assert max(map(len, [subject, *body])) <= 72
    assert blank == ""


def test_the_mark_of_a_requirement_is_one_that_exists() -> None:
    (code,) = (each.text for each in fences("CONTRIBUTING.md", "python"))
    # An id that is not in the list ends the program.
    script = f"{code}\nprint(test_blocked_report_without_blockers_is_rejected.pytestmark)"
    ended = run_command([sys.executable, "-c", script])
    assert ended.code == 0, ended.err
    assert "('G-45',)" in ended.out
