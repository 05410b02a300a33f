"""The views of the server in the MCP Inspector, a host of MCP Apps that is not ours."""

import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.cli.running import REJECTED
from tests.inspector.__main__ import INSPECTOR, launcher
from tests.repository import ROOT
from tests.ui.running import PATIENCE

_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+\?MCP_INSPECTOR_API_TOKEN=\w+")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


@pytest.fixture
def inspector(tmp_path: Path) -> Iterator[str]:
    """Yield the address of an Inspector that has our server, on stdio."""
    error = INSPECTOR.install()
    assert not error, error
    home = tmp_path / "home"
    home.mkdir()
    environment = INSPECTOR.environment(home) | {
        "PYTHONPATH": str(ROOT),
        "MCP_AUTO_OPEN_ENABLED": "false",
        # It takes no port that the system chooses.
        "CLIENT_PORT": str(_free_port()),
        "MCP_SANDBOX_PORT": str(_free_port()),
    }
    server = [sys.executable, "-m", "goop_mcp", "serve", "--project", str(tmp_path)]
    process = subprocess.Popen(
        [INSPECTOR.node, launcher(), "--web", *server],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    watch = threading.Timer(PATIENCE, process.kill)
    watch.start()
    try:
        assert process.stdout is not None
        found = None
        for line in process.stdout:
            if found := _ADDRESS.search(line):
                break
        assert found is not None, "the Inspector did not start"
        yield found[0]
    finally:
        watch.cancel()
        process.terminate()
        process.communicate(timeout=PATIENCE)


def test_the_inspector_shows_the_verdict_and_the_editor(browser: Browser, inspector: str) -> None:
    page = browser.new_page(viewport={"width": 1500, "height": 1100})
    page.goto(inspector)
    page.get_by_role("switch").first.click(force=True)
    page.get_by_text("Apps", exact=True).first.click()
    expect(page.get_by_text("MCP Apps (2)")).to_be_visible()

    page.get_by_text("Validate a report", exact=True).first.click()
    page.get_by_label("text", exact=True).fill(REJECTED.read_text(encoding="utf-8"))
    page.get_by_role("button", name="Open App").click()
    verdict = page.frame_locator("iframe").frame_locator("iframe")
    expect(verdict.locator("h1")).to_contain_text("rejected")
    expect(verdict.locator("pre")).to_contain_text("Your report was not accepted")

    page.get_by_role("button", name="Close").first.click()
    page.get_by_text("Build a handoff", exact=True).first.click()
    page.get_by_label("from_text", exact=True).fill("Goal: Let users log in\n\nAdd a login.")
    page.get_by_role("textbox", name="kind").click()
    page.get_by_role("option", name="agent_request").click()
    page.get_by_role("button", name="Open App").click()
    editor = page.frame_locator("iframe").frame_locator("iframe")
    expect(editor.locator("#view")).to_contain_text("What is to be delivered")
    editor.get_by_label("This task").fill("Add POST /login and its tests")
    page.close()
