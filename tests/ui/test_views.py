"""The views of the server in a host that shows them in a sandboxed frame, as MCP Apps are."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, FrameLocator, Page, expect
from pydantic import JsonValue

from goop_mcp.server import create_server
from goop_mcp.settings import Settings
from tests.cli.running import REJECTED, REPAIRABLE
from tests.server.connections import Connection, connect

HOST = (Path(__file__).parent / "host.html").read_text(encoding="utf-8")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Connection]:
    with connect(create_server(Settings(project=tmp_path)), "auto") as opened:
        yield opened


def called(server: Connection, name: str, arguments: dict[str, JsonValue]) -> dict[str, Any]:
    result = server.tool(name, **arguments)
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)


def shown(
    browser: Browser, server: Connection, tool: str, arguments: dict[str, JsonValue]
) -> tuple[Page, FrameLocator]:
    """Call a tool as a host does, and show its view with the answer."""
    view = server.tools()[tool].meta
    assert view is not None
    html = server.read(view["ui"]["resourceUri"]).text
    page = browser.new_page()
    # A view that asks for anything outside of itself is refused, and the request is seen.
    page.route("**/*", lambda route: route.abort())
    page.expose_function("callTool", lambda name, given: called(server, name, given))
    page.set_content(HOST)
    page.evaluate(
        "([html, given, result]) => show(html, given, result)",
        [html, arguments, called(server, tool, arguments)],
    )
    return page, page.frame_locator("#view")


def test_a_verdict_is_shown_and_hostile_text_stays_text(
    browser: Browser, server: Connection
) -> None:
    text = REJECTED.read_text(encoding="utf-8").replace("FAILED", "<img src=x onerror=alert(1)>")
    page, view = shown(browser, server, "validate_report", {"text": text})
    expect(view.locator("h1")).to_contain_text("rejected")
    expect(view.locator("li").first).to_contain_text("status is")
    expect(view.locator("pre")).to_contain_text("Your report was not accepted")
    assert view.locator("img").count() == 0
    page.close()

    page, view = shown(browser, server, "validate_report", {"text": REPAIRABLE})
    expect(view.locator("h1")).to_contain_text("accepted")
    assert "ui/notifications/size-changed" in page.evaluate("seen")
    page.close()


def test_a_handoff_is_edited_in_the_host(browser: Browser, server: Connection) -> None:
    arguments: dict[str, JsonValue] = {
        "kind": "agent_request",
        "from_text": "Goal: Let users log in\n\nAdd a login.",
    }
    page, view = shown(browser, server, "build_handoff", arguments)
    expect(view.locator("#view")).to_contain_text("What is to be delivered")
    view.get_by_label("Goal").fill("Let users log in")
    view.get_by_label("This task").fill("Add POST /login and its tests")
    view.get_by_label("Details").fill("Tests first & <then> the endpoint")
    view.get_by_label("Deliverables").fill("file src/login.py: the endpoint\nreport: what is left")
    view.get_by_label("Priority").select_option("high")
    view.get_by_role("button", name="Build the prompt").click()
    expect(view.locator("#view h2")).to_have_text("The prompt")
    expect(view.locator("#view pre")).to_contain_text('<file path="src/login.py" required="true">')
    expect(view.locator("#view pre")).to_contain_text('priority="high"')
    assert json.dumps(page.evaluate("seen")).count("tools/call") == 1
    page.close()
