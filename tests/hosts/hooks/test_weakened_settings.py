"""An agent that is judged cannot lower how it is judged: what weakens needs a person."""

import json
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import Ended, run, run_on_terminal
from tests.documentation.pages import read_page
from tests.hosts.hooks.hooks import BAD, GOOD, Answer, Host
from tests.validation.shop import FIX
from tests.workspace.true_projects import commit, git, write

STOP = "SubagentStop"
NO_COUNT = "settings that weaken how reports are judged do not count until a person trusts them"

TOML, PYPROJECT, HOOKS = "goop-mcp.toml", "pyproject.toml", ".goopspec/hooks.json"
FILES = (TOML, PYPROJECT, HOOKS)


@pytest.fixture
def machine(host: Host, tmp_path: Path) -> Host:
    """Return the host of a person with a home of their own, who trusts nothing yet."""
    home = {"HOME": str(tmp_path / "home"), "XDG_STATE_HOME": str(tmp_path / "state")}
    machine = Host(host.project, host.data, environment=home)
    machine.let_know("unread", "unverified")
    return machine


def settings(file: str, hooks: Mapping[str, Any], check: Mapping[str, Any] | None = None) -> str:
    """Return the text of `file` with these tables; hooks.json has no other."""
    if file == HOOKS:
        assert check is None
        return json.dumps(hooks)

    prefix = "tool.goop-mcp." if file == PYPROJECT else ""
    lines = ["[project]", 'name = "shop"'] if file == PYPROJECT else []
    for name, table in (("hooks", hooks), ("check", check or {})):
        lines.append(f"[{prefix}{name}]")
        lines += [f"{key} = {json.dumps(value)}" for key, value in table.items()]
    return "\n".join(lines) + "\n"


def begin(host: Host, **values: object) -> Answer:
    return host.send("SessionStart", source="startup", **values)


def terminal(host: Host, *arguments: str, typed: str = "") -> Ended:
    return run_on_terminal(*arguments, cwd=host.project, env=host.environment, typed=typed)


def program(host: Host, *arguments: str) -> Ended:
    return run(*arguments, cwd=host.project, env=host.environment)


def trusted(host: Host, file: str = TOML) -> None:
    """Trust the settings as a person without a terminal does who has read the digest."""
    digest = re.search(r"--digest ([0-9a-f]{64})", program(host, "trust", file).err)
    assert digest is not None
    assert program(host, "trust", file, "--digest", digest[1]).code == 0


@pytest.mark.parametrize("file", FILES)
def test_an_agent_that_was_sent_back_cannot_take_itself_out(machine: Host, file: str) -> None:
    begin(machine)
    assert machine.send(STOP, last_assistant_message=BAD).reason

    write(machine.project, file, settings(file, {"agents": [], "exempt": ["goop-*"]}))
    again = machine.send(STOP, last_assistant_message="Done.", prompt_id="b")
    assert again.reason
    line = again.message
    assert line.startswith(f"goop-mcp: {NO_COUNT}: agents = [] ({file}")
    assert "exempt = " in line
    assert line.endswith(f"; to trust them: goop-mcp trust {file}")
    assert NO_COUNT in again.ended.err

    # The line is shown once, and the judgement goes on.
    third = machine.send(STOP, last_assistant_message="Done again.", prompt_id="c")
    assert third.reason
    assert (third.message, third.ended.err) == ("", "")


WEAKER = [
    ({}, {"main": "ignored"}),
    ({"mode": "strict"}, {"mode": "lenient"}),
    ({}, {"ask_again": 7}),
    ({}, {"ask_again": 0}),
    ({}, {"check_workspace": False}),
    ({"record": True}, {"record": False}),
    ({"confirm_decisions": True}, {"confirm_decisions": False}),
    ({}, {"evidence": "off"}),
    ({"require_evidence": "observed"}, {"require_evidence": "claimed"}),
    ({"tasks": True}, {"tasks": False}),
    ({}, {"protocol": "auto"}),
]


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize(
    ("before", "now"), WEAKER, ids=lambda each: "-".join(f"{k}={v}" for k, v in each.items()) or "x"
)
def test_each_key_that_weakens_is_named_with_value_and_file(
    machine: Host, file: str, before: Mapping[str, Any], now: Mapping[str, Any]
) -> None:
    write(machine.project, file, settings(file, before))
    assert begin(machine).message == ""

    write(machine.project, file, settings(file, now))
    [(key, value)] = now.items()
    message = machine.send("SubagentStart").message
    assert f"{NO_COUNT}: {key} = {json.dumps(value)} ({file}" in message
    assert f"goop-mcp trust {file}" in message


