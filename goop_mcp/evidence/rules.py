"""Rules about claims of an envelope, compared with what the agent was seen to do.

Missing evidence never rejects, unless the caller's policy asks for it; contradicting evidence
always does. In the examples the agent ran pytest (12 passed), then ruff (3 errors), a jest without
any test, black and `mypy --version`; it wrote src/login.py, and src/refused.py was refused. For the
last rule it called no tool. Recorded with the key abcd are r-abcd00000001 (pytest on the present
files), r-abcd00000002 (on other files), r-abcd00000003 (with a test less than before) and
r-abcd00000004 (files changed while it ran).
"""

from typing import Final

from msgspec.structs import replace

from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.findings import Severity
from goop_mcp.validation.rules import Example, RuleList
from goop_mcp.validation.samples import COMPLETE_REPLY

__all__ = [
    "ACTIVITY_RULES",
    "CHECK_FAILED",
    "CHECK_HIDES_FAILURE",
    "CHECK_NOT_RUN",
    "CHECK_REQUIRED",
    "CHECK_STALE",
    "CLAIM_CHANGED",
    "CORRECTION_RULES",
    "COUNTS_DIFFER",
    "EXPLAINED_FAILURE",
    "FILE_NOT_REPORTED",
    "NOTHING_DONE",
    "NOTHING_EXECUTED",
    "OTHER_TREE",
    "OTHER_TREE_REQUIRED",
    "POSSIBLY_STALE",
    "STALE_REQUIRED",
    "TESTS_REMOVED",
    "TREE_MOVED",
    "UNFOUNDED_CHANGE",
    "UNKNOWN_RUN",
    "VACUOUS_COMMAND",
    "WRITE_REFUSED",
]

_CHECK = '<check name="tests" passed="true">pytest: 12 passed</check>'
_RESULT = "pytest: 12 passed"
_FILE = '<file path="src/login.py" action="created">Login endpoint</file>'

ACTIVITY_RULES = RuleList()

CHECK_FAILED: Final = ACTIVITY_RULES.add(
    id="evidence/check-failed",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches=(
        "a check is reported as passed, and the last run of that kind failed, or a signal or time"
        " limit ended each run before it had a result; a warning where the report explains it"
    ),
    why="The next agent builds on work that does not hold.",
    fix="Fix them and run it again, or report PARTIAL.",
    requirements=("G-28", "G-47"),
    example=Example(
        good=_CHECK,
        bad='<check name="lint" passed="true">ruff: no findings</check>',
        reply=COMPLETE_REPLY,
    ),
)

EXPLAINED_FAILURE: Final = replace(CHECK_FAILED, lenient=Severity.WARNING, strict=Severity.WARNING)
"""The same where the report itself speaks of the failure: it hides nothing."""

CHECK_NOT_RUN: Final = ACTIVITY_RULES.add(
    id="evidence/check-not-run",
    lenient=Severity.INFO,
    strict=Severity.INFO,
    catches=(
        "a check is reported as passed, and no run shows it: nothing of that kind was run, the exit"
        " status of the line is not that of the check, or what ran is no known runner and may"
        " print anything; a warning where the output shows a failure all the same, an error where"
        " the policy asks for evidence, and by default in hooks and delegation where everything"
        " that the agent did could be read, and nothing in it can have been the check"
    ),
    why="Whether it passed is not known. An info accuses no agent: it may have been run elsewhere.",
    fix="Run the check on a line of its own, without a pipe, `|| true` or `;` after it.",
    requirements=("G-28",),
    example=Example(
        good=_CHECK,
        bad='<check name="build" passed="true">go build: done</check>',
        reply=COMPLETE_REPLY,
    ),
)

CHECK_HIDES_FAILURE: Final = replace(
    CHECK_NOT_RUN, lenient=Severity.WARNING, strict=Severity.WARNING
)
"""The same where the output of a line that hides its status shows a failure."""

