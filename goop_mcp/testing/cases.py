"""The corpus: corrupted replies with the correct answer, as data that ships with the package."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

from goop_mcp.errors import UnknownNameError
from goop_mcp.protocols import RULES
from goop_mcp.testing.corruptions import Corruption, Never, Wanted
from goop_mcp.testing.good_replies import DRAFT, GoodReply, Syntax
from goop_mcp.testing.json_errors import JSON_ERRORS
from goop_mcp.testing.placements import JSON_PLACEMENTS, PLACEMENTS, XML_PLACEMENTS
from goop_mcp.testing.xml_errors import XML_ERRORS

__all__ = ["KINDS", "CorruptedReply", "Happening", "corrupt", "load_corpus"]

Happening = Never | Literal["as wanted", "good reply refused"]

KINDS: Final[dict[Syntax, dict[str, Corruption]]] = {
    "xml": {each.kind: each for each in (*PLACEMENTS, *XML_PLACEMENTS, *XML_ERRORS)},
    "json": {each.kind: each for each in (*PLACEMENTS, *JSON_PLACEMENTS, *JSON_ERRORS)},
}
"""Every kind by its name, for each syntax."""

_FOLDER: Final = Path(__file__).parent / "corpus"


@dataclass(frozen=True, slots=True, kw_only=True)
class CorruptedReply:
    """One reply as a model may send it.

    `wanted` is the correct answer: "read" as it is, "mended" with a repair listed, "refused" with a
    finding; one of `rules` at least, where there are any, must be named. `protocol` is what to ask
    for. `narrative` is the agent's account in the envelope, None where the reply must be refused.
    `never` is the harm that a careless reader does here.
    """

    id: str
    kind: str
    protocol: str
    what: str
    wanted: Wanted
    rules: tuple[str, ...]
    never: Never
    narrative: str | None
    text: str

    def what_happened(self, narrative: str | None) -> Happening:
        """Judge a reader by the narrative that it read from `text`, None where it refused.

        Differences in white space do not count.
        """
        if narrative is None:
            return "as wanted" if self.narrative is None else "good reply refused"
        if self.narrative is None:
            return self.never
        if narrative.split() == self.narrative.split():
            return "as wanted"
        return self.never if DRAFT in narrative else "text lost"


def corrupt(reply: str, kind: str) -> CorruptedReply:
    """Corrupt `reply`, which strict mode must accept unchanged, in the way that `kind` names.

    Raises NotCorruptibleError when the reply is not accepted, or contains nothing that this kind
    changes; UnknownNameError for a kind that does not exist for the syntax of its envelope.
    """
    good = GoodReply.of(reply)
    kinds = KINDS[good.syntax]
    if kind not in kinds:
        raise UnknownNameError("kind", kind, kinds)

    error = kinds[kind]
    narrative = f"{good.narrative} {error.adds}".rstrip()
    # Kinds are shared by all protocols, and not every protocol has a rule of each name.
    rules = (rule if "/" in rule else f"{good.protocol}/{rule}" for rule in error.rules)

    return CorruptedReply(
        id=f"{good.protocol}/{kind}",
        kind=kind,
        # A reader that knows the protocol cannot confuse two of them: only detection can.
        protocol="auto" if kind == "two_protocols" else good.protocol,
        what=error.what,
        wanted=error.wanted,
        rules=tuple([rule for rule in rules if rule in RULES]),
        never=error.never,
        narrative=None if error.wanted == "refused" else narrative,
        text=error.make(good),
    )


def load_corpus() -> tuple[CorruptedReply, ...]:
    """Return every corrupted reply that ships with the package, by protocol and kind."""
    return _read_corpus()


@cache
def _read_corpus() -> tuple[CorruptedReply, ...]:
    corpus = []
    for file in sorted(_FOLDER.glob("*.jsonl")):
        for line in file.read_text("utf-8").splitlines():
            values: dict[str, Any] = json.loads(line)
            # A megabyte of prose is stored as its sentence and how often it precedes the text.
            sentence, times = values.pop("before", ("", 0))
            values |= {"rules": tuple(values["rules"]), "text": sentence * times + values["text"]}
            corpus.append(CorruptedReply(**values))

    return tuple(corpus)
