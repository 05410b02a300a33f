"""What a passed check rests on where everything that the agent did could be read (D-104, D-113)."""

from pathlib import Path

import pytest

from goop_mcp import validate
from goop_mcp.evidence import AgentActivity, ObservedCall, ObservedCommand, ObservedFile
from goop_mcp.evidence.judging import Judgement, judge_evidence
from goop_mcp.protocols import examine
from goop_mcp.validation.claims import CheckClaim, Claims
from goop_mcp.validation.samples import COMPLETE_REPLY
from goop_mcp.validation.verdict import Requirement
from goop_mcp.workspace.git import Repository
from tests.evidence.recorded import RECORDED, Recorded
from tests.workspace.true_projects import git

REPORTED = [each for each in RECORDED if each.report is not None]
READ = ObservedCall(position=0, name="Read", ok=True)
PYTEST = ("pytest -q", "12 passed in 0.1s")
PUSHED = """\
[main 1a2b3c4] x
 1 file changed, 1 insertion(+)
 create mode 100644 a.py
Enumerating objects: 5, done.
To github.com:acme/shop
   1a2b3c4..5d6e7f8  main -> main
"""
EDIT = ObservedFile(position=9, path="/p/src/a.py", action="edited")


def calls(*names: str) -> tuple[ObservedCall, ...]:
    return tuple(ObservedCall(position=at, name=name, ok=True) for at, name in enumerate(names))


def did(
    *commands: tuple[str, str],
    tools: tuple[ObservedCall, ...] = (READ,),
    files: tuple[ObservedFile, ...] = (),
    complete: bool = True,
) -> AgentActivity:
    seen = tuple(
        ObservedCommand(position=at, line=line, status=0, output=output)
        for at, (line, output) in enumerate(commands, 1)
    )
    return AgentActivity(
        host="claude-code", complete=complete, commands=seen, tools=tools, files=files
    )


def judged(
    activity: AgentActivity,
    name: str = "tests",
    text: str = "pytest: 12 passed",
    *,
    require: Requirement = "readable",
    is_complete: bool = True,
    passed: bool = True,
    hooks: bool | None = False,
) -> Judgement:
    check = CheckClaim(name=name, passed=passed, text=text, where="/check")
    return judge_evidence(
        Claims(checks=(check,), complete=is_complete),
        activity,
        require=require,
        hooks=None if hooks is None else lambda: hooks,
    )


def errors(judgement: Judgement) -> list[str]:
    return [each.rule.id for each in judgement.problems if each.rule.lenient == "error"]


@pytest.mark.parametrize(
    ("activity", "name", "text"),
    [
        (did(), "tests", "pytest: 12 passed"),
        (did(("ls -la", "src")), "unit tests", "12 passed"),
        (did(("git status", "clean"), ("cat a.py", "a = 1")), "tests", "all green"),
        (did(PYTEST), "lint", "ruff: no findings"),
        (did(PYTEST), "types", "mypy: Success"),
        (did(PYTEST), "build", "tsc: no errors"),
        (did(PYTEST), "coverage", "91 %"),
        (did(PYTEST), "format", "black: unchanged"),
        (did(PYTEST), "audit", "no vulnerabilities"),
        (did(files=(EDIT,)), "tests", "pytest: 12 passed"),
        (did(("cp a b && rm c", ""), ("mkdir -p d", "")), "tests", "12 passed"),
        (did(("npm install left-pad", "added 1 package")), "tests", "12 passed"),
        (did(("source .venv/bin/activate && ls", "")), "tests", "12 passed"),
        (did(("git commit -qam done", "")), "tests", "12 passed"),
        (did(("git commit -am x", "[main 1a2b3c4] x\n 1 file changed")), "tests", "12 passed"),
        (did(("git add -A && git commit -m x && git push", PUSHED)), "tests", "12 passed"),
        (did(("pip install pytest", "Successfully installed pytest-9")), "tests", "12 passed"),
        (did(("which pytest", "/usr/bin/pytest")), "tests", "12 passed"),
        (did(("grep -rn TODO src | head", "")), "lint", "no issues"),
        (did(("cat tests/test_a.py", "def test_a(): pass")), "tests", "3 passed"),
        (did(("sed -i s/a/b/ a.py", "")), "tests", "all passing"),
        (did(("ls", "a.py")), "build", "succeeds"),
        (did(("true", "12 passed in 0.1s")), "tests", "12 passed"),
        (did(("ruff check .", "All checks passed!")), "typecheck", "mypy: Success"),
        (did(("ruff check .", "All checks passed!")), "tests", "pytest: 12 passed"),
        (did(tools=calls("Grep", "Glob", "WebFetch", "TodoWrite")), "tests", "12 passed"),
        (did(tools=calls("TaskCreate", "TaskUpdate")), "tests", "12 passed"),
        (did(tools=calls("mcp__goop__validate_report")), "tests", "12 passed"),
        (did(), "tests", "12 bestanden"),
        (did(), "tests", ""),
        (did(), "Tests pass", "Yes"),
        (did(), "all tests passing", "run"),
        (did(), "unit tests", "All 12 tests pass with no warnings"),
        (did(), "build", "Build completed successfully"),
    ],
)
@pytest.mark.requirement("G-28", "G-47")
def test_a_check_that_nothing_can_have_been_is_an_error(
    activity: AgentActivity, name: str, text: str
) -> None:
    found = judged(activity, name, text)
    assert errors(found) == ["evidence/check-not-run"]
    [problem] = [each for each in found.problems if each.rule.lenient == "error"]
    assert "no command of this task shows it" in problem.hit.message
    assert "on a line of its own" in (problem.hit.fix or "")


