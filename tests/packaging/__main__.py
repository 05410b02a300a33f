"""Build, check, install and try everything that is published, on every Python of this machine.

Arguments are interpreters to use instead of those that are found. Exit code 1 when a step failed
or could not be tried here.
"""

import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from goop_mcp import __version__
from tests.packaging.bundle import pack_bundle, stage_bundle, unpack_bundle
from tests.packaging.pythons import find_pythons, version_of
from tests.packaging.tools import ProgramFailedError, install_mcpb, install_tools, run, tool
from tests.packaging.trial import STEPS, Trial, speaks_mcp, try_distribution
from tests.repository import ROOT

DIST = ROOT / "dist"
PACKAGING = ROOT / "packaging"
WHEEL = DIST / f"goop_mcp-{__version__}-py3-none-any.whl"
SDIST = DIST / f"goop_mcp-{__version__}.tar.gz"
BUNDLE = DIST / f"goop-mcp-{__version__}.mcpb"
LARGEST_DOWNLOAD = 21_700_000
"""Bytes of everything that `pip install goop-mcp` downloads; docs/performance.md has the value."""


def main() -> int:
    """Do everything and return the exit code."""
    if not _done("tools", install_tools):
        return 1

    failed = [name for name, step in CHECKS.items() if not _done(name, step)]
    if not WHEEL.exists():
        return 1

    failed += [named for named in sys.argv[1:] if version_of(Path(named)) is None]
    pythons = find_pythons(sys.argv[1:])
    if not pythons:
        print("there is no Python 3.11 or newer with venv on this machine; name one as an argument")
        return 1

    trials = {
        f"Python {version}": _trial(version, python, WHEEL) for version, python in pythons.items()
    }
    version, python = next(iter(pythons.items()))
    trials[f"Python {version} (sdist)"] = _trial(version, python, SDIST)
    _show(trials)
    failed += [name for name, trial in trials.items() if not trial.passed]
    print(
        f"failed: {', '.join(failed)}"
        if failed
        else f"all passed; the files to publish are in {DIST}"
    )

    return int(bool(failed))


def _done(name: str, step: Callable[[], str]) -> bool:
    try:
        print(f"{name:22}{step()}", flush=True)
    except ProgramFailedError as error:
        print(f"{name:22}failed: {error}", flush=True)
        return False

    return True


def _built() -> str:
    """Build the sdist, and the wheel from it."""
    shutil.rmtree(DIST, ignore_errors=True)
    run([tool("python"), "-m", "build", "--outdir", DIST, ROOT])
    return ", ".join(f"{path.name} ({path.stat().st_size // 1024} KiB)" for path in (WHEEL, SDIST))


def _downloaded() -> str:
    """Download what an installation needs, and compare its size with the bound."""
    with tempfile.TemporaryDirectory(prefix="goop-mcp-") as place:
        run([tool("python"), "-m", "pip", "download", "--quiet", "--dest", place, WHEEL])
        sizes = {path.name.partition("-")[0]: path.stat().st_size for path in Path(place).iterdir()}

    total = sum(sizes.values())
    largest = sorted(sizes, key=lambda name: -sizes[name])[:4]
    parts = ", ".join(f"{name} {sizes[name] / 1e6:.1f}" for name in largest)
    shown = f"{total / 1e6:.1f} MB in {len(sizes)} files ({parts}, …)"
    if total > LARGEST_DOWNLOAD:
        raise ProgramFailedError(f"{shown}; at most {LARGEST_DOWNLOAD / 1e6:.1f} MB")
    return shown


def _described() -> str:
    return (
        run([tool("twine"), "--no-color", "check", "--strict", WHEEL, SDIST])
        .strip()
        .replace(f"{DIST}/", "")
    )


def _contained() -> str:
    # W004 asks for __init__.py in folders that hold data only: schemas, prompts, migrations.
    return (
        run([tool("check-wheel-contents"), "--ignore", "W004", WHEEL])
        .strip()
        .replace(f"{DIST}/", "")
    )


def _readable_for_registries() -> str:
    """Validate server.json with its schema, and the front matter of the plugin as YAML."""
    rules = (
        "mcp-registry-server-json-valid",
        "claude-agent-frontmatter",
        "claude-command-frontmatter",
    )
    chosen = [word for rule in rules for word in ("--rule", rule)]
    paths = (PACKAGING / "server.json", PACKAGING / "plugins" / "claude-code" / "goop-mcp")
    run([tool("skillsaw"), "lint", "--strict", "--no-custom-rules", *chosen, *paths])

    return "valid; front matter of the plugin: YAML"


def _run_by_uvx() -> str:
    with tempfile.TemporaryDirectory(prefix="goop-mcp-") as place:
        words = [
            "tool",
            "run",
            "--isolated",
            "--python",
            sys.executable,
            "--from",
            str(WHEEL),
            "goop-mcp",
        ]
        output = run([tool("uv"), *words, "--version"], cwd=Path(place)).strip()
        speaks_mcp(str(tool("uv")), [*words, "serve"], Path(place))

    return f"{output}; serves MCP"


def _bundled() -> str:
    """Validate and pack the bundle, unpack it, and start what came out as its manifest says."""
    mcpb = install_mcpb()
    with tempfile.TemporaryDirectory(prefix="goop-mcp-") as place:
        project, unpacked = Path(place) / "project", Path(place) / "unpacked"
        project.mkdir()
        count = pack_bundle(mcpb, stage_bundle(Path(place) / "staged"), BUNDLE)
        launch = unpack_bundle(BUNDLE, unpacked, project=project)
        run([tool("uv"), "venv", "--quiet", "--python", sys.executable, unpacked / ".venv"])
        # What has to be installed first takes longer than a client waits.
        run([tool(launch.command), *launch.arguments[:-1], "--version"])
        speaks_mcp(str(tool(launch.command)), launch.arguments, project, launch.environment)

    return f"{BUNDLE.name}: {count} files ({BUNDLE.stat().st_size // 1024} KiB); serves MCP"


CHECKS = {
    "build": _built,
    "downloads": _downloaded,
    "twine check": _described,
    "check-wheel-contents": _contained,
    "server.json": _readable_for_registries,
    "uvx --from the wheel": _run_by_uvx,
    "bundle": _bundled,
}


def _trial(version: str, python: Path, distribution: Path) -> Trial:
    print(f"{'Python ' + version:22}{python}, {distribution.name} ...", flush=True)
    return try_distribution(python, distribution)


def _show(trials: dict[str, Trial]) -> None:
    table = Table("", "install", *STEPS)
    for name, trial in trials.items():
        table.add_row(name, *(trial.outcomes.get(step, "–") for step in ("install", *STEPS)))
    Console().print(table)


if __name__ == "__main__":
    sys.exit(main())
