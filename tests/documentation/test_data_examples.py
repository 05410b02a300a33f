"""Examples that a program reads are given to that program, and Python without a test of its own."""

import asyncio
import json
import os
import re
import shlex
import sqlite3
import sys
from contextlib import closing
from importlib import import_module
from pathlib import Path

import pytest
import yaml
from lxml import etree

from goop_mcp import validate
from goop_mcp.hosts.hooks.events import read_event
from goop_mcp.protocols.goop_report import Report
from goop_mcp.server.http.tokens import read_token_file
from goop_mcp.services.named_checks import read_checks
from goop_mcp.services.schemas import find_schema
from goop_mcp.services.stop_hooks.policy import read_policy
from goop_mcp.store.opening import open_store
from tests.cli.running import Ended, run, run_command
from tests.delegation.graphs import Team
from tests.documentation.pages import Fence, fences
from tests.documentation.test_examples import names_of, plain, readme_reply
from tests.frameworks import recipes
from tests.repository import ROOT
from tests.retry.agents import GOOD
from tests.workspace.true_projects import git

SERVERS = {"goop"}


def only(page: str, language: str, words: str = "") -> Fence:
    """Return the one example of a page in a language that has the words."""
    (found,) = [each for each in fences(page, language) if words in each.text]
    return found


@pytest.mark.parametrize(
    ("page", "host", "file"),
    [
        ("docs/hosts/cursor.md", "cursor", ".cursor/mcp.json"),
        ("docs/hosts/vscode.md", "vscode", ".vscode/mcp.json"),
        ("docs/hosts/opencode.md", "opencode", "opencode.json"),
    ],
)
def test_the_entry_of_a_host_is_what_install_writes(
    page: str, host: str, file: str, tmp_path: Path
) -> None:
    assert run("install", host, "--project", tmp_path, cwd=tmp_path).code == 0
    written = (tmp_path / file).read_text(encoding="utf-8")
    # Only the place of the program is that of this machine.
    command = re.sub(r'"[^"]*python[^"]*",\s*"-m",\s*"goop_mcp"', '"goop-mcp"', written)
    command = re.sub(r'"command": "[^"]*"', '"command": "goop-mcp"', command)
    command = re.sub(r'"args": \[[^]]*\]', '"args": []', command)
    command = re.sub(r'"[^"]*/goop-mcp"', '"goop-mcp"', command)

    assert json.loads(command) == json.loads(only(page, "json").text)


def test_the_entries_that_are_written_by_hand_start_the_server_as_install_does() -> None:
    entries = [
        entry
        for page in ("docs/mcp.md", "docs/security.md")
        for example in fences(page, "json")
        for key, servers in json.loads(example.text).items()
        if key in {"mcpServers", "servers", "mcp"}
        for name, entry in servers.items()
        if name in SERVERS
    ]
    started = [
        command if isinstance(command, list) else [command, *entry["args"]]
        for entry in entries
        if (command := entry.get("command"))
    ]
    assert started == [["uvx", "goop-mcp"]] * 4
    (remote,) = (entry for entry in entries if "url" in entry)
    assert remote["headers"] == {"Authorization": "Bearer ${GOOP_TOKEN}"}


def test_the_hooks_of_codex_and_of_a_running_server_name_events_that_are_answered() -> None:
    hooks = json.loads(only("docs/hosts/codex.md", "json").text)["hooks"]
    for event, matchers in hooks.items():
        assert read_event(json.dumps({"hook_event_name": event}).encode()).name == event
        commands = [hook["command"] for each in matchers for hook in each["hooks"]]
        assert commands == ["goop-mcp hook codex"]

    tool = json.loads(only("docs/hosts/claude-code.md", "json", "mcp_tool").text)
    module = import_module("goop_mcp.server.tools.hooks")
    assert tool["tool"] == "hook_check"
    assert set(tool["input"]) <= set(re.findall(r"\w+", Path(module.__file__ or "").read_text()))


