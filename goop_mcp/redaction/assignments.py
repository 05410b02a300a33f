"""Values that are secrets because of their name: `PASSWORD=…`, `"api_key": "…"`.

Names are searched in the lowercased text, which is several times faster than ignoring the case.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from goop_mcp.redaction.on_use import LatePattern, on_use
from goop_mcp.redaction.searched import SearchedText
from goop_mcp.redaction.values import Assignment, is_secret, is_weak_name

__all__ = [
    "WORDS_OF_NAMES",
    "find_assigned",
    "find_in_elements",
    "find_in_options",
]

# `pass` is also what tests do: only a value in quotes or after = is a password. What has to stand
# before it is looked for after it: `re` skips to where a name may begin only if each of them begins
# with a letter, which takes a third of the time.
_SHORT_FORM: Final = (
    r"pass(?<=[a-z][_-]pass)"
    r"|pass(?<![a-z_-]pass)(?=\\?[\"'`]?[ \t]{0,8}(?:=|:[ \t]{0,8}\\?[\"'`]))"
)
_KINDS_OF_KEY: Final = (
    "private",
    "access",
    "account",
    "signing",
    "encryption",
    "master",
    "auth",
    "storage",
    "subscription",
)
# Each form of a name with the word that every such name contains, in the order in which they are
# tried. A text is searched for those whose word it holds: each further form makes `re` stop at more
# letters, and all of them take three times as long.
_NAMES: Final = (
    ("pass", r"passw(?:or)?d|passphrase|passwrd"),
    ("pswd", "pswd"),
    ("pwd", "pwd"),
    ("pass", _SHORT_FORM),
    ("key", "api[ _-]?key"),
    ("secret", "secret"),
    ("token", "token"),
    ("key", "|".join(f"{kind}[_-]?key" for kind in _KINDS_OF_KEY)),
    ("aws_", r"aws_(?:access|secret|session|security)\w{0,40}"),
    ("auth", "auth"),
    ("cred", "cred(?:ential)?s?"),
    ("key", "key(?<!publickey)(?<!public[ _-]key)"),
)
WORDS_OF_NAMES: Final = tuple({word: None for word, _ in _NAMES})
"""Every name contains one of these words."""

_ASSIGNS: Final = r"(?:\|\||\?|\+|:)?(?:=>|=(?![=~>])|:(?![:=]))"


class _Assignments(NamedTuple):
    """The ways in which names are given values: assigned, as an option, in an element."""

    assigned: LatePattern
    option: LatePattern
    element: LatePattern


# As many as texts of one kind need; 512 are possible, each compiled in half a millisecond.
@lru_cache(maxsize=64)
def _assignments(words: tuple[str, ...]) -> _Assignments:
    """Return the patterns for the names that contain one of `words`."""
    forms = "|".join(form for word, form in _NAMES if word in words)
    name = rf"(?P<name>{forms})(?:[_-]?(?:access|base|key|value)){{0,3}}"
    return _Assignments(
        assigned=on_use(
            rf"{name}"
            rf"(?P<sign>(?:\\?[\"'`]|\*\*)?[ \t]{{0,8}}(?:{_ASSIGNS}(?:\*\*)?"
            r"|(?:is|was|->|→|\|)(?=\s))[ \t]{0,8})"
        ),
        option=on_use(rf"--[a-z-]{{0,20}}?{name}(?P<sign>[ \t]{{1,8}})"),
        element=on_use(rf"<[\w:.-]{{0,40}}?{name}(?:\s[^<>]{{0,200}})?(?P<sign>>)"),
    )


# A value without quotes ends where the next part of a query or a connection string begins.
_VALUE: Final = on_use(
    r"\\\"[^\"\n]*\"?|\"(?>(?:[^\"\\\n]++|\\.)*)\"?|'(?>(?:[^'\\\n]++|\\.|'')*)'?|`[^`\n]*`?"
    r"|(?>(?:[^\s\"'`<>\\;&]++|\\(?![nrt\"'])"
    r"|&(?![A-Za-z_-]{1,40}[=;])|;(?=\S)(?![A-Za-z _-]{1,40}=))+)"
)
_CONTENT: Final = on_use(r"[^<>]+(?=</)")
_LONGEST_WEAK: Final = 256


def find_assigned(searched: SearchedText) -> Iterator[tuple[int, int]]:
    """Yield the values that are assigned to names of secrets: `PASSWORD=…`, `"api_key": "…"`."""
    return _find(searched, lambda named: named.assigned, _VALUE)


def find_in_options(searched: SearchedText) -> Iterator[tuple[int, int]]:
    """Yield the values of options with names of secrets: `--password …`."""
    has_options = "--" in searched.text
    return _find(searched, lambda named: named.option, _VALUE) if has_options else iter(())


def find_in_elements(searched: SearchedText) -> Iterator[tuple[int, int]]:
    """Yield the content of elements with names of secrets: `<password>…</password>`."""
    has_elements = "</" in searched.text
    return _find(searched, lambda named: named.element, _CONTENT) if has_elements else iter(())


def _find(
    searched: SearchedText, way: Callable[[_Assignments], LatePattern], late_value: LatePattern
) -> Iterator[tuple[int, int]]:
    text, lowered = searched.text, searched.lowered
    present = [word for word in WORDS_OF_NAMES if word in lowered]
    # What reports say of their tests is no name, and to look for one takes ten times as long.
    if "pass" in present and "pass" not in lowered.replace("passed", ""):
        present.remove("pass")
    if not present:
        return

    named, value_of = way(_assignments(tuple(present)))(), late_value()
    at = 0
    while name := named.search(lowered, at):
        at = name.end()
        # Most values of weak names are not secrets, but may contain further assignments, so they
        # are read again from their start. Only a bounded part of them is read, and the values of
        # other names are read once, which keeps this linear.
        is_weak = is_weak_name(name["name"])
        value = (
            value_of.match(text, at, at + _LONGEST_WEAK) if is_weak else value_of.match(text, at)
        )
        if value is None or (is_weak and not is_secret(Assignment.of(text, name, value))):
            continue
        if is_weak:
            value = value_of.match(text, at) or value

        at = value.end()
        assignment = Assignment.of(text, name, value)
        if is_secret(assignment):
            yield value.start() + len(assignment.opening), value.end() - len(assignment.closing)
