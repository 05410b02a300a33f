"""What words of another language leave open about the statement that they stand in."""

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from goop_mcp.validation.check_texts import vocabulary
from goop_mcp.validation.check_texts.tokens import CONDITION, MARK, NUMBER, Token

__all__ = ["ENGLISH", "Clauses"]

_ENDS_OF_SENTENCES: Final = frozenset({".", ";", "\n", "→", "!", "?", "|"})
_WITHIN: Final = frozenset("([-/&#*")
_LINKS: Final = vocabulary.ARTICLES | {"of", "in", "for", "with", "and", "all"}
_LOOK_AHEAD: Final = 5


class Clauses:
    """The clauses of a text that was translated; those of a text in English leave nothing open.

    A word that no table has may say "rejects" or "when": then the clause describes behaviour, and
    a count in it is no result. `unclear` and `unclear_in_sentence` are the positions with such a
    word before them, `conditional` those with an "if" before them in the sentence.
    """

    def __init__(self, tokens: Sequence[Token], *, translated: bool) -> None:
        """Find the clauses of `tokens`. Linear."""
        self._tokens = tokens
        self._foreign = translated and any(token.foreign for token in tokens)
        self.unclear = frozenset(self._after_foreign() if self._foreign else ())
        self.unclear_in_sentence = frozenset(
            self._after_foreign(_ENDS_OF_SENTENCES) if self._foreign else ()
        )
        self.conditional = frozenset(
            self._after_foreign(_ENDS_OF_SENTENCES, CONDITION) if self._foreign else ()
        )

    def _after_foreign(
        self, ends: Collection[str] | None = None, word: str | None = None
    ) -> Iterator[int]:
        seen = False
        for at, token in enumerate(self._tokens):
            if token.kind == MARK and (token.text in ends if ends else token.text not in _WITHIN):
                seen = False
            if seen:
                yield at
            seen = seen or (token.foreign and word in (None, token.text))

    def continue_at(self, at: int) -> bool:
        """Return whether a word that nothing is known of continues the statement before `at`."""
        if not self._foreign:
            return False
        most = min(at + _LOOK_AHEAD, len(self._tokens))
        while at < most and self._is_link(self._tokens[at]):
            at += 1
        return at < len(self._tokens) and self._tokens[at].foreign

    def _is_link(self, token: Token) -> bool:
        return token.text in _LINKS or token.kind == NUMBER

    def may_be_about(self, words: Collection[str]) -> bool:
        """Return whether every word is known, or one of `words` or an agent is in the text."""
        return not self._foreign or any(
            token.text in words or token.text.startswith("goop-") for token in self._tokens
        )


ENGLISH: Final = Clauses((), translated=False)
"""Those of every text in English: what nothing is known of means nothing there."""
