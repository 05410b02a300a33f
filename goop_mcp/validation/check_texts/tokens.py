"""Split a text into numbers, ratios, words and marks; names, paths and quotations stay opaque."""

import re
from typing import Final, NamedTuple

from goop_mcp.validation.check_texts.languages import in_english
from goop_mcp.validation.check_texts.vocabulary import KNOWN, NUMBERS, TOOLS

__all__ = [
    "CONDITION",
    "MARK",
    "NAME",
    "NUMBER",
    "RATIO",
    "WORD",
    "Token",
    "tokens_of",
    "without_quotations",
]

NUMBER, RATIO, WORD, NAME, MARK = "number", "ratio", "word", "name", "mark"


class Token(NamedTuple):
    """A piece of a text; `text` is in lower case, `whole` the total of a ratio such as 11/12.

    `foreign` marks a word of a text in another language whose meaning no table has.
    """

    kind: str
    text: str
    number: int = 0
    whole: int = 0
    foreign: bool = False


_COLOUR = re.compile(r"\x1b?\[[0-9;]{1,12}m")
_PIECE = re.compile(r"[\w./\\@'’%+~$&-]+|\n|\S")
_FENCE = "```"
_INFORMATION = "ℹ"
_QUOTED = " quoted_text "
_PAIRS: Final = {
    "`": "`",
    '"': '"',
    "“": "”",
    "«": "»",
    "„": "“",
    "‘": "’",
    "'": "'",
    "「": "」",
    "『": "』",
    "《": "》",
    "‹": "›",
}
_QUOTES: Final = frozenset(_PAIRS).union(_PAIRS.values())
CONDITION: Final = "if"
_MOST_DIGITS = 9
_THOUSANDS = 3
_TICKS: Final = {"✓": "passed", "✔": "passed", "✅": "passed", "✗": "failed", "✘": "failed"}
_ARROWS: Final = frozenset({"→", "⇒", "->", "-->", "=>"})


def tokens_of(text: str) -> tuple[list[Token], bool]:
    """Return the pieces of `text` in order, and whether they were translated.

    A new line is a mark.
    """
    text = _COLOUR.sub("", text).replace(_INFORMATION, "#")
    if _FENCE in text:
        text = "\n".join(line for line in text.split("\n") if not line.lstrip().startswith(_FENCE))

    unquoted = without_quotations(text)
    tokens, translated = _read(unquoted)
    # If only names of tools and marks stand around quotations, these are the result.
    frame = TOOLS | {_QUOTED.strip()}
    if unquoted != text and all(each.kind == MARK or each.text in frame for each in tokens):
        return _read("".join(" " if char in _QUOTES else char for char in text))
    return tokens, translated


def _read(text: str) -> tuple[list[Token], bool]:
    english = in_english(text)
    return (_tokens(text), False) if english is None else (_marked(_tokens(english)), True)


def _marked(tokens: list[Token]) -> list[Token]:
    """Return `tokens` of a text in another language, with a mark on the words nothing is known of.

    What such a word says about a number next to it is not known. "If" is marked as well: what
    it says is known, and it is no result.
    """
    return [each._replace(foreign=True) if _is_foreign(each) else each for each in tokens]


def _is_foreign(token: Token) -> bool:
    if token.kind != WORD or token.text.startswith("goop-"):
        return False
    return token.text not in KNOWN or token.text == CONDITION


def without_quotations(text: str) -> str:
    """Return `text` with an opaque name in place of each quotation that ends on its line."""
    if not any(quote in text for quote in _PAIRS):
        return text
    return "\n".join([_line_without_quotations(line) for line in text.split("\n")])


def _line_without_quotations(line: str) -> str:
    kept: list[str] = []
    at, unclosed = 0, set[str]()
    start = 0

    while at < len(line):
        closer = _PAIRS.get(line[at])
        in_word = closer == "'" and at > 0 and line[at - 1].isalnum()
        if closer is None or closer in unclosed or in_word:
            at += 1
            continue

        end = line.find(closer, at + 1)
        while closer == "'" and 0 <= end < len(line) - 1 and line[end + 1].isalnum():
            end = line.find(closer, end + 1)  # an apostrophe
        if end < 0:
            # A closer that is missing is searched for once per line, which keeps the time linear.
            unclosed.add(closer)
            at += 1
            continue

        kept += [line[start:at], _QUOTED]
        start = at = end + 1

    return "".join([*kept, line[start:]])


def _tokens(text: str) -> list[Token]:
    tokens: list[Token] = []
    in_number = False
    for match in _PIECE.finditer(text):
        piece = match[0]
        if piece == "," and _goes_on_with_thousands(text, match.end(), tokens):
            in_number = True
            continue

        if piece in _ARROWS:
            found = [Token(MARK, "→")]
        elif piece in _TICKS:
            found = [Token(WORD, _TICKS[piece])]
        else:
            # A full stop after a word ends a sentence; the other marks around it say nothing.
            core = piece.rstrip(".'’-")
            dots = [Token(MARK, ".")] if "." in piece[len(core) :] else []
            core = core.lstrip("-'’~+")
            found = [_token(core), *dots] if core else dots or [Token(MARK, piece[0])]

        if in_number and found[0].kind == NUMBER:
            number = tokens.pop().number * 1000 + found[0].number
            found[0] = Token(NUMBER, str(number), number)

        in_number = False
        tokens += found

    return tokens


def _goes_on_with_thousands(text: str, at: int, tokens: list[Token]) -> bool:
    """Return whether the comma before `at` separates thousands: exactly three digits follow."""
    if not tokens or tokens[-1].kind != NUMBER or tokens[-1].number > 10**_MOST_DIGITS:
        return False

    digits = text[at : at + _THOUSANDS]
    after = text[at + _THOUSANDS : at + _THOUSANDS + 1]

    return (
        len(digits) == _THOUSANDS
        and digits.isdecimal()
        and digits.isascii()
        and not after.isalnum()
    )


def _token(core: str) -> Token:
    lower = core.lower().replace("’", "'")
    if _is_number(core):
        return Token(NUMBER, core, int(core))

    part, slash, whole = core.partition("/")
    if slash and _is_number(part) and _is_number(whole):
        return Token(RATIO, core, int(part), int(whole))
    if core.endswith("%") and _is_number(percent := core[:-1].partition(".")[0]):
        return Token(RATIO, core, int(percent), 100)
    if lower in NUMBERS:
        return Token(NUMBER, lower, NUMBERS[lower])
    if lower == "n/a" or core.replace("-", "").replace("'", "").replace("’", "").isalpha():
        return Token(WORD, lower)
    return Token(NAME, lower) if any(char.isalnum() for char in core) else Token(MARK, core[0])


def _is_number(text: str) -> bool:
    return text.isdecimal() and text.isascii() and len(text) <= _MOST_DIGITS
