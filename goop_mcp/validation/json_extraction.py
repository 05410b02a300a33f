"""Find the envelope of a JSON protocol in a reply: its candidates, and the one that counts (D-06).

Plain JSON is decoded directly. Only if an opening brace does not begin plain JSON is the text
scanned for balanced braces; objects that mention a key of the protocol are then read loosely. Both
take time linear to the length of the text.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from goop_mcp.validation.escaping import ZERO_WIDTH
from goop_mcp.validation.extraction import Block, Extraction
from goop_mcp.validation.fences import fence_spans
from goop_mcp.validation.hosts import HAND_BACK, unescape
from goop_mcp.validation.json_repair import Ending, JsonFailure, LooseObject, read_loosely
from goop_mcp.validation.json_strings import decoded_text
from goop_mcp.validation.limits import Limits
from goop_mcp.validation.positions import SourceText
from goop_mcp.validation.quotes import hide_unspoken
from goop_mcp.validation.safe_json import JsonObjectValue, decode_object, pair_braces

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
# A brace, the comments after it, and its first key. The atomic group (?>...) and the possessive
# `++` never give characters back, which keeps the match linear on a run of blanks or comments.
_OPENING = re.compile(
    rf"\{{(?>(?:\s|//[^\n]*\n|/\*[^*]*\*/)*)"
    rf"(?:{_QUOTE}(?P<key>[\w\-]*)(?P<closed>{_QUOTE})?|(?P<bare>\w++)\s*+:)?"
)
# Objects read per candidate listed, because not every object that mentions a key becomes one.
_OBJECTS_READ = 4
# An envelope is nested less deeply than this; earlier braces that stay open belong to prose.
_BRACES_LOOKED_AT = 512
_UNSEEN = ZERO_WIDTH.pattern[1:-1]
_UNCLEAN_KEY = re.compile(rf'"[^"\\\n{_UNSEEN}]*+[{_UNSEEN}][^"\\\n]*+"\s*+:')
_ENCODED = re.compile(r'"(?>(?:\\[nrt]|\s)*)\{(?>(?:\\[nrt]|\s)*)\\"')


class JsonShape:
    """What distinguishes the envelopes of a protocol from other objects.

    `name` is the key of a wrapper that is removed. `keys` are those an envelope may begin with.
    `rank` returns how much an object resembles an envelope: 0 is not at all, and only the last
    object of the highest rank counts. `parts` are keys of other objects that have a rank.
    """

    __slots__ = ("keys", "mention", "name", "parts", "rank")

    def __init__(
        self,
        *,
        name: str,
        keys: frozenset[str],
        rank: Callable[[Mapping[str, object]], int],
        parts: frozenset[str] = frozenset(),
    ) -> None:
        """Prepare the search for a key, between quotes or bare."""
        self.name, self.keys, self.rank, self.parts = name, keys, rank, parts
        names = "|".join(sorted(keys | parts | {name}))
        self.mention = re.compile(
            rf"{_QUOTE}(?:{names}){_QUOTE}|(?<=[{{,\s])(?:{names})(?=\s*+:)", re.IGNORECASE
        )


class JsonObject(Struct, kw_only=True):
    """An object in a text, from offset `start` to `end`.

    A cut-off object extends to the end of its fence or of the text. `value` is None if it could not
    be read. `loose` is None for plain JSON, else it lists the repairs or the reason for the
    failure. `encoded` marks an object that was written as a JSON string.
    """

    start: int
    end: int
    value: JsonObjectValue | None
    loose: LooseObject | None = None
    encoded: bool = False

    @property
    def complete(self) -> bool:
        """Whether its closing brace is present."""
        return self.loose is None or self.loose.ending is Ending.WHOLE


class JsonBlock(Block, kw_only=True):
    """A block together with the object that was read from it, so that nothing is read twice."""

    object: JsonObject


def extract_json(
    source: SourceText, find_blocks: Callable[[SourceText], list[Block]], limits: Limits
) -> Extraction:
    """Return every envelope that `find_blocks` finds in `source`, and the one that counts.

    If there is none, a text that a host had XML-escaped is unescaped once and searched again
    (D-09), and so is an object that was written as a JSON string (D-17).
    """
    text = source.read
    blocks = find_blocks(source)
    chosen = choose_last(blocks)
    transformed = chosen is not None and chosen.start > 0 and HAND_BACK in text[: chosen.start]
    if chosen is None and "{" in text and source.read is source.given:
        # One level of escaping is undone, whoever added it: a host, or the agent as a string.
        encoded = _ENCODED.search(text) if "\\" in text and '\\"' in text else None
        escaped = "&" in text and "&quot;" in text
        for by_host in (True, False):
            if by_host and escaped:
                decoded = unescape(text)
            elif not by_host and encoded is not None:
                decoded = decoded_text(text, encoded.start())
            else:
                continue

            found = find_blocks(decoded)
            if choose_last(found) is None:
                continue

            source, transformed, blocks = decoded, by_host, found
            if not by_host:
                blocks = [
                    replace(block, object=replace(block.object, encoded=True))
                    if isinstance(block, JsonBlock)
                    else block
                    for block in found
                ]

            chosen = choose_last(blocks)
            break

    return Extraction(
        source=source,
        blocks=tuple(blocks[-limits.candidates :]),
        chosen=chosen,
        host_transformed=transformed,
    )


def choose_last(blocks: Sequence[Block]) -> Block | None:
    """Return the last block that may be chosen, None if there is none."""
    for block in reversed(blocks):
        if block.why is None:
            return block

    return None


def rank_blocks(text: str, objects: Iterable[JsonObject], shape: JsonShape) -> list[Block]:
    """Return the `objects` that resemble an envelope of `shape` most.

    Those inside thinking carry the reason why they do not count.
    """
    blocks: list[Block] = []
    highest = 0
    for found in objects:
        value = found.value
        if value is not None and len(value) == 1:
            value = unwrapped(value, shape.name)

        rank = shape.rank(value) if value else 0
        readable = found.loose is None or (found.complete and found.loose.failure is None)
        # The values of an object that cannot be read to its end may lack the decisive keys, which
        # would leave an older envelope as the winner. Its first key decides instead.
        if not readable and _opens(text, found.start, shape):
            rank = max(rank, shape.rank(dict.fromkeys(shape.keys)))

        if not rank or rank < highest or _is_mention(text, found):
            continue
        if rank > highest:
            highest = rank
            blocks = []

        blocks.append(
            JsonBlock(
                root=shape.name,
                start=found.start,
                end=found.end,
                complete=found.complete,
                object=found,
            )
        )

    return hide_unspoken(text, blocks)


def unwrapped(value: JsonObjectValue, name: str) -> JsonObjectValue:
    """Return the inner object if the protocol's name is the only key of `value`, else `value`."""
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
    """Return the outermost objects of `source`, and one cut off if it begins with a key of `shape`.

    Objects without a key of `shape` may be left out.
    """
    # The fast path: one run of the C decoder over the whole text. It decodes a key that holds a
    # zero-width character as another key, which only the loose reader repairs.
    plain = source.plain_objects
    if plain is None or _holds_unclean_key(source.read):
        return list(_scanned(source.read, shape, limits))
    return [JsonObject(start=start, end=end, value=value) for start, end, value in plain]


