"""Our instructions about requests lead to accepted requests, and the page about them is true."""

import re

import pytest

from goop_mcp.protocols.agent_request.attributes import OWN_ATTRIBUTES
from goop_mcp.protocols.agent_request.model import RequestMode, RequestWorkflow
from goop_mcp.protocols.agent_request.rules import RULES
from goop_mcp.services.prompts import render_prompt
from goop_mcp.services.protocol_pages import read_document
from tests.protocols.agent_request.prompts import judge, judge_both, request_of, rules_of
from tests.requirements import requirement

PAGE = read_document("agent_request")


def example(**arguments: str) -> str:
    prompt = render_prompt("agent_request", arguments)
    return prompt[prompt.index("# Task:") : prompt.index("\n`````\n")]


def filled(text: str) -> str:
    """Do what the prompt says: choose one of each list, replace the brackets."""
    text = text.replace("[YYYYMMDD-HHMMSS-name]", "20260114-093000-login").replace(
        "[path]", "src/login.py"
    )
    text = re.sub(r"\[[^\]]+\]", "what is to be done", text.replace('"[agent]"', '"test-agent"'))
    return re.sub(r"([\w-]+)(?:\|[\w-]+)+", r"\1", text)


@pytest.mark.parametrize(
    "arguments", [{}, {"agent": "planning-agent", "target": "backend-agent", "phase": "research"}]
)
def test_a_request_written_as_the_prompt_says_is_accepted(arguments: dict[str, str]) -> None:
    for verdict in judge_both(filled(example(**arguments))):
        assert rules_of(verdict) == []


def test_the_names_that_are_known_are_filled_in() -> None:
    request = request_of(
        judge(filled(example(agent="planning-agent", target="backend-agent", phase="research")))
    )

    assert (request.parent_agent, request.target_agent) == ("planning-agent", "backend-agent")
    assert request.workflow == "SPIKE"


def test_a_name_with_markup_in_it_stays_a_name() -> None:
    assert request_of(judge(filled(example(agent='a"b&c')))).parent_agent == 'a"b&c'


def test_the_example_as_it_stands_is_refused_as_a_template() -> None:
    assert "agent_request/placeholder-left" in rules_of(judge(example()))


def test_every_listed_word_is_taught() -> None:
    text = example()
    for word in (*RequestMode, *RequestWorkflow):
        assert word in text


# The page


def test_the_request_on_the_page_is_accepted() -> None:
    start = PAGE.index("````markdown\n") + len("````markdown\n")
    for verdict in judge_both(PAGE[start : PAGE.index("\n````\n", start)]):
        assert rules_of(verdict) == []


def test_the_page_names_every_attribute_and_every_rule_that_repairs() -> None:
    for name in OWN_ATTRIBUTES:
        assert f"`{name}`" in PAGE
    for rule in RULES:
        if rule.lenient != rule.strict:
            assert f"`{rule.id}`" in PAGE


@requirement("H-49")
def test_the_page_holds_a_text_to_paste_into_the_specification_of_an_orchestrator() -> None:
    assert "### Section C.4: XML Handoff Protocol (Optional Enhancement)" in PAGE
    assert "`.claude/schemas/agent-handoff-v1.xsd`" in PAGE
