"""Try every regular expression of the package on long runs of the characters it matches.

Usage: `python -m tests.patterns.long_runs`. Every attempt is printed before it begins: a pattern
that never ends is killed by its limit of processor time, and is then the last line of the output.
The first slow attempt of a pattern is printed again, after the word SLOW, and ends the pattern.
"""

import argparse
import importlib
import inspect
import pkgutil
import re
import resource
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

# The parser of re.compile: repetitions are found in its tree, because the text of a pattern is
# ambiguous.
Argument: TypeAlias = Any  # of one operator in the tree of a pattern: a number, a tuple, a tree
_PARSER: Final[Argument] = importlib.import_module("re._parser")

_LENGTH = 50_000
# A linear attempt takes at most a tenth of this, a quadratic one at least three times as much.
_MOST_SECONDS = 0.5
# For searches with patterns that are only matched in one place: detects cubic time.
_SHORT = 2_000
_UNBOUNDED = 20  # what repeats at most so often takes no time by itself
_IN_A_CLASS = 4
_ENDINGS = ("", "\x00")
_CANDIDATES = " \t\n\r\"'`*_-#>.:;,/\\<&={}[]()|~!?aAzZ09éß\u00a0\u200b\ud800\x00"
_SEARCHING = r"\.(?:search|finditer|findall|subn?|split)\b"
_REPEATS = frozenset({"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"})
_CATEGORIES: Final = {
    "CATEGORY_SPACE": r"\s",
    "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_DIGIT": r"\d",
    "CATEGORY_NOT_DIGIT": r"\D",
    "CATEGORY_WORD": r"\w",
    "CATEGORY_NOT_WORD": r"\W",
}


@dataclass(frozen=True)
class CompiledPattern:
    """A pattern, the module that compiled it, and whether that module searches texts with it."""

    module: str
    pattern: re.Pattern[Any]
    searched: bool = True

    def attempts(self) -> Iterator[tuple[Callable[[Any], object], int]]:
        """Yield each way to use the pattern, and how long a text it must take without trouble."""
        if self.searched:
            yield self.pattern.search, _LENGTH
        else:
            yield self.pattern.match, _LENGTH
            yield self.pattern.fullmatch, _LENGTH
            yield self.pattern.search, _SHORT


def patterns_of_the_package() -> list[CompiledPattern]:
    """Import all of `goop_mcp` and return every pattern that its modules compile meanwhile."""
    found: dict[tuple[Any, int], tuple[str, re.Pattern[Any]]] = {}
    compile_pattern = re.compile

    def noting(pattern: str, flags: int = 0) -> re.Pattern[Any]:
        compiled = compile_pattern(pattern, flags)
        module = sys._getframe(1).f_globals.get("__name__", "")
        if module.startswith("goop_mcp"):
            found.setdefault((compiled.pattern, compiled.flags), (module, compiled))
        return compiled

    re.compile = noting  # type: ignore[assignment]
    package = importlib.import_module("goop_mcp")

    for module in pkgutil.walk_packages(package.__path__, "goop_mcp."):
        # Adapters need frameworks that are not installed here, and compile no patterns.
        if not module.name.startswith(("goop_mcp.hosts.frameworks", "goop_mcp.__main__")):
            importlib.import_module(module.name)

    re.compile = compile_pattern

    return [
        CompiledPattern(module, pattern, _is_searched(module, pattern))
        for module, pattern in found.values()
    ]


def _is_searched(module: str, pattern: re.Pattern[Any]) -> bool:
    loaded = sys.modules[module]
    source = inspect.getsource(loaded)
    names = [name for name, value in vars(loaded).items() if value is pattern]
    return any(re.search(rf"\b{name}{_SEARCHING}", source) for name in names)


# Texts


