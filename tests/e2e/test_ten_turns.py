"""Ten ways in which the turn of an agent ends, each judged right in the real clients.

The scripted agent does some work and reports. What its work contradicts, and what is no report, is
sent back once with the rule that it broke, and the report that follows is accepted; an honest
report is never asked for again. The decisions are read where a person reads them: `goop-mcp stats`.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from goop_mcp.validation.feedback import OPENING
from tests.e2e import claude_code
from tests.e2e.clients import Sandbox
from tests.e2e.recording.scenes import BROKEN, claiming, failing, reporting
from tests.e2e.recording.steps import Edit, Read, Say, Scene, Shell, Step, Write
from tests.e2e.scripted_model import ScriptedModel
from tests.e2e.three_hosts import (
    each_host,
    handed_back,
    main_agent,
    on_claude_code,
    playing,
    subagent,
)

_RUN = Shell("pytest -q")
_FAILED_RUN = Shell("pytest -q", status=1)
_FIX = (Read("test_calc.py"), Edit("test_calc.py", "== 4", "== 3"))
_PASSED = ("tests", True, "pytest: 2 passed")
_FIXED = reporting(_PASSED, files=(("test_calc.py", "modified"),))
_CREATED = reporting(_PASSED, files=(("sub.py", "created"),))
_HALF = _FIXED.text[:300]
_COMPLETE, _PARTIAL = (f"<status>{each}</status>" for each in ("COMPLETE", "PARTIAL"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What the agent does from the failing tests of the project on, and how that is judged.

    `row` names it on the page of the hosts. `rule` is the rule for which it is sent back, and
    `words` stand in what it is sent; without a rule its first report is accepted. `ends` is in the
    report that is accepted.
    """

    row: str
    steps: tuple[Step, ...]
    rule: str | None = None
    words: str = ""
    ends: str = _COMPLETE


TURNS = {
    "honest": Turn(
        row="an honest report is accepted at once", steps=(_FAILED_RUN, *_FIX, _RUN, _FIXED)
    ),
    "never ran": Turn(
        row="tests that never ran are sent back",
        steps=(*_FIX, _FIXED, _RUN, _FIXED),
        rule="evidence/check-not-run",
        words="no command of this task shows it",
    ),
    "failed": Turn(
        row="tests that failed are sent back",
        steps=(_FAILED_RUN, claiming(), failing()),
        rule="evidence/check-failed",
        words="the last run of pytest in this task failed: 1 failed, test_adds",
        ends=_PARTIAL,
    ),
    "changed": Turn(
        row="tests that passed before the shell changed a file are sent back",
        steps=(
            *_FIX,
            _RUN,
            Shell("echo 'ZERO = add(0, 0)' >> calc.py"),
            _FIXED,
            _RUN,
            _FIXED,
        ),
        rule="evidence/check-stale",
        words="'calc.py' changed after the last run of pytest",
    ),
    "no report": Turn(
        row="a reply without a report is sent back",
        steps=(*_FIX, _RUN, Say("I fixed the test; both tests pass."), _FIXED),
        rule="goop_report/no-envelope",
        words="envelope was found; expected one at the end of the reply",
    ),
    "wrong status": Turn(
        row="a status that does not exist is sent back",
        steps=(*_FIX, _RUN, Say(_FIXED.text.replace("COMPLETE", "FINISHED")), _FIXED),
        rule="goop_report/unknown-status",
        words="status is 'FINISHED'; expected one of COMPLETE",
    ),
    "cut off": Turn(
        row="a report that is cut off is sent back",
        steps=(*_FIX, _RUN, Say(_HALF), _FIXED),
        rule="envelope/truncated",
        words="The envelope is cut off at line 9",
    ),
    "missing file": Turn(
        row="a file that does not exist is sent back",
        steps=(
            *_FIX,
            _RUN,
            _CREATED,
            Write("sub.py", "def sub(a, b):\n    return a - b\n"),
            _RUN,
            _CREATED,
        ),
        rule="evidence/file-not-found",
        words="file 'sub.py' does not exist",
    ),
    "echo": Turn(
        row="a result that echo printed is sent back",
        steps=(*_FIX, Shell("echo '2 passed in 0.01s'"), _FIXED, _RUN, _FIXED),
        rule="evidence/check-not-run",
        words="\"echo '2 passed in 0.01s'\" proves nothing",
    ),
    "honest failure": Turn(
        row="an honest report of a failure is accepted at once",
        steps=(_FAILED_RUN, failing()),
        ends=_PARTIAL,
    ),
}


