"""Claims about files and commits, false and honest ones, in real repositories of many kinds."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from goop_mcp import Expectations, Severity, Verdict
from goop_mcp.services.check_workspace import check_workspace
from goop_mcp.validation.findings import Mode
from tests.requirements import requirement
from tests.services.reporting import report
from tests.validation.replies import rules_of
from tests.workspace.true_projects import commit, git, write

CHANGE = "feat(a): change a, add new, remove old"


@dataclass(frozen=True, slots=True)
class Scene:
    """A repository in which a task was done, and the ids that claims about it may name."""

    folder: Path
    ids: Mapping[str, str]

    def judge(
        self, files: str, commits: str = "", *, mode: Mode = "lenient", base: str | None = None
    ) -> Verdict:
        """Judge a report with these claims, in which `{name}` is an id, `{folder}` the project."""
        known = {**self.ids, "folder": str(self.folder)}
        claims = (
            f"<files>{_elements(files, known)}</files><commits>{_commits(commits, known)}</commits>"
        )
        reply = report("W1.T1", wave="1").replace("<files/><commits/>", claims)
        assert claims in reply

        return check_workspace(reply, self.folder, mode=mode, expected=Expectations(base=base))


def _elements(lines: str, known: Mapping[str, str]) -> str:
    """Return file elements for lines such as `created src/a.py`; lines that begin with "|" stay."""
    made = []
    for line in _filled(lines, known):
        action, _, path = line.partition(" ")
        made.append(
            line[1:] if line.startswith("|") else f'<file path="{path}" action="{action}">x</file>'
        )

    return "\n".join(made)


def _commits(lines: str, known: Mapping[str, str]) -> str:
    filled = _filled(lines, known)
    return "\n".join(
        [line[1:] if line.startswith("|") else f'<commit sha="{line}"/>' for line in filled]
    )


def _filled(lines: str, known: Mapping[str, str]) -> list[str]:
    for name, value in known.items():
        lines = lines.replace(f"{{{name}}}", value)
    return lines.split("\n") if lines else []


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    folder = tmp_path_factory.mktemp("scene")
    git(folder, "init", "--quiet")
    for path in ("src/a.py", "src/b.py", "src/old.py", "docs/plan.md", "assets/logo.png"):
        write(folder, path, f"{path}\n")

    base = commit(folder, "feat: first")
    other = _on_a_branch(folder)
    write(folder, "src/a.py", "changed\n")
    write(folder, "src/new.py")
    write(folder, "pkg/__init__.py", "")
    (folder / "src/old.py").unlink()
    head = commit(folder, CHANGE)
    tag = git(folder, "tag", "-a", "-m", "v1", "v1") or git(folder, "rev-parse", "v1")
    loose = git(
        folder, "commit-tree", "HEAD^{tree}", "-p", "HEAD^", "-m", "amended away", env=_ANOTHER_DAY
    )
    write(folder, "src/uncommitted.py")
    write(folder, "docs/plan.md", "changed, and not committed\n")
    write(folder, "empty.py", "")
    write(folder, "pkg/.gitkeep", "")
    _odd_entries(folder, tmp_path_factory.mktemp("outside"))
    ids = {
        "base": base,
        "head": head,
        "short": head[:7],
        "other": other,
        "loose": loose,
        "tree": git(folder, "rev-parse", "HEAD^{tree}"),
        "blob": git(folder, "rev-parse", "HEAD:src/a.py"),
        "tag": tag,
        "upper": head.upper(),
        "cut": head[:39] + ("0" if head[39] != "0" else "1"),
    }

    return Scene(folder, ids)


_ANOTHER_DAY = {"GIT_AUTHOR_DATE": "2026-01-15T10:30:00Z"}


def _on_a_branch(folder: Path) -> str:
    git(folder, "checkout", "--quiet", "-b", "other")
    write(folder, "src/b.py", "on the branch\n")
    made = commit(folder, "fix(b): on a branch")
    git(folder, "checkout", "--quiet", "main")
    return made


def _odd_entries(folder: Path, outside: Path) -> None:
    write(outside, "secret.py")
    (folder / "out").symlink_to(outside)
    (folder / "out.py").symlink_to(outside / "secret.py")
    (folder / "in.py").symlink_to("src/a.py")
    (folder / "nowhere.py").symlink_to("nothing.py")
    (folder / "round").symlink_to("round")
    os.mkfifo(folder / "pipe")
    write(folder, "spaced name.py")
    write(folder, "src/aux.py")
    write(folder, "caf\u00e9.py")


FALSE_FILES = [
    "created src/ghost.py",
    "modified src/ghost.py",
    "created ./src/ghost.py",
    "created src//ghost.py",
    "created src/./ghost.py",
    "created ./a/../../x",
    "created src/../../x.py",
    "created ../x.py",
    "created /etc/passwd",
    "modified /etc/hosts",
    "created {folder}/src/ghost.py",
    "created {folder}x/src/a.py",
    "created ~/notes.md",
    "created ~root/notes.md",
    "created $HOME/notes.md",
    "created file:///etc/passwd",
    "created https://example.org/src/a.py",
    "created C:\\\\work\\\\a.py",
    "created \\\\\\\\host\\\\share\\\\a.py",
    "created %2e%2e/x.py",
    "created %252e%252e%252fx.py",
    "created src/a.py%00.md",
    "created SRC/a.py",
    "created src/A.py",
    "created src/a.PY",
    "created src/ghost.py ",
    "created  src/ghost.py",
    "created src/a.py.",
    "created src/*.py",
    "created src/{a,b}.py",
    "created src/a.py, src/b.py",
    "created src/ghost.py:12",
    "created src/ghost.py#L3",
    "created src/a.py:twelve",
    "created src",
    "created src/",
    "created .",
    "modified docs",
    "created pipe",
    "created .git/config",
    "modified .git/HEAD",
    "created .GIT/config",
    "created src/.git/config",
    "created out/secret.py",
    "created out.py",
    "modified out.py",
    "created nowhere.py",
    "created round",
    "created round/a.py",
    "deleted src/a.py",
    "deleted ./src/b.py",
    "deleted /etc/passwd",
    "deleted ../x.py",
    "created src/a.py\u200b",
    "created src/con.py",
    "created nul",
    f"created src/{'x' * 300}.py",
    f"created {'/'.join(['x' * 250] * 20)}",
    "created src\u2215ghost.py",
    "|<file path='src/ghost.py' action='created'/>",
    "|- src/ghost.py (created)",
    "|* `src/ghost.py` - modified",
    "|src/ghost.py: created",
    "|A src/ghost.py",
    "|- ../x.py (created)",
    "|- src/a.py (deleted)",
]
FALSE_COMMITS = [
    "deadbee",
    "{cut}",
    "{tree}",
    "{blob}",
    "HEAD",
    "head",
    "main",
    "other",
    "v1",
    "refs/heads/main",
    "HEAD~1",
    "{short}^",
    "{short}~1",
    "{base}..{head}",
    "{short}^{tree}",
    ":/feat",
    "@",
    "-",
    "--all",
    "latest",
    "pending",
    "abc",
    "123",
    "{head}0",
    "0000000000000000000000000000000000000000",
    "g1234567",
    "|deadbee feat: never made",
    "|- deadbee1: never made",
    "|<commit>deadbee1 feat: never made</commit>",
]
REMARKED = {
    "empty": ("created empty.py", "", "evidence/empty-file"),
    "empty and modified": ("modified empty.py", "", "evidence/empty-file"),
    "unchanged": ("modified assets/logo.png", "", "evidence/file-not-touched"),
    "unchanged, with a commit": (
        "modified src/b.py\nmodified src/a.py",
        "{head}",
        "evidence/file-not-touched",
    ),
    "unchanged, with a line": ("modified src/b.py:3", "", "evidence/file-not-touched"),
    "of other work": ("created src/uncommitted.py", "{head}", "evidence/commit-unrelated"),
    "of another branch": ("modified src/a.py", "{other}", "evidence/commit-unrelated"),
    "one of two": ("modified src/a.py", "{head}\n{other}", "evidence/commit-unrelated"),
    "amended away": ("modified src/a.py", "{loose}", "evidence/commit-on-no-branch"),
    "as text": ("|- src/new.py (created)", "", "goop_report/claim-in-prose"),
    "commit as text": (
        "modified src/a.py",
        "|{short} feat(a): change a, add new, remove old",
        "goop_report/claim-in-prose",
    ),
    "text in the commit": (
        "modified src/a.py",
        "|<commit>{short} feat(a): x</commit>",
        "goop_report/claim-in-prose",
    ),
}
HONEST = {
    "nothing": ("", ""),
    "created": ("created src/new.py", ""),
    "created and committed": ("created src/new.py", "{head}"),
    "modified": ("modified src/a.py", "{head}"),
    "modified without its commit": ("modified src/a.py", ""),
    "modified in the working copy": ("modified docs/plan.md", ""),
    "deleted": ("deleted src/old.py", "{head}"),
    "deleted alone": ("deleted src/old.py", ""),
    "renamed": ("deleted src/old.py\ncreated src/new.py", "{head}"),
    "all of it": ("modified src/a.py\ncreated src/new.py\ndeleted src/old.py", "{head}"),
    "not committed yet": ("created src/uncommitted.py", ""),
    "some committed": ("created src/uncommitted.py\nmodified src/a.py", "{head}"),
    "seven digits": ("modified src/a.py", "{short}"),
    "capitals": ("modified src/a.py", "{upper}"),
    "in backticks": ("modified src/a.py", "`{short}`"),
    "first commit": ("created src/b.py", "{base}"),
    "both commits": ("modified src/a.py\ncreated src/b.py", "{base}\n{head}"),
    "on a branch": ("modified src/b.py", "{other}"),
    "dot and slash": ("modified ./src/a.py", "{head}"),
    "two slashes": ("modified src//a.py", "{head}"),
    "absolute": ("modified {folder}/src/a.py", "{head}"),
    "with blanks around": ("modified  src/a.py ", "{head}"),
    "backslashes": ("modified src\\a.py", "{head}"),
    "line": ("modified src/a.py:12", "{head}"),
    "line and column": ("modified src/a.py:12:5", "{head}"),
    "lines": ("modified src/a.py:3-9", "{head}"),
    "anchor": ("modified src/a.py#L12", "{head}"),
    "anchors": ("modified src/a.py#L12-L20", "{head}"),
    "package": ("created pkg/__init__.py", "{head}"),
    "placeholder of git": ("created pkg/.gitkeep", ""),
    "link inside": ("created in.py", ""),
    "blank in the name": ("created spaced name.py", ""),
    "name of a device": ("created src/aux.py", ""),
    "accent": ("created caf\u00e9.py", ""),
    "named twice": ("created src/a.py\nmodified src/a.py", "{head}"),
    "a folder removed": ("deleted src/oldpkg/", ""),
}


@requirement("G-22", "G-24", "G-49")
@pytest.mark.parametrize("files", FALSE_FILES)
def test_false_claim_about_a_file_is_an_error(scene: Scene, files: str) -> None:
    for mode in ("lenient", "strict"):
        verdict = scene.judge(files, mode=mode)

        assert not verdict.accepted, [each.message for each in verdict.findings]
        assert str(scene.folder) not in "".join(
            each.message for each in verdict.findings if "{folder}" not in files
        )


@requirement("G-24", "G-49")
@pytest.mark.parametrize("commits", FALSE_COMMITS)
def test_false_claim_about_a_commit_is_an_error(scene: Scene, commits: str) -> None:
    verdict = scene.judge("modified src/a.py", commits)

    assert "evidence/commit-not-found" in rules_of(verdict, Severity.ERROR)


@requirement("G-22", "G-24", "G-49")
@pytest.mark.parametrize("name", REMARKED)
def test_doubtful_claim_is_a_warning_and_in_strict_mode_an_error_where_the_base_is_known(
    scene: Scene, name: str
) -> None:
    files, commits, rule = REMARKED[name]

    lenient = scene.judge(files, commits)
    assert lenient.accepted, [each.message for each in lenient.findings]
    assert rule in rules_of(lenient, Severity.WARNING)

    strict = scene.judge(files, commits, mode="strict", base=scene.ids["base"])
    grave = Severity.WARNING if rule == "evidence/empty-file" else Severity.ERROR
    assert rule in rules_of(strict, grave)


@requirement("G-22", "G-24", "G-49")
@pytest.mark.parametrize("name", HONEST)
def test_honest_claim_stays_without_a_remark(scene: Scene, name: str) -> None:
    files, commits = HONEST[name]
    verdict = scene.judge(files, commits)

    assert verdict.accepted
    assert weighty(verdict) == set(), [each.message for each in verdict.findings]


_OF_FORM = {"goop_report/commit-sha-form", "goop_report/commit-message-form"}


def weighty(verdict: Verdict) -> set[str]:
    found = rules_of(verdict, Severity.ERROR) | rules_of(verdict, Severity.WARNING)
    return found - _OF_FORM


def test_honest_claims_in_a_part_of_a_repository(scene: Scene, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", str(scene.folder), "clone")
    part = tmp_path / "clone" / "services" / "api"
    write(part, "main.py", "one\n")
    commit(part, "feat: api")
    write(part, "main.py", "two\n")
    made = commit(part, "fix: api")
    here = Scene(part, {"made": made})

    assert weighty(here.judge("modified main.py", "{made}")) == set()
    assert weighty(here.judge("modified ../../src/a.py")) == {"path/outside-workspace"}


def test_honest_claims_in_a_working_tree_and_a_submodule(scene: Scene, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", str(scene.folder), "clone")
    git(tmp_path / "clone", "worktree", "add", "--quiet", "-b", "task", str(tmp_path / "tree"))
    tree = tmp_path / "tree"
    write(tree, "src/b.py", "in the tree\n")
    in_tree = Scene(tree, {"made": commit(tree, "fix(b): in the tree")})
    assert weighty(in_tree.judge("modified src/b.py", "{made}")) == set()

    git(tree, "submodule", "--quiet", "add", str(scene.folder), "lib")
    commit(tree, "chore: add lib")
    write(tree, "lib/src/b.py", "in the submodule\n")
    inner = commit(tree / "lib", "fix(b): in the submodule")
    outer = commit(tree, "chore: take the new lib")
    both = Scene(tree, {"inner": inner, "outer": outer})
    for files in ("modified lib", "modified lib/src/b.py", "modified lib\nmodified lib/src/b.py"):
        assert weighty(both.judge(files, "{inner}\n{outer}")) == set(), files


def test_honest_claims_where_history_is_short(scene: Scene, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{scene.folder}", "shallow")
    shallow = Scene(tmp_path / "shallow", scene.ids)
    for files, commits in (
        ("modified src/a.py", "{head}"),
        ("modified src/b.py", ""),
        ("created src/b.py", "{base}"),
    ):
        assert weighty(shallow.judge(files, commits)) == set(), files

    fresh = tmp_path / "fresh"
    write(fresh, "src/a.py")
    git(fresh, "init", "--quiet")
    unborn = Scene(fresh, {})
    assert weighty(unborn.judge("created src/a.py")) == set()
    assert weighty(unborn.judge("modified src/a.py")) == set()
    git(fresh, "add", "--all")
    assert weighty(unborn.judge("modified src/a.py")) == set()


def test_honest_claims_after_a_merge_and_with_a_detached_head(scene: Scene, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", str(scene.folder), "clone")
    folder = tmp_path / "clone"
    git(folder, "merge", "--quiet", "--no-ff", "-m", "chore: merge", "origin/other")
    merged = Scene(folder, {"made": git(folder, "rev-parse", "HEAD")})
    assert weighty(merged.judge("modified src/b.py", "{made}")) == set()

    git(folder, "checkout", "--quiet", "--detach")
    write(folder, "src/b.py", "detached\n")
    detached = Scene(folder, {"made": commit(folder, "fix(b): detached")})
    assert weighty(detached.judge("modified src/b.py", "{made}")) == set()


def test_file_that_was_changed_since_the_base_counts_however_many_commits_there_were(
    scene: Scene, tmp_path: Path
) -> None:
    git(tmp_path, "clone", "--quiet", str(scene.folder), "clone")
    folder = tmp_path / "clone"
    base = git(folder, "rev-parse", "HEAD")
    write(folder, "src/b.py", "changed early\n")
    commit(folder, "fix(b): early")
    for number in range(3):
        write(folder, f"src/{number}.py")
        commit(folder, f"feat: {number}")

    here = Scene(folder, {})

    assert weighty(here.judge("modified src/b.py", mode="strict", base=base)) == set()
    assert weighty(here.judge("modified src/a.py", mode="strict", base=base)) == {
        "evidence/file-not-touched"
    }


def test_files_are_compared_without_being_opened_and_nothing_of_the_repository_runs(
    scene: Scene, tmp_path: Path
) -> None:
    git(tmp_path, "clone", "--quiet", str(scene.folder), "clone")
    folder = tmp_path / "clone"
    canary = tmp_path / "canary"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho ran >> {canary}\ncat\n")
    program.chmod(0o755)
    write(folder, ".gitattributes", "* filter=evil diff=evil\n")
    commit(folder, "chore: attributes")

    for key in (
        "filter.evil.clean",
        "filter.evil.process",
        "diff.evil.textconv",
        "diff.evil.command",
        "diff.external",
    ):
        git(folder, "config", key, str(program))

    canary.unlink(missing_ok=True)
    (folder / "src/b.py").touch()

    Scene(folder, {"head": git(folder, "rev-parse", "HEAD")}).judge(
        "modified src/a.py\nmodified src/b.py", "{head}"
    )

    assert not canary.exists()
