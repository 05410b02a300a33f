"""A delegation graph: who does what after whom, and within which limits.

A `Graph` is data and always consistent: one that names an agent, a need or a placeholder that is
not there, or that has a cycle, cannot be made. It comes from a TOML or JSON file (`Graph.load`),
from stored JSON (`Graph.from_dict`) or from code. Nothing here runs anything.
"""

import hashlib
import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from functools import cached_property
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, Final, get_args

from goop_mcp.delegation.consistency import LONGEST_NAME, MOST_TASKS, in_order, problems_of
from goop_mcp.delegation.fields import (
    MOST_PROBLEMS,
    GraphProblem,
    Reader,
    choice,
    duration,
    flag,
    number,
    read_table,
    suggestion,
    text,
    texts,
    whole,
)
from goop_mcp.delegation.lines import KeyPath, json_lines, line_of, long_key_line, toml_lines
from goop_mcp.delegation.parts import (
    NO_LIMITS,
    AgentKind,
    GraphAgent,
    GraphGate,
    GraphLimits,
    GraphRetry,
    GraphStep,
    GraphTask,
    Permissions,
)
from goop_mcp.delegation.placeholders import INPUT, placeholders_in
from goop_mcp.errors import GoopError
from goop_mcp.validation.findings import excerpt

__all__ = [
    "Graph",
    "GraphAgent",
    "GraphError",
    "GraphGate",
    "GraphLimits",
    "GraphRetry",
    "GraphTask",
    "digest_of",
]

LONGEST_PROMPT: Final = 200_000
_LARGEST_FILE: Final = 4 * 1024 * 1024
_RATE: Final = re.compile(r"([0-9]{1,6})/(s|min|h)", re.ASCII)
_RATE_SECONDS: Final = {"s": 1.0, "min": 60.0, "h": 3600.0}
_VERSION: Final = 1


class GraphError(GoopError, ValueError):
    """Raised for a graph that cannot be run; `problems` has each thing that is wrong.

    The text names the first of them with its place: the line in the `file` that it came from.
    """

    def __init__(self, problems: Sequence[GraphProblem], file: str | None = None) -> None:
        """Take at least one problem; at most 50 are kept."""
        self.problems, self.file = tuple(problems[:MOST_PROBLEMS]), file
        count = len(problems) - 1
        # Nobody has looked for further ones by then.
        shown = f"at least {MOST_PROBLEMS}" if count >= MOST_PROBLEMS else str(count)
        more = f" (and {shown} more)" if count else ""
        super().__init__(f"{self.lines()[0]}{more}")

    def lines(self) -> list[str]:
        """Return one line for each problem: file, line and message, as compilers write them."""
        shown = []
        # The form "file:line: text", which editors and CI systems make a link of.
        for problem in self.problems:
            place = ".".join(problem.path)
            if self.file is not None:
                place = f"{self.file}:{problem.line or 1}: {place}" if place else self.file
            shown.append(f"{place}: {problem.message}" if place else problem.message)

        return shown


def waves_of(steps: Mapping[str, GraphStep]) -> tuple[tuple[str, ...], ...]:
    """Return steps by the number of steps that must have ended before: what may run at once."""
    wave_of: dict[str, int] = {}
    # In topological order: each need has its wave before the step that needs it.
    for name in in_order(steps):
        wave_of[name] = max((wave_of[need] + 1 for need in steps[name].needs), default=0)

    waves: list[list[str]] = [[] for _ in range(max(wave_of.values(), default=-1) + 1)]
    for name in steps:
        waves[wave_of[name]].append(name)

    return tuple(map(tuple, waves))


