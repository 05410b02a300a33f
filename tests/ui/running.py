"""Run `goop-mcp ui` as a person does, on a terminal, and open its pages in Chromium."""

import os
import pty
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from tests.server.http.serving import environment

__all__ = ["PATIENCE", "Ui", "chromium", "running_ui"]

PATIENCE = 60.0
"""Seconds that a process may take for a step of a test; machines that run tests can be slow."""

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_NO_BROWSER = (
    "there is no Chromium on the path; install it (apt install chromium), or name it with"
    " GOOP_CHROMIUM=/path/to/chromium"
)
_ADDRESS = re.compile(rb"http://127\.0\.0\.1:\d+/login/\S+")


@contextmanager
def chromium() -> Iterator[Browser]:
    """Yield Debian's Chromium without a window. Raises RuntimeError without one."""
    named = os.environ.get("GOOP_CHROMIUM")
    path = named or next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None or not Path(path).is_file():
        raise RuntimeError(_NO_BROWSER)

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-gpu"]
        )
        try:
            yield browser
        finally:
            browser.close()


class Ui:
    """A running `goop-mcp ui`: its process, and the address that it has printed."""

    def __init__(self, process: subprocess.Popen[bytes], address: str) -> None:
        self.process, self.address = process, address

    @property
    def origin(self) -> str:
        return self.address.partition("/login/")[0]


@contextmanager
def running_ui(project: Path, *options: str, command: Sequence[str] = ()) -> Iterator[Ui]:
    """Yield `goop-mcp ui` on a terminal, for the project."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*(command or (sys.executable, "-m", "goop_mcp")), "ui", "--no-open", *options],
        cwd=project,
        env=environment(),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    # A process that prints nothing must not hang the test.
    watch = threading.Timer(PATIENCE, process.kill)
    watch.start()

    printed = b""
    try:
        while (found := _ADDRESS.search(printed)) is None:
            try:
                printed += os.read(ours, 4_096)
            except OSError:
                raise AssertionError(f"it ended without an address: {printed!r}") from None

        watch.cancel()
        # The terminal has to be read on, or the process would stop at its next line.
        threading.Thread(target=_drain, args=[ours], daemon=True).start()
        yield Ui(process, found[0].decode())
    finally:
        watch.cancel()
        process.terminate()
        process.wait(timeout=PATIENCE)


def _drain(terminal: int) -> None:
    try:
        while os.read(terminal, 4_096):
            pass
    except OSError:
        pass
