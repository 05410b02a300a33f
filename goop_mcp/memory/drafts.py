"""Prepare a memory for saving: redact it, check the limits, compute its key and hashes."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, get_args

from goop_mcp.errors import GoopError
from goop_mcp.memory.importance import ImportanceScale, read_importance
from goop_mcp.memory.limits import (
    LARGEST_CONTENT,
    LONGEST_ITEM,
    LONGEST_NAME,
    MOST_CONCEPTS,
    MOST_FACTS,
    MOST_SOURCE_FILES,
)
from goop_mcp.memory.similarity import fingerprint, sketches, tokens
from goop_mcp.redaction import may_hold_secrets, redact
from goop_mcp.store.records import MemoryType
from goop_mcp.validation.findings import Finding, Hit, Severity, counted_noun, excerpt
from goop_mcp.validation.rules import Problem, Rule
from goop_mcp.workflow.memory_rules import (
    EMPTY_FIELD,
    REDACTED,
    TITLE_TOO_LONG,
    TOO_LARGE,
    UNKNOWN_TYPE,
    UNSTORABLE_CHARACTER,
)
from goop_mcp.workflow.memory_titles import LONGEST_TITLE, cut_title

__all__ = [
    "MEMORY_TYPES",
    "SAVED_TYPES",
    "MemoryDraft",
    "MemoryRefusedError",
    "PreparedMemory",
    "prepare",
]

MEMORY_TYPES: Final[tuple[MemoryType, ...]] = get_args(MemoryType)
"""All types that can be searched for."""

SAVED_TYPES: Final[tuple[MemoryType, ...]] = ("decision", "observation", "note", "todo")
"""The types that a caller may save; `session_summary` comes from imported data only."""

_MOST_ITEMS: Final = {
    "concepts": MOST_CONCEPTS,
    "facts": MOST_FACTS,
    "source_files": MOST_SOURCE_FILES,
}


class MemoryRefusedError(GoopError, ValueError):
    """Raised when a memory cannot be saved; the text is the first of the errors in `findings`."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(findings)
        errors = [finding for finding in self.findings if finding.severity is Severity.ERROR]
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        # One error with its fix: most callers are agents, which correct one thing at a time.
        fix = errors[0].fix
        super().__init__(f"{errors[0].message}{more}; {fix[:1].lower()}{fix[1:]}")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDraft:
    """A memory as the caller passed it.

    `idempotency_key` identifies this save when it is repeated. `type` is one of SAVED_TYPES and
    `importance` 0 to 1, unless the caller of `prepare` allows more.
    """

    title: str = field(repr=False)
    content: str = field(repr=False)
    type: str = "observation"
    importance: object = 0.5
    concepts: Sequence[str] = ()
    facts: Sequence[str] = field(default=(), repr=False)
    source_files: Sequence[str] = ()
    agent: str | None = None
    session_id: str | None = None
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedMemory:
    """A draft that may be added: without secrets and within the limits.

    `redactions` counts what was removed. `findings` are warnings and infos. `own_key` is whether
    the caller passed a key; otherwise `idempotency_key` is derived from the text. `words` counts
    the words of the text.
    """

    type: MemoryType
    title: str
    content: str = field(repr=False)
    importance: float
    concepts: tuple[str, ...]
    facts: tuple[str, ...] = field(repr=False)
    source_files: tuple[str, ...]
    agent: str | None
    session_id: str | None
    idempotency_key: str
    own_key: bool
    fingerprint: str
    words: Counter[str]
    sketches: tuple[int, ...]
    redactions: int
    findings: tuple[Finding, ...]


@dataclass(slots=True)
class _Reading:
    """What was found while a draft was prepared."""

    findings: list[Finding] = field(default_factory=list)
    redactions: int = 0
    is_harmless: bool = False

    def clean(self, text: str) -> str:
        if self.is_harmless:
            # Whole texts were found harmless together, which costs less than looking at each.
            return text
        redacted = redact(text)
        self.redactions += redacted.count
        return redacted.text

    def clean_all(self, texts: Iterable[str]) -> tuple[str, ...]:
        """Return the redacted texts without duplicates and blanks."""
        redacted = map(self.clean, texts)
        # In their order, without the repetitions that agents write.
        return tuple(dict.fromkeys(stripped for text in redacted if (stripped := text.strip())))

    def say(
        self,
        rule: Rule,
        message: str,
        *,
        path: str,
        found: str,
        expected: tuple[str, ...] | None = None,
    ) -> None:
        hit = Hit(message=message, path=path, found=excerpt(found, 80), expected=expected)
        self.findings.append(Problem(rule, hit).finding(rule.lenient))


