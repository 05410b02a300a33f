"""The hosts that can be configured, as data: their files, the keys in them, the values there."""

import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

from goop_mcp.assets import read_asset
from goop_mcp.errors import UnknownNameError
from goop_mcp.hosts.launch import Launch, is_ours
from goop_mcp.services.commands import CommandForm, command_file
from goop_mcp.services.prompts import command_names
from goop_mcp.validation.safe_json import JsonValue

__all__ = [
    "CLAUDE_PLUGINS",
    "CLAUDE_SETTINGS",
    "HOSTS",
    "SERVER",
    "Asset",
    "Element",
    "FileLocation",
    "Host",
    "Part",
    "Scope",
    "ServerEntry",
    "command_words",
    "find_host",
    "has_arguments",
    "hook_words",
    "hooks_of",
    "is_our_element",
]

SERVER: Final = "goop"
"""The name of the server in the configuration of every host."""


class Scope(StrEnum):
    """To whom a configuration applies: everybody in one project, or one person in all projects."""

    PROJECT = "project"
    USER = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLocation:
    """The path of a file: the first of `names` that exists, else the last.

    Names are relative to the folder that `base` returns for an environment; without `base`, to the
    project.
    """

    names: tuple[str, ...]
    base: Callable[[Mapping[str, str]], Path] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerEntry:
    """The server's entry in a JSON file, at `key` and the server's name."""

    location: FileLocation
    key: str
    form: Callable[[Launch], JsonValue]
    defaults: tuple[tuple[str, str], ...] = ()
    """Top-level keys with their values, such as the schema, which only a new file receives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """An element of the list at `keys` in a JSON file.

    `earlier_form` is how earlier versions of goop-mcp wrote it, None if they wrote no other.
    """

    location: FileLocation
    keys: tuple[str, ...]
    form: Callable[[Launch], JsonValue]
    earlier_form: Callable[[Launch], JsonValue] | None = None

    def is_current(self, value: JsonValue) -> bool:
        """Return whether installing with the command in `value` writes exactly this value."""
        return value == self.form(_launch_of(value))

    def is_earlier(self, value: JsonValue) -> bool:
        """Return whether an earlier version of goop-mcp wrote exactly this value."""
        launch = _launch_of(value)
        return (
            self.earlier_form is not None
            and is_ours(launch.words)
            and value == self.earlier_form(launch)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Asset:
    """A file that is installed as a whole; `text` returns what is in it.

    `is_command` is true for a command of the workflow. Somebody else may have one of that name, and
    goop-mcp works without it.
    """

    location: FileLocation
    text: Callable[[], str]
    is_command: bool = False


Part: TypeAlias = "ServerEntry | Element"
"""What is added to a JSON file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A program in which agents run: what is installed for it, and its file of instructions.

    `then` is a sentence about the next step in the host after installing, `then_in_project` another
    one for a project. `instructions` lacks a scope for which the host reads no such file.
    `task_hooks` are installed only when asked for. `oldest` is the oldest version in which reports
    were seen to be sent back each time, empty where nothing sends them back; nothing depends on it.
    """

    name: str
    title: str
    oldest: str = ""
    then: str
    then_in_project: str | None = None
    instructions: Mapping[Scope, FileLocation]
    parts: Mapping[Scope, tuple[ServerEntry | Element | Asset, ...]]
    task_hooks: Mapping[Scope, tuple[Element, ...]] = field(default_factory=dict)

    @property
    def judges(self) -> bool:
        """Whether what is installed judges reports by itself: hooks, or a plugin."""
        return any(
            isinstance(part, Element) or (isinstance(part, Asset) and not part.is_command)
            for parts in self.parts.values()
            for part in parts
        )

    @property
    def versions(self) -> str:
        """In which versions reports are sent back, as a part of a sentence; empty for none."""
        if not self.oldest:
            return ""
        return f"reports are sent back in version {self.oldest} of {self.title} and newer ones"


def find_host(name: str) -> Host:
    """Return the host called `name`; raise UnknownNameError, which suggests the nearest name."""
    if name not in HOSTS:
        raise UnknownNameError("host", name, HOSTS)
    return HOSTS[name]


def command_words(entry: JsonValue) -> tuple[str, ...]:
    """Return the command line of a server's entry or of a hook; empty when there is none.

    Hosts write it as one list, or as a text with a list of arguments.
    """
    if not isinstance(entry, Mapping):
        return ()

    command, arguments = entry.get("command"), entry.get("args")
    # Whatever is there may have been written by hand, so nothing about its form is certain.
    words = [*(_elements(command) or [command]), *_elements(arguments)]
    return tuple(word for word in words if isinstance(word, str))


def hook_words(hook: JsonValue) -> tuple[str, ...]:
    """Return the command line of a hook, a shell command split into words; empty for none."""
    words = command_words(hook)
    if len(words) != 1:
        return words

    # A command that no shell can split is still compared, word by word.
    try:
        return tuple(shlex.split(words[0]))
    except ValueError:
        return tuple(words[0].split())


def is_our_element(value: JsonValue) -> bool:
    """Return whether goop-mcp adds such an element: the server's name, or a group of our hooks."""
    if value == SERVER:
        return True

    commands = [hook_words(hook) for hook in hooks_of(value)]
    # All of them: a group with a hook of somebody else is not ours to replace.
    return bool(commands) and all(is_ours(words) and "hook" in words for words in commands)