@dataclass(frozen=True, kw_only=True)
class Graph:
    """Agents, tasks, gates and limits, consistent in themselves.

    Agents that tasks name and `agents` does not are added: the caller gives them when the graph is
    run. Raises GraphError, with each thing that is wrong.
    """

    name: str
    tasks: tuple[GraphTask, ...]
    agents: tuple[GraphAgent, ...] = ()
    gates: tuple[GraphGate, ...] = ()
    protocol: str = "auto"
    limits: GraphLimits = NO_LIMITS

    def __post_init__(self) -> None:
        """Accept any sequences, and refuse what is not consistent."""
        for name in ("tasks", "agents", "gates"):
            # The class is frozen, and callers may give lists, which would make a graph that
            # changes.
            object.__setattr__(self, name, tuple(getattr(self, name)))

        known = {each.name for each in self.agents}
        named = dict.fromkeys(each.agent for each in self.tasks if each.agent not in known)
        object.__setattr__(self, "agents", (*self.agents, *(GraphAgent(name) for name in named)))

        # All problems at once: somebody who writes a graph by hand wants to correct it in one go.
        found = problems_of(self.name, self.agents, self.tasks, self.gates, self.limits)
        if problems := list(islice(found, MOST_PROBLEMS + 1)):
            raise GraphError(problems)

    @classmethod
    def load(cls, file: "str | PathLike[str]", *, project: Path | None = None) -> "Graph":
        """Return the graph in `file`, TOML, or JSON where it ends in `.json`.

        `project` is the folder in which a graph may name Python functions; None trusts the file.
        Prompts in files of their own are read too. Raises GraphError, also for a file that cannot
        be read.
        """
        return _load(Path(file), project)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Graph":
        """Return the graph that `to_dict` wrote. Raises GraphError for anything else."""
        return _from_values(values, lambda _: None)

    def to_dict(self) -> dict[str, Any]:
        """Return the graph as JSON values, without what has its default; prompts are in it."""
        values: dict[str, Any] = {"graph": _VERSION, "name": self.name, "protocol": self.protocol}
        # Defaults are left out, so that a default that is added later does not change the digests
        # of graphs that people have trusted.
        if limits := _changed(self.limits):
            values["limits"] = limits
        values["agents"] = {
            each.name: {"run": each.run, **_changed(each, "name", "run")} for each in self.agents
        }
        values["tasks"] = {each.id: _changed(each, "id") for each in self.tasks}
        if self.gates:
            values["gates"] = {each.id: _changed(each, "id") for each in self.gates}

        return values

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the graph, in hex: of what is run, not of the comments of its file."""
        return digest_of(self.to_dict())

    @cached_property
    def agent_named(self) -> Mapping[str, GraphAgent]:
        """The agents by their names."""
        return {each.name: each for each in self.agents}

    @cached_property
    def steps(self) -> Mapping[str, GraphStep]:
        """Tasks and gates by their ids, in the order in which they were written."""
        tasks: dict[str, GraphStep] = {each.id: each for each in self.tasks}
        return tasks | {each.id: each for each in self.gates}

    @cached_property
    def followers(self) -> Mapping[str, tuple[str, ...]]:
        """For each step those that need it."""
        found: dict[str, list[str]] = {name: [] for name in self.steps}
        for step in self.steps.values():
            for need in step.needs:
                found[need].append(step.id)

        return {name: tuple(each) for name, each in found.items()}

    @cached_property
    def waves(self) -> tuple[tuple[str, ...], ...]:
        """The steps by the number of steps that must have ended before: what may run at once."""
        return waves_of(self.steps)

    @cached_property
    def distance(self) -> Mapping[str, int]:
        """For each step the number of steps on the longest path from it to an end."""
        distances: dict[str, int] = {}
        for name in reversed(in_order(self.steps)):
            distances[name] = max((distances[each] + 1 for each in self.followers[name]), default=0)

        return distances

    def inputs(self) -> tuple[str, ...]:
        """Return the names of the values that a run must be given, as prompts name them."""
        named = (
            found.fields[0]
            for task in self.tasks
            for found in placeholders_in(task.prompt)
            if found.source == INPUT and found.fields
        )
        # A dictionary and not a set: a run asks for its inputs in the order of the prompts.
        return tuple(dict.fromkeys(named))

    def prompt_of(self, task: GraphTask) -> str:
        """Return the prompt of `task` with placeholders; a default one where it has none."""
        if task.prompt:
            return task.prompt

        # Gates have answers and no reports, so only what tasks found is handed on.
        reports = (
            f"## {need}\n\n${{{need}}}"
            for need in task.needs
            if isinstance(self.steps[need], GraphTask)
        )
        return "\n\n".join((f"Do the task {task.id!r} of {self.name!r}.", *reports))

    def key_of(self, task: GraphTask, prompt: str, keys: Sequence[str]) -> str:
        """Return what is the same for a task that would do the same again (SHA-256 in hex).

        `prompt` has its values, `keys` are those of the tasks that it needs. The agent counts with
        what decides how it answers, and not with its limits.
        """
        agent = self.agent_named[task.agent]
        return digest_of(
            [
                [
                    *(agent.name, agent.run, agent.options, agent.program, agent.command),
                    agent.call,
                    # Only where it is there: tasks that older versions accepted keep their keys.
                    *([agent.permissions] if agent.run == "acp" else []),
                ],
                task.protocol or self.protocol,
                prompt,
                # The order in which needs are written decides nothing about what an agent reads.
                sorted(keys),
            ]
        )


def digest_of(values: object) -> str:
    """Return the SHA-256 of JSON values in hex, whatever the order of their keys."""
    written = json.dumps(values, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    # Half of a surrogate pair can stand in JSON, and has no UTF-8.
    return hashlib.sha256(written.encode(errors="surrogatepass")).hexdigest()


def _changed(
    part: GraphLimits | GraphRetry | GraphAgent | GraphStep, *without: str
) -> dict[str, Any]:
    """Return the fields of `part` whose values are not the default, as JSON values."""
    # Unlike `dataclasses.asdict`, which would write the defaults too.
    changed: dict[str, Any] = {}
    for each in fields(part):
        value = getattr(part, each.name)
        if each.name in without or (each.default is not MISSING and value == each.default):
            continue
        if isinstance(value, GraphRetry):
            value = _changed(value)
        # As files and stored graphs have it: a graph made in code with 60 is the same as with 60.0.
        elif type(value) is int and each.type == float | None:
            value = float(value)
        changed[each.name] = list(value) if isinstance(value, tuple) else value

    return changed


# Files and JSON.

_NAMES: Final = texts(1_000, LONGEST_NAME)
_WORDS: Final = texts(200, 10_000)


def _rate(value: object) -> float:
    """Return calls per second from a text such as "10/min"."""
    match = _RATE.fullmatch(value) if isinstance(value, str) else None
    if match is not None and int(match[1]):
        return int(match[1]) / _RATE_SECONDS[match[2]]
    # Stored graphs hold the number itself.
    if isinstance(value, float) and value > 0:
        return value
    raise ValueError('a text such as "2/s", "10/min" or "100/h"')


# Tables are read by readers of their own, which know the path for messages.
def _anything(value: object) -> object:
    return value


_TOP: Final[Mapping[str, Reader]] = {
    "graph": whole(_VERSION, _VERSION),
    "name": text(LONGEST_NAME),
    "protocol": text(LONGEST_NAME),
    "limits": _anything,
    "agents": _anything,
    "tasks": _anything,
    "gates": _anything,
}
_LIMITS: Final[Mapping[str, Reader]] = {
    "parallel": whole(1, 1_000),
    "deadline": duration,
    "max_tokens": whole(1, 10**12),
    "max_calls": whole(1, 10**9),
    "max_cost": number(10**9),
    "max_tasks": whole(1, MOST_TASKS),
    "max_depth": whole(0, 100),
    "max_rounds": whole(0, 100),
}
_RETRY: Final[Mapping[str, Reader]] = {
    "max_attempts": whole(1, 100),
    "attempt_timeout": duration,
    "call_retries": whole(0, 100),
    "strategies": lambda value: tuple(
        [choice("same_conversation", "minimal", "fresh")(each) for each in _NAMES(value)]
    ),
}
_AGENT: Final[Mapping[str, Reader]] = {
    "run": choice(*get_args(AgentKind)),
    "options": _WORDS,
    "program": text(4_096),
    "command": _WORDS,
    "on_stdin": flag,
    "permissions": choice(*get_args(Permissions)),
    "call": text(300),
    "parallel": whole(1, 1_000),
    "rate": _rate,
    "retry": _anything,
    "fallback": text(LONGEST_NAME),
}
_TASK: Final[Mapping[str, Reader]] = {
    "agent": text(LONGEST_NAME),
    "prompt": text(LONGEST_PROMPT),
    "needs": _NAMES,
    "when": choice("accepted", "ended", "any"),
    "optional": flag,
    "priority": whole(-1_000, 1_000),
    "timeout": duration,
    "max_attempts": whole(1, 100),
    "exclusive": _NAMES,
    "workspace": choice("project", "worktree"),
    "on_crash": choice("resume", "restart", "person"),
    "feedback_to": _NAMES,
    "expands": flag,
    "protocol": text(LONGEST_NAME),
}
_GATE: Final[Mapping[str, Reader]] = {
    "question": text(10_000),
    "needs": _NAMES,
    "when": choice("accepted", "ended", "any"),
    "answers": texts(20, 200),
    "timeout": duration,
    "default": text(200),
}
_REQUIRED: Final[Mapping[str, str]] = {"agents": "run", "tasks": "agent", "gates": "question"}
# In place of a text that could not be read: no name of anything.
_UNREAD: Final = "?"


def _load(file: Path, project: Path | None) -> Graph:
    shown = file.as_posix()
    content = _text_of(file, _LARGEST_FILE, shown)
    is_json = file.suffix == ".json"
    # Before it is parsed, which takes the square of the length of such a key.
    if not is_json and (line := long_key_line(content)) is not None:
        problem = "a key has more than 50 parts; those of a graph have at most 4"
        raise GraphError([GraphProblem((), problem, line)], shown)

    try:
        values = (
            json.loads(content, object_pairs_hook=_without_repeats)
            if is_json
            else tomllib.loads(content)
        )
    except (ValueError, RecursionError) as error:
        # A table that is nested too deeply is a problem of the file, and no crash of the program.
        raise GraphError([_syntax_problem(error)], shown) from error

    lines = json_lines(content) if is_json else toml_lines(content)
    problems: list[GraphProblem] = []
    # Prompts and functions are looked at before the rest, as their problems name files of their
    # own.
    if isinstance(values, dict):
        _read_prompt_files(values, file.parent, problems)
        _check_functions(values, file, project, problems)

    try:
        graph = _from_values(values, lambda path: line_of(path, lines), problems)
    except GraphError as error:
        raise GraphError(error.problems, shown) from None

    return graph


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return an object of JSON. Raises ValueError for a key that stands there twice, as TOML does.

    The first of two tasks with one name would be left out without a word.
    """
    values = dict(pairs)
    if len(values) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"{excerpt(twice)!r} stands there twice; rename one of them")
    return values