CHECK_REQUIRED: Final = replace(CHECK_NOT_RUN, lenient=Severity.ERROR, strict=Severity.ERROR)
"""The same where the caller's policy asks for more than the report's word."""

CHECK_STALE: Final = ACTIVITY_RULES.add(
    id="evidence/check-stale",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches=(
        "source files changed after the last passing run; an error where the policy asks for"
        " evidence, an info where a shell line possibly changed some"
    ),
    why="The result is that of other code.",
    fix="Run the check again.",
    requirements=("G-28",),
    example=Example(
        good=_CHECK,
        bad='<check name="format" passed="true">black: unchanged</check>',
        reply=COMPLETE_REPLY,
    ),
)

POSSIBLY_STALE: Final = replace(CHECK_STALE, lenient=Severity.INFO, strict=Severity.INFO)
"""The same where it is not certain that a file of the project changed."""

STALE_REQUIRED: Final = replace(CHECK_STALE, lenient=Severity.ERROR, strict=Severity.ERROR)
"""The same where the caller's policy asks for more than the report's word."""

COUNTS_DIFFER: Final = ACTIVITY_RULES.add(
    id="evidence/counts-differ",
    lenient=Severity.WARNING,
    strict=Severity.ERROR,
    catches="the report's counts are not those of any run of the task, nor their sum",
    why="Counts that nobody printed were made up, or are those of an older run.",
    fix="Copy the counts that the last run printed.",
    requirements=("G-28",),
    example=Example(
        good=_CHECK,
        bad='<check name="tests" passed="true">pytest: 21 passed</check>',
        reply=COMPLETE_REPLY,
    ),
)

NOTHING_EXECUTED: Final = ACTIVITY_RULES.add(
    id="evidence/nothing-executed",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="tests are reported as passed, and the last run executed none",
    why="A run without a test ends well and proves nothing.",
    fix="Run tests that exist, or report that there are none.",
    requirements=("G-28", "G-47"),
    example=Example(
        good=_CHECK,
        bad='<check name="tests" passed="true">jest: done</check>',
        reply=COMPLETE_REPLY,
    ),
)

VACUOUS_COMMAND: Final = ACTIVITY_RULES.add(
    id="evidence/vacuous-command",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="the only command of that kind proves nothing: `--version`, `--collect-only`, `echo`",
    why="It ends well whatever the code is like.",
    fix="Run the check itself.",
    requirements=("G-28",),
    example=Example(
        good=_CHECK,
        bad='<check name="types" passed="true">mypy: no findings</check>',
        reply=COMPLETE_REPLY,
    ),
)

UNKNOWN_RUN: Final = ACTIVITY_RULES.add(
    id="evidence/unknown-run",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches=(
        "a check names a run as its proof that this machine never recorded, or whose record was"
        " changed; a run of another machine is `evidence/not-checked`"
    ),
    why="A made-up run proves nothing.",
    fix="Run the check with goop-mcp run, and copy the id that it prints.",
    requirements=("G-28", "G-47"),
    example=Example(
        good=_CHECK,
        bad=f'<check name="tests" passed="true" run="r-abcd99999999">{_RESULT}</check>',
        reply=COMPLETE_REPLY,
    ),
)

OTHER_TREE: Final = ACTIVITY_RULES.add(
    id="evidence/other-tree",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches=(
        "the run was recorded on another state of the files; an error where the policy asks for"
        " recorded runs"
    ),
    why="The result is that of other code.",
    fix="Run the check again on the present files.",
    requirements=("G-28",),
    example=Example(
        good=_CHECK,
        bad=f'<check name="tests" passed="true" run="r-abcd00000002">{_RESULT}</check>',
        reply=COMPLETE_REPLY,
    ),
)

OTHER_TREE_REQUIRED: Final = replace(OTHER_TREE, lenient=Severity.ERROR, strict=Severity.ERROR)
"""The same where the caller's policy asks for recorded runs."""

