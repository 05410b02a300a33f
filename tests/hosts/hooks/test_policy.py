"""`.goopspec/hooks.json`: which agents must report in a project, and what happens to reports."""

from pathlib import Path

import pytest

from goop_mcp.store.opening import open_store
from goop_mcp.store.statistics import EndingCount, StatisticsFilter
from tests.hosts.hooks.hooks import BAD, GOOD, Host
from tests.requirements import requirement


def test_a_project_names_the_agents_that_must_report(host: Host) -> None:
    host.configure(agents=["builder", "qa-*"], exempt=["qa-notes"])
    judged = {
        agent: not host.send("SubagentStop", agent_type=agent, agent_id=agent).passed
        for agent in ("builder", "my-plugin:builder", "qa-unit", "qa-notes", "goop-executor")
    }
    assert judged == {
        "builder": True,
        "my-plugin:builder": True,
        "qa-unit": True,
        "qa-notes": False,
        "goop-executor": False,
    }


@requirement("G-10", "G-42")
def test_an_agent_that_the_project_names_reports_under_its_name(host: Host) -> None:
    host.configure(agents=["builder", "qa-*"])
    signed = GOOD.replace("<agent>goop-executor<", "<agent>builder<")

    for agent in ("builder", "my-plugin:builder"):
        assert (
            host.send("SubagentStop", agent_type=agent, last_assistant_message=signed).ended.out
            == ""
        )

    other = host.send("SubagentStop", agent_type="builder", last_assistant_message=GOOD)
    assert "expected 'builder', which was invoked (goop_report/agent-mismatch)" in other.reason

    of_qa = host.send(
        "SubagentStop", agent_type="qa-unit", agent_id="qa", last_assistant_message=signed
    )
    assert "expected 'qa-unit'" in of_qa.reason


def test_an_agent_that_the_project_names_sees_its_name_in_the_form(host: Host) -> None:
    host.configure(agents=["builder"])

    assert "<agent>builder</agent>" in host.send("SubagentStart", agent_type="builder").context
    assert "<agent>builder</agent>" in host.send("SubagentStop", agent_type="builder").reason


@pytest.mark.parametrize("pattern", ["*", "?*", "**"])
def test_the_internal_subagent_of_the_host_has_no_name_and_passes_uncounted(
    host: Host, pattern: str
) -> None:
    host.configure(agents=[pattern], ask_again=1, record=True)

    for _ in range(3):
        answer = host.send(
            "SubagentStop", agent_type="", last_assistant_message="<summary>We fixed it.</summary>"
        )
        assert (answer.ended.out, answer.ended.err) == ("", "")

    assert host.send("SubagentStart", agent_type="").ended.out == ""
    assert not (host.project / ".goopspec" / "goop.db").exists()

    assert not host.send("SubagentStop", agent_type="helper").passed


def test_nothing_happens_in_a_project_without_agents(host: Host) -> None:
    host.configure(agents=[])
    assert host.send("SubagentStop").ended.out == ""
    assert host.send("SubagentStart").ended.out == ""


@pytest.mark.parametrize(
    ("main", "required", "judged"), [("required", True, True), ("ignored", False, False)]
)
def test_a_project_says_when_the_main_agent_is_judged(
    host: Host, main: str, required: bool, judged: bool
) -> None:
    host.configure(main=main)
    assert host.send("Stop", prompt_id="a").passed is not required
    wrong = GOOD.replace("COMPLETE", "FINISHED")
    assert host.send("Stop", prompt_id="b", last_assistant_message=wrong).passed is not judged


@pytest.mark.parametrize("most", [0, 1, 3])
def test_a_project_says_how_often_an_agent_is_asked(host: Host, most: int) -> None:
    host.configure(ask_again=most)
    wrong = [
        BAD,
        GOOD.replace("COMPLETE", "FINISHED"),
        GOOD.replace(">execute<", ">coding<"),
        GOOD.replace("true", "?"),
    ]
    passed = [
        host.send("SubagentStop", last_assistant_message=reply, stop_hook_active=number > 0).passed
        for number, reply in enumerate(wrong)
    ]
    assert passed == [number >= most for number in range(len(wrong))]


def test_a_project_can_select_strict_mode(host: Host) -> None:
    repairable = GOOD.replace("the login endpoint.</summary>", "login & logout.</summary>")
    assert host.send("SubagentStop", last_assistant_message=repairable).passed
    host.configure(mode="strict")
    assert not host.send("SubagentStop", last_assistant_message=repairable).passed


