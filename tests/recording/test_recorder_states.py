"""Each state in which the recorder can find a command, its files and its records.

The program is called pytest and prints what pytest prints, so that a state takes no time; the scene
next to this runs the real one.
"""

import hashlib
import json
import shutil
import sqlite3
import subprocess
import sys
import time
import tomllib
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from goop_mcp.evidence.recorded_runs import MOST_TAIL_BYTES
from goop_mcp.recording.result_files import read_coverage_file
from goop_mcp.services.run_statements import PREDICATE_TYPE, STATEMENT_TYPE
from tests.postgres import Database
from tests.recording.played import PYTEST, Player
from tests.recording.repositories import Work
from tests.repository import ROOT

# Never valid, and in two parts so that no scanner takes it for a leak.
GITHUB_TOKEN = "ghp_" + "a7B3c9D1e5F2g8H4i6J0k7L3m9N1o5P2q8R4"

CLAIM = '<check name="tests" passed="true">pytest: 12 passed</check>'


def citing(run: str, text: str = "pytest: 12 passed") -> str:
    return f'<check name="tests" passed="true" run="{run}">{text}</check>'


pytestmark = pytest.mark.recorder


@pytest.fixture
def player(tmp_path: Path) -> Player:
    state = tmp_path / "state"
    state.mkdir()
    work = Work(tmp_path / "work")
    work.write(".gitignore", ".goopspec/goop.db*\n")
    work.commit("ignored")
    return Player(work, state)


