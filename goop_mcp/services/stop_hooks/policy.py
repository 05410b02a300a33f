"""The settings of a project for hooks; each key has a default.

They stand in `.goopspec/hooks.json`, or in the table `hooks` of the project's options.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from goop_mcp.services.options_file import (
    NO_OPTIONS,
    PROTOCOLS,
    FileReader,
    OptionsFile,
    file_reader,
    limited,
    read_options,
    severities_of,
    usable_values,
)
from goop_mcp.validation.severities import NO_CHANGES, Severities
from goop_mcp.workflow.agents import fits_agent

if TYPE_CHECKING:
    from goop_mcp.validation.findings import Mode

__all__ = [
    "CLAIM_SECONDS",
    "FILE",
    "HOST_CAP",
    "KEYS",
    "ProjectSettings",
    "StopPolicy",
    "Tables",
    "policy_of",
    "read_policy",
    "read_project_settings",
    "trust_place",
    "usable_tables",
]

Tables: TypeAlias = Mapping[str, Mapping[str, Any]]
"""The usable values of `check` and `hooks`, and `protocols` as it is, each if it has any."""

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
    errors are only reported. `check_workspace` verifies the claims of a report in a git repository
    and where there is a `.goopspec/` (D-106), `record` records accepted ones, `inform` gives the
    rules to agents at their start. `confirm_decisions` keeps a decision on a blocker, or about a
    step of a run, open until a person makes it. `keep_replies` keeps the last reply of each agent
    that must report in the database of the project, where the project has a `.goopspec/`.
    `evidence` is whether claims are compared with what the host recorded of the agent's work,
    `require_evidence` what a passed check of a complete report must rest on ("readable" asks for a
    run where one would be known, D-113), and `unreadable` whether a report is rejected where that
    is "observed" and what its agent did cannot be read (D-105). `tasks` blocks once the completion
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
    confirm_decisions: bool = True
    keep_replies: bool = True
    evidence: Literal["observed", "off"] = "observed"
    require_evidence: Literal["claimed", "readable", "observed", "recorded"] = "readable"
    unreadable: Literal["pass", "reject"] = "pass"
    tasks: bool = False
    severities: Severities = NO_CHANGES

    def requires_report(self, agent: str) -> bool:
        """Whether a subagent of this name must end with an envelope.

        A subagent without a name never must: it belongs to the host, for instance to compact a
        conversation.
        """
        return fits_agent(agent, self.agents) and not fits_agent(agent, self.exempt)


class ProjectSettings:
    """What the files of a project say about judging: `tables`, from `options` and FILE.

    `remarks` say what cannot be used; the rest counts. `in_file` are the keys of `hooks` that stand
    in FILE.
    """

    # Every hook defines this class, and a named tuple takes ten times as long to define.
    __slots__ = ("in_file", "options", "remarks", "tables")

    def __init__(
        self,
        tables: Tables,
        options: OptionsFile = NO_OPTIONS,
        remarks: tuple[str, ...] = (),
        in_file: frozenset[str] = frozenset(),
    ) -> None:
        self.tables, self.options, self.remarks, self.in_file = tables, options, remarks, in_file

    @property
    def policy(self) -> StopPolicy:
        """The policy by exactly these settings."""
        return policy_of(self.tables, source=self.options.source)

    def file_of(self, table: str, key: str) -> str:
        """Return the path of the file that has the key, "" if none has it."""
        if table == "hooks" and key in self.in_file:
            return FILE
        return self.options.source if key in self.tables.get(table, {}) else ""

    def place(self, table: str, key: str) -> str:
        """Return where the key stands, with its line where that is known; "" if no file has it."""
        file = self.file_of(table, key)
        return self.options.place(table, key) if file and file != FILE else file


def policy_of(tables: Tables, *, source: str) -> StopPolicy:
    """Return the policy by usable values, which were read from `source`."""
    given: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in tables.get("hooks", {}).items()
    }
    return StopPolicy(**given, severities=severities_of(tables.get("check", {}), source=source))


def read_policy(project: str) -> tuple[StopPolicy, tuple[str, ...]]:
    """Return the policy of the project, and a message for each unusable part of its files.

    Such a part has its default, so that a typing error does not disable the rest. A key that both
    files have counts as in the options.
    """
    settings = read_project_settings(project)
    return settings.policy, settings.remarks


def read_project_settings(project: str, read: FileReader | None = None) -> ProjectSettings:
    """Return the settings of the folder `project`; `read` replaces the reader of its files."""
    read = read or file_reader(project)
    options = read_options(project, read)
    table = options.table("hooks")
    values, remarks = _read_file(read)
    remarks += [
        f"{FILE}: {key} is also in {options.place('hooks', key)}, which counts; remove one of them"
        for key in values.keys() & table.keys()
        if key in KEYS
    ]
    remarks += limited(_unusable(values, FILE), FILE)
    remarks += limited(_unusable(table, options), options.source)
    in_file, in_options = _usable(values), _usable(table)
    tables: dict[str, Mapping[str, Any]] = {
        "check": usable_values(options.table("check")),
        "hooks": {**in_file, **in_options},
        # Dates become texts: what is compared is what JSON can hold.
        PROTOCOLS: json.loads(json.dumps(options.table(PROTOCOLS), default=str)),
    }

    return ProjectSettings(
        {name: values for name, values in tables.items() if values},
        options,
        (*sorted(remarks), *options.remarks),
        frozenset(in_file.keys() - in_options.keys()),
    )


def usable_tables(values: object) -> Tables:
    """Return what is usable of settings that were kept in a file, where others may write."""
    tables = values if isinstance(values, Mapping) else {}
    check, hooks = (
        table if isinstance(table := tables.get(name), Mapping) else {}
        for name in ("check", "hooks")
    )
    usable = {
        "check": usable_values(check),
        "hooks": {
            key: value for key, value in hooks.items() if key in KEYS and KEYS[key][0](value)
        },
        PROTOCOLS: tables.get(PROTOCOLS),
    }
    return {name: table for name, table in usable.items() if table and isinstance(table, Mapping)}


def trust_place(project: str) -> str:
    """Return the path that stands for the settings of `project` among trusted files."""
    # Otherwise no folder can have this path, and nothing is trusted there.
    with suppress(OSError, ValueError):
        # `os.path` instead of pathlib, which is slow to import.
        project = os.path.realpath(project)
    return os.path.join(project, FILE.partition("/")[0], "settings")  # noqa: PTH118


def _read_file(read: FileReader) -> tuple[Mapping[str, object], list[str]]:
    """Return the values of `.goopspec/hooks.json`, and what keeps it from being read."""
    try:
        content = read(FILE, _MOST_BYTES)
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


def _unusable(values: Mapping[str, object], source: str | OptionsFile) -> Iterator[str]:
    """Yield a sentence for each key that is not known or does not fit."""
    for key, value in values.items():
        if key not in KEYS:
            yield (
                f"{source}: there is no key {key[:60]!r}; known are {', '.join(KEYS)}"
                if isinstance(source, str)
                else source.unknown("hooks", key, KEYS)
            )
        elif not KEYS[key][0](value):
            place = source if isinstance(source, str) else source.place("hooks", key)
            shown, expected = json.dumps(value, default=str)[:60], KEYS[key][1]
            yield f"{place}: {key} is {shown}; expected {expected}; the default holds"


def _usable(values: Mapping[str, object]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key in KEYS and KEYS[key][0](value)}


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
KEYS: Final[Mapping[str, tuple[Callable[[object], bool], str]]] = {
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
    "unreadable": _one_of("pass", "reject"),
    "tasks": _SWITCH,
    "evidence": _one_of("observed", "off"),
    "require_evidence": _one_of("claimed", "readable", "observed", "recorded"),
}
"""Every key of the table `hooks` with what is usable, and how a message describes it."""
