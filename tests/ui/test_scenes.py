"""What people do at the workbench, in Chromium, with the real program on a terminal."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from playwright.sync_api import Page, expect

from goop_mcp.cli.demo import full_texts
from goop_mcp.routing import RoutingContext
from goop_mcp.services.kept_replies import keep_reply
from goop_mcp.services.project_status import project_status
from goop_mcp.services.record_report import record_report
from tests.server.http.serving import environment
from tests.ui.conftest import Person, Start, Visit
from tests.ui.running import PATIENCE
from tests.workbench.projects import NOW, opened
from tests.workbench.test_reports import HOSTILE

PATIENCE_MS = 20_000


def state_of(project: Path) -> tuple[str | None, bool | None]:
    with opened(project) as context:
        status = project_status(context)
    return status.phase, status.spec_locked


def lock(page: Page, person: Person) -> None:
    page.goto("./")
    page.get_by_role("button", name="Lock the specification").click()
    expect(page.get_by_text("3 must-haves, all traced to tasks")).to_be_visible()
    page.get_by_role("button", name="Lock", exact=True).click()
    person.type_code(page)
    expect(page.locator(".note.done")).to_contain_text("is locked")


@pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])
def test_a_person_locks_a_specification(
    start: Start, visit: Visit, tmp_path: Path, script: bool
) -> None:
    ui = start("blueprint")
    person = visit(ui, java_script_enabled=script)
    lock(person.new_page(), person)
    assert state_of(tmp_path / "linkcheck")[1] is True


@pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])
def test_a_person_accepts_a_round(start: Start, visit: Visit, tmp_path: Path, script: bool) -> None:
    ui = start("verification")
    person = visit(ui, java_script_enabled=script)
    page = person.new_page()
    page.goto("./")
    rests_on = "4 must-haves claimed, 0 observed (report 19). Tasks: 6 verified, 6 only claimed."
    expect(page.get_by_role("group", name="Accept the round")).to_contain_text(rests_on)
    page.get_by_label("accept", exact=True).check()
    page.get_by_label("Comment").fill("All of it works")
    page.get_by_role("button", name="Go on").click()
    expect(page.get_by_text(rests_on)).to_be_visible()
    expect(page.get_by_role("definition").filter(has_text="All of it works")).to_be_visible()
    page.get_by_role("button", name="Accept", exact=True).click()
    person.type_code(page)
    expect(page.locator(".note.done")).to_contain_text("Round 1 is closed")
    assert state_of(tmp_path / "linkcheck")[0] == "idle"


def record_over_mcp(project: Path, reply: str) -> dict[str, Any]:
    """Record a report as an agent's host does: through a server of its own."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "goop_mcp", "serve"],
        env=environment(),
        cwd=project,
    )

    async def call() -> dict[str, Any]:
        async with Client(server) as client:
            result = await client.call_tool(
                "record_report", {"text": reply, "check_workspace": False}
            )
        return dict(result.structured_content or {})

    # In a thread of its own: the browser's driver has a loop in this one.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(anyio.run, call).result(timeout=PATIENCE)


def test_a_report_of_an_agent_appears_on_open_pages(
    start: Start, visit: Visit, tmp_path: Path
) -> None:
    ui = start("execute")
    context = visit(ui)
    now, listed = context.new_page(), context.new_page()
    now.goto("./")
    listed.goto("./reports")
    expect(listed.get_by_text("has no reports yet")).to_be_visible()

    reply = full_texts.report("W1.T1", of=(3, 2), summary="All pages are read live")
    assert record_over_mcp(tmp_path / "linkcheck", reply)["status"] == "recorded"

    expect(listed.get_by_text("All pages are read live")).to_be_visible(timeout=PATIENCE_MS)
    expect(now.locator(".task.s-done")).to_contain_text("W1.T1", timeout=PATIENCE_MS)
    # Lists of others stay as they were, however often the project changes.
    assert now.locator("h1").count() == 1


def test_a_hostile_report_does_nothing(start: Start, visit: Visit, tmp_path: Path) -> None:
    ui = start("execute")
    safe = HOSTILE.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    long = "<img src=https://evil.example/x.png> "
    with opened(tmp_path / "linkcheck") as project:
        for task, summary in (("W1.T1", safe), ("W1.T2", 1_000 * long.replace("<", "&lt;"))):
            reply = full_texts.report(
                task,
                "BLOCKED",
                of=(3, 2),
                summary=summary,
                blockers=safe,
                checks="",
                before=52_000 * long,
            )
            context = RoutingContext.from_dict({})
            recorded = record_report(reply, context, project, check_workspace=False, now=NOW)
            assert recorded.status == "recorded"
            keep_reply(project.store, reply, agent="goop-executor", key="1", now=NOW)

    page = visit(ui).new_page()
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    for address in ("/", "/reports", "/reports/1", "/reports/2"):
        page.goto(f".{address}")
        expect(page.locator("h1")).to_be_visible()
        assert page.locator("main img, main script, main [onmouseover]").count() == 0
        assert page.title().endswith("goop-mcp")
    assert dialogs == []


