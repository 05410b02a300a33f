"""Replies that agents copied from a template, in every form, and real ones that resemble them."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import pytest

from goop_mcp import Expectations, Severity, Verdict, validate
from goop_mcp.protocols import FAMILIES
from goop_mcp.protocols.factory.samples import (
    BLOCKING_REPLY,
    FAILURE_REPLY,
    NOTED_REPLY,
    QUESTIONS_REPLY,
)
from goop_mcp.protocols.speckit import samples as speckit_samples
from goop_mcp.protocols.speckit.tables import RESULTS
from goop_mcp.services.prompts import render_prompt
from goop_mcp.services.templates import list_templates
from goop_mcp.validation.findings import Mode
from goop_mcp.validation.samples import COMPLETE_REPLY, REQUEST_PROMPT
from tests.repository import ROOT
from tests.requirements import requirement
from tests.validation.replies import CASES, load_cases
from tests.validation.template_samples import (
    HONEST_PATHS,
    LOOK_ALIKES,
    OPEN,
    PATHS,
    WHOLE,
    commit_subjects,
)

MODES: tuple[Mode, Mode] = ("lenient", "strict")
EXTENDED = COMPLETE_REPLY.replace(
    "  <handoff>\n",
    '  <evidence><source kind="web docs">Three sources</source><choice>Redis, as'
    " before</choice></evidence>\n  <handoff>\n",
)
XML_TEXTS = {
    EXTENDED: (
        *(
            ">Add the login endpoint<",
            ">Added the login endpoint.<",
            ">Login endpoint<",
            ">feat(auth): add login endpoint<",
        ),
        *(
            ">Sessions are kept in Redis<",
            ">pytest: 12 passed<",
            ">W1.T3: test the login endpoint<",
            ">Three sources<",
        ),
        *(">Redis, as before<", '"web docs"', '"tests"'),
    ),
    REQUEST_PROMPT: (
        *(
            ">Let agents prove who they are<",
            ">Add POST /login and its tests<",
            ">No new dependencies<",
            ">The endpoint<",
        ),
        *(
            ">Write the tests first, then the endpoint.<",
            ">Whether the database has to change<",
            ">Next: refresh tokens<",
        ),
    ),
}
XML_FIELDS = [(reply, field) for reply, fields in XML_TEXTS.items() for field in fields]
PROTOCOL = {EXTENDED: "goop_report", REQUEST_PROMPT: "agent_request"}


def placeholders(verdict: Verdict) -> list[Any]:
    return [finding for finding in verdict.findings if finding.rule.endswith("/placeholder-left")]


def assert_one_finding(verdict: Verdict, severity: Severity, text: str) -> None:
    """Fail unless exactly one value is template text, and nothing else is reported for it."""
    found = placeholders(verdict)
    assert [finding.severity for finding in found] == [severity], (text, verdict.findings)
    assert "template text left" in found[0].message
    assert verdict.accepted is (severity is Severity.WARNING)
    alike = [
        each
        for each in verdict.findings
        if each.path == found[0].path and each.rule != "xml/unescaped"
    ]
    assert len(alike) == 1, alike


def in_xml(reply: str, field: str, value: str) -> str:
    assert reply.count(field) == 1, field
    return reply.replace(field, quoteattr(value) if field[0] == '"' else f">{escape(value)}<")


# Slots, one at a time


@requirement("G-53", "H-65")
@pytest.mark.parametrize(("reply", "field"), XML_FIELDS, ids=[field for _, field in XML_FIELDS])
def test_each_slot_is_the_one_finding_for_a_text_of_xml(reply: str, field: str) -> None:
    for number, value in enumerate(WHOLE):
        text = in_xml(reply, field, value)
        assert_one_finding(
            validate(text, protocol=PROTOCOL[reply], mode=MODES[number % 2]), Severity.ERROR, text
        )

    for number, value in enumerate(OPEN):
        text = in_xml(reply, field, value)
        verdict = validate(text, protocol=PROTOCOL[reply], mode=MODES[number % 2])
        assert [each.severity for each in placeholders(verdict)] == [Severity.WARNING], value


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("field", ['path="src/login.py"', "<file>src/login.py</file>"])
def test_a_path_of_a_template_is_the_one_finding_for_it(field: str, path: str) -> None:
    new = f"path={quoteattr(path)}" if field[0] == "p" else f"<file>{escape(path)}</file>"
    assert_one_finding(validate(COMPLETE_REPLY.replace(field, new)), Severity.ERROR, path)


# JSON values
def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:  # noqa: ANN401
    if isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(each, (*path, key))
    elif isinstance(value, str):
        yield path


# JSON values
def _with(value: Any, path: tuple[Any, ...], new: object) -> str:  # noqa: ANN401
    copy = json.loads(json.dumps(value))
    holder = copy
    for step in path[:-1]:
        holder = holder[step]

    holder[path[-1]] = new
    return json.dumps(copy, indent=1)


def _json_replies() -> dict[str, tuple[str, Any]]:
    replies = {
        f"factory{number}": ("factory", json.loads(text))
        for number, text in enumerate((NOTED_REPLY, QUESTIONS_REPLY, FAILURE_REPLY, BLOCKING_REPLY))
    }
    for name in speckit_samples.__all__:
        text = getattr(speckit_samples, name)
        if name.endswith("_REPLY"):
            replies[name] = ("speckit", json.loads(text[text.index("{") : text.rindex("}") + 1]))

    return replies


REPLIES = _json_replies()
# What routes on a status needs one: where it is missing, nothing shows whose reply it is.
_UNTOLD = {("status",), ("agent",)}
# Words and names: no text of their own, so that code in angle brackets is template text there.
_CLOSED = {
    *(
        "status",
        "confidence",
        "next_action",
        "path",
        "location",
        "verdict",
        "type",
        "severity",
        "confidence_level",
    ),
    *(
        "recovery_strategy",
        "id",
        "options",
        "default",
        "category",
        "name",
        "context7_id",
        "branch_name",
        "short_name",
    ),
    *("spec_file", "tasks_file", "research_cache_file", "analysis_report", "artifacts_analyzed"),
    *(
        "next_steps",
        "code",
        "timestamp",
        "agent",
        "task_ids",
        "uncovered_requirements",
        "overall_status",
        "feature_id",
    ),
}
JSON_FIELDS = [
    (name, path)
    for name, (_, value) in REPLIES.items()
    for path in _leaves(value)
    if path not in _UNTOLD
]


TEXTS_OF_JSON = [
    each for each in JSON_FIELDS if not _CLOSED & set(each[1]) and each[1][-2:] != ("issues", 0)
]


@requirement("S-15", "F-02")
@pytest.mark.parametrize(("name", "path"), JSON_FIELDS, ids=str)
def test_each_slot_is_caught_in_a_text_of_json(name: str, path: tuple[Any, ...]) -> None:
    protocol, value = REPLIES[name]
    for number, slot in enumerate(WHOLE):
        verdict = validate(_with(value, path, slot), protocol=protocol, mode=MODES[number % 2])
        assert [each.severity for each in placeholders(verdict)] == [Severity.ERROR], (
            slot,
            verdict.findings,
        )
        assert sum(each.path == placeholders(verdict)[0].path for each in verdict.findings) == 1, (
            verdict.findings
        )


@pytest.mark.parametrize("value", ["N", "XX", "[n]", "{count}", "TBD", "<number>"])
def test_a_number_of_a_template_is_the_one_finding_for_it(value: str) -> None:
    tasks = _with(REPLIES["TASKS_REPLY"][1], ("result", "task_count"), value)
    metric = _with(
        {**REPLIES["factory0"][1], "metrics": {"files_created": 1}},
        ("metrics", "files_created"),
        value,
    )

    assert [each.path for each in placeholders(validate(tasks, protocol="speckit"))] == [
        "/result/task_count"
    ]
    assert [each.path for each in placeholders(validate(metric, protocol="factory"))] == [
        "/metrics/files_created"
    ]
    for old in ('importance="0.7"', 'current="1"'):
        text = COMPLETE_REPLY.replace(old, f"{old.split('=')[0]}={quoteattr(value)}")
        assert_one_finding(validate(text), Severity.ERROR, text)


MARKDOWN = """Task complete.