@pytest.mark.parametrize("file", [TOML, PYPROJECT])
@pytest.mark.parametrize(
    "check",
    [
        {"ignore": ["goop_report"]},
        {"select": ["speckit"]},
        {"severity": {}},
    ],
    ids=lambda each: next(iter(each)),
)
def test_no_severity_is_lowered(machine: Host, file: str, check: Mapping[str, Any]) -> None:
    wrong = GOOD.replace("COMPLETE", "FINISHED")
    begin(machine)
    text = settings(file, {}, check)
    if "severity" in check:
        text = text.replace("severity = {}", 'severity = { goop_report = "off" }')
    write(machine.project, file, text)

    answer = machine.send(STOP, last_assistant_message=wrong)
    assert "unknown-status" in answer.reason
    assert f"check.{next(iter(check))} = " in answer.message


def test_ignoring_everything_is_no_way_out_in_a_project_with_claims(machine: Host) -> None:
    """The claims are verified by the same severities, and not by those of the files."""
    (machine.project / ".goopspec").mkdir()
    begin(machine)
    write(machine.project, TOML, settings(TOML, {}, {"ignore": ["goop_report"]}))
    wrong = GOOD.replace("COMPLETE", "FINISHED")
    assert "unknown-status" in machine.send(STOP, last_assistant_message=wrong).reason


def test_the_main_agent_stays_judged(machine: Host) -> None:
    wrong = GOOD.replace("COMPLETE", "FINISHED")
    begin(machine)
    machine.configure(main="ignored")
    assert machine.send("Stop", last_assistant_message=wrong).reason


def test_claims_stay_verified(machine: Host) -> None:
    machine.configure()
    begin(machine)
    machine.configure(check_workspace=False)
    untrue = GOOD.replace("src/login.py", "src/ghost.py")
    assert "src/ghost.py" in machine.send(STOP, last_assistant_message=untrue).reason


def test_claims_stay_verified_without_the_folder(machine: Host) -> None:
    machine.configure()
    begin(machine)
    shutil.rmtree(machine.project / ".goopspec")
    answer = machine.send(STOP, last_assistant_message=GOOD.replace("login.py", "ghost.py"))
    assert "src/ghost.py" in answer.reason
    assert "the git repository or .goopspec is gone" in answer.message
    assert machine.send(STOP, last_assistant_message=GOOD).ended == Ended(0, "")


def test_requests_stay_as_many(machine: Host) -> None:
    begin(machine)
    for most in (7, 0):
        machine.configure(ask_again=most)
        wrong = [BAD, GOOD.replace("COMPLETE", "FINISHED"), GOOD.replace("true", "?")]
        passed = [
            machine.send(STOP, last_assistant_message=each, prompt_id=f"p{most}").passed
            for each in wrong
        ]
        assert passed == [False, False, True]


def strict(host: Host, file: str) -> str:
    write(host.project, file, settings(file, {"agents": ["*"]}))
    begin(host)
    return file


def removed(host: Host) -> str:
    file = strict(host, TOML)
    (host.project / file).unlink()
    return file


def emptied(host: Host) -> str:
    file = strict(host, HOOKS)
    (host.project / file).write_text("{}")
    return file


def broken(host: Host) -> str:
    file = strict(host, TOML)
    (host.project / file).write_text("[hooks\n")
    return file


def not_json(host: Host) -> str:
    file = strict(host, HOOKS)
    (host.project / file).write_text("{")
    return file


def linked(host: Host) -> str:
    file = strict(host, TOML)
    write(host.project, "lax/other.toml", "[hooks]\nagents = []\n")
    (host.project / file).unlink()
    (host.project / file).symlink_to("lax/other.toml")
    return file


