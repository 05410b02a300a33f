"""Use the workbench without a browser: a client that keeps cookies, and the parts of a page."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from httpx2 import Response
from lxml import html
from starlette.testclient import TestClient

from goop_mcp.context import AppContext
from goop_mcp.settings import Settings
from goop_mcp.workbench.local import LocalWorkbench

__all__ = ["ADDRESS", "Browser", "browse", "text_of"]

ADDRESS = "http://127.0.0.1:8000"


class Browser:
    """A person's browser, logged in to a workbench of one project."""

    def __init__(self, client: TestClient, local: LocalWorkbench) -> None:
        self.client, self.local = client, local

    def log_in(self) -> Response:
        """Open a new address of the terminal."""
        return self.client.get(f"/login/{self.local.codes.make()}")

    def get(self, address: str) -> Response:
        return self.client.get(address)

    def post(self, address: str, fields: Mapping[str, str], *, csrf: str | None = None) -> Response:
        """Send a form with the token of the pages, or with another one."""
        token = self.csrf() if csrf is None else csrf
        return self.client.post(address, data={"csrf": token, **fields})

    def csrf(self) -> str:
        found = re.search(r'name="csrf" value="(\w+)"', self.get("/").text)
        assert found is not None, "the page has no CSRF token"
        return found[1]


@contextmanager
def browse(project: Path, *, is_read_only: bool = False, enters: bool = True) -> Iterator[Browser]:
    """Yield a browser at the workbench of `project`, logged in if it `enters`."""
    local = LocalWorkbench(AppContext(Settings(project=project)), is_read_only=is_read_only)
    # Errors of the server have to become its own page, as for a person.
    with TestClient(local, base_url=ADDRESS, raise_server_exceptions=False) as client:
        browser = Browser(client, local)
        if enters:
            assert browser.log_in().status_code == 200
        yield browser


def text_of(page: Response, selector: str = "main") -> str:
    """Return the text of a part of a page in one line."""
    parts = html.document_fromstring(page.text).cssselect(selector)
    return " ".join(" ".join(" ".join(part.itertext()).split()) for part in parts)
