"""Find envelopes that a reply only shows: quoted, in a diff, in program code (D-109)."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from goop_mcp.validation.fences import fence_spans
from goop_mcp.validation.pairing import Block
from goop_mcp.validation.scanner import Regions
from goop_mcp.validation.thoughts import hide_thoughts

__all__ = ["hide_unspoken", "shown_spans"]

MARKED_LINES: Final = "quoted in lines with the mark of a quotation or a diff"
NUMBERED_LINES: Final = "quoted in lines with their numbers"
CODE_FENCE: Final = "quoted in a fence of program code, console output or a diff"
CODE_STRING: Final = "quoted in a string of program code"
SHOWN: Final = "quoted in a tag for examples, files or results of tools"

_WINDOW: Final = 300
_TAGS_LOOKED_AT: Final = 64
_BLOCKS_LOOKED_AT: Final = 64
# The words of a fence that make its content material. Any other word, or none, is only form.
_CODE_WORDS: Final = """
ansi awk bash bat batch c c++ cc clj clojure cmd console cpp cs csharp cxx dart diff dockerfile
elixir elm erl erlang ex exs fish fortran fs fsharp go golang gradle groovy haskell hs java
javascript jl js jsx julia kotlin ksh kt lisp log lua makefile matlab mjs ml nim nix objc ocaml
output pascal patch perl php pl powershell ps1 psql pwsh py py3 pycon python python3 pytb r rb rs
ruby rust sass scala scheme scss sh shell shell-session shellsession solidity sql stderr stdout
svelte swift terminal traceback ts tsx typescript vb vim vue zig zsh
"""
_CODE: Final = frozenset(_CODE_WORDS.split())
_FENCE_LINE: Final = re.compile(r"(?:`{3,}|~{3,})[ \t]*\{?\.?([\w+#-]*)")
_PROMPT: Final = re.compile(r"\s*(?:[$%❯➜]|>>>|[\w.-]{1,60}@[\w.:~/-]{1,99}[$#%])\s")
# What the lines of a quotation, a diff, a comment or a failed assertion begin with.
_MARK: Final = re.compile(r"(?:[>|│┃#*;%!+-]|//[/!]?|--|E(?=[ \t]|\Z))[ \t]*+")
_ONE_LINE_MARK: Final = re.compile(r"(?:>|//|│|E[ \t]|[+-](?=[<{]))")
_NUMBER: Final = re.compile(
    r"[ \t]*+(?:[\w./@-]{1,200}[:-])?\d{1,7}(?:[ \t]*+[:|→│]|-|[ \t])[ \t]*+"
)
_BLAME: Final = re.compile(r"\^?[0-9a-f]{7,40} [^\n]{0,200}?\d\) ")
# A line of a log or of several programs begins as the others do, but for its numbers.
_DIGITS: Final = re.compile(r"\d+")
_FEWEST_ALIKE: Final = 3
_ONE_LINE_NUMBER: Final = re.compile(
    r"[ \t]*+\d+[ \t]*[→│\t]|[ \t]*+[\w@-]*[./][\w./@-]*[:-]\d+[:-]"
)
_STRING: Final = re.compile(
    r"(?:[=(\[+]|\b(?:assert|echo|print|printf|return|yield))[ \t]*[rbfuRBFU]{0,2}"
    r"(?P<quote>\"\"\"|'''|\"|'|`)\\?\s*\Z|,\s*[rbfuRBFU]{0,2}(?P<long>\"\"\"|''')\\?\s*\Z"
)
_BEFORE_STRING: Final = ("'", '"', "`", "\\")
_YAML_WORDS: Final = frozenset({"yaml", "yml"})
_YAML_BLOCK: Final = re.compile(r":[ \t]*[|>][+-]?[ \t]*\n[ \t]+\Z")
_HEREDOC: Final = re.compile(r"<<[-~]?[ \t]*[\"']?(\w{1,40})[\"']?[^\n]{0,200}\n\s*\Z")
_SHOWING_TAG: Final = re.compile(
    r"<(?P<ends>/)?(?P<name>blockquote|documents?|examples?|file_contents?|file|function_results?"
    r"|function_response|quote|samples?|stderr|stdout|tool_outputs?|tool_results?|tool_response)"
    r"(?:\s[^<>]{0,500}(?<!/))?>",
    re.IGNORECASE,
)


def hide_unspoken(text: str, blocks: list[Block]) -> list[Block]:
    """Return `blocks`, which are in order, with a reason on those that the speaker does not say.

    These are drafts inside thinking (D-92) and material that the reply only shows (D-109). Of very
    many blocks, only the last ones are looked at for the latter. Linear.
    """
    blocks = hide_thoughts(text, blocks)
    first = len(text) - len(text.lstrip())
    places = _Places(text)
    for at in range(max(len(blocks) - _BLOCKS_LOOKED_AT, 0), len(blocks)):
        block = blocks[at]
        # Many a reply is its envelope and nothing else.
        if block.why is not None or block.start <= first:
            continue
        why = _marked(text, block) or _in_code(text, block, places) or places.tag_around(block)
        if why is not None:
            blocks = [*blocks[:at], replace(block, why=why), *blocks[at + 1 :]]

    return blocks


class _Places:
    """The fences and the tags for material of a text, found once and only where they matter."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._fences: Regions | None = None
        self._shown: Regions | None = None

    def in_fence(self, block: Block) -> bool:
        """Whether the block stands in a fence; one that is never closed hides nothing."""
        if self._fences is None:
            spans = fence_spans(self._text)
            self._fences = Regions([(at, end) for at, end, _ in spans if end < len(self._text)])
        return self._fences.hold(block.start, block.start + 1)

    def tag_around(self, block: Block) -> str | None:
        """Return the reason if the block stands in a tag for material, None otherwise."""
        if self._shown is None:
            if _SHOWING_TAG.search(self._text, 0, block.start) is None:
                return None
            self._shown = Regions(shown_spans(self._text))
        return SHOWN if self._shown.hold(block.start, block.end) else None