TESTS_REMOVED: Final = ACTIVITY_RULES.add(
    id="evidence/tests-removed",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="tests that passed when the task began are gone from the run, or skipped in it",
    why="A test that was removed cannot fail.",
    fix="Restore the tests, or say in the report why they are gone.",
    requirements=("G-28",),
    example=Example(
        good=_CHECK,
        bad=f'<check name="tests" passed="true" run="r-abcd00000003">{_RESULT}</check>',
        reply=COMPLETE_REPLY,
    ),
)

TREE_MOVED: Final = ACTIVITY_RULES.add(
    id="evidence/tree-moved",
    lenient=Severity.INFO,
    strict=Severity.INFO,
    catches="files changed while the run was recorded, so that it proves neither state",
    why="Agents that work at the same time need work trees of their own for recorded runs.",
    fix="Run the check again while nobody changes files, or in a git worktree.",
    requirements=("G-28",),
    example=Example(
        good=_CHECK,
        bad=f'<check name="tests" passed="true" run="r-abcd00000004">{_RESULT}</check>',
        reply=COMPLETE_REPLY,
    ),
)

FILE_NOT_REPORTED: Final = ACTIVITY_RULES.add(
    id="evidence/file-not-reported",
    lenient=Severity.INFO,
    strict=Severity.WARNING,
    catches="the agent changed a file that the report does not list",
    why="The next agent and the reviewer do not look at it.",
    fix="List the file in the report.",
    requirements=("G-22",),
    example=Example(
        good=_FILE,
        bad='<file path="src/session.py" action="created">Login endpoint</file>',
        reply=COMPLETE_REPLY,
        expected=Expectations(workspace="/project"),
    ),
)

WRITE_REFUSED: Final = ACTIVITY_RULES.add(
    id="evidence/write-refused",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="a file is claimed as written, and every write of it was refused or failed",
    why="Work is counted that was never saved.",
    fix="Write the file and look at the answer, or leave the file out.",
    requirements=("G-22",),
    example=Example(
        good=_FILE,
        bad='<file path="src/refused.py" action="created">Login endpoint</file>',
        reply=COMPLETE_REPLY,
    ),
)

NOTHING_DONE: Final = ACTIVITY_RULES.add(
    id="evidence/nothing-done",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches=(
        "the task is reported as complete with files, commits or passed checks, and the agent"
        " called no tool at all"
    ),
    why="A text alone changes no file and runs no check.",
    fix="Do the work with your tools, then report what you did.",
    requirements=("G-47",),
    example=Example(
        good="<status>PARTIAL</status>",
        bad="<status>COMPLETE</status>",
        reply=COMPLETE_REPLY.replace("<status>COMPLETE", "<status>PARTIAL"),
    ),
)

CORRECTION_RULES = RuleList()

CLAIM_CHANGED: Final = CORRECTION_RULES.add(
    id="correction/claim-changed",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches=(
        "a reply was sent back, and the next one says more: done after not done, a blocker or a"
        " failed check that is gone, better counts; nothing was seen to run or to change in"
        " between. An error where all that the agent did is known, or the policy asks for evidence"
    ),
    why=(
        "A correction corrects the form. Work that failed does not succeed by being described"
        " again; worse is always free."
    ),
    fix=(
        "Report what you reported first, or do the work, run the check again and report what it"
        " printed."
    ),
    requirements=("G-47",),
    example=Example(
        good="<status>PARTIAL</status>",
        bad="<status>COMPLETE</status>",
        reply=COMPLETE_REPLY.replace("<status>COMPLETE", "<status>PARTIAL"),
    ),
)

UNFOUNDED_CHANGE: Final = replace(CLAIM_CHANGED, lenient=Severity.ERROR, strict=Severity.ERROR)
"""The same where it is known that nothing ran and nothing changed, or where the policy asks."""
