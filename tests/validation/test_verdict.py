"""The one JSON shape of a verdict, and the places its findings point at."""

import json
from typing import Any

import pytest

from goop_mcp import Expectations, Severity, UnknownNameError, validate
from goop_mcp.validation.findings import Mode
from tests.validation.replies import (
    BLOCKED,
    EXECUTOR,
    MODES,
    PLANNER,
    SUMMARY,
    TEMPLATE,
    changed,
    fenced,
    judge,
    the_finding,
)

VERDICT_KEYS = {
    "verdict",
    "protocol",
    "version",
    "mode",
    "findings",
    "repairs",
    "candidates",
    "envelope",
    "repaired_text",
    "feedback",
    "omitted",
}
FINDING_KEYS = {"rule", "severity", "message", "path", "line", "column", "found", "expected", "fix"}
REPAIR_KEYS = {"rule", "message", "line", "before", "after"}
CANDIDATE_KEYS = {"protocol", "line", "chosen", "why"}
WITH_SLIPS = changed(EXECUTOR, (SUMMARY, "a && b"), ("<status>COMPLETE", "<status>complete"))
TEXTS = {
    "accepted": fenced(EXECUTOR),
    "warnings": PLANNER,
    "mended": WITH_SLIPS,
    "rejected": TEMPLATE,
    "cut_off": EXECUTOR[:500],
    "none": "Done.",
    "too_large": "x" * 3_000_000,
    "two": f"{fenced(BLOCKED)}\n{fenced(EXECUTOR)}",
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in TEXTS.items()])
def test_verdict_has_exactly_the_published_keys_and_is_plain_json(text: str, mode: Mode) -> None:
    values = judge(text, mode).to_dict()

    assert set(values) == VERDICT_KEYS
    assert all(set(finding) == FINDING_KEYS for finding in values["findings"])
    assert all(set(repair) == REPAIR_KEYS for repair in values["repairs"])
    assert all(set(candidate) == CANDIDATE_KEYS for candidate in values["candidates"])
    assert json.loads(json.dumps(values)) == values


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in TEXTS.items()])
def test_values_of_a_finding_are_of_their_published_kinds(text: str, mode: Mode) -> None:
    for finding in judge(text, mode).to_dict()["findings"]:
        assert finding["severity"] in {"error", "warning", "info"}
        assert finding["rule"].count("/") == 1
        assert finding["message"]
        assert finding["fix"]
        assert (finding["line"] is None) == (finding["column"] is None)
        assert finding["expected"] is None or all(
            isinstance(value, str) for value in finding["expected"]
        )


def test_accepted_verdict_as_json() -> None:
    values = judge(fenced(EXECUTOR)).to_dict()

    assert values["verdict"] == "accepted"
    assert values["protocol"] == "goop_report"
    assert values["version"] == "0.1.6"
    assert values["mode"] == "lenient"
    assert values["findings"] == values["repairs"] == []
    assert values["repaired_text"] is values["feedback"] is None
    assert values["omitted"] == 0
    assert values["envelope"]["status"] == "COMPLETE"
    assert values["envelope"]["state"]["wave"] == {"current": 2, "total": 3}
    assert values["envelope"]["handoff"]["next_action"]["agent"] == "goop-executor"
    assert values["candidates"] == [
        {
            "protocol": "goop_report",
            "line": 4,
            "chosen": True,
            "why": values["candidates"][0]["why"],
        }
    ]


def test_rejected_verdict_still_shows_the_report_where_it_could_be_read() -> None:
    values = judge(changed(EXECUTOR, ("<status>COMPLETE", "<status>DONE")), "strict").to_dict()

    assert values["verdict"] == "rejected"
    assert values["mode"] == "strict"
    assert values["envelope"]["status"] is None
    assert values["envelope"]["agent"] == "goop-executor"
    assert values["feedback"]


def test_repaired_text_is_there_exactly_when_there_were_repairs() -> None:
    for text in TEXTS.values():
        lenient, strict = judge(text), judge(text, "strict")

        assert (lenient.repaired_text is not None) == bool(lenient.repairs)
        assert strict.repairs == ()
        assert strict.repaired_text is None


