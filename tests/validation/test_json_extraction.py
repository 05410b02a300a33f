"""The last object with the protocol's keys counts (D-01, D-02, D-06).

Thoughts, mentions and other objects do not count.
"""

import pytest

from goop_mcp import validate
from goop_mcp.protocols.factory import Reply
from goop_mcp.protocols.speckit import Response
from tests.protocols.json_replies import judge, judge_both, read_case, the_finding, weighty_rules
from tests.requirements import requirement

REPLY = read_case("factory/concrete_critic_pass.json").strip()
OTHER = read_case("factory/concrete_failure_template.json").strip()
GOOP_REPORT = read_case("goop_report/016_executor_complete.xml").strip()
ANSWER = read_case("speckit/concrete_specify.json").strip()


def status_of(text: str) -> str:
    verdict = judge(text, "factory")
    assert isinstance(verdict.envelope, Reply), verdict.findings
    return str(verdict.envelope.status)


@requirement("F-26")
@pytest.mark.parametrize(
    "around",
    [
        "{}",
        "Task complete.\n\nDeliverables:\n- a.md\n\n{}",
        "```json\n{}\n```",
        "~~~~JSON5\n{}\n~~~~",
        "   ```\n   {}\n   ```\nand {{braces}} in prose",
        'The form is {{"a": 1}}.\n\n{}\n\nSee {{id}}.',
        'He wrote "use {{" and so on.\n{}',
        "function f() {{ return 1; }}\n\n{}",
        '`{{"status": "failure"}}` would be wrong.\n\n{}',
        "\ufeff{}",
        "- result: {}\n",
    ],
)
def test_json_is_found_wherever_it_stands(around: str) -> None:
    assert status_of(around.format(REPLY)) == "success"


def test_last_of_several_replies_counts_and_all_are_listed() -> None:
    text = f"First:\n{OTHER}\n\nThen:\n{REPLY}\n"

    for verdict in judge_both(text, "factory"):
        assert weighty_rules(verdict) == {"envelope/multiple"}
        assert isinstance(verdict.envelope, Reply)
        assert verdict.envelope.verdict == "PASS"
        assert [(each.line, each.chosen) for each in verdict.candidates] == [
            (2, False),
            (text[: text.index(REPLY)].count("\n") + 1, True),
        ]


def test_last_word_counts_though_the_one_before_is_better_formed() -> None:
    for verdict in judge_both(f"{REPLY}\n\n{OTHER.replace('failure', 'failed')}", "factory"):
        assert weighty_rules(verdict) == {"envelope/multiple", "factory/unknown-status"}


@pytest.mark.parametrize(
    "thought",
    [
        "<thinking>\n{}\n</thinking>\n",
        "<think>{}</think>",
        "{}\n</think>\n",
        "<reasoning>\n{}</reasoning>",
    ],
)
def test_reply_that_was_only_thought_does_not_count(thought: str) -> None:
    both = judge(f"{thought.format(OTHER)}\n{REPLY}", "factory")
    assert isinstance(both.envelope, Reply)
    assert both.envelope.verdict == "PASS"
    assert the_finding(both, "envelope/in-thinking").severity == "info"
    assert weighty_rules(judge(thought.format(OTHER), "factory")) == {"factory/no-envelope"}


def test_thinking_tag_inside_of_a_text_hides_nothing() -> None:
    assert status_of(REPLY.replace("Architecture", "</think> Architecture <think>", 1)) == "success"


@pytest.mark.parametrize(
    "domain",
    [
        '{"order": 7, "status": "shipped"}',
        '{"id": 1, "status": "success", "agent": {"name": "x"}, "items": []}',
        '[{"status": 200}, {"status": 404}]',
    ],
)
def test_object_of_a_domain_with_a_status_of_its_own_is_no_reply(domain: str) -> None:
    assert status_of(f"{REPLY}\n\nThe answer of the server was {domain}") == "success"
    assert weighty_rules(judge(f"Done: {domain}", "factory")) == {"factory/no-envelope"}


@pytest.mark.parametrize(
    "domain", ['{"id": 1, "status": "success"}', '{"status": "failure", "code": 503}']
)
def test_a_known_status_next_to_foreign_keys_only_marks_no_reply(domain: str) -> None:
    assert status_of(f"{REPLY}\n\nThe answer of the server was {domain}") == "success"
    assert weighty_rules(validate(f"The answer of the server was {domain}")) == {
        "envelope/no-envelope"
    }
    both = validate(f"{GOOP_REPORT}\n\nThe answer of the server was {domain}")
    assert (both.protocol, both.verdict) == ("goop_report", "accepted")


def test_object_inside_of_a_reply_is_content() -> None:
    text = REPLY.replace('"verdict"', f'"metrics": {OTHER}, "verdict"')

    assert status_of(text) == "success"
    assert len(judge(text, "factory").candidates) == 1


def test_reply_that_a_host_escaped_is_read_and_keeps_its_places() -> None:
    escaped = (
        ANSWER.replace("success", "done")
        .replace("&", "&amp;")
        .replace('"', "&quot;")
        .replace("<", "&lt;")
    )
    text = f"<task-notification>\n<result>Ready.\n{escaped}</result>\n</task-notification>"

    for verdict in judge_both(text, "speckit"):
        finding = the_finding(verdict, "speckit/unknown-status")
        assert text.splitlines()[(finding.line or 0) - 1][(finding.column or 0) - 1 :].startswith(
            "&quot;done"
        )
        assert "envelope/host-transformed" in {each.rule for each in verdict.findings}


def test_reply_that_a_host_handed_back_indented_is_read() -> None:
    indented = "\n".join(f"  {line}" for line in f"Ready.\n\n```json\n{ANSWER}\n```".splitlines())

    verdict = judge(f"[Subagent hand-back] done\n{indented}\nagentId: a1", "speckit")

    assert isinstance(verdict.envelope, Response)
    assert {each.rule for each in verdict.findings} == {"envelope/host-transformed"}


@pytest.mark.parametrize("count", [70, 5_000])
def test_at_most_64_candidates_are_listed_and_the_last_one_counts(count: int) -> None:
    verdict = judge(f"{OTHER}\n" * count + REPLY, "factory")

    assert len(verdict.candidates) == 64
    assert verdict.candidates[-1].chosen
