"""The examples of README and of the first pages do what the pages say."""

import ast
import asyncio
import re
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

from goop_mcp import RoutingContext, Severity, Verdict, route, validate
from goop_mcp.protocols import RULES
from goop_mcp.protocols.speckit.samples import FEEDBACK_INPUT
from tests.cli.test_documentation import EXAMPLE, output_on_terminal
from tests.documentation.pages import fences, read_page
from tests.protocols.agent_request.prompts import read_case
from tests.retry.agents import GOOD, Scripted

WHITE = re.compile(r"\s+")
STARTED = "docs/getting-started.md"


def plain(text: str) -> str:
    """Return `text` as one line, because pages wrap long lines of output."""
    return WHITE.sub(" ", text).strip()


def names_of(page: str, **given: object) -> dict[str, Any]:
    """Run every Python example of a page in order and return what they define."""
    defined: dict[str, Any] = dict(given)
    for example in fences(page, "python"):
        # Examples for a notebook or an async function wait at their top level.
        code = compile(example.text, page, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        waiting = FunctionType(code, defined)()
        if waiting is not None:
            asyncio.run(waiting)

    return defined


def readme_reply() -> str:
    (reply,) = fences("README.md", "xml")
    return reply.text


def corrected_readme_reply() -> Verdict:
    changed = (
        readme_reply()
        .replace("FAILED", "BLOCKED")
        .replace("<next_action>", '<next_action agent="goop-debugger">')
    )
    return validate(changed)


def test_the_readme_shows_the_real_feedback() -> None:
    feedback, _ = fences("README.md", "text")
    assert plain(validate(readme_reply()).feedback or "") == plain(feedback.text)


def test_the_corrected_report_of_the_readme_is_accepted_and_routed_as_shown() -> None:
    _, shown = fences("README.md", "text")
    verdict = corrected_readme_reply()
    decision = route(verdict, RoutingContext())

    assert verdict.accepted
    assert [repair.before for repair in verdict.repairs] == ["&"]
    assert decision.next_agent == "goop-debugger"
    assert shown.text.strip() in decision.message + f"\n{decision.reason}"


def test_the_python_of_the_readme_runs() -> None:
    agent = Scripted(readme_reply(), GOOD)
    defined = names_of("README.md", reply=GOOD, agent=agent, prompt="Implement the login.")
    accepted, why, text, attempts = asyncio.run(defined["work"]())

    assert defined["verdict"].accepted
    assert (accepted, why, text, len(attempts)) == (True, "accepted", GOOD, 2)


def test_the_python_of_the_pages_of_protocols_runs(capsys: pytest.CaptureFixture[str]) -> None:
    given = names_of("docs/protocols/speckit.md", text=FEEDBACK_INPUT)
    assert [each.severity for each in given["worst_first"]] == ["HIGH"]
    assert validate(given["same_text"], protocol="speckit").envelope == given["given"]

    names_of("docs/protocols/agent_request.md", text=read_case("in_the_wild_spawns"))
    assert "'workflow', 'deliverables')" in capsys.readouterr().out

    routed = names_of("docs/routing.md", reply=GOOD)
    assert routed["task"]["status"]["state"] == "TASK_STATE_COMPLETED"
    assert "TASK_STATE_COMPLETED" in capsys.readouterr().out

    names_of("docs/protocols/visual_style.md", message="+--+\nRun: x")
    assert "visual_style/" in capsys.readouterr().out


def test_the_python_of_the_library_page_runs(tmp_path: Path) -> None:
    defined = names_of("docs/library.md", reply=readme_reply(), project=tmp_path)

    assert not defined["verdict"].accepted
    assert defined["ask_again"] == defined["verdict"].feedback
    assert [line for _, line in defined["places"]] == [4, 12]
    assert defined["continues"][2]
    assert not defined["truth"].accepted


def test_the_page_about_the_library_names_every_field_of_a_verdict() -> None:
    table = (
        read_page("docs/library.md")
        .partition("## What comes out")[2]
        .partition("## What happens")[0]
    )
    fields = re.findall(
        r"`(\w+)`",
        "\n".join(line.split("|")[1] for line in table.splitlines() if line.startswith("|")),
    )
    assert all(hasattr(corrected_readme_reply(), field) for field in fields)
    assert len(fields) == 9


def test_a_custom_rule_is_reported_with_its_place_and_fix() -> None:
    judge = names_of("docs/writing-rules.md")["judge"]
    verdict = judge(GOOD)
    (finding,) = verdict.of_severity(Severity.ERROR)

    assert finding.rule == "shop/ticket-missing"
    assert "<summary>" in GOOD.splitlines()[finding.line - 1]
    assert "Begin the summary with the ticket" in verdict.feedback
    assert judge(re.sub("<summary>", "<summary>SHOP-17: ", GOOD)).accepted


def test_an_agent_is_sent_back_because_of_a_custom_rule() -> None:
    agent = Scripted(GOOD, re.sub("<summary>", "<summary>SHOP-17: ", GOOD))
    outcome = asyncio.run(names_of("docs/writing-rules.md")["work"](agent))

    assert outcome.accepted
    assert "Begin the summary with the ticket" in agent.heard[1]


def test_the_test_of_a_custom_rule_that_the_page_shows_passes() -> None:
    defined = names_of("docs/writing-rules.md")
    reply = re.sub("<summary>.*</summary>", defined["GOOD"], GOOD)
    defined["test_the_rule_fires_on_its_bad_line_only"](reply)


def test_the_first_example_about_rules_is_a_file_for_the_command_line(tmp_path: Path) -> None:
    file, *_ = fences("docs/writing-rules.md", "python")
    (tmp_path / "shop_rules.py").write_text(file.text, encoding="utf-8")
    (tmp_path / "reply.md").write_text(GOOD, encoding="utf-8")
    output = output_on_terminal("goop-mcp check --rules shop_rules.py reply.md", tmp_path)

    assert "[shop/ticket-missing]" in plain(output)
    assert "rejected (goop_report 0.1.6): 1 error" in output


def test_a_custom_rule_reports_nothing_when_the_summary_is_missing() -> None:
    judge = names_of("docs/writing-rules.md")["judge"]
    for reply in ("Done.", re.sub("<summary>.*</summary>", "", GOOD)):
        assert "shop/ticket-missing" not in {finding.rule for finding in judge(reply).findings}


def test_a_rule_that_a_page_names_exists() -> None:
    for page in ("README.md", STARTED, "docs/troubleshooting.md", "docs/writing-rules.md"):
        named = set(
            re.findall(
                r"\b((?:goop_report|agent_request|envelope|xml|workflow)/[a-z]+-[a-z-]+)\b",
                read_page(page),
            )
        )
        assert named <= set(RULES)


@pytest.mark.parametrize("page", [STARTED, "docs/troubleshooting.md", "docs/adoption.md"])
def test_what_a_page_shows_the_program_to_say_is_real(page: str, tmp_path: Path) -> None:
    examples = list(EXAMPLE.finditer(read_page(page)))
    assert examples
    for number, example in enumerate(examples):
        folder = tmp_path / str(number)
        folder.mkdir()
        for reply in fences(STARTED, "xml"):
            (folder / "reply.md").write_text(reply.text, encoding="utf-8")

        assert output_on_terminal(example["command"], folder) == example["output"], example[
            "command"
        ]