def test_the_keyboard_is_enough(start: Start, visit: Visit, tmp_path: Path) -> None:
    ui = start("blueprint")
    page = visit(ui).new_page()
    page.goto("./")

    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Skip to the content")
    page.keyboard.press("Enter")
    assert page.url.endswith("#main")
    for _ in range(30):
        page.keyboard.press("Tab")
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid", page.evaluate("document.activeElement.outerHTML")
        if "Lock the specification" in page.locator(":focus").inner_text():
            break
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Lock", exact=True)).to_be_visible()
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.locator(":focus").inner_text() == "Lock":
            break
    page.keyboard.press("Enter")
    expect(page.locator(".note.done")).to_contain_text("is locked")
    assert state_of(tmp_path / "linkcheck")[1] is True


def test_a_reload_in_the_middle_of_an_edit_loses_nothing(
    start: Start, visit: Visit, tmp_path: Path
) -> None:
    ui = start("rule_4")
    page = visit(ui).new_page()
    page.goto("./")
    page.get_by_label("none of these").check()
    page.get_by_label("Comment").first.fill("Ask Maria first")
    page.reload()
    expect(page.get_by_label("Comment").first).to_have_value("Ask Maria first")
    expect(page.get_by_label("none of these")).to_be_checked()

    # A change that comes meanwhile does not take the text away either.
    reply = full_texts.report("W2.T2", of=(3, 2), summary="Anchors are found")
    with opened(tmp_path / "linkcheck") as project:
        context = RoutingContext.from_dict({})
        record_report(reply, context, project, check_workspace=False, now=NOW)
    expect(page.get_by_text("There is something new")).to_be_visible(timeout=PATIENCE_MS)
    expect(page.get_by_label("Comment").first).to_have_value("Ask Maria first")

    page.get_by_role("button", name="Decide").click()
    expect(page.locator(".note.done")).to_contain_text("Ask Maria first")
    # What was sent is not offered again.
    assert page.evaluate("Object.keys(sessionStorage).length") == 0


@pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])
def test_no_answer_is_chosen_before_a_person_chooses(
    start: Start, visit: Visit, tmp_path: Path, script: bool
) -> None:
    ui = start("rule_4")
    page = visit(ui, java_script_enabled=script).new_page()
    page.goto("./")
    assert page.locator("input[type=radio]:checked").count() == 0
    page.get_by_role("button", name="Decide").click()
    page.get_by_label("Comment").first.press("Enter")
    # The browser asks for a choice, and sends nothing.
    expect(page.locator("#notes .note")).to_have_count(0)
    with opened(tmp_path / "linkcheck") as project:
        assert len(project_status(project).blockers) == 1

    # Neither is that of an earlier blocker of the task, once its agent asks something else.
    page.get_by_label("B) Take several folders").check()
    page.get_by_label("Comment").first.fill("of the first question")
    blockers = "RULE 4 DEVIATION: which links? Options: A) all, B) none"
    reply = full_texts.report(
        "W2.T1", "BLOCKED", of=(3, 2), summary="Which links?", blockers=blockers, next_agent="user"
    )
    with opened(tmp_path / "linkcheck") as project:
        context = RoutingContext.from_dict({})
        record_report(reply, context, project, check_workspace=False, now=NOW)
    page.goto("./")
    expect(page.get_by_text("A) all", exact=True)).to_be_visible()
    assert page.locator("input[type=radio]:checked").count() == 0
    expect(page.get_by_label("Comment").first).to_have_value("")


@pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])
def test_return_in_a_text_field_confirms_nothing(
    start: Start, visit: Visit, tmp_path: Path, script: bool
) -> None:
    ui = start("blueprint")
    person = visit(ui, java_script_enabled=script)
    page = person.new_page()
    page.goto("./")
    page.get_by_role("button", name="Lock the specification").click()
    page.get_by_label("Comment").fill("Looks good")
    page.get_by_label("Comment").press("Enter")
    expect(page.get_by_role("button", name="Lock", exact=True)).to_be_visible()
    assert state_of(tmp_path / "linkcheck")[1] is False
    page.get_by_role("button", name="Lock", exact=True).click()
    person.type_code(page)
    expect(page.locator(".note.done")).to_contain_text("is locked")


