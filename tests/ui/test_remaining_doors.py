"""What remains possible at the workbench in a real browser: rows of the table in docs/security.md.

A row is tried by the test that has its name; its docstring is what the row says that happens
(tests/test_remaining_doors.py).
"""

import re
from pathlib import Path
from typing import Final

import httpx2
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.server.http.serving import Served, served
from tests.ui.conftest import Start
from tests.ui.running import PATIENCE
from tests.ui.test_other_ports import (
    OtherProgram,
    is_locked,
    log_in_with_token,
    other_program,
    serving_a_team,
)
from tests.workbench.projects import play_until

COOKIE: Final = re.compile(r"^Cookie: (.+)$", re.MULTILINE | re.IGNORECASE)


class Taken:
    """A program with the cookie, the root and the key of a login that is not its own."""

    def __init__(self, origin: str, root: str, program: OtherProgram, key: str = "") -> None:
        [cookie] = {found for _, sent in program.requests for found in COOKIE.findall(sent)}
        self._headers = {"Cookie": cookie, "Origin": origin}
        self._address, self._key, self._csrf = f"{origin}{root}", key, ""

    def read(self, path: str) -> int:
        page = httpx2.get(f"{self._address}{path}", headers=self._headers, timeout=PATIENCE)
        for found in re.findall(r'name="csrf" value="(\w+)"', page.text):
            self._csrf = found
        return page.status_code

    def post(self, path: str, **fields: str) -> int:
        data = {"csrf": self._csrf, "key": self._key, **fields}
        address = f"{self._address}{path}"
        return httpx2.post(address, data=data, headers=self._headers, timeout=PATIENCE).status_code


def root_of(page: Page) -> str:
    return "/~" + page.url.partition("/~")[2].partition("/")[0]


def test_workbench_address(start: Start, browser: Browser, tmp_path: Path) -> None:
    """It gets the cookie, reads pages and takes the steps that need no person."""
    ui = start("blueprint")
    page = browser.new_page()
    page.goto(ui.address)
    expect(page.get_by_role("heading", name="linkcheck")).to_be_visible()
    root = root_of(page)
    with other_program() as other:
        page.goto(f"{other.origin}{root}/runs")

    program = Taken(ui.origin, root, other)
    assert program.read("/memory") == 200
    assert program.post("/steps", action="checkpoint") == 303
    assert program.post("/steps", action="lock_spec") == 303
    assert program.post("/confirm/1", answer="yes") == 403
    assert is_locked(tmp_path / "linkcheck") is False
    page.close()


def taken_after_its_end(page: Page, server: Served) -> Taken:
    """End a server, and take its port and what the browser keeps for it."""
    log_in_with_token(page, server.address)
    expect(page.get_by_role("heading", name="linkcheck")).to_be_visible()
    server.stop()
    with other_program(server.port) as other:
        page.goto(f"{other.origin}/")
        kept = page.evaluate("({...localStorage})")
        root = kept["goop root"]
        page.goto(f"{other.origin}{root}/runs")
    return Taken(server.address, root, other, kept[f"goop key {root}"])


@pytest.mark.parametrize("keys", ["", "s" * 40])
def test_workbench_port(browser: Browser, tmp_path: Path, keys: str) -> None:
    """It gets cookie and key, which open the next server with the same `GOOP_STATE_KEYS`."""
    project = tmp_path / "linkcheck"
    project.mkdir()
    play_until(project, "blueprint")
    variables = {"GOOP_STATE_KEYS": keys} if keys else {}
    page = browser.new_page()
    with serving_a_team(tmp_path, project, **variables) as server:
        program = taken_after_its_end(page, server)
    page.close()

    tokens = ("--token-file", str(tmp_path / "tokens.toml"), "--port", str(server.port))
    with served("--transport", "http", "--ui", *tokens, project=project, **variables):
        if not keys:
            assert program.read("/") == 401
            return
        assert program.read("/") == 200
        assert program.post("/steps", action="lock_spec") == 303
        assert program.post("/confirm/1", answer="yes") == 303
    assert is_locked(project) is True