def shown_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges between a tag for material and its end tag."""
    still_open: list[tuple[str, int]] = []
    for tag in _SHOWING_TAG.finditer(text):
        name = tag["name"].lower()
        if not tag["ends"]:
            still_open.append((name, tag.end()))
            continue
        # What was opened inside and never closed was a mention.
        names = [each for each, _ in still_open[-_TAGS_LOOKED_AT:]]
        if name in names:
            del still_open[len(still_open) - names[::-1].index(name) :]
            yield still_open.pop()[1], tag.start()


def _marked(text: str, block: Block) -> str | None:
    """Return the reason if each line of the block begins with a mark or its number."""
    begin = text.rfind("\n", 0, block.start) + 1
    before = text[max(begin, block.start - _WINDOW) : block.start]
    if not before or before.isspace():
        return None

    lines = [line for line in text[begin : block.end].split("\n") if line.strip()]
    if _is_marks(before):
        if len(lines) == 1:
            return MARKED_LINES if _ONE_LINE_MARK.match(lines[0].lstrip()) else None
        return MARKED_LINES if _share_mark(lines, before.lstrip()[0]) else None
    if _NUMBER.fullmatch(before) is not None:
        pattern = _ONE_LINE_NUMBER if len(lines) == 1 else _NUMBER
        return NUMBERED_LINES if all(map(pattern.match, lines)) else None
    if len(lines) >= _FEWEST_ALIKE and _begin_alike(lines, before):
        return MARKED_LINES

    return None


def _begin_alike(lines: Sequence[str], before: str) -> bool:
    """Return whether each line begins as the first does, where `before` the envelope stands."""
    if _BLAME.fullmatch(before):
        return all(map(_BLAME.match, lines))
    alike = re.compile(r"\d+".join(map(re.escape, _DIGITS.split(before.rstrip()))))
    return all(map(alike.match, lines))


def _is_marks(before: str) -> bool:
    """Return whether nothing but marks stands in `before`, which is not blank."""
    rest = before.strip()
    while (found := _MARK.match(rest)) is not None:
        rest = rest[found.end() :]

    return not rest


def _share_mark(lines: Sequence[str], mark: str) -> bool:
    if mark not in "+-":
        return all(line.lstrip().startswith(mark) for line in lines)

    # A diff has lines that did not change, and the item of a list begins with the mark once.
    changed = sum(line.startswith(("+", "-")) for line in lines)
    return (
        changed * 2 > len(lines)
        and lines[-1].startswith(("+", "-"))
        and all(line.startswith(("+", "-", " ", "@", "\\")) for line in lines)
    )


def _in_code(text: str, block: Block, places: _Places) -> str | None:
    """Return the reason if the block is in a fence of code or a string, None otherwise."""
    before = text[max(0, block.start - _WINDOW) : block.start]
    after = text[block.end : block.end + _WINDOW].lstrip()
    # Most replies end here, with a letter or the sign of a fence before their envelope.
    last = before.rstrip()[-1:]
    string = _STRING.search(before) if last in _BEFORE_STRING else None
    if string is not None and after.startswith(string["quote"] or string["long"]):
        return CODE_STRING
    here = _HEREDOC.search(before) if "<<" in before else None
    if here is not None and after.startswith(here[1]):
        return CODE_STRING

    at = max(text.rfind("```", 0, block.start), text.rfind("~~~", 0, block.start))
    if at < 0:
        return None

    # The nearest fence decides cheaply; whether the block is really in it, few replies need.
    start = text.rfind("\n", 0, at) + 1
    line = _FENCE_LINE.match(text[start : block.start].lstrip())
    content = text.find("\n", at, block.start) + 1
    if line is None or not content:
        return None
    word = line[1].lower()
    if word in _YAML_WORDS and _YAML_BLOCK.search(before):
        return CODE_STRING if places.in_fence(block) else None
    if word not in _CODE and _PROMPT.match(text, content, block.start) is None:
        return None

    return CODE_FENCE if places.in_fence(block) else None