def _text_of(file: Path, most: int, shown: str) -> str:
    try:
        with file.open("rb") as stream:
            content = stream.read(most + 1)
        if len(content) > most:
            raise GraphError(
                [GraphProblem((), f"is larger than {most // 1024:,} KiB; split it")], shown
            )
        # TOML and JSON are UTF-8; editors may have put a byte order mark before them.
        return content.decode("utf-8-sig")
    except OSError as error:
        reason = (error.strerror or "unknown reason").lower()
        raise GraphError([GraphProblem((), f"cannot be read ({reason})")], shown) from error
    except UnicodeDecodeError as error:
        raise GraphError(
            [GraphProblem((), "is not text in UTF-8; save it as UTF-8")], shown
        ) from error


def _syntax_problem(error: Exception) -> GraphProblem:
    if isinstance(error, RecursionError):
        return GraphProblem((), "is nested too deeply; expected tables of a graph")

    # json has an attribute, tomllib only its text "… (at line 3, column 7)".
    named = re.search(r"\(at line ([0-9]{1,9})", str(error))
    line = getattr(error, "lineno", None) or (int(named[1]) if named is not None else None)
    return GraphProblem(("syntax",), excerpt(str(error), 200), line)


def _read_prompt_files(values: dict[str, Any], folder: Path, problems: list[GraphProblem]) -> None:
    """Put the text of each `prompt_file` into its task, so that the graph is whole without files.

    Only files next to the graph or below it are read: a graph from elsewhere must not send any
    file of this machine to an agent.
    """
    tasks = values.get("tasks")
    for name, task in tasks.items() if isinstance(tasks, dict) else ():
        if not isinstance(task, dict) or not isinstance(task.get("prompt_file"), str):
            continue

        path = ("tasks", name, "prompt_file")
        if "prompt" in task:
            problems.append(GraphProblem(path, "there is a prompt as well; leave one of them out"))
            continue

        file = folder / task.pop("prompt_file")
        try:
            if not file.resolve().is_relative_to(folder.resolve()):
                problems.append(
                    GraphProblem(path, "is not below the folder of the graph; move it there")
                )
            elif file.exists() and not file.is_file():
                # A pipe would be waited for.
                problems.append(GraphProblem(path, f"{file.name} is not a file"))
            elif prompt := _text_of(file, LONGEST_PROMPT, file.as_posix()).strip():
                task["prompt"] = prompt
            else:
                problems.append(GraphProblem(path, f"{file.name} is empty"))
        except GraphError as error:
            problems.append(GraphProblem(path, f"{file.name} {error.problems[0].message}"))
        except (OSError, ValueError):
            problems.append(GraphProblem(path, "is not the name of a file"))


