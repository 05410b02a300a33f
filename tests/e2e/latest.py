"""Run the scenes with the newest published version of each client: `make hosts-latest`.

Writes docs/hosts/tested.md: which scene held in which version. Exit code: 0, or 1 when a scene that
held according to the page no longer holds, or when nothing could be run.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from tests.e2e.clients import CLAUDE_CODE, CODEX, OPENCODE, VERSIONS, Client
from tests.npm import NO_NPM
from tests.repository import ROOT

__all__ = ["main", "read_page", "read_results", "worse_than", "write_page"]

PAGE: Final = ROOT / "docs" / "hosts" / "tested.md"
_RESULTS: Final = ROOT / "build" / "hosts-latest.xml"
_FORM: Final = ("-o", "junit_family=xunit1")
"""The form of the results that takes properties of a test."""
_HOSTS: Final[Mapping[str, Client]] = {
    "Claude Code": CLAUDE_CODE,
    "Codex": CODEX,
    "OpenCode": OPENCODE,
}
_HEAD: Final = """\
# What was run in which version

After this page you know which scenes of the end-to-end tests held in the newest version of each
host, and when. `make hosts-latest` installs these versions, drives them with a scripted model on
this machine, and writes the page; it fails when a scene that held no longer holds. Nothing in
goop-mcp depends on a version: transcripts are read by their form
([D-105](../decisions.md#d-105)).

"held" is a scene that passed, "failed" one that did not, "not run here" one that the machine did
not allow; a blank has no such scene.
"""

Table = dict[str, dict[str, str]]
"""The outcome for each scene and host."""


def main(arguments: Sequence[str]) -> int:
    """Run the scenes, with `arguments` for pytest, write the page, and return the exit code."""
    npm = shutil.which("npm")
    if npm is None:
        sys.stderr.write(f"{NO_NPM}\n")
        return 1

    versions = {host: _newest(npm, client) for host, client in _HOSTS.items()}
    chosen = " ".join(f"{_HOSTS[host].program}={version}" for host, version in versions.items())
    _RESULTS.parent.mkdir(exist_ok=True)
    _RESULTS.unlink(missing_ok=True)
    subprocess.run(
        [sys.executable, "-m", "tests.e2e", f"--junitxml={_RESULTS}", *_FORM, *arguments],
        cwd=ROOT,
        env={**os.environ, VERSIONS: chosen},
        check=False,
    )
    if not _RESULTS.exists():
        sys.stderr.write("no scene was run; the lines above say why\n")
        return 1

    results = read_results(_RESULTS)
    before = read_page(PAGE.read_text(encoding="utf-8")) if PAGE.exists() else {}
    # Some scenes were asked for: the others stand as they were.
    table = {**before, **results} if arguments else results
    PAGE.write_text(write_page(table, versions), encoding="utf-8")

    lost = list(worse_than(before, results))
    for scene, host in lost:
        sys.stderr.write(f"no longer holds in {host} {versions[host]}: {scene}\n")

    return int(bool(lost))


def _newest(npm: str, client: Client) -> str:
    answer = subprocess.run(
        [npm, "view", client.package, "version"],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return answer.stdout.strip()


def read_results(path: Path) -> Table:
    """Return the outcome of each scene in the results of pytest."""
    table: Table = {}
    for case in ET.parse(path).iter("testcase"):  # noqa: S314 - pytest wrote the file just now
        place, name = case.get("classname", ""), case.get("name", "")
        own = case.find("properties/property[@name='scene']")
        function = re.sub(r"\[.*", "", name).removeprefix("test_").replace("_", " ")
        scene = function if own is None else own.get("value", function)
        outcome = (
            "not run here"
            if case.find("skipped") is not None
            else "failed"
            if case.find("failure") is not None or case.find("error") is not None
            else "held"
        )
        row = table.setdefault(scene, {})
        host = _host_of(f"{place} {name}")
        row[host] = _worst(row.get(host, outcome), outcome)

    return table


def _worst(one: str, other: str) -> str:
    order = ("failed", "not run here", "held")
    return min(one, other, key=order.index)


def _host_of(test: str) -> str:
    words = test.lower().replace("_", "").replace("-", "")
    if "opencode" in words or "acp" in words:
        return "OpenCode"
    return "Codex" if "codex" in words else "Claude Code"


def read_page(text: str) -> Table:
    """Return the table of the page."""
    rows = [
        [cell.strip() for cell in line.strip().strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("|")
    ]
    if not rows:
        return {}

    hosts = [" ".join(cell.split()[:-1]) for cell in rows[0][1:]]
    return {
        scene: {host: cell for host, cell in zip(hosts, cells, strict=False) if cell}
        for scene, *cells in rows[2:]
    }


def write_page(table: Table, versions: Mapping[str, str]) -> str:
    """Return the page, with the scenes in alphabetical order."""
    lines = [
        _HEAD,
        f"Run on {datetime.now(UTC).date()}.",
        "",
        f"| scene | {' | '.join(f'{host} {version}' for host, version in versions.items())} |",
        f"|---|{'---|' * len(versions)}",
    ]
    for scene, row in sorted(table.items()):
        lines.append(f"| {scene} | {' | '.join(row.get(host, '') for host in versions)} |")

    return "\n".join(lines) + "\n"


def worse_than(before: Table, after: Table) -> Iterator[tuple[str, str]]:
    """Yield the scene and host of each cell that held before and fails now."""
    for scene, row in after.items():
        for host, outcome in row.items():
            if outcome == "failed" and before.get(scene, {}).get(host) == "held":
                yield scene, host


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
