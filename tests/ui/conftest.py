"""A real browser for the scenes, which fails a test when a page does what no page may do."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, StorageState, expect

from tests.npm import Installation
from tests.ui.running import Ui, chromium, running_ui
from tests.workbench.projects import play_until

AXE = Installation("axe", {"axe-core": "4.14.1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A browser of a person: `root` begins the addresses, `code` is what the login showed."""

    context: BrowserContext
    root: str = ""
    code: str = ""

    def new_page(self) -> Page:
        return self.context.new_page()

    def type_code(self, page: Page) -> None:
        """Type the code of the login where no script has sent it."""
        if self.code:
            expect(page.get_by_text("Nothing was changed yet")).to_be_visible()
            page.get_by_label("Code of your login").fill(self.code)
            page.get_by_role("button", name="Go on").click()


Visit = Callable[..., Person]
Start = Callable[..., Ui]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="session")
def axe() -> str:
    """Return axe-core as a text to evaluate: the pages allow no script of others."""
    error = AXE.install()
    assert not error, error
    return AXE.file("axe-core", "axe.min.js").read_text(encoding="utf-8")


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start `goop-mcp ui` for a project that was played until a step."""
    opened = []

    def run(last: str | None, *options: str) -> Ui:
        project = tmp_path / "linkcheck"
        project.mkdir(exist_ok=True)
        if last is not None:
            play_until(project, last)
        manager = running_ui(project, *options)
        ui = manager.__enter__()
        opened.append(manager)
        return ui

    yield run
    for manager in opened:
        manager.__exit__(None, None, None)


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    """Open a browser of its own for a person; at the end no request may have left the origin.

    Addresses such as "./runs" are below the root of the login.
    """
    contexts: list[BrowserContext] = []
    left: list[str] = []
    errors: list[str] = []

    def open_context(
        ui: Ui,
        *,
        logs_in: bool = True,
        java_script_enabled: bool = True,
        color_scheme: Literal["light", "dark"] = "light",
        width: int = 1_280,
    ) -> Person:
        def opened(root: str = "", state: StorageState | None = None) -> BrowserContext:
            context = browser.new_context(
                base_url=f"{ui.origin}{root}/",
                storage_state=state,
                java_script_enabled=java_script_enabled,
                color_scheme=color_scheme,
                viewport={"width": width, "height": 900},
            )
            contexts.append(context)
            watch(context)
            return context

        def note(request: Request) -> None:
            if not request.url.startswith((f"{ui.origin}/", "data:", "blob:")):
                left.append(request.url)

        def watch(context: BrowserContext) -> None:
            context.on("request", note)
            context.on("weberror", lambda error: errors.append(str(error.error)))
            context.on(
                "console", lambda each: errors.append(each.text) if "Refused" in each.text else None
            )

        first = opened()
        if not logs_in:
            return Person(context=first)
        page = first.new_page()
        page.goto(ui.address)
        root = page.locator("html[data-root*='/~']").get_attribute("data-root")
        assert root is not None
        code = "" if java_script_enabled else page.locator("pre").inner_text()
        # The root is the base of all addresses only in a context that is made with it.
        return Person(context=opened(root, first.storage_state()), root=root, code=code)

    yield open_context
    for context in contexts:
        context.close()
    assert left == [], "requests that left the origin"
    assert errors == [], "errors and refused resources of pages"
