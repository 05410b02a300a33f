"""A path is compared with the workspace by its text alone, in any spelling."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goop_mcp import Expectations, Severity
from goop_mcp.validation.paths import (
    ANYWHERE_INSIDE,
    PathBounds,
    bounds_of,
    path_problem,
    read_path,
)

IN_PROJECT = PathBounds(workspace="/srv/project")


def rule_of(path: str, bounds: PathBounds = ANYWHERE_INSIDE) -> str | None:
    problem = path_problem(path, where="/path", bounds=bounds)
    return None if problem is None else problem.rule.id


@pytest.mark.parametrize(
    "path",
    [
        *(
            "a.md",
            ".roomodes",
            "./a",
            "src/a b.py",
            "src//a.py",
            "docs/é/ü.md",
            "a/...",
            "a..b/c..",
            "routes/$id.tsx",
        ),
        *(
            "docs/[id].tsx",
            "100%25.md",
            "a%20b",
            "specs/007-oauth/",
            "",
            " ",
            ".",
            "a@b/c+d,e",
            "日本/語.md",
        ),
    ],
)
def test_path_that_stays_inside_has_no_problem(path: str) -> None:
    assert rule_of(path) is None


@pytest.mark.parametrize(
    "path",
    [
        *(
            "..",
            "../x",
            "a/../../b",
            "a/..",
            "a\\..\\b",
            "..\\x",
            "%2e%2e/x",
            "%2E%2e%2Fx",
            "%252e%252e%252fx",
            "a/.. /b",
        ),
        *("．．/x", "..／x", "․․/x", ".\u200b./x", "\u200b../x", "‥/x"),
        *(
            "/etc/passwd",
            "//server/share",
            "\\\\server\\share",
            "\\x",
            "%2fetc",
            " /etc",
            "~",
            "~/x",
            "~root/x",
        ),
        *(
            "C:\\x",
            "c:x",
            "a:b/c",
            "C:/x",
            "file:///etc/passwd",
            "https://a/b",
            "a\0b",
            "%00",
            "a\nb",
            "a%0ab",
            "／etc",
        ),
    ],
)
def test_path_that_may_lead_out_is_an_error_in_any_spelling(path: str) -> None:
    problem = path_problem(path, where="/path")

    assert problem is not None
    assert problem.rule.id == "path/outside-workspace"
    assert problem.rule.severity("lenient") is Severity.ERROR
    assert rule_of(path, IN_PROJECT) == "path/outside-workspace"


@pytest.mark.parametrize(
    ("path", "variable"),
    [
        ("a/{session-id}/b", "{session-id}"),
        ("docs/<name>.md", "<name>"),
        ("$HOME/x", "$HOME"),
        ("${X}/y", "{X}"),
    ],
)
def test_variable_left_in_a_path_is_a_warning_and_an_error_where_the_path_is_used(
    path: str, variable: str
) -> None:
    problem = path_problem(path, where="/path")
    used = path_problem(path, where="/path", bounds=PathBounds(final=True))

    assert problem is not None
    assert used is not None
    assert (problem.rule.id, problem.rule.severity("strict")) == (
        "path/template-variable",
        Severity.WARNING,
    )
    assert (used.rule.id, used.rule.severity("lenient")) == (
        "path/template-variable",
        Severity.ERROR,
    )
    assert repr(variable) in problem.hit.message


def test_variable_for_the_session_is_filled_where_the_session_is_known() -> None:
    path, problem = read_path(
        "runs/{session-id}/a.md", where="/path", bounds=PathBounds(session_id="s\\1")
    )

    assert path == "runs/s\\1/a.md"
    assert problem is not None
    assert (problem.rule.id, problem.hit.after) == ("path/template-variable", path)
    assert (
        rule_of("runs/{session-id}/a.md", PathBounds(session_id="../.."))
        == "path/outside-workspace"
    )


@pytest.mark.parametrize(
    ("workspace", "path", "relative"),
    [
        ("/srv/project", "/srv/project/src/a.py", "src/a.py"),
        ("/srv/project/", "/srv//project/./docs/", "docs/"),
        ("C:\\Work\\Project", "c:\\Work\\Project\\a.py", "a.py"),
        ("\\\\host\\share", "//host/share/a", "a"),
    ],
)
def test_absolute_path_inside_the_workspace_is_made_relative(
    workspace: str, path: str, relative: str
) -> None:
    made, problem = read_path(path, where="/path", bounds=PathBounds(workspace=workspace))

    assert made == relative
    assert problem is not None
    assert (problem.rule.id, problem.hit.after) == ("path/absolute", relative)


@pytest.mark.parametrize(
    "path", ["/srv/projects/a", "/srv/project/../a", "/srv", "/Srv/project/a", "//srv/project/a"]
)
def test_absolute_path_next_to_the_workspace_is_outside(path: str) -> None:
    assert rule_of(path, IN_PROJECT) == "path/outside-workspace"


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("sessions/s1/a.md", None),
        ("./sessions/s1/a.md", None),
        ("sessions/s10/a.md", "path/outside-session"),
        ("src/a.py", "path/outside-session"),
        ("sessions/s1", "path/outside-session"),
        ("sessions/s1/../a", "path/outside-workspace"),
    ],
)
def test_path_stays_in_the_folder_of_the_session_where_one_is_given(
    path: str, rule: str | None
) -> None:
    assert rule_of(path, PathBounds(session_folder="sessions/s1/")) == rule


def test_expectations_give_the_bounds_of_paths() -> None:
    assert bounds_of(Expectations()) is ANYWHERE_INSIDE
    assert bounds_of(Expectations(workspace="/srv/project")) == IN_PROJECT


@given(st.text(st.sampled_from("./\\%2eE5fF~:ab \0．․\u200b"), max_size=12))
def test_no_spelling_of_a_way_up_or_out_gets_through(path: str) -> None:
    plain = (
        path.replace("\u200b", "")
        .replace("．", ".")
        .replace("․", ".")
        .replace("\\", "/")
        .replace(" ", "")
    )
    if plain.startswith(("/", "~")) or ".." in plain.split("/") or "\0" in plain:
        assert rule_of(path) == "path/outside-workspace"
    else:
        rule_of(path)