def link_to_itself(host: Host) -> str:
    file = strict(host, TOML)
    (host.project / file).unlink()
    (host.project / file).symlink_to(file)
    return file


def a_folder(host: Host) -> str:
    file = strict(host, TOML)
    (host.project / file).unlink()
    (host.project / file).mkdir()
    return file


def preferred(host: Host) -> str:
    strict(host, PYPROJECT)
    (host.project / TOML).touch()
    return TOML


def overridden(host: Host) -> str:
    strict(host, HOOKS)
    write(host.project, TOML, "[hooks]\nagents = []\n")
    return TOML


def huge(host: Host) -> str:
    file = strict(host, TOML)
    (host.project / file).write_text("# x\n" * 100_000)
    return file


def other_folder(host: Host) -> str:
    strict(host, HOOKS)
    shutil.move(host.project / ".goopspec", host.project / "elsewhere")
    return HOOKS


@pytest.mark.parametrize(
    "change",
    [
        removed,
        emptied,
        broken,
        not_json,
        linked,
        link_to_itself,
        a_folder,
        preferred,
        overridden,
        huge,
        other_folder,
    ],
    ids=lambda each: each.__name__,
)
def test_what_happens_to_the_file_lets_no_agent_go(
    machine: Host, change: Callable[[Host], str]
) -> None:
    change(machine)
    answer = machine.send(STOP, agent_type="helper")
    assert answer.reason
    assert f"{NO_COUNT}: agents" in answer.message


def test_a_file_in_another_folder_says_nothing(machine: Host) -> None:
    begin(machine)
    write(machine.project.parent, TOML, "[hooks]\nagents = []\n")
    write(machine.project, f"src/{TOML}", "[hooks]\nagents = []\n")
    answer = machine.send(STOP, cwd=str(machine.project / "src"))
    assert answer.reason
    assert answer.message == ""


def test_another_folder_of_the_session_has_no_other_judge(machine: Host) -> None:
    """Codex names no project: it is the folder of the event."""
    host = Host(machine.project, machine.data, "codex", {"CLAUDE_PROJECT_DIR": ""})
    write(host.project, HOOKS, '{"agents": ["*"]}')
    begin(host)
    write(host.project, f"sub/{HOOKS}", '{"agents": []}')
    answer = host.send(STOP, agent_type="helper", cwd=str(host.project / "sub"))
    assert answer.reason
    assert NO_COUNT in answer.message


def test_subagents_with_sessions_of_their_own_are_of_the_session_of_the_person(
    machine: Host,
) -> None:
    """OpenCode gives each subagent a session, and so the subagents that this one starts."""
    host = replace(machine, name="opencode")
    git(host.project, "init", "--quiet")
    commit(host.project, "begin")
    host.configure(agents=["builder"])
    begin(host, session_id="main", root_session_id="main")
    started = host.send("SubagentStart", session_id="sub", root_session_id="main")
    assert started.ended == Ended(0, "")

    host.configure(agents=[])
    host.send("SubagentStart", session_id="other", root_session_id="main")
    nested = {"session_id": "other", "root_session_id": "main", "agent_type": "builder"}
    assert host.send(STOP, **nested).reason


def test_a_variable_that_names_another_folder_has_no_other_judge(
    machine: Host, tmp_path: Path
) -> None:
    begin(machine)
    write(tmp_path, f"lax/{TOML}", "[hooks]\nagents = []\n")
    elsewhere = Host(
        machine.project, machine.data, environment={"GOOP_PROJECT_DIR": str(tmp_path / "lax")}
    )
    assert elsewhere.send(STOP).reason


def test_the_profile_is_that_of_the_beginning(machine: Host) -> None:
    discussed = GOOD.replace(">execute<", ">discuss<")
    machine.configure(mode="strict")
    begin(machine)
    write(machine.project, ".goopspec/config.json", '{"memoryEnabled": true}')
    answer = machine.send(STOP, last_assistant_message=discussed)
    assert "phase is 'discuss'" in answer.reason
    assert "names the profile v1, which counts from the next session on" in answer.message

    # A project of that profile has it from the beginning on.
    begin(machine, session_id="next")
    later = machine.send(STOP, last_assistant_message=discussed, session_id="next")
    assert "phase is" not in later.ended.out
    assert NO_COUNT not in later.message
    assert "profile" not in later.message


