"""The guide for projects that adopt handoffs leads through every step, and each step works."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from goop_mcp.services.build_request import build_request
from tests.cli.running import PROGRAM, environment, run
from tests.documentation.pages import fences, read_page
from tests.documentation.test_examples import names_of
from tests.requirements import requirement

PAGE = "docs/adoption.md"
SESSION = "20260114-093000-login"
PILOT = ("planning-agent", "backend-agent", "test-agent")


def prompt(agent: str) -> str:
    return build_request(
        original_intent="Let users log in",
        current_task_summary="Add POST /login",
        task_details="Tests first.",
        deliverables=[{"kind": "report", "text": "What was done"}],
        target_agent=agent,
        session_id=SESSION,
        xsd_compat=True,
    ).text


def create_session(project: Path, text: str) -> subprocess.CompletedProcess[str]:
    """Run the function of the guide for a session with this prompt."""
    folder = project / "docs" / ".scratch" / "sessions" / SESSION
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "prompt.md").write_text(text, encoding="utf-8")
    (script,) = (fence.text for fence in fences(PAGE, "sh") if "create_session()" in fence.text)
    program = project / "goop-mcp"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(PROGRAM)} "$@"\n', encoding="utf-8")
    program.chmod(0o700)

    return subprocess.run(
        ["/bin/sh", "-c", f'PATH="$PWD:$PATH"\n{script}\ncreate_session {SESSION}'],
        cwd=project,
        env=environment(),
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )


@requirement("H-70")
def test_the_checklist_names_every_step() -> None:
    steps = re.findall(r"^- \[ \] \*\*(.+?)\*\*", read_page(PAGE), re.MULTILINE)
    assert [step.rstrip(".") for step in steps] == [
        "Agree",
        "Install the schema",
        "Check before each spawn",
        "Add it to the orchestrator's specification",
        "Pilot with three kinds of agents",
        "Look at the numbers, then improve",
    ]


@requirement("H-70")
def test_the_schema_is_put_in_place_and_sessions_are_created_only_with_a_valid_prompt(
    tmp_path: Path,
) -> None:
    assert run("schema", "agent_request", "--install", "--project", tmp_path).code == 0
    assert (tmp_path / ".claude" / "schemas" / "agent-handoff-v1.xsd").is_file()

    for agent in PILOT:
        assert create_session(tmp_path, prompt(agent)).stdout == f"started {SESSION}\n"

    refused = create_session(tmp_path, prompt(PILOT[0]).replace("<mode>spawn", "<mode>fork"))

    assert (refused.returncode, refused.stdout) == (1, "")
    assert "fork" in refused.stderr
    assert (tmp_path / "docs" / ".scratch" / "sessions" / SESSION / "session.log").read_text(
        encoding="utf-8"
    )


@requirement("H-70")
def test_the_text_for_the_specification_of_an_orchestrator_is_where_the_guide_says() -> None:
    assert "agent_request.md#for-the-specification-of-an-orchestrator" in read_page(PAGE)
    text = read_page("docs/protocols/agent_request.md")
    assert "Section C.4" in text.partition("## For the specification of an orchestrator")[2]


@requirement("H-70")
def test_the_numbers_are_printed_as_the_guide_shows_them(tmp_path: Path) -> None:
    for number, text in enumerate((prompt("a"), prompt("b"), "Just do it.")):
        folder = tmp_path / "docs" / ".scratch" / "sessions" / f"2026011{number}-093000-x"
        folder.mkdir(parents=True)
        (folder / "prompt.md").write_text(text, encoding="utf-8")

    assert f"`{names_of(PAGE)['adoption'](tmp_path)}`" in read_page(PAGE)


@pytest.mark.parametrize("phase", ["pilot", "expanded", "mandatory"])
def test_every_phase_of_the_table_is_one_that_the_gate_knows(phase: str, tmp_path: Path) -> None:
    (tmp_path / "prompt.md").write_text("Just do it.", encoding="utf-8")
    ended = run("gate", "prompt.md", "--adoption", phase, cwd=tmp_path)

    assert f"`--adoption {phase}" in read_page(PAGE)
    assert ended.code == (1 if phase == "mandatory" else 0)
