"""Under profile v1 the five Markdown sections are the form of a report; XML is not required."""

import json
from pathlib import Path

import pytest

from goop_mcp import Expectations, Severity, Verdict, validate
from goop_mcp.protocols import families_of
from goop_mcp.protocols.goop_report.model import FileAction, Status
from goop_mcp.server import create_server
from goop_mcp.services.check_workspace import check_workspace
from goop_mcp.settings import Settings
from tests.cli.running import run
from tests.growth import assert_linear
from tests.hosts.hooks.hooks import Host
from tests.protocols.goop_report.legacy_replies import SECTIONS
from tests.requirements import requirement
from tests.server.connections import PROTOCOL_MODES, connect
from tests.services.reporting import record, working_in
from tests.validation.replies import MODES, TEMPLATE, report_of, rules_of, weighty_rules
from tests.workspace.true_projects import commit, git, write

V1 = Expectations(profile="v1")
NAMES = ("STATUS", "SUMMARY", "ARTIFACTS", "VERIFICATION", "NEXT")
WHOLE = {
    "STATUS": "complete",
    "SUMMARY": "Added the login endpoint with its tests.",
    "ARTIFACTS": "- src/login.ts \u2014 the endpoint\n- src/login.test.ts \u2014 its tests",
    "VERIFICATION": (
        "bun test src/login.test.ts \u2014 9 passed, 0 failed (rung 1)\nbun run typecheck \u2014 no"
        " errors"
    ),
    "NEXT": "Continue with Wave 2 Task 2.1: let goop-tester try it under load.",
}
RESEARCH = {
    **WHOLE,
    "SUMMARY": "Compared two libraries; one of them fits.",
    "ARTIFACTS": "- docs/libraries.md \u2014 the comparison",
    "VERIFICATION": "n/a (research task)",
}
BLOCKED = {
    "STATUS": "blocked",
    "SUMMARY": "The key of the payment service is needed.",
    "ARTIFACTS": "- none",
    "VERIFICATION": "n/a",
    "NEXT": "Provide the key.",
}
SKELETON = families_of("v1")[0].envelope_template(V1)


def reply(parts: dict[str, str] = WHOLE, **changes: str | None) -> str:
    values: dict[str, str | None] = {**parts, **changes}
    return (
        "\n\n".join(f"## {name}\n{text}" for name, text in values.items() if text is not None)
        + "\n"
    )


def judge(text: str, mode: str = "lenient", protocol: str = "goop_report") -> Verdict:
    return validate(text, protocol=protocol, mode=mode, expected=V1)  # type: ignore[arg-type]


@requirement("P-08")
@pytest.mark.parametrize("parts", [WHOLE, RESEARCH, BLOCKED, {**WHOLE, "STATUS": "partial"}])
@pytest.mark.parametrize("protocol", ["auto", "goop_report"])
def test_five_sections_are_accepted_without_a_remark(parts: dict[str, str], protocol: str) -> None:
    for mode in MODES:
        verdict = judge(reply(parts), mode, protocol)

        assert verdict.accepted
        assert verdict.findings == ()
        assert verdict.repaired_text is None
        assert report_of(verdict).summary == parts["SUMMARY"]


def test_without_the_profile_the_form_is_converted_as_before() -> None:
    verdict = validate(reply(), protocol="goop_report")

    assert SECTIONS in weighty_rules(verdict)
    assert verdict.repaired_text is not None


@requirement("G-36", "P-08")
@pytest.mark.parametrize("name", NAMES)
def test_each_section_is_required(name: str) -> None:
    for mode in MODES:
        for text, rule in ((None, "goop_report/missing-field"), ("", "goop_report/empty-field")):
            changes: dict[str, str | None] = {name: text}
            verdict = judge(reply(WHOLE, **changes), mode)

            assert rule in rules_of(verdict, Severity.ERROR)
            assert verdict.feedback is not None
            assert f"## {name}" in verdict.feedback
            assert "<" not in verdict.feedback


def test_values_are_read_line_by_line() -> None:
    artifacts = "- `src/a.ts` (created) \u2014 x\n* src/b.ts - y\nsrc/c.ts: z\n- src/d.ts (deleted)"
    report = report_of(judge(reply(ARTIFACTS=artifacts)))

    assert report.artifacts is not None
    assert [(file.path, file.action) for file in report.artifacts.files] == [
        ("src/a.ts", FileAction.CREATED),
        ("src/b.ts", None),
        ("src/c.ts", None),
        ("src/d.ts", FileAction.DELETED),
    ]
    assert report.handoff is not None
    assert report.handoff.next_action is not None
    assert report.handoff.next_action.agent == "goop-tester"
    assert report.verification is not None
    assert [(check.name, check.passed) for check in report.verification] == [
        ("bun test src/login.test.ts", True),
        ("bun run typecheck", True),
    ]