def long_runs(pattern: re.Pattern[Any], length: int) -> Iterator[str]:
    """Yield texts with `length` characters per repetition of `pattern`, and a wrong end."""
    tree = _PARSER.parse(pattern.pattern, pattern.flags)
    runs = dict.fromkeys(_repetitions(tree, ""))
    runs.update(dict.fromkeys(("", character) for character in _own_characters(tree)))
    for before, body in runs:
        repeated = body * (length // len(body) + 1)
        for ending in _ENDINGS:
            yield before + repeated + ending


def _repetitions(tree: Iterable[Any], before: str) -> Iterator[tuple[str, str]]:
    """Yield the shortest text before each unbounded repetition, and what it repeats."""
    for operator, argument in tree:
        name = str(operator)
        if name in _REPEATS:
            _, most, body = argument
            if int(most) > _UNBOUNDED:
                yield from ((before, text) for text in _shortest(body) if text)

        for part in _parts(name, argument):
            yield from _repetitions(part, before)

        before += _shortest([(operator, argument)])[0]


def _own_characters(tree: Iterable[Any]) -> Iterator[str]:
    for operator, argument in tree:
        name = str(operator)
        if name in ("LITERAL", "IN"):
            yield from _shortest([(operator, argument)])

        for part in _parts(name, argument):
            yield from _own_characters(part)


def _parts(name: str, argument: Argument) -> Sequence[Any]:
    """Return the patterns inside of one element of a pattern."""
    if name == "BRANCH":
        return list(argument[1])
    if name == "ATOMIC_GROUP":
        return [argument]
    return [argument[-1]] if name in _REPEATS | {"SUBPATTERN", "ASSERT", "ASSERT_NOT"} else []


def _shortest(tree: Iterable[Any]) -> list[str]:
    """Return short texts that `tree` matches: one per kind of character and branch."""
    texts = [""]
    for operator, argument in tree:
        choices = _choices(str(operator), argument)
        texts = [texts[0] + choice for choice in choices] + [
            text + choices[0] for text in texts[1:]
        ]

    return texts


def _choices(name: str, argument: Argument) -> list[str]:
    if name in _REPEATS:
        least, most, body = argument
        if least:
            return [text * int(least) for text in _shortest(body)]
        return ["", *(_shortest(body) if int(most) else [])]

    if name in ("BRANCH", "ATOMIC_GROUP", "SUBPATTERN"):
        return [text for part in _parts(name, argument) for text in _shortest(part)]
    if name == "LITERAL":
        return [chr(argument)]
    if name == "NOT_LITERAL":
        return [character for character in _CANDIDATES if ord(character) != argument][:1]
    if name == "IN":
        return _in_class(argument)
    return ["a"] if name == "ANY" else [""]


def _in_class(members: Sequence[Any]) -> list[str]:
    named = [chr(value) for kind, value in members if str(kind) == "LITERAL"]
    named += [chr(value[0]) for kind, value in members if str(kind) == "RANGE"]
    held = [
        character
        for character in dict.fromkeys([*named, *_CANDIDATES])
        if _holds(members, character)
    ]

    return held[:_IN_A_CLASS] or ["a"]


def _holds(members: Sequence[Any], character: str) -> bool:
    negated = str(members[0][0]) == "NEGATE"
    return negated != any(_is_member(str(kind), value, character) for kind, value in members)


def _is_member(kind: str, value: Argument, character: str) -> bool:
    if kind == "LITERAL":
        return bool(ord(character) == value)
    if kind == "RANGE":
        return bool(value[0] <= ord(character) <= value[1])
    return kind == "CATEGORY" and re.match(_CATEGORIES[str(value)], character) is not None


# The program


def main() -> None:
    """Try the patterns of the package, or one that is given."""
    parser = argparse.ArgumentParser(prog="python -m tests.patterns.long_runs")
    parser.add_argument("--pattern", help="try this one in place of those of the package")
    parser.add_argument(
        "--limit", type=int, default=300, help="seconds of the processor after which this is killed"
    )
    asked = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CPU, (asked.limit, asked.limit))

    given = (
        [CompiledPattern("given", re.compile(asked.pattern, re.MULTILINE))]
        if asked.pattern
        else None
    )
    for each in given or patterns_of_the_package():
        _try(each)

    sys.stdout.write("ALL TRIED\n")


def _try(each: CompiledPattern) -> None:
    for attempt, length in each.attempts():
        for text in long_runs(each.pattern, length):
            subject = (
                text.encode("latin-1", "replace")
                if isinstance(each.pattern.pattern, bytes)
                else text
            )
            shown = (
                f"{each.module} {attempt.__name__} {each.pattern.pattern!r} on"
                f" {text[:24]!r}…{text[-2:]!r}\n"
            )
            sys.stdout.write(shown)
            sys.stdout.flush()
            start = time.process_time()
            attempt(subject)
            if (taken := time.process_time() - start) > _MOST_SECONDS:
                sys.stdout.write(f"SLOW {taken:.2f} s: {shown}")
                # It has to be changed anyway; its other texts may take just as long.
                return


if __name__ == "__main__":
    main()
