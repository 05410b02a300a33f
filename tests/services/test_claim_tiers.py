"""Where a person decides, it stands what each claim rests on, in the same words everywhere."""

import json
from pathlib import Path
from typing import Any

import pytest

from goop_mcp.context import AppContext
from goop_mcp.evidence import AgentActivity, Evidence, ObservedCommand
from goop_mcp.routing import RoutingContext
from goop_mcp.server import create_server
from goop_mcp.services.check_workspace import check_workspace
from goop_mcp.services.project_status import project_status
from goop_mcp.services.record_report import record_report
from goop_mcp.settings import Settings
from goop_mcp.validation.tiers import tiers_in_words
from goop_mcp.workspace.report_claims import RoundClaims
from tests.cli.running import answer_on_terminal, run
from tests.server.connections import connect, text_of
from tests.server.test_asking import accepting
from tests.services.reporting import NOW, record, report, working_in
from tests.workbench.browsing import browse
from tests.workbench.browsing import text_of as page_text
from tests.workbench.projects import play_until
from tests.workspace.true_projects import commit, git

MUST_HAVES = "4 must-haves claimed, 0 observed (report 19)"
TASKS = "6 verified, 6 only claimed"
SENTENCE = f"{MUST_HAVES}. Tasks: {TASKS}."
ROUND = {
    "must_haves": {f"MH{number}": "claimed" for number in range(1, 5)},
    "report": 19,
    "tasks": {"verified": 6, "claimed": 6},
}


@pytest.fixture
def verified(tmp_path: Path) -> Path:
    """Return a project that waits for acceptance; no transcript of its agents was read."""
    play_until(tmp_path, "verification")
    return tmp_path


def as_json(project: Path, *arguments: str) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(run(*arguments, "--format", "json", cwd=project).out)
    return values


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        (RoundClaims(), "no must-haves"),
        (RoundClaims(of=1), "0 of 1 must-have claimed, 0 observed"),
        (RoundClaims(of=2), "0 of 2 must-haves claimed, 0 observed"),
        (RoundClaims(of=1, must_haves={"MH1": "claimed"}), "1 must-have claimed, 0 observed"),
        (
            RoundClaims(of=2, must_haves={"MH1": "claimed", "MH2": "claimed"}, report=7),
            "2 must-haves claimed, 0 observed (report 7)",
        ),
        (
            RoundClaims(of=3, must_haves={"MH1": "claimed", "MH3": "observed"}),
            "2 of 3 must-haves claimed, 1 observed (MH3)",
        ),
        (
            RoundClaims(of=2, must_haves={"MH1": "recorded", "MH2": "observed"}),
            "2 must-haves claimed, 1 recorded (MH1), 1 observed (MH2)",
        ),
        (
            RoundClaims(of=2, must_haves={"MH1": "observed", "MH2": "observed"}),
            "2 must-haves claimed, 2 observed",
        ),
    ],
)
def test_must_haves_are_counted_by_what_they_rest_on(claims: RoundClaims, expected: str) -> None:
    assert claims.about_must_haves == expected


def test_counts_are_in_words_with_the_strongest_first() -> None:
    counts = {"claimed": 3, "observed": 1, "recorded": 0, "verified": 2}
    assert tiers_in_words(counts) == "2 verified, 1 observed, 3 only claimed"
    assert tiers_in_words({}) == "no claims"


def test_a_terminal_and_the_documents_say_what_an_acceptance_rests_on(verified: Path) -> None:
    asked = answer_on_terminal("project", "accept", "--outcome", "accept", cwd=verified)
    assert asked.code == 0
    assert SENTENCE in asked.out
    for name in ("ADL.md", "HANDOFF.md"):
        assert SENTENCE in (verified / ".goopspec" / name).read_text(encoding="utf-8")

    archived = verified / ".goopspec" / "archive" / "round-1" / "CHRONICLE.md"
    texts = [verified / ".goopspec" / "CHRONICLE.md", archived]
    written = [each.read_text(encoding="utf-8") for each in texts if each.exists()]
    assert any(f"round 1 closed: accept; {MUST_HAVES}" in text for text in written)
    assert not any("must-haves passed" in text for text in (asked.out, *written))


