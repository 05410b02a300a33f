"""What an agent wrote as a word of another program: real programs take it for a value.

Each of them is asked as a user's own agent: through `goop-mcp delegate` with a message as its last
word, and through `CommandLineAgent`.
"""

import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest

from goop_mcp.command_words import OptionWordError, guarded, is_value, opening
from goop_mcp.delegation.placeholders import fill_in
from goop_mcp.hosts.frameworks.command_line import Answer, CommandFailedError, CommandLineAgent
from goop_mcp.retry import Message
from tests.cli.running import Ended, run
from tests.delegation.reports import report
from tests.recording.played import Player
from tests.recording.repositories import GIT, Work
from tests.retry.agents import run as run_async

# Each prints its message as JSON, and touches a file for its option --touch.
ARGPARSE = """
import argparse, json, pathlib
parser = argparse.ArgumentParser()
parser.add_argument("--touch")
parser.add_argument("-t", dest="touch")
parser.add_argument("message")
given = parser.parse_args()
"""
CLICK = """
import click, json, pathlib, types
@click.command()
@click.option("-t", "--touch")
@click.argument("message")
def read(**values):
    return types.SimpleNamespace(**values)
given = read.main(standalone_mode=False)
"""
GETOPT = """
import getopt, json, pathlib, sys, types
options, words = getopt.gnu_getopt(sys.argv[1:], "t:", ["touch="])
touched = next((value for _, value in options), None)
given = types.SimpleNamespace(touch=touched, message=words[0] if words else "")
"""
PRINTS = """
if given.touch:
    pathlib.Path(given.touch).touch()
with open(SEEN, "w", encoding="utf-8", errors="surrogateescape") as seen:
    json.dump(given.message, seen)
print(REPORT)
"""
PARSERS = {"argparse": ARGPARSE, "click": CLICK, "getopt": GETOPT}
# {} is a file that must not appear.
HOSTILE = (
    "--touch={}", "-t{}", "--touch={} --and=more", "--touch={}\nand a second line", "-t{}\n", "--",
    "-", "-1", "--t={}", "---touch={}", " --touch={}", "\t-t{}", "\n--touch={}", "--help", "-h",
)  # fmt: skip


def agent_program(folder: Path, parser: str) -> tuple[list[str], Path]:
    """Write an agent that parses its words, and return its command and the file that it writes."""
    seen = folder / "seen.json"
    file = folder / "agent.py"
    file.write_text(
        f"SEEN = {str(seen)!r}\nREPORT = {report()!r}\n{PARSERS[parser]}{PRINTS}", encoding="utf-8"
    )
    return [sys.executable, str(file)], seen


def delegate(folder: Path, command: Sequence[str], text: str) -> Ended:
    """Have the agent `command` asked with `text`, which another agent could have written."""
    graph = folder / "graph.toml"
    graph.write_text(
        'graph = 1\nname = "w"\nprotocol = "goop_report"\n[agents.a]\nrun = "command"\n'
        f"command = {json.dumps(list(command))}\non_stdin = false\n"
        "retry = { max_attempts = 1, call_retries = 0 }\n"
        '[tasks.t]\nagent = "a"\nprompt = "${input.text}"\n',
        encoding="utf-8",
    )
    variables = {"XDG_STATE_HOME": str(folder / "state"), "HOME": str(folder)}
    digest = run("delegate", graph, "--check", cwd=folder).out.rpartition(" ")[2].strip()
    given = ["--new", "--trust", digest, "--input", f"text={text}"]
    return run("delegate", graph, *given, cwd=folder, env=variables)


@pytest.mark.parametrize("parser", PARSERS)
def test_a_message_is_no_option_of_an_agent_with_options(tmp_path: Path, parser: str) -> None:
    command, seen = agent_program(tmp_path, parser)
    touched = tmp_path / "touched"
    agent = CommandLineAgent(command=lambda text, _: [*command, text], read=Answer)
    exact = CommandLineAgent(command=lambda text, _: [*command, "--", text], read=Answer)
    within = CommandLineAgent(
        command=lambda text, _: [*command, f"--touch={touched}-{len(text)}", "--", "fixed"],
        read=Answer,
    )
    for each in HOSTILE:
        text = each.format(touched)
        run_async("asyncio", partial(agent.ask, Message(text)))
        arrived = json.loads(seen.read_text(encoding="utf-8"))
        assert arrived in (text, f"\n{text}")
        assert arrived == text or text.startswith("-")
        run_async("asyncio", partial(exact.ask, Message(text)))
        assert json.loads(seen.read_text(encoding="utf-8")) == text
        assert not touched.exists(), each

    run_async("asyncio", lambda: within.ask(Message("--help")))
    assert json.loads(seen.read_text(encoding="utf-8")) == "fixed"


@pytest.mark.parametrize("end", [[], ["--"]], ids=["without", "with --"])
def test_the_input_of_a_graph_is_no_option_of_its_agent(tmp_path: Path, end: list[str]) -> None:
    command, seen = agent_program(tmp_path, "argparse")
    touched = tmp_path / "touched"
    text = f"--touch={touched}"
    ended = delegate(tmp_path, [*command, *end], text)
    assert ended.code == 0, ended
    assert json.loads(seen.read_text(encoding="utf-8")) == (text if end else f"\n{text}")
    assert not touched.exists()


def test_a_message_is_no_option_of_git(tmp_path: Path) -> None:
    work = Work(tmp_path / "work")
    written = tmp_path / "written"
    for words in (["log", "-1"], ["diff-tree", "HEAD"], ["log", "-1", "--"]):
        command = [GIT, "-C", str(work.folder), *words]
        ended = delegate(tmp_path, command, f"--output={written}")
        assert ended.code == 1, ended
        assert not written.exists()
    # This is what the guard is for.
    subprocess.run([GIT, "log", "-1", f"--output={written}"], cwd=work.folder, check=True)
    assert written.exists()


