"""The schema for users of xmllint says the same about structure as strict mode."""

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from lxml import etree

from goop_mcp import validate
from goop_mcp.protocols import RULES
from goop_mcp.protocols.goop_report.model import FileAction, MemoryType, Phase, Status
from goop_mcp.services.protocol_pages import read_document
from goop_mcp.services.schemas import find_schema
from goop_mcp.validation.findings import Severity
from goop_mcp.validation.samples import COMPLETE_REPLY
from tests.repository import ROOT
from tests.requirements import requirement
from tests.schemas import envelopes
from tests.schemas.envelopes import FULL, GOOD, copies, parse, write

XSD = ROOT / "schemas" / "goop_report" / "0.1.6.xsd"
CASES = ROOT / "tests" / "cases" / "goop_report"
SCHEMA = etree.XMLSchema(etree.parse(XSD))
XS = "{http://www.w3.org/2001/XMLSchema}"

# What the schema refuses. The last two are no errors in the engine: XSD 1.0 cannot allow the first,
# and cannot distinguish the second from a known name in the wrong case.
STRUCTURE = {
    "goop_report/bad-agent-name",
    "goop_report/bad-next-command",
    "goop_report/duplicate-element",
    "goop_report/empty-field",
    "goop_report/missing-field",
    "goop_report/no-envelope",
    "goop_report/next-action-without-agent",
    "goop_report/not-a-boolean",
    "goop_report/not-an-integer",
    "goop_report/phase-alias",
    "goop_report/unknown-file-action",
    "goop_report/unknown-memory-type",
    "goop_report/unknown-phase",
    "goop_report/unknown-status",
    "goop_report/value-case",
    "xml/control-character",
    "xml/malformed",
    "xml/name-case",
    "xml/unescaped",
    "xml/unknown-namespace",
    "goop_report/extension-element",
    "goop_report/unknown-next-agent",
}

# Findings about a text, which a schema sees only where it allows no text, or a word or a number.
OF_TEXTS = {"goop_report/placeholder-left", "goop_report/claim-in-prose"}

# Errors of strict mode that take more than the structure of one envelope to see.
BEYOND_STRUCTURE = {
    "goop_report/agent-mismatch",
    "goop_report/artifacts-missing",
    "goop_report/blocked-without-blocker",
    "goop_report/check-contradicts-itself",
    "goop_report/check-without-result",
    "goop_report/claim-in-prose",
    "goop_report/complete-with-failed-check",
    "goop_report/memory-missing",
    "goop_report/no-next-action",
    "goop_report/phase-mismatch",
    "goop_report/summary-contradicts-status",
    "goop_report/text-contradicts-status",
    "goop_report/verification-missing",
}


def assert_agreement(envelope: str) -> bool:
    """Fail unless schema and engine say the same; return what they say."""
    try:
        accepted = SCHEMA.validate(parse(envelope))
    except etree.XMLSyntaxError:
        accepted = False

    broken = {
        finding.rule
        for finding in validate(envelope, protocol="goop_report", mode="strict").findings
    }
    complaints = "\n".join(str(error.message) for error in SCHEMA.error_log)
    agree = accepted == (not broken & STRUCTURE)
    if OF_TEXTS & broken:
        agree = not (accepted and broken & STRUCTURE)

    assert agree, f"{envelope}\nschema: {complaints}\nengine: {sorted(broken)}"

    return accepted


