"""Claims about tasks, state and memories are verified with the plan, state.json and database."""

import json
from xml.sax.saxutils import escape

import pytest

from goop_mcp import Expectations, Verdict
from goop_mcp.memory.drafts import MemoryDraft
from goop_mcp.memory.saving import save_memory
from goop_mcp.services.check_workspace import check_workspace
from goop_mcp.validation.claims import (
    Claims,
    CommitClaim,
    FileClaim,
    MemoryClaim,
    StateClaim,
    TaskClaim,
)
from goop_mcp.workspace.evidence import check_claims
from goop_mcp.workspace.files import ProjectFiles
from tests.requirements import requirement
from tests.workspace.projects import CASES
from tests.workspace.true_projects import BLUEPRINT, MEMORY, STATE, Project, memory_of, write


def check(project: Project, reply: str) -> Verdict:
    return check_workspace(reply, project.folder, store=project.store)


def changed(project: Project, old: str, new: str) -> str:
    assert project.reply.count(old) == 1
    return project.reply.replace(old, new)


def without_counters(project: Project) -> str:
    reply = changed(project, '    <wave current="1" total="2"/>\n', "")
    return reply.replace('    <task current="2" total="3"/>\n', "")


def test_truthful_report_is_accepted_without_a_remark(project: Project) -> None:
    assert check(project, project.reply).findings == ()


def test_false_claims_of_every_kind_are_reported_at_once_in_the_order_of_the_report(
    project: Project,
) -> None:
    reply = without_counters(project)
    for old, new in (
        ("<task_id>W1.T2", "<task_id>W7.T1"),
        ("<spec_locked>true", "<spec_locked>false"),
        ('path="src/login.py" action', 'path="src/ghost.py" action'),
        (project.sha[:7], "deadbee"),
        (f">{MEMORY}<", ">Sessions are kept in memory<"),
    ):
        assert reply.count(old) == 1
        reply = reply.replace(old, new)

    verdict = check(project, reply)

    assert [(finding.rule, finding.line) for finding in verdict.findings] == [
        ("evidence/task-not-in-blueprint", 7),
        ("evidence/state-differs", 11),
        ("evidence/file-not-found", 16),
        ("evidence/commit-not-found", 19),
        ("evidence/memory-not-found", 23),
    ]
    assert not verdict.accepted
    assert verdict.feedback is not None
    assert "src/ghost.py" in verdict.feedback
    assert "deadbee" in verdict.feedback


def test_errors_of_form_and_false_claims_are_in_one_verdict(project: Project) -> None:
    reply = changed(project, "<status>COMPLETE", "<status>complete").replace(
        'src/login.py" action', 'no.py" action'
    )

    verdict = check(project, reply)

    assert [finding.rule for finding in verdict.findings] == [
        "goop_report/value-case",
        "evidence/file-not-found",
    ]
    assert [repair.rule for repair in verdict.repairs] == ["goop_report/value-case"]


@pytest.mark.parametrize(
    "spelling", ["W1.T2", "1.2", "T1.2", "Task 1.2", "Wave 1, Task 2", "W01.T02"]
)
def test_task_is_found_in_any_spelling(project: Project, spelling: str) -> None:
    reply = without_counters(project).replace("<task_id>W1.T2", f"<task_id>{spelling}")

    assert "evidence/task-not-in-blueprint" not in {
        each.rule for each in check(project, reply).findings
    }


@pytest.mark.parametrize("id", ["W1.T9", "W9.T1", "cleanup"])
def test_task_that_was_never_planned_is_named(project: Project, id: str) -> None:
    reply = without_counters(project).replace("<task_id>W1.T2", f"<task_id>{id}")

    found = [
        each
        for each in check(project, reply).findings
        if each.rule == "evidence/task-not-in-blueprint"
    ]

    assert [(each.line, each.found) for each in found] == [(7, id)]


def test_wave_of_a_report_without_task_id_has_to_be_planned(project: Project) -> None:
    reply = changed(project, "  <task_id>W1.T2</task_id>\n", "")
    assert "evidence/task-not-in-blueprint" not in {
        each.rule for each in check(project, reply).findings
    }

    later = reply.replace('<wave current="1" total="2"/>', '<wave current="2" total="2"/>')
    write(project.folder, ".goopspec/BLUEPRINT.md", BLUEPRINT.partition("## Wave 2")[0])

    found = [
        each
        for each in check(project, later).findings
        if each.rule == "evidence/task-not-in-blueprint"
    ]
    assert [each.found for each in found] == ["W2"]


def test_task_is_looked_up_in_the_plan_of_the_phase_where_the_root_has_none() -> None:
    claims = Claims(
        tasks=(TaskClaim(id="W1.T1", where="task_id"), TaskClaim(id="W1.T2", where="task_id"))
    )

    found = check_claims(claims, ProjectFiles(CASES / "folders_of_phases")).problems

    assert [(each.rule.id, each.hit.found) for each in found] == [
        ("evidence/task-not-in-blueprint", "W1.T2")
    ]


