"""Rules about what a memory tool is given. They are reported where a memory is saved or imported.

An example is a list of calls, one JSON object a line: the arguments of save_memory, or of the
package's own memory_save where `tool` says so.
"""

from goop_mcp.validation.findings import Severity
from goop_mcp.validation.rules import Example, Rule, RuleList
from goop_mcp.workflow.memory_titles import LONGEST_TITLE

__all__ = [
    "DUPLICATE",
    "EMPTY_FIELD",
    "IMPORTANCE_AMBIGUOUS",
    "IMPORTANCE_OUT_OF_RANGE",
    "KEY_REUSED",
    "MEMORY_RULES",
    "REDACTED",
    "TITLE_TOO_LONG",
    "TOO_LARGE",
    "UNKNOWN_TYPE",
    "UNSTORABLE_CHARACTER",
]

_CALL = (
    '{"title": "Sessions live in Redis", "content": "The cookie holds only an id.", "importance":'
    " 0.7}"
)
_PACKAGE_CALL = (
    '{"tool": "memory_save", "title": "Sessions", "content": "They live in Redis.",'
    ' "importance": 8}'
)
_KEYED_CALL = '{"title": "Retries", "content": "Three, then a person.", "idempotency_key": "w2t3"}'
_TITLE = '"title": "Sessions live in Redis"'
_CONTENT = '"content": "The cookie holds only an id."'
_LARGEST_CONTENT = 65_536


MEMORY_RULES = RuleList()


def _error(
    id: str, *, catches: str, why: str, fix: str, requirements: tuple[str, ...], example: Example
) -> Rule:
    return MEMORY_RULES.add(
        id=f"memory/{id}",
        lenient=Severity.ERROR,
        strict=Severity.ERROR,
        catches=catches,
        why=why,
        fix=fix,
        requirements=requirements,
        example=example,
    )


EMPTY_FIELD = _error(
    "empty-field",
    catches="title or content blank",
    why="A memory without words is never found again.",
    fix="Write what was learned in the content, and a summary in the title.",
    requirements=("P-18",),
    example=Example(good=_TITLE, bad='"title": " "', reply=_CALL),
)

TITLE_TOO_LONG = MEMORY_RULES.add(
    id="memory/title-too-long",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="title over 100 characters; cut, the rest goes to the content",
    why="A title is what people read in a list; nothing of it is dropped.",
    fix="Write a title of at most 100 characters, and the rest in the content.",
    requirements=("P-18",),
    example=Example(
        good=_TITLE, bad=f'"title": "{"long " * (LONGEST_TITLE // 5)}title"', reply=_CALL
    ),
)

UNKNOWN_TYPE = _error(
    "unknown-type",
    catches="type outside decision, observation, note, todo",
    why="Memories are searched by type; another type would not be found.",
    fix="Write decision, observation, note or todo.",
    requirements=("P-06", "P-07"),
    example=Example(good='"importance": 0.7', bad='"type": "idea", "importance": 0.7', reply=_CALL),
)

IMPORTANCE_OUT_OF_RANGE = _error(
    "importance-out-of-range",
    catches="outside 0 to 1 on our tools; outside 1 to 10 on the compatibility names",
    why=(
        "There are two scales, 0 to 1 and the package's 1 to 10; a guess would turn the least into"
        " the most."
    ),
    fix="Write a number from 0 to 1: 0.7 for a decision, 0.5 for an observation, 0.4 for a note.",
    requirements=("G-27", "P-18"),
    example=Example(good='"importance": 0.7', bad='"importance": 8', reply=_CALL),
)

IMPORTANCE_AMBIGUOUS = MEMORY_RULES.add(
    id="memory/importance-ambiguous",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches=(
        "exactly 1 on a compatibility name: highest on one scale, lowest on the other; read as the"
        " highest"
    ),
    why="To lose an important memory is worse than to keep an unimportant one too high.",
    fix=(
        "Use save_memory, whose importance is always 0 to 1, or write 10 for the highest and 2 for"
        " a low one."
    ),
    requirements=("G-27", "P-18"),
    example=Example(good='"importance": 8', bad='"importance": 1', reply=_PACKAGE_CALL),
)

REDACTED = MEMORY_RULES.add(
    id="memory/redacted",
    lenient=Severity.INFO,
    strict=Severity.INFO,
    catches="a secret was replaced before saving",
    why="Memories are read by every agent of the project and lie on disk; a secret must not.",
    fix="Say where the secret is kept, such as the name of a variable, never what it is.",
    requirements=("P-18",),
    example=Example(good=_CONTENT, bad='"content": "api_key=tiger-4711"', reply=_CALL),
)

DUPLICATE = MEMORY_RULES.add(
    id="memory/duplicate",
    lenient=Severity.INFO,
    strict=Severity.INFO,
    catches="the same memory exists; nothing was added",
    why="A repeated call must not fill the memory; the answer names the first one.",
    fix="Go on with the id of the first; change the words where something new was meant.",
    requirements=("P-18",),
    example=Example(
        good='"The cookie holds nothing else."',
        bad='"the cookie holds  ONLY an id."',
        reply=(
            f'{_CALL}\n{{"title": "Sessions live in Redis", "content": "The cookie holds nothing'
            ' else."}'
        ),
    ),
)

KEY_REUSED = _error(
    "key-reused",
    catches="an idempotency key that another memory holds already",
    why="A key names one save; under two texts nobody could know which of them was kept.",
    fix="Leave the key out or choose another; repeat a save with the same words.",
    requirements=("P-18",),
    example=Example(
        good='"idempotency_key": "w2t4"',
        bad='"idempotency_key": "w2t3"',
        reply=(
            f'{_KEYED_CALL}\n{{"title": "Timeouts", "content": "30 s", "idempotency_key": "w2t4"}}'
        ),
    ),
)

TOO_LARGE = _error(
    "too-large",
    catches="more than a field holds: content 64 KiB, 32 concepts, 32 facts, 64 source files",
    why="Nothing is cut in silence; a memory that large belongs in a file.",
    fix="Split it into several memories, or save where the file is.",
    requirements=("P-18",),
    example=Example(good=_CONTENT, bad=f'"content": "{"x" * (_LARGEST_CONTENT + 1)}"', reply=_CALL),
)

UNSTORABLE_CHARACTER = _error(
    "unstorable-character",
    catches="the character NUL or half of a character",
    why="One database cuts the text there, another one refuses it.",
    fix="Leave the character out.",
    requirements=("P-18",),
    example=Example(good=_CONTENT, bad='"content": "a\\u0000b"', reply=_CALL),
)
