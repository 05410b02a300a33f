"""Every command that a page shows exists, with the options it is shown with."""

import re
import shlex
from collections.abc import Iterator

import click
import pytest

from goop_mcp.cli import main, program
from goop_mcp.cli.program import COMMANDS
from goop_mcp.protocols import RULES
from tests.documentation.pages import PAGES, fences, read_page
from tests.repository import ROOT

COMMAND = re.compile(r"(?:^|[|;&(] ?|\$ ?|uvx )goop-mcp(?P<words>(?: [^|;&)\n#>]*)?)", re.MULTILINE)
SAYS = ("lets the report of", "recorded this report")
"""What the hook says of itself stands on pages too."""
MAKE = re.compile(r"^(?:\$ )?make (?P<word>[a-z][a-z0-9-]*)", re.MULTILINE)
RULES_LOOKED_UP = re.compile(r"goop-mcp rules ([a-z_]*/?[a-z]+-[a-z-]+)")
MARKETPLACE = re.compile(r"claude plugin marketplace add ([^<\s]\S*)")
INLINE_MAKE = re.compile(r"`make (?P<word>[a-z][a-z0-9-]*)[ `]")


def shown() -> Iterator[str]:
    for page in PAGES:
        for fence in fences(page, "", "sh"):
            for match in COMMAND.finditer(fence.text):
                words = match["words"].strip().removesuffix("\\").strip()
                if not words.startswith(SAYS):
                    yield words


def command_of(words: list[str]) -> click.Command:
    """Return the command that `words` call, or the program, and remove its name from them."""
    command: click.Command = program
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        inner = command.get_command(click.Context(command), words[0])
        assert inner is not None, f"there is no command {words[0]}"
        command = inner
        del words[0]

    return command


def test_there_are_commands_to_look_at() -> None:
    assert len(set(shown())) > 25
    assert len({words.split()[0] for words in shown() if words} & set(COMMANDS)) > 10


@pytest.mark.parametrize("words", sorted(set(shown())))
def test_a_command_that_is_shown_exists_with_its_options(words: str) -> None:
    given = shlex.split(words)
    if "--" in given:
        # What follows is the command of somebody else: its options are not ours to know.
        del given[given.index("--") :]
    command = command_of(given)
    parameters = command.get_params(click.Context(command))
    known = {option for each in parameters for option in (*each.opts, *each.secondary_opts)}
    unknown = {word.partition("=")[0] for word in given if word.startswith("--")} - known

    assert not unknown, f"goop-mcp {words}"


def test_every_option_of_every_command_is_on_the_page_of_commands() -> None:
    page = read_page("docs/cli.md")
    missing = []
    groups: list[tuple[str, click.Command]] = [("", program)]
    while groups:
        name, command = groups.pop()
        context = click.Context(command)
        options = {option for each in command.get_params(context) for option in each.opts}
        missing += [
            f"goop-mcp{name} {option}"
            for option in options
            if option.startswith("--") and not re.search(rf"{option}(?![\w-])", page)
        ]
        if isinstance(command, click.Group):
            for word in command.list_commands(context):
                inner = command.get_command(context, word)
                assert inner is not None
                groups.append((f"{name} {word}", inner))

    assert missing == []


@pytest.mark.parametrize("page", PAGES)
def test_a_word_of_make_that_is_shown_exists(page: str) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z][a-z0-9-]*):", makefile, re.MULTILINE))
    text = "\n".join(fence.text for fence in fences(page))
    words = {
        match["word"] for match in (*MAKE.finditer(text), *INLINE_MAKE.finditer(read_page(page)))
    }

    assert words <= targets


def test_the_marketplace_of_a_checkout_is_added_in_one_way_on_all_pages() -> None:
    added = {page: MARKETPLACE.findall(read_page(page)) for page in PAGES}

    assert {page for page, folders in added.items() if folders} >= {
        "README.md",
        "docs/hosts/claude-code.md",
    }
    assert {folder for folders in added.values() for folder in folders} == {"./"}
    assert (ROOT / ".claude-plugin/marketplace.json").is_file()


def test_a_rule_that_a_page_has_looked_up_is_found() -> None:
    looked_up = {name for page in PAGES for name in RULES_LOOKED_UP.findall(read_page(page))}

    assert len(looked_up) > 1
    for name in looked_up:
        RULES.find(name)


def test_the_program_that_is_looked_at_is_the_one_that_runs() -> None:
    assert main(["--version"]) == 0
