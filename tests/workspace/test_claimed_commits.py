"""Claimed commits are looked up in the project's repository, and nothing in it is ever run."""

import hashlib
import itertools
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from goop_mcp import Severity, Verdict
from goop_mcp.services.check_workspace import check_workspace
from goop_mcp.workspace.git import GitError, Repository
from tests.workspace.true_projects import SUBJECT, Project, commit, git, write


def check(project: Project, reply: str) -> Verdict:
    return check_workspace(reply, project.folder, store=project.store)


def with_commit(project: Project, sha: str, message: str = SUBJECT) -> str:
    old = f'<commit sha="{project.sha[:7]}">{SUBJECT}<'
    assert project.reply.count(old) == 1
    return project.reply.replace(old, f'<commit sha="{sha}">{message}<')


def test_commit_that_nobody_made_is_named_with_its_place(project: Project) -> None:
    verdict = check(project, with_commit(project, "deadbee"))
    (finding,) = verdict.findings

    assert (finding.rule, finding.line, finding.column) == ("evidence/commit-not-found", 21, 20)
    assert not verdict.accepted


@pytest.mark.parametrize("digits", [7, 12, 40])
def test_commit_is_found_by_as_many_digits_as_were_written(project: Project, digits: int) -> None:
    assert check(project, with_commit(project, project.sha[:digits])).findings == ()
    assert check(project, with_commit(project, project.sha[:digits].upper())).findings == ()


def test_tree_and_file_are_no_commits(project: Project) -> None:
    tree = git(project.folder, "rev-parse", "HEAD^{tree}")

    assert [each.rule for each in check(project, with_commit(project, tree)).findings] == [
        "evidence/commit-not-found"
    ]


def test_ambiguous_id_is_not_checked(project: Project) -> None:
    sha, other = two_commits_that_begin_alike(project.folder)
    assert sha[:4] == other[:4]

    (finding,) = check(project, with_commit(project, sha[:4])).findings

    assert finding.rule == "evidence/not-checked"
    assert "more than one begins with these digits" in finding.message


def two_commits_that_begin_alike(folder: Path) -> list[str]:
    """Create commits whose ids share four digits; computing them first saves starts of git."""
    like = git(folder, "cat-file", "commit", "HEAD").partition("\n\n")[0]
    seen: dict[bytes, str] = {}

    for number in itertools.count():
        text = f"{like}\n\nfeat: {number}\n"
        begin = hashlib.sha1(
            b"commit %d\0%s" % (len(text), text.encode()), usedforsecurity=False
        ).digest()[:2]
        if begin in seen:
            break

        seen[begin] = text

    return [
        git(folder, "hash-object", "-t", "commit", "-w", "--stdin", given=each)
        for each in (seen[begin], text)
    ]


@pytest.mark.parametrize(
    ("written", "same"),
    [
        (SUBJECT, True),
        (f"{SUBJECT}.", True),
        (f"  {SUBJECT.upper()}  ", True),
        ("feat(auth): add …", True),
        ("feat(auth): add...", True),
        (f"{SUBJECT} and its tests", True),
        ("feat(auth): remove …", False),
        ("feat(auth): add logout endpoint", False),
        ("feat(auth): add", False),
    ],
)
def test_subject_is_compared_tolerantly(project: Project, written: str, same: bool) -> None:
    verdict = check(project, with_commit(project, project.sha[:7], written))

    assert verdict.accepted
    assert [each.rule for each in verdict.findings] == (
        [] if same else ["evidence/commit-subject-differs"]
    )


def test_subject_in_another_encoding_is_read(project: Project) -> None:
    message = project.folder / "message"
    message.write_bytes("fix(api): grüße".encode("latin-1"))
    git(
        project.folder,
        "-c",
        "i18n.commitEncoding=ISO-8859-1",
        "commit",
        "--quiet",
        "--allow-empty",
        "-F",
        "message",
    )
    sha = git(project.folder, "rev-parse", "--short", "HEAD")

    found = check(project, with_commit(project, sha, "fix(api): grüße")).findings

    assert "evidence/commit-subject-differs" not in {each.rule for each in found}


@pytest.mark.parametrize(
    "sha", ["latest", "HEAD", "--help", "main", ":/feat", "abc", "deadbee^{tree}", "a" * 50]
)
def test_what_is_no_id_never_reaches_git(project: Project, sha: str) -> None:
    findings = check(project, with_commit(project, sha)).findings

    assert {each.rule for each in findings} == {
        "goop_report/commit-sha-form",
        "evidence/commit-not-found",
    }
    assert any("is not a commit sha" in each.message for each in findings)


