"""What a reply says of files is looked for where it says, and nowhere else."""

import os
from pathlib import Path

import pytest

from goop_mcp import Expectations, Severity, Verdict, validate
from goop_mcp.services.check_workspace import check_workspace
from goop_mcp.validation.json_samples import FACTORY_REPLY
from goop_mcp.validation.samples import REQUEST_PROMPT
from tests.requirements import requirement
from tests.workspace.true_projects import Project, git, write

DELIVERABLE = ".factory/runs/20260121-a1b2/artifacts/system_architecture.md"
LEGACY = (
    '{"status": "complete", "summary": "Done it.", "files_created": ["src/a.py"], "files_modified":'
    ' ["src/b.py"]}'
)
SECTIONS = (
    "## STATUS\ncomplete\n\n## SUMMARY\nAdded a login.\n\n## ARTIFACTS\n- src/a.py - the"
    " login\n\n## NEXT\nTest it\n"
)
PLAN_ANSWER = """\
{"agent": "review", "status": "success", "timestamp": "2026-01-15T10:30:00Z",
 "execution_time_ms": 5,
 "result": {"feature_id": "1", "overall_status": "APPROVED",
  "changes_made": {
   "files_moved": [{"from": "src/old.py", "to": "src/new.py"}],
   "files_deleted": [{"path": "src/dead.py", "reason": "unused"}],
   "files_created": [{"path": "src/made.py", "reason": "split"}],
   "files_modified": []},
  "constitution_compliance": {"status": "PASS", "passed": 4, "failed": 0},
  "cleanup_summary": {"tests_removed": 0, "files_moved": 1, "dead_code_lines_removed": 3},
  "next_steps": []}}
"""


def check(project: Project, reply: str, **more: str) -> Verdict:
    return check_workspace(
        reply, project.folder, store=project.store, session_state=more.get("session_state")
    )


def with_file(project: Project, path: str, action: str = "created") -> str:
    old = '<file path="src/login.py" action="created">'
    assert project.reply.count(old) == 1
    return project.reply.replace(old, f'<file path="{path}" action="{action}">')


def rules(verdict: Verdict) -> list[str]:
    """Return the findings about files alone, as many tests here have an unrelated commit."""
    return [
        finding.rule for finding in verdict.findings if finding.rule != "evidence/commit-unrelated"
    ]


@pytest.mark.parametrize("action", ["created", "modified"])
def test_file_that_does_not_exist_is_named_with_its_place(project: Project, action: str) -> None:
    (finding,) = check(project, with_file(project, "src/ghost.py", action)).findings

    assert finding.rule == "evidence/file-not-found"
    assert (finding.line, finding.column, finding.found) == (18, 19, "src/ghost.py")
    assert finding.path == "/goop_report/artifacts/files/file[1]/@path"


def test_deleted_file_has_to_be_gone(project: Project) -> None:
    assert rules(check(project, with_file(project, "src/login.py", "deleted"))) == [
        "evidence/file-still-there"
    ]
    assert rules(check(project, with_file(project, "src/gone.py", "deleted"))) == []


def test_link_to_nothing_that_was_to_be_deleted_is_still_there(project: Project) -> None:
    (project.folder / "src/link.py").symlink_to("nothing.py")

    assert rules(check(project, with_file(project, "src/link.py", "deleted"))) == [
        "evidence/file-still-there"
    ]
    assert rules(check(project, with_file(project, "src/link.py"))) == ["evidence/file-not-found"]


def test_the_last_claim_about_a_file_counts(project: Project) -> None:
    first = (
        '<file path="src/login.py" action="deleted">old</file>\n      <file path="src/login.py"'
        ' action="created">'
    )
    reply = project.reply.replace('<file path="src/login.py" action="created">', first)

    assert rules(check(project, reply)) == ["goop_report/file-created-and-deleted"]


@pytest.mark.parametrize(
    "path",
    [
        "./src/login.py",
        " src/login.py ",
        "src\\login.py",
        "src//login.py",
        "src/login.py:12",
        "src/login.py:12:5",
        "src/login.py:3-9",
        "src/login.py#L3-L9",
    ],
)
def test_other_ways_to_write_a_path_are_understood(project: Project, path: str) -> None:
    assert rules(check(project, with_file(project, path))) == []


