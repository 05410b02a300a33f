"""Find the hook entries in texts: what the repository ships, and what commands write and print."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from goop_mcp.hosts.catalogue import HOSTS, Scope
from tests.hosts.machine import Machine
from tests.repository import ROOT, project_files

__all__ = ["HookEntry", "printed_entries", "shipped_entries", "unread_entries", "written_entries"]

_MARK = re.compile(r"""\btype["']?\s*(?::|\s=)\s*["']command["']""")
"""Part of every hook that starts a program, as JSON, JavaScript, Python, TOML or YAML write it."""


@dataclass(frozen=True, slots=True)
class HookEntry:
    """One `hook` that starts a program for an `event`; `place` is the file it is in."""

    place: str
    event: str
    hook: dict[str, object]


def shipped_entries() -> list[HookEntry]:
    """Return the hooks in every file of the project, examples on pages included; not of tests."""
    return [entry for path, text in _shipped_texts() for entry in _entries(path, text)]


def unread_entries() -> set[str]:
    """Return the files of the project with hooks that are no JSON: code that writes or prints."""
    return {
        path
        for path, text in _shipped_texts()
        if len(_MARK.findall(text)) > len(list(_entries(path, text)))
    }


def written_entries(machine: Machine, command: str | None) -> list[HookEntry]:
    """Install goop-mcp in every host and scope, with every option; return the hooks in all files.

    `command` is the command that hosts start; None lets `install` find it.
    """
    words = [] if command is None else ["--command", command]
    for host in HOSTS.values():
        for scope in Scope:
            tasks = ["--tasks"] if host.task_hooks else []
            ended = machine.run_here("install", host.name, "--scope", scope.value, *tasks, *words)
            assert ended.code == 0, ended.err

    return [
        entry
        for name, content in machine.files().items()
        for entry in _entries(name, content.decode("utf-8", "replace"))
    ]


def printed_entries(machine: Machine) -> list[HookEntry]:
    """Return the hooks in what `install` prints for a host whose files it does not write."""
    return list(_entries("install codex", machine.run_here("install", "codex").err))


def _shipped_texts() -> Iterator[tuple[str, str]]:
    for path in project_files():
        name = path.relative_to(ROOT).as_posix()
        # Scripts that show what hosts do set hooks of their own.
        if name.startswith(("tests/", "findings/")):
            continue

        text = _text_of(path)
        if _MARK.search(text):
            yield name, text


def _text_of(path: Path) -> str:
    # Pictures and archives hold no hooks.
    return path.read_bytes().decode("utf-8", "replace")


def _entries(place: str, text: str) -> Iterator[HookEntry]:
    """Yield the hooks of every JSON object in `text`, which may be a page or a message."""
    decoder, at = json.JSONDecoder(), 0
    while _MARK.search(text, at) and (at := text.find("{", at)) >= 0:
        try:
            value, at = decoder.raw_decode(text, at)
        except ValueError:
            at += 1
            continue

        for event, hook in _hooks(value, ""):
            yield HookEntry(place, event, hook)


def _hooks(value: object, event: str) -> Iterator[tuple[str, dict[str, object]]]:
    if isinstance(value, list):
        for each in value:
            yield from _hooks(each, event)
    elif isinstance(value, dict):
        if value.get("type") == "command":
            yield event, value
        for key, each in value.items():
            yield from _hooks(each, key if key != "hooks" else event)
