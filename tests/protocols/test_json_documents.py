"""Pages and prompts of the JSON families teach what the program takes."""

import json
import re

import pytest

from goop_mcp.protocols.factory.tables import KEYS
from goop_mcp.protocols.speckit.model import AGENTS, DERIVED_STRATEGIES, ERROR_TYPES, STRATEGIES
from goop_mcp.protocols.speckit.tables import ENVELOPE, ERROR, FEEDBACK, RESULTS, WORKFLOW
from goop_mcp.services.prompts import render_prompt
from goop_mcp.services.protocol_pages import read_document
from tests.protocols.json_replies import judge, weighty_rules

FILLED = {
    "<path>": "docs/a.md",
    "<file:line>": "a.md:1",
    "<ISO8601>": "2026-01-15T10:30:00Z",
    "<next-agent>": "plan",
    "<agent-to-run>": "plan",
    "<ERROR_CODE>": "NO_PLAN",
    "[path]": "docs/a.md",
}


def blocks(text: str, info: str = "json") -> list[str]:
    return re.findall(rf"```{info}\n(.*?)```", text, re.DOTALL)


def filled_in(template: str) -> str:
    """Do what the prompt says: choose one of each list, replace the brackets."""
    chosen = re.sub(
        r'"(\w+(?:\|\w+)+)"', lambda choice: f'"{choice[1].partition("|")[0]}"', template
    )
    chosen = chosen.replace("true|false", "true")
    return re.sub(r"<[^<>]+>|\[[a-z ,]+\]", lambda slot: FILLED.get(slot[0], "words"), chosen)


@pytest.mark.parametrize("protocol", ["speckit", "factory"])
def test_examples_of_the_page_are_accepted_without_a_remark(protocol: str) -> None:
    page = read_document(protocol)

    examples = [*blocks(page), *blocks(page, "text")]
    assert examples
    for example in examples:
        remarks = [finding.rule for finding in judge(example, protocol, "strict").findings]
        assert set(remarks) <= {"evidence/not-checked"}


def test_page_of_speckit_names_every_field_and_word() -> None:
    page = read_document("speckit")
    fields = [field.name for table in (ENVELOPE, ERROR, *RESULTS.values()) for field in table]

    for word in (*fields, *AGENTS, *ERROR_TYPES, *STRATEGIES, *DERIVED_STRATEGIES):
        assert f"`{word}`" in page, word

    for field in (*WORKFLOW, *FEEDBACK):
        assert f'"{field.name}"' in page


def test_page_of_factory_names_every_field() -> None:
    page = read_document("factory")

    assert {key for key in KEYS if f"`{key}`" not in page} == set()


@pytest.mark.parametrize("agent", AGENTS)
def test_prompt_of_speckit_leads_to_an_answer_without_an_error(agent: str) -> None:
    answer, error = (
        filled_in(block) for block in blocks(render_prompt("speckit", {"agent": agent}))
    )

    values = json.loads(answer)
    # What is counted follows from what is listed.
    values["result"].update(
        {name: 1 for name in ("issues_created", "total_findings") if name in values["result"]}
    )
    if agent == "analyze":
        values["result"]["findings_by_severity"]["CRITICAL"] = 1
    if agent == "implement":
        values["result"]["completion_percentage"] = 100
    if agent == "test":
        values["result"]["quality_gates"]["tests_passing"]["details"] |= {"total": 45, "passed": 45}
    if agent == FILLED["<next-agent>"]:
        values["result"]["next_steps"] = ["tasks"]
        error = error.replace('{"agent": "plan"', '{"agent": "specify"')

    verdict = judge(json.dumps(values), "speckit", "strict")
    assert weighty_rules(verdict) <= {"speckit/success-with-failed-gate"}
    whole = {
        **{key: value for key, value in values.items() if key != "result"},
        **json.loads(f"{{{error}}}"),
        "status": "error",
    }
    assert judge(json.dumps(whole), "speckit", "strict").accepted


def test_prompt_of_factory_leads_to_replies_without_an_error() -> None:
    success, questions, failure = (
        filled_in(block) for block in blocks(render_prompt("factory", {}))
    )

    for reply in (success, failure, questions):
        assert weighty_rules(judge(reply, "factory", "strict")) == set()


@pytest.mark.parametrize("name", ["", "own-agent", 'x"\n{'])
def test_prompt_of_speckit_can_be_rendered_for_any_agent(name: str) -> None:
    assert "next_steps" in render_prompt("speckit", {"agent": name})
