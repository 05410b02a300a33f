"""What the shell offers: names of files, and values in `--option=value`."""

import re
from contextlib import suppress

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
)

from goop_mcp.errors import GoopError

__all__ = ["file_names", "folder_names", "register_shells"]

_OPTION_WITH_VALUE = re.compile(r"--[\w-]+=")


def file_names(
    _context: click.Context, _parameter: click.Parameter, begun: str
) -> list[CompletionItem]:
    """Make the shell offer its files and folders; without this it would offer nothing."""
    return [CompletionItem(begun, type="file")]


def folder_names(
    _context: click.Context, _parameter: click.Parameter, begun: str
) -> list[CompletionItem]:
    """Make the shell offer its folders."""
    return [CompletionItem(begun, type="dir")]


def register_shells() -> None:
    """Let the classes below answer the shells instead of those of click."""
    for each in (_Bash, _Fish, _Zsh):
        add_completion_class(each)


class _Quiet(ShellComplete):
    """Offers nothing where the words so far are wrong: a message would stand in the typed line."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        with suppress(GoopError, click.ClickException):
            return super().get_completions(args, incomplete)
        return []


class _WholeWord(_Quiet):
    """For shells in which `--option=value` is one word, which an offered one replaces."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        offered = super().get_completions(args, incomplete)
        name = _OPTION_WITH_VALUE.match(incomplete)
        if name is None:
            return offered

        return [
            CompletionItem(f"{name[0]}{item.value}", type=item.type, help=item.help)
            for item in offered
        ]


class _Bash(_Quiet, BashComplete):
    """Bash, to which `--option`, `=` and `value` are three words."""

    def get_completion_args(self) -> tuple[list[str], str]:
        args, incomplete = super().get_completion_args()
        before = ["", *args]
        return [
            word
            for word, previous in zip(args, before, strict=False)
            if not (word == "=" and previous.startswith("--"))
        ], incomplete


class _Fish(_WholeWord, FishComplete):
    """Fish."""


class _Zsh(_WholeWord, ZshComplete):
    """Zsh."""
