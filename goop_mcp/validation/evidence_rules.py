"""Rules about claims of an envelope, compared with the files, git history, memory and documents.

In the examples the project contains what the good reply claims.
"""

from msgspec.structs import replace

from goop_mcp.validation.findings import Severity
from goop_mcp.validation.rules import Example, Rule, RuleList
from goop_mcp.validation.samples import COMPLETE_REPLY

__all__ = [
    "COMMIT_NOT_FOUND",
    "COMMIT_ON_NO_BRANCH",
    "COMMIT_SUBJECT_DIFFERS",
    "COMMIT_UNRELATED",
    "EMPTY_FILE",
    "EVIDENCE_RULES",
    "FILE_NOT_FOUND",
    "FILE_NOT_TOUCHED",
    "FILE_STILL_THERE",
    "MEMORY_NOT_FOUND",
    "NOT_CHECKED",
    "NOT_TOUCHED_AS_FAR_AS_KNOWN",
    "ON_NO_BRANCH_AS_FAR_AS_KNOWN",
    "PHASE_DIFFERS",
    "STATE_DIFFERS",
    "TASK_NOT_IN_BLUEPRINT",
    "UNRELATED_AS_FAR_AS_KNOWN",
]

_FILE = 'path="src/login.py" action="created"'
_MEMORY = ">Sessions are kept in Redis<"
_TWO_FILES_REPLY = COMPLETE_REPLY.replace(
    "    </files>", '      <file path="src/plan.py" action="created">The plan</file>\n    </files>'
)
_WITHOUT_COUNTER = COMPLETE_REPLY.replace('    <task current="2" total="3"/>\n', "")
_NO_DELIVERABLE = '"deliverables": [],'
_CRITIC_REPLY = f"""\
The architecture was reviewed.

```json
{{
  "status": "success",
  "confidence": "high",
  {_NO_DELIVERABLE}
  "verdict": "PASS",
  "summary": "Reviewed the architecture, no gaps",
  "requirements_checked": 4,
  "next_action": "proceed_to_build"
}}
```
"""

EVIDENCE_RULES = RuleList()


def _as_far_as_known(rule: Rule) -> Rule:
    """Return `rule` for the case that nobody says at which commit the task began."""
    # Without it, the history may lack what the agent did: a doubt, which rejects in no mode.
    return replace(rule, strict=Severity.WARNING)


FILE_NOT_FOUND = EVIDENCE_RULES.add(
    id="evidence/file-not-found",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches=(
        "a file claimed as created, modified or delivered does not exist, or is a folder, a pipe or"
        " git's own"
    ),
    why="The next agent would build on a file that nobody wrote.",
    fix=(
        "Write the file, or name the one you really wrote, by its path from the top of the project."
    ),
    requirements=("F-15", "F-26", "G-22", "G-49"),
    example=Example(good=_FILE, bad='path="src/ghost.py" action="created"', reply=COMPLETE_REPLY),
)

FILE_STILL_THERE = EVIDENCE_RULES.add(
    id="evidence/file-still-there",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="a file claimed as deleted exists",
    why="What should be gone is still built, read and shipped.",
    fix="Delete the file, or report what you really did to it.",
    requirements=("G-22",),
    example=Example(good=_FILE, bad='path="src/login.py" action="deleted"', reply=COMPLETE_REPLY),
)

COMMIT_NOT_FOUND = EVIDENCE_RULES.add(
    id="evidence/commit-not-found",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="the sha is not a commit of this repository, or not a sha: HEAD, a branch, a range",
    why="Work that was never committed is lost with the working copy.",
    fix="Commit the work and copy the sha that git printed, or leave the commit out.",
    requirements=("G-24", "G-49"),
    example=Example(good='sha="a1b2c3d"', bad='sha="deadbee"', reply=COMPLETE_REPLY),
)

COMMIT_SUBJECT_DIFFERS = EVIDENCE_RULES.add(
    id="evidence/commit-subject-differs",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="the commit exists, and its subject is another one",
    why=(
        "The sha may be that of another commit; the chronicle would list work that it does not"
        " hold."
    ),
    fix="Copy sha and subject of the same commit, as git log --oneline prints them.",
    requirements=("G-24", "G-49"),
    example=Example(
        good=">feat(auth): add login endpoint<",
        bad=">feat(auth): add logout endpoint<",
        reply=COMPLETE_REPLY,
    ),
)

EMPTY_FILE = EVIDENCE_RULES.add(
    id="evidence/empty-file",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches=(
        "a file claimed as created or modified is empty; `__init__.py`, `py.typed` and names that"
        " begin with a dot may be"
    ),
    why="An empty file passes for work that was never written.",
    fix="Write the file, or say why it is empty where it is described.",
    requirements=("G-22", "G-49"),
    example=Example(good=_FILE, bad='path="src/empty.py" action="created"', reply=COMPLETE_REPLY),
)

