"""Find the envelope of a JSON protocol in a reply: every object with its keys, and which of them counts (D-06).

Plain JSON is decoded on the spot. Only where an opening brace begins no plain JSON the text is scanned for balanced
braces, and what holds one of the protocol's keys is read loosely. Both are linear.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from goop_mcp.validation.escaping import ZERO_WIDTH
from goop_mcp.validation.extraction import Block, Extraction
from goop_mcp.validation.fences import fence_spans
from goop_mcp.validation.hosts import HAND_BACK, unescape
from goop_mcp.validation.json_repair import Ending, Fault, LooseObject, read_loosely
from goop_mcp.validation.json_strings import decoded_text
from goop_mcp.validation.limits import Limits
from goop_mcp.validation.positions import SourceText
from goop_mcp.validation.safe_json import Braces, JsonObjectValue, decode_object, pair_braces
from goop_mcp.validation.thoughts import hide_thoughts

__all__ = [
    "JsonBlock",
    "JsonObject",
    "JsonShape",
    "choose_last",
    "extract_json",
    "find_objects",
    "rank_blocks",
    "unwrapped",
]

_QUOTE = "[\"'“”„‘’]"
_OPENING = re.compile(
    rf"\{{(?>(?:\s|//[^\n]*\n|/\*[^*]*\*/)*)(?:{_QUOTE}(?P<key>[\w\-]*)(?P<closed>{_QUOTE})?|(?P<bare>\w++)\s*+:)?"
)
_OBJECTS_READ = (
    4  # for each candidate that is listed: not every object that holds a key becomes one
)
_BRACES_LOOKED_AT = 512  # an envelope is nested less deeply; what is open before them is prose
_UNSEEN = ZERO_WIDTH.pattern[1:-1]
_UNCLEAN_KEY = re.compile(rf'"[^"\\\n{_UNSEEN}]*+[{_UNSEEN}][^"\\\n]*+"\s*+:')
_ENCODED = re.compile(r'"(?>(?:\\[nrt]|\s)*)\{(?>(?:\\[nrt]|\s)*)\\"')


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonShape:
    """What tells the envelopes of a protocol from other objects.

    `name` is the key of a wrapper that is taken off. `keys` are those an envelope may begin with.
    `rank` says how much an object looks like one: 0 is none at all, and only the last of the
    highest rank counts. `parts` are keys of other objects that have a rank.
    """

    name: str
    keys: frozenset[str]
    rank: Callable[[Mapping[str, object]], int]
    parts: frozenset[str] = frozenset()
    mention: re.Pattern[str] = field(init=False)

    def __post_init__(self) -> None:
        """Prepare the search for a key, between quotes or bare."""
        names = "|".join(sorted(self.keys | self.parts | {self.name}))
        object.__setattr__(
            self,
            "mention",
            re.compile(
                rf"{_QUOTE}(?:{names}){_QUOTE}|(?<=[{{,\s])(?:{names})(?=\s*+:)", re.IGNORECASE
            ),
        )


@dataclass(slots=True, kw_only=True)
class JsonObject:
    """An object in a text, at offsets from `start` to `end`; a cut-off one reaches to the end of its fence or text.

    `value` is None when it could not be read. `loose` is None for plain JSON, else what was mended or what is wrong.
    `encoded`: it was written as a JSON text, not as an object.
    """

    start: int
    end: int
    value: JsonObjectValue | None
    loose: LooseObject | None = None
    encoded: bool = False

    @property
    def complete(self) -> bool:
        """Whether its last brace is there."""
        return self.loose is None or self.loose.ending is Ending.WHOLE


@dataclass(slots=True, kw_only=True)
class JsonBlock(Block):
    """A block together with the object that was read from it, so that nothing is read twice."""

    object: JsonObject


def extract_json(
    source: SourceText, find_blocks: Callable[[SourceText], list[Block]], limits: Limits
) -> Extraction:
    """Return every envelope that `find_blocks` sees in `source`, and the one that counts.

    When there is none, a text that a host had XML-escaped is unescaped once and read again (D-09),
    and so is an object that was written as a JSON text (D-17).
    """
    text = source.read
    blocks = find_blocks(source)
    chosen = choose_last(blocks)
    transformed = chosen is not None and HAND_BACK in text[: chosen.start]
    if chosen is None and "{" in text and source.read is source.given:
        for unwrap, by_host in ((_unescaped, True), (_decoded, False)):
            unwrapped_source = unwrap(text)
            found = find_blocks(unwrapped_source) if unwrapped_source is not None else []
            if unwrapped_source is not None and (chosen := choose_last(found)) is not None:
                source, transformed = unwrapped_source, by_host
                blocks = found if by_host else [_marked_as_encoded(block) for block in found]
                chosen = choose_last(blocks)
                break

    return Extraction(
        source=source,
        blocks=tuple(blocks[-limits.candidates :]),
        chosen=chosen,
        host_transformed=transformed,
    )


def _marked_as_encoded(block: Block) -> Block:
    return (
        replace(block, object=replace(block.object, encoded=True))
        if isinstance(block, JsonBlock)
        else block
    )


def _unescaped(text: str) -> SourceText | None:
    return unescape(text) if "&quot;" in text else None


def _decoded(text: str) -> SourceText | None:
    """Return `text` with the JSON text that holds an object in the place of which the object itself stands."""
    if '\\"' not in text:
        return None

    encoded = _ENCODED.search(text)
    return None if encoded is None else decoded_text(text, encoded.start())


def choose_last(blocks: Iterable[Block]) -> Block | None:
    """Return the last block that may be chosen, None when there is none."""
    return next((block for block in reversed(list(blocks)) if block.why is None), None)


def rank_blocks(text: str, objects: Iterable[JsonObject], shape: JsonShape) -> list[Block]:
    """Return those of `objects` that look most like an envelope of `shape`, with a reason on those only thought."""
    ranked = [(_rank(text, found, shape), found) for found in objects]
    ranked = [(rank, found) for rank, found in ranked if rank and not _is_mention(text, found)]
    highest = max((rank for rank, _ in ranked), default=0)
    blocks: list[Block] = [
        JsonBlock(
            root=shape.name, start=found.start, end=found.end, complete=found.complete, object=found
        )
        for rank, found in ranked
        if rank == highest
    ]

    return hide_thoughts(text, blocks)


def _rank(text: str, found: JsonObject, shape: JsonShape) -> int:
    value = found.value
    if value is not None and len(value) == 1:
        value = unwrapped(value, shape.name)

    rank = shape.rank(value) if value else 0
    readable = found.loose is None or (found.complete and found.loose.fault is None)
    # Of an object that cannot be read to its end the first key has to tell.
    if readable or not _opens(text, found.start, shape):
        return rank
    return max(rank, shape.rank(dict.fromkeys(shape.keys)))


def unwrapped(value: JsonObjectValue, name: str) -> JsonObjectValue:
    """Return what is in `value` when the protocol's name is its only key, else `value`."""
    if len(value) != 1:
        return value
    ((key, inner),) = value.items()
    return inner if key.lower() == name and isinstance(inner, dict) else value