def hooks_of(group: JsonValue) -> Sequence[JsonValue]:
    """Return the hooks in a group of an event; none for a value of another form."""
    return _elements(group.get("hooks")) if isinstance(group, Mapping) else ()


def has_arguments(group: JsonValue) -> bool:
    """Return whether a hook of the group has its arguments in a list, which some hosts ignore."""
    return any(isinstance(hook, Mapping) and "args" in hook for hook in hooks_of(group))


def _launch_of(group: JsonValue) -> Launch:
    """Return the command to which installing added the subcommand and the host."""
    words = next(map(hook_words, hooks_of(group)), ())
    command, *arguments = words[: -len(_HOOK_COMMAND)] or ("",)
    return Launch(command=command, arguments=tuple(arguments), why="")


def _elements(value: JsonValue) -> Sequence[JsonValue]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


def _claude_server(launch: Launch) -> JsonValue:
    return {"type": "stdio", "command": launch.command, "args": list(launch.arguments)}


def _cursor_server(launch: Launch) -> JsonValue:
    return {"command": launch.command, "args": list(launch.arguments)}


def _in_workspace(form: Callable[[Launch], JsonValue]) -> Callable[[Launch], JsonValue]:
    """Add the project's folder as an environment variable.

    These hosts start servers in an arbitrary folder, but they expand `${workspaceFolder}`.
    """

    def with_folder(launch: Launch) -> JsonValue:
        entry = form(launch)
        return (
            {**entry, "env": {"GOOP_PROJECT_DIR": "${workspaceFolder}"}}
            if isinstance(entry, Mapping)
            else entry
        )

    return with_folder


def _opencode_server(launch: Launch) -> JsonValue:
    # 10 seconds: the default of 5 can be too short for the first start of Python on a cold disk.
    return {"type": "local", "command": list(launch.words), "enabled": True, "timeout": 10_000}


def _claude_hooks(
    location: FileLocation, hooks: Sequence[tuple[str, str | None, int]]
) -> tuple[Element, ...]:
    """Return one group of hooks for each event in `hooks`."""

    def group(matcher: str | None, seconds: int, command: Mapping[str, JsonValue]) -> JsonValue:
        hook: JsonValue = {"type": "command", **command, "timeout": seconds}
        return {"hooks": [hook]} if matcher is None else {"matcher": matcher, "hooks": [hook]}

    def one_line(launch: Launch, matcher: str | None, seconds: int) -> JsonValue:
        command = launch.shell_line(*_HOOK_COMMAND)
        return group(matcher, seconds, {"command": command})

    def with_arguments(launch: Launch, matcher: str | None, seconds: int) -> JsonValue:
        arguments = [*launch.arguments, *_HOOK_COMMAND]
        return group(matcher, seconds, {"command": launch.command, "args": arguments})

    # One group for each event, so that people can remove one and keep the others.
    return tuple(
        Element(
            location=location,
            keys=("hooks", event),
            form=partial(one_line, matcher=matcher, seconds=seconds),
            earlier_form=partial(with_arguments, matcher=matcher, seconds=seconds),
        )
        for event, matcher, seconds in hooks
    )


