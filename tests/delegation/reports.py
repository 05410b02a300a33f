"""Reports that agents of the tests send."""

__all__ = ["report"]


def report(  # every part of it may be what a test is about
    status: str = "COMPLETE",
    *,
    agent: str = "goop-executor",
    summary: str = "The work is done.",
    next_agent: str = "user",
    next_action: str = "Look at the result",
    blockers: str = "None",
    passed: bool = True,
) -> str:
    """Return a goop_report after a line of prose."""
    return f"""\
Here is my report.

<goop_report version="0.1.6">
  <status>{status}</status>
  <agent>{agent}</agent>
  <state><phase>execute</phase></state>
  <summary>{summary}</summary>
  <artifacts></artifacts>
  <memory></memory>
  <verification><check name="tests" passed="{str(passed).lower()}">run</check></verification>
  <handoff>
    <ready>{str(blockers == "None").lower()}</ready>
    <next_action agent="{next_agent}">{next_action}</next_action>
    <blockers>{blockers}</blockers>
    <suggest_new_session>false</suggest_new_session>
  </handoff>
</goop_report>
"""
