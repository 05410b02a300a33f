"""A person follows a run of a graph in the browser, answers its gate, and runs a task again."""

import re
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import expect

from goop_mcp.delegation import Graph
from goop_mcp.delegation.ledger import Ledger
from goop_mcp.store.opening import open_store
from tests.cli.running import run
from tests.delegation.team import write_team
from tests.ui.conftest import Start, Visit
from tests.workbench.runs import begin_run, create_waiting_run, finish_run

PATIENCE_MS = 20_000


@pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])
def test_a_person_answers_the_gate_of_a_run(
    start: Start, visit: Visit, tmp_path: Path, script: bool
) -> None:
    ui = start(None)
    project = tmp_path / "linkcheck"
    begun = begin_run(project, docs="I will do that later.").id
    person = visit(ui, java_script_enabled=script)
    page = person.new_page()
    page.goto("./")
    page.get_by_role("link", name="Answer").click()
    expect(page.get_by_role("heading", name="Waiting for a person")).to_be_visible()
    expect(page.get_by_role("img", name="The graph login")).to_be_visible()

    page.get_by_label("Note for whoever goes on").fill("Not on a Friday")
    # Which answer that would be, nobody knows.
    page.get_by_label("Note for whoever goes on").press("Enter")
    expect(page.get_by_role("heading", name="Waiting for a person")).to_be_visible()
    expect(page.locator("#notes .note")).to_have_count(0)
    page.get_by_role("button", name="yes", exact=True).click()
    person.type_code(page)
    expect(page.get_by_text("ship: yes.")).to_be_visible()
    page.get_by_role("button", name="Run again: docs").click()
    person.type_code(page)
    expect(page.get_by_text("docs runs again")).to_be_visible()

    assert finish_run(project, begun).state == "finished"
    page.reload()
    expect(page.get_by_text("finished").first).to_be_visible()
    page.get_by_role("link", name="docs", exact=True).click()
    page.get_by_text("What it answered").first.click()
    expect(page.get_by_text("I will do that later.")).to_be_visible()


def test_an_open_page_follows_a_run(start: Start, visit: Visit, tmp_path: Path) -> None:
    ui = start(None)
    project = tmp_path / "linkcheck"
    page = visit(ui).new_page()
    page.goto("./runs")
    begun = begin_run(project).id
    expect(page.get_by_role("link", name=begun)).to_be_visible(timeout=PATIENCE_MS)
    expect(page.get_by_text("waiting for person")).to_be_visible(timeout=PATIENCE_MS)

    page.goto(f"./runs/{begun}")
    # What somebody types is not lost when the run goes on meanwhile.
    page.get_by_label("Note for whoever goes on").fill("half a no")
    begin_run(project)
    page.wait_for_timeout(1_500)
    expect(page.get_by_label("Note for whoever goes on")).to_have_value("half a no")


def test_a_button_that_is_pointed_at_stays_what_it_was(
    start: Start, visit: Visit, tmp_path: Path
) -> None:
    ui = start(None)
    project = tmp_path / "linkcheck"
    waiting = create_waiting_run(project)
    page = visit(ui).new_page()
    page.goto(f"./runs/{waiting}")
    button = page.get_by_role("group", name="write").get_by_role("button", name="fail")
    button.hover()
    with closing(open_store(None, project=project)) as store:
        ledger = Ledger(store)
        ledger.answer(waiting, "write", "fail", by="Kim")
        ledger.retry(waiting, "write", by="Kim")
    expect(page.get_by_text("There is something new.")).to_be_visible(timeout=PATIENCE_MS)
    button.click()
    expect(page.get_by_text("write asks something else by now")).to_be_visible()


def test_what_a_person_decides_reaches_the_programs_of_the_run(
    start: Start, visit: Visit, tmp_path: Path
) -> None:
    """The scene of the command line, with its programs, decided in the browser."""
    ui = start(None)
    project = tmp_path / "linkcheck"
    graph = write_team(project)
    state = {"XDG_STATE_HOME": str(tmp_path / "state")}

    def goop(*words: str) -> int:
        return run(*words, cwd=project, env=state).code

    trust = ("--trust", Graph.load(graph).digest)
    assert goop("delegate", "login.toml", "--input", "goal=a login", *trust) == 3
    page = visit(ui).new_page()
    page.goto("./")
    page.get_by_role("link", name="Answer").click()
    page.get_by_label("Note for whoever goes on").fill("It is decided: green")
    page.get_by_role("button", name="retry", exact=True).click()
    expect(page.get_by_text("ui: retry.")).to_be_visible()

    found = re.search(r"run-\w+", page.url)
    assert found is not None
    assert goop("runs", "resume", found[0], *trust) == 0
    # The page is open meanwhile, and shows what became of it.
    expect(page.get_by_text("finished").first).to_be_visible(timeout=PATIENCE_MS)
    page.get_by_role("link", name="ui", exact=True).click()
    expect(page.get_by_text("It is decided: green").first).to_be_attached()
