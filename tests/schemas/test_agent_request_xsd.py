"""One schema follows section 2.1 of the protocol, its corrected version the text of it."""

import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from goop_mcp import Severity
from goop_mcp.errors import UnknownNameError, UnwritableFileError
from goop_mcp.protocols.agent_request.model import Request
from goop_mcp.protocols.agent_request.writing import write_request
from goop_mcp.services.schemas import find_schema, install_schemas
from tests.protocols.agent_request.prompts import (
    PROMPT,
    Case,
    judge,
    load_cases,
    read_case,
    request_of,
)
from tests.protocols.agent_request.strategies import requests
from tests.repository import ROOT
from tests.requirements import requirement

FOLDER = ROOT / "schemas" / "agent_request"
LITERAL = etree.XMLSchema(etree.parse(FOLDER / "agent-handoff-v1.xsd"))
CORRECTED = etree.XMLSchema(etree.parse(FOLDER / "agent-handoff-v1-corrected.xsd"))
NAMESPACE = "http://instructor-workflow.org/agent-handoff/v1"
ENVELOPE = re.compile(r"<(?:\w+:)?agent_request.*</(?:\w+:)?agent_request>", re.DOTALL)

# What section 2.1 says, fact by fact: the order of the parts and how often each may stand.
PARTS = {
    "mode": (1, 1),
    "original_intent": (1, 1),
    "current_task_summary": (1, 1),
    "workflow": (1, 1),
    "task_details": (1, 1),
    "constraints": (0, 1),
    "deliverables": (1, 1),
    "backlog_notes": (0, 1),
}
WORDS = {
    "mode": {"spawn", "conversation_only", "blocking"},
    "workflow": {"SPIKE", "TDD", "standard", "none"},
}
ROOT_ATTRIBUTES = {"version", "session_id", "parent_agent", "target_agent"}
KINDS = ("file", "decision", "report")
BOOLEANS = {"true", "false", "1", "0"}
XML_BLANKS = " \t\r\n"


@dataclass(frozen=True)
class Element:
    """An element to be written; `name` may have a prefix that stands for another namespace."""

    name: str
    text: str = ""
    attributes: tuple[tuple[str, str], ...] = ()
    children: "tuple[Element, ...]" = ()

    def tree(self, namespace: str | None) -> etree._Element:
        prefix, _, name = self.name.rpartition(":")
        space = "urn:other" if prefix else namespace
        element = etree.Element(name if space is None else f"{{{space}}}{name}")
        element.text = self.text
        for key, value in self.attributes:
            element.set(key.replace("other:", "{urn:other}"), value)

        element.extend([child.tree(namespace) for child in self.children])

        return element


def section_2_1_accepts(root: Element, namespace: str | None) -> bool:
    """Judge by the facts of section 2.1, without a schema."""
    if namespace != NAMESPACE or root.name != "agent_request" or root.text.strip(XML_BLANKS):
        return False

    names = [child.name for child in root.children]
    in_order = [name for name in PARTS for _ in range(names.count(name))]
    counts = all(least <= names.count(name) <= most for name, (least, most) in PARTS.items())
    attributes = {key for key, _ in root.attributes} <= ROOT_ATTRIBUTES

    return (
        names == in_order
        and counts
        and attributes
        and all(part_accepted(child) for child in root.children)
    )


def part_accepted(part: Element) -> bool:
    if part.name == "constraints":
        return bool(part.children) and holds_only(part, ("constraint",))
    if part.name == "deliverables":
        kinds = [child.name for child in part.children]
        return holds_only(part, KINDS) and kinds == sorted(kinds, key=KINDS.index)

    return text_only(part) and part.text in WORDS.get(part.name, {part.text})


def holds_only(part: Element, names: tuple[str, ...]) -> bool:
    if (
        part.attributes
        or part.text.strip(XML_BLANKS)
        or not all(child.name in names for child in part.children)
    ):
        return False

    return all(
        file_accepted(child) if child.name == "file" else text_only(child)
        for child in part.children
    )


def file_accepted(file: Element) -> bool:
    given_ = dict(file.attributes)
    boolean = given_.get("required", "true").strip(XML_BLANKS) in BOOLEANS
    return (
        not file.children and boolean and "path" in given_ and given_.keys() <= {"path", "required"}
    )


def text_only(element: Element) -> bool:
    return not element.attributes and not element.children


GOOD = Element(
    "agent_request",
    attributes=(("version", "1.0"),),
    children=(
        Element("mode", "spawn"),
        Element("original_intent", "goal"),
        Element("current_task_summary", "summary"),
        Element("workflow", "TDD"),
        Element("task_details", "details"),
        Element("constraints", children=(Element("constraint", "none new"),)),
        Element(
            "deliverables",
            children=(
                Element("file", "code", (("path", "a.py"), ("required", "1"))),
                Element("decision", "which"),
                Element("report", "how"),
            ),
        ),
        Element("backlog_notes", "next"),
    ),
)

