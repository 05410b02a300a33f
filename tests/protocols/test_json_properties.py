"""Laws that hold for every text in a JSON protocol."""

import json
import time

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from goop_mcp import Severity, Verdict
from tests.protocols.json_replies import FAMILIES, judge, judge_both, weighty_rules
from tests.protocols.json_strategies import PROSE, WHOLE, any_text, slipped

MORE = settings(max_examples=3 * settings().max_examples)
PROTOCOLS = st.sampled_from(sorted(FAMILIES))


def assert_sound(verdict: Verdict, text: str) -> None:
    rejected = any(finding.severity is Severity.ERROR for finding in verdict.findings)
    assert verdict.accepted != rejected
    assert (verdict.feedback is None) == verdict.accepted
    assert sum(candidate.chosen for candidate in verdict.candidates) <= 1
    assert verdict.accepted <= (verdict.envelope is not None)
    assert json.loads(json.dumps(verdict.to_dict())) == verdict.to_dict()
    lines = text.split("\n")

    for finding in verdict.findings:
        if finding.line is not None and finding.column is not None:
            assert 1 <= finding.line <= len(lines)
            assert 1 <= finding.column <= len(lines[finding.line - 1]) + 1


@MORE
@given(st.data(), PROTOCOLS)
def test_any_text_gets_a_sound_verdict_that_is_the_same_in_both_modes_but_for_its_weight(
    data: st.DataObject, protocol: str
) -> None:
    text = data.draw(any_text(protocol))

    for verdict in judge_both(text, protocol):
        assert_sound(verdict, text)


@MORE
@given(st.data(), PROTOCOLS)
def test_repaired_text_has_no_error_of_form_and_the_same_meaning(
    data: st.DataObject, protocol: str
) -> None:
    lenient = judge(data.draw(slipped(protocol) | any_text(protocol)), protocol)
    if lenient.repaired_text is None:
        assert lenient.repairs == () or not lenient.accepted
        return

    strict = judge(lenient.repaired_text, protocol, "strict")

    if "factory/markdown-reply" not in weighty_rules(
        lenient
    ):  # Markdown cannot say all that JSON is asked for
        assert weighty_rules(strict) <= weighty_rules(lenient)

    assert {repair.rule for repair in lenient.repairs} & weighty_rules(strict) == set()
    assert strict.envelope == lenient.envelope


@MORE
@given(st.data(), PROTOCOLS)
def test_slips_of_form_do_not_change_what_is_read(data: st.DataObject, protocol: str) -> None:
    text = data.draw(slipped(protocol))

    lenient, strict = judge_both(text, protocol)

    assert lenient.accepted, lenient.feedback
    assert strict.accepted == (lenient.repairs == ())
    assert lenient.envelope in [judge(whole, protocol).envelope for whole in WHOLE[protocol]]


@MORE
@given(st.data(), PROTOCOLS, PROSE, PROSE)
def test_prose_around_a_reply_changes_nothing(
    data: st.DataObject, protocol: str, before: str, after: str
) -> None:
    whole = data.draw(
        st.sampled_from([each for each in WHOLE[protocol] if each.lstrip().startswith("{")])
    )
    assume("Task" not in before + after and "_CONTEXT" not in before + after)

    inside = judge(f"{before}\n{whole}\n{after}", protocol)

    assert inside.accepted
    assert inside.envelope == judge(whole, protocol).envelope


@pytest.mark.parametrize(
    "piece",
    [
        *(
            '{"status": ',
            "{",
            "}",
            "[",
            '"',
            "'",
            "“",
            "\\",
            '\\"',
            "{/*",
            "{//",
            '{"status" /*',
            "// \n{",
            '{"status": "x" ',
        ),
        *(
            '{"status": "success"} ',
            '{"agent": {',
            '{"status": "x "y',
            "{'status': '",
            "...",
            "`{",
            "<think>",
            "</think>",
        ),
        *(
            "WORKFLOW_CONTEXT:\n{",
            "WORKFLOW_CONTEXT:\n{} ",
            "USER_REQUEST: x\n",
            "Task complete.\n",
            "Questions:\n",
            "- a\n",
        ),
        *(
            '"{\\"',
            '{"a": 1, "status": "',
            "{\n\n",
            "{\t\t\t\t\t\t\t\t",
            '{"status": [',
            "```\n",
            "&quot;{",
            "{“status”: “",
        ),
    ],
)
@pytest.mark.parametrize("protocol", sorted(FAMILIES))
def test_half_a_megabyte_of_anything_is_judged_in_time(piece: str, protocol: str) -> None:
    text = piece * (500_000 // len(piece))

    # Of the processor, so that whatever else is running does not count.
    start = time.thread_time()
    verdict = judge(text, protocol)

    assert time.thread_time() - start < 3
    assert verdict.findings