def test_a_client_asks_with_what_the_acceptance_rests_on(verified: Path) -> None:
    person = accepting({"choice": "do not accept"})
    server = create_server(Settings(project=verified))
    with connect(server, "legacy", elicitation=person) as client:
        client.tool("update_project", action="accept", outcome="accept")
        status = client.tool("project_status")

    (asked,) = person.asked
    assert asked.message.split("\n")[1:] == [SENTENCE]
    assert all(len(line) <= 100 for line in asked.message.split("\n"))
    assert MUST_HAVES in text_of(status)
    assert (status.structured_content or {})["claims"] == ROUND


def test_without_a_person_the_answer_has_the_same_words_and_values(verified: Path) -> None:
    waiting = as_json(verified, "project", "accept", "--outcome", "accept")
    assert waiting["question"][1:] == [SENTENCE]
    assert waiting["claims"] == ROUND
    rejection = as_json(verified, "project", "accept", "--outcome", "reject")
    assert rejection["question"][1] == SENTENCE

    status = run("status", cwd=verified).out
    assert MUST_HAVES in status
    assert f"tasks: {TASKS}" in status
    assert as_json(verified, "status")["claims"] == ROUND


def test_the_pages_say_it_where_a_person_accepts_and_reads(verified: Path) -> None:
    with browse(verified) as browser:
        now, reports = browser.get("/"), browser.get("/reports")
        verification, task = browser.get("/reports/19"), browser.get("/reports/18")
        by_tier = browser.get("/reports?tier=verified&task=W3.T2")

    assert SENTENCE in page_text(now, "fieldset")
    assert "4 only claimed" in page_text(reports, "tbody")
    assert "1 verified, 1 only claimed" in page_text(reports, "tbody")
    claims = page_text(verification, "section[aria-labelledby=claims-title]")
    assert "Every claim rests on the agent's word" in claims
    assert "check 'MH1' passed only the report only claimed" in claims
    claims = page_text(task, "section[aria-labelledby=claims-title]")
    assert "the project: found as claimed verified" in claims
    assert "the report itself" not in claims
    assert "/reports/18" in by_tier.text
    assert "/reports/19" not in by_tier.text


# Reports


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """Return a reply about a file and its commit, which are in the project around it."""
    git(tmp_path, "init", "--quiet")
    (tmp_path / ".goopspec").mkdir()
    (tmp_path / "login.py").write_text("x = 1\n", encoding="utf-8")
    sha = commit(tmp_path, "feat(auth): add login")
    reply = report("W1.T1", wave="1", evidence="12 passed").replace(
        "<files/><commits/>",
        '<files><file path="login.py" action="created">Login</file></files>'
        f'<commits><commit sha="{sha}">feat(auth): add login</commit></commits>',
    )
    file = tmp_path / "reply.md"
    file.write_text(reply, encoding="utf-8")
    return file


def test_files_and_commits_that_were_found_are_verified(built: Path) -> None:
    project = built.parent
    recorded = run("reports", "record", str(built), cwd=project)
    assert recorded.code == 0, recorded.out
    assert "Claims: 2 verified, 1 only claimed." in recorded.out
    again = as_json(project, "reports", "record", str(built))
    assert again["claims"] == {"verified": 2, "claimed": 1}

    for part, detail in (("login.py", "found as claimed"), ("commit", "found as claimed")):
        (claim,) = json.loads(
            run("evidence", "explain", "1", part, "--format", "json", cwd=project).out
        )
        assert (claim["tier"], claim["source"]) == ("verified", "the project")
        assert claim["detail"] == detail
    assert "only claimed" in run("evidence", "explain", "1", "tests", cwd=project).out

    (listed,) = as_json(project, "reports", "list")["reports"]
    assert listed["claims"] == {"verified": 2, "claimed": 1}
    assert "| 2 verified, 1 only claimed |" in run("reports", "list", cwd=project).out
    shown = run("reports", "show", "1", cwd=project).out
    assert "| Claims | 2 verified, 1 only claimed |" in shown
    assert "| file 'login.py' created | verified | the project | found as claimed |" in shown


