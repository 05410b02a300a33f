"""A person checks a reply, writes a handoff and looks at the agents, in Chromium."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.cli.running import REJECTED
from tests.ui.conftest import Start, Visit


def test_the_verdict_follows_what_is_typed(start: Start, visit: Visit) -> None:
    page = visit(start(None)).new_page()
    page.goto("./check")
    page.get_by_label("Paste or drop").fill(REJECTED.read_text(encoding="utf-8"))
    expect(page.locator("#result")).to_contain_text("goop_report/unknown-status")
    page.get_by_label("Paste or drop").fill("no envelope at all")
    expect(page.locator("#result")).to_contain_text("envelope/no-envelope")


@pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])
def test_a_template_becomes_a_handoff_in_its_folder(
    start: Start, visit: Visit, tmp_path: Path, script: bool
) -> None:
    page = visit(start(None), java_script_enabled=script).new_page()
    page.goto("./templates")
    page.get_by_role("link", name="Validate a service").click()
    for slot, value in {
        "goal": "Know that it works",
        "service": "grafana",
        "checks": "- /health",
        "result_file": "reports/grafana.json",
    }.items():
        page.locator(f"#slot-{slot}").fill(value)
    page.get_by_role("button", name="Use it").click()
    expect(page.locator("#result")).to_contain_text("The gate accepts this prompt")
    page.get_by_role("button", name="Write into the session folder").click()
    expect(page.locator(".note.done")).to_contain_text("Written: docs/.scratch/sessions/")
    assert len(list((tmp_path / "linkcheck").glob("docs/.scratch/sessions/*/prompt.md"))) == 1


def test_a_reload_in_the_middle_of_a_handoff_loses_nothing(start: Start, visit: Visit) -> None:
    page = visit(start(None)).new_page()
    page.goto("./handoff")
    page.get_by_label("Goal").fill("Let users log in")
    page.get_by_label("Workflow").select_option("TDD")
    page.get_by_label("Path").first.fill("src/login.py")
    expect(page.locator("#prompt")).to_contain_text("Let users log in")
    page.reload()
    expect(page.get_by_label("Goal")).to_have_value("Let users log in")
    expect(page.get_by_label("Workflow")).to_have_value("TDD")
    expect(page.get_by_label("Path").first).to_have_value("src/login.py")
    expect(page.locator("#prompt")).to_contain_text("src/login.py")


def test_the_enter_key_writes_nothing(start: Start, visit: Visit, tmp_path: Path) -> None:
    page = visit(start(None)).new_page()
    page.goto("./handoff")
    page.get_by_label("Goal").fill("Let users log in")
    page.get_by_label("Agent that does it").press("Enter")
    expect(page.locator("#result")).to_contain_text("not valid yet")
    expect(page.get_by_label("Path")).to_have_count(2)
    assert not (tmp_path / "linkcheck" / "docs").exists()


def test_a_description_is_drafted_while_it_is_written(start: Start, visit: Visit) -> None:
    page = visit(start(None)).new_page()
    page.goto("./draft")
    page.get_by_label("Describe the task").fill("Goal: Let users log in\nPriority: urgent")
    expect(page.locator("#result")).to_contain_text("Line 2 says Priority 'urgent'")
    page.get_by_role("button", name="Go on in the form").click()
    expect(page.get_by_label("Goal")).to_have_value("Let users log in")
