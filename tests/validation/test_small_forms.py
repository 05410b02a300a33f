"""Small forms with one reading are read, listed as repairs, errors in strict mode (D-101)."""

import pytest

from goop_mcp import Severity, Verdict, validate
from goop_mcp.protocols.factory import Reply
from goop_mcp.validation.json_samples import FACTORY_REPLY
from goop_mcp.validation.samples import COMPLETE_REPLY, REQUEST_PROMPT
from tests.requirements import requirement
from tests.validation.replies import (
    BLOCKED,
    EXECUTOR,
    SUMMARY,
    changed,
    fenced,
    judge,
    judge_both,
    read_case,
    rules_of,
)

SPECKIT_REPLY = read_case("speckit/concrete_review.json").strip()

# Bare keys


def with_bare_keys(reply: str) -> str:
    return reply.replace('"status":', "status:").replace('"summary":', "summary :")


def assert_repaired(text: str, whole: str, rule: str) -> Verdict:
    """Check that lenient mode reads `text` like `whole`, and lists why strict mode rejects it."""
    lenient, strict = validate(text), validate(text, mode="strict")
    assert lenient.accepted, lenient.feedback
    assert lenient.envelope == validate(whole).envelope
    assert rule in {repair.rule for repair in lenient.repairs}
    assert lenient.repaired_text is not None
    assert validate(lenient.repaired_text, mode="strict").envelope == lenient.envelope
    assert rule in rules_of(strict, Severity.ERROR)

    return lenient


@requirement("S-15")
@pytest.mark.parametrize("reply", [FACTORY_REPLY, SPECKIT_REPLY], ids=["factory", "speckit"])
def test_keys_without_quotes_are_read(reply: str) -> None:
    assert_repaired(with_bare_keys(reply), reply, "json/loose-syntax")
    assert_repaired(f"Done:\n\n```json\n{with_bare_keys(reply)}\n```\n", reply, "json/loose-syntax")


def test_object_of_bare_keys_only_is_found_without_a_fence() -> None:
    verdict = validate('Done. {status: "questions", questions: [{id: "q1", question: "Which?"}]}')

    assert verdict.protocol == "factory"
    assert verdict.accepted, verdict.feedback


@pytest.mark.parametrize(
    "cut", ['{status: "succ', '{status: "success", confidence: "high", deliverab', "{status:"]
)
def test_cut_off_reply_of_bare_keys_is_cut_off(cut: str) -> None:
    assert rules_of(validate(cut, protocol="factory"), Severity.ERROR) == {"envelope/truncated"}


@pytest.mark.parametrize(
    "prose",
    [
        "The status: success was shown, and {id} in the path.",
        "if (x) { return y; }",
        "Set {status: ok} in the config.",
        "{a: 1, b: 2}",
        ".button { status: red; }",
    ],
)
def test_braces_of_code_and_prose_are_no_reply(prose: str) -> None:
    assert "envelope/no-envelope" in rules_of(validate(prose), Severity.ERROR)


def test_text_with_a_colon_after_a_comma_keeps_its_letters() -> None:
    words = 'He wrote "x", note: y'
    reply = FACTORY_REPLY.replace('"Designed a data pipeline with four agents"', f'"{words}"')

    lenient = validate(reply)

    assert isinstance(lenient.envelope, Reply)
    assert lenient.envelope.summary == words


# A missing comma


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"status": "success",', '"status": "success"'),
        ('"status": "success",', '"status": "success" '),
        ('"confidence": "high",', '"confidence": "high"'),
        ('"path": ".factory', '"type": "rules"\n "path": ".factory'),
    ],
)
def test_missing_comma_is_named_as_such(old: str, new: str) -> None:
    (finding,) = (
        each
        for each in validate(FACTORY_REPLY.replace(old, new, 1)).findings
        if each.rule == "json/malformed"
    )

    assert "comma is missing" in finding.message
    assert "quote" not in finding.message
    assert finding.line is not None


