"""The documents and replies of the full demo: what its people and agents write."""

__all__ = [
    "AMENDED_BLUEPRINT",
    "BLUEPRINT",
    "BLUEPRINT_WITH_GAP",
    "CLI_SOURCE",
    "LINKS_SOURCE",
    "PAGES_SOURCE",
    "PASSED",
    "REQUIREMENTS",
    "RESEARCH",
    "SECOND_BLUEPRINT",
    "SECOND_REQUIREMENTS",
    "SECOND_SPEC",
    "SPEC",
    "TARGETS_SOURCE",
    "report",
    "verification",
]

REQUIREMENTS = """\
# REQUIREMENTS: linkcheck

**Generated:** 2026-01-15
**Interview Status:** Complete
**Ready for Planning:** Yes

## Vision

Writers of our handbook find broken links before their readers do. One command reads all pages and
lists each link whose target is missing. It runs in CI, so that a broken page is never published.

**Problem Solved:** Readers report broken links weeks after a page has moved.
**Why Now:** The handbook moves to another site next month.

## Must-Haves (The Contract)

- All pages of a folder are read
- Links to missing files are reported with page and line
- The exit code says whether all links are good

## Nice-to-Haves

- Colours on a terminal

## Out of Scope

- Links to other web sites

## Constraints

### Technical Constraints

- Python 3.11, no packages besides the standard library

### Practical Constraints

- A run over 2,000 pages takes less than ten seconds

## Assumptions

- Pages are Markdown in UTF-8

## Risks & Mitigations

| Risk | Mitigation |
|---|---|
| Links in code blocks look like links | Code blocks are skipped, and a test has one |

## Open Questions

None

## Interview Checklist

- [x] Vision
- [x] Must-Haves
- [x] Constraints
- [x] Out of Scope
- [x] Assumptions
- [x] Risks

**Interview Complete:** Yes
"""

SPEC = """\
# SPEC: linkcheck

**Version:** 1.0
**Created:** 2026-01-15
**Last Updated:** 2026-01-15
**Status:** Draft
**Locked:** No
**Locked At:** –

## Vision

Writers find broken links before their readers do.

## Must-Haves

### MH1: All pages of a folder are read

- [ ] Pages in subfolders are found
- [ ] A page that is not UTF-8 is named

**Traced To:** Wave 1, Task 1

### MH2: Links to missing files are reported with page and line

- [ ] A link to a missing file is reported once
- [ ] Links in code blocks are skipped

### MH3: The exit code says whether all links are good

- [ ] 0 without a broken link, 1 with one

## Nice-to-Haves

### NH1: Colours on a terminal

## Out of Scope

- Links to other web sites

## Technical Constraints

### Stack

- Python 3.11

## Assumptions

- Pages are Markdown in UTF-8

## Risks

| Risk | Impact | Mitigation |
|---|---|---|
| Links in code blocks look like links | Medium | Code blocks are skipped |

## Traceability Matrix

| Must-Have | Tasks | Status |
|---|---|---|
| MH1 | W1.T1 | pending |
| MH2 | W1.T2, W2.T1, W2.T2 | pending |
| MH3 | W3.T1 | pending |

**Coverage:** 100%

## Acceptance Criteria

- Every must-have is verified on the handbook itself

## Amendment History

| Version | Date | Change | Reason |
|---|---|---|---|

## Verification Protocol

One check for each must-have, named MH1, MH2 and MH3.
"""

_TASK = """\
### Task {number}: {name}

| Attribute | Value |
|---|---|
| Intent | {intent} |
| Executor | goop-executor |
| Spec Coverage | {must_have} |

**Files:**

- `{path}` (create)

**Verification:**

- `{verify}`

**Acceptance:**

- {acceptance}
"""


def _task(number: str, name: str, path: str, must_have: str, acceptance: str) -> str:
    return _TASK.format(
        number=number,
        name=name,
        intent=f"{name}.",
        path=path,
        must_have=must_have,
        verify="python -m unittest",
        acceptance=acceptance,
    )