@pytest.mark.parametrize(
    ("old", "new", "rule", "value"),
    [
        ("<status>COMPLETE", "<status>DONE", "goop_report/unknown-status", "DONE"),
        ("<status>COMPLETE", "<status>\n    DONE\n  ", "goop_report/unknown-status", "DONE"),
        ("<agent>goop-executor", "<agent>executor", "goop_report/bad-agent-name", "executor"),
        ("<phase>execute", "<phase>deploy", "goop_report/unknown-phase", "deploy"),
        ('<wave current="2"', '<wave current="two"', "goop_report/not-an-integer", "two"),
        (
            '<task current="3" total="4"',
            "<task current='3' total='x'",
            "goop_report/not-an-integer",
            "x",
        ),
        ("<spec_locked>true", "<spec_locked>yes", "goop_report/not-a-boolean", "yes"),
        (
            'action="created">Auth type',
            'action="renamed">Auth type',
            "goop_report/unknown-file-action",
            "renamed",
        ),
        ('sha="a1b2c3d"', 'sha="latest"', "goop_report/commit-sha-form", "latest"),
        ("feat(auth): implement", "Wrote", "goop_report/commit-message-form", "Wrote"),
        ('type="decision"', 'type="idea"', "goop_report/unknown-memory-type", "idea"),
        ('importance="0.8"', 'importance="8"', "goop_report/importance-out-of-range", "8"),
        (
            'name="typecheck" passed="true"',
            'name="typecheck" passed="maybe"',
            "goop_report/not-a-boolean",
            "maybe",
        ),
        ("<ready>true", "<ready>soon", "goop_report/not-a-boolean", "soon"),
        ('agent="goop-executor">W2', 'agent="bob">W2', "goop_report/unknown-next-agent", "bob"),
        (
            "<blockers>None",
            "<blockers>waiting for a key",
            "goop_report/complete-with-blocker",
            "waiting",
        ),
        ("<task_id>W2.T3", "<task_id>2.3", "goop_report/task-id-form", "2.3"),
        ('version="0.1.6"', 'version="9.9.9"', "goop_report/unknown-version", "9.9.9"),
        (SUMMARY, "a && b", "xml/unescaped", "&& b"),
        ("<summary>", "<Summary>", "xml/name-case", "Summary"),
    ],
)
def test_finding_points_at_the_value_in_the_text_as_given(
    old: str, new: str, rule: str, value: str
) -> None:
    edits = [(old, new)]
    if new == "<Summary>":
        edits.append(("</summary>", "</Summary>"))

    text = fenced(changed(EXECUTOR, *edits))
    at = text.index(value, text.index(new))

    finding = the_finding(judge(text), rule)

    assert finding.line == text.count("\n", 0, at) + 1
    assert finding.column is not None
    line = text.split("\n")[finding.line - 1]
    # A tag may be pointed at by its bracket, a value by its first letter.
    assert line[finding.column - 1 :].removeprefix("<").startswith(value)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_are_counted_in_the_text_as_given_whatever_stands_before(end: str) -> None:
    text = fenced(changed(EXECUTOR, ("<status>COMPLETE", "<status>DONE")))
    prose = "\ufeff# Täsk 🎉\n\nLong prose é.\n" * 5

    finding = the_finding(judge((prose + text).replace("\n", end)), "goop_report/unknown-status")

    assert finding.line == 15 + 5
    assert finding.column == 11


def test_place_of_something_missing_lies_inside_the_envelope() -> None:
    text = fenced(changed(EXECUTOR, ("  <agent>goop-executor</agent>\n", "")))

    finding = the_finding(judge(text), "goop_report/missing-field")

    assert finding.path is not None
    assert finding.path.endswith("/agent")
    assert finding.line is not None
    assert 4 <= finding.line <= text.count("\n")
    assert finding.found is None


def test_path_of_a_finding_leads_to_the_place_inside_the_envelope() -> None:
    text = changed(EXECUTOR, ('middleware.ts" action="created"', 'middleware.ts" action="renamed"'))

    path = the_finding(judge(text), "goop_report/unknown-file-action").path

    assert path is not None
    assert path.startswith("/goop_report/artifacts/files/file[2]")


