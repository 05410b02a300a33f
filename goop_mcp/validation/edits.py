"""Changes to the text of an envelope, and the problems they are reported as."""

import re
from collections.abc import Iterable, Iterator

from goop_mcp.structs import DataStruct
from goop_mcp.validation.findings import Hit, excerpt
from goop_mcp.validation.rules import Problem, Rule

__all__ = ["Edit", "apply_edits", "edit_problems"]

_SHOWN = 120
_COUNTED = Hit(message="another change of this kind", before="", after="")


class Edit(DataStruct, frozen=True):
    """Replace `source[start:end]` by `new`.

    `rule` is None for a part of an edit that is reported elsewhere.
    """

    start: int
    end: int
    new: str
    rule: Rule | None
    message: str
    path: str


def apply_edits(source: str, edits: Iterable[Edit], *, base: int = 0) -> str:
    """Return `source` after `edits`, which do not overlap; their offsets count from `base`."""
    parts: list[str] = []
    last = 0
    for edit in sorted(edits, key=lambda each: each.start):
        parts += (source[last : edit.start - base], edit.new)
        last = edit.end - base

    parts.append(source[last:])

    return "".join(parts)


def edit_problems(edits: Iterable[Edit], source: str, *, most: int) -> list[Problem]:
    """Return one problem for each line of an element on which a rule changed something.

    Only the first `most` problems of a rule describe the change, because no more are listed.
    """
    problems: list[Problem] = []
    described: dict[str, int] = {}

    for group in _groups(edits, source):
        rule = group[0].rule
        if rule is None:
            continue

        described[rule.id] = described.get(rule.id, 0) + 1
        if described[rule.id] > most:
            problems.append(Problem(rule, _COUNTED))
            continue

        first, last = group[0], group[-1]
        start, end = _whole_words(source, first.start, last.end)
        before = source[start:end]
        more = f" ({len(group)} places)" if len(group) > 1 else ""
        problems.append(
            rule.problem(
                first.message + more,
                path=first.path,
                offset=start,
                found=excerpt(before, _SHOWN),
                before=excerpt(before, _SHOWN),
                after=excerpt(apply_edits(before, group, base=start), _SHOWN),
            )
        )

    return problems


def _groups(edits: Iterable[Edit], source: str) -> Iterator[list[Edit]]:
    """Yield the edits that have a rule, grouped by rule, element and line."""
    group: list[Edit] = []
    for edit in sorted(edits, key=lambda each: each.start):
        if edit.rule is None:
            continue
        if group:
            last = group[-1]
            same_error = edit.rule is last.rule and edit.path == last.path
            if not same_error or "\n" in source[last.start : edit.start]:
                yield group
                group = []

        group.append(edit)

    if group:
        yield group


def _whole_words(source: str, start: int, end: int) -> tuple[int, int]:
    """Widen a range to whole words and the ends of a tag, as far as they can be shown."""
    while start > 0 and end - start < _SHOWN and _in_word(source[start - 1]):
        start -= 1

    opening = re.search(r"</?\Z", source[max(start - 2, 0) : start])
    start -= len(opening[0]) if opening else 0
    while end < len(source) and end - start < _SHOWN and _in_word(source[end]):
        end += 1

    return start, end + source.startswith(">", end)


def _in_word(character: str) -> bool:
    return character.isalnum() or character in "._-"