@pytest.mark.parametrize("text", ["", "# BLUEPRINT: demo\n\nNothing yet.\n"])
def test_plan_without_tasks_refutes_none(project: Project, text: str) -> None:
    write(project.folder, ".goopspec/BLUEPRINT.md", text)

    assert check(project, project.reply).findings == ()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "<spec_locked>true<",
            "<spec_locked>false<",
            "spec_locked is false; expected true, as specLocked of state.json",
        ),
        (
            "<phase>execute<",
            "<phase>plan<",
            "phase is 'plan'; expected 'execute', as phase of state.json says",
        ),
        (
            "<spec_locked>true</spec_locked>",
            "<spec_locked>true</spec_locked><interview_complete>false</interview_complete>",
            "interview_complete is false; expected true, as interviewComplete of state.json says",
        ),
        (
            'total="2"',
            'total="5"',
            "total_waves is 5; expected 2, as totalWaves of state.json says",
        ),
    ],
)
def test_a_different_state_is_reported_with_both_values(
    project: Project, old: str, new: str, message: str
) -> None:
    verdict = check(project, changed(project, old, new))

    found = [each for each in verdict.findings if each.rule == "evidence/state-differs"]
    assert len(found) == 1
    assert found[0].message.startswith(message)
    assert found[0].line is not None
    assert (
        project.reply.split("\n")[found[0].line - 1]
        != changed(project, old, new).split("\n")[found[0].line - 1]
    )


def test_wave_of_a_planned_task_is_not_compared_with_the_wave_in_progress(
    project: Project,
) -> None:
    reply = changed(project, '<wave current="1"', '<wave current="2"')
    assert "evidence/state-differs" in {each.rule for each in check(project, reply).findings}

    reply = reply.replace("<task_id>W1.T2", "<task_id>W2.T1").replace(
        '<task current="2" total="3"', '<task current="1" total="1"'
    )
    assert check(project, reply).findings == ()


def test_counters_that_were_never_set_refute_nothing(project: Project) -> None:
    state = {**STATE, "workflow": {"phase": "execute", "specLocked": True}}
    write(project.folder, ".goopspec/state.json", json.dumps(state))

    assert check(project, project.reply).findings == ()


@pytest.mark.parametrize(
    ("text", "why"), [('{"version":1,', "state.json is broken in line 1"), ("[]", "is broken")]
)
def test_broken_state_is_not_compared_and_says_so(project: Project, text: str, why: str) -> None:
    write(project.folder, ".goopspec/state.json", text)

    (finding,) = check(project, project.reply).findings

    assert finding.rule == "evidence/not-checked"
    assert why in finding.message


def test_documents_that_a_link_takes_out_of_the_project_are_not_read(project: Project) -> None:
    outside = project.folder.parent / "outside"
    write(outside, "BLUEPRINT.md", "# BLUEPRINT: other\n\n## Wave 1: x\n\n### Task 1.1: y\n")
    write(outside, "state.json", json.dumps({**STATE, "workflow": {"phase": "plan"}}))
    for name in ("BLUEPRINT.md", "state.json"):
        (project.folder / ".goopspec" / name).unlink()
        (project.folder / ".goopspec" / name).symlink_to(outside / name)

    findings = check(project, project.reply).findings

    assert {each.rule for each in findings} == {"evidence/not-checked"}
    assert len(findings) == 2
    assert not any(str(outside) in each.message for each in findings)


def test_phase_discuss_is_one_of_its_own_where_the_project_says_so(project: Project) -> None:
    state = {
        "version": 2,
        "activeWorkflowId": "a",
        "workflows": {"a": {"phase": "discuss", "specLocked": True}},
    }
    write(project.folder, ".goopspec/state.json", json.dumps(state))
    reply = changed(project, "<phase>execute<", "<phase>discuss<")

    assert "goop_report/phase-alias" not in {each.rule for each in check(project, reply).findings}


def test_memory_that_was_not_saved_is_named_with_its_place(project: Project) -> None:
    verdict = check(project, changed(project, f">{MEMORY}<", ">Sessions are kept in memory<"))
    (finding,) = verdict.findings

    assert (finding.rule, finding.line) == ("evidence/memory-not-found", 25)
    assert verdict.accepted


@pytest.mark.parametrize(
    "title",
    [
        MEMORY,
        f"  {MEMORY.upper()} ",
        MEMORY.replace(" ", "  "),
        f"{MEMORY}.",
        "Sessions are\nkept in Redis",
    ],
)
def test_memory_is_found_by_its_title_whatever_the_blanks_and_the_case(
    project: Project, title: str
) -> None:
    assert check(project, changed(project, f">{MEMORY}<", f">{title}<")).findings == ()