@pytest.mark.skipif(shutil.which("sort") is None, reason="no sort")
def test_a_message_is_no_option_of_a_program_of_the_system(tmp_path: Path) -> None:
    written = tmp_path / "written"
    agent = CommandLineAgent(command=lambda text, _: ["sort", text], read=Answer)
    with pytest.raises(CommandFailedError):
        run_async("asyncio", lambda: agent.ask(Message(f"--output={written}")))
    assert not written.exists()


@pytest.mark.parametrize(
    ("command", "text", "expected"),
    [
        (lambda t: ["p", t], "plain", ["p", "plain"]),
        (lambda t: ["p", t], "-x", ["p", "\n-x"]),
        (lambda t: ["p", "--", t], "-x", ["p", "--", "-x"]),
        # The options of another program end there, and not those of p.
        (lambda t: ["env", "--", "p", t], "-x", ["env", "--", "p", "\n-x"]),
        (lambda t: ["p", f"--prompt={t}"], "-x", ["p", "--prompt=-x"]),
        (lambda t: ["p", "-p", t], "-x y", ["p", "-p", "\n-x y"]),
        (lambda t: ["p", "-v", t], "say -v", ["p", "-v", "say -v"]),
        # The options of the command stay, whatever the message is.
        (lambda t: ["p", "-v", t], "-v is an option", ["p", "-v", "\n-v is an option"]),
        (lambda t: ["p", "--safe", t], "--safe", ["p", "--safe", "\n--safe"]),
        (lambda t: ["p", "--safe", t], "--", ["p", "--safe", "\n--"]),
        (lambda t: ["p", "--safe", t], "-", ["p", "--safe", "-"]),
        (lambda t: ["p", "--", t], "--", ["p", "--", "--"]),
        (lambda t: ["p", t, "--safe"], "--", ["p", "\n--", "--safe"]),
        (lambda t: ["p", t, t], "-x", ["p", "\n-x", "\n-x"]),
        (lambda _: ["p"], "-x", ["p"]),
        (lambda t: [t], "-x", ["-x"]),
        (lambda t: ["p", t], "", ["p", ""]),
        (lambda t: ["p", f"About {t}"], "-x", ["p", "About -x"]),
        (lambda t: ["p", "--", t.strip()], " -x y ", ["p", "--", "-x y"]),
    ],
)
def test_the_guard_of_words(
    command: Callable[[str], list[str]], text: str, expected: list[str]
) -> None:
    # As a message arrives: it is no constant of the program.
    message = "".join(list(text))
    assert guarded(command(message), message) == expected


@pytest.mark.parametrize(
    "command",
    [
        lambda t: ["p", t.strip()],
        lambda t: ["p", f"{t}\n\nAnd answer."],
        lambda t: ["p", t[:6]],
    ],
)
def test_a_word_that_is_made_of_a_message_is_refused_where_it_would_be_an_option(
    command: Callable[[str], list[str]], tmp_path: Path
) -> None:
    assert guarded(command("plain text"), "plain text") == command("plain text")
    with pytest.raises(OptionWordError, match="with -- before it"):
        guarded(command("-x yes or no\n"), "-x yes or no\n")

    program = ["touch", str(tmp_path / "ran")]
    agent = CommandLineAgent(command=lambda t, _: [*program, *command(t)[1:]], read=Answer)
    with pytest.raises(CommandFailedError, match="would be an option of the program") as refused:
        run_async("asyncio", lambda: agent.ask(Message("-x yes or no\n")))
    assert refused.value.retryable is False
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("text", ["ses_1", "a-b", "0", " -x", "\n-x"])
def test_what_is_a_value(text: str) -> None:
    assert is_value(text)
    assert not is_value(f"-{text}")
    assert not is_value("")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("/init", "\n/init"), (" /init", "\n /init"), ("a /b", "a /b"), ("-x", "-x"), ("", "")],
)
def test_a_text_of_an_agent_at_the_beginning_is_no_command_of_a_host(
    text: str, expected: str
) -> None:
    assert opening(text) == expected


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("${input.text}", "\n/init"),
        (" ${input.text} now", "\n /init now"),
        ("${input.none}${input.text}", "\n/init"),
        ("Do ${input.text}", "Do /init"),
        # The author of the graph wrote these.
        ("/review ${input.text}", "/review /init"),
        ("/${input.word}", "/word"),
    ],
)
def test_a_value_at_the_beginning_of_a_prompt_is_no_command_of_a_host(
    prompt: str, expected: str
) -> None:
    values = {"input": {"text": "/init", "none": "", "word": "word"}}
    assert fill_in(prompt, values) == expected


def test_a_command_that_a_finding_names_can_be_given_to_a_shell(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    player = Player(Work(tmp_path / "work"), tmp_path / "state")
    # An agent chose the name and the arguments of its run.
    made, name = tmp_path / "made", "tests; touch made"
    recorded, _ = player.record(player.runner(), f"$(touch {made})", name=name)
    player.work.write("src/app.py", "changed = 1\n")
    check = f'<check name="tests" passed="true" run="{recorded}">pytest - 12 passed</check>'
    judged = player.judge(check)
    [finding] = [each for each in judged.verdict["findings"] if "other-tree" in each["rule"]]
    shown = finding["fix"].partition("`")[2].partition("` again")[0]
    assert shown.startswith(f"goop-mcp run --name {shlex.quote(name)} -- ")