def test_the_settings_of_the_hooks_are_read_without_a_remark(tmp_path: Path) -> None:
    example = only("docs/hosts/claude-code.md", "json", "ask_again").text
    (tmp_path / ".goopspec").mkdir()
    (tmp_path / ".goopspec" / "hooks.json").write_text(example, encoding="utf-8")
    policy, remarks = read_policy(str(tmp_path))

    assert remarks == ()
    assert {**json.loads(example)} == {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in policy._asdict().items()
        if key in json.loads(example)
    }
    schema = json.loads(find_schema("hooks").text)
    import_module("jsonschema").Draft202012Validator(schema).validate(json.loads(example))


def test_the_named_checks_of_the_page_are_read(tmp_path: Path) -> None:
    (tmp_path / ".goopspec").mkdir()
    (tmp_path / ".goopspec" / "checks.toml").write_text(
        only("docs/recorded-runs.md", "toml").text, encoding="utf-8"
    )
    checks = read_checks(tmp_path).checks
    assert list(checks) == ["tests"]
    assert tuple(checks["tests"].command[:2]) == ("pytest", "-q")


def test_the_tokens_of_the_page_are_read(tmp_path: Path) -> None:
    # On the page the tokens are cut, so that nobody copies one.
    text = only("docs/security.md", "toml").text.replace("…", "0" * 40)
    file = tmp_path / "tokens"
    file.touch(0o600)
    file.write_text(text, encoding="utf-8")
    tokens = read_token_file(str(file))

    assert tokens.tenants >= {"acme"}
    holder = tokens.holder("90b2" + "0" * 40)
    assert holder is not None
    assert holder.name == "ci"


def test_the_workflow_and_the_hook_of_the_page_name_what_this_repository_offers() -> None:
    workflow, hook = (yaml.safe_load(each.text) for each in fences("docs/deployment.md", "yaml"))
    inputs = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["inputs"]
    (ours,) = (step for step in workflow["steps"] if "/goop-mcp@" in step["uses"])
    assert set(ours["with"]) <= set(inputs)
    assert {name for name, each in inputs.items() if each.get("required")} <= set(ours["with"])

    offered = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    ((used,),) = (repo["hooks"] for repo in hook["repos"])
    assert used["id"] in {each["id"] for each in offered}
    for entry in (used["entry"], *(each["entry"] for each in offered)):
        program, *words = shlex.split(entry)
        assert (program, words[-1]) == ("goop-mcp", "--")
        assert run(*words, "-", stdin=GOOD.encode()).code == 0


def test_the_line_of_the_log_has_the_keys_that_are_written(tmp_path: Path) -> None:
    shown = json.loads(only("docs/observability.md", "json").text)
    ended = run(
        "serve",
        stdin=b'{"jsonrpc": "2.0", "id": 1, "method": "nothing"}\n',
        cwd=tmp_path,
        env={"GOOP_LOG_LEVEL": "DEBUG", "GOOP_LOG_FORMAT": "json"},
    )
    written = [json.loads(line) for line in ended.err.splitlines()]
    assert written
    for line in written:
        assert {"time", "level", "logger", "message"} <= set(line)
        assert set(line) <= {*shown, "exception"}
    assert re.fullmatch(r"[0-9-]+T[0-9:]+\.\d{3}Z", shown["time"])


@pytest.mark.parametrize(
    ("page", "language", "protocol"),
    [
        ("docs/protocols/goop_report.md", "xml", "goop_report"),
        ("docs/protocols/goop_report.md", "markdown", "goop_report"),
        ("docs/protocols/agent_request.md", "markdown", "agent_request"),
        ("docs/protocols/speckit.md", "text", "speckit"),
        ("docs/protocols/speckit.md", "json", "speckit"),
        ("docs/protocols/factory.md", "json", "factory"),
    ],
)
def test_the_envelope_that_a_page_shows_is_accepted(
    page: str, language: str, protocol: str
) -> None:
    verdict = validate(only(page, language).text)
    assert verdict.accepted, verdict.feedback
    assert verdict.protocol == protocol


