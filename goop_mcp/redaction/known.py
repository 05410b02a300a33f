"""Secrets that are known from where they stand, hidden also where nothing says what they are.

`{"password": "hunter2"}` shows a secret; the message "the key is 'hunter2'" about it does not, and
neither does a token of which a message quotes the first characters.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from goop_mcp.redaction.redacting import MARK_OF_PRIVATE, REDACTED, redact
from goop_mcp.redaction.spans import Replaced, with_marks
from goop_mcp.redaction.tokens import one_of
from goop_mcp.redaction.values import looks_random

__all__ = ["KnownSecrets"]

# Each is looked for in each text; what holds more of them is no report but a list of secrets.
_MOST: Final = 200
# Characters of a secret by which its begin is recognised, and of which a shorter one has none.
_BEGIN: Final = 8
_SHORTEST: Final = 4
_LINE: Final = 16
# A secret that is longer is looked for by so many of its characters; what quotes its begin quotes
# fewer.
_LOOKED_FOR: Final = 1_024
_IN_ELEMENTS: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_IN_ATTRIBUTES: Final = {**_IN_ELEMENTS, ord('"'): "&quot;"}
_QUOTES: Final = frozenset("'\"`")
_CUTS: Final = frozenset({"", "…", *_QUOTES})


class _Secret(NamedTuple):
    """A secret as one kind of text writes it.

    `is_distinct`: no word such as `swordfish`, which may stand elsewhere as a word.
    """

    text: str
    is_distinct: bool


class KnownSecrets:
    """The secrets in some texts."""

    def __init__(self, texts: Iterable[str]) -> None:
        forms: dict[str, None] = {}
        for text in texts:
            for part in redact(text).parts:
                forms.update(dict.fromkeys(_forms_of(text[part.start : part.end])))
            if len(forms) > _MOST:
                break

        self._by_begin: dict[str, list[_Secret]] = {}
        for form in sorted(list(forms)[:_MOST], key=len, reverse=True):
            secret = _Secret(form, looks_random(form) or any(map(str.isspace, form)))
            self._by_begin.setdefault(form[:_BEGIN], []).append(secret)
        # Within a word none begins, which also bounds how often one seems to.
        self._begins = (
            re.compile(rf"(?<![^\W_]){one_of(self._by_begin)}") if self._by_begin else None
        )

    def hide(self, text: str) -> str:
        """Return `text` without secrets, these and those that it shows by itself."""
        text = redact(text).text
        return with_marks(text, self._find(text))

    def hide_value(self, value: str) -> str:
        """Return `hide` of a whole value: one that equals a secret is that secret."""
        alike = self._by_begin.get(value[:_BEGIN], ())
        return REDACTED if any(each.text == value for each in alike) else self.hide(value)

    def parts(self, text: str) -> tuple[Replaced, ...]:
        """Return the parts of `text` that `hide` replaces, in their order, none within another."""
        found = sorted([*redact(text).parts, *self._find(text)])
        merged: list[Replaced] = []
        for part in found:
            if merged and part.start < merged[-1].end:
                merged[-1] = merged[-1]._replace(end=max(merged[-1].end, part.end))
            else:
                merged.append(part)

        return tuple(merged)

    def _find(self, text: str) -> Iterator[Replaced]:
        """Yield the parts of `text` that are known secrets, or how one begins before it was cut."""
        if self._begins is None:
            return

        at = 0
        while begin := self._begins.search(text, at):
            start, at = begin.start(), begin.start() + 1
            end = self._end_of_secret(text, start)
            if end is not None:
                yield Replaced(start, end, REDACTED)
                at = end

    def _end_of_secret(self, text: str, start: int) -> int | None:
        """Return the end of the secret that begins at `start`, None if it only begins like one."""
        for length in range(_SHORTEST, _BEGIN + 1):
            for secret in self._by_begin.get(text[start : start + length], ()):
                end = start + _common_length(secret.text, text, start)
                around = text[start - 1 : start], text[end : end + 1]
                if (
                    end - start == len(secret.text)
                    and not (text[end - 1].isalnum() and around[1].isalnum())
                    and (secret.is_distinct or _QUOTES.issuperset(around))
                ):
                    return end
                is_cut = around[1] in _CUTS or end - start >= _LOOKED_FOR
                if secret.is_distinct and is_cut and end - start >= _BEGIN:
                    return end

        return None


def _forms_of(secret: str) -> Iterator[str]:
    """Yield the secret as it is given, and as excerpts, XML and JSON write it.

    Each line of a key, and what stands between the marks of a private part, is a secret too.
    """
    inside = MARK_OF_PRIVATE().sub("", secret).strip()
    lines = [line for line in inside.split("\n") if len(line) >= _LINE and looks_random(line)]
    for each in dict.fromkeys((secret, inside, *lines)):
        forms = (
            each,
            " ".join(each.split()),
            each.translate(_IN_ELEMENTS),
            each.translate(_IN_ATTRIBUTES),
            json.dumps(each)[1:-1],
            json.dumps(each, ensure_ascii=False)[1:-1],
        )
        yield from (form for form in forms if len(form) >= _SHORTEST and form != REDACTED)


def _common_length(secret: str, text: str, start: int) -> int:
    """Return how many characters of `text` from `start` are those with which `secret` begins."""
    if text.startswith(secret[:_LOOKED_FOR], start) and text.startswith(secret, start):
        return len(secret)
    # Halved instead of counted: a text may come close to a secret at each of its words.
    least, most = 0, min(len(secret), _LOOKED_FOR)
    while least < most:
        middle = (least + most + 1) // 2
        if text.startswith(secret[:middle], start):
            least = middle
        else:
            most = middle - 1
    return least