def _holds_unclean_key(text: str) -> bool:
    """Return whether a key contains a zero-width character."""
    return not text.isascii() and _UNCLEAN_KEY.search(text) is not None


def _scanned(text: str, shape: JsonShape, limits: Limits) -> Iterator[JsonObject]:
    """Yield the balanced objects that mention a key of `shape`, and a cut-off one.

    Linear: balanced objects do not overlap, each is read once, and at most one cut-off object is
    read to the end.
    """
    braces = pair_braces(text)
    cut = _cut_off_start(text, braces.unclosed, shape)
    last = -1

    # A dict in place of a set: the order is that of the text, and the last objects are the ones
    # read.
    objects: dict[tuple[int, int] | None, None] = {}
    # Searched from the first object to the end of the last: prose around them mentions keys as
    # well.
    if braces.starts:
        mentions = shape.mention.finditer(text, braces.starts[0], braces.ends[-1])
        objects = dict.fromkeys(braces.around(*mention.span()) for mention in mentions)

    for start, end in [each for each in objects if each][-_OBJECTS_READ * limits.candidates :]:
        if start < last:
            continue
        # A balanced object after an unclosed brace is part of the cut-off envelope if it is the
        # value of one of its members; otherwise it is an envelope that follows it.
        if cut is not None and start > cut and _is_nested(text, start):
            continue

        found = _read(text, start, end, limits)
        last = found.end
        yield found

    if cut is not None and cut >= last:
        end = next((stop for begin, stop, _ in fence_spans(text) if begin <= cut < stop), len(text))
        loose = read_loosely(text[cut:end], depth=limits.depth)
        if loose.ending is Ending.WHOLE and loose.failure is None:
            end = cut + loose.end
        elif loose.failure is not None and not loose.failure.too_deep:
            # The missing end is the cause; what the reader stumbled over there would mislead.
            loose.ending, loose.failure = Ending.CUT_OFF, None

        yield JsonObject(start=cut, end=end, value=loose.value, loose=loose)


