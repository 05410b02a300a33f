"""Hostile replies: nothing is read from disk or grows without bound; limits are enforced."""

import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from goop_mcp import Limits, Severity, validate
from goop_mcp.validation.findings import Mode
from goop_mcp.validation.limits import DEFAULT_LIMITS
from tests.repository import ROOT, project_files
from tests.validation.replies import (
    DRAFT,
    EXECUTOR,
    MODES,
    SUMMARY,
    changed,
    fenced,
    judge,
    judge_both,
    report_of,
    rules_of,
    the_finding,
    weighty_rules,
)

CANARY = "the-canary-sings-4711"
LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
QUADRATIC = f'<!DOCTYPE r [<!ENTITY a "{"x" * 50_000}">]>'

DOCTYPES = {
    "file": '<!DOCTYPE r [<!ENTITY xxe SYSTEM "{file}">]>',
    "file_on_several_lines": '<!DOCTYPE r [\n  <!ENTITY xxe\n    SYSTEM "{file}">\n]>',
    "public": '<!DOCTYPE r [<!ENTITY xxe PUBLIC "-//x//y" "{file}">]>',
    "external_dtd": '<!DOCTYPE r SYSTEM "{file}">',
    "public_dtd": '<!DOCTYPE r PUBLIC "-//x//y" "{file}">',
    "parameter_entity": '<!DOCTYPE r [<!ENTITY % p SYSTEM "{file}"> %p; <!ENTITY xxe "y">]>',
    "remote": '<!DOCTYPE r [<!ENTITY xxe SYSTEM "http://127.0.0.1:9/x">]>',
    "lower_case": '<!doctype r [<!entity xxe SYSTEM "{file}">]>',
    "plain_entity": '<!DOCTYPE r [<!ENTITY xxe "COMPLETE">]>',
    "billion_laughs": f'<!DOCTYPE r [<!ENTITY l0 "lol">{LAUGHS}<!ENTITY xxe "&l9;">]>',
    "entity_loop": '<!DOCTYPE r [<!ENTITY xxe "&b;"><!ENTITY b "&xxe;">]>',
    "quadratic": QUADRATIC.replace(" a ", " xxe "),
    "nested_quotes": "<!DOCTYPE r [<!ENTITY xxe ']>'>]>",
    "default_attribute": '<!DOCTYPE r [<!ATTLIST goop_report version CDATA "0.1.6">]>',
    "entity_alone": '<!ENTITY xxe SYSTEM "{file}">',
    "html": "<!DOCTYPE html>",
}
USES_ENTITY = changed(EXECUTOR, (SUMMARY, "&xxe;"))


@pytest.fixture
def canary(tmp_path: Path) -> str:
    """Return the URI of a file whose content must never be seen."""
    file = tmp_path / "canary.txt"
    file.write_text(CANARY, encoding="utf-8")
    return file.as_uri()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "doctype", [pytest.param(text, id=name) for name, text in DOCTYPES.items()]
)
@pytest.mark.parametrize(
    "place",
    [
        pytest.param("{doctype}\n{report}", id="before"),
        pytest.param("{doctype}{report}", id="on_the_same_line"),
        pytest.param("Done.\n\n```xml\n{doctype}\n{report}\n```\n", id="before_in_a_fence"),
        pytest.param(
            '<?xml version="1.0"?>\n{doctype}\n<!-- note -->\n\n{report}',
            id="between_declaration_and_comment",
        ),
        pytest.param("{root}{doctype}{rest}", id="inside"),
        pytest.param("{root}<summary>{doctype}</summary>{rest}", id="inside_an_element"),
    ],
)
def test_doctype_in_or_before_the_envelope_is_refused_and_no_file_is_read(
    canary: str, place: str, doctype: str, mode: Mode
) -> None:
    root, rest = (
        USES_ENTITY[: USES_ENTITY.index(">") + 1],
        USES_ENTITY[USES_ENTITY.index(">") + 1 :],
    )
    declared = doctype.replace("{file}", canary)
    text = place.format(doctype=declared, report=USES_ENTITY, root=root, rest=rest)

    verdict = validate(text, protocol="goop_report", mode=mode)

    assert "xml/doctype" in rules_of(verdict, Severity.ERROR)
    assert CANARY not in json.dumps(verdict.to_dict())
    assert verdict.envelope is None
    assert verdict.repaired_text is None


