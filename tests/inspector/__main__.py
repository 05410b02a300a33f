"""Use the server with the MCP Inspector, an independent client, in every transport and version.

Exit code 1 when an answer is not the expected one, 77 when nothing could be tested, as without npm.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.npm import Installation
from tests.repository import NOT_TESTED, ROOT
from tests.server.http.serving import serve_command, served

_PACKAGE: Final = "@modelcontextprotocol/inspector"
INSPECTOR: Final = Installation("inspector", {_PACKAGE: "2.12.0"})
_LONGEST_RUN: Final = 180

_FAILED, _TOOL_FAILED = 1, 5
"""Exit codes of the Inspector: an error of the protocol, and a tool that says it failed."""

_REQUESTS: Final = 1000
_IN_FLIGHT: Final = 32


@dataclass(frozen=True, slots=True)
class Question:
    """One run of the Inspector: its arguments, the expected exit code, and texts of the answer."""

    name: str
    arguments: tuple[str, ...]
    code: int = 0
    holds: tuple[str, ...] = ()


def _call(tool: str, **arguments: object) -> tuple[str, ...]:
    return "--method", "tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(arguments)


_QUESTIONS: Final = (
    Question(
        "tools, linted",
        ("--method", "tools/list", "--strict"),
        holds=("validate_report", "outputSchema"),
    ),
    Question(
        "a call", _call("validate_report", text="no envelope"), holds=("rejected: no envelope",)
    ),
    Question(
        "a wrong call", _call("validate_report", txt="x"), _TOOL_FAILED, ("did you mean 'text'?",)
    ),
    Question("resources", ("--method", "resources/list"), holds=("goop://rules",)),
    Question(
        "templates", ("--method", "resources/templates/list"), holds=("goop://memories/{id}",)
    ),
    Question(
        "a resource", ("--method", "resources/read", "--uri", "goop://rules"), holds=("# Rules",)
    ),
    Question(
        "a missing one",
        ("--method", "resources/read", "--uri", "goop://no"),
        _FAILED,
        ("there is no resource",),
    ),
    Question(
        "a view",
        ("--method", "resources/read", "--uri", "ui://goop/verdict"),
        holds=("text/html;profile=mcp-app", "ui/initialize"),
    ),
    Question("prompts", ("--method", "prompts/list"), holds=("start_task",)),
    Question(
        "a prompt",
        (
            "--method",
            "prompts/get",
            "--prompt-name",
            "goop_report",
            "--prompt-args",
            "agent=goop-planner",
        ),
        holds=("<agent>goop-planner</agent>",),
    ),
    Question(
        "a missing one",
        ("--method", "prompts/get", "--prompt-name", "no"),
        _FAILED,
        ("32 are known",),
    ),
)
_LOAD: Final = Question(
    f"{_REQUESTS} calls, {_IN_FLIGHT} at a time",
    (
        *_call("validate_report", text="no envelope"),
        *(
            "--load",
            "--load-concurrency",
            str(_IN_FLIGHT),
            "--load-requests",
            str(_REQUESTS),
            "--format",
            "json",
        ),
    ),
    holds=(f'"ok":{_REQUESTS}',),
)


def main() -> int:
    """Install the Inspector, ask everything over every way and print a table."""
    if reason := INSPECTOR.install():
        print(f"not tested: {reason}", file=sys.stderr)
        return NOT_TESTED

    failures = 0

    with tempfile.TemporaryDirectory(prefix="goop-inspector-") as folder:
        place = Path(folder)
        for way, target in _ways(place):
            for question in (*_QUESTIONS, _LOAD):
                failure = _ask(question, target, place)
                failures += bool(failure)
                print(f"{way:26}{question.name:28}{failure or 'ok'}", flush=True)

    print(f"\n{failures} failures")

    return 1 if failures else 0


def _ways(place: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each way to reach a server, with the arguments that say so."""
    # The first words are the command of the server; what follows a method belongs to the Inspector.
    stdio = (*serve_command(project=place), "--cwd", str(ROOT))
    yield "stdio, 2025", stdio
    yield "stdio, 2026", (*stdio, "--protocol-era", "modern")

    # The limits stay on; this one is never met.
    with served("--transport", "http", "--rate-limit", "100000", project=place) as server:
        streamable = (server.mcp, "--transport", "http")
        yield "streamable HTTP, 2025", streamable
        yield "streamable HTTP, 2026", (*streamable, "--protocol-era", "modern")
        yield "SSE", (server.sse, "--transport", "sse")


def launcher() -> Path:
    """Return the file that starts the Inspector in each of its forms."""
    return INSPECTOR.file(_PACKAGE, "clients/launcher/build/index.js")


def _ask(question: Question, target: tuple[str, ...], home: Path) -> str:
    """Return what is wrong with the answer, empty when it is right."""
    program = launcher()
    try:
        ended = subprocess.run(
            [INSPECTOR.node, program, "--cli", *target, *question.arguments, "--quiet"],
            cwd=ROOT,
            env=INSPECTOR.environment(home) | {"PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            check=False,
            capture_output=True,
            encoding="utf-8",
            timeout=_LONGEST_RUN,
        )
    except subprocess.TimeoutExpired:
        return f"NO ANSWER within {_LONGEST_RUN} s"

    # Errors of the protocol are on stderr; after a success, what is there is ignored.
    output = (ended.stdout or ended.stderr).replace(r"\"", '"')
    missing = [words for words in question.holds if words not in output]
    if ended.returncode == question.code and not missing:
        return ""
    return (
        f"WRONG: exit {ended.returncode}, expected {question.code}; {', '.join(missing)} not in"
        f" {output[-300:]!r}"
    )


if __name__ == "__main__":
    sys.exit(main())