def test_repository_without_commits_has_none(tmp_path: Path, project: Project) -> None:
    write(tmp_path / "empty", "src/login.py")
    git(tmp_path / "empty", "init", "--quiet")

    rules = [each.rule for each in check_workspace(project.reply, tmp_path / "empty").findings]

    assert "evidence/commit-not-found" in rules


def test_folder_without_repository_is_not_checked(tmp_path: Path) -> None:
    with pytest.raises(GitError, match="the project is not a git repository"):
        Repository(tmp_path).look_up(["deadbee"])


def test_machine_without_git_is_not_checked(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(project.folder))

    (finding,) = check(project, project.reply).findings

    assert (finding.rule, finding.severity) == ("evidence/not-checked", Severity.INFO)
    assert "git is not installed" in finding.message


def test_git_in_the_current_folder_is_never_started(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(project.folder, "git", "#!/bin/sh\ntouch canary\n")
    (project.folder / "git").chmod(0o755)
    monkeypatch.chdir(project.folder)
    monkeypatch.setenv("PATH", ".")

    (finding,) = check(project, project.reply).findings

    assert "git is not installed" in finding.message
    assert not (project.folder / "canary").exists()


def test_git_that_does_not_answer_is_ended_with_all_it_started(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "bin/git", f"#!/bin/sh\n/bin/sleep 60 &\necho $! > {tmp_path}/pid\nwait\n")
    (tmp_path / "bin/git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr("goop_mcp.workspace.git.TIMEOUT", 0.5)
    begun = time.monotonic()

    (finding,) = check(project, project.reply).findings

    assert "git did not answer within 0.5 s" in finding.message
    assert time.monotonic() - begun < 50
    started = Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}/cmdline")
    assert not started.exists() or started.read_bytes() == b""


def test_hostile_configuration_of_the_repository_runs_nothing(
    project: Project, tmp_path: Path
) -> None:
    canary = tmp_path / "canary"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho ran >> {canary}\n")
    program.chmod(0o755)
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("post-checkout", "pre-auto-gc", "reference-transaction", "post-index-change"):
        (hooks / name).symlink_to(program)

    for key, value in {
        "core.fsmonitor": program,
        "core.hooksPath": hooks,
        "core.pager": program,
        "core.sshCommand": program,
        "core.gitProxy": program,
        "core.alternateRefsCommand": program,
        "gpg.program": program,
        "log.showSignature": "true",
        "pager.cat-file": program,
        "credential.helper": program,
        "diff.external": program,
        "remote.origin.url": f"ext::{program}",
        "remote.origin.promisor": "true",
        "remote.origin.uploadpack": program,
        "protocol.allow": "always",
        "protocol.ext.allow": "always",
        "extensions.partialClone": "origin",
        "core.repositoryFormatVersion": "1",
    }.items():
        git(project.folder, "config", key, str(value))

    canary.unlink(missing_ok=True)

    found = check(project, with_commit(project, "deadbee" * 5 + "deadb"))

    assert [each.rule for each in found.findings] == ["evidence/commit-not-found"]
    assert check(project, project.reply).findings == ()
    assert not canary.exists()


def test_variables_of_the_caller_do_not_lead_git_elsewhere(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "init", "--quiet", "other")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other" / ".git"))
    monkeypatch.setenv("GIT_TRACE", str(tmp_path / "trace"))

    assert check(project, project.reply).findings == ()
    assert not (tmp_path / "trace").exists()


def test_nothing_in_the_repository_changes(project: Project) -> None:
    def seen() -> dict[str, int]:
        return {str(path): path.stat().st_mtime_ns for path in (project.folder / ".git").rglob("*")}

    before = seen()
    check(project, project.reply)

    assert seen() == before


def test_worktree_knows_the_commits_of_its_repository(project: Project, tmp_path: Path) -> None:
    git(project.folder, "worktree", "add", "--quiet", str(tmp_path / "tree"))

    found = check_workspace(project.reply, tmp_path / "tree").findings

    assert {each.rule for each in found} == {"evidence/not-checked"}
    assert not any("commit" in each.message for each in found)


def test_folder_inside_a_repository_belongs_to_it(project: Project) -> None:
    known = Repository(project.folder / "src").look_up([project.sha])

    assert dict(known.subjects) == {project.sha: SUBJECT}


def test_commit_in_a_submodule_counts(project: Project, tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    git(tmp_path / "lib", "init", "--quiet")
    sha = commit(tmp_path / "lib", SUBJECT + " in the library")
    git(project.folder, "submodule", "--quiet", "add", str(tmp_path / "lib"), "lib")
    sha = commit(project.folder / "lib", "fix(lib): in the submodule only")

    assert (
        check(project, with_commit(project, sha, "fix(lib): in the submodule only")).findings == ()
    )


def test_commit_in_a_repository_around_a_claimed_file_counts(project: Project) -> None:
    write(project.folder, "services/api/main.py")
    git(project.folder / "services/api", "init", "--quiet")
    sha = commit(project.folder / "services/api", SUBJECT)
    reply = with_commit(project, sha).replace(
        'src/login.py" action', 'services/api/main.py" action'
    )

    assert check(project, reply).findings == ()


def test_shallow_clone_does_not_refute_an_older_commit(project: Project, tmp_path: Path) -> None:
    commit(project.folder, "feat: second")
    git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{project.folder}", "clone")

    found = check_workspace(project.reply, tmp_path / "clone").findings

    (finding,) = [each for each in found if "commit" in each.message]
    assert finding.rule == "evidence/not-checked"
    assert "older commits were left out of this clone" in finding.message


def test_many_commits_are_looked_up_by_two_processes(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [f"{number:040x}" for number in range(1, 400)]
    write(
        tmp_path,
        "bin/git",
        f'#!/bin/sh\necho >> {tmp_path}/started\nexec {shutil.which("git")} "$@"\n',
    )
    (tmp_path / "bin/git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))

    known = Repository(project.folder).look_up([*ids, project.sha])

    assert known.missing == frozenset(ids)
    assert dict(known.subjects) == {project.sha: SUBJECT}
    assert (tmp_path / "started").read_text() == "\n" * 2


def test_huge_commit_is_found_without_its_subject_being_read(project: Project) -> None:
    sha = git(
        project.folder,
        "commit-tree",
        "HEAD^{tree}",
        "-F",
        "-",
        given="feat: huge\n\n" + "x" * 400_000,
    )

    assert dict(Repository(project.folder).look_up([sha]).subjects) == {sha: None}


def test_commits_beyond_the_limit_are_reported_as_not_checked(project: Project) -> None:
    line = f'<commit sha="{project.sha}">{SUBJECT}</commit>'
    reply = with_commit(project, project.sha[:7]).replace("</commits>", line * 510 + "</commits>")

    (finding,) = check(project, reply).findings

    assert finding.rule == "evidence/not-checked"
    assert "11 commits" in finding.message


@pytest.fixture
def other(tmp_path: Path) -> tuple[Path, str]:
    """Return the folder of a foreign repository and a commit in it with a secret subject."""
    folder = tmp_path / "other"
    folder.mkdir()
    git(folder, "init", "--quiet")
    return folder, commit(folder, "feat: buy the competitor")


def lead_by_file(project: Path, other: Path) -> None:
    shutil.move(project / ".git", project.parent / "kept.git")
    write(project, ".git", f"gitdir: {other / '.git'}\n")


def lead_by_link(project: Path, other: Path) -> None:
    shutil.move(project / ".git", project.parent / "kept.git")
    (project / ".git").symlink_to(other / ".git")


def lead_by_alternates(project: Path, other: Path) -> None:
    write(project, ".git/objects/info/alternates", f"{other / '.git' / 'objects'}\n")


def lead_by_alternates_of_alternates(project: Path, other: Path) -> None:
    write(project, ".git/objects/info/alternates", f"{project / 'x'}\n")
    write(project, "x/info/alternates", f"{other / '.git' / 'objects'}\n")


def lead_by_quoted_alternates(project: Path, other: Path) -> None:
    quoted = "".join(f"\\{byte:03o}" for byte in os.fsencode(other / ".git" / "objects"))
    write(project, ".git/objects/info/alternates", f'"{quoted}"\n')


def lead_by_links_in_alternates(project: Path, other: Path) -> None:
    write(project, ".git/objects/info/alternates", f"{project / 'x'}\n")
    (project / "x").mkdir()
    for each in (other / ".git" / "objects").iterdir():
        (project / "x" / each.name).symlink_to(each)


def lead_by_common_folder(project: Path, other: Path) -> None:
    write(project, ".git/commondir", f"{other / '.git'}\n")


def lead_by_forged_working_tree(project: Path, other: Path) -> None:
    shutil.move(project / ".git", project.parent / "kept.git")
    write(project, "x/worktrees/y/HEAD", "ref: refs/heads/main\n")
    write(project, "x/worktrees/y/gitdir", f"{project / '.git'}\n")
    write(project, "x/worktrees/y/commondir", f"{other / '.git'}\n")
    write(project, ".git", "gitdir: x/worktrees/y\n")


def lead_by_linked_objects(project: Path, other: Path) -> None:
    for each in (other / ".git" / "objects").iterdir():
        if not (project / ".git" / "objects" / each.name).exists():
            (project / ".git" / "objects" / each.name).symlink_to(each)


@pytest.mark.parametrize(
    "lead",
    [
        lead_by_file,
        lead_by_link,
        lead_by_alternates,
        lead_by_alternates_of_alternates,
        lead_by_quoted_alternates,
        lead_by_links_in_alternates,
        lead_by_common_folder,
        lead_by_forged_working_tree,
        lead_by_linked_objects,
    ],
)
def test_a_git_that_leads_to_another_repository_discloses_nothing(
    project: Project, other: tuple[Path, str], lead: Callable[[Path, Path], None]
) -> None:
    folder, sha = other
    reply = with_commit(project, sha)
    lead(project.folder, folder)

    findings = check(project, reply).findings

    assert not any("competitor" in f"{each.message} {each.fix}" for each in findings)
    (about,) = [each for each in findings if sha[:7] in each.message]
    assert about.rule == "evidence/not-checked"
    assert "leads to another repository" in about.message


def test_a_checkout_that_is_laid_out_like_a_bare_repository_discloses_nothing(
    project: Project, other: tuple[Path, str]
) -> None:
    folder, sha = other
    reply = with_commit(project, sha)
    shutil.move(project.folder / ".git", project.folder.parent / "kept.git")
    for name in ("HEAD", "config"):
        shutil.copy(folder / ".git" / name, project.folder / name)

    (project.folder / "refs").mkdir()
    write(project.folder, "objects/info/alternates", f"{folder / '.git' / 'objects'}\n")

    findings = check(project, reply).findings

    assert not any("competitor" in f"{each.message} {each.fix}" for each in findings)
    assert "evidence/not-checked" in {each.rule for each in findings}


def test_a_git_inside_the_project_that_leads_to_another_repository_discloses_nothing(
    project: Project, other: tuple[Path, str]
) -> None:
    folder, sha = other
    write(project.folder, "services/api/main.py")
    write(project.folder, "services/api/.git", f"gitdir: {folder / '.git'}\n")
    claimed = with_commit(project, sha).replace(
        'src/login.py" action', 'services/api/main.py" action'
    )

    found = {each.rule: each.message for each in check(project, claimed).findings}

    assert "evidence/commit-not-found" in found
    assert "competitor" not in "".join(found.values())


def test_a_working_tree_and_a_submodule_that_are_the_project_know_their_commits(
    project: Project, tmp_path: Path
) -> None:
    (tmp_path / "lib").mkdir()
    git(tmp_path / "lib", "init", "--quiet")
    sha = commit(tmp_path / "lib", "feat: the library")
    git(project.folder, "submodule", "--quiet", "add", str(tmp_path / "lib"), "lib")
    git(project.folder, "worktree", "add", "--quiet", str(project.folder / "trees" / "one"))

    assert dict(Repository(project.folder / "lib").look_up([sha]).subjects) == {
        sha: "feat: the library"
    }
    inside = Repository(project.folder / "trees" / "one").look_up([project.sha])
    assert dict(inside.subjects) == {project.sha: SUBJECT}


def test_a_repository_inside_the_project_that_is_slow_keeps_a_commit_from_being_false(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = project.folder / "src"
    git(inner, "init", "--quiet")
    real = shutil.which("git")
    slow = (
        f'#!/bin/sh\ncase "$*" in *"-C {inner} "*) /bin/sleep 60 & wait;; esac\nexec {real} "$@"\n'
    )
    write(tmp_path, "bin/git", slow)
    (tmp_path / "bin/git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr("goop_mcp.workspace.git.TIMEOUT", 1.0)

    false = project.reply.replace(project.sha[:7], "deadbee")
    (finding,) = check_workspace(false, project.folder, store=project.store).findings

    assert finding.rule == "evidence/not-checked"
    assert "git did not answer within 1 s" in finding.message


def test_a_git_that_answers_without_end_is_ended(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "bin/git", "#!/bin/sh\nexec cat /dev/zero\n")
    (tmp_path / "bin" / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    with pytest.raises(GitError, match="too many files"):
        Repository(project.folder).uncommitted()


def test_a_question_longer_than_a_pipe_holds_is_answered(project: Project) -> None:
    ids = [f"{number:040x}" for number in range(5_000)]
    known = Repository(project.folder).look_up([*ids, project.sha])
    assert set(known.full) == {project.sha}
    assert len(known.missing) == 5_000
