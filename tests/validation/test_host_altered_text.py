"""Replies that a host has indented or escaped before it handed them on (D-09)."""

from xml.sax.saxutils import escape

import pytest

from goop_mcp import Severity
from tests.validation.replies import (
    DRAFT,
    EXECUTOR,
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

EXECUTOR_REPORT = report_of(judge(EXECUTOR))
TRAILERS = (
    "agentId: a1b2c3d4 (for resuming to continue this agent's work if needed)",
    "<usage>total_tokens: 2134\ntool_uses: 3\nduration_ms: 4711</usage>",
)


def hand_back(reply: str) -> str:
    """Return `reply` as Claude Code hands a subagent's report to the parent in the foreground."""
    indented = "\n".join(f"  {line}" if line else "" for line in reply.split("\n"))
    return "\n".join(
        ["[Subagent hand-back] goop-executor finished its work.", indented, *TRAILERS, ""]
    )


def notification(reply: str) -> str:
    """Return `reply` as Claude Code passes it on from the background: escaped, in an element."""
    quoted = escape(reply, {'"': "&quot;", "'": "&apos;"})
    return (
        "<task-notification>\n<task-id>b7</task-id>\n<status>completed</status>\n<summary>Agent"
        f" finished</summary>\n<result>{quoted}</result>\n<usage>total_tokens:"
        " 2134</usage>\n</task-notification>\n"
    )


ALTERED = {
    "handed_back_fenced": hand_back(fenced(EXECUTOR)),
    "handed_back_bare": hand_back(EXECUTOR),
    "notified_fenced": notification(fenced(EXECUTOR)),
    "notified_bare": notification(EXECUTOR),
    "notified_in_short": (
        f"<task-notification><result>{escape(EXECUTOR)}</result></task-notification>"
    ),
    "escaped_alone": escape(fenced(EXECUTOR)),
    "escaped_with_numbers": escape(EXECUTOR, {'"': "&#34;", "'": "&#39;"}),
}


@pytest.mark.parametrize("text", [pytest.param(text, id=id) for id, text in ALTERED.items()])
def test_altered_reply_is_read_with_an_info_and_no_repair(text: str) -> None:
    for verdict in judge_both(text):
        assert verdict.envelope == EXECUTOR_REPORT
        assert weighty_rules(verdict) == set()
        assert rules_of(verdict, Severity.INFO) == {"envelope/host-transformed"}
        assert verdict.repairs == ()
        assert verdict.repaired_text is None


@pytest.mark.parametrize(
    "lines",
    [
        "agentId: a1b2c3d4\n",
        "<usage>total_tokens: 2134</usage>\n",
        "<usage>\ntotal_tokens: 2134\ntool_uses: 3\n</usage>\n",
        "<usage><total_tokens>2134</total_tokens><tool_uses>3</tool_uses></usage>\n",
        "\nagentId: a1b2c3d4 (for resuming)\n<usage>total_tokens: 2134</usage>\n\n",
    ],
)
@pytest.mark.parametrize("reply", [EXECUTOR + "\n", fenced(EXECUTOR)], ids=["bare", "fenced"])
def test_lines_that_a_host_puts_after_the_report_are_no_text(reply: str, lines: str) -> None:
    for verdict in judge_both(reply + lines):
        assert verdict.envelope == EXECUTOR_REPORT
        assert weighty_rules(verdict) == set()


@pytest.mark.parametrize(
    "text",
    [hand_back(fenced(EXECUTOR)), notification(fenced(EXECUTOR))],
    ids=["handed_back", "notified"],
)
def test_altered_reply_with_text_after_the_report_gets_a_warning(text: str) -> None:
    altered = text.replace(
        "</goop_report>\n  ```", "</goop_report>\n  ```\n  Shall I go on?"
    ).replace("&lt;/goop_report&gt;\n```", "&lt;/goop_report&gt;\n```\nShall I go on?")

    assert altered != text
    assert weighty_rules(judge(altered)) == {"envelope/not-at-end"}


def test_line_and_column_are_those_of_the_indented_text_as_given() -> None:
    text = hand_back(fenced(changed(EXECUTOR, ("<status>COMPLETE", "<status>FAILED"))))

    finding = the_finding(judge(text), "goop_report/unknown-status")

    assert finding.line is not None
    assert finding.column is not None
    assert text.split("\n")[finding.line - 1][finding.column - 1 :].startswith("FAILED")


def test_line_and_column_are_those_of_the_escaped_text_as_given() -> None:
    edits = (
        ("<status>COMPLETE", "<status>FAILED"),
        ('action="created">Auth type', 'action="renamed">Auth type'),
    )
    text = notification(fenced(changed(EXECUTOR, *edits)))

    verdict = judge(text)

    for rule, value in (
        ("goop_report/unknown-status", "FAILED"),
        ("goop_report/unknown-file-action", "renamed"),
    ):
        finding = the_finding(verdict, rule)
        assert finding.line is not None
        assert finding.column is not None
        assert text.split("\n")[finding.line - 1][finding.column - 1 :].startswith(value)


def test_candidate_of_an_escaped_text_has_its_line_in_the_text_as_given() -> None:
    text = notification(f"One.\nTwo.\n{EXECUTOR}")

    (candidate,) = judge(text).candidates

    assert "&lt;goop_report" in text.split("\n")[candidate.line - 1]


def test_what_the_agent_had_escaped_stays_escaped() -> None:
    own = changed(EXECUTOR, (SUMMARY, "Maps &lt;int&gt; to &amp;lt; &amp;amp; more."))

    verdict = judge(notification(own))

    assert weighty_rules(verdict) == set()
    assert report_of(verdict).summary == "Maps <int> to &lt; &amp; more."


def test_slip_of_the_agent_under_the_hosts_escaping_is_still_repaired_as_its_own() -> None:
    own = changed(EXECUTOR, (SUMMARY, "Maps a && b."))

    lenient, strict = judge_both(notification(own))

    assert report_of(lenient).summary == "Maps a && b."
    assert [repair.rule for repair in lenient.repairs] == ["xml/unescaped"]
    assert lenient.accepted
    assert not strict.accepted


def test_literal_envelope_is_preferred_to_an_escaped_one() -> None:
    text = f"The host showed me {escape(DRAFT)} before.\n\n{fenced(EXECUTOR)}"

    verdict = judge(text)

    assert verdict.envelope == EXECUTOR_REPORT
    assert weighty_rules(verdict) == set()
    assert rules_of(verdict, Severity.INFO) == set()


def test_escaping_twice_is_undone_only_once() -> None:
    verdict = judge(escape(escape(EXECUTOR)))

    assert not verdict.accepted
    assert verdict.envelope is None


def test_draft_thought_aloud_under_the_hosts_escaping_is_passed_over() -> None:
    verdict = judge(notification(f"<thinking>\n{DRAFT}\n</thinking>\n{EXECUTOR}"))

    assert verdict.envelope == EXECUTOR_REPORT
    assert weighty_rules(verdict) == set()


CUT_OFF = EXECUTOR[: EXECUTOR.index("<verification>") + 20]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(hand_back(CUT_OFF), id="handed_back"),
        pytest.param(hand_back(f"Done.\n\n```xml\n{CUT_OFF}"), id="handed_back_fenced"),
        pytest.param(notification(CUT_OFF), id="notified"),
        pytest.param(notification(f"Done.\n\n```xml\n{CUT_OFF}"), id="notified_fenced"),
    ],
)
def test_cut_off_reply_stays_cut_off_under_the_hosts_changes(text: str) -> None:
    for verdict in judge_both(text):
        assert rules_of(verdict, Severity.ERROR) == {"envelope/truncated"}


def test_reply_that_the_agent_itself_indented_is_read_as_well() -> None:
    text = "\n".join(f"    {line}" for line in fenced(EXECUTOR).split("\n"))

    verdict = judge(text)

    assert verdict.envelope == EXECUTOR_REPORT
    assert weighty_rules(verdict) == set()