def _commands(
    folder: str, form: CommandForm, *, base: Callable[[Mapping[str, str]], Path] | None = None
) -> tuple[Asset, ...]:
    """Return a file in `folder` for each command of the workflow."""
    return tuple(
        Asset(
            location=FileLocation(names=(f"{folder}/{name}.md",), base=base),
            text=partial(command_file, name, form),
            is_command=True,
        )
        for name in command_names()
    )


def _opencode_plugin() -> str:
    return read_asset("plugins", "opencode/goop.js")


def _home(environment: Mapping[str, str]) -> Path:
    # The variables of the environment first: tests and containers set them, and no password file
    # has them.
    home = environment.get("HOME") or environment.get("USERPROFILE")
    return Path(home) if home else Path.home()


def _claude_folder(environment: Mapping[str, str]) -> Path:
    folder = environment.get("CLAUDE_CONFIG_DIR")
    return Path(folder) if folder else _home(environment) / ".claude"


def _claude_json(environment: Mapping[str, str]) -> Path:
    # Unlike the other files of a person, .claude.json lies in the home folder, not in ~/.claude.
    folder = environment.get("CLAUDE_CONFIG_DIR")
    return Path(folder) if folder else _home(environment)


def _opencode_folder(environment: Mapping[str, str]) -> Path:
    return Path(environment.get("XDG_CONFIG_HOME") or _home(environment) / ".config") / "opencode"


def _vscode_folder(environment: Mapping[str, str]) -> Path:
    home = _home(environment)
    if os.name == "nt":
        parent = Path(environment.get("APPDATA") or home / "AppData" / "Roaming")
    elif sys.platform == "darwin":
        parent = home / "Library" / "Application Support"
    else:
        parent = Path(environment.get("XDG_CONFIG_HOME") or home / ".config")

    return parent / "Code" / "User"


CLAUDE_HOOKS: Final = (
    ("SubagentStart", None, 10),
    ("SubagentStop", None, 30),
    ("Stop", None, 30),
    ("SessionStart", None, 10),
    ("UserPromptSubmit", None, 10),
    ("PostToolUse", "Agent|Task", 30),
    ("PreToolUse", "SubagentHandback", 30),
)
"""Event, matcher and seconds of each hook of Claude Code.

The matchers do not select agents: the project configures which of them must report. Hosts without
the tool SubagentHandback never call its hook.
"""

_TASK_HOOKS: Final = (("TaskCompleted", None, 10),)
_HOOK_COMMAND: Final = ("hook", "claude-code")

_CLAUDE_PROJECT_SETTINGS = FileLocation(names=(".claude/settings.json",))
_CLAUDE_USER_SETTINGS = FileLocation(names=("settings.json",), base=_claude_folder)
CLAUDE_SETTINGS: Final = (
    _CLAUDE_USER_SETTINGS,
    _CLAUDE_PROJECT_SETTINGS,
    FileLocation(names=(".claude/settings.local.json",)),
)
"""All settings files that Claude Code reads; a later file overrides an earlier one."""

CLAUDE_PLUGINS: Final = FileLocation(names=("plugins/installed_plugins.json",), base=_claude_folder)
"""The file in which Claude Code keeps the versions of the plugins that it has installed."""

_OPENCODE_SCHEMA = (("$schema", "https://opencode.ai/config.json"),)
_OPENCODE_FILES = ("opencode.jsonc", "opencode.json")

