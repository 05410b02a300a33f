"""A measured share below the one that is required: "coverage 45 % (required 80 %)"."""

from collections.abc import Iterator, Sequence
from typing import Final

from goop_mcp.validation.check_texts import vocabulary
from goop_mcp.validation.check_texts.counts import ResultCount
from goop_mcp.validation.check_texts.tokens import MARK, NUMBER, RATIO, Token

__all__ = ["low_shares"]

_ENDS: Final = frozenset({".", ";", "\n", "→", "!", "?", "|"})
_ALL: Final = 100
_NEAR: Final = 3
_FILLERS: Final = vocabulary.ARTICLES | {
    *(
        "of",
        "is",
        "are",
        "at",
        "only",
        "but",
        "and",
        "total",
        "line",
        "branch",
        "statement",
        "code",
    ),
    *(
        "overall",
        "global",
        "current",
        "we",
        "need",
        "needed",
        "not",
        "met",
        "reached",
        "with",
        "has",
    ),
    *("than", "less", "still", "now", "to", "be", "must", "should", "gate", "limit", "level"),
}
_SPOKEN: Final = (
    _FILLERS
    | vocabulary.SHARES
    | vocabulary.LEAST
    | vocabulary.UNDER
    | vocabulary.TOOLS
    | vocabulary.TEST_NOUNS
)


def low_shares(tokens: Sequence[Token], past: Sequence[bool]) -> Iterator[ResultCount]:
    """Yield the measured share of each statement that gives it, and a higher one as required.

    Only a statement without any other word counts: "refuses a coverage of 45 % (required 80 %)"
    describes a program.
    """
    begin = 0
    for at in range(len(tokens) + 1):
        if at < len(tokens) and not (tokens[at].kind == MARK and tokens[at].text in _ENDS):
            continue

        found = _low(tokens, begin, at, past)
        if found is not None:
            yield found
        begin = at + 1


def _low(tokens: Sequence[Token], begin: int, end: int, past: Sequence[bool]) -> ResultCount | None:
    statement = tokens[begin:end]
    if not any(each.text in vocabulary.SHARES for each in statement):
        return None

    shares = [at for at in range(begin, end) if _is_share(tokens, at) and not past[at]]
    required = [at for at in shares if _is_required(tokens, begin, at)]
    if len(required) != 1:
        return None
    measured = [at for at in shares if at != required[0]]
    if len(measured) != 1:
        return None

    # From the last comma before the statement about the share to its end
    first = min(
        *shares, next(at for at in range(begin, end) if tokens[at].text in vocabulary.SHARES)
    )
    while first > begin and tokens[first - 1].text != ",":
        first -= 1
    spoken = all(
        tokens[at].kind in (MARK, NUMBER, RATIO) or tokens[at].text in _SPOKEN
        for at in range(first, end)
    )
    share, least = tokens[measured[0]].number, tokens[required[0]].number
    if not spoken or share >= least:
        return None
    shown = f"{share} % where {least} % is required"
    return ResultCount("short", least - share, measured[0], shown, fails=True)


def _is_share(tokens: Sequence[Token], at: int) -> bool:
    token = tokens[at]
    if token.kind == RATIO:
        return token.whole == _ALL and "%" in token.text
    return token.kind == NUMBER and at + 1 < len(tokens) and tokens[at + 1].text == "%"


def _is_required(tokens: Sequence[Token], begin: int, at: int) -> bool:
    """Return whether the share at `at` is the least that is required, by the words next to it."""
    before = [tokens[near].text for near in range(max(at - _NEAR, begin), at)]
    for word in reversed(before):
        if word in vocabulary.LEAST or word in vocabulary.UNDER or word in ("<", "need", "than"):
            return True
        if word not in _FILLERS and word not in (":", "=", "("):
            break

    after = at + 1 if tokens[at].kind == RATIO else at + 2
    if after < len(tokens) and tokens[after].text in vocabulary.AUXILIARIES:
        after += 1
    return after < len(tokens) and tokens[after].text in vocabulary.LEAST
