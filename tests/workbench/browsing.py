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

__all__ = ["ADDRESS", "Browser", "browse", "key_of", "root_of", "text_of"]

ADDRESS = "http://127.0.0.1:8000"


class Browser:
    """A person's browser, logged in to a workbench of one project.

    Addresses are below the root of the login. `key` is what the script sends with each form.
    """

    def __init__(self, client: TestClient, local: LocalWorkbench) -> None:
        self.client, self.local = client, local
        self.root = self.key = ""

    def log_in(self) -> Response:
        """Open a new address of the terminal."""
        page = self.client.get(f"/login/{self.local.codes.make()}")
        self.root, self.key = root_of(page), key_of(page)
        return page

    def get(self, address: str) -> Response:
        return self.client.get(f"{self.root}{address.removeprefix(self.root)}")

    def post(
        self,
        address: str,
        fields: Mapping[str, str],
        *,
        csrf: str | None = None,
        key: str | None = None,
    ) -> Response:
        """Send a form with the token of the pages and the key of the login, or with others."""
        token = self.csrf() if csrf is None else csrf
        return self.client.post(
            f"{self.root}{address.removeprefix(self.root)}",
            data={"csrf": token, "key": self.key if key is None else key, **fields},
        )

    def csrf(self) -> str:
        found = re.search(r'name="csrf" value="(\w+)"', self.get("/").text)
        assert found is not None, "the page has no CSRF token"
        return found[1]


@contextmanager
def browse(
    project: Path | Settings, *, is_read_only: bool = False, enters: bool = True
) -> Iterator[Browser]:
    """Yield a browser at the workbench of `project`, logged in if it `enters`.

    A project in a shared database is named by its settings.
    """
    settings = project if isinstance(project, Settings) else Settings(project=project)
    local = LocalWorkbench(AppContext(settings), is_read_only=is_read_only)
    # Errors of the server have to become its own page, as for a person.
    with TestClient(local, base_url=ADDRESS, raise_server_exceptions=False) as client:
        browser = Browser(client, local)
        if enters:
            assert browser.log_in().status_code == 200
        yield browser


def root_of(page: Response) -> str:
    """Return what the addresses of pages begin with."""
    found = re.search(r'<html [^>]*data-root="([^"]*)"', page.text)
    assert found is not None, "the page names no root"
    return found[1]


def key_of(page: Response) -> str:
    """Return what the answer to a login gives to the browser to confirm with."""
    found = re.search(r'<html [^>]*data-key="(\w+)"', page.text)
    assert found is not None, "the page has no key"
    return found[1]


def text_of(page: Response, selector: str = "main") -> str:
    """Return the text of a part of a page in one line."""
    parts = html.document_fromstring(page.text).cssselect(selector)
    return " ".join(" ".join(" ".join(part.itertext()).split()) for part in parts)
