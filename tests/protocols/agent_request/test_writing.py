"""What is written is accepted, read back unchanged, and valid by the literal schema if asked."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from lxml import etree

from goop_mcp import Severity
from goop_mcp.errors import NotWritableError
from goop_mcp.protocols.agent_request.model import Deliverable, Extension, Priority, Request
from goop_mcp.protocols.agent_request.writing import normal_text, write_prompt, write_request
from tests.protocols.agent_request.prompts import (
    PROMPT,
    Case,
    judge,
    load_cases,
    read_case,
    request_of,
    rules_of,
)
from tests.protocols.agent_request.strategies import TEXTS, requests
from tests.repository import ROOT
from tests.requirements import requirement

LITERAL = etree.XMLSchema(etree.parse(ROOT / "schemas" / "agent_request" / "agent-handoff-v1.xsd"))
GOOD = request_of(judge(PROMPT))


@requirement("H-44")
@given(requests())
def test_a_prompt_that_is_written_is_accepted_and_read_back_as_the_same_request(
    request: Request,
) -> None:
    prompt = write_prompt(request, title="T", context="Prose with `code`.")

    strict = judge(prompt, "strict")
    allowed = {
        "agent_request/deliverable-order",
        "agent_request/summary-length",
        "agent_request/unknown-element",
    }
    assert {f.rule for f in strict.findings if f.severity is not Severity.INFO} <= allowed
    assert request_of(judge(prompt)) == request


@given(requests(plain=True))
def test_the_literal_schema_accepts_what_is_written_for_it(request: Request) -> None:
    written = write_request(request, xsd_compat=True)

    LITERAL.assertValid(etree.fromstring(written))
    kinds = ("file", "decision", "report")
    deliverables = tuple(
        sorted(request.deliverables or (), key=lambda each: kinds.index(each.kind))
    )
    read = request_of(judge(f"`````````xml\n{written}`````````\n"))
    assert read == replace(request, deliverables=deliverables)


@pytest.mark.parametrize("case", [pytest.param(case, id=case.file) for case in load_cases()])
def test_a_request_that_was_read_is_written_and_read_back_the_same(case: Case) -> None:
    envelope = judge(case.text).envelope
    if isinstance(envelope, Request):
        assert request_of(judge(write_prompt(envelope, title="T"))) == envelope


@requirement("H-44")
def test_a_prompt_has_title_fence_and_prose() -> None:
    prompt = write_prompt(
        GOOD, title="Add the\nlogin endpoint", context="\nSee docs/sessions.md.\n\n"
    )

    assert prompt.startswith("# Task: Add the login endpoint\n\n````xml\n<agent_request ")
    assert prompt.endswith("</agent_request>\n````\n\nSee docs/sessions.md.\n")


def test_the_fence_is_longer_than_any_in_the_request() -> None:
    prompt = write_prompt(replace(GOOD, task_details="Run:\n``````sh\nls\n``````"), title="T")

    assert "\n```````xml\n" in prompt
    assert rules_of(judge(prompt)) == []


def test_the_text_of_a_request_is_escaped() -> None:
    details = 'if a < b && c > d: "x" </task_details><mode>blocking</mode>'
    written = write_request(replace(GOOD, task_details=details))

    assert "</task_details><mode>" not in written
    assert request_of(judge(f"```xml\n{written}```\n")).task_details == details


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"priority": Priority.HIGH}, "priority"),
        ({"depends_on": ("20260101-000000-a",)}, "depends_on"),
        ({"extra_attributes": (("colour", "red"),)}, "colour"),
        ({"extensions": (Extension(name="x", namespace="urn:x"),)}, "<x>"),
    ],
)
def test_what_the_literal_schema_refuses_is_not_dropped_without_a_word(
    change: dict[str, Any], named: str
) -> None:
    plain = replace(GOOD, priority=None)

    assert write_request(plain, xsd_compat=True)
    with pytest.raises(
        NotWritableError, match=f"no room for {named}; leave it out or write without xsd_compat"
    ):
        write_request(replace(plain, **change), xsd_compat=True)


def test_an_empty_list_of_constraints_is_left_out_for_the_literal_schema() -> None:
    written = write_request(replace(GOOD, priority=None, constraints=()), xsd_compat=True)

    assert "constraints" not in written
    LITERAL.assertValid(etree.fromstring(written))


@pytest.mark.parametrize(
    "request_",
    [
        replace(GOOD, task_details="\x1b[32m"),
        replace(GOOD, session_id="\0"),
        replace(GOOD, extensions=(Extension(name="a b"),)),
        replace(GOOD, extra_attributes=(("a b", "c"),)),
        replace(GOOD, partial=True),
        replace(GOOD, deliverables=(Deliverable(kind="report", text="\ud800"),)),
    ],
)
def test_what_xml_cannot_carry_is_refused(request_: Request) -> None:
    with pytest.raises(NotWritableError):
        write_request(request_)


@given(TEXTS)
def test_a_normal_text_stays_as_it_is(text: str) -> None:
    assert normal_text(text) == text


def test_a_normal_text_keeps_its_inner_indentation() -> None:
    assert normal_text("  Steps:\r\n    - a\r\n\r\n  end  \n\n") == "Steps:\n  - a\n\nend"
    request = replace(GOOD, task_details="Steps:\n  - a\n\n    - b\nend")
    assert (
        request_of(judge(write_prompt(request, title="T"))).task_details
        == "Steps:\n  - a\n\n    - b\nend"
    )


def test_deliverables_keep_their_order_unless_the_literal_schema_is_asked_for() -> None:
    mixed = request_of(judge(read_case("6_2_test_auth")))

    assert [
        each.kind for each in request_of(judge(write_prompt(mixed, title="T"))).deliverables or ()
    ] == [
        "file",
        "report",
        "decision",
    ]