Deliverables:
- {path} - {description}

Summary: {summary}
"""
GOOD_MARKDOWN = {
    "path": "docs/plan.md",
    "description": "The plan",
    "summary": "Wrote the plan of the second run.",
}


@requirement("F-25")
@pytest.mark.parametrize("field", ["description", "summary"])
def test_each_slot_is_caught_in_the_markdown_of_factory(field: str) -> None:
    values = [value for value in WHOLE if "\n" not in value and value not in ("?", "???")]
    for value in values:
        verdict = validate(MARKDOWN.format(**{**GOOD_MARKDOWN, field: value}), protocol="factory")
        assert placeholders(verdict), value

    for path in PATHS:
        assert placeholders(
            validate(MARKDOWN.format(**{**GOOD_MARKDOWN, "path": path}), protocol="factory")
        ), path


OLDER: dict[str, Callable[[str], str]] = {
    "legacy summary": lambda value: json.dumps({"status": "complete", "summary": value}),
    "legacy notes": lambda value: json.dumps(
        {"status": "complete", "summary": "Added the login", "notes": [value]}
    ),
    "section": lambda value: (
        f"## STATUS\ncomplete\n\n## SUMMARY\n{value}\n\n## ARTIFACTS\n- none\n"
    ),
    "artifact": lambda value: (
        f"## STATUS\ncomplete\n\n## SUMMARY\nAdded it.\n\n## ARTIFACTS\n- {value}\n- src/a.py\n"
    ),
    "check": lambda value: (
        f"## STATUS\ncomplete\n\n## SUMMARY\nAdded it.\n\n## VERIFICATION\n{value}\npytest: ok\n"
    ),
    "sibling": lambda value: (
        "<debug_report><status>BUG FIXED</status><summary>Off by one.</summary>"
        f"<bug>{escape(value)}</bug></debug_report>"
    ),
    "descendant": lambda value: (
        COMPLETE_REPLY.replace("goop_report", "elefant_report")
        .replace("  <memory>\n", "  <memory>\n")
        .replace(">Added the login endpoint.<", f">{escape(value)}<")
    ),
}


@requirement("P-10")
@pytest.mark.parametrize("form", OLDER)
def test_each_slot_is_caught_in_older_forms(form: str) -> None:
    for value in (value for value in WHOLE if "\n" not in value):
        verdict = validate(OLDER[form](value), protocol="goop_report")
        assert placeholders(verdict), (value, verdict.findings)
        assert not verdict.accepted


V1 = Expectations(profile="v1")
SECTIONS = (
    "## STATUS\n{}\n\n## SUMMARY\n{}\n\n## ARTIFACTS\n- {}\n\n## VERIFICATION\n{}\n\n## NEXT\n{}\n"
)
GOOD_SECTIONS = (
    "complete",
    "Added the login.",
    "src/a.py — the login",
    "pytest — 12 passed",
    "Review the login.",
)


@pytest.mark.parametrize("place", range(1, 5))
def test_each_slot_is_caught_in_the_sections_of_v1_and_look_alikes_stay(place: int) -> None:
    def judged(value: str) -> Verdict:
        parts = [value if number == place else good for number, good in enumerate(GOOD_SECTIONS)]
        return validate(SECTIONS.format(*parts), protocol="goop_report", expected=V1)

    for value in (value for value in WHOLE if "\n" not in value and value not in ("- ...", "- …")):
        assert [each.severity for each in placeholders(judged(value))] == [Severity.ERROR], value

    for value in (
        value for value in LOOK_ALIKES if "\n" not in value and not value.startswith(("#", "```"))
    ):
        assert placeholders(judged(value)) == [], value


@pytest.mark.parametrize(
    "status", ["complete | partial | blocked", "[status]", "complete|partial|blocked"]
)
def test_the_status_of_a_template_is_template_text_in_older_forms(status: str) -> None:
    sections = f"## STATUS\n{status}\n\n## SUMMARY\nAdded it.\n"
    sibling = (
        f"<debug_report><status>{status.upper()}</status><summary>Off by"
        " one.</summary></debug_report>"
    )
    for text in (sections, sibling):
        verdict = validate(text, protocol="goop_report")
        assert [each.severity for each in placeholders(verdict)] == [Severity.ERROR]
        assert not verdict.accepted


# Every form that we hand out


def chosen(text: str) -> str:
    """Return `text` with the first word of every choice, like an agent that fills in a form."""
    text = re.sub(r'"[\w-]+(?:\|[\w-]+)+"', lambda found: found[0].partition("|")[0] + '"', text)
    text = re.sub(r">([\w-]+)(?:\|[\w-]+)+<", r">\1<", text)
    text = re.sub(r'"goop-\[type\][^"]*"', '"goop-tester"', text)
    text = (
        text.replace("goop-[type]", "goop-executor")
        .replace("true|false", "true")
        .replace("/goop-[command]", "/goop-accept")
    )
    text = text.replace("W[wave].T[task]", "W1.T2").replace('"<agent-name>"', '"plan"')
    text = (
        text.replace('="N"', '="1"')
        .replace('="M"', '="2"')
        .replace('="X"', '="1"')
        .replace('="Y"', '="2"')
    )

    return text.replace("<ISO8601>", "2026-01-15T10:30:00Z").replace("<next-agent>", "tasks")


def _forms() -> Iterator[tuple[str, str]]:
    """Yield the skeleton of each family's feedback, and each form in the prompt of its name."""
    for family in FAMILIES:
        for expected in (Expectations(), Expectations(agent="goop-executor", phase="execute")):
            for form in re.split(r"\nor ", family.envelope_template(expected)):
                yield family.name, form

        prompt = render_prompt(family.name, {})
        for fence in re.findall(
            r"^(`{3,5})(?:xml|json)\n(.*?)^\1$", prompt, re.MULTILINE | re.DOTALL
        ):
            if fence[1].startswith(("{", "<")):
                yield family.name, fence[1]

        if family.name == "speckit":
            for agent in RESULTS:
                yield (
                    family.name,
                    re.findall(
                        r"```json\n(.*?)```", render_prompt("speckit", {"agent": agent}), re.DOTALL
                    )[0],
                )