def recording(sandbox: Sandbox) -> None:
    """Set a project up in which each reply counts, from the first rejected one on."""
    for words in (["init"], ["memory", "save", "Addition", "It is in calc.py."]):
        ended = sandbox.run([sandbox.programs / "goop-mcp", *words], environment={})
        assert ended.code == 0, ended.err
    claude_code.write_json(sandbox.project / ".goopspec" / "hooks.json", {"record": True})


def assert_judged(
    sandbox: Sandbox, model: ScriptedModel, *, rules: list[str], attempts: int
) -> None:
    """Assert that each of `rules` rejected one reply, and that the last of `attempts` passed."""
    goop = sandbox.programs / "goop-mcp"
    counted = json.loads(sandbox.run([goop, "stats", "--format", "json"], environment={}).out)
    assert [(each["rule"], each["replies"]) for each in counted["errors"]] == [
        (rule, 1) for rule in rules
    ]
    assert counted["replies"]["judged"] == counted["retries"]["attempts"] == attempts
    assert counted["replies"]["accepted"] == min(attempts, 1)
    assert subagent(model).times_received(OPENING) == max(attempts - 1, 0)


@each_host
@pytest.mark.parametrize("name", TURNS)
def test_a_turn_is_judged(
    host: str, name: str, sandbox: Sandbox, record_property: Callable[[str, str], None]
) -> None:
    turn = TURNS[name]
    record_property("scene", f"ten turns: {turn.row}")
    recording(sandbox)
    with playing(Scene(name=name, files=BROKEN, steps=turn.steps), sandbox, host) as model:
        rules = [] if turn.rule is None else [turn.rule]
        assert_judged(sandbox, model, rules=rules, attempts=1 + len(rules))
        assert turn.words in subagent(model).text_of("user", "system")
        # One request for each step, and no other one.
        asked = [each for each in model.conversations if "GOOP-SUB" in each.first_text]
        assert len(asked) == len(turn.steps)
        assert turn.ends in handed_back(model)
        assert "is not accepted" not in handed_back(model)


_CUT = Say(_HALF, cut=True)


@each_host
def test_a_report_that_is_cut_at_the_token_limit_is_not_accepted(
    host: str, sandbox: Sandbox
) -> None:
    """OpenCode alone ends the turn of the agent then, so that the report is sent back.

    Claude Code asks the model itself to go on, three times, and Codex does not; then both give the
    main agent an error in place of a report, without an event of a hook.
    """
    recording(sandbox)
    scene = Scene(name="cut", files=BROKEN, steps=(*_FIX, _RUN, _CUT, _CUT, _CUT, _CUT, _FIXED))
    if host == "opencode":
        scene = Scene(name="cut", files=BROKEN, steps=(*_FIX, _RUN, _CUT, _FIXED))
    with playing(scene, sandbox, host) as model:
        if host == "opencode":
            assert_judged(sandbox, model, rules=["envelope/truncated"], attempts=2)
            assert "cut at the token limit: send it shorter" in subagent(model).text_of("user")
        else:
            assert_judged(sandbox, model, rules=[], attempts=0)
            received = main_agent(model).text_of("user", "system", "tool")
            assert "max_output_tokens" in received
            assert _HALF not in received


@on_claude_code
def test_a_report_that_the_host_has_written_again_is_accepted_at_once(sandbox: Sandbox) -> None:
    recording(sandbox)
    scene = Scene(name="cut once", files=BROKEN, steps=(*_FIX, _RUN, _CUT, _FIXED))
    with playing(scene, sandbox, "claude-code") as model:
        assert_judged(sandbox, model, rules=[], attempts=1)
        assert _COMPLETE in handed_back(model)
