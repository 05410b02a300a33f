"""What agents receive: the rules at the start, and later which reports are not accepted."""

from dataclasses import replace

from goop_mcp.protocols import validate
from goop_mcp.validation.findings import Severity
from tests.hosts.hooks.hooks import GOOD, Host
from tests.requirements import requirement

CHARACTERS_A_TOKEN = 4


def test_a_subagent_receives_the_form_of_its_report(host: Host) -> None:
    context = host.send("SubagentStart", agent_type="goop-mcp:goop-tester").context
    assert "<agent>goop-tester</agent>" in context
    assert "nothing after it" in context


def test_a_report_written_in_that_form_is_accepted(host: Host) -> None:
    context = host.send("SubagentStart").context
    form = context[
        context.index("<goop_report") : context.index("</goop_report>") + len("</goop_report>")
    ]
    sections = context[
        context.index("<artifacts>") : context.index("</verification>") + len("</verification>")
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


def test_an_agent_that_need_not_report_receives_nothing(host: Host) -> None:
    assert host.send("SubagentStart", agent_type="Explore").ended.out == ""


def test_agents_are_asked_to_read_documents_in_order_and_to_search_memory_before_the_specification(
    host: Host,
) -> None:
    folder = host.project / ".goopspec"
    folder.mkdir()
    names = ["state.json", "PROJECT_KNOWLEDGE_BASE.md", "SPEC.md", "CHRONICLE.md", "BLUEPRINT.md"]
    for name in names:
        (folder / name).write_text("{}", encoding="utf-8")

    steps = [*names[:2], "search_memory", *names[2:]]
    for event in ("SessionStart", "SubagentStart"):
        context = host.send(event).context
        assert sorted(steps, key=context.index) == steps

    (folder / "PROJECT_KNOWLEDGE_BASE.md").unlink()
    assert "KNOWLEDGE_BASE" not in host.send("SessionStart").context


@requirement("P-17")
def test_only_the_planner_may_write_the_contract_and_findings_have_their_document(
    host: Host,
) -> None:
    (host.project / ".goopspec").mkdir()
    (host.project / ".goopspec" / "SPEC.md").write_text("# SPEC", encoding="utf-8")

    def received(agent: str) -> str:
        return host.send("SubagentStart", agent_type=agent).context

    assert "SPEC.md and BLUEPRINT.md are read-only for you." in received("goop-executor")
    assert "read-only" not in received("goop-mcp:goop-planner")
    assert ".goopspec/RESEARCH.md" in received("goop-researcher")
    assert "RESEARCH.md" not in received("goop-executor")


def test_a_session_outside_of_goopspec_receives_nothing(host: Host) -> None:
    assert host.send("SessionStart").ended.out == ""


def test_a_project_can_switch_the_instructions_off(host: Host) -> None:
    host.configure(inform=False)
    assert host.send("SessionStart").ended.out == ""
    assert host.send("SubagentStart").ended.out == ""


def test_the_instructions_are_short(host: Host) -> None:
    (host.project / ".goopspec").mkdir()
    assert len(host.send("SessionStart").context) < 100 * CHARACTERS_A_TOKEN
    assert len(host.send("SubagentStart").context) < 400 * CHARACTERS_A_TOKEN


def test_a_report_that_passed_without_being_accepted_is_marked(host: Host) -> None:
    context = host.send("PostToolUse").context
    assert "the report of goop-executor is not accepted: goop_report/no-envelope" in context
    assert "not done" in context


def test_an_accepted_report_and_the_answers_of_other_tools_are_not_marked(host: Host) -> None:
    good = {"agentType": "goop-executor", "content": [{"type": "text", "text": GOOD}]}
    assert host.send("PostToolUse", tool_response=good).ended.out == ""
    assert host.send("PostToolUse", tool_name="Bash").ended.out == ""
    assert host.send("PostToolUse", tool_response={"isAsync": True, "agentId": "a"}).ended.out == ""


def test_a_background_report_is_marked_when_it_passed_without_being_accepted(host: Host) -> None:
    assert host.send("UserPromptSubmit").ended.out == ""
    host.send("SubagentStop")
    assert host.send("UserPromptSubmit").ended.out == ""
    host.send("SubagentStop", stop_hook_active=True)
    assert "not accepted" in host.send("UserPromptSubmit").context
    assert host.send("UserPromptSubmit", session_id="another").ended.out == ""


def test_a_prompt_of_the_user_is_not_changed(host: Host) -> None:
    host.send("SubagentStop")
    host.send("SubagentStop", stop_hook_active=True)
    assert host.send("UserPromptSubmit", prompt="What is a <task-notification>?").ended.out == ""


def test_the_prefix_of_the_plugin_is_stated_where_only_the_plugin_has_the_commands(
    host: Host,
) -> None:
    host.configure()
    stated = "for /goop-plan the user types /goop-mcp:goop-plan"
    root = {"CLAUDE_PLUGIN_ROOT": "/plugin", "HOME": str(host.project)}
    in_plugin = replace(host, environment=root)
    assert stated in in_plugin.send("SessionStart").context
    assert stated not in host.send("SessionStart").context

    commands = host.project / ".claude" / "commands"
    commands.mkdir(parents=True)
    (commands / "goop-plan.md").write_text("Plan.", encoding="utf-8")
    assert stated not in in_plugin.send("SessionStart").context
