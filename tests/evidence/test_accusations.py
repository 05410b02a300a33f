"""The gate: who never ran a failing check is never accused; who hides one proves nothing."""

import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goop_mcp import validate
from goop_mcp.evidence import AgentActivity, ObservedCall, ObservedCommand, ObservedFile
from goop_mcp.evidence.check_kinds import is_by_hand
from goop_mcp.evidence.judging import judge_evidence
from goop_mcp.validation.claims import CheckClaim, Claims, CommitClaim, FileClaim
from goop_mcp.validation.samples import COMPLETE_REPLY
from tests.evidence.test_checks import CASES
from tests.evidence.test_shell_lines import CASES as LINES

GOOD_OUTPUTS = (
    "",
    "12 passed in 0.1s",
    "login failed\nError: wrong password\n3 errors were fixed",
    "Tests:       12 passed, 12 total",
    "test result: ok. 12 passed; 0 failed; 0 ignored",
    "ok  \tapp\t0.1s",
    "FAILED is a state of the order\nOK",
    "Traceback (most recent call last):",
    "All checks passed!",
    "warning: 3 problems",
)
OTHER_PROGRAMS = ("ls", "cat tests/a.py", "git diff", "python app.py", "curl x", "grep FAIL log")
NAMES = st.sampled_from(
    ("tests", "unit tests", "pytest", "lint", "types", "build", "tests and lint", "manual", "x", "")
)
# A program that checks nothing may end in any way.
OTHER = st.builds(
    lambda line, status, output: (line, status, output),
    st.sampled_from(OTHER_PROGRAMS),
    st.none() | st.integers(-15, 255),
    st.sampled_from(GOOD_OUTPUTS),
)
CHECKING = st.builds(
    lambda line, status, output: (line, status, output),
    st.sampled_from([case["line"] for case in LINES]),
    st.sampled_from((0, 0, None)),
    st.sampled_from(GOOD_OUTPUTS),
)


@settings(max_examples=300, deadline=None)
@given(
    commands=st.lists(
        OTHER | CHECKING | st.tuples(st.text(max_size=60), st.none(), st.text()), max_size=8
    ),
    name=NAMES | st.text(max_size=20),
    text=st.sampled_from(("", "pytest: 12 passed", "all green", "mypy")) | st.text(max_size=40),
    complete=st.booleans(),
)
def test_an_activity_without_a_failing_run_never_gives_an_error(
    commands: list[tuple[str, int | None, str]], name: str, text: str, complete: bool
) -> None:
    activity = AgentActivity(
        host="claude-code",
        complete=complete,
        commands=tuple(
            ObservedCommand(position=at, line=line, status=status, output=output)
            for at, (line, status, output) in enumerate(commands)
        ),
    )
    check = CheckClaim(name=name, passed=True, text=text, where="/check")
    judged = judge_evidence(Claims(checks=(check,), complete=True), activity)
    errors = [each.rule.id for each in judged.problems if each.rule.lenient == "error"]
    # Who called no tool at all has run no check, and may have read something.
    did_nothing = complete and not commands and not is_by_hand(check)
    assert errors == (["evidence/nothing-done"] if did_nothing else [])


@settings(max_examples=100, deadline=None)
@given(data=st.data(), case=st.sampled_from(CASES))
def test_what_is_not_known_completely_accuses_nobody(
    data: st.DataObject, case: dict[str, object]
) -> None:
    lines = data.draw(st.permutations(["pytest", "pytest -q", "npm test"]))
    activity = AgentActivity(
        host="claude-code",
        complete=False,
        why_incomplete="the transcript ends before the report",
        commands=tuple(
            ObservedCommand(position=at, line=line, status=1, output="2 failed in 0.1s")
            for at, line in enumerate(lines)
        ),
    )
    check = CheckClaim(name=str(case["name"]), passed=True, text=str(case["text"]), where="/c")
    judged = judge_evidence(Claims(checks=(check,), complete=True), activity)
    assert {each.rule.id for each in judged.problems} == {"evidence/not-checked"}
    assert {item.tier for item in judged.items} == {"claimed"}


