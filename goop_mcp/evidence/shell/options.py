"""Part the options of a program that starts another one from the words of that one."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from goop_mcp.evidence.shell.tree import ShellWord

__all__ = ["Wrapper", "after_options", "are_flags", "known_options", "words_of_option"]

# What the project brings: a name alone is that of a package which others have published.
_OWN_PACKAGE: Final = (".", "~", "$", "/")
# Settings of PHP that name a file to run.
_LOADED_BY_PHP: Final = ("auto_prepend_file", "auto_append_file", "extension", "zend_extension")


class Wrapper(NamedTuple):
    """How to find the program that a wrapper starts.

    `values` are its options that take the next word as a value, `flags` those without one, and
    `packages` those whose value names what is installed first. With any other option it may start
    something else, or nothing. `skip` is the number of words of its own that come after the
    options.
    """

    values: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()
    packages: frozenset[str] = frozenset()
    skip: int = 0


def known_options(
    values: str = "", flags: str = "", *, packages: str = "", skip: int = 0
) -> Wrapper:
    """Return a wrapper with the options in these texts, each after a blank."""
    return Wrapper(
        frozenset(values.split()), frozenset(flags.split()), frozenset(packages.split()), skip
    )


def after_options(words: tuple[ShellWord, ...], wrapper: Wrapper) -> tuple[ShellWord, ...] | None:
    """Return `words` without the options at their beginning, None with one that is not known."""
    at = 0
    while at < len(words) and words[at].text.startswith("-"):
        if words[at].text == "--":
            at += 1
            break

        taken = words_of_option(words[at:], wrapper)
        if not taken:
            return None
        at += taken

    return words[at:]


def words_of_option(words: Sequence[ShellWord], wrapper: Wrapper) -> int:
    """Return how many words the option takes with which `words` begin, 0 for one not known."""
    text = words[0].text
    option, sign, value = text.partition("=")
    if option in wrapper.flags or are_flags(text, wrapper):
        return 1

    # `-itu root`: flags, and at the end an option with a value
    if text[:1] == "-" != text[1:2] and are_flags(text[:-1], wrapper):
        return 2 if f"-{text[-1]}" in wrapper.values else 0

    taken = 1
    if not (sign and text.startswith("--")):
        # `-n5`, and `-n 5`
        option, value = (text[:2], text[2:]) if text[:2] in wrapper.values else (text, "")
        if not value:
            taken, value = 2, words[1].text if len(words) > 1 else ""

    if option in wrapper.packages:
        return taken if _is_published(value) else 0
    if option not in wrapper.values or value.partition("=")[0].strip() in _LOADED_BY_PHP:
        return 0
    return taken


def are_flags(text: str, wrapper: Wrapper) -> bool:
    """Whether `text` is letters of options without values after one dash, such as `-dim`."""
    letters = text[1:]
    return letters != "" and all(f"-{letter}" in wrapper.flags for letter in letters)


def _is_published(package: str) -> bool:
    """Whether a package is not one of the project, whose own one is installed in any case."""
    if package == "." or package.startswith(".["):
        return True
    scoped = package.startswith("@") and package.count("/") == 1
    return (
        bool(package)
        and not package.startswith(_OWN_PACKAGE)
        and ":" not in package
        and ("/" not in package or scoped)
    )
