"""A shell line that changes a source file makes the run before it out of date."""

from collections.abc import Sequence

import pytest

from goop_mcp.evidence import AgentActivity, ObservedCommand, ObservedFile
from goop_mcp.evidence.judging import judge_evidence
from goop_mcp.validation.claims import CheckClaim, Claims
from goop_mcp.validation.verdict import Requirement

PASSED = ("pytest -q", 0, "12 passed in 0.1s")
CHECK = CheckClaim(name="tests", passed=True, text="pytest: 12 passed", where="/check")

CHANGES = (
    "echo 'x = 1' >> src/calc.py",
    "cat >> src/calc.py <<'E'\nx = 1\nE",
    "echo x | tee -a src/calc.py",
    "tee src/calc.py <<E\nx\nE",
    "cd /project && echo x >> a.py",
    "printf 'x\\n' > src/new.py; ls",
    "[ -f a.py ] && echo x >> a.py",
    "cat <<E >> a.py\nx\nE",
)
POSSIBLE = (
    "sed -i 's/a/b/' src/calc.py",
    "sed -i.bak -e s/a/b/ src/calc.py",
    "perl -pi -e 's/a/b/' src/calc.py",
    "python - <<'E'\nopen('a.py', 'w').write('x')\nE",
    "python3 -c \"import pathlib; pathlib.Path('a.py').write_text('')\"",
    "cp /tmp/x.py src/calc.py",
    "git apply fix.diff",
    'echo x >> "$F"',
    "grep x y >> a.py",
    "[ -f a.py ] || echo x >> a.py",
    "if true; then echo x >> a.py; fi",
    "for i in 1 2; do echo $i >> a.py; done",
    "cd /tmp/x && echo x > a.py",
    "docker exec web sh -c 'echo x >> a.py'",
    "exit 0; echo x >> a.py",
    "cat > scratch.py <<E\nx\nE\npython scratch.py; rm scratch.py",
)
OTHER = (
    "echo done >> CHANGELOG.md",
    "echo x >> /tmp/a.py",
    "echo x > ../other/a.py",
    "echo x >> ~/a.py",
    "sed -n 1,5p src/calc.py",
    "sed 's/a/b/' src/calc.py",
    "tee -a build.log <<E\nx\nE",
    "ls > /dev/null 2>&1",
    "python - <<'E'\nprint(open('a.py').read())\nE",
    "python app.py",
    "git commit -am 'sed -i x.py >> a.py'",
    "grep -i x src/a.py",
    "cat src/calc.py",
)


def found(
    *commands: tuple[str, int | None, str],
    require: Requirement = "readable",
    changed: str | None = None,
    edited: tuple[str, ...] = (),
) -> list[str]:
    """Return the severities of what is out of date."""
    activity = AgentActivity(
        host="claude-code",
        complete=True,
        commands=tuple(
            ObservedCommand(position=at, line=line, status=status, output=output)
            for at, (line, status, output) in enumerate(commands)
        ),
        files=tuple(ObservedFile(position=0, path=each, action="edited") for each in edited),
    )

    def differs(paths: Sequence[str]) -> str | None:
        return changed if changed is None or changed in paths else ""

    judged = judge_evidence(
        Claims(checks=(CHECK,), complete=True), activity, require=require, redefined=differs
    )
    assert judged.items[0].tier == "observed"
    assert {each.rule.id for each in judged.problems} <= {"evidence/check-stale"}
    return [str(each.rule.lenient) for each in judged.problems]


@pytest.mark.parametrize("line", CHANGES)
def test_a_line_that_writes_a_named_source_file_is_a_change(line: str) -> None:
    assert found(PASSED, (line, 0, "")) == ["error"]
    assert found(PASSED, (line, 0, ""), require="claimed") == ["warning"]
    assert found((line, 0, ""), PASSED) == []
    # What was taken back, or what a line that failed did, is not certain.
    assert found(PASSED, (line, 0, ""), ("git checkout -- .", 0, "")) == ["info"]
    assert found(PASSED, (line, 1, "")) == ["info"]


@pytest.mark.parametrize("line", POSSIBLE)
def test_a_line_that_may_have_changed_a_file_accuses_nobody(line: str) -> None:
    for require in ("claimed", "readable", "observed"):
        assert found(PASSED, (line, 0, ""), require=require) == ["info"]


@pytest.mark.parametrize("line", OTHER)
def test_a_line_that_changes_no_source_file_is_not_mentioned(line: str) -> None:
    assert found(PASSED, (line, 0, "")) == []


def test_what_comes_after_the_run_in_its_own_line_counts() -> None:
    output = "12 passed in 0.1s"
    assert found(("pytest -q && echo '# x' >> calc.py", 0, output)) == ["error"]
    assert found(("echo '# x' >> calc.py && pytest -q", 0, output)) == []


def test_results_in_files_of_data_are_no_change_of_the_source() -> None:
    passed = ("npx jest", 0, "Tests:       12 passed, 12 total")
    check = "echo '{}' > report.json"
    assert found(passed, (check, 0, "")) == ["info"]


def test_a_file_that_a_line_may_have_changed_is_compared() -> None:
    edit = ("sed -i 's/a/b/' src/calc.py", 0, "")
    assert found(PASSED, edit, changed="src/calc.py") == ["error"]
    assert found(PASSED, edit, changed="src/calc.py", edited=("src/test_calc.py",)) == ["error"]
    # It is as it was when the task began.
    assert found(PASSED, edit, changed="other") == []
    # Something may have changed it before the run.
    assert found(edit, PASSED, edit, changed="src/calc.py") == ["info"]
    assert found(("python fix.py", 0, ""), PASSED, edit, changed="src/calc.py") == ["info"]
    assert found(PASSED, edit, changed="src/calc.py", edited=("src/calc.py",)) == ["info"]