def _is_mention(text: str, found: JsonObject) -> bool:
    """Return whether the object is inline code in a sentence (D-04)."""
    if found.start == 0 or text[found.start - 1] != "`" or not text.startswith("`", found.end):
        return False

    line_start = text.rfind("\n", 0, found.start) + 1
    line_end = text.find("\n", found.end)
    around = (
        text[line_start : found.start] + text[found.end : line_end if line_end >= 0 else len(text)]
    )

    return "\n" not in text[found.start : found.end] and around.strip("` \t\r.") != ""


# Objects


def find_objects(source: SourceText, shape: JsonShape, limits: Limits) -> list[JsonObject]:
    """Return the objects of `source` that lie in no other one; a cut-off one counts where `shape` has its key.

    Objects without a key of `shape` may be left out.
    """
    plain = source.plain_objects
    if plain is None or _holds_unclean_key(source.read):
        return list(_scanned(source.read, shape, limits))
    return [JsonObject(start=start, end=end, value=value) for start, end, value in plain]


def _holds_unclean_key(text: str) -> bool:
    """Return whether a character without width stands in a key."""
    return not text.isascii() and _UNCLEAN_KEY.search(text) is not None


def _scanned(text: str, shape: JsonShape, limits: Limits) -> Iterator[JsonObject]:
    braces = pair_braces(text)
    cut = _cut_off_start(text, braces.unclosed, shape)
    last = -1

    for start, end in _telling(text, braces, shape)[-_OBJECTS_READ * limits.candidates :]:
        if start < last:
            continue
        if cut is not None and start > cut and _is_nested(text, start):
            continue

        found = _read(text, start, end, limits)
        last = found.end
        yield found

    if cut is not None and cut >= last:
        end = _end_of_cut_off(text, cut)
        loose = read_loosely(text[cut:end], depth=limits.depth)
        if loose.ending is Ending.WHOLE and loose.fault is None:
            end = cut + loose.end
        elif loose.fault is not None and not loose.fault.too_deep:
            loose.ending, loose.fault = Ending.CUT_OFF, None

        yield JsonObject(start=cut, end=end, value=loose.value, loose=loose)


