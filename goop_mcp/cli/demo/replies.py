"""The replies of the agents, the only part of the demo that is made up."""

from pydantic import JsonValue

__all__ = ["FIRST_REPLY", "MEMORY", "QUERIES", "SECOND_REPLY"]

FIRST_REPLY = """\
<thinking>
Draft: <goop_report><status>COMPLETE</status></goop_report>
No: two tests still fail, so it is not complete.
</thinking>

I built the login endpoint, but tokens expire too early. My report:

```xml
<goop_report version="0.1.6">
  <Status>FAILED</Status>
  <agent>goop-executor</agent>
  <task_id>W2.T3</task_id>
  <state>
    <phase>coding</phase>
    <wave current="2" total="3"/>
    <task current="3" total="4"/>
  </state>
  <summary>Login & logout work; tokens expire early (ttl < 60).</summary>
  <artifacts>
    <files>
      <file path="src/login.ts" action="created">Login and logout</file>
    </files>
    <commits><commit sha="a1b2c3d">feat: add login</commit></commits>
  </artifacts>
  <memory>
    <saved type="decision" importance="8">Use jose for tokens</saved>
  </memory>
  <verification>
    <check name="tests" passed="false">10 passed, 2 failed</check>
  </verification>
  <handoff>
    <ready>false</ready>
    <next_action>Compare the clocks</next_action>
    <blockers>None</blockers>
    <suggest_new_session>false</suggest_new_session>
  </handoff>
</goop_report>
```

Shall I go on?
"""

SECOND_REPLY = """\
<goop_report version="0.1.6">
  <status>BLOCKED</status>
  <agent>goop-executor</agent>
  <task_id>W2.T3</task_id>
  <state>
    <phase>execute</phase>
    <wave current="2" total="3"/>
    <task current="3" total="4"/>
  </state>
  <summary>Login & logout work; tokens expire early (ttl < 60).</summary>
  <artifacts>
    <files>
      <file path="src/login.ts" action="created">Login and logout</file>
    </files>
    <commits><commit sha="a1b2c3d">feat: add login</commit></commits>
  </artifacts>
  <memory>
    <saved type="decision" importance="0.8">Use jose for tokens</saved>
  </memory>
  <verification>
    <check name="tests" passed="false">10 passed, 2 failed</check>
  </verification>
  <handoff>
    <ready>false</ready>
    <next_action agent="goop-debugger">Compare the clocks</next_action>
    <blockers>API and token store disagree about the time</blockers>
    <suggest_new_session>false</suggest_new_session>
  </handoff>
</goop_report>
"""

MEMORY: dict[str, JsonValue] = {
    "title": "Tokens expire early when clocks differ",
    "content": (
        "The token store's clock is 60 s ahead of the API's. Seen with the test login,"
        " password=tiger-4711."
    ),
    "type": "observation",
    "importance": 0.7,
    "concepts": ["auth"],
    "agent": "goop-debugger",
}
QUERIES = ["login tokens expire", "clock of the token store"]