def test_a_project_can_select_another_protocol(host: Host) -> None:
    host.configure(protocol="speckit")
    assert "speckit" in host.send("SubagentStop", last_assistant_message=GOOD).reason


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{", "not valid JSON (line 1, column 2)"),
        ("[]", "holds no object"),
        ('{"ask_again": 8}', "ask_again is 8; expected a whole number from 0 to 7"),
        ('{"ask_again": true}', "ask_again is true"),
        ('{"agents": "goop-*"}', "expected a list of patterns"),
        ('{"mode": "Strict"}', "expected one of lenient, strict"),
        ('{"infrom": true}', "there is no key 'infrom'"),
        ("[" * 50_000, "nested too deeply"),
        ("x" * 100_000, "more than 65,536 bytes"),
    ],
)
def test_an_error_in_the_file_is_reported_and_the_default_used(
    host: Host, text: str, expected: str
) -> None:
    (host.project / ".goopspec").mkdir()
    (host.project / ".goopspec" / "hooks.json").write_text(text, encoding="utf-8")
    answer = host.send("SubagentStop")
    assert not answer.passed
    assert expected in answer.ended.err
    assert expected in host.send("SessionStart").message


def test_one_error_leaves_the_rest_of_the_file_in_force(host: Host) -> None:
    host.configure(agents=["builder"], ask_again="often")
    assert host.send("SubagentStop").passed
    assert not host.send("SubagentStop", agent_type="builder").passed


def test_a_file_that_is_a_folder_is_reported(host: Host) -> None:
    (host.project / ".goopspec" / "hooks.json").mkdir(parents=True)
    answer = host.send("SubagentStop")
    assert not answer.passed
    assert "hooks.json cannot be read" in answer.ended.err


def test_nothing_is_written_into_the_project(host: Host, tmp_path: Path) -> None:
    for event in (
        "SessionStart",
        "SubagentStart",
        "SubagentStop",
        "PostToolUse",
        "UserPromptSubmit",
        "Stop",
    ):
        host.send(event)

    assert [path.name for path in host.project.rglob("*")] == ["src", "login.py"]
    # What a person was shown is kept in the folder of the person.
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {host.project.name, host.data.name, "person"}


@requirement("F-15")
def test_reports_are_verified_where_the_project_has_a_goopspec_folder(host: Host) -> None:
    untrue = GOOD.replace("src/login.py", "src/ghost.py")
    assert host.send("SubagentStop", last_assistant_message=untrue).passed

    (host.project / ".goopspec").mkdir()
    assert "src/ghost.py" in host.send("SubagentStop", last_assistant_message=untrue).reason
    assert host.send("SubagentStop", last_assistant_message=GOOD).passed

    # It counts from the beginning of a session on.
    host.configure(check_workspace=False)
    assert host.send("SubagentStop", last_assistant_message=untrue, session_id="b").passed


def test_a_project_can_have_accepted_reports_recorded(host: Host) -> None:
    host.configure(record=True)
    assert not host.send("SubagentStop").passed
    assert not (host.project / ".goopspec" / "goop.db").exists()
    for _ in range(2):
        answer = host.send("SubagentStop", last_assistant_message=GOOD, stop_hook_active=True)
        assert (answer.ended.out, answer.ended.err) == ("", "")

    chronicle = (host.project / ".goopspec" / "CHRONICLE.md").read_text(encoding="utf-8")
    assert chronicle.count("Added the login endpoint.") == 1


def test_where_reports_are_recorded_the_requests_to_an_agent_are_counted(host: Host) -> None:
    host.configure(record=True)
    assert host.send("SubagentStop", last_assistant_message=GOOD).passed
    assert not host.send("SubagentStop", last_assistant_message="Done.").passed
    corrected = GOOD.replace("Added the login endpoint.", "Added it again.")
    assert host.send("SubagentStop", last_assistant_message=corrected, stop_hook_active=True).passed
    for _ in range(2):
        host.send("SubagentStop", last_assistant_message="Done.", prompt_id="another")

    found = open_store(None, project=host.project).read(
        lambda reading: reading.statistics(StatisticsFilter())
    )
    assert found.endings == (
        EndingCount("accepted", 1, 1),
        EndingCount("accepted", 2, 1),
        EndingCount("no_progress", 2, 1),
    )
    assert (found.replies.accepted, found.replies.rejected) == (2, 3)
    assert list(found.replies_by_agent) == ["goop-executor"]


def test_a_report_that_cannot_be_counted_is_still_sent_back(host: Host) -> None:
    host.configure(record=True)
    (host.project / ".goopspec" / "goop.db").write_text("no database", encoding="utf-8")
    answer = host.send("SubagentStop", last_assistant_message="Done.")
    assert not answer.passed
    assert "could not be counted" in answer.ended.err


def test_a_report_that_cannot_be_recorded_passes_and_the_user_is_informed(host: Host) -> None:
    host.configure(record=True)
    (host.project / ".goopspec" / "goop.db").write_text("no database", encoding="utf-8")
    answer = host.send("SubagentStop", last_assistant_message=GOOD)
    assert answer.passed
    assert "could not record it" in answer.message