@pytest.mark.parametrize(
    "title", ["#!?", "'; DROP TABLE memories; --", '"NEAR(a b)" OR *', "Wörter ß", "x" * 40]
)
def test_any_title_can_be_looked_up(project: Project, title: str) -> None:
    reply = changed(project, f">{MEMORY}<", f">{title}<")
    assert [each.rule for each in check(project, reply).findings] == ["evidence/memory-not-found"]

    _save(project, title)
    assert check(project, reply).findings == ()


def _save(project: Project, title: str) -> None:
    memory_of(project.folder, title).close()


def test_long_title_is_found_by_what_is_kept_of_it(project: Project) -> None:
    title = "Sessions " + "word " * 40
    _save(project, title[:100].strip())

    assert check(project, changed(project, f">{MEMORY}<", f">{title}<")).findings == ()


@pytest.mark.parametrize(
    "title",
    [
        f"Sessions {'numbered ' * 20}",
        "Log in with password=tiger-4711",
        "A <private>b c</private> d",
    ],
)
def test_title_is_looked_up_as_saving_has_changed_it(project: Project, title: str) -> None:
    saved = save_memory(project.store, MemoryDraft(title=title, content="Because."))
    reply = changed(project, f">{MEMORY}<", f">{escape(title)}<")

    assert saved.status == "saved"
    assert check(project, reply).findings == ()


def test_no_secret_of_a_title_is_repeated_where_it_is_not_found(project: Project) -> None:
    (finding,) = check(
        project, changed(project, f">{MEMORY}<", ">Log in with password=tiger-4711<")
    ).findings

    assert finding.rule == "evidence/memory-not-found"
    assert "tiger-4711" not in f"{finding.message}{finding.found}"


def test_a_title_among_hundreds_with_its_words_is_never_called_missing(project: Project) -> None:
    _save(project, "Sessions in Redis, first")
    memory_of(
        project.folder, *(f"Sessions in Redis, first and number {each}" for each in range(250))
    ).close()
    saved = changed(project, f">{MEMORY}<", ">Sessions in Redis, first<")
    other = changed(project, f">{MEMORY}<", ">Sessions first<")

    for reply in (saved, other):
        assert {each.rule for each in check(project, reply).findings} <= {"evidence/not-checked"}


def test_memory_that_cannot_be_read_blocks_nothing(project: Project) -> None:
    project.store.close()
    write(project.folder, ".goopspec/goop.db", "no database" * 1_000)

    verdict = check(project, project.reply)

    assert verdict.accepted
    assert [each.rule for each in verdict.findings] == ["evidence/not-checked"]


def test_project_without_a_memory_gets_none_by_being_looked_at(project: Project) -> None:
    project.store.close()
    for file in (project.folder / ".goopspec").glob("goop.db*"):
        file.unlink()

    (finding,) = check(project, project.reply).findings

    assert finding.rule == "evidence/not-checked"
    assert not (project.folder / ".goopspec/goop.db").exists()


def test_what_the_caller_expects_is_compared_as_ever(project: Project) -> None:
    verdict = check_workspace(
        project.reply, project.folder, expected=Expectations(agent="goop-planner")
    )

    assert "goop_report/agent-mismatch" in {each.rule for each in verdict.findings}


def test_claims_of_a_caller_can_be_checked_without_a_reply(project: Project) -> None:
    claims = Claims(
        files=(FileClaim(path="src/ghost.py", where="/files/0", kind="present"),),
        commits=(CommitClaim(sha=project.sha, where="/commits/0"),),
        memories=(MemoryClaim(title=MEMORY, where="/memories/0"),),
        tasks=(TaskClaim(id="W9.T9", where="/tasks/0"),),
        state=(StateClaim(name="spec_locked", value=True, where="/state"),),
    )

    problems = check_claims(claims, ProjectFiles(project.folder), store=project.store).problems

    assert [(problem.rule.id, problem.hit.path) for problem in problems] == [
        ("evidence/file-not-found", "/files/0"),
        ("evidence/task-not-in-blueprint", "/tasks/0"),
    ]


@requirement("F-15")
def test_without_time_nothing_is_checked_and_nothing_is_false(project: Project) -> None:
    false = project.reply.replace("src/login.py", "src/ghost.py").replace(
        project.sha[:7], "deadbee"
    )

    verdict = check_workspace(false, project.folder, store=project.store, seconds=0)

    assert verdict.accepted
    assert [finding.rule for finding in verdict.findings] == ["evidence/not-checked"] * 2
    assert "there was no time to look for it" in verdict.findings[0].message
    assert "git did not answer in time" in verdict.findings[1].message


@requirement("G-43")
def test_an_idle_project_contradicts_no_phase_in_strict_mode(project: Project) -> None:
    workflow = STATE["workflow"]
    assert isinstance(workflow, dict)
    for phase, accepted in (("plan", False), ("idle", True), ("execute", True)):
        state = {**STATE, "workflow": {**workflow, "phase": phase}}
        write(project.folder, ".goopspec/state.json", json.dumps(state))
        verdict = check_workspace(project.reply, project.folder, store=project.store, mode="strict")
        assert verdict.accepted is accepted
