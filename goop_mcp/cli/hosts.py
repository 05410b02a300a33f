"""The arguments and the output that `install` and `uninstall` share."""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import click

from goop_mcp.cli.options import WrongCallError, completing
from goop_mcp.cli.streams import show
from goop_mcp.hosts.catalogue import HOSTS, Scope, find_host
from goop_mcp.hosts.installing import InstallAction, InstallChange, Registration
from goop_mcp.settings import read_settings
from goop_mcp.validation.findings import counted_noun

__all__ = [
    "ANY_HOSTS",
    "DRY_RUN",
    "PRINT",
    "REFUSED",
    "SCOPE",
    "SEVERAL_HOSTS",
    "find_registration",
    "show_plan",
    "show_result",
]

REFUSED = 1

_HOSTS = partial(click.argument, "hosts", nargs=-1, shell_complete=completing(lambda: HOSTS))
SEVERAL_HOSTS = _HOSTS(metavar=f"{'|'.join(HOSTS)}…", required=True)
ANY_HOSTS = _HOSTS(metavar=f"[{'|'.join(HOSTS)}…]")
SCOPE = click.option(
    "--scope",
    type=click.Choice([scope.value for scope in Scope]),
    default=Scope.PROJECT.value,
    show_default=True,
    help="project: for everybody who works in it; user: for you, in all projects.",
)
DRY_RUN = click.option(
    "--dry-run", is_flag=True, help="Name what would change in each file, and change nothing."
)
PRINT = click.option(
    "--print",
    "is_printed",
    is_flag=True,
    help="Print each whole difference, and change nothing.",
)

_DONE = {
    InstallAction.CREATE: "created",
    InstallAction.CHANGE: "changed",
    InstallAction.RESTORE: "restored",
    InstallAction.REMOVE: "removed",
    InstallAction.KEEP: "unchanged",
}


_PLANNED = {
    InstallAction.CREATE: "would create",
    InstallAction.CHANGE: "would change",
    InstallAction.RESTORE: "would restore",
    InstallAction.REMOVE: "would remove",
    InstallAction.KEEP: "unchanged",
}


def find_registration(host: str, scope: str, project: str | None, *, tasks: bool) -> Registration:
    """Return the place of installation for the arguments.

    Raises UnknownNameError, SettingsError and WrongCallError.
    """
    if host.lower() == "codex":
        raise WrongCallError(
            'Codex is set up by hand: put {"hooks": {"SubagentStop": [{"hooks": [{"type":'
            ' "command", "command": "goop-mcp hook codex", "timeout": 30}]}]}} into'
            " ~/.codex/hooks.json, the same for SubagentStart, Stop and SessionStart, then run:"
            " codex mcp add goop -- goop-mcp"
        )

    return Registration(
        host=find_host(host),
        scope=Scope(scope),
        project=read_settings(os.environ, project=project).project,
        environment=os.environ,
        tasks=tasks,
    )


def show_plan(changes: Sequence[InstallChange], *, whole: bool) -> None:
    """Print what the changes would do: one line for each file, or the `whole` differences."""
    if whole:
        for change in changes:
            show(change.diff() or _line(change, None, _PLANNED))
            show(_notes(change))
    else:
        _show_lines(changes, [None] * len(changes), _PLANNED)

    if any(change.action is not InstallAction.KEEP for change in changes):
        more = "" if whole else " --print shows the differences."
        option = "--print" if whole else "--dry-run"
        show(f"Nothing was written, because of {option}.{more}\n")


def show_result(changes: Sequence[InstallChange], backups: Sequence[Path | None]) -> None:
    """Print one line for each file or for the commands of a folder, and the notes about it."""
    _show_lines(changes, backups, _DONE)


def _show_lines(
    changes: Sequence[InstallChange],
    backups: Sequence[Path | None],
    words: Mapping[InstallAction, str],
) -> None:
    lines: dict[str, int] = {}
    for change, backup in zip(changes, backups, strict=True):
        text = _line(change, backup, words) + _notes(change)
        folder, _, name = change.target.shown.rpartition("/")
        # Two dozen lines of the same kind would hide the others.
        if name.startswith("goop-") and backup is None and not change.notes and text:
            text = f"{words[change.action]:9} {folder}/goop-*.md"

        lines[text] = lines.get(text, 0) + 1

    for text, number in lines.items():
        show(
            text
            if text.endswith("\n") or not text
            else f"{text} ({counted_noun(number, 'file')})\n"
        )


def _line(change: InstallChange, backup: Path | None, words: Mapping[InstallAction, str]) -> str:
    if change.after is None and change.action is InstallAction.KEEP:
        return ""

    kept = ""
    if backup is not None:
        home = Path.home()
        in_home = backup.is_relative_to(home)
        path = f"~/{backup.relative_to(home).as_posix()}" if in_home else str(backup)
        kept = f" (backup: {path})"

    return f"{words[change.action]:9} {change.target.shown}{kept}\n"


def _notes(change: InstallChange) -> str:
    return "".join(f"          {note}\n" for note in change.notes)
