"""Count the tokens that models of real hosts pay for: tools, answers, briefing, feedback.

Claude Code and OpenCode run with a scripted model on loopback, and what is counted stands in the
requests that they send to it. Tokens are those of o200k_base, counted by js-tiktoken, which npm
installs like the other servers; each vendor's own tokenizer counts a little differently.
"""

import json
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from benchmarks.tables import Bound, Table
from goop_mcp.validation.feedback import OPENING
from tests.e2e import claude_code, opencode
from tests.e2e.clients import CLAUDE_CODE, OPENCODE, Client, make_sandbox
from tests.e2e.conversation import Conversation, Json, ToolCall
from tests.e2e.script import BAD_REPORTS, DONE, GOOD_REPORT, answer
from tests.e2e.scripted_model import ScriptedModel, scripted_model
from tests.npm import Installation

__all__ = ["run"]

_OTHERS: Final = Installation(
    "token-servers",
    {
        "@modelcontextprotocol/server-memory": "2026.8.31",
        "@playwright/mcp": "0.0.83",
        "js-tiktoken": "1.0.21",
    },
)
_PROGRAMS: Final = {
    "memory": ("@modelcontextprotocol/server-memory", "dist/index.js"),
    "playwright": ("@playwright/mcp", "cli.js"),
}
_COUNT: Final = (
    'const {getEncoding} = require("js-tiktoken"); const read = require("fs").readFileSync(0);'
    ' const counter = getEncoding("o200k_base");'
    " console.log(JSON.stringify(JSON.parse(read).map((text) => counter.encode(text).length)));"
)
_ENTITY: Final = {"name": "Tokens", "entityType": "decision", "observations": ["We use jose."]}
_CALLS: Final[Sequence[tuple[str, str, Json]]] = (
    ("goop", "update_project", {"action": "init", "name": "shop"}),
    ("goop", "validate_report", {"text": GOOD_REPORT}),
    ("goop", "route_next_action", {"text": GOOD_REPORT}),
    ("goop", "record_report", {"text": GOOD_REPORT, "check_workspace": False}),
    ("goop", "record_report", {"text": "I am done."}),
    ("goop", "project_status", {}),
    ("goop", "save_memory", {"title": "Tokens", "content": "We use jose."}),
    ("goop", "search_memory", {"queries": ["jose", "tokens"]}),
    ("memory", "create_entities", {"entities": [_ENTITY]}),
    ("memory", "search_nodes", {"query": "jose"}),
)

_WAIT: Final = "Bash"
_MOST_WAITS: Final = 30
_ANSWER: Final = Bound(goal=400, defect=600)
_TOOLS: Final = Bound(goal=4_000, defect=4_500)

# Hosts put their own texts around the briefing, in the same message.
_OF_SUBAGENT: Final = ("Your last message must end with one envelope", "(tool search_memory).")
_OF_MAIN_AGENT: Final = ("Subagents end with a machine-readable report", "(tool search_memory).")
_INSTRUCTIONS: Final = (
    "Checks the machine-readable envelope",
    "goop://rules lists what is checked.",
)
_FEEDBACK: Final = ("feedback, no envelope", "feedback, wrong status and a file that is missing")


@dataclass(slots=True)
class _Seen:
    """What the model of one host saw: tools by server, and the answers in the order of calls.

    `guidance` is what the hooks of goop-mcp added to a session, by its name.
    """

    tools: dict[str, list[Json]] = field(default_factory=dict)
    answers: list[str] = field(default_factory=list)
    guidance: dict[str, str] = field(default_factory=dict)


def run() -> Table:
    """Run both hosts once, and count what their models saw."""
    table = Table(
        "tokens",
        ("what the model sees", "Claude Code", "OpenCode"),
        [
            "tokens of o200k_base, counted by js-tiktoken, in the requests to the scripted model",
            "bound of an answer, briefing or feedback: 600 tokens; of all tools of goop-mcp: 4,500",
        ],
    )
    missing = _OTHERS.install() or next(
        (reason for each in (CLAUDE_CODE, OPENCODE) if (reason := each.missing_reason())), ""
    )
    if missing:
        table.notes = [*table.notes, f"not measured: {missing}"]
        return table

    seen = {client.program: _seen_by(client) for client in (CLAUDE_CODE, OPENCODE)}
    for client in (CLAUDE_CODE, OPENCODE):
        seen[client.program].guidance = _guidance_in(client)
    for server in ("goop", *_PROGRAMS):
        texts = [
            json.dumps(each.tools.get(server, []), ensure_ascii=False, separators=(",", ":"))
            for each in seen.values()
        ]
        number = len(seen[OPENCODE.program].tools.get(server, []))
        bound = _TOOLS if server == "goop" else None
        _add(table, f"{number} tools of {server}", texts, bound)

    for index, (server, tool, _) in enumerate(_CALLS):
        texts = [each.answers[index] for each in seen.values()]
        _add(table, f"{server}: {tool}", texts, _ANSWER if server == "goop" else None)

    for name in seen[CLAUDE_CODE.program].guidance:
        _add(table, name, [each.guidance[name] for each in seen.values()], _ANSWER)

    return table


def _add(table: Table, what: str, texts: Sequence[str], bound: Bound | None) -> None:
    counts = _tokens(texts)
    table.add(
        what,
        *(f"{count:,}" for count in counts),
        judgement=bound.judge(max(counts)) if bound else "",
    )