@pytest.mark.parametrize("page", ["docs/protocols/spec.md", "docs/recorded-runs.md"])
def test_the_checks_that_a_page_shows_are_accepted_in_a_report(page: str) -> None:
    shown = only(page, "xml").text
    given = shown if "<verification>" in shown else f"<verification>{shown}</verification>"
    text, count = re.subn("<verification>.*?</verification>", given.strip(), GOOD, flags=re.DOTALL)
    verdict = validate(text)

    assert count == 1
    assert verdict.accepted, verdict.feedback
    checks = etree.fromstring(given).iterchildren("check")
    assert isinstance(verdict.envelope, Report)
    assert [each.name for each in verdict.envelope.verification or ()] == [
        each.get("name") for each in checks
    ]


def test_the_first_page_shows_the_feedback_of_the_readme() -> None:
    assert plain(only("docs/index.md", "text").text) == plain(
        validate(readme_reply()).feedback or ""
    )


def test_the_graph_in_python_runs(tmp_path: Path) -> None:
    work = recipes.names_of("In Python", page="delegation.md")["work"]
    state, envelope, waits = asyncio.run(work(Team(), Team(), tmp_path))
    assert (state, waits) == ("finished", ())
    assert envelope["summary"]


def test_the_events_of_a_run_are_read_in_python(tmp_path: Path) -> None:
    names = recipes.names_of("In Python", page="delegation.md")
    asyncio.run(names["work"](Team(), Team(), tmp_path))
    with closing(open_store(None, project=tmp_path)) as store:
        [run_] = store.read(lambda reading: reading.graphs.runs(include_ended=True))
        lines, after = asyncio.run(names["changes"](store, run_.id))
        again = asyncio.run(names["changes"](store, run_.id, after))

    assert [line.partition(" ")[2] for line in lines][-2:] == ["build: running", "build: accepted"]
    assert again == ([], run_.last_seq)


def test_the_evidence_of_a_program_contradicts_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    report = '<testsuite tests="2" failures="{}"><testcase classname="a" name="one"/>{}</testsuite>'
    second = '<testcase classname="a" name="two"/>'
    for name in ("before.xml", "results.xml"):
        Path(name).write_text(report.format(0, second), encoding="utf-8")
    Path("coverage.xml").write_text(
        '<coverage><packages><package name="a"><classes><class name="a" filename="a.py"><lines>'
        '<line number="1" hits="1"/><line number="2" hits="0"/>'
        "</lines></class></classes></package></packages></coverage>"
    )
    defined = names_of("docs/evidence.md", reply=GOOD, messages=[])

    assert not defined["verdict"].accepted
    assert "tests is reported as passed" in defined["verdict"].feedback
    assert "50.0 None" in capsys.readouterr().out


def test_the_python_about_what_is_expected_of_a_report_runs() -> None:
    page = "docs/protocols/goop_report.md"
    heard: list[str] = []
    names_of(page, reply="Done.", ask_again=heard.append)
    assert heard
    assert "report" in names_of(page, reply=GOOD, ask_again=heard.append)
    assert len(heard) == 1


