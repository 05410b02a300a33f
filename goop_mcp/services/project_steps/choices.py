"""What may be answered to a blocker: one of the options that it lists, or any text without them."""

import re
from typing import Final

from goop_mcp.routing.deviations import parse_deviations
from goop_mcp.routing.views import Option
from goop_mcp.services.project_steps.model import MOST_OF_A_REASON, StepArgumentError
from goop_mcp.validation.findings import excerpt

__all__ = ["NONE_OF_THESE", "Choices"]

NONE_OF_THESE: Final = "none of these"
"""The answer that takes none of the options; a comment says what is wanted instead."""

_SHOWN: Final = 60
_BETWEEN: Final = re.compile(r"[\s,;]+")


class Choices:
    """The answers to a blocker.

    `questions` are those of its questions that list options, each with a label before its letters
    where there are several: 1A, 1B, 2A.
    """

    def __init__(self, blocker: str) -> None:
        questions = parse_deviations(blocker)
        self.text = questions[0].text if questions else blocker
        self.questions = tuple(each for each in questions if each.options)

    def labelled(self, number: int) -> list[tuple[str, Option]]:
        """Return the options of the question `number`, from 1, each with what a person writes."""
        label = str(number) if len(self.questions) > 1 else ""
        return [(f"{label}{each.letter}", each) for each in self.questions[number - 1].options]

    def read(self, choice: str | None) -> tuple[str, str]:
        """Return the choice as it is kept, and in words.

        Without options any text is one. Raises StepArgumentError, whose text lists the options, for
        any other than exactly one of each question, or none of them.
        """
        given = " ".join((choice or "").split())
        if not given:
            raise StepArgumentError(f"choice is missing; expected {self._expected()}")
        if not self.questions:
            return given, excerpt(given, MOST_OF_A_REASON)
        if given.rstrip(".").casefold() == NONE_OF_THESE:
            return NONE_OF_THESE, NONE_OF_THESE

        wanted = [given] if len(self.questions) == 1 else _BETWEEN.split(given)
        found = [
            (label, option)
            for number, each in enumerate(wanted, 1)
            if number <= len(self.questions)
            for label, option in self.labelled(number)
            if _names(each, label, option)
        ]
        if len(found) != len(self.questions) or len(wanted) != len(self.questions):
            raise StepArgumentError(
                f"choice is {excerpt(given, _SHOWN)!r}; expected {self._expected()}"
            )

        words = "; ".join(f"{label}) {option.text}" for label, option in found)
        return ", ".join(label for label, _ in found), excerpt(words, MOST_OF_A_REASON)

    def _expected(self) -> str:
        if not self.questions:
            return "a text"

        listed = [self.labelled(number) for number in range(1, len(self.questions) + 1)]
        labels = [", ".join(label for label, _ in options) for options in listed]
        options = "; ".join(
            f"{label}) {excerpt(option.text, _SHOWN)}" for each in listed for label, option in each
        )
        one = f"one of {', and one of '.join(labels)}"
        return f'{one}, or "{NONE_OF_THESE}", with a comment that may be any text: {options}'


def _names(given: str, label: str, option: Option) -> bool:
    """Whether `given` is this option: its letter, its text, or both."""
    text = " ".join(option.text.split()).casefold()
    letter, _, rest = given.casefold().partition(")")
    return given.casefold() == text or (
        letter.rstrip(".").strip("(") == label.casefold() and rest.strip() in ("", text)
    )
