"""The result of an audit."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import nsmallest
from typing import Final, Literal, NamedTuple

__all__ = ["Audit", "AuditLimits", "Case", "Judged", "Outcome"]

# What differs between reasons of one kind: versions, names and lines.
_WRITES: Final = re.compile(
    r"(\S+) (?:of an unknown version|(?P<version>.*?)) (writes .*?)"
    r"(?:, (?P<name>['\"].*)| \(.*\))?"
)
_MAY_RUN: Final = re.compile(r"the tool (?P<name>.*) (may have run commands)")
_LINE: Final = re.compile(r"line \d+ (of the transcript .*)")

Outcome = Literal["contradicted", "supported", "unsupported", "unreadable"]


class Judged(NamedTuple):
    """One claim, and what the transcript says of it; the texts are without secrets.

    `detail` is why it is not supported, or what supports it. `rank` orders contradictions, the
    worst first. `source` is where the transcript shows the result, and `command` what was run, ""
    where no single command is meant.
    """

    outcome: Outcome
    claim: str
    detail: str
    rule: str = ""
    rank: int = 0
    source: str = ""
    command: str = ""


class Case(NamedTuple):
    """A claim that a result contradicts: `line` is that of the message in the `transcript`."""

    host: str
    transcript: str
    session: str
    line: int
    judged: Judged
    changed: float

    @property
    def place(self) -> str:
        """Where the message stands: a file and a line, or a message of a session."""
        if self.host == "opencode":
            session = f" session {self.session}" if self.session else ""
            return f"{self.transcript}{session} message {self.line}"
        return f"{self.transcript}:{self.line}"

    def to_dict(self) -> dict[str, object]:
        """Return it as JSON values."""
        return {
            "host": self.host,
            "transcript": self.transcript,
            "session": self.session or None,
            "line": self.line,
            "claim": self.judged.claim,
            "rule": self.judged.rule,
            "result": self.judged.detail,
            "command": self.judged.command or None,
            "source": self.judged.source or None,
        }


class AuditLimits(NamedTuple):
    """How much an audit reads: bytes of all transcripts, of one, of one again for its messages.

    `messages` is for each transcript, the last ones; `seconds` is for all.
    """

    all_bytes: int = 2 * 1024**3
    file_bytes: int = 64 * 1024**2
    again_bytes: int = 256 * 1024**2
    transcripts: int = 20_000
    messages: int = 200
    seconds: float = 600.0


@dataclass(slots=True)
class Audit:
    """What was found. `looked_in` are the folders and databases, `project` is "" for all projects.

    `left_out` counts what was not read, by the reason; `unreadable` the claims whose history cannot
    be read, by the host and the kind of reason, and `examples` has the first reason of each kind.
    `interrupted` is whether the person ended it before its end.
    """

    project: str
    looked_in: tuple[str, ...]
    transcripts: Counter[str] = field(default_factory=Counter)
    messages: int = 0
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    unreadable: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    worst: list[Case] = field(default_factory=list)
    interrupted: bool = False

    @property
    def readable(self) -> int:
        """How many claims have a history that can be read."""
        return sum(count for outcome, count in self.outcomes.items() if outcome != "unreadable")

    @property
    def percent(self) -> float | None:
        """The share of them that a result contradicts, in percent; None without any."""
        return 100 * self.outcomes["contradicted"] / self.readable if self.readable else None

    def add(self, case: Case) -> None:
        """Keep `case` if it is one of the ten worst: what failed first, then the newest."""
        most = 10
        self.worst = nsmallest(
            most, (*self.worst, case), key=lambda each: (each.judged.rank, -each.changed, each.line)
        )

    def add_unreadable(self, reason: str) -> None:
        """Count a claim whose history cannot be read, with others of the same kind of reason."""
        kind, example = _kind_of(reason)
        self.unreadable[kind] += 1
        self.examples.setdefault(kind, example)

    def reasons(self) -> Iterator[tuple[str, int]]:
        """Yield the most common kinds of reason, and how many claims have another one."""
        most = 5
        common = self.unreadable.most_common()
        for kind, count in common[:most]:
            example = self.examples[kind]
            yield f"{kind}, for example {example}" if example else kind, count
        if rest := sum(count for _, count in common[most:]):
            yield "other reasons", rest

    def to_dict(self) -> dict[str, object]:
        """Return it as JSON values; `rate` is a share from 0 to 1, null without any claim."""
        percent = self.percent
        return {
            "project": self.project or None,
            "looked_in": list(self.looked_in),
            "transcripts": {"read": self.transcripts.total(), **self.transcripts},
            "messages": self.messages,
            "claims": {
                "readable": self.readable,
                "contradicted": self.outcomes["contradicted"],
                "supported": self.outcomes["supported"],
                "unsupported": self.outcomes["unsupported"],
                "unreadable": self.outcomes["unreadable"],
            },
            "rate": None if percent is None else round(percent / 100, 4),
            "unreadable": dict(self.reasons()),
            "left_out": dict(self.left_out),
            "interrupted": self.interrupted,
            "worst": [case.to_dict() for case in self.worst],
        }


def _kind_of(reason: str) -> tuple[str, str]:
    """Return the kind of a reason, and what is special in this one, "" if that says nothing."""
    if found := _WRITES.fullmatch(reason):
        return f"{found[1]} {found[3]}", found["name"] or found["version"] or ""
    if found := _MAY_RUN.fullmatch(reason):
        return f"a tool {found[2]}", found["name"]
    if found := _LINE.fullmatch(reason):
        return f"a line {found[1]}", ""
    return reason, ""
