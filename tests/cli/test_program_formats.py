"""The formats for programs: JSON, SARIF and GitHub's annotations."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from goop_mcp.cli.rendering.program_formats import (
    render_github,
    render_gitlab,
    render_json,
    render_junit,
    render_sarif,
)
from goop_mcp.cli.rendering.text import render_text
from goop_mcp.protocols import RULES, validate
from goop_mcp.services.check_files import CheckedFile, FileVerdicts, UnreadFile
from goop_mcp.services.rule_pages import PAGE_OF_RULES
from tests.cli.running import ACCEPTED, CASES, REJECTED, REPAIRABLE, run

NAMES = st.binary(min_size=1).map(os.fsdecode).filter(lambda name: "\0" not in name)
"""File names that the system allows, also with bytes that are not UTF-8."""

LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def outcome(text: str, file: str = "reply.md") -> FileVerdicts:
    """Return the outcome for one file that holds `text`."""
    return FileVerdicts(checked=(CheckedFile(file=file, text=text, verdict=validate(text)),))


@given(words=st.text(), file=NAMES)
@pytest.mark.parametrize(
    "render",
    [render_text, render_json, render_sarif, render_github, render_gitlab, render_junit],
)
def test_any_reply_can_be_rendered(
    render: Callable[[FileVerdicts], str], words: str, file: str
) -> None:
    text = REPAIRABLE.replace("漢字", words).replace("true", words)
    assert render(outcome(text, file=file)).encode("utf-8", "backslashreplace")


# JSON


def test_json_is_a_list_of_verdicts_with_their_files() -> None:
    ended = run("check", "--format", "json", ACCEPTED.name, REJECTED.name, cwd=CASES)
    assert ended.code == 1
    expected = [
        {"file": path.name, **validate(path.read_text(encoding="utf-8")).to_dict()}
        for path in (ACCEPTED, REJECTED)
    ]
    why = "nothing was compared with the project"
    expected[0]["unverified"] = {"claims": 7, "of": 7, "why": why}
    assert json.loads(ended.out) == expected


def test_json_leaves_out_files_that_cannot_be_read() -> None:
    ended = run("check", "--format", "json", "missing.md", ACCEPTED.name, cwd=CASES)
    assert ended.code == 2
    assert [verdict["file"] for verdict in json.loads(ended.out)] == [ACCEPTED.name]
    assert ended.err == "goop-mcp: 'missing.md' does not exist; check the path.\n"


def test_json_names_standard_input_by_a_dash() -> None:
    (verdict,) = json.loads(run("check", "--format", "json", stdin=b"Done.").out)
    assert (verdict["file"], verdict["verdict"]) == ("-", "rejected")


def test_json_is_utf_8_whatever_the_encoding_of_the_terminal() -> None:
    ascii_only = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    ended = run("check", "--format", "json", stdin=REPAIRABLE.encode(), env=ascii_only)
    assert "漢字 a && b." in ended.out


def test_json_keeps_a_lone_surrogate_readable() -> None:
    document = render_json(outcome("Done.", file="\udcff.md"))
    assert json.loads(document.encode("utf-8", "backslashreplace"))[0]["file"] == "\udcff.md"


# SARIF


def test_sarif_places_each_finding_in_the_file() -> None:
    ended = run("check", "--format", "sarif", REJECTED.name, cwd=CASES)
    assert ended.code == 1
    (execution,) = json.loads(ended.out)["runs"]
    assert execution["columnKind"] == "unicodeCodePoints"
    assert execution["results"] == [
        {
            "ruleId": "goop_report/unknown-status",
            "ruleIndex": 0,
            "level": "error",
            "message": {
                "text": (
                    "Status is 'FAILED'; expected one of COMPLETE, PARTIAL, BLOCKED, CHECKPOINT."
                    " Choose the one status that is true; work that failed is BLOCKED, with the"
                    " reason in blockers."
                )
            },
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": "derived_bad_status.xml"},
                        "region": {"startLine": 2, "startColumn": 11, "endColumn": 17},
                    },
                    "logicalLocations": [
                        {"fullyQualifiedName": "/goop_report/status", "kind": "element"}
                    ],
                }
            ],
        }
    ]


def test_sarif_describes_every_rule_that_was_violated() -> None:
    texts = [path.read_text(encoding="utf-8") for path in sorted(CASES.iterdir())]
    checked = tuple(CheckedFile(file="a.md", text=text, verdict=validate(text)) for text in texts)
    log = json.loads(render_sarif(FileVerdicts(checked=checked)))
    assert log["version"] == "2.1.0"
    (execution,) = log["runs"]
    described = execution["tool"]["driver"]["rules"]
    findings = [finding for each in checked for finding in each.verdict.findings]
    assert len(findings) == len(execution["results"]) > 20
    for result, finding in zip(execution["results"], findings, strict=True):
        assert described[result["ruleIndex"]]["id"] == result["ruleId"] == finding.rule
        assert result["level"] == LEVELS[finding.severity]

    assert {rule["id"] for rule in described} == {finding.rule for finding in findings}

    for rule in described:
        assert rule == {
            "id": rule["id"],
            "shortDescription": {"text": RULES[rule["id"]].catches},
            "fullDescription": {"text": RULES[rule["id"]].why},
            "help": {"text": RULES[rule["id"]].fix},
            "helpUri": f"{PAGE_OF_RULES}#{rule['id'].replace('/', '-')}",
            "defaultConfiguration": {"level": LEVELS[RULES[rule["id"]].lenient]},
        }


def test_sarif_columns_count_characters_and_are_in_the_line() -> None:
    log = json.loads(render_sarif(outcome(REPAIRABLE)))
    lines = REPAIRABLE.split("\n")
    marked = [
        lines[region["startLine"] - 1][region["startColumn"] - 1 : region["endColumn"] - 1]
        for result in log["runs"][0]["results"]
        for region in [result["locations"][0]["physicalLocation"]["region"]]
    ]
    assert marked == ["<Status>", "&&"]


def test_sarif_gives_a_finding_without_a_position_no_region() -> None:
    (result,) = json.loads(render_sarif(outcome("Done.")))["runs"][0]["results"]
    assert result["locations"] == [{"physicalLocation": {"artifactLocation": {"uri": "reply.md"}}}]


@pytest.mark.parametrize(
    ("file", "uri"),
    [
        ("reply.md", "reply.md"),
        ("./a/reply.md", "a/reply.md"),
        ("a b:%#?ä.md", "a%20b%3A%25%23%3F%C3%A4.md"),
        ("../reply.md", "../reply.md"),
        ("-", "stdin"),
        ("\udcff.md", "%FF.md"),
    ],
)
def test_sarif_names_files_by_relative_references(file: str, uri: str) -> None:
    (result,) = json.loads(render_sarif(outcome("Done.", file=file)))["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri


def test_sarif_names_an_absolute_path_below_the_current_folder_relative_to_it() -> None:
    (result,) = json.loads(render_sarif(outcome("Done.", file=str(Path.cwd() / "a" / "b.md"))))[
        "runs"
    ][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "a/b.md"


def test_sarif_notifies_of_a_file_that_cannot_be_read() -> None:
    ended = run("check", "--format", "sarif", "a b.md", ACCEPTED.name, cwd=CASES)
    assert ended.code == 2
    (invocation,) = json.loads(ended.out)["runs"][0]["invocations"]
    assert invocation["executionSuccessful"] is False
    (notification,) = invocation["toolExecutionNotifications"]
    assert notification["message"]["text"] == "'a b.md' does not exist; check the path"
    uri = notification["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert unquote(uri) == "a b.md"


def test_sarif_of_accepted_replies_holds_an_empty_list_of_results() -> None:
    ended = run("check", "--format", "sarif", ACCEPTED.name, cwd=CASES)
    (execution,) = json.loads(ended.out)["runs"]
    assert (ended.code, execution["results"]) == (0, [])
    assert execution["invocations"][0]["executionSuccessful"] is True


# GitHub


def test_github_gets_one_annotation_a_finding() -> None:
    ended = run("check", "--format", "github", REJECTED.name, "missing.md", cwd=CASES)
    assert ended.code == 2
    assert ended.out.splitlines() == [
        (
            "::error"
            " file=derived_bad_status.xml,line=2,col=11,title=goop_report/unknown-status::status is"
            " 'FAILED'; expected one of COMPLETE, PARTIAL, BLOCKED, CHECKPOINT%0AChoose the one"
            " status that is true; work that failed is BLOCKED, with the reason in blockers."
        ),
        (
            "::error file=missing.md,title=unreadable file::'missing.md' does not exist; check the"
            " path"
        ),
    ]


def test_github_knows_the_three_severities() -> None:
    text = REPAIRABLE.replace("<task_id>W1.T2</task_id>", "").replace("goop-executor", "executor")
    commands = [line.partition(" ")[0] for line in render_github(outcome(text)).splitlines()]
    levels = [
        f"::{'notice' if f.severity == 'info' else f.severity}" for f in validate(text).findings
    ]
    assert commands == levels
    assert set(levels) == {"::error", "::warning", "::notice"}


def test_github_properties_and_messages_cannot_break_out() -> None:
    text = REPAIRABLE.replace("COMPLETE", "100%::error file=x,line=1::y")
    lines = render_github(outcome(text, file="a,b:c%\n::d.md")).splitlines()
    assert len(lines) == len(validate(text).findings)

    for line in lines:
        assert "file=a%2Cb%3Ac%25%0A%3A%3Ad.md,line=" in line
        properties, separator, message = line.partition("::")[2].partition("::")
        assert separator
        assert properties.count(",") == 3
        assert "%0A" in message

    assert any("100%25::error file=x,line=1::y" in line for line in lines)


def test_github_shows_the_position_in_standard_input_in_the_title() -> None:
    first = render_github(outcome(REPAIRABLE, file="-")).splitlines()[0]
    assert first.startswith("::warning title=<stdin>%3A4%3A3 xml/name-case::")
    unread = FileVerdicts(
        checked=(), unread=(UnreadFile(file="-", message="standard input is closed"),)
    )
    assert (
        render_github(unread) == "::error title=<stdin> unreadable file::standard input is closed\n"
    )


# GitLab


def test_gitlab_gets_a_fingerprint_for_each_finding_that_survives_a_move() -> None:
    def entries(text: str) -> list[dict[str, object]]:
        read = json.loads(render_gitlab(outcome(text)))
        assert isinstance(read, list)
        return read

    before, after = entries(REPAIRABLE), entries(f"\n\n{REPAIRABLE}")

    assert before
    assert [each["fingerprint"] for each in before] == [each["fingerprint"] for each in after]
    assert len({str(each["fingerprint"]) for each in before}) == len(before)
    assert [each["location"] for each in before] != [each["location"] for each in after]


def test_gitlab_shows_files_that_could_not_be_read() -> None:
    ended = run("check", "--format", "gitlab", "missing.md", REJECTED.name, cwd=CASES)
    entries = json.loads(ended.out)

    assert ended.code == 2
    assert [(each["severity"], each["location"]["path"]) for each in entries] == [
        ("major", REJECTED.name),
        ("blocker", "missing.md"),
    ]


# JUnit


@given(words=st.text(), file=NAMES)
def test_junit_is_xml_whatever_reply_and_name_contain(words: str, file: str) -> None:
    text = REPAIRABLE.replace("COMPLETE", words)
    document = render_junit(outcome(text, file=file)).encode("utf-8")

    (case,) = etree.fromstring(document).iter("testcase")
    assert case.get("name")


def test_junit_counts_what_it_lists() -> None:
    names = ["missing.md", REJECTED.name, ACCEPTED.name]
    suite = etree.fromstring(run("check", "--format", "junit", *names, cwd=CASES).out.encode())[0]

    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "1")
    assert [each.get("name") for each in suite if each.find("failure") is not None] == [
        REJECTED.name
    ]
    assert [each.get("name") for each in suite if each.find("error") is not None] == ["missing.md"]
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert f"{REJECTED.name}:2:11: status is 'FAILED'" in str(failure.text)