def test_place_of_the_doctype_is_named() -> None:
    text = f"Done.\n\n<!DOCTYPE r>\n{EXECUTOR}"

    assert the_finding(judge(text), "xml/doctype").line == 3


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"<!DOCTYPE html>\n<p>Hello</p>\n\n{fenced(EXECUTOR)}", id="in_the_prose"),
        pytest.param(
            f"```html\n<!DOCTYPE html>\n```\n\n{fenced(EXECUTOR)}", id="in_a_fence_of_html"
        ),
        pytest.param(f"Added `<!DOCTYPE html>` to the page.\n{EXECUTOR}", id="in_inline_code"),
        pytest.param(
            f"{EXECUTOR.replace(SUMMARY, '&lt;!DOCTYPE html&gt; added.')}",
            id="escaped_in_the_summary",
        ),
        pytest.param(
            f"{EXECUTOR.replace(SUMMARY, '<![CDATA[<!DOCTYPE html> added.]]>')}", id="in_cdata"
        ),
        pytest.param(
            f"{EXECUTOR.replace('<state>', '<!-- <!DOCTYPE html> --><state>')}", id="in_a_comment"
        ),
    ],
)
def test_doctype_elsewhere_is_nobodys_business(text: str) -> None:
    for verdict in judge_both(text):
        assert weighty_rules(verdict) == set()


def test_doctype_of_a_draft_that_is_passed_over_does_no_harm(canary: str) -> None:
    draft = f'<!DOCTYPE r [<!ENTITY xxe SYSTEM "{canary}">]>\n{DRAFT}'

    verdict = judge(f"<thinking>\n{draft}\n</thinking>\n{fenced(EXECUTOR)}")

    assert verdict.accepted
    assert CANARY not in json.dumps(verdict.to_dict())


@pytest.mark.parametrize(
    "inclusion",
    [
        '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="{file}" parse="text"/>',
        '<?xml-stylesheet type="text/xsl" href="{file}"?>',
        (
            '<x xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="urn:x'
            ' {file}"/>'
        ),
    ],
)
def test_nothing_is_included_from_elsewhere(canary: str, inclusion: str) -> None:
    text = changed(EXECUTOR, ("<handoff>", f"{inclusion.replace('{file}', canary)}\n  <handoff>"))

    for mode in MODES:
        assert CANARY not in json.dumps(judge(text, mode).to_dict())


@pytest.mark.parametrize(
    "hidden", ["<!-- x -->", "<?pi x?>", "<![CDATA[]]>", "<!---->", "<!-- <b> & </b> -->"]
)
def test_comment_inside_a_value_does_not_split_it(hidden: str) -> None:
    text = changed(
        EXECUTOR, ("<status>COMPLETE", f"<status>COM{hidden}PLETE"), (SUMMARY, f"One {hidden}two.")
    )

    for verdict in judge_both(text):
        assert weighty_rules(verdict) == set()
        assert report_of(verdict).status == "COMPLETE"
        assert report_of(verdict).summary == "One two."


def test_hidden_second_status_does_not_count() -> None:
    text = changed(
        EXECUTOR,
        ("<status>COMPLETE</status>", "<!-- <status>COMPLETE</status> --><status>BLOCKED</status>"),
    )

    assert report_of(judge(text)).status == "BLOCKED"


def test_undefined_entity_is_never_a_silent_gap() -> None:
    lenient, strict = judge_both(changed(EXECUTOR, ("<status>COMPLETE", "<status>COM&a;PLETE")))

    assert report_of(lenient).status is None
    assert not lenient.accepted
    assert not strict.accepted


@pytest.mark.parametrize("name", ["utf-16", "UTF-7", "ebcdic", "x-unknown"])
def test_lying_encoding_declaration_has_nothing_to_act_on(name: str) -> None:
    for verdict in judge_both(f'<?xml version="1.0" encoding="{name}"?>\n{EXECUTOR}'):
        assert weighty_rules(verdict) == set()


