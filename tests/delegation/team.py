"""A team of real programs for the scenes: each decides by its task and what it was asked before."""

import json
import sys
from pathlib import Path

from tests.delegation.reports import report

__all__ = ["write_team"]

_PROGRAM = """\
import json, os, pathlib, sys

task = os.environ["GOOP_TASK"]
message = sys.stdin.read()
with open("asked.jsonl", "a") as log:
    log.write(json.dumps([task, os.environ["GOOP_IDEMPOTENCY_KEY"], message]) + "\\n")

REPORTS = json.loads(pathlib.Path("reports.json").read_text())
round = int(os.environ["GOOP_IDEMPOTENCY_KEY"].rpartition("/")[2])
if task == "docs":
    sys.exit("the disk of the docs is gone")
if task == "ui" and "decided" not in message:
    print(REPORTS["blocked"])
elif task == "review" and "Second API" not in message:
    print(REPORTS["rejected"])
elif task == "api":
    print(REPORTS["api again" if "No limits" in message else "api"])
else:
    print(REPORTS.get(task, REPORTS["done"]))
"""

_GRAPH = """\
graph = 1
name = "login"
protocol = "goop_report"

[agents.worker]
run = "command"
command = [{python}, "worker.py"]
retry = {{ max_attempts = 2, call_retries = 0 }}

[tasks.plan]
agent = "worker"
prompt = "Plan ${{input.goal}}"
[tasks.api]
agent = "worker"
needs = ["plan"]
prompt = "Build: ${{plan.summary}}"
priority = 1
[tasks.ui]
agent = "worker"
needs = ["plan"]
[tasks.docs]
agent = "worker"
needs = ["plan"]
optional = true
[tasks.review]
agent = "worker"
needs = ["api", "ui", "docs"]
prompt = "Review: ${{api.summary}} ${{ui.summary}} ${{docs.summary}}"
feedback_to = ["api"]
[tasks.test]
agent = "worker"
needs = ["review"]
"""


def write_team(folder: Path) -> Path:
    """Write the graph, its program and the reports into `folder`; return the graph."""
    reports = {
        "plan": report(agent="goop-planner", summary="A login in three parts."),
        "api": report(summary="First API."),
        "api again": report(summary="Second API."),
        "blocked": report("BLOCKED", summary="No color.", blockers="RULE 4: which color?"),
        "done": report(),
        "rejected": report(
            "PARTIAL",
            agent="goop-verifier",
            summary="No limits.",
            next_action="No limits: add them",
        ),
    }
    (folder / "reports.json").write_text(json.dumps(reports))
    (folder / "worker.py").write_text(_PROGRAM)
    graph = folder / "login.toml"
    graph.write_text(_GRAPH.format(python=f'"{sys.executable}"'))

    return graph