def processes_of(player: Player) -> list[str]:
    """Return the command lines of processes that still bear the mark of this player."""
    mark = f"HOME={player.state}".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (folder / "environ").read_bytes().split(b"\0"):
                found.append((folder / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


# The command


@pytest.mark.requirement("R-01")
def test_a_command_runs_as_it_is_given_with_its_exit_code(player: Player) -> None:
    program = player.work.write("out.py", "import sys\nprint(sys.argv[1:])\n"
                                "print('to stderr', file=sys.stderr)\nsys.exit(7)\n")  # fmt: skip
    done = player.goop("run", "--name", "x", "--", sys.executable, program, "a b", "$HOME", "*", "")
    assert done.returncode == 7
    assert done.stdout == "['a b', '$HOME', '*', '']\n"
    first, last = done.stderr.splitlines()
    assert first == "to stderr"
    assert " x failed (exit code 7) on tree " in last


def test_standard_input_and_options_of_the_command_reach_it(player: Player) -> None:
    done = player.goop("run", "--", "cat", "-", "--", given="typed\n")
    assert (done.returncode, done.stdout) == (0, "typed\n")
    done = player.goop("run", "--", "ls", "--help")
    assert "Usage: ls" in done.stdout


@pytest.mark.parametrize(
    ("prints", "status", "shown"),
    [
        ("12 passed in 0.10s", 0, "passed (12 run)"),
        ("10 passed, 2 skipped in 0.10s", 0, "passed (10 run, 2 skipped)"),
        ("2 failed, 10 passed in 0.10s", 1, "failed (12 run, 2 failed, exit code 1)"),
        ("2 failed, 10 passed in 0.10s", 0, "failed (12 run, 2 failed"),
        ("no tests ran in 0.01s", 5, "executed no test"),
        ("12 skipped in 0.01s", 0, "executed no test"),
        ("killed", 137, "did not finish"),
    ],
)
def test_the_summary_counts_more_than_the_exit_code(
    player: Player, prints: str, status: int, shown: str
) -> None:
    _, line = player.record(player.runner(prints=prints, status=status))
    assert f"tests {shown}" in line


@pytest.mark.parametrize(
    "command",
    [
        ["true"],
        ["echo", "12 passed"],
        ["sh", "-c", "pytest || true"],
        ["sh", "-c", "pytest | tail -1"],
        ["sh", "-c", "pytest; echo ok"],
        ["pytest", "--collect-only"],
        ["pytest", "--version"],
        ["ruff", "check", "--version"],
        ["git", "status"],
    ],
)
def test_a_command_that_shows_nothing_is_no_proof(player: Player, command: list[str]) -> None:
    player.runner(prints="2 failed in 0.10s", status=1)
    path = f"{player.state}/bin:{player.environment['PATH']}"
    player.environment["PATH"] = path
    run, line = player.record(*command)
    assert " passed" not in line.partition(" on tree ")[0].replace("12 passed", "")
    judged = player.judge(citing(run), require="recorded")
    assert not judged.accepted
    assert judged.tier != "recorded"


def test_a_program_that_does_not_exist(player: Player) -> None:
    done = player.goop("run", "--name", "tests", "--", "no-such-program")
    assert done.returncode == 127
    assert "did not finish (it could not be started: there is no such program)" in done.stderr


def test_a_run_killed_by_its_limit_leaves_no_process(player: Player) -> None:
    script = (
        "echo begun; sleep 601 & setsid sleep 602 & (sleep 603 &) ; trap '' TERM INT; sleep 604"
    )
    began = time.monotonic()
    done = player.goop("run", "--timeout", "1", "--name", "tests", "--", "sh", "-c", script)
    assert done.returncode == 124
    assert done.stdout == "begun\n"
    assert "did not finish (it was ended at the time limit of 1 s)" in done.stderr
    assert time.monotonic() - began < 60
    assert processes_of(player) == []


def test_a_command_that_closes_its_output_is_ended_at_the_limit(player: Player) -> None:
    done = player.goop("run", "--timeout", "1", "--", "sh", "-c", "exec >&- 2>&-; sleep 605")
    assert done.returncode == 124
    assert processes_of(player) == []


def test_what_a_command_leaves_running_does_not_hold_the_recorder(player: Player) -> None:
    done = player.goop("run", "--", "sh", "-c", "sleep 606 & echo done")
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert processes_of(player) == []


def test_an_interrupt_reaches_the_command_and_is_recorded(player: Player) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "goop_mcp", "run", "--name", "tests", "--", "sh", "-c",
         "echo begun; sleep 607"],
        cwd=player.work.folder, env=player.environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    process.terminate()
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + 15
    assert "did not finish (it was interrupted)" in errors
    assert processes_of(player) == []


def test_large_output_needs_little_memory_and_passes_unchanged(player: Player) -> None:
    program = player.work.write(
        "much.py", "import sys\nfor n in range(52_000):\n    sys.stdout.write('x' * 999 + '\\n')\n"
    )
    measured = (
        "import resource, subprocess, sys; done = subprocess.run([sys.executable, '-m', 'goop_mcp',"
        " 'run', '--name', 'x', '--', *sys.argv[1:]], stdout=subprocess.DEVNULL);"
        " print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    done = subprocess.run(
        [sys.executable, "-c", measured, sys.executable, str(program)],
        cwd=player.work.folder, env=player.environment, capture_output=True, text=True,
        timeout=120, check=True,
    )  # fmt: skip
    assert int(done.stdout) < 200 * 1024
    [run] = json.loads(player.goop("evidence", "list", "--format", "json").stdout)["runs"]
    assert run["output"]["bytes"] == 52_000_000
    assert len(run["output"]["tail"].encode()) <= MOST_TAIL_BYTES


def test_a_reader_that_goes_away_changes_nothing(player: Player) -> None:
    line = f"{sys.executable} -m goop_mcp run --name x -- seq 200000 | head -1"
    done = subprocess.run(
        [shutil.which("bash") or "bash", "-c", f"set -o pipefail; {line}"],
        cwd=player.work.folder, env=player.environment, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    assert done.stdout == "1\n"
    assert done.returncode == 0
    assert "run r-" in done.stderr


def test_secrets_are_kept_nowhere(player: Player) -> None:
    program = player.runner(prints=f"token {GITHUB_TOKEN} 12 passed in 0.1s")
    done = player.goop("run", "--name", "tests", "--", program, f"--token={GITHUB_TOKEN}")
    # What the person's own program prints is passed on as it is.
    assert GITHUB_TOKEN in done.stdout
    assert GITHUB_TOKEN not in done.stderr
    content = b"".join(
        each.read_bytes() for each in (player.work.folder / ".goopspec").iterdir() if each.is_file()
    )
    assert GITHUB_TOKEN.encode() not in content
    assert "r-" in done.stderr


# The files


def test_a_change_after_the_run_is_named(player: Player) -> None:
    run, _ = player.record(player.runner())
    player.work.write("src/app.py", "changed = 1\n")
    for claim in (CLAIM, citing(run)):
        judged = player.judge(claim)
        assert judged.accepted
        assert judged.rules == {"other-tree": "warning"}
        assert "'src/app.py'" in judged.text
        assert judged.tier == "claimed"
    assert player.judge(citing(run), require="recorded").rules == {"other-tree": "error"}
    verified = player.goop("evidence", "verify", run)
    assert (verified.returncode, verified.stdout) == (
        1,
        f"{run} tests: out of date: changed since: 'src/app.py'\n",
    )

    # Back as it was, it is the same tree again.
    player.work.git("checkout", "-q", "src/app.py")
    assert player.judge(citing(run), require="recorded").tier == "recorded"


def test_files_that_change_during_the_run_make_it_prove_neither_state(player: Player) -> None:
    program = player.runner()
    command = f"echo x >> {player.work.folder}/src/app.py; exec {program}"
    run, line = player.record("sh", "-c", command)
    assert "files changed while it ran, so it proves neither state" in line
    judged = player.judge(citing(run))
    assert judged.rules == {"tree-moved": "info"}
    assert judged.tier == "claimed"
    assert player.goop("evidence", "verify", run).returncode == 3
    assert player.goop("evidence", "export", run).returncode == 1


def test_two_runs_at_once(player: Player) -> None:
    program = player.runner()
    command = [sys.executable, "-m", "goop_mcp", "run", "--name", "tests", "--", program]
    started = [
        subprocess.Popen(command, cwd=player.work.folder, env=player.environment,
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]  # fmt: skip
    lines = [each.communicate(timeout=120)[1] for each in started]
    assert all(" tests passed (12 run) on tree " in line for line in lines), lines
    runs = json.loads(player.goop("evidence", "list", "--format", "json").stdout)["runs"]
    assert len({each["run"] for each in runs}) == 4
    assert player.judge(CLAIM, require="recorded").tier == "recorded"


def test_without_git_a_run_is_kept_and_bound_to_nothing(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    player = Player(Work(tmp_path / "work"), tmp_path / "state")
    shutil.rmtree(player.work.folder / ".git")
    run, line = player.record(player.runner())
    assert "it is bound to no files: the project is in no git work tree" in line
    judged = player.judge(citing(run))
    assert judged.accepted
    assert judged.rules == {"not-checked": "info"}
    assert not player.judge(citing(run), require="recorded").accepted


def test_a_linked_work_tree_uses_the_database_of_the_main_one(
    player: Player, tmp_path: Path
) -> None:
    player.record(player.runner())
    linked = tmp_path / "linked"
    player.work.git("worktree", "add", "-q", "-b", "side", str(linked))
    (linked / "src/app.py").write_text("of the side = 1\n", encoding="utf-8")
    run, _ = player.record(player.runner(), folder=linked)
    assert not (linked / ".goopspec").exists()
    listed = player.goop("evidence", "list").stdout
    assert run in listed
    # The run is about the files of the linked work tree, not about those of the main one.
    assert player.judge(citing(run), folder=linked, require="recorded").tier == "recorded"
    assert player.judge(citing(run)).rules == {"other-tree": "warning"}


def test_a_folder_inside_the_project_finds_its_database(player: Player) -> None:
    player.record(player.runner())
    run, _ = player.record(player.runner(), folder=player.work.folder / "src")
    assert not (player.work.folder / "src" / ".goopspec").exists()
    assert run in player.goop("evidence", "list", folder=player.work.folder / "src").stdout
    shown = json.loads(player.goop("evidence", "show", run, "--format", "json").stdout)
    assert shown["cwd"] == "src"


def test_only_the_named_paths_count_where_a_check_names_them(player: Player) -> None:
    program = player.runner()
    text = f'[checks.tests]\ncommand = ["{program}"]\npaths = ["src"]\n'
    player.work.write(".goopspec/checks.toml", text)
    assert player.trust().returncode == 0
    assert player.goop("run", "tests").returncode == 0
    player.work.write("README.md", "another text\n")
    assert player.judge(CLAIM, require="recorded").tier == "recorded"
    player.work.write("src/app.py", "changed = 1\n")
    assert player.judge(CLAIM, require="recorded").rules == {"other-tree": "error"}


# The records


def test_a_failed_run_on_the_present_files_contradicts_the_report(player: Player) -> None:
    run, _ = player.record(player.runner(prints="2 failed, 10 passed in 0.1s", status=1))
    judged = player.judge(CLAIM)
    assert judged.rules == {"check-failed": "error"}
    assert run in judged.text
    # Repaired since, and not run again: no accusation.
    player.work.write("src/app.py", "repaired = 1\n")
    assert player.judge(CLAIM).accepted
    # Run again: the last run of a command counts.
    player.record(player.runner())
    assert player.judge(CLAIM, require="recorded").tier == "recorded"


def test_counts_that_the_run_did_not_print(player: Player) -> None:
    run, _ = player.record(player.runner())
    judged = player.judge(citing(run, "pytest: 21 passed"))
    assert judged.rules == {"counts-differ": "warning"}
    assert player.judge(citing(run, "pytest: 12 passed")).rules == {}


def test_a_run_that_was_made_up(player: Player) -> None:
    run, _ = player.record(player.runner())
    made_up = run[:6] + "00000000"
    for name in (made_up, "r-7f3a91", "r-made-up", "yes"):
        judged = player.judge(citing(name))
        assert judged.rules == {"unknown-run": "error"}, name
    # Such an id is one of another machine, about which nothing is known here.
    other = "r-" + ("0000" if run[2:6] != "0000" else "1111") + run[6:]
    judged = player.judge(citing(other))
    assert judged.accepted
    assert judged.rules == {"not-checked": "info"}


@pytest.mark.requirement("R-07")
def test_a_forged_row_proves_nothing(player: Player) -> None:
    failed, _ = player.record(player.runner(prints="2 failed in 0.1s", status=1))
    database = sqlite3.connect(player.work.folder / ".goopspec" / "goop.db")
    database.execute(
        "UPDATE recorded_runs SET content = replace(content, '\"failed\"', '\"passed\"')"
    )
    database.commit()
    database.close()
    assert player.judge(citing(failed)).rules == {"unknown-run": "error"}
    assert player.judge(CLAIM).rules == {}
    assert not player.judge(CLAIM, require="recorded").accepted
    verified = player.goop("evidence", "verify", failed)
    assert (verified.returncode, "its record was changed" in verified.stdout) == (1, True)
    assert "its record was changed" in player.goop("evidence", "list").stdout


def test_a_row_under_another_id_proves_nothing(player: Player) -> None:
    run, _ = player.record(player.runner())
    other = run[:6] + "00000000"
    database = sqlite3.connect(player.work.folder / ".goopspec" / "goop.db")
    database.execute("UPDATE recorded_runs SET run = ?", (other,))
    database.commit()
    database.close()
    assert player.judge(citing(other)).rules == {"unknown-run": "error"}


def test_a_database_of_another_machine(player: Player, tmp_path: Path) -> None:
    run, _ = player.record(player.runner())
    (tmp_path / "elsewhere").mkdir()
    elsewhere = str(tmp_path / "elsewhere")
    judged = player.judge(citing(run), XDG_STATE_HOME=elsewhere)
    assert judged.accepted
    assert judged.rules == {"not-checked": "info"}
    assert player.goop("evidence", "verify", run, XDG_STATE_HOME=elsewhere).returncode == 3


def test_the_key_belongs_to_its_user(player: Player) -> None:
    player.record(player.runner())
    key = player.state / "goop-mcp" / "recorder" / "key"
    assert key.stat().st_mode & 0o777 == 0o600
    key.chmod(0o644)
    done = player.goop("run", "--name", "tests", "--", player.runner())
    assert done.returncode == 0
    assert "NOT recorded" in done.stderr
    assert "others may read" in done.stderr


def test_a_database_that_cannot_be_written_keeps_the_exit_code(player: Player) -> None:
    player.work.write(".goopspec", "a file, not a folder\n")
    done = player.goop("run", "--name", "tests", "--", player.runner(status=3))
    assert done.returncode == 3
    assert "NOT recorded" in done.stderr


def test_a_clock_that_jumps_changes_nothing(player: Player) -> None:
    # A later run of the same command counts, although its row has an earlier time.
    player.record(player.runner(prints="2 failed in 0.1s", status=1))
    database = sqlite3.connect(player.work.folder / ".goopspec" / "goop.db")
    database.execute("UPDATE recorded_runs SET created_at = '2099-01-01T00:00:00.000Z'")
    database.commit()
    database.close()
    player.record(player.runner())
    assert player.judge(CLAIM, require="recorded").tier == "recorded"


def test_a_name_without_runs_is_answered_with_the_names_that_have_some(player: Player) -> None:
    assert "No run is recorded." in player.goop("evidence", "list", "--name", "nope").stdout
    player.record(player.runner())
    assert player.goop("evidence", "list", "--name", "nope").stdout == (
        "No run of nope is recorded. There are runs of tests.\n"
    )


def test_a_removed_run_is_no_lie(player: Player) -> None:
    run, _ = player.record(player.runner())
    done = player.goop("evidence", "remove", run)
    assert (done.returncode, done.stdout) == (0, "Removed 1 recorded run.\n")
    assert player.goop("evidence", "show", run).returncode == 1
    judged = player.judge(citing(run))
    assert judged.accepted
    assert judged.rules == {"not-checked": "info"}
    assert not player.judge(citing(run), require="recorded").accepted


def test_several_runs_that_fit_want_a_citation(player: Player) -> None:
    first, _ = player.record(player.runner(), "tests/unit")
    player.record(player.runner(), "tests/other")
    judged = player.judge(CLAIM)
    assert judged.accepted
    assert judged.tier == "claimed"
    assert first in json.dumps(judged.verdict["evidence"])
    assert player.judge(citing(first), require="recorded").tier == "recorded"


def test_a_run_of_another_check_proves_nothing(player: Player) -> None:
    run, _ = player.record(player.runner(), name="lint")
    judged = player.judge(citing(run))
    assert judged.rules == {"vacuous-command": "warning"}


def test_a_variable_that_changes_the_runner_is_recorded_and_shown(player: Player) -> None:
    run, line = player.record(player.runner(), PYTEST_ADDOPTS="-k fast")
    assert "PYTEST_ADDOPTS may have changed what ran" in line
    judged = player.judge(citing(run))
    assert "PYTEST_ADDOPTS was set" in json.dumps(judged.verdict["evidence"])
    _, line = player.record(
        player.runner(prints="12 tests collected in 0.1s"), PYTEST_ADDOPTS="--collect-only"
    )
    assert "executed no test" in line


# Result files


def junit(*cases: str) -> str:
    return f'<testsuite name="s" tests="99">{"".join(cases)}</testsuite>'


PASSED, SKIPPED = '<testcase name="a"/>', '<testcase name="b"><skipped/></testcase>'
FAILED = '<testcase name="c"><failure>no</failure></testcase>'


def writes(player: Player, content: str) -> list[str]:
    """Return a test program that writes a result file and exits with 0."""
    source = player.state / "result.xml"
    source.write_text(content, encoding="utf-8")
    program = Path(player.runner())
    program.write_text(f"#!/bin/sh\ncat {source} > {player.state}/out.xml\n", encoding="utf-8")
    return [str(program)]


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        (junit(PASSED, PASSED.replace('"a"', '"d"')), "passed (2 run)"),
        (junit(PASSED, SKIPPED), "passed (1 run, 1 skipped)"),
        (junit(PASSED, FAILED), "failed (2 run, 1 failed"),
        (junit(SKIPPED), "executed no test"),
        (junit(), "executed no test"),
        ("<testsuite", "shows no result"),
    ],
)
@pytest.mark.requirement("R-03")
def test_a_result_file_is_a_second_witness(player: Player, content: str, shown: str) -> None:
    options = ["--junit", f"{player.state}/out.xml"]
    done = player.goop("run", "--name", "tests", *options, "--", *writes(player, content))
    assert f"tests {shown}" in done.stderr


SUBTESTS = """
import pytest


def test_passes(): ...


def test_skips_a_part(subtests):
    with subtests.test("a"):
        pytest.skip("not here")


def test_skips(): pytest.skip("not here")
"""


def test_counts_that_pytest_printed_for_subtests_are_those_of_its_file(player: Player) -> None:
    player.work.write("tests/test_parts.py", SUBTESTS)
    options = ["--name", "tests", "--junit", f"{player.state}/out.xml"]
    done = player.goop(
        "run", *options, "--", *PYTEST, "tests/test_parts.py", f"--junitxml={options[3]}"
    )
    assert "2 passed, 2 skipped in " in done.stdout, done.stdout
    assert "tests passed (1 run, 2 skipped)" in done.stderr

    assert player.judge('<check name="tests" passed="true">2 passed, 2 skipped</check>').rules == {}
    judged = player.judge('<check name="tests" passed="true">4 passed, 2 skipped</check>')
    assert judged.rules == {"counts-differ": "warning"}


@pytest.mark.parametrize("status", [1, 2])
def test_an_exit_status_outweighs_a_file_that_shows_no_failure(player: Player, status: int) -> None:
    cases = ROOT / "tests" / "cases" / "result_files"
    program = Path(player.runner()).with_name("jest")
    program.write_text(
        f"#!/bin/sh\ncat {cases / 'jest-import.xml'} > {player.state}/out.xml\n"
        "echo 'Test Suites: 1 failed, 1 passed, 2 total'\n"
        f"echo 'Tests:       1 passed, 1 total'\nexit {status}\n",
        encoding="utf-8",
    )
    program.chmod(0o755)
    options = ["--name", "tests", "--junit", f"{player.state}/out.xml"]
    done = player.goop("run", *options, "--", program)
    assert f"tests failed (1 run, exit code {status})" in done.stderr

    judged = player.judge('<check name="tests" passed="true">jest: 1 passed</check>')
    assert judged.rules == {"check-failed": "error"}


def test_a_result_file_of_before_the_run_is_stale(player: Player) -> None:
    old = player.state / "old.xml"
    old.write_text(junit(PASSED), encoding="utf-8")
    done = player.goop("run", "--name", "tests", "--junit", old, "--", player.runner())
    assert " tests shows no result (" in done.stderr
    assert "this run did not write the result file old.xml) on tree" in done.stderr


def test_a_tap_file_is_a_second_witness(player: Player) -> None:
    written = f"{player.state}/out.tap"
    cases = ROOT / "tests" / "cases" / "result_files"
    for name, shown in (("tape.tap", " failed ("), ("node-nothing.tap", "executed no test")):
        program = Path(player.runner())
        program.write_text(f"#!/bin/sh\ncat {cases / name} > {written}\n", encoding="utf-8")
        done = player.goop("run", "--name", "tests", "--tap", written, "--", program)
        assert shown in done.stderr, done.stderr


def test_a_share_of_coverage_is_compared_with_the_file_of_the_run(player: Player) -> None:
    case = ROOT / "tests" / "cases" / "result_files" / "coverage-py.xml"
    measured = read_coverage_file(case).line_percent
    assert measured is not None
    program = Path(player.runner()).with_name("coverage")
    written = player.state / "coverage.xml"
    program.write_text(f"#!/bin/sh\ncat {case} > {written}\necho TOTAL 4 1 75%\n", encoding="utf-8")
    program.chmod(0o755)
    options = ["--name", "coverage", "--coverage", str(written)]
    done = player.goop("run", *options, "--", str(program), "report")
    assert "coverage passed" in done.stderr, done.stderr

    def rules(text: str) -> set[str]:
        verdict = player.judge(f'<check name="coverage" passed="true">{text}</check>')
        return {each["rule"] for each in verdict.verdict["findings"]}

    assert "evidence/counts-differ" in rules("98 % of the lines are covered")
    for text in (
        f"{measured:.0f} % of the lines are covered",
        "98 % of the branches are covered",
        "75 % with a threshold of 98 %",
        "enough",
    ):
        assert "evidence/counts-differ" not in rules(text), text

    options[1] = "tests"
    stale = player.goop("run", *options, "--", str(player.runner()))
    assert "this run did not write the coverage file coverage.xml" in stale.stderr


def test_tests_that_disappear_since_the_base_are_named(player: Player) -> None:
    base = player.work.git("rev-parse", "HEAD").strip()
    options = ["--name", "tests", "--junit", f"{player.state}/out.xml"]
    two = junit(PASSED, PASSED.replace('"a"', '"d"'))
    player.goop("run", *options, "--", *writes(player, two))
    player.work.write("src/app.py", "changed = 1\n")
    done = player.goop("run", *options, "--", *writes(player, junit(PASSED)))
    assert "passed (1 run)" in done.stderr
    reply = player.report('<check name="tests" passed="true">1 passed</check>')
    checked = player.goop(
        "check", "-", "--workspace", "--format", "json", "--base", base, given=reply
    )
    [verdict] = json.loads(checked.stdout)
    [finding] = [f for f in verdict["findings"] if f["rule"] == "evidence/tests-removed"]
    assert finding["severity"] == "warning"
    assert "d (gone)" in finding["message"]


# Named commands


@pytest.mark.requirement("R-04")
def test_a_file_that_nobody_trusts_runs_nothing(player: Player) -> None:
    proof = player.state / "ran"
    text = f'[checks.tests]\ncommand = ["touch", "{proof}"]\n'
    player.work.write(".goopspec/checks.toml", text)
    for arguments in (["run", "tests"], ["evidence", "verify", "--rerun"]):
        done = player.goop(*arguments)
        assert done.returncode == 2
        assert "goop-mcp run --trust" in done.stderr
    assert not proof.exists()

    assert player.trust().stdout == f"tests: touch {proof}\n"
    assert player.goop("run", "tests").returncode == 0
    assert proof.exists()

    # Changed after it was trusted, by an agent for example.
    proof.unlink()
    player.work.write(".goopspec/checks.toml", f"{text}# changed\n")
    assert player.goop("run", "tests").returncode == 2
    assert not proof.exists()


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("[checks.tests]\n", "checks.tests.command is missing"),
        ("[checks.tests]\ncommand = 'pytest -q'\n", "is not a list of at most 200 texts"),
        ("[checks.tests]\ncommand = ['a']\ntimeout = -1\n", "timeout is not a number of seconds"),
        ("[checks.tests]\ncommand = ['a']\npaths = ['../x']\n", "is not a path within the project"),
        ("[checks.tests]\ncommand = ['a']\njunit = '/etc/x'\n", "is not a path within the project"),
        ("[checks.tests]\ncommand = ['a']\nshell = true\n", "has 'shell'; expected only command"),
        ("checks = 3\n", "checks is not a table"),
        ("[checks.tests\n", "is not valid TOML"),
        ("x = '" + "x" * 70_000 + "'\n", "has more than 65,536 bytes"),
    ],
)
def test_a_file_that_cannot_be_used_says_where(player: Player, text: str, error: str) -> None:
    player.work.write(".goopspec/checks.toml", text)
    done = player.goop("run", "--trust")
    assert done.returncode == 2
    assert error in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [["run"], ["run", "--timeout", "0", "--", "true"], ["run", "--name", "\n", "--", "true"],
     ["evidence", "verify"], ["evidence", "remove"], ["evidence", "verify", "--rerun", "r-1"]],
)  # fmt: skip
def test_a_call_without_a_meaning_says_what_to_write(player: Player, arguments: list[str]) -> None:
    done = player.goop(*arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("goop-mcp: ")


# The export


def descriptor_problems(descriptor: dict[str, Any]) -> list[str]:
    """Return what is wrong with a ResourceDescriptor of the in-toto attestation framework v1."""
    kinds: dict[str, type] = {
        "name": str,
        "uri": str,
        "digest": dict,
        "content": str,
        "downloadLocation": str,
        "mediaType": str,
        "annotations": dict,
    }
    wrong = [name for name, value in descriptor.items()
             if not isinstance(value, kinds.get(name, type(None)))]  # fmt: skip
    if not {"uri", "digest", "content"} & set(descriptor):
        wrong.append("none of uri, digest and content")
    for name, value in descriptor.get("digest", {}).items():
        length = {"gitTree": 40, "sha256": 64}[name]
        if len(value) != length or set(value) - set("0123456789abcdef"):
            wrong.append(f"digest {name}")
    return wrong


@pytest.mark.parametrize(
    ("prints", "status", "result"),
    [
        ("12 passed in 0.1s", 0, "PASSED"),
        ("1 failed, 11 passed in 0.1s", 1, "FAILED"),
        # WARNED means passed with warnings, which none of these is.
        ("no tests ran in 0.1s", 5, "FAILED"),
        ("killed", 137, "FAILED"),
    ],
)
@pytest.mark.requirement("R-05")
def test_a_run_is_exported_as_a_statement(
    player: Player, prints: str, status: int, result: str
) -> None:
    run, _ = player.record(player.runner(prints=prints, status=status))
    done = player.goop("evidence", "export", run)
    statement = json.loads(done.stdout)
    assert statement["_type"] == STATEMENT_TYPE == "https://in-toto.io/Statement/v1"
    assert statement["predicateType"] == PREDICATE_TYPE
    assert PREDICATE_TYPE == "https://in-toto.io/attestation/test-result/v0.1"
    assert set(statement) == {"_type", "subject", "predicateType", "predicate"}
    # Each subject must have a digest.
    [subject] = statement["subject"]
    assert subject["digest"].keys() == {"gitTree"}
    assert descriptor_problems(subject) == []

    predicate = statement["predicate"]
    assert predicate["result"] == result
    assert {"result", "configuration"} <= set(predicate) <= {
        "result", "configuration", "url", "passedTests", "warnedTests", "failedTests"
    }  # fmt: skip
    [configuration] = predicate["configuration"]
    assert descriptor_problems(configuration) == []
    command = configuration["annotations"]["command"]
    assert hashlib.sha256(command.encode()).hexdigest() == configuration["digest"]["sha256"]
    assert json.loads(command) == [str(player.state / "bin" / "pytest")]
    assert configuration["annotations"]["run"] == run


def test_the_names_of_tests_that_passed_are_exported(player: Player) -> None:
    options = ["--name", "tests", "--junit", f"{player.state}/out.xml"]
    player.goop("run", *options, "--", *writes(player, junit(PASSED, SKIPPED)))
    [run] = json.loads(player.goop("evidence", "list", "--format", "json").stdout)["runs"]
    statement = json.loads(player.goop("evidence", "export", run["run"]).stdout)
    assert statement["predicate"]["passedTests"] == ["s > a"]


# What a report rests on


def test_a_recorded_report_says_which_run_each_check_rests_on(player: Player) -> None:
    run, _ = player.record(player.runner())
    (player.state / "report.md").write_text(player.report(citing(run)), encoding="utf-8")
    done = player.goop("reports", "record", player.state / "report.md")
    assert done.returncode == 0, done
    shown = player.goop("reports", "show", "1").stdout
    assert "recorded" in shown
    assert run in shown

    explained = player.goop("evidence", "explain", "1", "tests")
    assert explained.returncode == 0, explained
    assert "recorded" in explained.stdout
    assert run in explained.stdout
    values = json.loads(player.goop("evidence", "explain", "1", "tests", "--format", "json").stdout)
    assert f"run {run}" in json.dumps(values)
    assert player.goop("evidence", "explain", "1", "lint").returncode == 1


def hook_answer(player: Player, event: str, session: str, **values: object) -> str:
    """Return what the hook of Claude Code answers to `event`."""
    given = {
        "hook_event_name": event,
        "session_id": session,
        "cwd": str(player.work.folder),
        **values,
    }
    done = player.goop("hook", "claude-code", given=json.dumps(given),
                       CLAUDE_PROJECT_DIR=str(player.work.folder))  # fmt: skip
    assert done.returncode == 0, done
    return done.stdout


@pytest.mark.requirement("R-08")
def test_the_project_decides_whether_runs_are_compared(player: Player) -> None:
    player.record(player.runner(prints="2 failed in 0.1s", status=1))
    report = player.report(CLAIM)
    hooks = player.work.folder / ".goopspec" / "hooks.json"

    sessions = map(str, count(1))

    def configured(**values: object) -> str:
        # Settings of the project are those with which a session begins.
        hooks.write_text(json.dumps(values), encoding="utf-8")
        session = next(sessions)
        hook_answer(player, "SessionStart", session, source="startup")
        stopped = {"agent_id": "a1", "agent_type": "goop-executor", "stop_hook_active": False}
        return hook_answer(
            player, "SubagentStop", session, last_assistant_message=report, **stopped
        )

    assert '"block"' in configured()
    assert '"block"' not in configured(evidence="off")
    # The command line follows the same switch, unless its caller requires recorded runs.
    assert player.judge(CLAIM).rules == {}
    assert player.judge(CLAIM, require="recorded").rules == {"check-failed": "error"}
    # Without the project there is nothing to compare with, unless runs are required.
    assert '"block"' not in configured(check_workspace=False)
    assert '"block"' in configured(check_workspace=False, require_evidence="recorded")
    # An honest run satisfies it.
    player.record(player.runner())
    assert '"block"' not in configured(check_workspace=False, require_evidence="recorded")


@pytest.mark.requirement("R-04")
def test_named_commands_in_the_options_of_the_project(player: Player) -> None:
    proof = player.state / "ran"
    table = f'command = ["touch", "{proof}"]\n'
    options = player.work.write("pyproject.toml", f"[tool.goop-mcp.checks.tests]\n{table}")
    done = player.goop("run", "tests")
    assert done.returncode == 2
    assert "the checks in pyproject.toml are not trusted" in done.stderr
    assert not proof.exists()

    assert player.trust().stdout == f"tests: touch {proof}\n"
    assert player.goop("run", "tests").returncode == 0
    assert proof.exists()

    # The rest of the file may change, the table may not.
    proof.unlink()
    text = options.read_text(encoding="utf-8")
    options.write_text(f'{text}[project]\nname = "x"\n', encoding="utf-8")
    assert player.goop("run", "tests").returncode == 0
    proof.unlink()
    options.write_text(text.replace("touch", "true"), encoding="utf-8")
    assert player.goop("run", "tests").returncode == 2
    assert player.goop("evidence", "verify", "--rerun").returncode == 2

    # Who wrote another file must not choose between two commands.
    player.work.write(".goopspec/checks.toml", f"[checks.tests]\n{table}")
    done = player.goop("run", "--trust")
    assert done.returncode == 2
    assert "remove one of them" in done.stderr
    # goop-mcp.toml counts alone where it exists.
    (player.work.folder / ".goopspec" / "checks.toml").unlink()
    player.work.write("goop-mcp.toml", f"[checks.lint]\n{table}")
    assert player.trust().stdout.startswith("lint: touch ")
    assert not proof.exists()


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ('[checks.tests]\ncommand = ["pytest", "-q"]\ntimeout = 5\npaths = ["src"]\n', True),
        ("[checks.tests]\n", False),
        ('[checks.tests]\ncommand = "pytest"\n', False),
        ('[checks.tests]\ncommand = ["a"]\ntimeout = 0\n', False),
        ('[checks.tests]\ncommand = ["a"]\nshell = true\n', False),
    ],
)
def test_the_schema_of_the_file_says_what_the_program_takes(
    player: Player, text: str, *, fits: bool
) -> None:
    schema = json.loads(player.goop("schema", "checks").stdout)
    validator = import_module("jsonschema").Draft202012Validator(schema)
    assert validator.is_valid(tomllib.loads(text)) is fits
    player.work.write(".goopspec/checks.toml", text)
    assert (player.trust().returncode == 0) is fits


def test_a_run_in_a_database_of_postgresql_is_found_again(
    player: Player, database: Database
) -> None:
    options = ["--database", database.url(), "--project-id", "shop"]
    done = player.goop("run", "--name", "tests", *options, "--", player.runner())
    assert " tests passed (12 run) on tree " in done.stderr, done.stderr
    assert not (player.work.folder / ".goopspec" / "goop.db").exists()
    assert player.goop("evidence", "list", *options).stdout.startswith("r-")
    arguments = ["check", "-", "--workspace", "--format", "json", *options]
    [verdict] = json.loads(player.goop(*arguments, given=player.report(CLAIM)).stdout)
    assert "recorded" in {each["tier"] for each in verdict["evidence"]}


def test_no_temporary_folder_is_left(player: Player, tmp_path: Path) -> None:
    room = tmp_path / "room"
    room.mkdir()
    player.record(player.runner(), TMPDIR=str(room))
    assert list(room.iterdir()) == []