FORMS = list(_forms())
MALFORMED = {"json/malformed", "xml/malformed"}


@requirement("G-53")
@pytest.mark.parametrize("fill", [str, chosen], ids=["echoed", "listed values filled in"])
@pytest.mark.parametrize(("protocol", "form"), FORMS, ids=range(len(FORMS)))
def test_no_form_that_we_hand_out_is_accepted_when_it_comes_back(
    protocol: str, form: str, fill: Callable[[str], str]
) -> None:
    verdict = validate(fill(form), protocol=protocol)

    assert not verdict.accepted
    # A choice without quotes is not JSON, so no other value can be read.
    unreadable = {finding.rule for finding in verdict.of_severity(Severity.ERROR)} <= {
        "json/malformed",
        "xml/malformed",
    }
    slots = re.search(r"\[[a-z][^\]]+\]|<[a-z][^>]*>[\",<]", fill(form).replace("<goop_report", ""))
    assert placeholders(verdict) or unreadable or slots is None or form.count("<next-agent>") == 1


@requirement("H-65")
@pytest.mark.parametrize("template", list_templates(), ids=lambda each: each.name)
# A template of ours
def test_an_unfilled_template_is_named_value_by_value(template: Any) -> None:  # noqa: ANN401
    verdict = validate(template.text, protocol="agent_request")

    assert not verdict.accepted
    named = " ".join(each.message for each in placeholders(verdict))
    assert all(
        f"{{{{{slot.name}}}}}" in named or slot.name.endswith("_file") for slot in template.slots
    )


