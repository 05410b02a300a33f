"""Measure the way from `pip install` to the first step that a person confirms in a browser.

The wheel is installed with its dependencies into an empty environment, `goop-mcp ui` is started in
a project whose specification waits to be locked, and a person who has read nothing clicks.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import expect

from goop_mcp.services.project_status import project_status
from tests.repository import ROOT
from tests.ui.running import chromium, running_ui
from tests.workbench.projects import opened, play_until

_LONGEST = 120.0
_PATIENCE = 600


def main() -> int:
    """Print how long each part took; exit code 1 if all of it took more than two minutes."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        _run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ".")
        _run(sys.executable, "-m", "venv", str(place / "venv"))
        python = place / "venv" / "bin" / "python"
        project = place / "linkcheck"
        project.mkdir()
        play_until(project, "blueprint")

        began = time.monotonic()
        _run(str(python), "-m", "pip", "install", "--quiet", *map(str, place.glob("*.whl")))
        installed = time.monotonic()
        with (
            running_ui(project, command=[str(python), "-m", "goop_mcp"]) as ui,
            chromium() as browser,
        ):
            page = browser.new_page()
            page.goto(ui.address)
            page.get_by_role("button", name="Lock the specification").click()
            page.get_by_role("button", name="Lock", exact=True).click()
            expect(page.locator(".note.done")).to_contain_text("is locked")
            confirmed = time.monotonic()

        with opened(project) as context:
            is_locked = project_status(context).spec_locked

    sys.stdout.write(
        f"pip install: {installed - began:.1f} s; to the first confirmed step:"
        f" {confirmed - installed:.1f} s; together {confirmed - began:.1f} s of {_LONGEST:.0f} s\n"
    )

    return 0 if is_locked and confirmed - began <= _LONGEST else 1


def _run(*command: str) -> None:
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL, timeout=_PATIENCE)


if __name__ == "__main__":
    sys.exit(main())
