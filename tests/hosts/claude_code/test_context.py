"""What agents are told: the rules beforehand, and afterwards which reports are not accepted."""

from goop_mcp.protocols import validate
from goop_mcp.validation.findings import Severity
from tests.hosts.claude_code.hooks import GOOD, Host

CHARACTERS_A_TOKEN = 4


def test_a_subagent_is_told_the_form_of_its_report(host: Host) -> None:
    told = host.send("SubagentStart", agent_type="goop-mcp:goop-tester").context
    assert "<agent>goop-tester</agent>" in told
    assert "nothing after it" in told


def test_a_report_written_as_told_is_accepted(host: Host) -> None:
    told = host.send("SubagentStart").context
    form = told[told.index("<goop_report") : told.index("</goop_report>") + len("</goop_report>")]
    sections = told[
        told.index("<artifacts>") : told.index("</verification>") + len("</verification>")
    ]
    filled = form.replace("<handoff>", f"{sections}<handoff>")

    for choice, word in {
        "COMPLETE|PARTIAL|BLOCKED|CHECKPOINT": "COMPLETE",
        "plan|specify|execute|accept|research": "execute",
        "created|modified|deleted": "created",
        "decision|observation|note": "note",
        "true|false": "true",
        "[what was done]": "Added the endpoint.",
        "goop-[type]": "goop-tester",
        "[next task]": "Test the endpoint",
        'path=""': 'path="src/login.py"',
        'sha=""': 'sha="a1b2c3d"',
        ">message<": ">feat: add login<",
        ">command: result<": ">pytest: 14 passed<",
    }.items():
        filled = filled.replace(choice, word)

    assert validate(filled).of_severity(Severity.ERROR) == ()


def test_an_agent_that_owes_no_report_is_told_nothing(host: Host) -> None:
    assert host.send("SubagentStart", agent_type="Explore").ended.out == ""


def test_agents_are_told_to_read_in_order_what_is_there_and_to_search_memory_before_the_specification(
    host: Host,
) -> None:
    folder = host.project / ".goopspec"
    folder.mkdir()
    names = ["state.json", "PROJECT_KNOWLEDGE_BASE.md", "SPEC.md", "CHRONICLE.md", "BLUEPRINT.md"]
    for name in names:
        (folder / name).write_text("{}", encoding="utf-8")

    steps = [*names[:2], "search_memory", *names[2:]]
    for event in ("SessionStart", "SubagentStart"):
        told = host.send(event).context
        assert sorted(steps, key=told.index) == steps

    (folder / "PROJECT_KNOWLEDGE_BASE.md").unlink()
    assert "KNOWLEDGE_BASE" not in host.send("SessionStart").context


def test_a_session_outside_of_goopspec_is_told_nothing(host: Host) -> None:
    assert host.send("SessionStart").ended.out == ""


def test_a_project_may_want_nobody_told(host: Host) -> None:
    host.wish(inform=False)
    assert host.send("SessionStart").ended.out == ""
    assert host.send("SubagentStart").ended.out == ""


def test_what_is_told_is_short(host: Host) -> None:
    (host.project / ".goopspec").mkdir()
    assert len(host.send("SessionStart").context) < 100 * CHARACTERS_A_TOKEN
    assert len(host.send("SubagentStart").context) < 400 * CHARACTERS_A_TOKEN


def test_a_report_that_came_through_although_it_is_not_accepted_is_marked(host: Host) -> None:
    told = host.send("PostToolUse").context
    assert "the report of goop-executor is not accepted: goop_report/no-envelope" in told
    assert "not done" in told


def test_an_accepted_report_and_the_answers_of_other_tools_are_not_marked(host: Host) -> None:
    good = {"agentType": "goop-executor", "content": [{"type": "text", "text": GOOD}]}
    assert host.send("PostToolUse", tool_response=good).ended.out == ""
    assert host.send("PostToolUse", tool_name="Bash").ended.out == ""
    assert host.send("PostToolUse", tool_response={"isAsync": True, "agentId": "a"}).ended.out == ""


def test_a_report_from_the_background_is_marked_when_its_agent_was_let_go(host: Host) -> None:
    assert host.send("UserPromptSubmit").ended.out == ""
    host.send("SubagentStop")
    assert host.send("UserPromptSubmit").ended.out == ""
    host.send("SubagentStop", stop_hook_active=True)
    assert "not accepted" in host.send("UserPromptSubmit").context
    assert host.send("UserPromptSubmit", session_id="another").ended.out == ""


def test_what_a_person_asks_is_left_alone(host: Host) -> None:
    host.send("SubagentStop")
    host.send("SubagentStop", stop_hook_active=True)
    assert host.send("UserPromptSubmit", prompt="What is a <task-notification>?").ended.out == ""