def _blueprint(title: str, waves: dict[str, list[str]], *, mapping: dict[str, str]) -> str:
    parts = [
        f"# BLUEPRINT: {title}\n\n**Spec Version:** 1.0\n**Created:** 2026-01-15\n"
        "**Last Updated:** 2026-01-15\n**Mode:** standard\n",
        "## Overview\n\n**Goal:** The must-haves of SPEC.md, in waves that can be tested.\n",
        "## Spec Mapping\n\n| Must-Have | Tasks |\n|---|---|\n"
        + "".join(f"| {must_have} | {tasks} |\n" for must_have, tasks in mapping.items()),
    ]
    for number, (name, tasks) in enumerate(waves.items(), 1):
        parts.append(f"## Wave {number}: {name}\n\n**Goal:** {name}.\n**Execution:** sequential\n")
        parts += tasks

    return "\n".join(parts)


_READ = _task("1.1", "Read the pages of a folder", "linkcheck/pages.py", "MH1", "All are found")
_FIND = _task("1.2", "Find the links of a page", "linkcheck/links.py", "MH2", "With their lines")
_TARGETS = _task("2.1", "Look for the targets", "linkcheck/targets.py", "MH2", "Each once")
_ANCHORS = _task("2.2", "Look for the anchors", "linkcheck/anchors.py", "MH2", "In one page")
_ALL_ANCHORS = _task(
    "2.2", "Look for the anchors", "linkcheck/anchors.py", "MH2", "In all pages of the folder"
)
_COMMAND = _task("3.1", "Write the command", "linkcheck/cli.py", "MH3", "Exit codes 0 and 1")
_MOVED = _task("3.2", "List moved pages", "linkcheck/moved.py", "MH4", "The new name is shown")
_FIRST_WAVES = {"Pages and links": [_READ, _FIND], "Targets": [_TARGETS, _ANCHORS]}

BLUEPRINT = _blueprint(
    "linkcheck",
    {**_FIRST_WAVES, "Command": [_COMMAND]},
    mapping={"MH1": "W1.T1", "MH2": "W1.T2, W2.T1, W2.T2", "MH3": "W3.T1"},
)
BLUEPRINT_WITH_GAP = _blueprint(
    "linkcheck", _FIRST_WAVES, mapping={"MH1": "W1.T1", "MH2": "W1.T2, W2.T1, W2.T2"}
)
"""The first plan, which has no task for MH3."""

AMENDED_BLUEPRINT = _blueprint(
    "linkcheck",
    {
        "Pages and links": [_READ, _FIND],
        "Targets": [_TARGETS, _ALL_ANCHORS],
        "Command": [_COMMAND, _MOVED],
    },
    mapping={"MH1": "W1.T1", "MH2": "W1.T2, W2.T1, W2.T2", "MH3": "W3.T1", "MH4": "W3.T2"},
)
"""The plan after the amendment: W2.T2 is another task, and W3.T2 is new."""

RESEARCH = """\
# RESEARCH: linkcheck

## Findings

- The redirects of the old site are a table of 312 lines in `redirects.csv`.
"""

SECOND_REQUIREMENTS = REQUIREMENTS.replace(
    "- All pages of a folder are read\n- Links to missing files are reported with page and line\n"
    "- The exit code says whether all links are good\n",
    "- Links to other web sites are checked on request\n",
).replace("- Links to other web sites\n", "- Sites that need a login\n")

SECOND_SPEC = """\
# SPEC: linkcheck, web links

**Version:** 2.0
**Created:** 2026-02-02
**Last Updated:** 2026-02-02
**Status:** Draft
**Locked:** No
**Locked At:** –

## Vision

Links to other sites are checked on request.

## Must-Haves

### MH1: Links to other web sites are checked on request

- [ ] Each site is asked once a run

## Out of Scope

- Sites that need a login

## Traceability Matrix

| Must-Have | Tasks | Status |
|---|---|---|
| MH1 | W1.T1, W1.T2, W2.T1, W3.T1 | pending |

**Coverage:** 100%

## Amendment History

| Version | Date | Change | Reason |
|---|---|---|---|
"""