@pytest.mark.parametrize(
    ("line", "passed"),
    [
        ("bun test \u2014 12 passed, 0 failed", True),
        ("bun test \u2014 12 passed, 2 failed", False),
        ("tsc \u2014 no errors", True),
        ("tsc \u2014 3 errors", False),
        ("lint \u2014 fixed 3 errors, now clean", True),
        ("tests: pass", True),
        ("\u2717 lint", False),
        ("test_failed_login.py \u2014 passed", True),
        ("looked at the page", None),
        ("bun test \u2014 not run", None),
    ],
)
def test_result_of_a_check_is_taken_from_clear_words_and_counts(
    line: str, passed: bool | None
) -> None:
    checks = report_of(judge(reply(STATUS="partial", VERIFICATION=line))).verification

    assert checks is not None
    assert [check.passed for check in checks] == [passed]


@pytest.mark.parametrize("line", ["None of the 12 tests failed", "nothing failed, 12 passed"])
def test_sentence_about_a_check_is_a_check(line: str) -> None:
    checks = report_of(judge(reply(STATUS="partial", VERIFICATION=line))).verification

    assert checks is not None
    assert len(checks) == 1


HOSTILE = {
    "headings": "## NEXT\n" * 100_000,
    "reports": "## STATUS\ncomplete\n## SUMMARY\nx\n" * 30_000,
    "output": reply(VERIFICATION="bun test\n```\n" + "2 failed\n" * 100_000 + "```"),
    "slots": reply(SUMMARY="[<{" * 200_000),
    "choices": reply(STATUS="complete" + " " * 500_000 + "complete |" * 10_000),
    "artifacts": reply(ARTIFACTS="- src/a.ts, " * 50_000),
    "blanks": reply(NEXT=" \n\t" * 200_000 + "x"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_reading_takes_time_in_proportion_to_the_text(name: str) -> None:
    text = HOSTILE[name]

    assert_linear(judge, lambda size: text[:size], sizes=(len(text) // 4, len(text)))


def test_output_in_a_fence_belongs_to_its_check() -> None:
    verdict = judge(reply(VERIFICATION="bun test \u2014 ran\n```\n2 failed, 3 passed\n```"))

    assert "goop_report/complete-with-failed-check" in weighty_rules(verdict)
    (finding,) = [
        each for each in verdict.findings if each.rule == "goop_report/complete-with-failed-check"
    ]
    assert finding.line == 12


@requirement("G-44")
def test_complete_with_changed_code_and_no_check_is_a_warning() -> None:
    for mode in MODES:
        verdict = judge(reply(VERIFICATION="n/a"), mode)

        assert verdict.accepted
        assert rules_of(verdict, Severity.WARNING) == {"goop_report/complete-without-check"}

    for nothing in (
        "bun test \u2014 not run",
        "bun test \u2014 no tests ran",
        "bun test \u2014 0 tests",
    ):
        verdict = judge(reply(VERIFICATION=nothing))
        assert rules_of(verdict, Severity.WARNING) == {"goop_report/complete-without-check"}, (
            nothing
        )

    for quiet in (
        reply(STATUS="partial", VERIFICATION="n/a"),
        reply(ARTIFACTS="- none", VERIFICATION="n/a"),
    ):
        assert judge(quiet).findings == ()


@requirement("G-09")
@pytest.mark.parametrize(
    "word", ["done", "success", "failed", "completed", "\u2705", "not complete", "none"]
)
def test_other_status_is_an_error_in_the_words_of_the_form(word: str) -> None:
    verdict = judge(reply(STATUS=word))

    assert rules_of(verdict, Severity.ERROR) == {"goop_report/unknown-status"}
    assert "Begin ## STATUS with one of complete, partial, blocked" in str(verdict.feedback)


@requirement("G-45")
def test_blocked_needs_a_reason() -> None:
    assert report_of(judge(reply(BLOCKED))).handoff.blockers == "Provide the key."  # type: ignore[union-attr]
    verdict = judge(reply(BLOCKED, NEXT="none", SUMMARY="None."))
    assert "goop_report/blocked-without-blocker" in rules_of(verdict, Severity.ERROR)
    assert "Say under ## NEXT what blocks you" in str(verdict.feedback)


@requirement("G-53")
@pytest.mark.parametrize(
    "text",
    [
        SKELETON,
        *(
            SKELETON.replace("complete | partial | blocked", word)
            for word in ("complete", "partial", "blocked")
        ),
        reply(STATUS="complete | partial | blocked"),
        reply(STATUS="complete/partial/blocked"),
        reply(SUMMARY="1-3 sentences describing findings."),
        reply(SUMMARY="[what was done]"),
        reply(ARTIFACTS="- path/to/file.ts \u2014 what was done"),
        reply(ARTIFACTS="- [path] \u2014 [description]"),
        reply(VERIFICATION="[command] \u2014 [result]"),
        reply(NEXT="Recommended follow-up actions."),
        reply(NEXT="TBD"),
    ],
)
def test_form_that_was_sent_back_is_no_report(text: str) -> None:
    for mode in MODES:
        assert rules_of(judge(text, mode), Severity.ERROR) == {"goop_report/placeholder-left"}


@pytest.mark.parametrize(
    "text",
    [
        reply(SUMMARY="Removed the TODO in [id].ts and the placeholder <T> of Box<T>."),
        reply(ARTIFACTS="- src/routes/[id].ts \u2014 added\n- src/{a}.ts \u2014 added"),
        reply(NEXT="none"),
        reply(NEXT="- [ ] let goop-tester run it"),
        reply(VERIFICATION="- [x] bun test \u2014 12 passed"),
    ],
)
def test_look_alikes_of_template_text_stay(text: str) -> None:
    assert judge(text).findings == ()


def test_last_report_counts_and_a_part_of_it_does_not_fall_back_on_an_earlier_one() -> None:
    both = judge(reply() + "\n" + reply(BLOCKED))
    assert report_of(both).status is Status.BLOCKED
    assert [candidate.chosen for candidate in both.candidates] == [False, True]

    cut = judge(reply() + "\n## STATUS\nblocked\n\n## SUMMARY\nThe key")
    assert rules_of(cut, Severity.ERROR) == {"goop_report/missing-field"}
    assert report_of(cut).status is Status.BLOCKED


def test_section_that_stands_twice_is_an_error() -> None:
    verdict = judge(reply() + "\n## NEXT\nSomething else\n")

    assert rules_of(verdict, Severity.ERROR) == {"goop_report/duplicate-element"}


def test_reply_without_a_report_is_asked_for_the_sections() -> None:
    for text in ("Done, all tests pass.", "", "```\n" + reply() + "```\n"):
        verdict = judge(text)

        assert rules_of(verdict, Severity.ERROR) == {"goop_report/no-envelope"}
        assert SKELETON in str(verdict.feedback)
        assert "goop_report>" not in str(verdict.feedback)


def test_quoted_envelope_is_not_taken_for_the_report() -> None:
    quoted = TEMPLATE.replace("COMPLETE|PARTIAL|BLOCKED|CHECKPOINT", "COMPLETE")
    verdict = judge(
        reply(BLOCKED, SUMMARY=f"The old form was\n```xml\n{quoted}\n```\nand nobody wants it.")
    )

    assert report_of(verdict).status is Status.BLOCKED


# In a project


@pytest.fixture(params=["database", "config", "state"])
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return a project of GoopSpec 1.x, known as such by each of its files."""
    state = {"version": 2, "activeWorkflowId": "default", "workflows": {"default": {}}}
    files = {
        "database": ("goopspec.db", ""),
        "config": ("config.json", json.dumps({"projectName": "demo", "memoryEnabled": True})),
        "state": ("state.json", json.dumps(state)),
    }
    folder = tmp_path / "project"
    name, text = files[request.param]
    write(folder, f".goopspec/{name}", text)
    write(folder, "src/login.ts")
    write(folder, "src/login.test.ts")

    return folder


def test_project_of_the_packages_before_is_none_of_v1(tmp_path: Path) -> None:
    write(
        tmp_path,
        ".goopspec/config.json",
        json.dumps({"projectName": "demo", "agents": {}, "memory": {}}),
    )
    write(
        tmp_path, ".goopspec/state.json", json.dumps({"version": 1, "workflow": {"phase": "plan"}})
    )

    assert SECTIONS in weighty_rules(check_workspace(reply(ARTIFACTS="- none"), tmp_path))


@requirement("G-22", "G-49", "P-08")
@pytest.mark.parametrize(
    ("artifacts", "rule"),
    [
        ("- src/ghost.ts \u2014 the endpoint", "evidence/file-not-found"),
        ("src/ghost.ts", "evidence/file-not-found"),
        ("- Deployed everything", "evidence/file-not-found"),
        ("- src/login.ts, src/ghost.ts \u2014 both", "evidence/file-not-found"),
        ("- src \u2014 everything", "evidence/file-not-found"),
        ("- ../secret.ts \u2014 read", "path/outside-workspace"),
        ("- src/login.ts (deleted)", "evidence/file-still-there"),
        ("- src/login.ts \u2014 deleted", "evidence/file-still-there"),
    ],
)
def test_artifacts_are_files_that_exist(project: Path, artifacts: str, rule: str) -> None:
    verdict = check_workspace(reply(ARTIFACTS=artifacts), project)

    (finding,) = [each for each in verdict.findings if each.severity is Severity.ERROR]
    assert (finding.rule, finding.line) == (rule, 8)


@pytest.mark.parametrize(
    "artifacts",
    [
        "- src/login.ts \u2014 the endpoint\n- src/login.test.ts \u2014 tests",
        "- none",
        "- none (nothing changed)",
        "No files changed.",
        "- src/old.ts (deleted)",
        "- src/old.ts \u2014 deleted",
        "- src/old.ts \u2014 removed: nobody used it",
        "- src/ \u2014 all of it",
        "- https://example.org/docs \u2014 the manual",
        "- src/login.ts:12 \u2014 one line",
    ],
)
def test_honest_artifacts_stay_without_a_remark(project: Path, artifacts: str) -> None:
    verdict = check_workspace(reply(ARTIFACTS=artifacts), project, mode="strict")

    assert [each.message for each in verdict.findings if each.severity is not Severity.INFO] == []


def test_commits_among_the_artifacts_are_looked_up(project: Path) -> None:
    git(project, "init", "--quiet")
    sha = commit(project, "feat: login")

    for line in (f"- {sha[:7]} feat: login", f"- commit {sha[:7]}", f"{sha} \u2014 feat: login"):
        named = reply(ARTIFACTS=f"- src/login.ts \u2014 new\n{line}")
        assert check_workspace(named, project, mode="strict").accepted, line

    verdict = check_workspace(
        reply(ARTIFACTS="- src/login.ts \u2014 new\n- deadbee1 feat: login"), project
    )
    assert "evidence/commit-not-found" in rules_of(verdict, Severity.ERROR)


@requirement("P-08")
def test_command_line_and_server_know_the_form_of_the_project(
    project: Path, tmp_path: Path
) -> None:
    good, bad = reply(), reply(NEXT=None)

    assert run("check", "--strict", stdin=good.encode(), cwd=project).code == 0
    assert run("check", "--strict", "--workspace", stdin=good.encode(), cwd=project).code == 0
    assert run("check", "--strict", "--profile", "v1", stdin=good.encode(), cwd=tmp_path).code == 0
    assert (
        run("check", "--strict", "--project", str(project), stdin=good.encode(), cwd=tmp_path).code
        == 0
    )
    assert "section ## NEXT is missing" in run("check", stdin=bad.encode(), cwd=project).out
    assert run("route", "-", "--strict", stdin=good.encode(), cwd=project).code == 0

    with connect(
        create_server(Settings(project=project, hook_tool=True)), PROTOCOL_MODES[0]
    ) as connection:
        for tool in ("validate_report", "route_next_action"):
            answer = connection.tool(tool, text=good, mode="strict").structured_content
            assert answer is not None
            assert (
                answer.get("verdict") if tool == "validate_report" else answer["verdict"]["verdict"]
            ) == "accepted"

        event = {
            "event": "SubagentStop",
            "agent_id": "a",
            "active": "false",
            "agent_type": "goop-executor-low",
        }
        assert connection.tool("hook_check", text=good, **event).structured_content == {}
        sent_back = connection.tool("hook_check", text="Done.", **event).structured_content
        assert sent_back is not None
        assert "## VERIFICATION" in sent_back["reason"]


def test_repairs_keep_the_form_of_the_project(project: Path, tmp_path: Path) -> None:
    here, elsewhere = (
        run("repair", "-", stdin=reply().encode(), cwd=folder) for folder in (project, tmp_path)
    )

    assert (here.code, here.out) == (0, reply())
    assert "would be rejected" not in here.err
    assert "would be rejected" in elsewhere.err
    with connect(create_server(Settings(project=project)), PROTOCOL_MODES[0]) as connection:
        prompt = connection.prompt("repair_report", text="Done.")

    assert "## VERIFICATION" in prompt
    assert "<goop_report" not in prompt


def test_report_in_sections_is_recorded(project: Path) -> None:
    with working_in(project) as project_context:
        recorded = record(project_context, reply(), expected_agent="goop-executor-low")

    assert recorded.status == "recorded"
    assert recorded.decision.verdict.findings == () or all(
        each.severity is Severity.INFO for each in recorded.decision.verdict.findings
    )


def test_hooks_brief_and_judge_in_the_form_of_the_project(project: Path, tmp_path: Path) -> None:
    host = Host(project=project, data=tmp_path / "data")

    context = host.send("SubagentStart", agent_type="goop-executor-low").context
    assert "## VERIFICATION" in context
    assert "goop_report>" not in context
    accepted = host.send(
        "SubagentStop", agent_type="goop-executor-low", last_assistant_message=reply()
    )
    # The person learns that there is no transcript.
    assert json.loads(accepted.ended.out).keys() == {"systemMessage"}
    reason = host.send(
        "SubagentStop", agent_type="goop-executor-low", last_assistant_message="Done."
    ).reason
    assert SKELETON in reason