def _telling(text: str, braces: Braces, shape: JsonShape) -> list[tuple[int, int]]:
    """Return start and end of the objects that mention a key of `shape`, in order."""
    if not braces.starts:
        return []

    mentions = shape.mention.finditer(text, braces.starts[0], braces.ends[-1])
    objects = (braces.around(*mention.span()) for mention in mentions)
    return list(dict.fromkeys(filter(None, objects)))


def _read(text: str, start: int, end: int, limits: Limits) -> JsonObject:
    source = text[start:end]  # the decoder counts lines from the beginning of what it is given
    decoded = decode_object(source, 0)
    if decoded is not None and not _holds_unclean_key(source):
        return JsonObject(start=start, end=start + decoded[1], value=decoded[0])

    loose = read_loosely(source, depth=limits.depth)
    whole = loose.fault is None and loose.ending is Ending.WHOLE
    if loose.fault is None and not whole:
        loose.fault = Fault(loose.end, "a text or a comment is never closed; expected its end")

    loose.ending = Ending.WHOLE

    return JsonObject(
        start=start, end=start + loose.end if whole else end, value=loose.value, loose=loose
    )


# Cut-off objects (D-16)


def _cut_off_start(text: str, unclosed: Sequence[int], shape: JsonShape) -> int | None:
    """Return where the last envelope begins that is never closed, None when no such brace begins one."""
    likely = [
        start
        for start in unclosed[-_BRACES_LOOKED_AT:]
        if _opens(text, start, shape) and not _in_inline_code(text, start)
    ]
    for index in range(len(likely) - 1, -1, -1):
        if index == 0 or not _is_nested(text, likely[index]):
            return likely[index]

    return None


def _is_nested(text: str, start: int) -> bool:
    """Return whether the brace at `start` begins a value inside of another object."""
    at = start
    while at > 0 and text[at - 1].isspace():
        at -= 1
    return text[max(at - 1, 0) : at] in (":", "[", ",") and not _after_marker(text, start)


def _opens(text: str, start: int, shape: JsonShape) -> bool:
    """Return whether a key of `shape` follows the brace at `start`, as far as the text goes."""
    opening = _OPENING.match(text, start)
    if opening is None:
        return False

    known = shape.keys | {shape.name}
    if opening["bare"]:
        return opening["bare"].lower() in known

    key = (opening["key"] or "").lower()
    if opening.end() == len(text) and not opening["closed"]:
        return any(name.startswith(key) for name in known)
    return opening["closed"] is not None and key in known


def _after_marker(text: str, start: int) -> bool:
    """Return whether a name in capitals and a colon stand before `start`, as before the contexts of an agent."""
    return re.search(r"_CONTEXT\W{1,80}\Z", text[max(start - 100, 0) : start]) is not None


def _in_inline_code(text: str, start: int) -> bool:
    return text[max(start - 1, 0) : start] == "`" and text[max(start - 3, 0) : start] != "```"


def _end_of_cut_off(text: str, start: int) -> int:
    for fence in fence_spans(text):
        if fence[0] <= start < fence[1]:
            return fence[1]
    return len(text)