def test_absolute_path_inside_the_project_is_the_same_file(project: Project) -> None:
    assert rules(check(project, with_file(project, f"{project.folder}/src/login.py"))) == []
    assert rules(check(project, with_file(project, f"{project.folder}/src/ghost.py"))) == [
        "evidence/file-not-found"
    ]


@requirement("G-22")
@pytest.mark.parametrize(
    "path",
    [
        "../other/a.py",
        "/etc/passwd",
        "~/a.py",
        "C:\\a.py",
        "%2e%2e/a.py",
        "./a/../../x",
        "https://a.b/c.py",
    ],
)
@pytest.mark.parametrize("action", ["created", "modified", "deleted"])
def test_path_outside_of_the_project_is_refused(project: Project, path: str, action: str) -> None:
    (finding,) = check(project, with_file(project, path, action)).findings

    assert (finding.rule, finding.severity, finding.line) == (
        "path/outside-workspace",
        Severity.ERROR,
        18,
    )


def test_link_that_leads_out_is_not_followed(project: Project, tmp_path: Path) -> None:
    (tmp_path / "outside.py").write_text("secret")
    (project.folder / "out").symlink_to(tmp_path)

    (finding,) = check(project, with_file(project, "out/outside.py")).findings

    assert (finding.rule, finding.severity) == ("path/outside-workspace", Severity.ERROR)
    assert str(tmp_path) not in finding.message


def test_link_inside_the_project_is_followed(project: Project) -> None:
    (project.folder / "lib").symlink_to("src")

    assert rules(check(project, with_file(project, "lib/login.py"))) == []


def test_links_that_lead_round_in_a_circle_are_not_followed(project: Project) -> None:
    (project.folder / "a").symlink_to("b")
    (project.folder / "b").symlink_to("a")

    (finding,) = check(project, with_file(project, "a/x.py")).findings

    assert (finding.rule, finding.severity) == ("path/outside-workspace", Severity.ERROR)
    assert "in a circle" in finding.message or "cannot be followed" in finding.message


def test_other_spelling_is_named(project: Project) -> None:
    verdict = check(project, with_file(project, "src/Login.py"))

    assert rules(verdict) == ["evidence/file-not-found"]
    assert "there is 'src/login.py', which is spelled otherwise" in verdict.findings[0].message


@requirement("G-22", "G-49")
@pytest.mark.parametrize(
    ("path", "what"),
    [
        ("src", "is a folder"),
        ("src/", "is a folder"),
        (".", "is a folder"),
        ("src/pipe", "is a pipe or a device"),
        (".git/config", "is git's own"),
        (".git", "is git's own"),
        ("lib/.GIT/hooks/pre-commit", "is git's own"),
    ],
)
@pytest.mark.parametrize("action", ["created", "modified"])
def test_what_is_no_file_of_the_project_was_not_written(
    project: Project, path: str, what: str, action: str
) -> None:
    os.mkfifo(project.folder / "src" / "pipe")  # to open it would wait for ever
    write(project.folder, "lib/.GIT/hooks/pre-commit")

    (finding,) = check(project, with_file(project, path, action)).findings

    assert (finding.rule, finding.severity, finding.line) == (
        "evidence/file-not-found",
        Severity.ERROR,
        18,
    )
    assert what in finding.message


@pytest.mark.parametrize(
    "name", ["pkg/__init__.py", "pkg/py.typed", "pkg/.gitkeep", "link", "deps/lib"]
)
def test_files_that_may_be_empty_and_entries_of_git_count_as_written(
    project: Project, name: str
) -> None:
    for empty in ("pkg/__init__.py", "pkg/py.typed", "pkg/.gitkeep"):
        write(project.folder, empty, "")

    (project.folder / "link").symlink_to("src")
    git(project.folder, "init", "--quiet", "deps/lib")

    assert rules(check(project, with_file(project, name))) == []


