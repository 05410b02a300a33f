"""Tags that are words: generics, components and end tags named in a text (D-14, D-15)."""

import pytest

from goop_mcp import Severity
from goop_mcp.protocols.goop_report import Report
from goop_mcp.validation.samples import COMPLETE_REPLY
from tests.validation.replies import judge, rules_of


def with_change(old: str, new: str) -> str:
    assert COMPLETE_REPLY.count(old) == 1
    return COMPLETE_REPLY.replace(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Login endpoint</file>", "returns List<File> now</file>"),
        ("pytest: 12 passed", "waits for Promise<Check> now"),
        ("Added the login endpoint.</summary>", "Added <Summary/> to the page.</summary>"),
        ("Added the login endpoint.</summary>", "use the </goop_report> tag</summary>"),
        ("Login endpoint</file>", "ends with </files> now</file>"),
        ("W1.T3: test the login endpoint", "W1.T3: look for </handoff> in the text"),
    ],
)
def test_tag_named_in_a_text_is_text(old: str, new: str) -> None:
    verdict = judge(with_change(old, new))

    assert rules_of(verdict, Severity.ERROR) == set()
    assert rules_of(verdict, Severity.WARNING) == {"xml/unescaped"}
    assert isinstance(verdict.envelope, Report)
    assert (
        new.partition("</f")[0].partition("</summary")[0].strip() in str(verdict.envelope.to_dict())
        or "</" in new
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("</agent>", "</agnet>", "ends with </agnet>; expected </agent>"),
        ("Login endpoint</file>", "Login endpoint", "<file> opened here is not closed before"),
        (
            "Login endpoint</file>",
            "Login endpoint<!-- </file> is missing -->",
            "<file> opened here is not closed before",
        ),
        ('name="tests"', 'name="a" name="tests"', "attribute name stands twice"),
        ('name="tests"', "name", "attribute name of <check> has no value"),
    ],
)
def test_what_is_not_well_formed_is_reported_with_its_own_fix(
    old: str, new: str, message: str
) -> None:
    verdict = judge(with_change(old, new))

    (error,) = verdict.of_severity(Severity.ERROR)
    assert error.rule == "xml/malformed"
    assert message in error.message
    assert (
        error.fix
        != "Close every element with its own end tag, in the order in which they were opened."
    )


def test_missing_file_end_never_swallows_the_next_file() -> None:
    files = '<file path="a" action="created">one\n<file path="b" action="created">two</file>'

    verdict = judge(
        with_change('<file path="src/login.py" action="created">Login endpoint</file>', files)
    )

    assert not verdict.accepted


def test_blank_missing_between_attributes_is_put_in() -> None:
    verdict = judge(with_change('path="src/login.py" action', 'path="src/login.py"action'))

    assert verdict.accepted
    assert [repair.rule for repair in verdict.repairs] == ["xml/attribute-quotes"]


def test_text_between_elements_is_placed_where_it_stands() -> None:
    text = with_change("  </memory>", "  </memory>\nI ran it twice")

    (info,) = [finding for finding in judge(text).findings if "I ran it twice" in finding.message]

    assert info.line == text[: text.index("I ran it twice")].count("\n") + 1


def test_attribute_is_placed_by_name_and_not_by_what_another_value_holds() -> None:
    text = with_change(
        'path="src/login.py" action="created"', 'path=\'x action="q\' action="renamed"'
    )

    (error,) = judge(text).of_severity(Severity.ERROR)

    line = text.split("\n")[(error.line or 1) - 1]
    assert line[(error.column or 1) - 1 :].startswith("renamed")
