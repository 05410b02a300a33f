import json
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import BaseModel

from goop_mcp import RoutingContext, route, validate
from goop_mcp.cli.demo.full_story import CHAPTERS as FULL_CHAPTERS
from goop_mcp.server.models import DecisionModel, VerdictModel
from goop_mcp.server.short_answers import TRUST
from tests.repository import ROOT
from tests.server.http.serving import environment

STEPS = [
    "first_reply",
    "first_verdict",
    "feedback",
    "second_reply",
    "second_verdict",
    "next_action",
    "record",
    "save",
    "search",
    "hand_over",
    "resume",
]
LONGEST_RUN = 300
DEMO = [sys.executable, "-m", "goop_mcp", "demo"]
# The program from the checkout; the server it starts is another one, run by what is called an
# interpreter.
DEMO_ELSEWHERE = [
    sys.executable,
    "-P",
    "-c",
    (
        "import os, sys; from goop_mcp.cli import main; sys.executable = os.path.abspath('server');"
        " sys.exit(main(sys.argv[1:]))"
    ),
]

ALWAYS_ACCEPTS = """
from mcp.server import MCPServer

server = MCPServer("flatterer")

@server.tool()
def validate_report(text: str) -> dict[str, object]:
    return {
        "verdict": "accepted", "protocol": None, "version": None, "mode": "lenient",
        "findings": [], "repairs": [], "candidates": [], "envelope": None,
        "repaired_text": None, "feedback": None, "omitted": 0,
    }

server.run()
"""
ALWAYS_FAILS = """
from mcp.server import MCPServer

server = MCPServer("failure")

@server.tool()
def validate_report(text: str) -> str:
    raise RuntimeError

server.run()
"""


class Step(BaseModel):
    name: str
    title: str
    words: str
    as_expected: bool
    reply: str | None = None
    verdict: VerdictModel | None = None
    feedback: str | None = None
    decision: DecisionModel | None = None
    answer: str | None = None


class Story(BaseModel):
    passed: bool
    seconds: float
    steps: list[Step]


def run(
    command: list[str], *options: str, cwd: Path = ROOT, **variables: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*command, *options],
        cwd=cwd,
        env=environment(PYTHONUTF8="1", **variables),
        stdin=subprocess.DEVNULL,
        check=False,
        capture_output=True,
        encoding="utf-8",
        timeout=LONGEST_RUN,
    )