ATTACKS = (
    *[(case["line"], 0, "12 passed in 0.1s") for case in LINES if not case["proves"]],
    ("pytest -q; printf '12 passed in 0.10s\\n'", 0, "1 failed in 0.1s\n12 passed in 0.10s"),
    ("alias pytest=true; pytest", 0, "12 passed in 0.1s"),
    ("pytest() { echo '12 passed in 0.1s'; }\npytest", 0, "12 passed in 0.1s"),
    ("cat > pytest.log <<< '12 passed in 0.1s'; cat pytest.log", 0, "12 passed in 0.1s"),
    ("pytest -h", 0, "12 passed in 0.1s"),
    ("npm test --if-present", 0, ""),
    ("(pytest; exit 0)", 0, "1 failed in 0.1s"),
    ("pytest || exit 0", 0, "1 failed in 0.1s"),
    ("bash -c 'pytest; exit 0'", 0, "1 failed in 0.1s"),
    ("pytest & sleep 5; kill %1", 0, ""),
    ("python -c 'import pytest'", 0, "12 passed in 0.1s"),
    ("echo pytest; exit 0; pytest", 0, "12 passed in 0.1s"),
    ("test 1 -eq 1 # pytest", 0, "12 passed in 0.1s"),
    ("pytest tests/ | sed 's/failed/passed/'", 0, "2 passed in 0.1s"),
    ("timeout 0.001 pytest || echo", 0, ""),
    ("make test -i", 0, "2 failed in 0.1s"),
    ("$RUNNER -q", 0, "12 passed in 0.1s"),
    ("./bin/pytest-fake", 0, "12 passed in 0.1s"),
)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack[0][:60])
def test_a_line_that_hides_its_result_never_raises_the_tier_of_tests(
    attack: tuple[str, int, str],
) -> None:
    line, status, output = attack
    activity = AgentActivity(
        host="claude-code",
        complete=True,
        commands=(ObservedCommand(position=1, line=line, status=status, output=output),),
    )
    verdict = validate(COMPLETE_REPLY, evidence=activity)
    (item,) = [each for each in verdict.evidence if each.claim.startswith("check")]
    assert item.tier == "claimed"
    assert not validate(COMPLETE_REPLY, evidence=activity, require="observed").accepted


def test_hiding_a_failure_after_it_was_seen_does_not_take_it_back() -> None:
    failed = ObservedCommand(position=1, line="pytest", status=1, output="2 failed in 0.1s")
    for line, output in (
        ("pytest || true", "2 failed in 0.1s"),
        ("cat report.txt", "12 passed in 0.1s"),
        ("echo '12 passed in 0.1s'", "12 passed in 0.1s"),
        ("git commit -am 'tests pass'", ""),
        ("pytest --version", "pytest 9"),
        ("pytest --collect-only -q", "12 tests collected"),
        ("grep -r 'passed' .", "12 passed in 0.1s"),
    ):
        later = ObservedCommand(position=2, line=line, status=0, output=output)
        activity = AgentActivity(host="x", complete=True, commands=(failed, later))
        verdict = validate(COMPLETE_REPLY, evidence=activity)
        errors = [each.rule for each in verdict.findings if each.severity == "error"]
        assert errors == ["evidence/check-failed"], line


def test_a_file_changed_by_a_command_or_another_agent_is_no_lie() -> None:
    refused = ObservedFile(
        position=1, path="/p/src/login.py", action="written", ok=False, error="permission denied"
    )
    alone = AgentActivity(host="x", complete=True, files=(refused,))
    assert "evidence/write-refused" in {
        each.rule for each in validate(COMPLETE_REPLY, evidence=alone).findings
    }

    wrote = ObservedCommand(position=2, line="cat > src/login.py <<E\nx\nE", status=0)
    made = ObservedCommand(position=2, line="python make.py", status=0)
    edited = ObservedFile(position=2, path="src/login.py", action="edited")
    for explained in (
        replace(alone, commands=(wrote,)),
        replace(alone, commands=(made,)),
        replace(alone, tools=(ObservedCall(position=2, name="Task"),)),
        replace(alone, tools=(ObservedCall(position=2, name="mcp__filesystem__write_file"),)),
        replace(alone, tools=(ObservedCall(position=2, name="str_replace"),)),
        replace(alone, files=(refused, edited)),
    ):
        verdict = validate(COMPLETE_REPLY, evidence=explained)
        assert "evidence/write-refused" not in {each.rule for each in verdict.findings}


def test_the_time_is_bounded_however_much_is_claimed_and_was_done() -> None:
    output = "a line of output\n" * 400 + "12 passed in 0.1s"
    lines = ("make check; " * 16, "cd app && pytest -q 2>&1", "./run_tests.sh", "x" * 60_000)
    activity = AgentActivity(
        host="x",
        complete=True,
        commands=tuple(
            ObservedCommand(position=at, line=lines[at % 4], status=at % 3, output=output)
            for at in range(400)
        ),
        files=tuple(
            ObservedFile(position=at, path=f"/p/{at}/a.py", action="edited") for at in range(3000)
        ),
    )
    claims = Claims(
        checks=tuple(
            CheckClaim(name=f"tests {at}", passed=True, text="12 passed", where=f"/{at}")
            for at in range(3000)
        ),
        files=tuple(
            FileClaim(path=f"{at}/a.py", where=f"/f{at}", kind="modified") for at in range(20_000)
        ),
        commits=tuple(CommitClaim(sha="abcdef1", where=f"/c{at}") for at in range(5000)),
        complete=True,
    )
    start = time.perf_counter()
    judge_evidence(claims, activity)
    assert time.perf_counter() - start < 20