def test_what_install_prints_for_opencode_is_on_its_page(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    (tmp_path / "opencode.json").write_text("{}", encoding="utf-8")
    home = tmp_path / "home"
    printed = run(
        "install",
        "opencode",
        "--command",
        "goop-mcp",
        cwd=tmp_path,
        env={"HOME": str(home), "XDG_STATE_HOME": str(home / ".local" / "state")},
    ).out

    shown = only("docs/hosts/opencode.md", "", "changed ").text.splitlines()
    # The name of the backup has the digest of a path and the time; the reason names the option.
    assert [line for line in shown if "backup" not in line and "because" not in line] == [
        line for line in printed.splitlines() if "backup" not in line and "because" not in line
    ]


def test_the_error_in_a_graph_is_named_as_shown(tmp_path: Path) -> None:
    page = "docs/delegation.md"
    graph = only(page, "toml").text.replace('needs = ["plan"]', 'needs = ["plam"]', 1)
    (tmp_path / "login.toml").write_text(graph, encoding="utf-8")
    command, _, output = (
        only(page, "console", "plam").text.removeprefix("$ goop-mcp ").partition("\n")
    )
    assert run(*command.split(), cwd=tmp_path).err == output


def test_a_server_starts_and_ends_with_its_client(tmp_path: Path) -> None:
    demo, serve = (
        line.partition("#")[0].split()[1:]
        for line in only("docs/mcp.md", "", "goop-mcp demo").text.splitlines()
    )
    assert run(*demo, cwd=tmp_path).code == 0
    assert run(*serve, cwd=tmp_path).code == 0


class Repository:
    """A repository of git with a test that passes, and pytest on the path."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "test_login.py").write_text("def test_login(): ...\n", encoding="utf-8")
        # As in any repository of Python: otherwise the run itself would change the files.
        (folder / ".gitignore").write_text("__pycache__/\n.goopspec/state/\n", encoding="utf-8")
        (folder / ".goopspec").mkdir()
        (folder / ".goopspec" / "checks.toml").write_text(
            '[checks.tests]\ncommand = ["pytest", "-q"]\n', encoding="utf-8"
        )
        self.git("init", "--quiet")
        self.git("add", ".gitignore", "test_login.py")
        self.git("-c", "user.name=A", "-c", "user.email=a@b.c", "commit", "--quiet", "-m", "test")

    def git(self, *words: str) -> None:
        assert run_command(["git", *words], cwd=self.folder).code == 0

    def run(self, *words: str) -> Ended:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        state = {"HOME": str(self.folder), "XDG_STATE_HOME": str(self.folder / ".goopspec/state")}
        return run(*words, cwd=self.folder, env={"PATH": path, **state})


def test_a_recorded_run_prints_what_the_page_shows(tmp_path: Path) -> None:
    command, *shown = only("docs/recorded-runs.md", "console").text.splitlines()
    ended = Repository(tmp_path).run(*command.removeprefix("$ goop-mcp ").split())
    assert ended.code == 0

    printed = [ended.out.splitlines()[-1], ended.err.splitlines()[-1]]
    # Ids, counts and times differ from run to run.
    varies = re.compile(r"r-[0-9a-f]+|(?<=tree )[0-9a-f]+|[0-9]+(?:\.[0-9]+)?s?")
    assert [varies.sub("N", line) for line in printed] == [varies.sub("N", line) for line in shown]


def test_the_step_of_ci_runs_the_named_checks_again(tmp_path: Path) -> None:
    work = Repository(tmp_path)
    (tmp_path / "report.md").write_text(
        re.sub(r'<check name="typecheck".*?</check>', "", GOOD).replace("12 passed", "1 passed"),
        encoding="utf-8",
    )
    digest = read_checks(tmp_path).digest
    for line in only("docs/recorded-runs.md", "sh").text.splitlines():
        ended = work.run(*line.replace('"$CHECKS_DIGEST"', digest).split()[1:])
        assert ended.code == 0, ended
    assert "tests: confirmed" in ended.out


def test_the_question_about_who_wrote_a_memory_is_answered(tmp_path: Path) -> None:
    assert run("memory", "save", "Login", "The login needs a session", cwd=tmp_path).code == 0
    with closing(sqlite3.connect(tmp_path / ".goopspec" / "goop.db")) as database:
        rows = database.execute(only("docs/security.md", "sql").text).fetchall()
    # The command line has no token, so nobody is named; columns that are missing would be errors.
    assert rows in ([], [(None, None, "Login")])