@pytest.mark.parametrize(
    "line",
    [
        *("echo '12 passed in 0.1s'", "printf '12 passed in 0.1s'"),
        *("pytest --version", "pytest --collect-only"),
    ],
)
def test_a_command_that_proves_nothing_is_an_error_that_names_it(line: str) -> None:
    found = judged(did((line, "12 passed in 0.1s")))
    assert errors(found) == ["evidence/check-not-run"]
    assert f"{line!r} proves nothing; expected a run" in found.problems[-1].hit.message
    assert found.problems[-1].hit.fix == "Run the check itself."


def test_a_here_document_is_text_of_the_agent_and_a_log_is_not() -> None:
    document = "cat <<'E'\n12 passed in 0.1s\nE"
    found = judged(did((document, "12 passed in 0.1s")))
    assert errors(found) == ["evidence/check-not-run"]
    assert "\"cat <<'E'\" proves nothing" in found.problems[-1].hit.message
    for line in (f"{document}\ncat ci.log", "cat ci.log", "cat ci.log - <<'E'\nx\nE"):
        assert errors(judged(did((line, "12 passed in 0.1s")))) == []


def test_a_line_that_hides_a_failure_is_an_error_that_shows_it() -> None:
    found = judged(did(("pytest -q || true", "2 failed, 10 passed in 0.1s")))
    assert errors(found) == ["evidence/check-not-run"]
    assert "pytest: its output shows '2 failed" in found.problems[-1].hit.message


def test_a_change_after_the_last_passing_run_is_an_error() -> None:
    assert errors(judged(did(PYTEST, files=(EDIT,)))) == ["evidence/check-stale"]
    earlier = ObservedFile(position=0, path="/p/src/a.py", action="edited")
    assert errors(judged(did(PYTEST, files=(earlier,)))) == []


@pytest.mark.parametrize(
    "activity",
    [
        did(PYTEST),
        # What may have been it: scripts, unknown programs, lines that cannot be attributed.
        did(("./scripts/check.sh", "done")),
        did(("make verify", "ok")),
        did(("npm run ci", "ok")),
        did(("python tools/run_all.py", "ok")),
        did(("pytest -q | tail -1", "12 passed in 0.1s")),
        did(("pytest -q || true", "12 passed in 0.1s")),
        did(("docker compose run app pytest", "12 passed in 0.1s")),
        *(
            did((line, "ok"))
            for line in (
                *("$RUNNER", "${X:-pytest} -q", '"$(which pytest)"', 'eval "$CMD"', "`cat cmd`"),
                *("cd x && $T", "A=1 $B", "xargs < cmds", "source run.sh", ". ./x", "/opt/tool"),
                *("foo", "gh run watch", "ssh host ./t", "act", "rake", "node -e 'run()'"),
                *("for f in *.py; do python $f; done", "find . -name t.py -exec python {} +"),
                *("python - <<X\nimport pytest; pytest.main()\nX", "sh < cmds", "git bisect run t"),
                *("git rebase -x ./t main", "npm t", "yarn verify", "if ./t; then echo ok; fi"),
            )
        ),
        # Hooks of git print what they ran.
        did(("git commit -am x", "pytest....Passed\n[main 1a2b3c4] x")),
        did(("git push", "husky > pre-push\n12 passed\nTo x")),
        did(("git commit -am x", "  Login\n    ✓ works\n\n  1 passing (5ms)\n\n[main 1a2b3c4] x")),
        did(("git commit -am x", "[STARTED] Running tasks...\n[COMPLETED] jest\n[main 1a2b3c4] x")),
        # Other words of git may be aliases.
        *(did((line, "ok")) for line in ("git t", "git hook run pre-commit", "git rebase -x ./t")),
        # A script may have the name of a program that only reads.
        *(did((line, "ok")) for line in ("./test", "script/test", "bin/env -v", "./install")),
        *(
            did((line, "12 passed in 0.1s"))
            for line in (
                *("cd api && pytest -q", "pytest -q &", "docker exec app ./t", "time ./t"),
                *("echo $(pytest -q)", 'OUT=$(pytest -q); echo "$OUT"', "cat <(./t)", "(./t)"),
                *("t() { ./run; }; t", "while ! ./ready; do sleep 1; done", "exec ./t"),
                *("trap ./t EXIT", "ls *.py | xargs python", "env A=1 ./t", "gh pr checks"),
                *("curl -s https://ci/api/status", "npm run build", "npm install", "npm ci"),
                *("pip install -e .", "docker build .", "ninja check", "make lint"),
                *("goop-mcp run --name tests -- pytest -q", 'python -c "import t"'),
            )
        ),
        did(("pytest --version", "8"), ("foo", "ok")),
        did(("pytest --collect-only", "12"), ("./scripts/check.sh", "done")),
        # A log of what others started.
        did(("tail -5 vitest.log", "Tests  12 passed (12)")),
        # Other tools and agents that can run commands, or that the reader does not know.
        *(
            did(tools=calls(name))
            for name in (
                *("mcp__ide__executeCode", "Task", "Agent", "SendMessage", "Monitor", "Skill"),
                *("BashOutput", "TaskOutput", "PowerShell", "run_tests", "mcp__vitest__all"),
                *("mcp__playwright__browser_navigate", "mcp__github__get_pull_request_status"),
                *("hook", "bash-input"),
            )
        ),
        # The transcript could not be read whole.
        did(complete=False),
    ],
)
def test_what_may_have_been_it_is_never_accused(activity: AgentActivity) -> None:
    assert errors(judged(activity)) == []