@pytest.mark.parametrize("version", ["014", "016"])
@pytest.mark.parametrize("example", ["executor_complete", "planner_complete", "executor_blocked"])
@requirement("G-05")
def test_the_specifications_own_examples_are_accepted(version: str, example: str) -> None:
    assert assert_agreement((CASES / f"{version}_{example}.xml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", sorted(CASES.glob("*.xml")), ids=lambda case: case.stem)
def test_schema_and_engine_agree_on_every_case(case: Path) -> None:
    assert_agreement(case.read_text(encoding="utf-8"))


@given(envelopes.envelopes())
@example(COMPLETE_REPLY.replace("<artifacts>", "<artifacts>1111111"))
def test_schema_and_engine_agree_on_any_envelope(envelope: str) -> None:
    assert_agreement(envelope)


@pytest.mark.parametrize("envelope", GOOD)
def test_the_envelopes_that_the_others_are_made_from_are_accepted(envelope: str) -> None:
    assert assert_agreement(envelope)


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        pytest.param(envelopes.remove, 6, id="left out", marks=requirement("G-36")),
        pytest.param(envelopes.double, 22, id="doubled"),
        pytest.param(lambda element: envelopes.rename(element, "evidence"), 28, id="unknown name"),
        pytest.param(
            lambda element: envelopes.rename(element, element.tag.upper()),
            28,
            id="name in capitals",
        ),
        pytest.param(lambda element: element.set("note", "x"), 0, id="unknown attribute"),
        pytest.param(lambda element: element.attrib.clear(), 6, id="no attributes"),
    ],
)
def test_schema_and_engine_agree_when_one_of_28_elements_is_changed(
    change: Callable[[etree._Element], None], refused: int
) -> None:
    answers = []
    for root, element in copies(FULL):
        change(element)
        answers.append(assert_agreement(write(root)))

    assert (len(answers), answers.count(False)) == (28, refused)


@pytest.mark.parametrize("value", envelopes.VALUES)
def test_schema_and_engine_agree_wherever_a_value_stands(value: str) -> None:
    for root, element in copies(FULL):
        if not len(element) and element.tag not in ("wave", "task"):
            element.text = value
            assert_agreement(write(root))

    for root, element in copies(FULL):
        for name in element.attrib:
            before = element.attrib[name]
            element.set(name, value)
            assert_agreement(write(root))
            element.set(name, before)


def test_every_error_about_structure_is_weighed_for_the_schema() -> None:
    errors = {
        rule.id
        for rule in RULES.values()
        if rule.family == "goop_report" and rule.strict is Severity.ERROR
    }
    assert errors - STRUCTURE == BEYOND_STRUCTURE | OF_TEXTS


def test_the_page_of_the_protocol_lists_what_the_schema_refuses() -> None:
    section = read_document("goop_report").partition("\n## The XSD\n")[2].partition("\n## ")[0]
    listed = set(re.findall(r"`((?:goop_report|xml)/[\w-]+)`", section))
    assert listed == STRUCTURE | BEYOND_STRUCTURE | OF_TEXTS


@pytest.mark.parametrize(
    ("type_name", "words"),
    [
        pytest.param("statusName", list(Status), marks=requirement("G-09")),
        pytest.param(
            "phaseName",
            [phase for phase in Phase if phase is not Phase.DISCUSS],
            marks=requirement("G-14"),
        ),
        pytest.param("fileAction", list(FileAction), marks=requirement("G-22")),
        pytest.param("memoryType", list(MemoryType), marks=requirement("G-26")),
        ("trueOrFalse", ["true", "false"]),
    ],
)
def test_the_schema_lists_the_words_of_the_model(type_name: str, words: list[str]) -> None:
    listed = etree.parse(XSD).iterfind(f".//{XS}simpleType[@name='{type_name}']//{XS}enumeration")
    assert [word.get("value") for word in listed] == [str(word) for word in words]


@pytest.mark.skipif(
    shutil.which("xmllint") is None, reason="xmllint is not installed (Debian: libxml2-utils)"
)
@pytest.mark.parametrize(
    ("case", "accepted"),
    [
        ("016_executor_complete", True),
        ("016_executor_blocked", True),
        ("014_planner_complete", True),
        ("016_template", False),
        ("derived_missing_handoff", False),
    ],
)
def test_xmllint_says_the_same(case: str, accepted: bool, tmp_path: Path) -> None:
    schema = tmp_path / "goop_report.xsd"
    schema.write_text(find_schema("goop_report").text, encoding="utf-8")
    command = ["xmllint", "--noout", "--nonet", "--schema", str(schema), str(CASES / f"{case}.xml")]
    result = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert result.returncode == (0 if accepted else 3), result.stderr