def test_what_is_there_and_in_doubt_is_not_verified(built: Path) -> None:
    project = built.parent
    # The commit that is named is one of other work, and git has a warning about that.
    (project / "other.py").write_text("y = 1\n", encoding="utf-8")
    reply = built.read_text(encoding="utf-8")
    other = commit(project, "feat(auth): add login")
    reply = reply.replace(git(project, "rev-parse", "HEAD~1"), other)
    verdict = check_workspace(reply, project)
    assert {each.rule for each in verdict.findings} >= {"evidence/commit-unrelated"}
    assert {each.claim.split()[0]: each.tier for each in verdict.evidence} == {
        "check": "claimed",
        "file": "verified",
        "commit": "claimed",
    }


def test_what_was_not_looked_at_is_only_claimed(built: Path) -> None:
    project = built.parent
    verdict = check_workspace(built.read_text(encoding="utf-8"), project, seconds=0.0)
    assert {each.tier for each in verdict.evidence if "file" in each.claim} == {"claimed"}

    server = create_server(Settings(project=project))
    with connect(server, "legacy") as client:
        answer = client.tool(
            "record_report", text=built.read_text(encoding="utf-8"), check_workspace=False
        )
    # One line says so, with the reason, and none counts them in another way.
    assert "not verified: 3 of 3 claims, because " in text_of(answer)
    assert "claims: 3" not in text_of(answer)
    assert (answer.structured_content or {})["claims"] == {"claimed": 3}
    assert "claims" not in (answer.structured_content or {})["verdict"]


def test_a_report_without_claims_says_so(tmp_path: Path) -> None:
    start = '<check name="tests" passed="true">ran</check>'
    with working_in(tmp_path) as project:
        record(project, report("W1.T1", wave="1", status="PARTIAL").replace(start, ""))
        status = project_status(project)

    assert status.claims.about_tasks == "no claims"
    assert "| no claims |" in run("reports", "list", cwd=tmp_path).out
    explained = run("evidence", "explain", "1", "tests", cwd=tmp_path)
    assert explained.code == 1
    assert "report 1 claims no check, file, commit or memory" in explained.err


def test_a_must_have_that_a_host_saw_pass_is_observed(verified: Path) -> None:
    ran = ObservedCommand(
        position=1, line="pytest -q -k mh1", status=0, output="3 passed in 0.1s", source="line 4"
    )
    activity = AgentActivity(host="claude-code", complete=True, commands=(ran,))
    reply = report(agent="goop-verifier", phase="accept", wave="3").replace(
        '<check name="tests" passed="true">ran</check>',
        '<check name="MH1 tests" passed="true">pytest -q -k mh1: 3 passed</check>'
        '<check name="MH2" passed="true">seen</check>',
    )
    reply = reply.replace(
        "<agent>goop-executor</agent>\n  <task_id>W2.T1</task_id>", "<agent>goop-verifier</agent>"
    )
    with AppContext(Settings(project=verified)) as application:
        verdict = check_workspace(reply, verified, evidence=Evidence(activity=activity))
        assert verdict.accepted, verdict.findings
        context = application.writing_context()
        record_report(reply, RoutingContext(), context, verdict=verdict, now=NOW)
        claims = project_status(context).claims

    assert claims.must_haves == {"MH1": "observed", "MH2": "claimed"}
    assert claims.about_must_haves == "2 of 4 must-haves claimed, 1 observed (MH1) (report 20)"