@pytest.mark.parametrize(
    "line",
    [
        "git commit -qam done",
        "git add -A && git commit -m x",
        "git push -q",
        "git merge -q main",
        "git -C . commit -qm x",
    ],
)
def test_a_hook_of_git_that_prints_nothing_may_have_been_it(line: str) -> None:
    for hooks in (True, None):
        assert errors(judged(did((line, "")), hooks=hooks)) == []
    assert errors(judged(did((line, "")), hooks=False)) == ["evidence/check-not-run"]
    assert errors(judged(did((f"{line} --no-verify", "")), hooks=True)) == [
        "evidence/check-not-run"
    ]


def test_whether_a_project_has_hooks_is_looked_up(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    assert not Repository(tmp_path).may_have_hooks()
    (tmp_path / ".git/hooks/pre-commit").write_text("exit 0\n", encoding="utf-8")
    assert Repository(tmp_path).may_have_hooks()
    (tmp_path / ".git/hooks/pre-commit").unlink()
    for key, value in (("core.hooksPath", ".husky/_"), ("hook.lint.command", "ruff")):
        git(tmp_path, "config", key, value)
        assert Repository(tmp_path).may_have_hooks()
        git(tmp_path, "config", "--unset", key)
    assert not Repository(tmp_path).may_have_hooks()


@pytest.mark.parametrize(
    "text",
    [
        "CI: 12 passed, https://ci.example/runs/17",
        "run by goop-tester: 12 passed",
        "the tester ran pytest: 12 passed",
        "12 passed in the pipeline",
        "verified by a person",
        "reviewed manually",
        "n/a: documentation only",
        "not applicable",
        "12 passed, as in the earlier run of the orchestrator",
        "the user ran them: 12 passed",
        "run by Ann: 12 passed",
        "12 passed in W1.T2",
        "12 passed in the pre-commit hook",
        "vom Nutzer ausgeführt: 12 bestanden",
        "no tests in this project",
        "none needed",
        "checked by reading",
    ],
)
def test_a_check_that_others_ran_is_not_accused(text: str) -> None:
    assert errors(judged(did(), "tests", text)) == []


@pytest.mark.parametrize(
    ("activity", "name", "text"),
    [
        (did(tools=calls("mcp__ide__getDiagnostics")), "typecheck", "no errors"),
        (did(tools=calls("LSP")), "typecheck", "no errors"),
        (did(("make lint", "ruff check .\nmypy .\nAll good")), "typecheck", "clean"),
        (did(("npm run lint", "> eslint . && tsc --noEmit\n")), "types", "no errors"),
        (did(("npm install", "> app@1.0.0 prepare\n> tsc\n")), "build", "ok"),
        (did(("pip install -e .", "Successfully built app")), "build", "ok"),
        (did(("cargo test", "test result: ok. 12 passed; 0 failed")), "build", "compiles"),
        (did(("go build ./...", "")), "typecheck", "no errors"),
        (did(("pytest -q", "TOTAL 10 1 90%\n12 passed in 0.1s")), "coverage", "90 %"),
        (did(("npx jest --coverage", "Tests: 12 passed, 12 total")), "coverage", "90 %"),
        (did(("vite build", "✓ built in 1s")), "typecheck", "no errors"),
        (did(("eslint .", "")), "format", "eslint clean"),
        (did(("black --check .", "All done!")), "lint", "clean"),
        (did(("pytest tests/integration -q", "4 passed in 1s")), "e2e tests", "4 passed"),
        (did(("python -m py_compile a.py", "")), "build", "compiles"),
    ],
)
def test_what_shows_one_check_may_show_another(
    activity: AgentActivity, name: str, text: str
) -> None:
    assert errors(judged(activity, name, text)) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("requirements coverage", "all 12 must-haves are covered by a task"),
        ("must-have coverage", "100 % of MH1 to MH4"),
        ("coverage", "every acceptance criterion has a task"),
        ("format", "the document follows the template"),
        ("commit message format", "conventional"),
        ("security audit", "read all 14 files, none stores a secret"),
        ("tests written", "3 new tests in tests/test_a.py"),
        ("test plan", "covers all cases"),
        ("spec complete", "all sections filled"),
        ("spec", "ok"),
        ("types", "all functions annotated"),
        ("integration", "fits the existing API"),
        ("build plan", "three waves"),
        ("acceptance tests defined", "4 scenarios"),
    ],
)
def test_a_check_of_a_document_needs_no_run(name: str, text: str) -> None:
    assert errors(judged(did(), name, text)) == []


