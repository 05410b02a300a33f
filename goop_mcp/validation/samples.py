"""Complete correct replies, in which the examples of the rules change one line."""

__all__ = ["BLOCKED_REPLY", "COMPLETE_REPLY", "REQUEST_PROMPT"]

COMPLETE_REPLY = """\
The login endpoint is there and tested.

```xml
<goop_report version="0.1.6">
  <status>COMPLETE</status>
  <agent>goop-executor</agent>
  <task_id>W1.T2</task_id>
  <task_name>Add the login endpoint</task_name>
  <state>
    <phase>execute</phase>
    <wave current="1" total="2"/>
    <task current="2" total="3"/>
    <spec_locked>true</spec_locked>
  </state>
  <summary>Added the login endpoint.</summary>
  <artifacts>
    <files>
      <file path="src/login.py" action="created">Login endpoint</file>
    </files>
    <commits>
      <commit sha="a1b2c3d">feat(auth): add login endpoint</commit>
    </commits>
  </artifacts>
  <memory>
    <saved type="decision" importance="0.7">Sessions are kept in Redis</saved>
  </memory>
  <verification>
    <check name="tests" passed="true">pytest: 12 passed</check>
  </verification>
  <handoff>
    <ready>true</ready>
    <next_action agent="goop-tester">W1.T3: test the login endpoint</next_action>
    <files_to_read>
      <file>src/login.py</file>
    </files_to_read>
    <blockers>None</blockers>
    <suggest_new_session>false</suggest_new_session>
  </handoff>
</goop_report>
```
"""

BLOCKED_REPLY = """\
I cannot go on without a decision.

```xml
<goop_report version="0.1.6">
  <status>BLOCKED</status>
  <agent>goop-executor</agent>
  <task_id>W1.T2</task_id>
  <state>
    <phase>execute</phase>
  </state>
  <summary>The payment provider is not decided.</summary>
  <artifacts>
    <files>
      <file path="src/payment.py" action="modified">Interface only</file>
    </files>
    <commits>
      <commit sha="b2c3d4e">feat(pay): add interface</commit>
    </commits>
  </artifacts>
  <memory>
    <saved type="note" importance="0.4">Provider still open</saved>
  </memory>
  <handoff>
    <ready>false</ready>
    <next_action agent="user">Choose the payment provider</next_action>
    <blockers>RULE 4 DEVIATION: which provider? \
Options: A) Stripe (recommended), B) PayPal</blockers>
    <suggest_new_session>false</suggest_new_session>
  </handoff>
</goop_report>
```
"""

REQUEST_PROMPT = """\
# Task: Add the login endpoint

**Context**: part of the work on accounts.

```xml
<agent_request version="1.0" session_id="20260114-093000-login" \
target_agent="backend-agent" priority="high">
  <mode>spawn</mode>
  <original_intent>Let agents prove who they are</original_intent>
  <current_task_summary>Add POST /login and its tests</current_task_summary>
  <workflow>TDD</workflow>
  <task_details>Write the tests first, then the endpoint.</task_details>
  <constraints>
    <constraint>No new dependencies</constraint>
  </constraints>
  <deliverables>
    <file path="src/login.py" required="true">The endpoint</file>
    <decision>Whether the database has to change</decision>
  </deliverables>
  <backlog_notes>Next: refresh tokens</backlog_notes>
</agent_request>
```

The sessions are described in docs/sessions.md.
"""
