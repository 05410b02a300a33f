"""What a recorded run proves, in a real repository: runners, trusted commands, unchanged targets.

Nothing else proves a check, and no honest agent is accused of it.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from goop_mcp.evidence.activity import AgentActivity, ObservedCommand, ObservedFile
from goop_mcp.evidence.evidence import Evidence
from goop_mcp.recording.trust import trust
from goop_mcp.services.check_workspace import check_workspace
from goop_mcp.services.named_checks import read_checks
from goop_mcp.services.stop_hooks.task_bases import TaskBase, base_of, keep_base
from goop_mcp.validation.verdict import Verdict
from goop_mcp.workspace.definitions import ChangedDefinitions
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.git import GitError, Repository
from tests.recording.played import Player
from tests.recording.repositories import Work

SHOWN = "12 passed in 0.31s"
MAKEFILE = "include mk/*.mk\ninclude $(HERE)/extra.mk\ntest:\n\t@echo tests\n"
PACKAGE: dict[str, Any] = {"name": "app", "scripts": {"test": "pytest"}, "dependencies": {}}


@pytest.fixture
def player(tmp_path: Path) -> Player:
    (tmp_path / "state").mkdir()
    work = Work(tmp_path / "work")
    work.write(".gitignore", ".goopspec/goop.db*\n.venv/\n")
    work.write("Makefile", MAKEFILE)
    work.write("mk/a.mk", "A = 1\n")
    work.write("extra.mk", "B = 1\n")
    work.write("package.json", json.dumps(PACKAGE))
    work.write("run.sh", f"#!/bin/sh\necho '{SHOWN}'\n").chmod(0o755)
    work.commit("with targets")
    player = Player(work, tmp_path / "state")
    # Programs that print what the real ones do, so that a state takes no time.
    for name in ("make", "npm", "pytest"):
        program = player.state / "bin" / name
        program.parent.mkdir(exist_ok=True)
        shown = "> pytest -q\\n" if name == "npm" else ""
        program.write_text(f"#!/bin/sh\nprintf '{shown}{SHOWN}\\n'\n", encoding="utf-8")
        program.chmod(0o755)
    player.environment["PATH"] = f"{player.state}/bin:{player.environment['PATH']}"
    return player


def judged(player: Player, run: str, *options: str) -> dict[str, Any]:
    claim = f'<check name="tests" passed="true" run="{run}">pytest: 12 passed</check>'
    words = ["check", "-", "--workspace", "--format", "json", *options]
    done = player.goop(*words, given=player.report(claim))
    [verdict] = json.loads(done.stdout)
    return dict(verdict)


def tier(verdict: dict[str, Any]) -> str:
    [item] = [each for each in verdict["evidence"] if each["claim"].startswith("check")]
    return str(item["tier"])


def about_checks(verdict: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [
        (each["rule"], each["severity"], each["message"])
        for each in verdict["findings"]
        if "verification" in (each["path"] or "")
    ]


def test_a_run_whose_result_is_unknown_is_not_contradicted(player: Player) -> None:
    for line, why in (
        ("python -m pytest nothing.py | cat", "whether it passed is not known: "),
        ("true", "it proves nothing: "),
    ):
        run, _ = player.record("sh", "-c", line)
        verified = player.goop("evidence", "verify", run)
        assert f": not checked: {why}" in verified.stdout
        assert verified.returncode == 3

    failed, _ = player.record(sys.executable, "-c", "import sys; sys.exit(3)")
    verified = player.goop("evidence", "verify", failed)
    assert ": contradicted: it did not pass: " in verified.stdout
    assert verified.returncode == 1


@pytest.mark.requirement("R-04", "R-09")
def test_a_command_that_only_prints_a_summary_proves_nothing(player: Player) -> None:
    command = [sys.executable, "-c", "print('1 passed in 0.1s')"]
    run, line = player.record(*command)
    assert " tests proves nothing (1 run, " in line
    assert "is no known runner, and no check that a person trusts has this command) on tree" in line

    # The run is kept and shown, and what it is worth with it.
    assert (
        f"{run} tests: not checked: it proves nothing: "
        in (verified := player.goop("evidence", "verify", run)).stdout
    )
    assert verified.returncode == 3
    assert "tests proves nothing: " in player.goop("evidence", "list").stdout
    statement = json.loads(player.goop("evidence", "export", run).stdout)
    assert statement["predicate"]["result"] == "FAILED"

    verdict = judged(player, run)
    assert verdict["verdict"] == "accepted"
    assert tier(verdict) == "claimed"
    [(rule, severity, message)] = about_checks(verdict)
    assert (rule, severity) == ("evidence/check-not-run", "info")
    assert f"run {run} of " in message
    assert "proves nothing" in message
    [finding] = [each for each in verdict["findings"] if each["rule"] == rule]
    assert ".goopspec/checks.toml ([checks.tests], command = [...])" in finding["fix"]
    assert judged(player, run, "--require-evidence", "recorded")["verdict"] == "rejected"

    # Once a person has named exactly this command, it proves its check under any name of a run.
    text = json.dumps(command)
    player.work.write(".goopspec/checks.toml", f"[checks.tests]\ncommand = {text}\n")
    _, line = player.record(*command)
    assert "tests proves nothing" in line
    assert player.trust().returncode == 0
    run, line = player.record(*command)
    assert "tests passed (1 run) on tree" in line
    assert tier(judged(player, run)) == "recorded"
    # The same words start another program in another folder.
    _, line = player.record(*command, folder=player.work.folder / "src")
    assert "tests proves nothing" in line


def test_the_name_of_a_trusted_command_may_be_any(player: Player) -> None:
    player.work.write(".goopspec/checks.toml", '[checks.docs]\ncommand = ["./run.sh"]\n')
    assert player.trust().returncode == 0
    assert "docs passed" in player.goop("run", "docs").stderr
    assert "docs passed" in player.record("./run.sh", name="docs")[1]
    assert "docs proves nothing" in player.record("./run.sh", "--other", name="docs")[1]


CHANGES = {
    "nothing": {},
    "another file": {"src/app.py": "changed = 1\n"},
    "a dependency": {"package.json": json.dumps(PACKAGE | {"dependencies": {"left-pad": "1"}})},
    "the target": {"Makefile": MAKEFILE.replace("tests", SHOWN)},
    "an include": {"mk/a.mk": "A = 2\n"},
    "a new include": {"mk/b.mk": "A = 2\n"},
    "an include of a variable": {"extra.mk": "B = 2\n"},
    "a makefile that goes before": {"GNUmakefile": MAKEFILE},
    "the script": {"package.json": json.dumps(PACKAGE | {"scripts": {"test": "echo"}})},
    "the shell of scripts": {".npmrc": "script-shell=./run.sh\n"},
    "unreadable": {"package.json": "{"},
}
MAKE, NPM = ("make", "test"), ("npm", "test")
STATES = [
    ("nothing", MAKE, ""),
    ("another file", MAKE, ""),
    ("the target", MAKE, "Makefile"),
    ("an include", MAKE, "mk/a.mk"),
    ("a new include", MAKE, "mk/b.mk"),
    ("an include of a variable", MAKE, "extra.mk"),
    ("a makefile that goes before", MAKE, "GNUmakefile"),
    ("a dependency", MAKE, ""),
    ("nothing", NPM, ""),
    ("a dependency", NPM, ""),
    ("the target", NPM, ""),
    ("the script", NPM, "package.json"),
    ("the shell of scripts", NPM, ".npmrc"),
    ("unreadable", NPM, "package.json"),
]


@pytest.mark.parametrize("committed", [False, True], ids=["uncommitted", "committed"])
@pytest.mark.parametrize(("change", "command", "file"), STATES)
def test_a_target_proves_its_check_unless_what_defines_it_changed(
    player: Player, change: str, command: tuple[str, ...], file: str, *, committed: bool
) -> None:
    base = player.work.git("rev-parse", "HEAD").strip()
    for name, text in CHANGES[change].items():
        player.work.write(name, text)
    if committed:
        player.work.commit("changed")
    run, line = player.record(*command)
    assert "tests passed (12 run) on tree" in line

    verdict = judged(player, run, "--base", base)
    assert verdict["verdict"] == "accepted"
    if not file:
        assert (tier(verdict), about_checks(verdict)) == ("recorded", [])
        return

    assert tier(verdict) == "claimed"
    [(rule, severity, message)] = about_checks(verdict)
    assert (rule, severity) == ("evidence/check-not-run", "info")
    assert f"passed, but {file!r}, which says what it runs, possibly changed" in message
    # Where nobody knows when the task began, the last commit counts.
    assert tier(judged(player, run)) == ("recorded" if committed else "claimed")


def test_a_program_of_the_project_that_shadows_a_runner_proves_nothing(player: Player) -> None:
    base = player.work.git("rev-parse", "HEAD").strip()
    fake = f"#!/bin/sh\necho '{SHOWN}'\n"
    player.work.write("tools/pytest", fake).chmod(0o755)
    usual = player.environment["PATH"]
    shadowed = f"{player.work.folder}/tools:{usual}"
    for words, path in (
        (["./tools/pytest"], usual),
        ([str(player.work.folder / "tools" / "pytest")], usual),
        (["pytest"], shadowed),
        (["sh", "-c", "pytest -q"], shadowed),
    ):
        run, _ = player.record(*words, PATH=path)
        verdict = judged(player, run, "--base", base)
        assert tier(verdict) == "claimed", words
        [(_, severity, message)] = about_checks(verdict)
        assert severity == "info"
        assert "'tools/pytest', which says what it runs, possibly changed" in message

    # Of before the task, and in a folder of an installer: nothing says that it is another one.
    player.work.commit("tools")
    run, _ = player.record("./tools/pytest")
    assert tier(judged(player, run)) == "recorded"
    player.work.write(".venv/bin/pytest", fake).chmod(0o755)
    run, _ = player.record(".venv/bin/pytest")
    assert tier(judged(player, run, "--base", base)) == "recorded"

    # One that shows nothing may be anything.
    player.work.write("tools/pytest", "#!/bin/sh\n").chmod(0o755)
    assert "tests proves nothing (its output shows no result" in player.record("tools/pytest")[1]


def test_a_module_of_the_project_that_shadows_a_runner_proves_nothing(player: Player) -> None:
    base = player.work.git("rev-parse", "HEAD").strip()
    player.work.write("pytest.py", f"print('{SHOWN}')\n")
    run, line = player.record(sys.executable, "-m", "pytest")
    assert "tests passed (12 run)" in line
    assert tier(judged(player, run, "--base", base)) == "claimed"


def test_a_script_that_a_target_shows_counts_as_what_defines_it(player: Player) -> None:
    base = player.work.git("rev-parse", "HEAD").strip()
    program = player.state / "bin" / "npm"
    program.write_text(f"#!/bin/sh\necho '> ./run.sh'\necho '{SHOWN}'\n", encoding="utf-8")
    run, _ = player.record("npm", "test")
    assert tier(judged(player, run, "--base", base)) == "recorded"
    player.work.write("run.sh", "#!/bin/sh\necho other\n")
    run, _ = player.record("npm", "test")
    verdict = judged(player, run, "--base", base)
    assert tier(verdict) == "claimed"
    assert "'run.sh', which says what it runs, possibly changed" in about_checks(verdict)[0][2]


def test_an_honest_run_that_nobody_can_attribute_is_no_lie(player: Player) -> None:
    # Until now the report that named such a run was rejected: "it did not pass".
    run, line = player.record("sh", "-c", "pytest -q | tail -1")
    assert "shows no result (12 run, the line's exit status is not that of this command)" in line
    verdict = judged(player, run)
    assert verdict["verdict"] == "accepted"
    assert [each[:2] for each in about_checks(verdict)] == [("evidence/check-not-run", "info")]


# What a host saw


def observed(
    player: Player,
    line: str,
    *files: ObservedFile,
    base: TaskBase | None = None,
) -> Verdict:
    command = ObservedCommand(position=9, line=line, status=0, output=SHOWN, source="step 9")
    activity = AgentActivity(host="test", complete=True, commands=(command,), files=files)
    evidence = Evidence(activity=activity)
    if base is not None:
        evidence = Evidence(
            activity=activity, base=base.commit, changed=base.changed, began=base.began
        )
    report = player.report('<check name="tests" passed="true">pytest: 12 passed</check>')
    return check_workspace(report, player.work.folder, evidence=evidence)


def observed_tier(verdict: Verdict) -> str:
    return next(item.tier for item in verdict.evidence if item.claim.startswith("check"))


def begun(player: Player) -> TaskBase:
    """Return what a task begins with that begins now, as the hook keeps it."""
    repository = Repository(player.work.folder)
    commit = player.work.git("rev-parse", "HEAD").strip()
    state = str(player.state)
    keep_base(state, "agent", TaskBase(commit, repository.uncommitted() or {}))
    base = base_of(state, "agent")
    assert base is not None
    assert base.began is not None
    return base


def test_what_a_host_saw_follows_the_same_rule(player: Player) -> None:
    assert observed_tier(observed(player, "make test")) == "observed"
    assert observed_tier(observed(player, "./run.sh")) == "claimed"
    verdict = observed(player, "./run.sh")
    [finding] = [each for each in verdict.findings if each.rule == "evidence/check-not-run"]
    assert finding.severity == "info"
    assert "'./run.sh' ended well and proves nothing" in finding.message
    assert "goop-mcp run --trust" in (finding.fix or "")

    player.work.write("Makefile", "test:\n\techo\n")
    verdict = observed(player, "make test")
    assert verdict.accepted
    assert observed_tier(verdict) == "claimed"
    [finding] = [each for each in verdict.findings if each.rule == "evidence/check-not-run"]
    assert "'Makefile', which says what it runs, possibly changed" in finding.message
    # A runner that was run before it says the same, and needs no Makefile.
    assert observed_tier(observed(player, "pytest -q")) == "observed"


def test_only_what_changed_since_the_task_began_counts(player: Player) -> None:
    # Of somebody else, without a commit.
    player.work.write("Makefile", "test:\n\tpytest\n")
    player.work.write("GNUmakefile", "test:\n\tpytest\n")
    for path in ("Makefile", "GNUmakefile"):
        # A minute ago, and looked at since then.
        os.utime(player.work.folder / path, ns=(1, 1))
    base = begun(player)._replace(began=None)
    verdict = observed(player, "make -f Makefile test", base=base)
    assert "'GNUmakefile'" in str(verdict.findings), "without the moment it may be new"

    later = (player.work.folder / "GNUmakefile").stat().st_ctime_ns + 3_000_000_000
    base = base._replace(began=later)
    assert observed_tier(observed(player, "make test", base=base)) == "observed"
    # The time of a file can be set back, that of its last change cannot.
    before = base._replace(began=1)
    assert observed_tier(observed(player, "make test", base=before)) == "claimed"


def test_a_content_that_is_as_it_was_did_not_change(player: Player) -> None:
    base = begun(player)
    text = (player.work.folder / "Makefile").read_text(encoding="utf-8")
    player.work.write("Makefile", "test:\n\ttrue\n")
    assert observed_tier(observed(player, "make test", base=base)) == "claimed"
    player.work.write("Makefile", text)
    assert observed_tier(observed(player, "make test", base=base)) == "observed"
    # Other line ends than those of the repository are the same text.
    (player.work.folder / "Makefile").write_bytes(text.replace("\n", "\r\n").encode())
    assert observed_tier(observed(player, "make test", base=base)) == "observed"


def test_flags_and_times_hide_no_change(player: Player) -> None:
    base = begun(player)
    makefile = player.work.folder / "Makefile"
    stamp, text = makefile.stat(), makefile.read_text(encoding="utf-8")
    player.work.git("update-index", "--assume-unchanged", "Makefile")
    makefile.write_text(text.replace("tests", "TESTS"), encoding="utf-8")
    os.utime(makefile, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert player.work.git("status", "--porcelain") == ""
    assert observed_tier(observed(player, "make test", base=base)) == "claimed"
    run, _ = player.record("make", "test")
    assert tier(judged(player, run)) == "claimed"


@pytest.mark.parametrize(
    "line", ["cd app && make test", "make -C app test", "make -f app/Makefile"]
)
def test_the_folder_of_a_target_is_that_of_its_line(player: Player, line: str) -> None:
    player.work.write("app/Makefile", "test:\n\ttrue\n")
    player.work.commit("app")
    base = begun(player)
    assert observed_tier(observed(player, line, base=base)) == "observed"
    player.work.write("app/Makefile", "test:\n\techo\n")
    assert observed_tier(observed(player, line, base=base)) == "claimed"


def test_a_shell_may_stay_in_the_folder_that_it_entered(player: Player) -> None:
    player.work.write("app/Makefile", "test:\n\techo\n")
    entered = ObservedCommand(position=1, line="cd app", status=0)
    ran = ObservedCommand(position=2, line="make test", status=0, output=SHOWN)
    activity = AgentActivity(host="test", complete=True, commands=(entered, ran))
    report = player.report('<check name="tests" passed="true">pytest: 12 passed</check>')
    verdict = check_workspace(report, player.work.folder, evidence=Evidence(activity=activity))
    assert observed_tier(verdict) == "claimed"


def test_without_a_repository_only_what_the_agent_wrote_counts(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    player = Player(Work(tmp_path / "work"), tmp_path / "state")
    (player.work.folder / ".git").rename(tmp_path / "git")
    player.work.write("Makefile", "test:\n\ttrue\n")
    assert observed_tier(observed(player, "make test")) == "observed"
    wrote = ObservedFile(position=1, path=str(player.work.folder / "Makefile"), action="edited")
    assert observed_tier(observed(player, "make test", wrote)) == "claimed"
    failed = ObservedFile(position=1, path="Makefile", action="edited", ok=False)
    assert observed_tier(observed(player, "make test", failed)) == "observed"


def test_paths_that_lead_out_of_the_project_are_left_out(player: Player, tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("test:\n", encoding="utf-8")
    files = ProjectFiles(player.work.folder)
    (player.work.folder / "link").symlink_to(tmp_path / "Makefile")
    (player.work.folder / "loop.mk").symlink_to("loop.mk")
    changed = ChangedDefinitions(files, base=None)
    assert changed(["../Makefile", str(tmp_path / "Makefile"), "\0", "no/such", "mk"]) == ""
    assert changed(["loop.mk"]) == ""
    assert changed(["link"]) == ""
    whole = str(player.work.folder / "Makefile")
    player.work.write("Makefile", "test:\n\techo\n")
    assert changed.__class__(files, base=None)([whole]) == "Makefile"


def test_a_link_and_its_target_define_a_command(player: Player) -> None:
    (player.work.folder / "Makefile").rename(player.work.folder / "real.mk")
    (player.work.folder / "Makefile").symlink_to("real.mk")
    player.work.commit("linked")
    base = begun(player)
    assert observed_tier(observed(player, "make test", base=base)) == "observed"
    player.work.write("other.mk", "test:\n\techo\n")
    (player.work.folder / "Makefile").unlink()
    (player.work.folder / "Makefile").symlink_to("other.mk")
    assert observed_tier(observed(player, "make test", base=base)) == "claimed"


def test_a_repository_that_git_cannot_read_is_not_known(player: Player) -> None:
    files = ProjectFiles(player.work.folder)
    player.work.write("Makefile", "test:\n\techo\n")
    assert ChangedDefinitions(files, base="0" * 40)(["Makefile"]) is None
    assert ChangedDefinitions(files, base=None, until=0.0)(["Makefile"]) is None
    with pytest.raises(GitError):
        Repository(player.work.folder).blobs("nothing", ("Makefile",))


def test_what_a_makefile_takes_in_is_followed_to_its_end(player: Player) -> None:
    for number in range(300):
        player.work.write(f"mk/n{number}.mk", f"include mk/n{number + 1}.mk\n")
    player.work.write("mk/a.mk", "include mk/a.mk\ninclude mk/n0.mk\ninclude /etc/passwd ../x.mk\n")
    player.work.commit("many")
    base = begun(player)
    assert observed_tier(observed(player, "make test", base=base)) == "observed"
    player.work.write("mk/n3.mk", "A = 3\n")
    assert observed_tier(observed(player, "make test", base=base)) == "claimed"


def test_a_person_trusts_a_target_that_changed(
    player: Player, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(player.state))
    player.work.write("Makefile", "test:\n\techo\n")
    player.work.write(".goopspec/checks.toml", '[checks.tests]\ncommand = ["make", "test"]\n')
    assert observed_tier(observed(player, "make test")) == "claimed"
    found = read_checks(player.work.folder)
    trust(found.path, found.digest)
    assert observed_tier(observed(player, "make test")) == "observed"