def test_findings_stand_in_order_of_position() -> None:
    edits = [
        ("<ready>true", "<ready>soon"),
        ("<status>COMPLETE", "<status>DONE"),
        ('importance="0.8"', 'importance="8"'),
        (SUMMARY, "a & b"),
        ("<phase>execute", "<phase>deploy"),
    ]
    text = f"{fenced(changed(EXECUTOR, *edits))}\nMore words.\n"

    verdict = judge(text)

    placements = [(finding.line, finding.column) for finding in verdict.findings]
    assert len(placements) == 6
    assert placements == sorted(placements, key=lambda place: (place[0] or 0, place[1] or 0))
    assert verdict.findings[0].rule == "goop_report/unknown-status"
    assert verdict.findings[-1].rule == "envelope/not-at-end"


def many_files(number: int, action: str) -> str:
    return "".join(f'<file path="src/f{n}.py" action="{action}">x</file>\n' for n in range(number))


def test_at_most_a_hundred_findings_are_listed_and_the_rest_is_counted() -> None:
    verdict = judge(changed(EXECUTOR, ("</files>", f"{many_files(250, 'renamed')}</files>")))

    assert len(verdict.findings) == 100
    assert verdict.omitted == 150
    assert verdict.to_dict()["omitted"] == 150
    placements = [(finding.line, finding.column) for finding in verdict.findings]
    assert placements == sorted(placements, key=lambda place: (place[0] or 0, place[1] or 0))


def test_error_after_a_hundred_remarks_is_still_listed() -> None:
    edits = [("<state>", f"{'<note>x</note>' * 300}<state>"), ("<ready>true", "<ready>soon")]

    verdict = judge(changed(EXECUTOR, *edits))

    assert not verdict.accepted
    assert "goop_report/not-a-boolean" in {
        finding.rule for finding in verdict.of_severity(Severity.ERROR)
    }


def test_every_error_is_reported_at_once() -> None:
    text = "<goop_report><status>DONE</status><agent>x</agent><state/><summary/></goop_report>"

    rules = [finding.rule for finding in judge(text).findings]

    assert {
        "goop_report/unknown-status",
        "goop_report/bad-agent-name",
        "goop_report/empty-field",
    } <= set(rules)
    assert rules.count("goop_report/missing-field") == 2


def test_unknown_protocol_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UnknownNameError, match=r"did you mean 'goop_report'\?"):
        validate("x", protocol="goop_reports")


def test_unknown_mode_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UnknownNameError, match="lenient"):
        validate("x", mode="lenent")  # type: ignore[arg-type] # the mistake under test


def test_bytes_are_refused_with_what_to_do() -> None:
    with pytest.raises(TypeError, match="decode"):
        validate(b"x")  # type: ignore[arg-type] # the mistake under test


def test_lenient_is_the_default_mode_and_no_expectation_is_the_default() -> None:
    assert validate(EXECUTOR) == validate(
        EXECUTOR, protocol="auto", mode="lenient", expected=Expectations()
    )


@pytest.mark.parametrize(
    ("values", "error", "words"),
    [
        ({"agent": 3}, TypeError, "expected agent is int; expected str or None"),
        ({"workspace": b"/work"}, TypeError, "expected workspace is bytes"),
        ({"session_id": 3}, TypeError, "expected session_id is int"),
        ({"checks_run": "yes"}, TypeError, "expected checks_run is str; expected bool or None"),
        ({"sessions": ["a"]}, TypeError, "expected sessions is list; expected Mapping or None"),
        ({"profile": "v2"}, UnknownNameError, "there is no profile 'v2'"),
        (
            {"markdown": "forbidden"},
            UnknownNameError,
            "there is no markdown 'forbidden'; did you mean 'forbid'?",
        ),
    ],
)
def test_an_expectation_of_the_wrong_kind_is_a_mistake_of_the_caller(
    values: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error) as caught:
        Expectations(**values)

    assert words in str(caught.value)
