"""Which kinds of checks a name means: "unit tests", "lint and types", "ruff"."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from goop_mcp.evidence.attribution import without_wrapper_words, words_in
from goop_mcp.evidence.proofs import NamedCommands
from goop_mcp.evidence.runners import KIND_WORDS, word_set

if TYPE_CHECKING:
    from goop_mcp.validation.claims import CheckClaim

__all__ = [
    "BY_HAND",
    "RUNNER_WORDS",
    "is_by_hand",
    "kinds_of",
    "kinds_of_name",
    "named_commands",
]

# A name of several kinds means the first of these: "test coverage" is not a test.
_PRIORITY: Final = ("coverage", "audit", "typecheck", "lint", "format", "build", "tests")
_JOINING: Final = frozenset({"and", "plus"})
BY_HAND: Final = frozenset({"manual", "manually", "review", "reviewed", "inspection", "visual"})
_TEXT_CHARACTERS: Final = 4000
RUNNER_WORDS: Final = word_set(
    "pytest unittest jest vitest mocha rspec phpunit junit nextest eslint ruff flake8 "
    "pylint clippy rubocop mypy pyright tsc prettier black rustfmt gofmt playwright "
    "cypress"
)


def kinds_of(check: "CheckClaim") -> tuple[str, ...]:
    """Return the kinds of checks that the name of `check` means, or else a program in its text.

    Nothing for a check by hand, and where that is unclear.
    """
    return kinds_of_name(check.name, check.text)


def kinds_of_name(name: str, text: str = "") -> tuple[str, ...]:
    """Return the same as `kinds_of` for a check with this name and text."""
    name = name[:_TEXT_CHARACTERS]
    words = list(words_in(name.replace("_", " ")))
    if BY_HAND.intersection(words):
        return ()

    # A word goes before its pieces: `golangci-lint` is a program, `unit-tests` two words.
    pieces = (
        piece for word in words for piece in ((word,) if word in KIND_WORDS else word.split("-"))
    )
    kinds = dict.fromkeys(KIND_WORDS[piece] for piece in pieces if piece in KIND_WORDS)
    if len(kinds) > 1:
        joined = _JOINING.intersection(words) or any(mark in name for mark in ",&+/")
        return tuple(kinds) if joined else tuple(k for k in _PRIORITY if k in kinds)[:1]
    if kinds:
        return tuple(kinds)

    # The bare word "tests" in a text shows little; the name of a runner says what was run.
    named = {KIND_WORDS[word] for word in words_in(text[:_TEXT_CHARACTERS]) if word in RUNNER_WORDS}
    return tuple(named) if len(named) == 1 else ()


def is_by_hand(check: "CheckClaim") -> bool:
    """Return whether the name of `check` says that a person or agent only looked."""
    return bool(BY_HAND.intersection(words_in(check.name)))


def named_commands(trusted: Mapping[str, tuple[str, ...]]) -> NamedCommands:
    """Return the commands that a person named, by the check, with the kinds of these checks."""
    return {
        without_wrapper_words(argv): kinds
        for check, argv in trusted.items()
        if (kinds := kinds_of_name(check))
    }