SECOND_BLUEPRINT = _blueprint(
    "linkcheck, web links",
    {
        "Requests": [
            _task("1.1", "Ask a site", "linkcheck/sites.py", "MH1", "With a time limit"),
            _task("1.2", "Ask each site once", "linkcheck/cache.py", "MH1", "Counted in a test"),
        ],
        "Command": [_task("2.1", "Add the option", "linkcheck/cli.py", "MH1", "--web asks sites")],
        "Limits": [_task("3.1", "Wait for slow sites", "linkcheck/wait.py", "MH1", "Ten seconds")],
    },
    mapping={"MH1": "W1.T1, W1.T2, W2.T1, W3.T1"},
)

PAGES_SOURCE = '"""Read the pages of a folder."""\n'
LINKS_SOURCE = '"""Find the links of a page."""\n'
TARGETS_SOURCE = '"""Look for the targets of links."""\n'
CLI_SOURCE = '"""The command of linkcheck."""\n'

PASSED = '    <check name="tests" passed="true">12 tests passed</check>'

_REPORT = """\
<goop_report version="0.1.6">
  <status>{status}</status>
  <agent>{agent}</agent>
{task_id}  <state>
    <phase>{phase}</phase>
    <wave current="{wave}" total="{waves}"/>
    <task current="{task}" total="{tasks}"/>
    <spec_locked>true</spec_locked>
  </state>
  <summary>{summary}</summary>
  <artifacts>
    <files>{files}</files>
  </artifacts>
  <memory/>
  <verification>
{checks}
  </verification>
  <handoff>
    <ready>{ready}</ready>
    <next_action agent="{next_agent}">{next_action}</next_action>
    <blockers>{blockers}</blockers>
    <suggest_new_session>{new_session}</suggest_new_session>
    <next_command>{next_command}</next_command>
  </handoff>
</goop_report>
"""


def report(
    task_id: str | None,
    status: str = "COMPLETE",
    *,
    of: tuple[int, int],
    at: str | None = None,
    summary: str,
    file: str | None = None,
    checks: str = PASSED,
    agent: str = "goop-executor",
    phase: str = "execute",
    next_agent: str = "goop-executor",
    next_action: str = "Go on with the plan",
    blockers: str = "None",
    new_session: bool = False,
    next_command: str = "/goop-execute",
    before: str = "The work is done; my report:",
) -> str:
    """Return a reply with a report; `of` is the number of waves, and of tasks in this wave.

    A report without a task is at the task `at`.
    """
    wave, task = (part[1:] for part in (task_id or at or "W1.T1").split("."))
    waves, tasks = of
    files = f'<file path="{file}" action="created">{summary}</file>' if file else ""
    envelope = _REPORT.format(
        status=status,
        agent=agent,
        task_id=f"  <task_id>{task_id}</task_id>\n" if task_id else "",
        phase=phase,
        wave=wave,
        waves=waves,
        task=task,
        tasks=tasks,
        summary=summary,
        files=files,
        checks=checks,
        ready="true" if blockers == "None" and status == "COMPLETE" else "false",
        next_agent=next_agent,
        next_action=next_action,
        blockers=blockers,
        new_session=str(new_session).lower(),
        next_command=next_command,
    )

    return f"{before}\n\n{envelope}"


def verification(passed: dict[str, bool], *, of: tuple[int, int], at: str, summary: str) -> str:
    """Return the report of the verifier, with one check for each must-have."""
    checks = "\n".join(
        f'    <check name="{name}" passed="{str(each).lower()}">'
        f"{'every criterion holds' if each else 'one criterion does not hold'}</check>"
        for name, each in passed.items()
    )
    return report(
        None,
        of=of,
        at=at,
        summary=summary,
        checks=checks,
        agent="goop-verifier",
        phase="accept",
        next_agent="user",
        next_action="Accept or reject the result",
        next_command="/goop-accept",
    )
