"""Replies in older and sibling forms of the report, and what holds of each conversion."""

import json

from goop_mcp import Severity, Verdict
from tests.validation.replies import judge_both, rules_of, weighty_rules

LEGACY = "subagent_protocol/legacy-response"
SECTIONS = "subagent_protocol/markdown-sections"
OTHER_ROOT = "subagent_protocol/other-root"

SUMMARY = "<summary>Off by one.</summary>"
# Of the siblings only this one has the agent and the handoff of a report.
DESCENDANT = (
    "<agent>goop-executor</agent><handoff><ready>true</ready><next_action"
    " agent='user'>look</next_action>"
    "<blockers>{}</blockers><suggest_new_session>false</suggest_new_session></handoff>"
)


def assert_converted(text: str, rule: str) -> Verdict:
    """Check that lenient mode accepts the form with one warning and strict mode refuses it."""
    lenient, strict = judge_both(text)
    assert rules_of(lenient, Severity.ERROR) == set()
    assert weighty_rules(lenient) == {rule}
    assert [finding.rule for finding in lenient.findings].count(rule) == 1
    assert rules_of(strict, Severity.ERROR) == {rule}
    assert strict.envelope == lenient.envelope
    assert strict.repaired_text is None

    return lenient


def legacy(**fields: object) -> str:
    """Return a response of protocol 0.1.3 in a reply."""
    values = {"status": "complete", "summary": "Added the login endpoint", **fields}
    return f"Done.\n\n```json\n{json.dumps(values, indent=2)}\n```\n"


def sections(**parts: str) -> str:
    """Return a reply in the sections of profile v1."""
    values = {"STATUS": "complete", "SUMMARY": "Added the login endpoint."} | parts
    return "".join(f"## {name}\n{text}\n\n" for name, text in values.items())


def rooted(root: str, status: str, content: str = SUMMARY, *, blockers: str = "NONE") -> str:
    """Return a reply with a report under a sibling root, with `blockers` if the form has them."""
    content += DESCENDANT.format(blockers) if root == "elefant_report" else ""
    return (
        f"Here is what I found.\n\n```xml\n<{root}>\n  <status>{status}</status>\n "
        f" {content}\n</{root}>\n```\n"
    )