@pytest.mark.parametrize("action", ["created", "modified"])
def test_empty_file_is_remarked(project: Project, action: str) -> None:
    verdict = check(project, with_file(project, "src/empty.py", action))

    assert verdict.accepted
    assert rules(verdict) == ["evidence/empty-file"]


@pytest.mark.parametrize("length", [2_000, 4_000, 4_090, 4_096, 5_000, 60_000])
def test_path_longer_than_the_system_takes_gives_a_finding_and_no_failure(
    project: Project, length: int
) -> None:
    (finding,) = check(project, with_file(project, "a/" * (length // 2) + "b")).findings

    assert finding.rule in ("evidence/not-checked", "evidence/file-not-found")
    assert finding.path == "/goop_report/artifacts/files/file[1]/@path"


@pytest.mark.parametrize("names", [20, 60])
def test_path_that_no_system_can_hold_is_refused_and_stops_nothing(
    project: Project, names: int
) -> None:
    verdict = check(project, with_file(project, "/".join(["x" * 250] * names)))

    assert not verdict.accepted


@requirement("F-15", "F-26")
def test_deliverable_of_a_factory_reply_has_to_exist(project: Project) -> None:
    verdict = check(project, FACTORY_REPLY)
    (finding,) = verdict.findings

    assert (finding.rule, finding.line, finding.column) == ("evidence/file-not-found", 9, 15)
    assert not verdict.accepted
    assert verdict.feedback is not None
    assert DELIVERABLE in verdict.feedback

    (untested,) = validate(FACTORY_REPLY).findings
    assert (untested.rule, untested.severity) == ("evidence/not-checked", Severity.INFO)

    write(project.folder, DELIVERABLE)
    assert check(project, FACTORY_REPLY).findings == ()


def test_the_claims_of_a_markdown_reply_are_verified_too(project: Project) -> None:
    reply = (
        "Task complete.\n\n**Deliverables:**\n- `docs/plan.md` (architecture)\n\n**Summary:**"
        " Planned it.\n"
    )

    found = [
        finding
        for finding in check(project, reply).findings
        if finding.rule == "evidence/file-not-found"
    ]

    assert [finding.line for finding in found] == [4]


@pytest.mark.parametrize("path", ["runs/{session-id}/a.md", "runs/<run>/a.md"])
def test_variable_left_in_the_path_of_a_deliverable_is_an_error_where_files_are_checked(
    project: Project, path: str
) -> None:
    verdict = check(project, FACTORY_REPLY.replace(DELIVERABLE, path))

    assert not verdict.accepted
    assert (
        len([finding for finding in verdict.findings if finding.path == "/deliverables/0/path"])
        == 1
    )


@requirement("H-61")
def test_deliverable_that_a_link_takes_out_of_the_project_is_refused(
    project: Project, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (project.folder / ".factory").symlink_to(tmp_path / "elsewhere")

    (finding,) = check(project, FACTORY_REPLY).findings

    assert (finding.rule, finding.severity, finding.line) == (
        "path/outside-workspace",
        Severity.ERROR,
        9,
    )


def test_files_of_a_request_are_looked_for_once_its_session_has_ended(project: Project) -> None:
    (project.folder / "src/login.py").unlink()
    (finding,) = check(project, REQUEST_PROMPT, session_state="COMPLETED").findings

    assert (finding.rule, finding.line, finding.found) == (
        "evidence/file-not-found",
        16,
        "src/login.py",
    )
    assert check(project, REQUEST_PROMPT).findings == ()
    assert check(project, REQUEST_PROMPT, session_state="RUNNING").findings == ()


def test_folder_of_the_session_says_whether_it_has_ended(project: Project) -> None:
    session = "docs/.scratch/sessions/20260114-093000-login"
    prompt = REQUEST_PROMPT.replace("src/login.py", "result.json")
    write(project.folder, f"{session}/state.json", '{"status": "RUNNING"}')
    assert check(project, prompt).findings == ()

    write(project.folder, f"{session}/state.json", '{"status": "COMPLETED"}')
    assert rules(check(project, prompt)) == ["evidence/file-not-found"]

    write(project.folder, f"{session}/result.json", "{}")
    assert check(project, prompt).findings == ()


def test_optional_file_of_a_request_may_be_absent(project: Project) -> None:
    prompt = REQUEST_PROMPT.replace(
        'path="src/login.py" required="true"', 'path="src/no.py" required="false"'
    )

    assert check(project, prompt, session_state="COMPLETED").findings == ()


def test_files_that_a_speckit_answer_names_are_looked_for_each_by_what_was_done(
    project: Project,
) -> None:
    for path in ("src/old.py", "src/dead.py"):
        write(project.folder, path)

    found = [(finding.rule, finding.found) for finding in check(project, PLAN_ANSWER).findings]

    assert found == [
        ("evidence/file-still-there", "src/old.py"),
        ("evidence/file-not-found", "src/new.py"),
        ("evidence/file-still-there", "src/dead.py"),
        ("evidence/file-not-found", "src/made.py"),
    ]


def test_files_of_older_forms_are_looked_for_with_their_line(project: Project) -> None:
    found = [
        finding
        for finding in check(project, LEGACY).findings
        if finding.rule.startswith("evidence/file")
    ]

    assert [(finding.rule, finding.found, finding.line) for finding in found] == [
        ("evidence/file-not-found", "src/a.py", 1),
        ("evidence/file-not-found", "src/b.py", 1),
    ]


def test_a_missing_file_with_an_unknown_action_is_reported_as_not_checked(
    project: Project,
) -> None:
    found = [
        finding for finding in check(project, SECTIONS).findings if finding.found == "src/a.py"
    ]

    assert [(finding.rule, finding.line) for finding in found] == [("evidence/not-checked", 8)]


def test_reply_that_was_cut_off_claims_nothing(project: Project) -> None:
    cut = with_file(project, "src/ghost.py").partition("<verification>")[0]

    assert rules(check(project, cut)) == ["envelope/truncated"]


def test_project_without_anything_says_what_could_not_be_checked(
    tmp_path: Path, project: Project
) -> None:
    bare = tmp_path / "bare"
    write(bare, "src/login.py")

    verdict = check_workspace(project.reply, bare)

    assert verdict.accepted
    assert set(rules(verdict)) == {"evidence/not-checked"}
    assert [finding.line for finding in verdict.findings] == [7, 10, 21, 25]


CONTEXT_FOLDERS = {
    "of the project": ".factory/context",
    "of the run": ".factory/runs/20260121-a1b2/context",
    "of the run by its variable": ".factory/runs/{session-id}/context",
}


@requirement("F-30")
@pytest.mark.parametrize("folder", CONTEXT_FOLDERS.values(), ids=CONTEXT_FOLDERS)
def test_both_context_folders_are_looked_into(project: Project, folder: str) -> None:
    path = f"{folder}/user-request.md"
    there = path.replace("{session-id}", "20260121-a1b2")
    reply = FACTORY_REPLY.replace(DELIVERABLE, path)
    expected = Expectations(session_id="20260121-a1b2")
    assert reply != FACTORY_REPLY

    missing = check_workspace(reply, project.folder, expected=expected)
    write(project.folder, there, "Build it.")
    found = check_workspace(reply, project.folder, expected=expected)

    assert "evidence/file-not-found" in rules(missing)
    assert not missing.accepted
    assert [rule for rule in rules(found) if rule.startswith("evidence/")] == []
    assert found.accepted


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("docs/CON.md", "is a device on Windows"),
        (f"docs/{'x' * 256}", "a name in it has 256 bytes"),
    ],
)
def test_deliverable_of_a_name_that_some_system_cannot_hold_is_refused_for_that_reason(
    project: Project, name: str, reason: str
) -> None:
    verdict = check_workspace(FACTORY_REPLY.replace(DELIVERABLE, name), project.folder)

    (finding,) = [each for each in verdict.findings if each.path == "/deliverables/0/path"]
    assert (finding.rule, finding.severity) == ("path/outside-workspace", Severity.ERROR)
    assert reason in finding.message
    assert "link" not in finding.message