NAMES = st.sampled_from([*PARTS, "constraint", *KINDS, "other:mode", "spawns", "Mode"])
TEXTS = st.sampled_from(["", " ", "\n", "spawn", " spawn", "SPIKE", "tdd", "none", "text", "true"])
ATTRIBUTES = st.dictionaries(
    st.sampled_from(["version", "session_id", "path", "required", "priority", "other:x"]),
    st.sampled_from(["", "1.0", "true", " false\n", "yes", "0", "a.py"]),
    max_size=2,
).map(lambda each: tuple(each.items()))
PARTS_AT_RANDOM = st.recursive(
    st.builds(Element, name=NAMES, text=TEXTS, attributes=ATTRIBUTES),
    lambda children: st.builds(
        Element,
        name=NAMES,
        text=TEXTS,
        attributes=ATTRIBUTES,
        children=st.lists(children, max_size=3).map(tuple),
    ),
    max_leaves=4,
)


@st.composite
def spoilt(draw: st.DrawFn, element: Element = GOOD) -> Element:
    """Draw a document that differs from `element` in a few places, or in none."""
    children = list(element.children)
    change = draw(
        st.sampled_from(
            ["none", "below", "below", "drop", "add", "swap", "text", "attributes", "double"]
        )
    )
    at = draw(st.integers(0, max(len(children) - 1, 0)))
    if change == "below" and children:
        children[at] = draw(spoilt(children[at]))
    elif change == "drop" and children:
        del children[at]
    elif change == "add":
        children.insert(at, draw(PARTS_AT_RANDOM))
    elif change == "double" and children:
        children.insert(at, children[at])
    elif change == "swap" and children:
        children.append(children.pop(at))
    elif change == "text":
        return replace(element, text=draw(TEXTS))
    elif change == "attributes":
        return replace(element, attributes=draw(ATTRIBUTES))

    return replace(element, children=tuple(children))


@given(
    st.one_of(spoilt(), spoilt().flatmap(spoilt)),
    st.sampled_from([NAMESPACE, NAMESPACE, NAMESPACE, None, "urn:x"]),
)
def test_the_schema_accepts_and_refuses_what_section_2_1_does(
    document: Element, namespace: str | None
) -> None:
    accepted = LITERAL.validate(document.tree(namespace))

    assert accepted == section_2_1_accepts(document, namespace), LITERAL.error_log


def test_the_reference_accepts_and_refuses_as_it_should() -> None:
    assert section_2_1_accepts(GOOD, NAMESPACE)
    assert not section_2_1_accepts(GOOD, None)
    assert not section_2_1_accepts(replace(GOOD, children=GOOD.children[1:]), NAMESPACE)
    assert not section_2_1_accepts(replace(GOOD, children=GOOD.children[::-1]), NAMESPACE)


@requirement("H-43")
def test_the_schema_is_that_of_its_namespace() -> None:
    schema = find_schema("agent_request")

    assert schema.file == "agent-handoff-v1.xsd"
    assert f'targetNamespace="{NAMESPACE}"' in schema.text
    assert schema.text == (FOLDER / "agent-handoff-v1.xsd").read_text(encoding="utf-8")


@requirement("H-52")
def test_both_versions_lead_to_the_schema_and_the_twin_has_a_name_of_its_own() -> None:
    assert (
        find_schema("agent_request", "1.0")
        == find_schema("agent_request", "1.1")
        == find_schema("agent_request")
    )
    assert find_schema("agent_request", "1.0-corrected").file == "agent-handoff-v1-corrected.xsd"
    with pytest.raises(UnknownNameError, match=r"agent_request schema of version '2\.0'"):
        find_schema("agent_request", "2.0")


def test_the_literal_schema_refuses_every_example_since_none_has_the_namespace() -> None:
    for case in load_cases():
        envelope = ENVELOPE.search(case.text)
        if (
            envelope is not None
            and "xmlns=" not in envelope[0]
            and case.expected["strict"] == "valid"
        ):
            assert not LITERAL.validate(etree.fromstring(envelope[0]))


# Errors that a schema cannot see in a single envelope, and errors of its place only.
BEYOND = {"path/outside-workspace", "agent_request/fence-collision"}
OF_PLACE = {"agent_request/unfenced", "agent_request/fence-language", "envelope/foreign-block"}


