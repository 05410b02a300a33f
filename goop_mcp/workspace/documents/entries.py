"""Write single entries of CHRONICLE.md (Recent Activity) and ADL.md, and read ADL.md."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from goop_mcp.messages.quoting import code, inert, line
from goop_mcp.workspace.documents.markdown import fields, items, read_markdown

__all__ = ["AdlEntry", "ChronicleEntry", "adl_text", "chronicle_text", "read_adl"]

_MOST_LISTED = 50
_ADL_HEADING = re.compile(
    r"\[([^\]]{1,60})\][ \t]*+(?:\([Rr]ule[ \t]*+(\d)\))?[ \t]*+(?:[-–—][ \t]*+(.*))?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChronicleEntry:
    """What an agent did, for the diary (G-49); None and empty parts are left out.

    `time` is ISO 8601. `files` are pairs of path and action, `commits` pairs of sha and subject;
    action and subject may be None. `failed_checks` are pairs of name and evidence. `results` are
    counts and verdicts, `findings` what has to be fixed, `questions` what a person has to answer,
    with the options. `claimed` is what the agent says and nobody has verified.
    """

    time: str
    agent: str
    action: str
    outcome: str
    phase: str | None = None
    wave: str | None = None
    task: str | None = None
    files: Sequence[tuple[str, str | None]] = ()
    commits: Sequence[tuple[str, str | None]] = ()
    failed_checks: Sequence[tuple[str, str]] = ()
    results: Sequence[str] = ()
    findings: Sequence[str] = ()
    blockers: str | None = None
    questions: Sequence[str] = ()
    claimed: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AdlEntry:
    """A decision or deviation.

    `kind` is a name such as DECISION; `rule` is 1 to 4 for a deviation, else None.
    """

    kind: str
    time: str
    description: str
    action: str
    rule: int | None = None
    files: tuple[str, ...] = ()


def chronicle_text(entry: ChronicleEntry) -> str:
    """Return the Markdown of an entry of Recent Activity, without a final line end."""
    place = [
        f"Phase {line(entry.phase)}" if entry.phase else "",
        f"Wave {line(entry.wave)}" if entry.wave else "",
        f"Task {line(entry.task)}" if entry.task else "",
    ]
    rows = [
        ("Position", " · ".join(filter(None, place))),
        ("Action", line(entry.action)),
        ("Outcome", line(entry.outcome)),
        ("Results", _listed([line(each) for each in entry.results])),
        (
            "Failed Checks",
            _listed(
                [
                    line(name) + (f" ({line(evidence)})" if evidence else "")
                    for name, evidence in entry.failed_checks
                ]
            ),
        ),
        ("Findings", _listed([line(each) for each in entry.findings], divider="; ")),
        ("Blockers", line(entry.blockers) if entry.blockers else ""),
        ("Questions", _listed([line(each) for each in entry.questions], divider="; ")),
        (
            "Files",
            _listed(
                [
                    f"`{code(path)}`" + (f" ({line(how)})" if how else "")
                    for path, how in entry.files
                ]
            ),
        ),
        (
            "Commit",
            _listed(
                [
                    f"`{code(sha)}`" + (f" {line(what)}" if what else "")
                    for sha, what in entry.commits
                ]
            ),
        ),
        ("Claimed Only", _listed([line(each) for each in entry.claimed])),
    ]
    listed = [f"- **{name}:** {text}" for name, text in rows if text]

    return inert("\n".join([f"### {line(entry.time)} · {line(entry.agent)}", "", *listed]))


def adl_text(entry: AdlEntry) -> str:
    """Return the Markdown of an entry of ADL.md, ending with its divider."""
    rule = f" (Rule {entry.rule})" if entry.rule is not None else ""
    files = [f"- Files: {', '.join(map(line, entry.files[:_MOST_LISTED]))}"] if entry.files else []
    # Texts of agents are put on one line, so that they cannot begin a heading or an entry.
    parts = [
        f"## [{line(entry.kind).upper()}]{rule} - {line(entry.time)}",
        f"**Description:** {line(entry.description)}",
        "\n".join([f"**Action:** {line(entry.action)}", *([""] if files else []), *files]),
        "---",
    ]

    return inert("\n\n".join(parts))


def read_adl(text: str) -> tuple[AdlEntry, ...]:
    """Return the entries of ADL.md in the order of the text, by any author. Never raises."""
    found: list[AdlEntry] = []
    for section in read_markdown(text).walk():
        match = _ADL_HEADING.fullmatch(section.title)
        if match is None:
            continue

        values = fields(section.lines)
        listed = [
            item.partition(":")[2]
            for item in items(section.lines)
            if item.lower().startswith("files:")
        ]
        files = tuple(
            name.strip(" `") for names in listed for name in names.split(",") if name.strip()
        )
        found.append(
            AdlEntry(
                kind=match[1].strip().upper(),
                time=(match[3] or "").strip(),
                description=values.get("description", ""),
                action=values.get("action", ""),
                rule=int(match[2]) if match[2] else None,
                files=files,
            )
        )

    return tuple(found)


def _listed(names: Sequence[str], *, divider: str = ", ") -> str:
    more = f"{divider}and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    return divider.join(names[:_MOST_LISTED]) + more