def test_custom_rules_that_an_agent_has_changed_are_not_run(machine: Host, tmp_path: Path) -> None:
    rules = machine.project / "shop_rules.py"
    rules.write_text("from tests.validation.shop import TICKET\n\nRULES = TICKET\n")
    host = replace(machine, options=("--rules", "shop_rules.py"))
    begin(host)
    assert FIX in host.send(STOP, last_assistant_message=GOOD).reason

    marker = tmp_path / "run"
    rules.write_text(f"open({str(marker)!r}, 'w')\nRULES = []\n")
    answer = host.send(STOP, last_assistant_message=GOOD, prompt_id="b")
    assert "the custom rules of shop_rules.py have changed" in answer.message
    assert not marker.exists()


def written(host: Host, place: str) -> None:
    write(host.project, place, "WORDS = []\n")


@pytest.mark.parametrize(
    ("line", "module"),
    [
        ("from words import WORDS", "words.py"),
        ("import terms.words", "terms/words.py"),
        ("from terms import words", "terms/__init__.py"),
        ("import colorsys", "colorsys.py"),
        ("def later():\n    import words", "words.py"),
    ],
    ids=["module", "of a package", "package", "one that goes before", "within"],
)
def test_a_module_that_custom_rules_import_is_held_as_they_are(
    machine: Host, tmp_path: Path, line: str, module: str
) -> None:
    (machine.project / "shop_rules.py").write_text(
        "import os\nimport sys\n\nsys.path.insert(0, os.path.dirname(__file__))\n"
        f"from tests.validation.shop import TICKET\n\n{line}\n\nRULES = TICKET\n"
    )
    if module != "colorsys.py":
        for each in {module, "terms/__init__.py", "terms/words.py"}:
            written(machine, each)
    host = replace(machine, options=("--rules", "shop_rules.py:RULES"))
    begin(host)
    assert FIX in host.send(STOP, last_assistant_message=GOOD).reason
    assert host.send("SubagentStart").message == ""

    marker = tmp_path / "run"
    write(machine.project, module, f"open({str(marker)!r}, 'w')\nWORDS = []\n")
    answer = host.send(STOP, last_assistant_message=GOOD, prompt_id="b")
    assert "the custom rules of shop_rules.py:RULES have changed" in answer.message
    assert not marker.exists()


def test_rules_that_are_named_as_a_module_are_held_too(machine: Host, tmp_path: Path) -> None:
    rules = "from tests.validation.shop import TICKET\n\nRULES = TICKET\n"
    write(machine.project, "shop/__init__.py", "")
    write(machine.project, "shop/rules.py", rules)
    path = {**machine.environment, "PYTHONPATH": str(machine.project)}
    host = replace(machine, options=("--rules", "shop.rules"), environment=path)
    begin(host)
    assert FIX in host.send(STOP, last_assistant_message=GOOD).reason

    marker = tmp_path / "run"
    write(machine.project, "shop/__init__.py", f"open({str(marker)!r}, 'w')\n")
    answer = host.send(STOP, last_assistant_message=GOOD, prompt_id="b")
    assert "the custom rules of shop.rules have changed" in answer.message
    assert not marker.exists()


# What honest people do costs nobody a line.


@pytest.mark.parametrize("file", FILES)
def test_a_file_of_long_standing_counts_as_it_is(machine: Host, file: str) -> None:
    write(machine.project, file, settings(file, {"agents": ["builder"], "evidence": "off"}))
    git(machine.project, "init", "--quiet")
    (machine.project / ".gitignore").write_text(f"{file}\n")
    commit(machine.project, "begin")

    assert begin(machine).message == ""
    for event in ("SubagentStart", STOP, "Stop"):
        assert machine.send(event).ended == Ended(0, "")
    assert machine.send(STOP, agent_type="builder").reason


