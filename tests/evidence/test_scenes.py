"""Evidence as its users meet it: in a retry loop, in a project, on the command line."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from goop_mcp import Expectations, UnknownNameError, ask_until_accepted_sync, validate
from goop_mcp.cli.rendering.program_formats import render_sarif
from goop_mcp.cli.rendering.text import render_text
from goop_mcp.context import AppContext
from goop_mcp.evidence import AgentActivity, Evidence, ObservedCommand, ObservedFile
from goop_mcp.routing import RoutingContext
from goop_mcp.services.check_files import CheckedFile, FileVerdicts
from goop_mcp.services.check_workspace import check_workspace
from goop_mcp.services.record_report import record_report
from goop_mcp.services.recorded_reports import ReportArgumentError, show_report
from goop_mcp.services.report_pages import report_page
from goop_mcp.services.stats import project_stats
from goop_mcp.services.stats_page import stats_page
from goop_mcp.settings import Settings
from goop_mcp.validation.samples import COMPLETE_REPLY
from goop_mcp.validation.verdict import Verdict

FAILED = ObservedCommand(
    position=3,
    line="pytest -q",
    status=1,
    output=(
        "FAILED tests/test_login.py::test_a - x\nFAILED tests/test_login.py::test_b - y\n"
        "2 failed, 10 passed in 0.1s"
    ),
    source="transcript line 31",
)
PASSED = ObservedCommand(
    position=9, line="pytest -q", status=0, output="12 passed in 0.1s", source="transcript line 47"
)
WROTE = ObservedFile(
    position=1, path="/p/src/login.py", action="written", source="transcript line 12"
)
HONEST = COMPLETE_REPLY.replace("<status>COMPLETE", "<status>PARTIAL").replace(
    '<check name="tests" passed="true">pytest: 12 passed',
    '<check name="tests" passed="false">pytest: 2 failed, 10 passed',
)


def activity(*commands: ObservedCommand) -> AgentActivity:
    return AgentActivity(host="claude-code", complete=True, commands=commands, files=(WROTE,))


def test_an_agent_that_claims_passing_tests_is_sent_back_and_its_honest_report_accepted() -> None:
    messages: list[str] = []

    def agent(message: str) -> str:
        messages.append(message)
        return COMPLETE_REPLY if len(messages) == 1 else HONEST

    outcome = ask_until_accepted_sync(
        agent, "Add the login endpoint.", evidence=lambda: activity(FAILED)
    )
    assert outcome.accepted
    assert len(messages) == 2
    assert (
        "tests is reported as passed; the last run of pytest in this task failed: 2 failed,"
        " test_a, test_b"
    ) in messages[1]
    assert "Fix them and run it again, or report PARTIAL." in messages[1]


def test_an_honest_agent_is_not_asked_again() -> None:
    messages: list[str] = []

    def agent(message: str) -> str:
        messages.append(message)
        return COMPLETE_REPLY

    seen = Evidence(activity=activity(FAILED, PASSED))
    assert ask_until_accepted_sync(agent, "Do it.", evidence=seen, require="observed").accepted
    assert len(messages) == 1


def test_every_claim_has_its_tier_and_where_it_was_seen() -> None:
    verdict = validate(COMPLETE_REPLY, evidence=activity(FAILED, PASSED))
    assert [(item.claim, item.tier, item.source) for item in verdict.evidence] == [
        ("check 'tests' passed", "observed", "transcript line 47"),
        ("file 'src/login.py' created", "observed", "transcript line 12"),
        ("commit 'a1b2c3d'", "claimed", ""),
        ("memory 'Sessions are kept in Redis'", "claimed", ""),
    ]
    assert verdict.tiers == {"observed": 2, "claimed": 2}
    assert Verdict.from_dict(verdict.to_dict()).evidence == verdict.evidence


def test_without_evidence_nothing_changes_and_nothing_is_loaded() -> None:
    program = (
        "import sys; from goop_mcp import validate; from goop_mcp.validation.samples import"
        " COMPLETE_REPLY as r; v = validate(r);"
        "print(sorted(m for m in sys.modules if 'goop_mcp.evidence' in m), 'evidence' in"
        " v.to_dict(), v.evidence)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120
    )
    assert ended.stdout.strip() == "[] False ()"


def test_a_policy_asks_for_more_than_the_word_of_the_report() -> None:
    nothing = validate(COMPLETE_REPLY, require="observed")
    assert [each.rule for each in nothing.findings if each.severity == "error"] == [
        "evidence/check-not-run"
    ]
    assert validate(COMPLETE_REPLY, evidence=activity(PASSED), require="observed").accepted
    assert not validate(COMPLETE_REPLY, evidence=activity(PASSED), require="recorded").accepted
    # A partial report has not to prove anything.
    assert validate(HONEST, require="observed", evidence=activity(FAILED)).accepted

    stale = activity(
        PASSED.__class__(position=0, line="pytest", status=0, output="12 passed in 1s")
    )
    assert validate(COMPLETE_REPLY, evidence=stale).accepted
    assert not validate(COMPLETE_REPLY, evidence=stale, require="observed").accepted


def test_a_reader_that_fails_accuses_nobody() -> None:
    def broken() -> Evidence:
        raise OSError("no such file")

    verdict = validate(COMPLETE_REPLY, evidence=broken)
    assert verdict.accepted
    (finding,) = verdict.findings
    assert finding.rule == "evidence/not-checked"
    assert "OSError" in finding.message


def test_mistakes_of_the_caller_are_named() -> None:
    with pytest.raises(UnknownNameError, match="tier"):
        validate(COMPLETE_REPLY, require=cast(Any, "seen"))
    with pytest.raises(TypeError, match="ObservedCommand"):
        Evidence(commands=cast(Any, ("pytest",)))
    with pytest.raises(TypeError, match="evidence is str"):
        validate(COMPLETE_REPLY, evidence=cast(Any, "pytest passed"))


def test_all_protocols_report_their_checks() -> None:
    factory = json.dumps(
        {
            "status": "success",
            "confidence": "high",
            "deliverables": [],
            "summary": "Built it",
            "next_action": "proceed",
            "checks": [{"name": "tests", "passed": True, "evidence": "12 passed"}],
        }
    )
    verdict = validate(f"```json\n{factory}\n```", evidence=activity(FAILED))
    assert "evidence/check-failed" in {each.rule for each in verdict.findings}
    assert verdict.evidence[0].path == "/checks/0"


def test_a_project_keeps_the_evidence_and_shows_it(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "login.py").write_text("x = 1\n", encoding="utf-8")
    reply = COMPLETE_REPLY.replace(
        "pytest: 12 passed</check>",
        'pytest: 12 passed</check>\n    <check name="lint" passed="true">ruff</check>',
    )
    start = reply.index("    <commits>")
    reply = reply[:start] + reply[reply.index("  </artifacts>") :]
    with AppContext(Settings(project=tmp_path)) as application:
        verdict = check_workspace(
            reply, tmp_path, expected=Expectations(), evidence=activity(PASSED)
        )
        assert verdict.accepted, verdict.findings
        recorded = record_report(
            reply,
            RoutingContext(),
            application.writing_context(),
            verdict=verdict,
            now="2026-01-15T08:00:00Z",
        )
        assert recorded.status == "recorded"
        chronicle = (tmp_path / ".goopspec" / "CHRONICLE.md").read_text(encoding="utf-8")
        assert "check lint passed" in chronicle
        assert "check tests passed" not in chronicle

        stats = project_stats(application.store)
        assert stats.to_dict()["tiers"] == {"claimed": 2, "observed": 2}
        assert "50.0% observed (2), 50.0% only claimed (2)" in stats_page(stats)

        shown = show_report(application.store, 1)
        assert "transcript line 47" in report_page(shown)
        (claim,) = shown.explain("tests")
        assert (claim["tier"], claim["source"]) == ("observed", "transcript line 47")
        with pytest.raises(ReportArgumentError, match="its claims are"):
            shown.explain("deployment")


def test_texts_show_contradictions_and_one_line_and_sarif_has_all() -> None:
    verdict = validate(COMPLETE_REPLY, evidence=activity(FAILED))
    checked = CheckedFile(file="reply.md", text=COMPLETE_REPLY, verdict=verdict)
    text = render_text(FileVerdicts(checked=(checked,), unread=()))
    assert "evidence/check-failed" in text
    assert "Claims: 1 observed, 3 only claimed" in text

    unseen = CheckedFile(
        file="reply.md", text=COMPLETE_REPLY, verdict=validate(COMPLETE_REPLY, evidence=activity())
    )
    assert "evidence/check-not-run" not in render_text(FileVerdicts(checked=(unseen,), unread=()))

    sarif = json.loads(render_sarif(FileVerdicts(checked=(checked,), unread=())))
    (run,) = sarif["runs"]
    assert run["properties"]["evidence"]["reply.md"][0]["tier"] == "claimed"
    tiers = [each["properties"]["tier"] for each in run["results"] if "properties" in each]
    assert tiers == ["claimed", "claimed"]


def test_secrets_of_a_transcript_are_not_shown() -> None:
    secret = "ghp_" + "a1B2" * 9
    line = ObservedCommand(
        position=9, line=f"GITHUB_TOKEN={secret} ./run_tests.sh", status=0, output="ok"
    )
    verdict = validate(COMPLETE_REPLY, evidence=activity(FAILED, line))
    assert "run_tests" in str(verdict.to_dict()["evidence"])
    assert secret not in str(verdict.to_dict())