def test_missing_comma_between_texts_of_a_list_is_named_as_such() -> None:
    text = (
        '{"status": "failure", "error": {"type": "technical_error", "message": "x"}, "attempted":'
        ' ["a"\n "b"]}'
    )

    messages = [finding.message for finding in validate(text).findings]

    assert any("comma is missing" in message for message in messages)


# Marks around a listed value


@requirement("G-09")
@pytest.mark.parametrize(
    "written",
    ["**COMPLETE**", "`COMPLETE`", "*COMPLETE*", "__COMPLETE__", "**`COMPLETE`**", "**complete**"],
)
def test_marks_around_a_status_are_taken_off(written: str) -> None:
    text = changed(EXECUTOR, ("<status>COMPLETE</status>", f"<status>{written}</status>"))

    assert_repaired(text, EXECUTOR, "goop_report/value-case")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<phase>execute</phase>", "<phase>`execute`</phase>"),
        ('action="created"', 'action="**created**"'),
        ('passed="true"', 'passed="`true`"'),
        ("<suggest_new_session>false<", "<suggest_new_session>**false**<"),
    ],
)
def test_marks_around_other_listed_values_are_taken_off(old: str, new: str) -> None:
    assert_repaired(EXECUTOR.replace(old, new, 1), EXECUTOR, "goop_report/value-case")


@pytest.mark.parametrize("written", ["**success**", "`success`", "*Success*"])
def test_marks_around_a_json_status_are_taken_off(written: str) -> None:
    assert_repaired(
        FACTORY_REPLY.replace('"success"', f'"{written}"', 1), FACTORY_REPLY, "factory/value-case"
    )


@pytest.mark.parametrize(
    "written",
    ["**COMPLETE", "COMPLETE**", "** **", "****", "`", "**DONE**", "*COMPLETE`", "_COMPLETE*"],
)
def test_half_marks_and_other_words_stay_unknown(written: str) -> None:
    text = changed(EXECUTOR, ("<status>COMPLETE</status>", f"<status>{written}</status>"))

    for verdict in judge_both(text):
        assert "goop_report/unknown-status" in rules_of(verdict, Severity.ERROR)


# Tags that a text quotes


@requirement("G-08")
@pytest.mark.parametrize(
    "words",
    [
        "Set <status>BLOCKED</status> when blocked.",
        "Writes <blockers>None</blockers> and <ready>true</ready> now.",
        "The parser reads <state><phase>plan</phase></state> as text.",
    ],
)
def test_known_tags_quoted_in_a_text_are_text(words: str) -> None:
    lenient, strict = judge_both(changed(EXECUTOR, (SUMMARY, words)))

    assert lenient.accepted, lenient.feedback
    assert lenient.envelope is not None
    assert lenient.envelope.to_dict()["summary"] == words
    assert lenient.envelope.to_dict()["status"] == "COMPLETE"
    assert rules_of(strict, Severity.ERROR) == {"xml/unescaped"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  <status>BLOCKED</status>\n", ""),
        ("<status>BLOCKED</status>", ""),
    ],
)
def test_element_that_stands_in_a_text_only_is_not_taken_for_a_quote(old: str, new: str) -> None:
    text = BLOCKED.replace(old, new, 1)
    summary = text[text.index("<summary>") + 9 : text.index("</summary>")]

    assert not judge(text.replace(summary, f"{summary} <status>BLOCKED</status> so far")).accepted


def test_element_at_the_end_of_a_text_is_an_error() -> None:
    for verdict in judge_both(
        changed(EXECUTOR, (SUMMARY, f"{SUMMARY} <blockers>The key is missing.</blockers>"))
    ):
        assert "xml/malformed" in rules_of(verdict, Severity.ERROR)


def test_elements_that_slipped_into_a_text_on_lines_of_their_own_are_an_error() -> None:
    inside = f"{SUMMARY}\n  <blockers>The key is missing.</blockers>\n"

    for verdict in judge_both(changed(EXECUTOR, (SUMMARY, inside))):
        assert "xml/malformed" in rules_of(verdict, Severity.ERROR)


# Line ends


