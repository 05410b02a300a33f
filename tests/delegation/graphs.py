"""Graphs and graph files for the tests."""

from pathlib import Path

from goop_mcp.delegation.graph import Graph
from goop_mcp.delegation.parts import GraphAgent, GraphGate, GraphLimits, GraphRetry, GraphTask
from goop_mcp.validation.samples import COMPLETE_REPLY

LOGIN = """\
graph = 1
name = "login"
protocol = "goop_report"

[limits]
parallel = 3
deadline = "2h"
max_tokens = 2_000_000
max_calls = 100
max_tasks = 200
max_depth = 3
max_rounds = 3

[agents.planner]
run = "claude-code"
options = ["--agent", "goop-planner"]
[agents.executor]
run = "command"
command = ["my-agent", "--print"]
on_stdin = true
parallel = 3
rate = "10/min"
retry = { max_attempts = 3, attempt_timeout = "20m", strategies = ["same_conversation", "fresh"] }
[agents.reviewer]
run = "python"
call = "my_team:review"
fallback = "planner"

[tasks.plan]
agent = "planner"
prompt = "Plan: ${input.goal}"
expands = true

[tasks.api]
agent = "executor"
needs = ["plan"]
prompt_file = "prompts/api.md"
priority = 10
timeout = "30m"
exclusive = ["database"]
workspace = "worktree"
on_crash = "resume"
[tasks.ui]
agent = "executor"
needs = ["plan"]
prompt = "Make the page."
[tasks.docs]
agent = "executor"
needs = ["plan"]
prompt = "Write the docs."
optional = true

[tasks.review]
agent = "reviewer"
needs = ["api", "ui", "docs"]
when = "accepted"
feedback_to = ["api", "ui"]
[gates.ship]
needs = ["review"]
question = "Ship it?"
answers = ["yes", "no"]
timeout = "24h"
default = "no"
"""


def write_login(folder: Path, old: str = "", new: str = "") -> Path:
    """Write the graph `login`, with `old` replaced by `new`, and its prompt; return its path."""
    if old and old not in LOGIN:
        raise ValueError(f"{old!r} is not in the graph")

    (folder / "prompts").mkdir(parents=True, exist_ok=True)
    (folder / "prompts" / "api.md").write_text("Build it as ${plan.summary} says.\n")
    path = folder / "login.toml"
    path.write_text(LOGIN.replace(old, new, 1) if old else LOGIN)

    return path


def chain() -> Graph:
    """Return a graph of two tasks, of which one needs the other."""
    return Graph(
        name="chain",
        protocol="goop_report",
        agents=(GraphAgent("worker"),),
        tasks=(
            GraphTask("a", agent="worker", prompt="Do task a"),
            GraphTask("b", agent="worker", prompt="Do task b", needs=("a",)),
        ),
    )


class Team:
    """An agent that answers each prompt by its first word, and remembers what it was asked."""

    def __init__(self, **replies: str) -> None:
        self.replies = replies
        self.asked: list[str] = []

    async def __call__(self, text: str) -> str:
        self.asked.append(text)
        word = text.split(maxsplit=1)[0].rstrip(":").lower()
        return self.replies.get(word, COMPLETE_REPLY)


def login(**limits: int) -> Graph:
    """Return a graph whose agents answer once, with an optional task and a gate."""
    return Graph(
        name="login",
        agents=(GraphAgent("team", retry=GraphRetry(max_attempts=1)),),
        tasks=(
            GraphTask("plan", agent="team", prompt="Plan ${input.goal}"),
            GraphTask("api", agent="team", prompt="Api: ${plan.summary}", needs=("plan",)),
            GraphTask("docs", agent="team", prompt="Docs: write", needs=("plan",), optional=True),
            GraphTask("test", agent="team", prompt="Test it", needs=("api", "docs", "ship")),
        ),
        gates=(GraphGate("ship", question="Ship it?", needs=("api",)),),
        limits=GraphLimits(**limits),
    )
