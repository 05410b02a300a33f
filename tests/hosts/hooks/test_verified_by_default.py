"""Claims are verified in every git repository, with or without a folder `.goopspec/` (D-106)."""

import shutil
from pathlib import Path

import pytest

from tests.cli.running import run
from tests.evidence.recorded import recorded
from tests.hosts.hooks.hooks import GOOD, Host
from tests.requirements import requirement
from tests.workspace.true_projects import commit, git, write

EVENT = "SubagentStop"
GHOST = GOOD.replace("src/login.py", "src/ghost.py")
FAILED = recorded("failed-claimed-passed")


def true_report(sha: str, path: str = "src/login.py") -> str:
    return GOOD.replace("a1b2c3d", sha[:7]).replace("src/login.py", path)


@pytest.fixture
def repository(host: Host) -> Host:
    """Return the host in a repository without our folder; nothing is known to the person yet."""
    git(host.project, "init", "--quiet")
    return Host(host.project, host.data.parent / "new" / "data")


@requirement("F-15")
def test_the_first_report_in_a_new_repository_is_verified(repository: Host) -> None:
    repository.send("SubagentStart")
    ghost = repository.send(EVENT, last_assistant_message=GHOST, prompt_id="b")
    assert "'src/ghost.py' does not exist" in ghost.reason

    invented = repository.send(EVENT, last_assistant_message=GOOD, prompt_id="c")
    assert "commit 'a1b2c3d' does not exist" in invented.reason
    sha = commit(repository.project, "feat(auth): add login endpoint")
    assert repository.send(EVENT, last_assistant_message=true_report(sha)).passed
    assert not (repository.project / ".goopspec").exists()


@requirement("F-15")
def test_what_the_agent_began_with_is_known_without_our_folder(repository: Host) -> None:
    sha = commit(repository.project, "feat(auth): add login endpoint")
    repository.send("SubagentStart", session_id="s", agent_id="a1")
    untouched = true_report(sha).replace('"created"', '"modified"')
    answer = repository.send(EVENT, last_assistant_message=untouched, session_id="s", agent_id="a1")
    assert "'src/login.py' did not change since the task began" in answer.message
    assert "evidence/file-not-touched" in answer.message


@requirement("F-15")
@pytest.mark.parametrize("kind", ["worktree", "submodule", "broken"])
def test_a_file_in_the_place_of_the_repository_is_one(
    repository: Host, tmp_path: Path, kind: str
) -> None:
    commit(repository.project, "chore: begin")
    place = tmp_path / "place"
    if kind == "worktree":
        git(repository.project, "worktree", "add", "--quiet", "--detach", str(place))
    elif kind == "submodule":
        git(repository.project, "submodule", "--quiet", "add", str(repository.project), "library")
        place = repository.project / "library"
    else:
        write(place, ".git", "gitdir: /nowhere\n")

    there = Host(place, repository.data)
    assert "src/ghost.py" in there.send(EVENT, last_assistant_message=GHOST).reason


@requirement("F-15")
def test_a_folder_of_a_repository_is_verified_by_both_kinds_of_paths(repository: Host) -> None:
    package = Host(repository.project / "packages" / "shop", repository.data)
    write(package.project, "src/login.py")
    write(repository.project, "packages/other/other.py")
    sha = commit(repository.project, "feat(auth): add login endpoint")

    for number, path in enumerate(
        ("src/login.py", "packages/shop/src/login.py", "packages/other/other.py")
    ):
        report = true_report(sha, path)
        assert package.send(EVENT, last_assistant_message=report, prompt_id=str(number)).passed, (
            path
        )
    for number, path in enumerate(("src/ghost.py", "packages/shop/src/ghost.py", "other.py")):
        report = true_report(sha, path)
        answer = package.send(EVENT, last_assistant_message=report, prompt_id=f"f{number}")
        assert f"'{path}' does not exist" in answer.reason


@requirement("F-15")
def test_an_agent_that_removes_the_repository_is_verified_as_before(repository: Host) -> None:
    repository.send("SessionStart", source="startup")
    shutil.rmtree(repository.project / ".git")
    answer = repository.send(EVENT, last_assistant_message=GHOST)
    assert "src/ghost.py" in answer.reason
    assert "the git repository or .goopspec is gone" in answer.message


@requirement("F-15")
def test_what_is_not_verified_is_named_once_with_the_share(host: Host) -> None:
    plain = Host(host.project, host.data.parent / "new" / "data")
    first = plain.send(EVENT, last_assistant_message=GOOD, agent_transcript_path=str(FAILED.file))
    assert (
        "goop-executor: not verified: 4 of 4 claims, because there is neither a git repository nor"
        " a folder .goopspec here" in first.message
    )
    assert "not verified" in first.ended.err
    again = plain.send(EVENT, last_assistant_message=GOOD, prompt_id="b", agent_id="b")
    assert "not verified" not in again.ended.out + again.ended.err


@requirement("F-15")
def test_a_person_turns_it_off_and_is_reminded(repository: Host) -> None:
    write(repository.project, "goop-mcp.toml", "[hooks]\ncheck_workspace = false\n")
    repository.send("SessionStart", source="startup")
    answer = repository.send(EVENT, last_assistant_message=GHOST)
    assert answer.passed
    assert "because check_workspace is false in the settings of the project" in answer.message


@requirement("F-15")
def test_route_verifies_where_the_hook_does(repository: Host, tmp_path: Path) -> None:
    reply = tmp_path / "reply.md"
    reply.write_text(GHOST, encoding="utf-8")
    here = run("route", reply, cwd=repository.project)
    assert (here.code, here.err) == (1, "")
    assert "'src/ghost.py' does not exist" in here.out

    elsewhere = run("route", "--no-workspace", reply, cwd=repository.project)
    assert elsewhere.code == 0
    assert elsewhere.err.count("not verified: 4 of 4 claims") == 1
    plain = run("route", "--format", "json", reply, cwd=tmp_path)
    assert '"unverified": {' in plain.out
    assert "neither a git repository" in plain.out
    assert "neither" not in plain.err

    write(repository.project, "goop-mcp.toml", "[hooks]\ncheck_workspace = false\n")
    off = run("route", reply, cwd=repository.project)
    assert off.code == 0
    assert "check_workspace is false" in off.err
    assert run("route", "--workspace", reply, cwd=repository.project).code == 1
    assert not (repository.project / ".goopspec").exists()


@requirement("F-15")
def test_check_says_once_what_nobody_verified(repository: Host, tmp_path: Path) -> None:
    replies = tmp_path / "replies"
    for name in "abc":
        write(replies, f"{name}.md", GOOD)
    write(replies, "refused.md", GOOD.replace("COMPLETE", "FINISHED"))

    ended = run("check", replies, "--format", "github", cwd=repository.project)
    assert ended.err.count("note: not verified: 12 of 12 claims") == 1
    values = run("check", replies, "--format", "json", cwd=repository.project)
    assert (values.err, values.out.count('"unverified": {')) == ("", 3)
    assert "not verified" not in run("check", replies, "--quiet", cwd=repository.project).err
    verified = run("check", "--workspace", replies, cwd=repository.project)
    assert "not verified:" not in verified.err + verified.out