@pytest.mark.parametrize("case", [pytest.param(case, id=case.file) for case in load_cases()])
def test_the_twin_accepts_every_good_example_without_a_namespace_and_refuses_the_others(
    case: Case,
) -> None:
    text, rules = case.text, set(case.rules)
    envelope = ENVELOPE.search(text)
    if envelope is None or "instructor-workflow.org/agent-handoff" in envelope[0]:
        return

    try:
        accepted = CORRECTED.validate(etree.fromstring(envelope[0]))
    except etree.XMLSyntaxError:
        accepted = False

    good = case.expected["strict"] != "errors" or rules <= BEYOND | OF_PLACE
    assert accepted == good, CORRECTED.error_log


@given(requests())
def test_the_twin_accepts_what_is_written(request: Request) -> None:
    plain = replace(
        request, extensions=tuple(each for each in request.extensions if each.namespace)
    )

    assert CORRECTED.validate(etree.fromstring(write_request(plain))), CORRECTED.error_log


@given(spoilt())
def test_the_twin_and_strict_mode_agree_on_structure(document: Element) -> None:
    written = etree.tostring(document.tree(None), encoding="unicode")
    errors = {
        finding.rule
        for finding in judge(f"```xml\n{written}\n```\n", "strict").findings
        if finding.severity is Severity.ERROR
    }

    # A schema takes a word in the wrong case for an unknown one and white space for a number; the
    # engine knows better.
    assert CORRECTED.validate(document.tree(None)) == (not errors - {"path/outside-workspace"}), (
        written,
        errors,
    )


@pytest.fixture
def xmllint() -> Callable[[Path, Path], tuple[int, str]]:
    """Return a function that judges a file by a schema with the real program."""
    program = shutil.which("xmllint")
    if program is None:
        pytest.skip("xmllint is not installed (Debian: libxml2-utils)")

    def judge_file(schema: Path, file: Path) -> tuple[int, str]:
        command = [program, "--noout", "--schema", str(schema), str(file)]
        ended = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
        return ended.returncode, ended.stderr

    return judge_file


@requirement("H-43")
def test_xmllint_accepts_what_is_written_for_it(
    tmp_path: Path, xmllint: Callable[[Path, Path], tuple[int, str]]
) -> None:
    install_schemas("agent_request", tmp_path)
    file = tmp_path / "request.xml"
    for name in (
        "6_1_backend_api",
        "6_2_test_auth",
        "6_3_planning_synthesis",
        "appB_minimal",
        "fence_in_details",
    ):
        request = request_of(judge(read_case(name)))
        file.write_text(write_request(request, xsd_compat=True), encoding="utf-8")
        code, output = xmllint(tmp_path / ".claude" / "schemas" / "agent-handoff-v1.xsd", file)
        assert code == 0, output


def test_xmllint_refuses_what_is_written_without_that_and_the_twin_takes_it(
    tmp_path: Path, xmllint: Callable[[Path, Path], tuple[int, str]]
) -> None:
    file = tmp_path / "request.xml"
    file.write_text(write_request(request_of(judge(PROMPT))), encoding="utf-8")

    assert xmllint(FOLDER / "agent-handoff-v1.xsd", file)[0] != 0
    assert xmllint(FOLDER / "agent-handoff-v1-corrected.xsd", file)[0] == 0


def test_schemas_are_installed_where_the_protocol_looks_for_them(tmp_path: Path) -> None:
    places = install_schemas("agent_request", tmp_path)

    assert places == (
        ".claude/schemas/agent-handoff-v1-corrected.xsd",
        ".claude/schemas/agent-handoff-v1.xsd",
    )
    for place in places:
        assert (tmp_path / place).read_bytes() == (FOLDER / Path(place).name).read_bytes()

    assert install_schemas("agent_request", tmp_path) == places
    assert sorted(path.name for path in (tmp_path / ".claude" / "schemas").iterdir()) == sorted(
        Path(place).name for place in places
    )


def test_a_schema_that_was_changed_is_not_overwritten(tmp_path: Path) -> None:
    places = install_schemas("agent_request", tmp_path)
    for place in places:
        (tmp_path / place).write_text("mine", encoding="utf-8")

    with pytest.raises(
        UnwritableFileError, match="exists already with other content; move it away first"
    ):
        install_schemas("agent_request", tmp_path)

    assert {(tmp_path / place).read_text(encoding="utf-8") for place in places} == {"mine"}


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / ".claude").write_text("a file", encoding="utf-8")

    with pytest.raises(
        UnwritableFileError, match=r"^\.claude/schemas/.* a part of its path is not a folder"
    ):
        install_schemas("agent_request", tmp_path)


def test_schemas_without_a_place_in_a_project_are_not_installed(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="no schema to install for 'goop_report'"):
        install_schemas("goop_report", tmp_path)