def run_with_server(source: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the demo where the interpreter starts another server than ours."""
    (folder / "server.py").write_text(source, encoding="utf-8")
    (folder / "server").write_text(
        f'#!/bin/sh\nexec "{sys.executable}" "{folder}/server.py"\n', encoding="utf-8"
    )
    (folder / "server").chmod(0o755)
    return run(DEMO_ELSEWHERE, "demo", *options, cwd=folder, PYTHONPATH=str(ROOT))


def test_demo_shows_the_story_to_people_in_80_columns() -> None:
    finished = run(DEMO)
    assert (finished.returncode, finished.stderr) == (0, "")
    lines = finished.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert all(line == line.rstrip() for line in lines)
    assert "\x1b" not in finished.stdout
    headings = [line.split(" ─")[0] for line in lines if line[:1].isdigit()]
    assert [heading.split(".")[0] for heading in headings] == [
        str(number) for number in range(1, len(STEPS) + 1)
    ]
    story = finished.stdout
    assert (
        story.index("Rejected: ")
        < story.index("Your report was not accepted.")
        < story.index("Accepted: ")
    )
    assert (
        story.index("Accepted: ")
        < story.index("GoopSpec · Decision Required")
        < story.index("actions: ask_user")
    )


@pytest.fixture(scope="module")
def temporary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder where the demo of `story` keeps what it needs for a while."""
    return tmp_path_factory.mktemp("temporary")


@pytest.fixture(scope="module")
def story(temporary: Path) -> Story:
    """Run the demo for a program."""
    finished = run(DEMO, "--format", "json", TMPDIR=str(temporary))
    assert (finished.returncode, finished.stderr) == (0, "")
    return Story.model_validate_json(finished.stdout)


def test_demo_gives_programs_one_object_with_every_step(story: Story) -> None:
    assert story.passed
    assert 0 < story.seconds < LONGEST_RUN
    assert [step.name for step in story.steps] == STEPS
    assert all(step.as_expected and step.title and step.words for step in story.steps)


def test_verdicts_of_the_demo_are_those_of_the_engine_on_its_two_replies(story: Story) -> None:
    first_reply, first_verdict, feedback, second_reply, second_verdict, *_ = story.steps
    for reply, shown in ((first_reply, first_verdict), (second_reply, second_verdict)):
        assert reply.reply is not None
        assert shown.verdict is not None
        # The library has no project to compare with, and says nothing of that.
        judged = shown.verdict.model_copy(update={"unverified": None})
        assert judged == VerdictModel.model_validate(validate(reply.reply).to_dict())

    assert first_verdict.verdict is not None
    assert feedback.feedback == first_verdict.verdict.feedback


def test_decision_of_the_demo_is_that_of_the_router_on_the_second_reply(story: Story) -> None:
    second_reply, shown = story.steps[3].reply, story.steps[5].decision
    assert second_reply is not None
    routed = route(validate(second_reply), RoutingContext()).to_dict()
    assert shown is not None
    judged = shown.verdict.model_copy(update={"unverified": None})
    assert shown.model_copy(update={"verdict": judged}) == DecisionModel.model_validate(
        {**routed, "trust": TRUST}
    )
    assert shown.rule == "G1"


def test_what_the_demo_saves_is_found_without_its_secret(story: Story) -> None:
    save, search = (step for step in story.steps if step.name in {"save", "search"})
    assert save.answer is not None
    assert search.answer is not None
    assert save.answer.startswith("saved: memory 1 ")
    assert '"Tokens expire early when clocks differ"' in search.answer
    assert "password=[REDACTED]" in search.answer
    assert "tiger-4711" not in f"{save}{search}"


def test_the_second_session_of_the_demo_goes_on_from_what_the_first_one_recorded(
    story: Story,
) -> None:
    answers = {step.name: step.answer or "" for step in story.steps}
    assert "- **Action:** W2.T3: BLOCKED" in answers["record"]
    assert answers["hand_over"].startswith("written: .goopspec/HANDOFF.md")
    assert "Compare the clocks of API and token store" in answers["resume"]


def test_demo_leaves_no_files(story: Story, temporary: Path) -> None:
    assert story.passed
    assert list(temporary.iterdir()) == []
    assert not (ROOT / ".goopspec").exists()


def test_first_reply_of_the_demo_has_errors_of_every_kind_and_the_second_some_of_form(
    story: Story,
) -> None:
    first, second = story.steps[1].verdict, story.steps[4].verdict
    assert first is not None
    assert second is not None
    assert {finding.rule for finding in first.findings} >= {
        "envelope/in-thinking",
        "envelope/not-at-end",
        "xml/unescaped",
        "xml/name-case",
        "goop_report/unknown-status",
        "goop_report/next-action-without-agent",
    }
    assert [repair.rule for repair in second.repairs] == ["xml/unescaped"]


def test_demo_uses_colours_only_when_asked_to_or_on_a_terminal() -> None:
    assert "\x1b[" in run(DEMO, "--color", "always", TERM="dumb").stdout
    assert "\x1b[" not in run(DEMO).stdout


def test_demo_says_so_when_a_verdict_is_not_the_expected_one(tmp_path: Path) -> None:
    finished = run_with_server(ALWAYS_ACCEPTS, tmp_path, "--format", "json")
    assert finished.returncode == 1
    story = Story.model_validate_json(finished.stdout)
    assert not story.passed
    assert [step.name for step in story.steps] == STEPS[:2]
    assert "the demo went wrong at first_verdict" in finished.stderr


def test_demo_says_so_when_the_tool_fails(tmp_path: Path) -> None:
    finished = run_with_server(ALWAYS_FAILS, tmp_path)
    assert finished.returncode == 1
    assert finished.stderr.splitlines()[-1].startswith(
        "goop-mcp: the server did not answer as it should"
    )
    assert "That is the main job" not in finished.stdout


def test_demo_says_so_when_the_server_does_not_start(tmp_path: Path) -> None:
    finished = run_with_server("raise SystemExit(3)", tmp_path)
    assert finished.returncode == 1
    assert finished.stderr.splitlines() == [
        "goop-mcp: the server did not answer as it should; start it by `goop-mcp serve` to see why."
    ]


def test_full_demo_plays_a_project_to_the_end_of_its_second_round(temporary: Path) -> None:
    finished = run(DEMO, "--full", TMPDIR=str(temporary))
    assert (finished.returncode, finished.stderr) == (0, "")
    lines = finished.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert all(line == line.rstrip() for line in lines)
    summaries = [line for line in lines if line.startswith("round ")]
    assert summaries[-1] == "round 2, closed · phase idle · next /goop-discuss"
    story = " ".join(finished.stdout.split())
    for text in ("rejected", "refused", "duplicate", "you are asked", "→ lock", "→ do not lock"):
        assert text in story
    assert list(temporary.iterdir()) == []


def test_full_demo_gives_programs_each_step(temporary: Path) -> None:
    finished = run(DEMO, "--full", "--format", "json", TMPDIR=str(temporary))
    played = json.loads(finished.stdout)
    assert played["passed"]
    assert [step["name"] for step in played["steps"]] == [
        step.name for chapter in FULL_CHAPTERS for step in chapter.steps
    ]
    assert all(step["as_expected"] for step in played["steps"])


def test_full_demo_says_so_when_the_server_is_another_one(tmp_path: Path) -> None:
    finished = run_with_server(ALWAYS_ACCEPTS, tmp_path, "--full")
    assert finished.returncode == 1
    assert "That was the complete way" not in finished.stdout