def _check_functions(
    values: dict[str, Any], file: Path, project: Path | None, problems: list[GraphProblem]
) -> None:
    """Refuse Python agents without a function, and all of them in a graph from elsewhere.

    A graph from outside of the project must not choose which Python code is imported.
    """
    foreign = project is not None and not file.resolve().is_relative_to(project.resolve())
    agents = values.get("agents")
    for name, agent in agents.items() if isinstance(agents, dict) else ():
        if not isinstance(agent, dict) or agent.get("run") != "python":
            continue

        message = None
        if foreign:
            message = (
                "the graph is outside of the project, and may not run Python functions; move it"
                " into the project"
            )
        elif "call" not in agent:
            message = 'call is missing; expected call = "module:function"'
        if message is not None:
            problems.append(GraphProblem(("agents", name, "run"), message))


def _from_values(
    values: object,
    line: Callable[[KeyPath], int | None],
    problems: list[GraphProblem] | None = None,
) -> Graph:
    """Return the graph of `values`; `line` gives the line of a path in the file."""
    problems = [] if problems is None else problems
    top = read_table(values, _TOP, (), problems)
    if isinstance(values, Mapping) and _TOP.keys() >= values.keys():
        problems += [
            GraphProblem((), f"{key} is missing; expected {hint}")
            for key, hint in (("graph", "graph = 1, the version"), ("name", 'name = "..."'))
            if key not in values
        ]

    limits = read_table(top.get("limits", {}), _LIMITS, ("limits",), problems)
    agents = [_agent(*each, problems) for each in _entries(top, "agents", problems)]
    tasks = [
        GraphTask(name, **{"agent": _UNREAD, **_part(_TASK, table, ("tasks", name), problems)})
        for name, table in _entries(top, "tasks", problems)
    ]
    gates = [
        GraphGate(name, **{"question": _UNREAD, **_part(_GATE, table, ("gates", name), problems)})
        for name, table in _entries(top, "gates", problems)
    ]
    read = {
        "name": top.get("name", _UNREAD),
        "protocol": top.get("protocol", "auto"),
        "limits": GraphLimits(**limits),
        "agents": tuple(agents),
        "tasks": tuple(tasks),
        "gates": tuple(gates),
    }

    problems += islice(_undefined_agents(tasks, top.get("agents")), MOST_PROBLEMS + 1)
    if not problems:
        try:
            return Graph(**read)
        except GraphError as error:
            problems = list(error.problems)
    else:
        problems += _further_problems(read, problems)

    located = [
        GraphProblem(each.path, each.message, each.line or line(each.path)) for each in problems
    ]
    raise GraphError(sorted(located, key=lambda each: each.line or 0))