FORBIDDEN_SETTINGS = re.compile(
    r"resolve_entities\s*=\s*True|load_dtd\s*=\s*True|dtd_validation\s*=\s*True"
    r"|attribute_defaults\s*=\s*True"
    r"|recover\s*=\s*True|huge_tree\s*=\s*True|no_network\s*=\s*False|\.xinclude\("
    r"|HTMLParser\(|XMLPullParser\("
)


def sources() -> list[Path]:
    return [
        path
        for path in project_files()
        if path.suffix == ".py" and path.is_relative_to(ROOT / "goop_mcp")
    ]


def test_no_parser_is_set_up_to_load_expand_or_recover() -> None:
    offending = [
        path.name
        for path in sources()
        if FORBIDDEN_SETTINGS.search(path.read_text(encoding="utf-8"))
    ]

    assert sources()
    assert offending == []


def test_only_one_module_builds_a_parser() -> None:
    builders = [path.name for path in sources() if "XMLParser(" in path.read_text(encoding="utf-8")]

    assert builders == ["safe_xml.py"]


WATCHED = """
import sys
from goop_mcp import validate
texts = sys.stdin.read().split("\\x1e")
for text in texts:
    validate(text)
seen = []
watched = {"open", "socket", "subprocess", "os", "shutil", "glob", "tempfile", "urllib", "import"}
def watch(event, arguments):
    if event.split(".")[0] in watched:
        seen.append(event)
sys.addaudithook(watch)
for text in texts:
    for mode in ("lenient", "strict"):
        validate(text, mode=mode)
sys.stdout.write(",".join(seen))
"""


def test_validation_opens_no_file_and_no_socket_and_starts_no_process(canary: str) -> None:
    texts = [doctype.replace("{file}", canary) + USES_ENTITY for doctype in DOCTYPES.values()]
    texts += [
        EXECUTOR,
        fenced(EXECUTOR),
        EXECUTOR[:400],
        "Done.",
        changed(EXECUTOR, (SUMMARY, "a && b < c")),
    ]

    run = subprocess.run(
        [sys.executable, "-c", WATCHED],
        cwd=ROOT,
        input="\x1e".join(texts),
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )

    assert run.stdout == ""


def test_many_threads_judge_at_once_as_one_would() -> None:
    texts = [
        fenced(EXECUTOR),
        DRAFT,
        USES_ENTITY,
        EXECUTOR[:600],
        changed(EXECUTOR, (SUMMARY, "a && <b>")),
        "Done.",
    ]
    alone = [judge(text) for text in texts]

    with ThreadPoolExecutor(8) as threads:
        together = list(threads.map(judge, texts * 50))

    assert together == alone * 50


def test_utf7_tricks_stay_text() -> None:
    verdict = judge(changed(EXECUTOR, (SUMMARY, "+ADw-status+AD4-BLOCKED+ADw-/status+AD4-")))

    assert report_of(verdict).status == "COMPLETE"
    assert report_of(verdict).summary == "+ADw-status+AD4-BLOCKED+ADw-/status+AD4-"


# Limits


def extended(content: str) -> str:
    return changed(EXECUTOR, ("<handoff>", f"{content}<handoff>"))


def nested(levels: int) -> str:
    """Return the executor's report with an extension that is nested `levels` deep."""
    return extended("<a>" * (levels - 1) + "x" + "</a>" * (levels - 1))


@pytest.mark.parametrize("levels", [65, 100, 257, 5_000])
def test_nesting_over_the_limit_is_refused(levels: int) -> None:
    for verdict in judge_both(nested(levels)):
        assert rules_of(verdict, Severity.ERROR) == {"envelope/too-deep"}
        assert verdict.envelope is None


def test_nesting_up_to_the_limit_is_read() -> None:
    assert judge(nested(64), "strict").accepted


def test_nesting_over_the_limit_is_refused_when_the_text_needs_a_repair_too() -> None:
    verdict = judge(nested(65).replace(SUMMARY, "a & b"))

    assert "envelope/too-deep" in rules_of(verdict, Severity.ERROR)


