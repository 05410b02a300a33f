"""Every page passes axe-core for WCAG 2.2 AA, light and dark, narrow and wide."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from goop_mcp.workbench.pages import ROUTES
from goop_mcp.workbench.visits import WorkbenchPage
from tests.ui.conftest import Start, Visit
from tests.workbench.runs import begin_run

PAGES = [
    each.path
    for each in ROUTES
    if isinstance(each, WorkbenchPage) and not {"{", "."} & {*each.path}
]
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
RUN = "tags => axe.run(document, {runOnly: {type: 'tag', values: tags}})"


def violations(page: Page, axe: str) -> list[str]:
    page.evaluate(axe)
    found: dict[str, Any] = page.evaluate(RUN, TAGS)
    return [
        f"{each['id']}: {node['html'][:160]} {node['failureSummary'][:200]}"
        for each in found["violations"]
        for node in each["nodes"]
    ]


@pytest.mark.parametrize(
    "look", [(scheme, width) for scheme in ("light", "dark") for width in (360, 1_600)], ids=str
)
@pytest.mark.parametrize("last", ["rule_4", "verification", None])
def test_every_page_passes(
    start: Start,
    visit: Visit,
    axe: str,
    tmp_path: Path,
    *,
    look: tuple[str, int],
    last: str | None,
) -> None:
    ui, (scheme, width) = start(last), look
    context = visit(ui, color_scheme=scheme, width=width)
    page = context.new_page()
    others: list[str] = []
    if last == "rule_4":
        run = begin_run(tmp_path / "linkcheck", docs="I will do that later.").id
        others = ["/reports/3", "/reports/9", f"/runs/{run}", f"/runs/{run}/tasks/docs"]
    wrong: dict[str, list[str]] = {}
    for address in [*PAGES, *others, "/nowhere"]:
        page.goto(f".{address}")
        if found := violations(page, axe):
            wrong[address] = found
        sideways = page.evaluate("document.documentElement.scrollWidth > innerWidth")
        if sideways:
            wrong.setdefault(address, []).append("the page scrolls sideways")

    if last == "verification":
        page.goto("./")
        page.get_by_label("accept", exact=True).check()
        page.get_by_role("button", name="Go on").click()
        if found := violations(page, axe):
            wrong["/confirm"] = found

    page.context.clear_cookies()
    page.goto("./")
    if found := violations(page, axe):
        wrong["/login"] = found
    assert wrong == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1_600])
def test_the_pages_of_a_login_pass(
    start: Start, visit: Visit, axe: str, scheme: str, width: int
) -> None:
    ui = start("blueprint")
    page = visit(ui, logs_in=False, color_scheme=scheme, width=width).new_page()
    # Without script the answer to the login stays, with the code that is typed later.
    page.route("**/workbench.js*", lambda route: route.abort())
    page.goto(ui.address)
    wrong = {"logged in": violations(page, axe)}
    page.get_by_role("link", name="Go on to the first page").click()
    page.get_by_role("button", name="Lock the specification").click()
    page.get_by_role("button", name="Lock", exact=True).click()
    expect(page.get_by_label("Code of your login")).to_be_visible()
    wrong["code"] = violations(page, axe)
    page.get_by_label("Code of your login").fill("wrong")
    page.get_by_role("button", name="Go on").click()
    expect(page.get_by_text("That is not the code of this login")).to_be_visible()
    wrong["wrong code"] = violations(page, axe)
    assert wrong == {"logged in": [], "code": [], "wrong code": []}


def test_pages_can_be_printed(start: Start, visit: Visit, tmp_path: Path) -> None:
    ui = start("rule_4")
    page = visit(ui).new_page()
    page.goto("./reports/3")
    page.emulate_media(media="print")
    assert page.locator("nav").is_hidden()
    assert page.locator(".reply li").last.is_visible()
    printed = tmp_path / "report.pdf"
    page.pdf(path=printed)
    assert printed.read_bytes().startswith(b"%PDF")
