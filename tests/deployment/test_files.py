"""What make deployment does not look at, and what has to agree with other files of the checkout."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from goop_mcp.cli.check import check
from tests.deployment.dockerfile import read_stages, stage_context
from tests.repository import ROOT

GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+(\.\d+){0,2}")


def _read(path: Path) -> dict[object, object]:
    read = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert isinstance(read, dict)
    return read


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_to_a_commit_and_jobs_get_only_named_permissions(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    used = re.findall(r"uses: (.+)", text)
    assert used
    assert [line for line in used if not PINNED.fullmatch(line)] == []

    workflow = _read(path)
    assert workflow["permissions"] == {}
    jobs = workflow["jobs"]
    assert isinstance(jobs, dict)
    assert [name for name, job in jobs.items() if "permissions" not in job] == []
    assert [name for name, job in jobs.items() if "timeout-minutes" not in job] == []


def test_ci_runs_every_python_that_the_package_names() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = {each.rpartition(" ")[2] for each in project["classifiers"] if " 3." in each}
    text = (GITHUB / "workflows" / "ci.yml").read_text(encoding="utf-8")
    run = set(re.findall(r'"(3\.\d+)"', text))

    assert run >= named


def test_the_weekly_run_names_every_target_that_ci_leaves_out() -> None:
    targets = set(re.findall(r"^([a-z0-9-]+): \$\(STAMP\)", (ROOT / "Makefile").read_text(), re.M))
    text = (GITHUB / "workflows" / "extended.yml").read_text(encoding="utf-8")
    listed = re.search(r"target: \[(.+)\]", text)
    assert listed is not None

    # These are part of CI, write files of the checkout, or have peers of their own.
    elsewhere = {
        "check",
        "test",
        "demo",
        "docs",
        "site",
        "bench-peers",
        "compare-memory",
        "record-hosts",
        "ui-pictures",
    }
    assert set(listed[1].split(", ")) == targets - elsewhere


def test_the_action_passes_each_input_to_its_script_and_none_in_a_command() -> None:
    action = _read(ROOT / "action.yml")
    inputs, runs = action["inputs"], action["runs"]
    assert isinstance(inputs, dict)
    assert isinstance(runs, dict)
    (step,) = runs["steps"]
    script = (ROOT / "packaging" / "action" / "check.sh").read_text(encoding="utf-8")

    assert "${{" not in step["run"]
    for name in inputs:
        variable = f"GOOP_{name.upper()}"
        assert step["env"][variable] == f"${{{{ inputs.{name} }}}}"
        assert f"${variable}" in script
    for option in re.findall(r"(--[a-z]+)\b", script):
        if option not in {"--quiet", "--disable"}:
            assert any(option in each.opts for each in check.params), option


def test_the_container_is_built_from_what_the_wheel_needs_and_runs_without_rights(
    tmp_path: Path,
) -> None:
    build, final = read_stages(ROOT / "packaging" / "docker" / "Dockerfile")
    stage_context(ROOT, tmp_path)
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]
    needed = wheel["build"]["targets"]["wheel"]["force-include"]

    assert [name for name in needed if not (tmp_path / name).is_dir()] == []
    assert not (tmp_path / "tests").exists()
    assert build.image == final.image
    assert final.user.split(":")[0].isdigit()
    assert int(final.user.split(":")[0]) > 0
    assert [final.entrypoint[0], final.command[0]] == ["goop-mcp", "serve"]


def test_the_compose_file_requires_each_secret_and_names_only_settings_that_exist() -> None:
    compose = _read(ROOT / "packaging" / "docker" / "compose.yaml")
    services = compose["services"]
    assert isinstance(services, dict)
    documents = "\n".join(
        path.read_text(encoding="utf-8")
        for path in (ROOT / "docs").glob("*.md")
        if path.name != "deployment.md"
    )

    settings = services["server"]["environment"]
    assert [name for name in settings if name not in documents] == []
    for name in ("GOOP_TOKEN", "GOOP_STATE_KEYS", "GOOP_DATABASE_URL"):
        assert ":?" in settings[name]
    assert services["server"]["ports"] == ["127.0.0.1:8000:8000"]