def prepare(
    draft: MemoryDraft,
    *,
    scale: ImportanceScale = "ours",
    types: tuple[MemoryType, ...] = SAVED_TYPES,
) -> PreparedMemory:
    """Return `draft` ready to be added.

    Every text is redacted first, so that no message, key or hash contains a secret. A title over
    100 characters is cut, and the rest is moved to the content. Raises MemoryRefusedError with all
    reasons.
    """
    reading = _Reading()
    # Redaction is first: the messages below quote values, and may be logged.
    cleaned = _redacted(draft, reading)
    _refuse_unstorable(cleaned, reading)
    # Compared by value after redaction; the constant is returned, not the caller's own text.
    kind = next((known for known in types if known == cleaned.type), None)
    if kind is None:
        message = f"type is {excerpt(cleaned.type, 40)!r}; expected one of {', '.join(types)}"
        reading.say(UNKNOWN_TYPE, message, path="type", found=cleaned.type, expected=types)

    importance, problem = read_importance(draft.importance, scale)
    if problem is not None:
        reading.findings.append(problem.finding(problem.rule.lenient))

    for name, text in (("title", cleaned.title), ("content", cleaned.content)):
        # `strip` alone would accept a zero-width space, which nobody can find again.
        if not any(c.isprintable() and not c.isspace() for c in text):
            reading.say(EMPTY_FIELD, f"{name} is blank; expected text", path=name, found=text)

    # Cutting the title lengthens the content, so sizes are checked afterwards.
    cleaned = _with_short_title(cleaned, reading)
    _refuse_too_large(cleaned, reading)
    if (
        kind is None
        or importance is None
        or any(each.severity is Severity.ERROR for each in reading.findings)
    ):
        raise MemoryRefusedError(reading.findings)

    # Of the redacted text: two saves that differ only in a secret are one memory.
    same = fingerprint(cleaned.title, cleaned.content)
    words = tokens(cleaned.title, cleaned.content)

    # A hash keeps two keys different that differ only in a redacted secret.
    key, given_key = cleaned.idempotency_key, draft.idempotency_key
    if key is not None and given_key is not None and key != given_key.strip():
        digest = hashlib.sha256(given_key.encode(errors="surrogatepass")).hexdigest()
        key = f"{key}#{digest[:16]}"

    return PreparedMemory(
        type=kind,
        title=cleaned.title,
        content=cleaned.content,
        importance=importance,
        concepts=tuple(cleaned.concepts),
        facts=tuple(cleaned.facts),
        source_files=tuple(cleaned.source_files),
        agent=cleaned.agent,
        session_id=cleaned.session_id,
        # Without a key of its own, saving the same text twice gives one memory.
        idempotency_key=key or f"words:{same}",
        own_key=cleaned.idempotency_key is not None,
        fingerprint=same,
        words=words,
        sketches=sketches(kind, words),
        redactions=reading.redactions,
        findings=tuple(reading.findings),
    )


def _redacted(draft: MemoryDraft, reading: _Reading) -> MemoryDraft:
    # One quick test of all texts together: most drafts hold nothing that needs the full redaction.
    reading.is_harmless = not may_hold_secrets(text for _, text in _texts(draft))
    cleaned = MemoryDraft(
        title=" ".join(reading.clean(draft.title).split()),
        content=reading.clean(draft.content),
        type=reading.clean(draft.type),
        importance=draft.importance,
        concepts=reading.clean_all(draft.concepts),
        facts=reading.clean_all(draft.facts),
        source_files=reading.clean_all(draft.source_files),
        agent=_cleaned_name(draft.agent, reading),
        session_id=_cleaned_name(draft.session_id, reading),
        idempotency_key=_cleaned_name(draft.idempotency_key, reading),
    )
    if reading.redactions:
        # Without the text itself: the finding is shown, and what was removed must not be.
        places = counted_noun(reading.redactions, "place")
        reading.say(
            REDACTED,
            f"{places} with a secret or a private part replaced before saving",
            path="",
            found="",
        )

    return cleaned


def _cleaned_name(name: str | None, reading: _Reading) -> str | None:
    return (reading.clean(name).strip() or None) if name is not None else None


def _texts(draft: MemoryDraft) -> list[tuple[str, str]]:
    """Return every text of `draft` with the name of its field."""
    names = ("title", "content", "type", "agent", "session_id", "idempotency_key")
    single = [(name, text) for name in names if (text := getattr(draft, name)) is not None]
    return single + [(name, text) for name in _MOST_ITEMS for text in getattr(draft, name)]


def _refuse_unstorable(draft: MemoryDraft, reading: _Reading) -> None:
    for name, text in _texts(draft):
        if "\0" in text:
            reading.say(
                UNSTORABLE_CHARACTER,
                f"{name} holds NUL; expected text without it",
                path=name,
                found=text,
            )
        # Whether a text is ASCII is known at once; most are, and need no loop.
        elif not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
            message = f"{name} holds half of a character; expected complete ones"
            reading.say(UNSTORABLE_CHARACTER, message, path=name, found=text)


def _with_short_title(draft: MemoryDraft, reading: _Reading) -> MemoryDraft:
    title = draft.title
    if len(title) <= LONGEST_TITLE:
        return draft

    message = (
        f"title has {len(title)} characters; expected at most {LONGEST_TITLE}; the rest is in the"
        " content"
    )
    reading.say(TITLE_TOO_LONG, message, path="title", found=title)
    kept, rest = cut_title(title)

    # Nothing of the title is lost: it stands at the beginning of the content.
    return replace(draft, title=kept, content=f"{rest}\n\n{draft.content}")


def _refuse_too_large(draft: MemoryDraft, reading: _Reading) -> None:
    sizes = [
        # Bytes for the content, which the database bounds; characters for what people type.
        ("content", len(draft.content.encode(errors="surrogatepass")), LARGEST_CONTENT, "bytes")
    ]
    sizes += [
        (name, len(getattr(draft, name)), most, "items") for name, most in _MOST_ITEMS.items()
    ]
    sizes += [
        (
            name,
            len(text),
            LONGEST_ITEM if name in {"facts", "source_files"} else LONGEST_NAME,
            "characters",
        )
        for name, text in _texts(draft)
        if name not in {"title", "content", "type"}
    ]

    for name, size, limit, unit in sizes:
        if size > limit:
            message = f"{name} has {size:,} {unit}; expected at most {limit:,}"
            reading.say(TOO_LARGE, message, path=name, found=f"{size:,} {unit}")
