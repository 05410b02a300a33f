"""Streams of changes: how many pages may be open, and what is kept of those that were closed."""

from pathlib import Path

import anyio
from anyio.abc import TaskGroup
from starlette.types import Message, Scope

from goop_mcp.workbench.local import LocalWorkbench
from tests.workbench.browsing import browse

PATIENCE = 300
# Below the requests that one login may send in a burst.
MOST_OF_A_LOGIN = 40


async def open_page(local: LocalWorkbench, root: str, cookie: str, tasks: TaskGroup) -> int:
    """Open a stream of changes that stays open until `tasks` is cancelled; return its status."""
    scope: Scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": f"{root}/live",
        "raw_path": f"{root}/live".encode(),
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1:8000"), (b"cookie", cookie.encode())],
        "client": ("127.0.0.1", 50_000),
        "server": ("127.0.0.1", 8000),
        "state": {},
    }
    started, status = anyio.Event(), 0

    async def receive() -> Message:
        await anyio.sleep_forever()
        raise AssertionError

    async def send(message: Message) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
            started.set()

    tasks.start_soon(local, scope, receive, send)
    with anyio.fail_after(PATIENCE):
        await started.wait()

    return status


def test_one_login_cannot_take_the_streams_of_all_others(tmp_path: Path) -> None:
    (tmp_path / ".goopspec").mkdir()
    with browse(tmp_path) as browser:
        first = browser.root
        mine = "; ".join(f"{name}={value}" for name, value in browser.client.cookies.items())
        browser.client.cookies.clear()
        browser.log_in()
        others = "; ".join(f"{name}={value}" for name, value in browser.client.cookies.items())
        portal = browser.client.portal
        assert portal is not None

        async def open_many() -> tuple[list[int], int, int]:
            async with anyio.create_task_group() as tasks:
                opened = [
                    await open_page(browser.local, first, mine, tasks)
                    for _ in range(MOST_OF_A_LOGIN)
                ]
                one_more = await open_page(browser.local, first, mine, tasks)
                of_another = await open_page(browser.local, browser.root, others, tasks)
                tasks.cancel_scope.cancel()

            return opened, one_more, of_another

        opened, one_more, of_another = portal.call(open_many)

    assert opened == [200] * MOST_OF_A_LOGIN
    assert (one_more, of_another) == (503, 200)