_CLAUDE_CODE = Host(
    name="claude-code",
    title="Claude Code",
    oldest="2.1.47",
    then="Restart Claude Code.",
    then_in_project="Restart Claude Code and trust the folder when it asks.",
    instructions={
        Scope.PROJECT: FileLocation(names=("CLAUDE.md",)),
        Scope.USER: FileLocation(names=("CLAUDE.md",), base=_claude_folder),
    },
    parts={
        Scope.PROJECT: (
            ServerEntry(
                location=FileLocation(names=(".mcp.json",)), key="mcpServers", form=_claude_server
            ),
            *_claude_hooks(_CLAUDE_PROJECT_SETTINGS, CLAUDE_HOOKS),
            # Without this Claude Code asks each person before it starts the server of a project.
            Element(
                location=_CLAUDE_PROJECT_SETTINGS,
                keys=("enabledMcpjsonServers",),
                form=lambda _: SERVER,
            ),
            *_commands(".claude/commands", "claude-code"),
        ),
        Scope.USER: (
            ServerEntry(
                location=FileLocation(names=(".claude.json",), base=_claude_json),
                key="mcpServers",
                form=_claude_server,
            ),
            *_claude_hooks(_CLAUDE_USER_SETTINGS, CLAUDE_HOOKS),
            *_commands("commands", "claude-code", base=_claude_folder),
        ),
    },
    task_hooks={
        Scope.PROJECT: _claude_hooks(_CLAUDE_PROJECT_SETTINGS, _TASK_HOOKS),
        Scope.USER: _claude_hooks(_CLAUDE_USER_SETTINGS, _TASK_HOOKS),
    },
)
_OPENCODE = Host(
    name="opencode",
    title="OpenCode",
    oldest="1.1.65",
    then="Start it again.",
    instructions={
        Scope.PROJECT: FileLocation(names=("AGENTS.md",)),
        Scope.USER: FileLocation(names=("AGENTS.md",), base=_opencode_folder),
    },
    parts={
        Scope.PROJECT: (
            ServerEntry(
                location=FileLocation(names=_OPENCODE_FILES),
                key="mcp",
                form=_opencode_server,
                defaults=_OPENCODE_SCHEMA,
            ),
            Asset(
                location=FileLocation(names=(".opencode/plugins/goop.js",)),
                text=_opencode_plugin,
            ),
            *_commands(".opencode/command", "opencode"),
        ),
        Scope.USER: (
            ServerEntry(
                location=FileLocation(names=_OPENCODE_FILES, base=_opencode_folder),
                key="mcp",
                form=_opencode_server,
                defaults=_OPENCODE_SCHEMA,
            ),
            Asset(
                location=FileLocation(names=("plugins/goop.js",), base=_opencode_folder),
                text=_opencode_plugin,
            ),
            *_commands("command", "opencode", base=_opencode_folder),
        ),
    },
)
_CURSOR = Host(
    name="cursor",
    title="Cursor",
    then="Enable the server goop in its settings, under MCP.",
    instructions={Scope.PROJECT: FileLocation(names=("AGENTS.md",))},
    parts={
        Scope.PROJECT: (
            ServerEntry(
                location=FileLocation(names=(".cursor/mcp.json",)),
                key="mcpServers",
                form=_in_workspace(_cursor_server),
            ),
        ),
        Scope.USER: (
            ServerEntry(
                location=FileLocation(names=(".cursor/mcp.json",), base=_home),
                key="mcpServers",
                form=_cursor_server,
            ),
        ),
    },
)
_VSCODE = Host(
    name="vscode",
    title="VS Code",
    then="In VS Code, run 'MCP: List Servers', choose goop and start it.",
    instructions={Scope.PROJECT: FileLocation(names=("AGENTS.md",))},
    parts={
        Scope.PROJECT: (
            ServerEntry(
                location=FileLocation(names=(".vscode/mcp.json",)),
                key="servers",
                form=_in_workspace(_claude_server),
            ),
        ),
        Scope.USER: (
            ServerEntry(
                location=FileLocation(names=("mcp.json",), base=_vscode_folder),
                key="servers",
                form=_claude_server,
            ),
        ),
    },
)

HOSTS: Final[Mapping[str, Host]] = {
    host.name: host for host in (_CLAUDE_CODE, _OPENCODE, _CURSOR, _VSCODE)
}
"""Every host, by name."""