def test_a_person_replaces_a_decision(start: Start, visit: Visit, tmp_path: Path) -> None:
    ui = start("rule_4")
    page = visit(ui).new_page()
    page.goto("./")
    page.get_by_label("A) Read one folder only").check()
    page.get_by_role("button", name="Decide").click()
    expect(page.get_by_role("heading", name="Decided")).to_be_visible()
    page.locator("summary", has_text="A) Read one folder only").click()
    page.get_by_label("B) Take several folders").check()
    page.get_by_role("button", name="Replace the decision").click()
    expect(page.locator(".note.done")).to_contain_text("It replaces A) Read one folder only")
    expect(page.locator("summary", has_text="B) Take several folders")).to_be_visible()
    log = (tmp_path / "linkcheck" / ".goopspec" / "ADL.md").read_text()
    assert "Decision: A) Read one folder only" in log
    assert "Decision: B) Take several folders" in log


def test_two_people_decide_one_thing(start: Start, visit: Visit) -> None:
    ui = start("rule_4")
    context = visit(ui)
    first, second = context.new_page(), context.new_page()
    second.goto("./")
    # Without the stream of changes the second page is as old as that of a slow network.
    second.route("**/live*", lambda route: route.abort())
    second.reload()
    first.goto("./")
    first.get_by_label("A) Read one folder only").check()
    first.get_by_role("button", name="Decide").click()
    expect(first.locator(".note.done")).to_contain_text("Read one folder only")

    second.get_by_label("B) Take several folders").check()
    second.get_by_role("button", name="Decide").click()
    expect(second.locator("#notes .refused")).to_contain_text("No blocker waits for a decision")


def test_who_may_only_look_has_no_buttons(start: Start, visit: Visit, tmp_path: Path) -> None:
    ui = start("blueprint", "--read-only")
    page = visit(ui).new_page()
    page.goto("./")
    expect(page.get_by_text("read-only")).to_be_visible()
    assert page.locator("main button").count() == 0
    answer = page.evaluate(
        """async () => {
          const csrf = document.querySelector("[name=csrf]").value;
          const body = new URLSearchParams({csrf, action: "lock_spec"});
          const address = document.documentElement.dataset.root + "/steps";
          return (await fetch(address, {method: "POST", body})).status;
        }"""
    )
    assert answer == 403
    assert state_of(tmp_path / "linkcheck")[1] is False


def test_a_used_address_and_an_ended_login_say_what_to_do(start: Start, visit: Visit) -> None:
    ui = start("blueprint")
    first = visit(ui)
    page = visit(ui, logs_in=False).new_page()
    page.goto(ui.address)
    expect(page.get_by_text("was used already")).to_be_visible()
    page.goto("./reports")
    expect(page.get_by_text("goop-mcp ui", exact=True)).to_be_visible()

    one, two = first.new_page(), first.new_page()
    one.goto("./")
    two.goto("./")
    two.get_by_role("button", name="Log out").click()
    expect(two.get_by_text("You are logged out")).to_be_visible()
    # The open page learns that its login has ended with the next change or reload.
    one.reload()
    expect(one.get_by_role("heading", name="Log in")).to_be_visible()


def test_a_database_that_goes_away_and_comes_back(
    start: Start, visit: Visit, tmp_path: Path
) -> None:
    ui = start("rule_4")
    page = visit(ui).new_page()
    page.goto("./")
    database = tmp_path / "linkcheck" / ".goopspec" / "goop.db"
    content = database.read_bytes()
    database.write_bytes(b"this is no database" * 400)
    for name in ("goop.db-wal", "goop.db-shm"):
        database.with_name(name).unlink(missing_ok=True)
    page.reload()
    expect(page.locator("h1")).to_be_visible()
    expect(page.locator("body")).to_contain_text("database", ignore_case=True)

    database.write_bytes(content)
    page.goto("./reports")
    page.wait_for_timeout(500)
    page.reload()
    expect(page.get_by_role("link", name="9", exact=True)).to_be_visible(timeout=PATIENCE_MS)


def test_a_server_that_ends_is_noticed_and_nothing_typed_is_lost(
    start: Start, visit: Visit
) -> None:
    ui = start("rule_4")
    page = visit(ui).new_page()
    page.goto("./")
    page.get_by_label("Comment").first.fill("Ask Maria first")
    ui.process.terminate()
    ui.process.wait(timeout=30)
    expect(page.get_by_text("The server does not answer")).to_be_visible(timeout=PATIENCE_MS)
    expect(page.get_by_label("Comment").first).to_have_value("Ask Maria first")


def test_without_a_terminal_nobody_can_change_anything(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "goop_mcp", "ui", "--no-open"],
        cwd=tmp_path,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        assert "/login/" in process.stdout.readline()
        assert "nobody can confirm anything" in process.stderr.readline()
    finally:
        process.terminate()
        process.communicate(timeout=30)