def test_the_feedback_on_many_slots_stays_short() -> None:
    form = next(form for name, form in FORMS if name == "goop_report" and "[change]" in form)
    verdict = validate(form, protocol="goop_report")

    assert len(placeholders(verdict)) > 15
    assert verdict.feedback is not None
    assert len(verdict.feedback) < 900
    assert "template text left" in verdict.feedback


# The honest side


HONEST = [*LOOK_ALIKES, *commit_subjects(5, 300)]


@pytest.mark.parametrize(("reply", "field"), XML_FIELDS, ids=[field for _, field in XML_FIELDS])
def test_look_alikes_stay_in_every_text_of_xml(reply: str, field: str) -> None:
    for value in HONEST:
        verdict = validate(in_xml(reply, field, value), protocol=PROTOCOL[reply])
        assert placeholders(verdict) == [], value


@pytest.mark.parametrize(("name", "path"), TEXTS_OF_JSON, ids=str)
def test_look_alikes_stay_in_every_text_of_json(name: str, path: tuple[Any, ...]) -> None:
    protocol, value = REPLIES[name]
    for honest in HONEST:
        verdict = validate(_with(value, path, honest), protocol=protocol)
        assert placeholders(verdict) == [], honest


@pytest.mark.parametrize("path", HONEST_PATHS)
def test_paths_that_files_have_stay(path: str) -> None:
    text = COMPLETE_REPLY.replace("src/login.py", path)

    assert placeholders(validate(text)) == []


