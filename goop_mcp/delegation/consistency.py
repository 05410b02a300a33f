"""What can be wrong with a graph, wherever it came from; and the order of its steps."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import islice
from typing import Final

from goop_mcp.delegation.fields import MOST_PROBLEMS, GraphProblem, suggestion
from goop_mcp.delegation.lines import KeyPath
from goop_mcp.delegation.parts import GraphAgent, GraphGate, GraphLimits, GraphStep, GraphTask
from goop_mcp.delegation.placeholders import INPUT, placeholders_in
from goop_mcp.validation.findings import excerpt, one_line

__all__ = ["LONGEST_NAME", "MOST_TASKS", "in_order", "problems_of"]

MOST_TASKS: Final = 10_000
LONGEST_NAME: Final = 64
_MOST_EDGES: Final = 100_000
_MOST_AGENTS: Final = 200
_MOST_CYCLES: Final = 10
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", re.ASCII)
_CALL: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", re.ASCII)
_PROGRAMS: Final = ("claude-code", "opencode", "codex")
# Which keys of an agent belong to which kinds; a key of another kind would be ignored silently.
_ONLY_FOR: Final[Mapping[str, tuple[str, ...]]] = {
    "options": _PROGRAMS,
    "program": _PROGRAMS,
    "command": ("command", "acp"),
    "on_stdin": ("command",),
    "permissions": ("acp",),
    "call": ("python",),
}


def problems_of(
    name: str,
    agents: Sequence[GraphAgent],
    tasks: Sequence[GraphTask],
    gates: Sequence[GraphGate],
    limits: GraphLimits,
    *,
    unread: Collection[KeyPath] = (),
) -> Iterator[GraphProblem]:
    """Yield what is wrong; what may only follow from an earlier problem is left out.

    `unread` are the paths of what could not be read, in whose place there are defaults here.
    """
    sizes = list(_wrong_sizes(agents, tasks, gates, limits))
    yield from sizes
    if sizes:
        # A hostile graph is not looked at any further.
        return

    # All further checks are bounded by the sizes.
    yield from _wrong_names(name, agents, tasks, gates)
    named = {each.name: each for each in agents}
    in_part = {path[:2] for path in unread}
    for agent in agents:
        if ("agents", agent.name) not in in_part:
            yield from _wrong_agent(agent, named)
    for gate in gates:
        if ("gates", gate.id) not in in_part:
            yield from _wrong_gate(gate)

    steps: dict[str, GraphStep] = {each.id: each for each in tasks}
    steps.update({each.id: each for each in gates})
    # Nobody knows which of two with one name a need means.
    if len(steps) < len(tasks) + len(gates):
        return

    # Each costs a search for what was probably meant, among thousands of names.
    unknown = list(islice(_wrong_needs(steps), MOST_PROBLEMS + 1))
    yield from unknown
    # Nobody knows what comes before steps whose needs are wrong, nor before those after them.
    doubtful = {each.path[1] for each in unknown if each.path[2] == "needs"}
    for _, step, *key in (path for path in unread if len(path) > 1):
        # A key that is not known may be that of the needs, misspelled.
        if step in steps and (not key or key[0] == "needs" or key[0] not in steps[step].__slots__):
            doubtful.add(step)
    known = {name: _known_needs(step, steps) for name, step in steps.items()}
    cycles = list(_cycles(known))
    for cycle in cycles:
        doubtful.update(cycle)
        path = (_section(steps[cycle[0]]), cycle[0], "needs")
        yield GraphProblem(path, f"the needs are a cycle: {' → '.join(cycle)}; take one away")

    before = _Before(known, doubtful)
    for task in tasks:
        yield from _wrong_task(task, steps, before)


def _wrong_sizes(
    agents: Sequence[GraphAgent],
    tasks: Sequence[GraphTask],
    gates: Sequence[GraphGate],
    limits: GraphLimits,
) -> Iterator[GraphProblem]:
    if not tasks:
        yield GraphProblem(("tasks",), "there are none; expected at least one [tasks.NAME]")
    count = len(tasks) + len(gates)
    if count > min(limits.max_tasks, MOST_TASKS):
        yield GraphProblem(
            ("tasks",),
            f"there are {count:,} tasks and gates; expected at most"
            f" {limits.max_tasks:,} (limits.max_tasks)",
        )
    if len(agents) > _MOST_AGENTS:
        yield GraphProblem(
            ("agents",), f"there are {len(agents):,}; expected at most {_MOST_AGENTS}"
        )

    # Edges are bounded on their own: 10,000 tasks could have 100 million of them.
    edges = sum(len(task.needs) for task in tasks) + sum(len(gate.needs) for gate in gates)
    if edges > _MOST_EDGES:
        yield GraphProblem(
            ("tasks",), f"there are {edges:,} needs; expected at most {_MOST_EDGES:,}"
        )


def _wrong_names(
    name: str,
    agents: Sequence[GraphAgent],
    tasks: Sequence[GraphTask],
    gates: Sequence[GraphGate],
) -> Iterator[GraphProblem]:
    # Printable, as the name is shown in terminals and pages.
    if not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
        yield GraphProblem(("name",), f"expected a name of 1 to {LONGEST_NAME} characters")

    named = (
        ("agents", [each.name for each in agents]),
        ("tasks", [each.id for each in tasks]),
        ("gates", [each.id for each in gates]),
    )
    # Tasks and gates are named by the same needs and placeholders.
    steps: set[str] = set()
    for section, names in named:
        seen = set() if section == "agents" else steps
        for each in names:
            if not _NAME.fullmatch(each):
                yield GraphProblem(
                    (section, each),
                    f"the name {excerpt(each)!r} cannot be used; expected a letter, then"
                    f" letters, digits, _ and -, at most {LONGEST_NAME}",
                )
            elif section != "agents" and each == INPUT:
                yield GraphProblem(
                    (section, each), f"{INPUT!r} is the name of what the run is given; take another"
                )
            elif each in seen:
                yield GraphProblem((section, each), f"there are two {each!r}; rename one of them")
            seen.add(each)


def _wrong_agent(agent: GraphAgent, agents: Mapping[str, GraphAgent]) -> Iterator[GraphProblem]:
    path = ("agents", agent.name)
    if agent.run in _ONLY_FOR["command"] and not agent.command:
        yield GraphProblem((*path, "command"), "is missing; expected the words of the command")
    if agent.call is not None and not _CALL.fullmatch(agent.call):
        yield GraphProblem(
            (*path, "call"), f"call is {excerpt(agent.call)!r}; expected module:function"
        )

    # A key that has its default was not written, or says nothing.
    defaults = {each.name: each.default for each in fields(agent)}
    for key, kinds in _ONLY_FOR.items():
        if agent.run not in kinds and getattr(agent, key) != defaults[key]:
            yield GraphProblem(
                (*path, key), f"{key} is for {' and '.join(kinds)}, and run is {agent.run}"
            )

    if agent.fallback is None:
        return
    if agent.fallback not in agents:
        yield GraphProblem(
            (*path, "fallback"),
            f"there is no agent {agent.fallback!r}; {suggestion(agent.fallback, agents)}",
        )
        return

    # Each agent has at most one fallback, so that the chain is followed in one pass.
    chain = [agent.name]
    while (following := agents[chain[-1]].fallback) is not None and following in agents:
        chain.append(following)
        if following == agent.name:
            shown = " → ".join(chain)
            yield GraphProblem((*path, "fallback"), f"the fallbacks are a cycle: {shown}")
        if following in chain[:-1]:
            break


def _wrong_needs(steps: Mapping[str, GraphStep]) -> Iterator[GraphProblem]:
    for step in steps.values():
        for key in ("needs", "feedback_to"):
            seen: set[str] = set()
            for name in getattr(step, key, ()):
                if name not in steps:
                    yield GraphProblem(
                        (_section(step), step.id, key),
                        f"there is no task {excerpt(name)!r}; {suggestion(name, steps)}",
                    )
                elif name in seen:
                    yield GraphProblem(
                        (_section(step), step.id, key), f"{name!r} stands there twice"
                    )
                seen.add(name)


def _wrong_gate(gate: GraphGate) -> Iterator[GraphProblem]:
    path = ("gates", gate.id)
    # On buttons and in dialogs each must look like itself alone.
    if not gate.answers or len({each.casefold() for each in gate.answers}) < len(gate.answers):
        yield GraphProblem((*path, "answers"), "expected at least one, and none of them twice")
    if odd := next((each for each in gate.answers if each != one_line(each)), None):
        problem = f"{odd!r} is not one line of visible characters, without blanks around it"
        yield GraphProblem((*path, "answers"), problem)
    if gate.default is not None and gate.default not in gate.answers:
        hint = suggestion(gate.default, gate.answers)
        yield GraphProblem(
            (*path, "default"), f"default is {gate.default!r}, which is none of answers; {hint}"
        )
    # A time without an answer would end in nothing, an answer without a time would never be taken.
    if (gate.default is None) != (gate.timeout is None):
        missing = "default" if gate.default is None else "timeout"
        yield GraphProblem(
            path, f"{missing} is missing; expected both of timeout and default, or neither"
        )


def _wrong_task(
    task: GraphTask, steps: Mapping[str, GraphStep], before: "_Before"
) -> Iterator[GraphProblem]:
    path = ("tasks", task.id)
    for name in task.feedback_to:
        # Back to an earlier task only: an edge forwards would be a need. One that is not there was
        # named before.
        if name in steps and (
            not before.may_come(name, task.id) or isinstance(steps[name], GraphGate)
        ):
            yield GraphProblem(
                (*path, "feedback_to"),
                f"{name!r} is not a task before {task.id!r}; expected one that it needs",
            )
    for each in placeholders_in(task.prompt):
        if each.defect is not None:
            yield GraphProblem((*path, "prompt"), f"{excerpt(each.text)!r} {each.defect}")
        elif each.source == INPUT:
            if not each.fields:
                yield GraphProblem((*path, "prompt"), f"{each.text} names no value")
        # Also values of tasks that run in parallel are refused: whether they are there would be
        # chance.
        elif each.source not in steps or not before.may_come(each.source, task.id):
            hint = (
                f"add {each.source!r} to its needs"
                if each.source in steps and each.source != task.id
                else suggestion(each.source, (*steps, INPUT))
            )
            yield GraphProblem(
                (*path, "prompt"), f"no predecessor gives {excerpt(each.text)}; {hint}"
            )


def _section(step: GraphStep) -> str:
    return "tasks" if isinstance(step, GraphTask) else "gates"


Needs = dict[str, tuple[str, ...]]


def _known_needs(step: GraphStep, steps: Mapping[str, GraphStep]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in step.needs if name in steps))


def _cycles(needs: Needs) -> Iterator[list[str]]:
    """Yield cycles among `needs`, and take the need away that closes each, at most a few.

    The first step of a cycle stands at its end again, in the order of the work.
    """
    for _ in range(_MOST_CYCLES):
        # Only the steps of cycles and those after them are left.
        ordered = set(_in_order(needs))
        left = {name: None for name in needs if name not in ordered}
        if not left:
            return

        # Each step that is left needs another one that is left: to follow them must meet one again.
        walk = [next(iter(left))]
        seen = {walk[0]: 0}
        while (following := next(need for need in needs[walk[-1]] if need in left)) not in seen:
            seen[following] = len(walk)
            walk.append(following)

        # Needs point backwards; people read a cycle in the order of the work.
        yield [following, *reversed(walk[seen[following] :])]
        needs[walk[-1]] = tuple(name for name in needs[walk[-1]] if name != following)


def in_order(steps: Mapping[str, GraphStep]) -> list[str]:
    """Return the steps so that each comes after those that it needs; without those in a cycle."""
    return _in_order({name: step.needs for name, step in steps.items()})


def _in_order(needs: Mapping[str, Sequence[str]]) -> list[str]:
    missing = {name: len(each) for name, each in needs.items()}
    followers: dict[str, list[str]] = {name: [] for name in needs}
    for name, each in needs.items():
        for need in each:
            followers[need].append(name)

    # The list grows while it is read: what it holds and has not been read is what can go next.
    order = [name for name, count in missing.items() if count == 0]
    for name in order:
        for each in followers[name]:
            missing[each] -= 1
            if missing[each] == 0:
                order.append(each)

    return order


class _Before:
    """Which steps come before which.

    The steps before each one are the bits of one number: 10,000 steps in a row are 12 MB and not
    50 million entries of sets.
    """

    def __init__(self, needs: Needs, doubtful: Collection[str]) -> None:
        """Take what each step needs, and the steps whose needs may be other ones."""
        order = _in_order(needs)
        self._bit = {name: 1 << at for at, name in enumerate(order)}
        self._before: dict[str, int] = {}
        # Those of which everything that comes before them is known.
        self._is_known: set[str] = set()
        for name in order:
            # Bits of what it needs, and of what that needs: the union is everything before it.
            bits = 0
            for need in needs[name]:
                bits |= self._bit[need] | self._before[need]
            self._before[name] = bits
            if name not in doubtful and self._is_known.issuperset(needs[name]):
                self._is_known.add(name)

    def may_come(self, earlier: str, later: str) -> bool:
        """Whether `earlier` must have ended before `later` begins, as far as that is known."""
        return later not in self._is_known or bool(self._bit[earlier] & self._before[later])
