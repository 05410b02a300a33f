"""The pages of reports: filters, findings at their place, claims next to evidence."""

import re
from pathlib import Path

import pytest

from goop_mcp.cli.demo import full_texts
from goop_mcp.routing import RoutingContext
from goop_mcp.services.kept_replies import keep_reply
from goop_mcp.services.record_report import record_report
from tests.workbench.browsing import Browser, browse, text_of
from tests.workbench.projects import NOW, opened, play_until

HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=alert(2)>\u202etxt.exe\u2066 \x9b31m"
    ' " onmouseover="alert(3) {{ 7*7 }} {% raw %} javascript:alert(4) </textarea></pre></html>'
)


def numbers(browser: Browser, query: str = "") -> list[int]:
    page = browser.get(f"/reports{query}")
    assert page.status_code == 200
    return [int(each) for each in re.findall(r'href="[^"]*/reports/(\d+)"', page.text)]


def test_a_project_without_reports_says_how_they_come(tmp_path: Path) -> None:
    with browse(tmp_path) as browser:
        page = browser.get("/reports")
    assert "has no reports yet" in text_of(page)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", [9, 8, 7, 6, 5, 4, 3, 2, 1]),
        ("?task=w1.t1", [1]),
        ("?status=BLOCKED", [9]),
        ("?status=PARTIAL&task=W1.T2&text=indented", [7]),
        ("?agent=nobody", []),
        ("?agent=EXEC&verdict=warning", [3, 2]),
        ("?tier=observed", []),
        ("?before=3", [2, 1]),
        ("?round=&before=x&status=", [9, 8, 7, 6, 5, 4, 3, 2, 1]),
    ],
)
def test_the_list_can_be_filtered(tmp_path: Path, query: str, expected: list[int]) -> None:
    play_until(tmp_path, "rule_4")
    with browse(tmp_path) as browser:
        assert numbers(browser, query) == expected


def test_rounds_that_do_not_exist_are_refused(tmp_path: Path) -> None:
    with browse(tmp_path) as browser:
        pages = [browser.get(f"/reports?round={each}") for each in ("2", "99999999999999999")]
        missing = [browser.get(f"/reports/{each}") for each in ("1", "x", "9" * 4_000, "-1")]
    assert [page.status_code for page in pages] == [409, 409]
    assert [page.status_code for page in missing] == [404] * 4


def test_findings_stand_at_their_lines_and_claims_next_to_their_evidence(tmp_path: Path) -> None:
    play_until(tmp_path, "failed_check")
    with browse(tmp_path) as browser:
        page = browser.get(f"/reports/{numbers(browser)[0]}")

    assert '<check name="tests" passed="false">10 passed, 2 failed</check>' in text_of(
        page, ".reply mark.warning"
    )
    assert "complete-with-failed-check" in text_of(page, ".reply .finding")
    assert "check 'tests' failed only the report only claimed" in text_of(page, "tbody")
    assert "G2" in text_of(page, "#decision-title ~ dl")


def test_the_whole_reply_is_shown_while_it_is_kept(tmp_path: Path) -> None:
    play_until(tmp_path, "execute")
    reply = full_texts.report("W1.T1", of=(3, 2), summary="Pages are read", before="I read on.")
    with opened(tmp_path) as project:
        recorded = record_report(
            reply, RoutingContext.from_dict({}), project, check_workspace=False, now=NOW
        )
        assert recorded.status == "recorded"
        keep_reply(project.store, reply, agent="goop-executor", key="1", now=NOW)
    with browse(tmp_path) as browser:
        page = browser.get(f"/reports/{numbers(browser)[0]}")

    assert "Reply with findings" in text_of(page)
    assert "I read on." in text_of(page, ".reply")


def test_a_hostile_report_is_only_text(tmp_path: Path) -> None:
    play_until(tmp_path, "execute")
    safe = HOSTILE.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    reply = full_texts.report(
        "W1.T1", "BLOCKED", of=(3, 2), summary=safe, blockers=safe, checks="", next_action=safe
    )
    with opened(tmp_path) as project:
        recorded = record_report(
            reply, RoutingContext.from_dict({}), project, check_workspace=False, now=NOW
        )
        assert recorded.status == "recorded", recorded
    with browse(tmp_path) as browser:
        number = numbers(browser)[0]
        pages = [browser.get(each) for each in ("/", "/reports", f"/reports/{number}")]

    for page in pages:
        assert page.status_code == 200
        assert "<script>alert" not in page.text
        assert "<img" not in page.text
        assert "{{ 7*7 }}" in page.text.replace("&#34;", '"')
        assert not set("\u202e\u2066\x9b") & set(page.text)
        # Lists shorten texts, and show such characters as escapes then.
        shown = ("⟦U+202E⟧txt.exe⟦U+2066⟧", "\\u202etxt.exe\\u2066")
        assert any(each in page.text for each in shown)


def test_a_report_is_withdrawn_with_a_reason(tmp_path: Path) -> None:
    play_until(tmp_path, "w1_t1")
    with browse(tmp_path) as browser:
        empty = browser.post("/reports/1/withdraw", {"reason": " "})
        done = browser.post("/reports/1/withdraw", {"reason": "It was for another project"})

    assert "Write why" in text_of(empty, "#notes")
    assert "does not count: it was withdrawn" in text_of(done).replace("It does", "does")
    assert "workbench " in (tmp_path / ".goopspec" / "ADL.md").read_text()