FILE_NOT_TOUCHED = EVIDENCE_RULES.add(
    id="evidence/file-not-touched",
    lenient=Severity.WARNING,
    strict=Severity.ERROR,
    catches=(
        "a file claimed as modified did not change since the task began; where nobody says when"
        " that was, a warning in strict mode too, for a file that neither the last commit, nor a"
        " commit of the report, nor the working copy changes"
    ),
    why="Work is counted that nobody did.",
    fix="Change the file, or leave it out of the report.",
    requirements=("G-22", "G-49"),
    example=Example(
        good='path="src/plan.py" action="created"',
        bad='path="src/plan.py" action="modified"',
        reply=_TWO_FILES_REPLY,
    ),
)

NOT_TOUCHED_AS_FAR_AS_KNOWN = _as_far_as_known(FILE_NOT_TOUCHED)

COMMIT_UNRELATED = EVIDENCE_RULES.add(
    id="evidence/commit-unrelated",
    lenient=Severity.WARNING,
    strict=Severity.ERROR,
    catches=(
        "a commit touches none of the files that the report claims; where nobody says at which"
        " commit the task began, a warning in strict mode too"
    ),
    why="The sha is that of other work, or files of the commit were not reported.",
    fix="Name the commit of this work, and every file that it changes.",
    requirements=("G-24", "G-49"),
    example=Example(
        good='sha="a1b2c3d">feat(auth): add login endpoint<',
        bad='sha="0a9b8c7">docs: plan<',
        reply=COMPLETE_REPLY,
    ),
)

UNRELATED_AS_FAR_AS_KNOWN = _as_far_as_known(COMMIT_UNRELATED)

COMMIT_ON_NO_BRANCH = EVIDENCE_RULES.add(
    id="evidence/commit-on-no-branch",
    lenient=Severity.WARNING,
    strict=Severity.ERROR,
    catches=(
        "the commit exists, and no branch, tag or working copy leads to it; where nobody says at"
        " which commit the task began, a warning in strict mode too"
    ),
    why="Git removes such a commit after a while, and with it the work.",
    fix="Report the commit that is on your branch; an amended or rebased one has a new sha.",
    requirements=("G-24", "G-49"),
    example=Example(good='sha="a1b2c3d"', bad='sha="f1e2d3c"', reply=COMPLETE_REPLY),
)

ON_NO_BRANCH_AS_FAR_AS_KNOWN = _as_far_as_known(COMMIT_ON_NO_BRANCH)

MEMORY_NOT_FOUND = EVIDENCE_RULES.add(
    id="evidence/memory-not-found",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="no memory with that title was saved",
    why="The next agent will search for it in vain.",
    fix="Save the memory under this title, or leave it out.",
    requirements=("G-26", "G-38"),
    example=Example(good=_MEMORY, bad=">Sessions are kept in memory<", reply=COMPLETE_REPLY),
)

TASK_NOT_IN_BLUEPRINT = EVIDENCE_RULES.add(
    id="evidence/task-not-in-blueprint",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="BLUEPRINT.md has no such task",
    why="Nobody can say what is left when work is counted that was never planned.",
    fix="Name the task by its wave and number in BLUEPRINT.md, such as W2.T3.",
    requirements=("G-12", "G-58"),
    example=Example(good="<task_id>W1.T2<", bad="<task_id>W1.T9<", reply=_WITHOUT_COUNTER),
)

STATE_DIFFERS = EVIDENCE_RULES.add(
    id="evidence/state-differs",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches=(
        "spec_locked, interview_complete, phase or wave contradict state.json; another phase is an"
        " error in strict mode, unless the project is idle"
    ),
    why="The agent worked from an old picture of the project, or state.json was not kept.",
    fix="Read .goopspec/state.json again and report the state as it is.",
    requirements=("G-07", "G-18", "G-19", "G-43"),
    example=Example(
        good="<spec_locked>true</spec_locked>",
        bad="<spec_locked>false</spec_locked>",
        reply=COMPLETE_REPLY,
    ),
)

PHASE_DIFFERS = replace(STATE_DIFFERS, strict=Severity.ERROR)
"""The same rule for the phase, while work goes on in one (G-43)."""

NOT_CHECKED = EVIDENCE_RULES.add(
    id="evidence/not-checked",
    lenient=Severity.INFO,
    strict=Severity.INFO,
    catches="a claim could not be checked (no workspace, no git, path outside)",
    why="A claim that nobody could check is neither true nor false.",
    fix="Nothing to do for the agent; check the reply where the project lies.",
    requirements=("F-15", "H-29"),
    example=Example(
        good=_NO_DELIVERABLE,
        bad='"deliverables": [{"path": "docs/review.md", "type": "architecture"}],',
        reply=_CRITIC_REPLY,
    ),
)