def _read(text: str, start: int, end: int, limits: Limits) -> JsonObject:
    # A copy, because the decoder counts lines from the start of its argument when it fails: with
    # the whole text, many objects that fail would take quadratic time.
    source = text[start:end]
    decoded = decode_object(source, 0)
    if decoded is not None and not _holds_unclean_key(source):
        return JsonObject(start=start, end=start + decoded[1], value=decoded[0])

    loose = read_loosely(source, depth=limits.depth)
    whole = loose.failure is None and loose.ending is Ending.WHOLE
    if loose.failure is None and not whole:
        loose.failure = JsonFailure(
            loose.end, "a text or a comment is never closed; expected its end"
        )

    # The braces balance, so nothing was cut off: what the reader stumbled over is an error inside.
    loose.ending = Ending.WHOLE

    return JsonObject(
        start=start, end=start + loose.end if whole else end, value=loose.value, loose=loose
    )


# Cut-off objects (D-16)


def _cut_off_start(text: str, unclosed: Sequence[int], shape: JsonShape) -> int | None:
    """Return where the last envelope begins that is never closed, None if there is none."""
    likely = [
        start
        for start in unclosed[-_BRACES_LOOKED_AT:]
        if _opens(text, start, shape)
        # A single backtick before the brace is inline code, three are the end of a fence line.
        and (text[max(start - 1, 0) : start] != "`" or text[max(start - 3, 0) : start] == "```")
    ]
    # Inner braces of a cut-off envelope are unclosed as well, so the outermost brace of the last
    # chain of nested ones is its start.
    for index in range(len(likely) - 1, -1, -1):
        if index == 0 or not _is_nested(text, likely[index]):
            return likely[index]

    return None


def _is_nested(text: str, start: int) -> bool:
    """Return whether the brace at `start` begins a value inside another object."""
    at = start
    while at > 0 and text[at - 1].isspace():
        at -= 1

    if text[max(at - 1, 0) : at] not in (":", "[", ","):
        return False

    # The colon of a marker such as `AGENT_CONTEXT:` is not that of a key.
    return re.search(r"_CONTEXT\W{1,80}\Z", text[max(start - 100, 0) : start]) is None


def _opens(text: str, start: int, shape: JsonShape) -> bool:
    """Return whether a key of `shape` follows the brace at `start`.

    At the end of the text the beginning of a key is enough.
    """
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