def _tokens(texts: Sequence[str]) -> list[int]:
    counted = subprocess.run(
        [_OTHERS.node, "-e", _COUNT],
        cwd=_OTHERS.folder,
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    counts: list[int] = json.loads(counted.stdout)

    return counts


def _seen_by(client: Client) -> _Seen:
    """Run a host with all servers until the scripted model has made every call."""
    with tempfile.TemporaryDirectory(prefix="goop-bench-") as place, scripted_model(_next) as model:
        sandbox = make_sandbox(Path(place) / client.program)
        servers = {
            name: [str(_OTHERS.node), str(_OTHERS.file(*program))]
            for name, program in _PROGRAMS.items()
        }
        servers["goop"] = [str(sandbox.programs / "goop-mcp"), "serve"]
        if client is CLAUDE_CODE:
            claude_code.write_json(
                sandbox.project / ".mcp.json",
                {"mcpServers": {n: {"command": c[0], "args": c[1:]} for n, c in servers.items()}},
            )
            claude_code.write_json(
                sandbox.project / ".claude" / "settings.json",
                {"enabledMcpjsonServers": list(servers)},
            )
            # Tools are listed at once, as they are for every host without a search for tools.
            environment = {
                **claude_code.claude_environment(sandbox, model),
                "ENABLE_TOOL_SEARCH": "false",
            }
            command: list[str | Path] = [
                CLAUDE_CODE.path,
                "-p",
                "Play.",
                "--allowedTools",
                "mcp__goop",
                "mcp__memory",
            ]
            sandbox.run(command, environment=environment)
        else:
            opencode.write_project(sandbox)
            path = sandbox.project / "opencode.json"
            settings = json.loads(path.read_text(encoding="utf-8"))
            settings["mcp"] = {
                name: {"type": "local", "command": command, "enabled": True, "timeout": 60_000}
                for name, command in servers.items()
            }
            claude_code.write_json(path, settings)
            opencode.run_opencode(sandbox, model, "run", "--format", "json", "Play.")

        return _read(model)


def _guidance_in(client: Client) -> dict[str, str]:
    """Run a host whose subagent never fixes its report; return what the hooks added, by name."""
    with (
        tempfile.TemporaryDirectory(prefix="goop-bench-") as place,
        scripted_model(answer) as model,
    ):
        sandbox = make_sandbox(Path(place) / client.program)
        # Without the folder it is no GoopSpec project, so that no memory is named.
        (sandbox.project / ".goopspec").mkdir()
        prompt = "GOOP-MAIN GOOP-STUBBORN delegate"
        if client is CLAUDE_CODE:
            claude_code.write_project(sandbox, settings=claude_code.hook_settings())
            claude_code.run_claude(sandbox, model, prompt)
        else:
            opencode.write_project(sandbox)
            opencode.install(sandbox)
            opencode.delegate(sandbox, model, prompt)

        last = max(
            (each for each in model.conversations if "GOOP-SUB" in each.first_text),
            key=lambda each: len(each.messages),
        )
        # The main agent has several conversations, such as one that only names the session.
        main = max(
            (each for each in model.conversations if "GOOP-SUB" not in each.first_text),
            key=lambda each: (bool(each.tools), len(each.messages)),
        )
        guidance = {
            "instructions of the server": _text_between(_INSTRUCTIONS, main),
            "briefing of the main agent": _text_between(_OF_MAIN_AGENT, main),
            "briefing of a subagent": _text_between(_OF_SUBAGENT, last),
        }
        for name, report in zip(_FEEDBACK, BAD_REPORTS, strict=False):
            guidance[name] = _feedback_on(report, last)

        return guidance


def _text_between(marks: tuple[str, str], conversation: Conversation) -> str:
    """Return what a hook or the host added, from its first words to its last; "" without it."""
    begin, end = marks
    _, begins, rest = conversation.text_of("system", "prompt", "user").partition(begin)
    text, ends, _ = rest.partition(end)

    return f"{begins}{text}{ends}" if begins else ""


def _feedback_on(report: str, conversation: Conversation) -> str:
    """Return all that the model received between `report` and its next message."""
    texts: list[str] = []
    is_next = False
    for message in conversation.messages:
        if message.role == "assistant":
            is_next = message.text.strip() == report.strip()
        elif is_next and OPENING in message.text:
            # Claude Code sends it twice, in a message of the user and in one of the system.
            texts.append(message.text)

    return "\n".join(texts)


def _next(conversation: Conversation) -> str | ToolCall:
    """Return the next call of the play, by the number of calls so far."""
    done = sum(call != _WAIT for message in conversation.messages for call in message.calls)
    if done >= len(_CALLS):
        return DONE

    server, tool, arguments = _CALLS[done]
    name = next((each for each in conversation.tools if server in each and each.endswith(tool)), "")
    waits = sum(_WAIT in message.calls for message in conversation.messages)
    if name or _WAIT not in conversation.tools or waits >= _MOST_WAITS:
        return ToolCall(name, arguments) if name else DONE

    # Claude Code begins before every server has answered, and adds the tools of the others later.
    return ToolCall(_WAIT, {"command": "sleep 2", "description": "Wait for the servers"})


def _read(model: ScriptedModel) -> _Seen:
    """Return what the conversations hold of the servers."""
    seen, longest = _Seen(), max(model.conversations, key=lambda each: len(each.messages))
    for definition in longest.definitions:
        function: Any = definition.get("function", definition)
        for server in ("goop", *_PROGRAMS):
            if f"{server}_" in str(function["name"]):
                seen.tools.setdefault(server, []).append(definition)

    is_answer = False
    for message in longest.messages:
        if is_answer:
            seen.answers.append(message.text)
        is_answer = any(call != _WAIT for call in message.calls)

    return seen
