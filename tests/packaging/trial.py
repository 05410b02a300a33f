"""What is built, installed into a clean environment and put to use there."""

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType

from mcp.client.stdio import StdioServerParameters

from goop_mcp import __version__
from tests.packaging.tools import ProgramFailedError, clean_environment, run
from tests.repository import ROOT
from tests.server.connections import connect

__all__ = ["STEPS", "Trial", "speaks_mcp", "try_distribution"]

REPORT = ROOT / "tests" / "cases" / "goop_report" / "016_executor_complete.xml"


@dataclass(frozen=True, slots=True)
class Trial:
    """What became of each step: "ok", or why it failed.

    Steps after a failed installation are missing.
    """

    outcomes: dict[str, str]

    @property
    def passed(self) -> bool:
        """Whether every step went well."""
        return set(self.outcomes.values()) == {"ok"}


def try_distribution(python: Path, distribution: Path) -> Trial:
    """Install `distribution` with dependencies into a new environment and run every step."""
    with tempfile.TemporaryDirectory(prefix="goop-mcp-") as place:
        home, elsewhere = Path(place) / "environment", Path(place) / "project"
        elsewhere.mkdir()
        outcomes = {"install": _outcome(partial(_install, python, distribution, home))}
        if outcomes["install"] == "ok":
            outcomes |= {
                name: _outcome(partial(step, home / "bin", elsewhere))
                for name, step in STEPS.items()
            }

    return Trial(outcomes)


def _outcome(step: Callable[[], None]) -> str:
    try:
        step()
    except (ProgramFailedError, AssertionError, OSError, ValueError) as error:
        return f"failed: {error}"
    return "ok"


def _install(python: Path, distribution: Path, home: Path) -> None:
    run([python, "-m", "venv", home])
    run(
        [
            home / "bin" / "python",
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            distribution,
        ]
    )


def _imports(programs: Path, elsewhere: Path) -> None:
    output = run(
        [programs / "python", "-W", "error", "-c", "import goop_mcp; print(goop_mcp.__file__)"],
        cwd=elsewhere,
    )
    if not Path(output.strip()).is_relative_to(programs.parent):
        raise ProgramFailedError(f"{output.strip()} was imported in place of what was installed")


def _depends(programs: Path, elsewhere: Path) -> None:
    run([programs / "python", "-m", "pip", "check"], cwd=elsewhere)


def _version(programs: Path, elsewhere: Path) -> None:
    output = run([programs / "goop-mcp", "--version"], cwd=elsewhere)
    if __version__ not in output:
        raise ProgramFailedError(
            f"goop-mcp --version says {output.strip()!r} in place of {__version__}"
        )


def _checks(programs: Path, elsewhere: Path) -> None:
    run([programs / "goop-mcp", "check", REPORT], cwd=elsewhere)


def _demonstrates(programs: Path, elsewhere: Path) -> None:
    run([programs / "goop-mcp", "demo"], cwd=elsewhere)


def _serves(programs: Path, elsewhere: Path) -> None:
    speaks_mcp(str(programs / "goop-mcp"), ["serve"], elsewhere)


def speaks_mcp(
    command: str,
    arguments: list[str],
    project: Path,
    variables: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Start a server with `variables` and have a report validated, with both protocol versions.

    Raises ProgramFailedError.
    """
    environment = {**clean_environment(), **variables}
    server = StdioServerParameters(command=command, args=arguments, cwd=project, env=environment)

    for protocol_version in ("auto", "legacy"):
        with connect(server, protocol_version) as client:
            answer = client.tool("validate_report", text=REPORT.read_text(encoding="utf-8"))

        judged = (answer.structured_content or {}).get("verdict")
        if judged != "accepted":
            raise ProgramFailedError(
                f"the server ({protocol_version}) judged a good report as {judged}"
            )


STEPS: dict[str, Callable[[Path, Path], None]] = {
    "import": _imports,
    "pip check": _depends,
    "version": _version,
    "check": _checks,
    "demo": _demonstrates,
    "MCP": _serves,
}
"""What is done with an installation, by the name of the table's column."""