def test_a_fresh_clone_with_committed_settings_is_silent(machine: Host, tmp_path: Path) -> None:
    write(machine.project, TOML, settings(TOML, {"agents": []}, {"ignore": ["goop_report"]}))
    git(machine.project, "init", "--quiet")
    commit(machine.project, "begin")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", str(machine.project), str(clone))

    # Also where the first event comes late.
    for first in (begin, lambda host: host.send(STOP)):
        here = Host(clone, tmp_path / f"data-{first.__name__}", environment=machine.environment)
        assert first(here).ended == Ended(0, "")
        assert here.send(STOP).ended == Ended(0, "")
    assert program(Host(clone, clone, environment=machine.environment), "check", "-").err == ""


@pytest.mark.parametrize(
    "text",
    [
        '# a comment\n[hooks]\nagents = ["goop-*", "builder"]\n',
        '[hooks]\nagents = ["builder", "goop-*"]\nmode = "strict"\nrecord = true\nask_again = 1\n',
        '[hooks]\nagents = ["*"]\ninform = false\nkeep_replies = false\n',
        '[hooks]\nagents = ["goop-*", "builder"]\n[checks.tests]\ncommand = ["true"]\n',
        '[check]\nmode = "strict"\n[check.severity]\n"goop_report/task-id-missing" = "error"\n'
        '[hooks]\nagents = ["goop-*", "builder"]\n',
    ],
    ids=["comment", "tightened", "unrelated", "checks", "severity"],
)
def test_what_does_not_weaken_counts_at_once(machine: Host, text: str) -> None:
    write(machine.project, TOML, '[hooks]\nagents = ["goop-*", "builder"]\n')
    begin(machine)
    write(machine.project, TOML, text)
    answer = machine.send(STOP)
    assert answer.reason
    assert (answer.message, answer.ended.err) == ("", "")
    if "strict" in text and "hooks" in text.splitlines()[0]:
        repairable = GOOD.replace("the login endpoint.</summary>", "login & logout.</summary>")
        assert machine.send(STOP, last_assistant_message=repairable, prompt_id="b").reason


def test_the_next_session_begins_with_what_is_there(machine: Host) -> None:
    begin(machine)
    machine.configure(agents=["builder"])
    assert machine.send(STOP).reason
    # A person starts it, after a line about the settings.
    begin(machine, session_id="next")
    assert machine.send(STOP, session_id="next").ended == Ended(0, "")
    assert machine.send(STOP, prompt_id="b").reason


# A first event that comes late, after an agent may have worked.


@pytest.mark.parametrize("event", [STOP, "Stop", "PostToolUse", "SubagentStart"])
def test_a_late_first_event_looks_at_the_commit(machine: Host, event: str) -> None:
    git(machine.project, "init", "--quiet")
    commit(machine.project, "begin")
    machine.configure(agents=[], main="ignored")

    first = machine.send(event, last_assistant_message=GOOD.replace("COMPLETE", "FINISHED"))
    assert f"{NO_COUNT}: agents = [] ({HOOKS}" in first.message
    second = machine.send(STOP, prompt_id="b")
    assert second.reason
    assert second.message == ""


def test_a_late_first_event_misses_no_file_that_is_gone(machine: Host) -> None:
    write(machine.project, HOOKS, '{"agents": ["*"]}')
    git(machine.project, "init", "--quiet")
    commit(machine.project, "begin")
    (machine.project / HOOKS).unlink()
    assert machine.send(STOP, agent_type="helper").reason


def test_a_compacted_session_does_not_begin(machine: Host) -> None:
    git(machine.project, "init", "--quiet")
    commit(machine.project, "begin")
    machine.configure(agents=[])
    assert NO_COUNT in machine.send("SessionStart", source="compact").message


def test_the_commit_is_that_with_which_the_agent_began(machine: Host) -> None:
    """A commit of the agent itself is none to compare with, where its start was seen."""
    machine.configure()
    git(machine.project, "init", "--quiet")
    commit(machine.project, "begin")
    machine.send("SubagentStart", agent_id="a1", session_id="of the agent")
    machine.configure(agents=[])
    commit(machine.project, "mine")
    answer = machine.send(STOP, agent_id="a1", session_id="of the main agent")
    assert answer.reason


def test_without_a_repository_the_first_event_counts(machine: Host) -> None:
    machine.configure(agents=["builder"])
    assert machine.send(STOP).ended == Ended(0, "")
    assert machine.send(STOP, agent_type="builder").reason


