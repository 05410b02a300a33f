"""Take the pictures of docs/workbench-pictures.md: `make ui-pictures`.

Every page of the workbench, light and dark, wide and narrow, in the project of the full demo.
"""

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, StorageState

from goop_mcp.workbench.pages import ROUTES
from goop_mcp.workbench.visits import WorkbenchPage
from tests.repository import ROOT
from tests.ui.running import Ui, chromium, running_ui
from tests.workbench.projects import play_until
from tests.workbench.runs import begin_run

PAGE = ROOT / "docs" / "workbench-pictures.md"
FOLDER = ROOT / "docs" / "_static" / "workbench"
_LOOKS = [(scheme, width) for width in (1_200, 360) for scheme in ("light", "dark")]
_HEIGHT = 900
_QUALITY = 70
_DETAILS = {"A report": "/reports/3"}
_HEAD = """\
# Pictures of the workbench

Every page of [the workbench](workbench.md), light and dark, wide and narrow, in the project that
`goop-mcp demo --full` plays. `make ui-pictures` takes them again.
"""


def main() -> int:
    """Take all pictures, and write the page that shows them."""
    pages = {
        each.label: each.path
        for each in ROUTES
        if isinstance(each, WorkbenchPage) and each.label is not None
    }
    pages |= _DETAILS
    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in FOLDER.glob("*.jpg"):
        old.unlink()

    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "linkcheck"
        project.mkdir()
        play_until(project, "rule_4")
        run = begin_run(project, docs="I will do that later.").id
        pages["A run"] = f"/runs/{run}"
        with running_ui(project) as ui, chromium() as browser:
            _take(browser, ui, pages)

    parts = [_HEAD]
    for label in pages:
        name = _name(label)
        parts += [f"\n## {label}\n"]
        for scheme, width in _LOOKS:
            file = f"_static/workbench/{name}-{scheme}-{width}.jpg"
            parts.append(f"![{label}, {scheme}, {width} pixels wide]({file})")
    PAGE.write_text("\n".join(parts) + "\n", encoding="utf-8")

    return 0


def _take(browser: Browser, ui: Ui, pages: dict[str, str]) -> None:
    state: StorageState | None = None
    root = ""
    for scheme, width in _LOOKS:
        context = browser.new_context(
            base_url=ui.origin,
            color_scheme="dark" if scheme == "dark" else "light",
            viewport={"width": width, "height": _HEIGHT},
            timezone_id="UTC",
            storage_state=state,
        )
        page = context.new_page()
        if state is None:
            page.goto(ui.address)
            root = page.locator("html[data-root*='/~']").get_attribute("data-root") or ""
            state = context.storage_state()
        for label, address in pages.items():
            page.goto(f"{root}{address}")
            # The name of the user of this machine is nobody's business.
            page.evaluate("document.querySelector('.who span').textContent = 'ann'")
            path = FOLDER / f"{_name(label)}-{scheme}-{width}.jpg"
            page.screenshot(path=path, type="jpeg", quality=_QUALITY)
        context.close()


def _name(label: str) -> str:
    return label.lower().replace(" ", "-")


if __name__ == "__main__":
    sys.exit(main())