@pytest.mark.parametrize("case", load_cases(), ids=lambda case: case.file)
# A case
def test_a_case_without_template_text_has_no_finding_for_it(case: Any) -> None:  # noqa: ANN401
    verdict = validate(case.text, protocol=case.protocol)

    assert bool(placeholders(verdict)) is any(
        rule.endswith("/placeholder-left") for rule in case.rules
    )


@pytest.mark.parametrize("protocol", ["factory", "speckit", "agent_request"])
def test_no_case_of_another_protocol_is_rejected_for_it(protocol: str) -> None:
    for line in (CASES / protocol / "index.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        verdict = validate((CASES / case["file"]).read_bytes().decode("utf-8"), protocol=protocol)
        errors = [each for each in placeholders(verdict) if each.severity is Severity.ERROR]
        assert not errors or case["expected"]["lenient"] == "errors", case["file"]


# Other findings for the value


def test_a_slot_in_a_sentence_gives_way_to_an_error_of_the_same_value() -> None:
    verdict = validate(REQUEST_PROMPT.replace('"src/login.py"', '"../[feature].py"'))

    assert [
        finding.rule
        for finding in verdict.findings
        if finding.path == "/agent_request/deliverables/file[1]/@path"
    ] == ["path/outside-workspace"]
    assert not verdict.accepted


def test_what_a_rule_says_of_a_copied_value_is_left_out_and_the_rest_stays() -> None:
    reply = COMPLETE_REPLY.replace("<blockers>None<", "<blockers>[reason]<").replace(
        "a1b2c3d", "xyz"
    )
    verdict = validate(reply, mode="strict")

    assert [
        finding.rule
        for finding in verdict.findings
        if finding.path == "/goop_report/handoff/blockers"
    ] == ["goop_report/placeholder-left"]
    assert "goop_report/commit-sha-form" in {finding.rule for finding in verdict.findings}


def test_feedback_names_many_values_on_one_line_by_what_they_are() -> None:
    questions = [{"id": "q1", "question": "[what]", "options": ["[one way]", "[another]"]}]
    reply = json.dumps(
        {"status": "questions", "questions": questions, "recommendation": "[what you would do]"}
    )
    feedback = validate(reply, protocol="factory").feedback

    assert feedback is not None
    assert (
        "template text left in 4 values: question, options, recommendation"
        " (factory/placeholder-left)" in feedback
    )


@pytest.mark.parametrize(
    "page", sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]), ids=lambda page: page.name
)
def test_a_form_with_slots_in_the_documentation_is_no_report(page: Path) -> None:
    for fence in re.findall(
        r"^(`{3,5})\w*\n(.*?)^\1$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    ):
        verdict = validate(fence[1])
        if verdict.envelope is not None and re.search(r"\[[a-z]+ [a-z ]+\]|\w\|\w", fence[1]):
            assert placeholders(verdict), fence[1]


@pytest.mark.parametrize(
    "blank", ["\\n", "\\t", " ", "\\r\\n"], ids=["line", "tab", "blank", "crlf"]
)
@pytest.mark.parametrize("text", ["[what was done]", "TODO: fill in", "lorem ipsum dolor sit amet"])
def test_outer_blanks_in_json_hide_no_template_text(text: str, blank: str) -> None:
    """A text is compared without its outer blanks, in whatever way they are written."""
    reply = FAILURE_REPLY.replace("Tried to read the context files", f"{blank}{text}{blank}")
    verdict = validate(reply)

    assert "factory/placeholder-left" in [finding.rule for finding in verdict.findings]