def _further_problems(read: Mapping[str, Any], found: Sequence[GraphProblem]) -> list[GraphProblem]:
    """Return what is wrong with the parts of a graph that were read, besides what was `found`.

    Whoever wrote the file wants to correct all of it at once.
    """
    paths = {each.path for each in found}
    limits = read["limits"]
    if ("limits", "max_tasks") in paths:
        limits = replace(limits, max_tasks=MOST_TASKS)
    further = problems_of(
        read["name"],
        read["agents"],
        read["tasks"],
        read["gates"],
        limits,
        unread=paths,
    )
    # What could not be read has its default here, and is no second problem.
    new = (each for each in further if each.path not in paths)
    return list(islice(new, max(0, MOST_PROBLEMS + 1 - len(found))))


def _entries(
    top: Mapping[str, Any], section: str, problems: list[GraphProblem]
) -> list[tuple[str, object]]:
    tables = top.get(section, {})
    if not isinstance(tables, Mapping):
        problems.append(GraphProblem((section,), f"expected tables such as [{section}.NAME]"))
        return []
    if len(tables) > MOST_TASKS:
        problems.append(
            GraphProblem(
                (section,), f"has {len(tables):,} entries; expected {MOST_TASKS:,} at most"
            )
        )
        return []
    return [(str(name), table) for name, table in tables.items()]


def _agent(name: str, values: object, problems: list[GraphProblem]) -> GraphAgent:
    read = _part(_AGENT, values, ("agents", name), problems)
    retry = read_table(read.pop("retry", {}), _RETRY, ("agents", name, "retry"), problems)
    return GraphAgent(name, retry=GraphRetry(**retry), **read)


def _part(
    readers: Mapping[str, Reader],
    values: object,
    path: KeyPath,
    problems: list[GraphProblem],
) -> dict[str, Any]:
    """Return the fields of an agent, task or gate, as far as they could be read."""
    read = read_table(values, readers, path, problems)
    required = _REQUIRED[path[0]]
    # A key that is not known may be this one, misspelled.
    if isinstance(values, Mapping) and required not in values and readers.keys() >= values.keys():
        problems.append(GraphProblem(path, f"{required} is missing"))
    return read


def _undefined_agents(tasks: Sequence[GraphTask], defined: object) -> Iterator[GraphProblem]:
    """Yield the agents that tasks name and the file does not define.

    In code they may be left out, as the caller gives them; in a file that is a slip of the pen.
    """
    names = list(defined) if isinstance(defined, Mapping) else []
    for task in tasks:
        if task.agent not in names and task.agent != _UNREAD:
            yield GraphProblem(
                ("tasks", task.id, "agent"),
                f"there is no agent {excerpt(task.agent)!r}; {suggestion(task.agent, names)}",
            )