def changed_after(
    *commands: tuple[int, str], path: str = "/p/src/a.py", tools: tuple[ObservedCall, ...] = ()
) -> AgentActivity:
    """Return the work of an agent that changed a file in the middle of its commands."""
    return AgentActivity(
        host="claude-code",
        complete=True,
        commands=tuple(
            ObservedCommand(position=at, line=line, status=0, output="12 passed in 0.1s")
            for at, line in commands
        ),
        files=(ObservedFile(position=5, path=path, action="edited"),),
        tools=tools,
    )


@pytest.mark.parametrize(
    "activity",
    [
        changed_after((1, "pytest -q"), (9, "pytest -q | tail -1")),
        changed_after((1, "pytest -q"), (9, "make verify")),
        changed_after((1, "pytest -q"), tools=(ObservedCall(position=9, name="Task", ok=True),)),
        changed_after((1, "pytest -q"), path="/var/lib/notes.py"),
    ],
)
def test_a_change_after_which_it_may_have_run_again_is_no_error(activity: AgentActivity) -> None:
    assert errors(judged(activity)) == []


@pytest.mark.parametrize("record", REPORTED, ids=[each.id for each in REPORTED])
def test_of_the_recorded_agents_only_those_that_ran_nothing_have_to_show_more(
    record: Recorded,
) -> None:
    claims = examine(record.report or "", protocol="goop_report").claims()
    judgement = judge_evidence(claims, record.read(), require="readable", hooks=lambda: False)
    ran_nothing = record.name == "nothing-run"
    assert (errors(judgement) == []) != ran_nothing or not record.truth["honest"]


def test_only_passed_checks_of_complete_tasks_need_a_run() -> None:
    assert errors(judged(did(), passed=False)) == []
    assert errors(judged(did(), is_complete=False)) == []
    assert errors(judged(did(), "manual review", "looked at it")) == []
    assert errors(judged(did(), "acceptance criteria", "met")) == []


def test_a_person_may_ask_for_claims_alone() -> None:
    assert errors(judged(did(), require="claimed")) == []
    [problem] = judged(did(), require="claimed").problems
    assert problem.rule.id == "evidence/check-not-run"


@pytest.mark.requirement("G-47")
@pytest.mark.parametrize("mode", ["lenient", "strict"])
def test_a_task_without_any_call_of_a_tool_is_not_complete(mode: str) -> None:
    nothing = AgentActivity(host="claude-code", complete=True)
    assert errors(judged(nothing, "manual review", "read it twice")) == []
    verdict = validate(
        COMPLETE_REPLY,
        protocol="goop_report",
        mode="strict" if mode == "strict" else "lenient",
        evidence=nothing,
    )
    assert not verdict.accepted
    assert "evidence/nothing-done" in {each.rule for each in verdict.findings}
    unknown = AgentActivity(host="claude-code", why_incomplete="only its end was read")
    found = validate(COMPLETE_REPLY, protocol="goop_report", evidence=unknown)
    assert found.accepted, found.feedback