@requirement("H-27")
@pytest.mark.parametrize(
    ("reply", "protocol"),
    [
        (COMPLETE_REPLY, "goop_report"),
        (f"Done.\n\n```xml\n{EXECUTOR}\n```\n", "goop_report"),
        (REQUEST_PROMPT, "agent_request"),
        (FACTORY_REPLY, "factory"),
    ],
    ids=["report", "fenced", "request", "factory"],
)
def test_text_whose_lines_end_with_carriage_returns_is_read(reply: str, protocol: str) -> None:
    text = reply.replace("\n", "\r")

    verdict = assert_repaired(text, reply, "envelope/line-ends")

    assert verdict.protocol == protocol
    assert {repair.rule for repair in verdict.repairs} == {"envelope/line-ends"}


@pytest.mark.parametrize(
    "older",
    ["## STATUS\ncomplete\n\n## SUMMARY\nAdded it.\n", "Task complete.\n\nDeliverables:\n- a.md\n"],
)
def test_older_forms_with_such_line_ends_are_read_too(older: str) -> None:
    verdict = validate(older.replace("\n", "\r"))

    assert verdict.envelope == validate(older).envelope
    assert "envelope/line-ends" in rules_of(verdict, Severity.WARNING)


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_usual_line_ends_are_no_finding(line_end: str) -> None:
    for mode in ("lenient", "strict"):
        verdict = validate(COMPLETE_REPLY.replace("\n", line_end), mode=mode)

        assert verdict.accepted
        assert verdict.findings == ()


# Characters without width


@pytest.mark.parametrize("unseen", ["\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\u00ad"])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<goop_report ", "<goop{}_report "),
        ("</goop_report>", "</goop_{}report>"),
        ("<status>", "<{}status>"),
        ("<status>", "<sta{}tus>"),
        ("</status>", "</status{}>"),
        ('<file path="src/auth/service.ts"', '<file pa{}th="src/auth/service.ts"'),
        ("<suggest_new_session>", "<suggest_new{}_session>"),
    ],
)
def test_character_without_width_in_a_tag_is_taken_out(old: str, new: str, unseen: str) -> None:
    text = EXECUTOR.replace(old, new.format(unseen), 1)
    assert text != EXECUTOR

    verdict = assert_repaired(text, EXECUTOR, "xml/control-character")

    (repair,) = verdict.repairs
    assert repair.line == text[: text.index(unseen)].count("\n") + 1


@pytest.mark.parametrize("unseen", ["\u200b", "\u2060", "\ufeff"])
@pytest.mark.parametrize("reply", [FACTORY_REPLY, SPECKIT_REPLY], ids=["factory", "speckit"])
def test_character_without_width_in_a_key_is_taken_out(reply: str, unseen: str) -> None:
    assert_repaired(reply.replace('"status"', f'"sta{unseen}tus"', 1), reply, "json/loose-syntax")


def test_request_with_such_a_tag_is_read() -> None:
    text = REQUEST_PROMPT.replace("<agent_request", "<agent\u200b_request").replace(
        "<mode>", "<mo\u200bde>"
    )

    assert_repaired(text, REQUEST_PROMPT, "xml/control-character")


@pytest.mark.parametrize(
    "words",
    [
        "می\u200cخواهم",
        "family 👩\u200d👩\u200d👧",
        "List<in\u200bt>",
        "a\u200bb",
        'pa\u200bth="x"',
        "reads <unk\u200bnown>",
    ],
)
def test_text_keeps_its_characters_without_width(words: str) -> None:
    verdict = judge(fenced(changed(EXECUTOR, (SUMMARY, words))))

    assert verdict.accepted
    assert verdict.envelope is not None
    assert verdict.envelope.to_dict()["summary"] == words
    assert "xml/control-character" not in rules_of(verdict, Severity.WARNING)


def test_key_in_a_script_that_wants_such_characters_keeps_them() -> None:
    text = FACTORY_REPLY.replace('"agents_defined"', '"می\u200cخواهم"')

    assert validate(text, mode="strict").accepted