def test_a_repository_that_git_does_not_read_is_no_way_out(machine: Host) -> None:
    (machine.project / ".git").write_text("gitdir: /nowhere\n")
    machine.configure(agents=[])
    assert machine.send(STOP).reason


# What a person trusts.


@pytest.mark.parametrize("file", FILES)
def test_what_a_person_trusts_counts_at_once_and_as_long_as_it_is_the_same(
    machine: Host, file: str
) -> None:
    begin(machine)
    lax = settings(file, {"agents": ["builder"], "evidence": "off"})
    write(machine.project, file, lax)
    assert machine.send(STOP).reason

    trusted(machine, file)
    assert machine.send(STOP, prompt_id="b").ended == Ended(0, "")
    # Only the tables are trusted, in whatever form.
    if file != HOOKS:
        more = f"\n[{'tool.goop-mcp.' if file == PYPROJECT else ''}checks.x]\ncommand = ['true']\n"
        write(machine.project, file, f"# mine\n{lax}{more}")
        assert machine.send(STOP, prompt_id="c").ended == Ended(0, "")

    # One more key that weakens needs the person again; the others are as trusted.
    weaker = settings(file, {"agents": ["builder"], "evidence": "off", "main": "ignored"})
    write(machine.project, file, weaker)
    answer = machine.send("Stop", last_assistant_message=GOOD.replace("COMPLETE", "FINISHED"))
    assert answer.reason
    assert f"{NO_COUNT}: main = " in answer.message
    assert "agents" not in answer.message
    assert machine.send(STOP, prompt_id="d").ended == Ended(0, "")


def test_what_a_person_trusts_is_the_measure_of_later_sessions(machine: Host) -> None:
    machine.configure(agents=["*"])
    trusted(machine, HOOKS)
    machine.configure(agents=[])
    assert NO_COUNT in begin(machine).message
    assert machine.send(STOP, agent_type="helper").reason

    # Removing the file is no way out either.
    (machine.project / HOOKS).unlink()
    assert "agents is not set any more" in begin(machine, session_id="b").message
    assert machine.send(STOP, agent_type="helper", session_id="b").reason


def test_the_page_shows_what_a_person_sees(machine: Host) -> None:
    begin(machine)
    write(machine.project, TOML, "[hooks]\nagents = []\n")
    line = machine.send(STOP).message.splitlines()[-1]
    assert f"```\n{line}\n```" in read_page("docs/settings.md")


def test_trust_that_agents_could_write_is_none(machine: Host) -> None:
    inside = {"XDG_STATE_HOME": str(machine.project / "state")}
    host = Host(machine.project, machine.data, environment={**machine.environment, **inside})
    begin(host)
    host.configure(agents=[])
    refused = program(host, "trust", "--digest", "ab" * 32)
    assert refused.code != 0
    ended = terminal(host, "trust", typed="y\n")
    assert ended.code != 0
    assert "a folder of the project, where agents write" in " ".join(ended.out.split())

    # Also where it was put there by hand.
    digest = re.search(r"[0-9a-f]{64}", program(machine, "trust").err)
    assert digest is not None
    place = json.dumps({f"{host.project.resolve()}/.goopspec/settings": digest[0]})
    write(host.project, "state/goop-mcp/recorder/trusted.json", place)
    answer = host.send(STOP)
    assert answer.reason
    assert "a folder of the project" in answer.ended.err


def test_what_is_kept_may_be_broken(machine: Host) -> None:
    begin(machine)
    [kept] = (machine.data / "session-settings").iterdir()
    assert kept.stat().st_mode & 0o777 == 0o600
    for content in ("", "{", "[]", '{"tables": [{"hooks": {"main": 3}}], "profile": "0.x"}'):
        kept.write_text(content)
        assert machine.send(STOP, prompt_id=content or "none").reason


def test_a_folder_that_cannot_be_written_is_named(machine: Host) -> None:
    machine.data.parent.mkdir(exist_ok=True)
    machine.data.write_text("no folder")
    answer = machine.send(STOP)
    assert answer.reason
    assert "the settings with which the session began cannot be kept" in answer.ended.err
