"""The settings of a project for hooks; each key has a default.

They stand in `.goopspec/hooks.json`, or in the table `hooks` of the project's options.
"""

import json
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from goop_mcp.services.options_file import OptionsFile, read_options, read_severities
from goop_mcp.services.small_files import read_whole
from goop_mcp.validation.severities import NO_CHANGES, Severities
from goop_mcp.workflow.agents import fits_agent

if TYPE_CHECKING:
    from goop_mcp.validation.findings import Mode

__all__ = ["CLAIM_SECONDS", "FILE", "HOST_CAP", "StopPolicy", "read_policy"]

FILE: Final = ".goopspec/hooks.json"
HOST_CAP: Final = 7
"""How often an agent may be asked again at most: some hosts end a turn after eight stop hooks."""

CLAIM_SECONDS: Final = 2.0
"""How long the claims of one report are verified; an agent waits for that."""

_MOST_BYTES = 64 * 1024
_MOST_PATTERNS = 100


class StopPolicy(NamedTuple):
    """Who must report and what happens with a report.

    The fields are the keys of the file, but for `severities`, which the table `check` of the
    project's options chooses for every verdict.

    `agents` and `exempt` are patterns with `*` and `?` for names of subagents, without the prefix
    of a plugin. `main` is when the main agent is judged: if its last message has an envelope,
    always, or never. `ask_again` is how often an agent is asked for a correction, 0 to 7; with 0
    errors are only reported. `check_workspace` verifies the claims of a report where the project
    has a `.goopspec/` (F-15), `record` records accepted ones, `inform` gives the rules to agents at
    their start. `confirm_decisions` keeps a decision on a
    blocker open until a person confirms it. `keep_replies` keeps the last reply of each agent that
    must report in the database of the project, where the project has a `.goopspec/`. `evidence`
    is whether claims are compared with what the host recorded of the agent's work,
    `require_evidence` the evidence that a claim needs at least. `tasks` blocks once the completion
    of a task of the host that names a task of the blueprint without an accepted report.
    """

    agents: tuple[str, ...] = ("goop-*", "memory-distiller")
    exempt: tuple[str, ...] = ()
    main: Literal["present", "required", "ignored"] = "present"
    protocol: str = "goop_report"
    mode: "Mode" = "lenient"
    ask_again: int = 2
    check_workspace: bool = True
    record: bool = False
    inform: bool = True
    confirm_decisions: bool = False
    keep_replies: bool = True
    evidence: Literal["observed", "off"] = "observed"
    require_evidence: Literal["claimed", "observed", "recorded"] = "claimed"
    tasks: bool = False
    severities: Severities = NO_CHANGES

    def requires_report(self, agent: str) -> bool:
        """Whether a subagent of this name must end with an envelope.

        A subagent without a name never must: it belongs to the host, for instance to compact a
        conversation.
        """
        return fits_agent(agent, self.agents) and not fits_agent(agent, self.exempt)


def read_policy(project: str) -> tuple[StopPolicy, tuple[str, ...]]:
    """Return the policy of the project, and a message for each unusable part of its files.

    Such a part has its default, so that a typing error does not disable the rest. A key that both
    files have counts as in the options.
    """
    options = read_options(project)
    table = options.table("hooks")
    values, remarks = _read_file(project)
    remarks += [
        f"{FILE}: {key} is also in {options.place('hooks', key)}, which counts; remove one of them"
        for key in values.keys() & table.keys()
        if key in _KEYS
    ]
    usable = {**_usable(values, FILE, remarks), **_usable(table, options, remarks)}
    given: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in usable.items()
    }
    policy = StopPolicy(**given, severities=read_severities(options))

    return policy, (*sorted(remarks), *options.remarks)


def _read_file(project: str) -> tuple[Mapping[str, object], list[str]]:
    """Return the values of `.goopspec/hooks.json`, and what keeps it from being read."""
    try:
        # `os.path` instead of pathlib, which is slow to import.
        place = os.path.join(project, *FILE.split("/"))  # noqa: PTH118
        content = read_whole(place, most=_MOST_BYTES)
    except OSError as error:
        return {}, [f"{FILE} cannot be read ({error.strerror or error}); the defaults hold"]

    if content is None:
        return {}, []

    try:
        values = json.loads(content)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply"
        if isinstance(error, json.JSONDecodeError):
            reason = f"line {error.lineno}, column {error.colno}"
        elif isinstance(error, UnicodeDecodeError):
            reason = "it is not UTF-8 text"
        return {}, [f"{FILE} is not valid JSON ({reason}); the defaults hold until it is fixed"]

    if not isinstance(values, Mapping):
        return {}, [f"{FILE} holds no object; expected {{…}} with the keys of the documentation"]

    return values, []


def _usable(
    values: Mapping[str, object], source: str | OptionsFile, remarks: list[str]
) -> dict[str, Any]:
    """Return the values that fit their keys; `remarks` receives a sentence for each other one."""
    usable: dict[str, Any] = {}
    for key, value in values.items():
        known = _KEYS.get(key)
        if known is None:
            remarks.append(
                f"{source}: there is no key {key[:60]!r}; known are {', '.join(_KEYS)}"
                if isinstance(source, str)
                else source.unknown("hooks", key, _KEYS)
            )
        elif known[0](value):
            usable[key] = value
        else:
            place = source if isinstance(source, str) else source.place("hooks", key)
            shown = json.dumps(value, default=str)[:60]
            remarks.append(f"{place}: {key} is {shown}; expected {known[1]}; the default holds")

    return usable


def _one_of(*words: str) -> tuple[Callable[[object], bool], str]:
    return lambda value: isinstance(value, str) and value in words, f"one of {', '.join(words)}"


def _is_patterns(value: object) -> bool:
    return (
        isinstance(value, list)
        and len(value) <= _MOST_PATTERNS
        and all(isinstance(pattern, str) and pattern for pattern in value)
    )


_SWITCH: Final = (lambda value: isinstance(value, bool), "true or false")
_PATTERNS: Final = (_is_patterns, 'a list of patterns such as ["goop-*"]')
_KEYS: Final[Mapping[str, tuple[Callable[[object], bool], str]]] = {
    "agents": _PATTERNS,
    "exempt": _PATTERNS,
    "main": _one_of("present", "required", "ignored"),
    "protocol": _one_of("goop_report", "agent_request", "speckit", "factory", "auto"),
    "mode": _one_of("lenient", "strict"),
    "ask_again": (
        lambda value: (
            isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= HOST_CAP
        ),
        f"a whole number from 0 to {HOST_CAP}",
    ),
    "check_workspace": _SWITCH,
    "record": _SWITCH,
    "inform": _SWITCH,
    "confirm_decisions": _SWITCH,
    "keep_replies": _SWITCH,
    "tasks": _SWITCH,
    "evidence": _one_of("observed", "off"),
    "require_evidence": _one_of("claimed", "observed", "recorded"),
}
