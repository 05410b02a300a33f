"""The page of an audit in a browser: without a script, in light and dark, and accessible."""

from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, expect

from tests.cli.running import run
from tests.evidence.recorded import CASES


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_readable_without_a_script(
    scheme: Literal["light", "dark"], browser: Browser, axe: str, tmp_path: Path
) -> None:
    path = tmp_path / "audit.html"
    assert run("audit", CASES, "--html", path).code == 0
    page = browser.new_page(color_scheme=scheme, viewport={"width": 420, "height": 900})
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    expect(page.locator("h1")).to_have_text("What agents claimed, and what ran")
    assert asked == [path.as_uri()]
    assert page.locator("ol > li").count() == 10
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.evaluate(axe)
    found = page.evaluate("axe.run().then(result => result.violations.map(each => each.id))")
    assert found == []
    page.close()
