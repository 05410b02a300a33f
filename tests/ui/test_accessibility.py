"""Every page passes axe-core for WCAG 2.2 AA, light and dark, narrow and wide."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

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
        page.goto(address)
        if found := violations(page, axe):
            wrong[address] = found
        sideways = page.evaluate("document.documentElement.scrollWidth > innerWidth")
        if sideways:
            wrong.setdefault(address, []).append("the page scrolls sideways")

    if last == "verification":
        page.goto("/")
        page.get_by_label("accept", exact=True).check()
        page.get_by_role("button", name="Go on").click()
        if found := violations(page, axe):
            wrong["/confirm"] = found

    page.context.clear_cookies()
    page.goto("/")
    if found := violations(page, axe):
        wrong["/login"] = found
    assert wrong == {}


def test_pages_can_be_printed(start: Start, visit: Visit, tmp_path: Path) -> None:
    ui = start("rule_4")
    page = visit(ui).new_page()
    page.goto("/reports/3")
    page.emulate_media(media="print")
    assert page.locator("nav").is_hidden()
    assert page.locator(".reply li").last.is_visible()
    printed = tmp_path / "report.pdf"
    page.pdf(path=printed)
    assert printed.read_bytes().startswith(b"%PDF")
