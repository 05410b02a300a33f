"""Print the corpus of one family: `python -m goop_mcp.testing.writing FAMILY`."""

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Final

from goop_mcp.testing.cases import KINDS, corrupt
from goop_mcp.testing.good_replies import GoodReply
from goop_mcp.testing.placements import LONG_PROSE
from goop_mcp.validation.json_samples import FACTORY_REPLY
from goop_mcp.validation.samples import COMPLETE_REPLY

__all__ = ["GOOD_REPLIES", "corpus_lines"]

GOOD_REPLIES: Final[Mapping[str, str]] = {"goop_report": COMPLETE_REPLY, "factory": FACTORY_REPLY}
"""What is corrupted, by protocol: one envelope in XML and one in JSON."""


def corpus_lines(protocol: str) -> Iterator[str]:
    """Yield the corpus of `protocol` as lines of JSON, without their ends."""
    reply = GOOD_REPLIES[protocol]
    for kind in KINDS[GoodReply.of(reply).syntax]:
        case = corrupt(reply, kind)
        # Long prose is written as a sentence and its count, so that the file stays small.
        times = case.text.count(LONG_PROSE)
        before = {"before": [LONG_PROSE, times]} if times else {}
        text = case.text.removeprefix(LONG_PROSE * times)
        yield json.dumps(asdict(case) | before | {"text": text})


if __name__ == "__main__":
    for line in corpus_lines(sys.argv[1]):
        sys.stdout.write(f"{line}\n")