TOO_MUCH = {
    "attributes": extended("<x " + " ".join(f'a{n}="1"' for n in range(65)) + "/>"),
    "attributes_of_the_root": EXECUTOR.replace(
        "version=", " ".join(f'a{n}="1"' for n in range(64)) + " version="
    ),
    "elements": extended("<x/>" * 20_001),
    "less_than": changed(EXECUTOR, (SUMMARY, "a < b " * 40_001)),
    "text_of_a_field": changed(EXECUTOR, (SUMMARY, "x" * (64 * 1024 + 1))),
    "text_of_a_field_in_bytes": changed(EXECUTOR, (SUMMARY, "é" * (32 * 1024 + 1))),
    "text_of_an_attribute": changed(
        EXECUTOR, ('path="src/auth/service.ts"', f'path="{"x" * (64 * 1024 + 1)}"')
    ),
    "text_of_an_extension": extended(f"<x>{'x' * (64 * 1024 + 1)}</x>"),
    "envelope": extended(f"<x>{'x' * 60_000}</x>" * 9),
    "text": "x" * (2 * 1024 * 1024) + EXECUTOR,
    "text_in_bytes": "é" * (1024 * 1024) + EXECUTOR,
    "text_after": EXECUTOR + "\n" * (2 * 1024 * 1024),
}


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in TOO_MUCH.items()])
def test_text_over_a_limit_is_refused_with_the_value_and_the_limit(text: str) -> None:
    for mode in MODES:
        verdict = judge(text, mode)

        assert rules_of(verdict, Severity.ERROR) == {"envelope/too-large"}
        finding = the_finding(verdict, "envelope/too-large")
        assert sum(character.isdigit() for character in finding.message) >= 4, finding.message
        assert verdict.repaired_text is None
        assert verdict.feedback is not None
        assert "missing" not in verdict.feedback


AT_THE_LIMIT = {
    "attributes": extended("<x " + " ".join(f'a{n}="1"' for n in range(64)) + "/>"),
    "elements": extended("<x/>" * 19_900),
    "text_of_a_field": changed(EXECUTOR, (SUMMARY, "x" * 64 * 1024)),
    "text_of_a_field_in_bytes": changed(EXECUTOR, (SUMMARY, "é" * 32 * 1024)),
    "envelope": extended(f"<x>{'x' * 60_000}</x>" * 8),
    "text": "x" * (2 * 1024 * 1024 - len(EXECUTOR)) + EXECUTOR,
}


@pytest.mark.parametrize(
    "text", [pytest.param(text, id=name) for name, text in AT_THE_LIMIT.items()]
)
def test_text_up_to_a_limit_is_read(text: str) -> None:
    verdict = judge(text, "strict")

    assert rules_of(verdict, Severity.ERROR) == set()
    assert report_of(verdict).status == "COMPLETE"


def test_limits_are_the_published_ones() -> None:
    limits = Limits()

    assert (limits.text_bytes, limits.envelope_bytes, limits.field_bytes) == (
        2_097_152,
        524_288,
        65_536,
    )
    assert (limits.elements, limits.tags, limits.attributes, limits.depth) == (
        20_000,
        40_000,
        64,
        64,
    )
    assert (limits.candidates, limits.findings, limits.feedback_characters) == (64, 100, 4_000)


def test_limits_can_be_set_by_the_caller() -> None:
    narrow = replace(DEFAULT_LIMITS, envelope_bytes=1_000)
    wide = replace(DEFAULT_LIMITS, field_bytes=200_000)

    assert not validate(EXECUTOR, limits=narrow).accepted
    assert validate(changed(EXECUTOR, (SUMMARY, "x" * 100_000)), limits=wide).accepted


def test_quoted_values_of_a_finding_are_cut_short() -> None:
    verdict = judge(changed(EXECUTOR, ("<status>COMPLETE", f"<status>{'DONE ' * 5_000}")))

    finding = the_finding(verdict, "goop_report/unknown-status")
    assert len(finding.found or "") <= 200
    assert len(finding.message) <= 400
