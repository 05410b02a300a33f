"""Texts that cause as much work as their size allows, each aimed at one part of the reader."""

from collections.abc import Callable
from dataclasses import dataclass
from textwrap import indent
from typing import Final, Literal

from benchmarks.replies import ENVELOPE, REPLY

__all__ = ["ENVELOPES", "REPLIES", "HostileText"]

Mode = Literal["lenient", "strict"]

_FILE = '      <file path="src/a.ts" action="created">new</file>\n'
_PROSE = (
    "I moved the check into the middleware, since every route needs it; 3 tests cover it (see"
    " `auth.test.ts`).\n"
)
_FENCE = "```ts\nlet a = 1\n```\n"
_CYRILLIC = "Проверка перенесена в промежуточный слой, так как она нужна каждому маршруту.\n"
_SECTIONS = "## STATUS\nDONE\n## SUMMARY\nx\n## ARTIFACTS\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostileText:
    """A kind of text: `build` returns one of about so many bytes.

    `modes` are those worth a measurement.
    """

    name: str
    build: Callable[[int], str]
    modes: tuple[Mode, ...] = ("lenient",)


def _fill(unit: str, size: int) -> str:
    return unit * max(1, size // len(unit.encode()))


def _before(name: str, unit: str) -> HostileText:
    """Return `unit` again and again in front of a valid reply."""
    return HostileText(name=name, build=lambda size: f"{_fill(unit, size - len(REPLY))}\n{REPLY}")


def _after(name: str, unit: str) -> HostileText:
    """Return `unit` again and again after a valid reply, then a word."""
    return HostileText(name=name, build=lambda size: f"{REPLY}{_fill(unit, size - len(REPLY))}Done")


def _alone(name: str, unit: str, *, first: str = "", last: str = "") -> HostileText:
    """Return `unit` again and again without an envelope, so that older forms are searched."""
    return HostileText(
        name=name, build=lambda size: first + _fill(unit, size - len(first) - len(last)) + last
    )


def _in_extension(name: str, unit: str) -> HostileText:
    """Return `unit` again and again in one element that the protocol does not know."""
    return _within(name, "  <memory>", "<notes>", unit, "</notes>\n")


def _in_checks(name: str, unit: str, *modes: Mode) -> HostileText:
    """Return `unit` again and again in elements that hold text only, 4 kB each."""
    check = f'    <check name="log" passed="true">{_fill(unit, 4_000)}</check>\n'
    return _within(name, "  </verification>", "", check, "", *modes)


def _within(
    name: str, place: str, opening: str, unit: str, closing: str, *modes: Mode
) -> HostileText:
    """Return the example with `unit` again and again before its line `place`."""
    before, after = ENVELOPE.split(place)
    rest = len(ENVELOPE) + len(opening) + len(closing)

    def build(size: int) -> str:
        return f"{before}{opening}{_fill(unit, size - rest)}{closing}{place}{after}"

    return HostileText(name=name, build=build, modes=modes or ("lenient",))


def _in_files(name: str, unit: str, *modes: Mode) -> HostileText:
    """Return `unit` again and again in the list of files."""
    return _within(name, "    </files>", "", unit, "", *modes)


def _rising_backticks(size: int) -> str:
    """Return runs of 1, 2, 3 … backticks on one line, none of which closes another, then a tag."""
    longest = int((2 * size) ** 0.5)
    return " ".join("`" * length for length in range(1, longest)) + " <goop_report>"


def _long_name(size: int) -> str:
    """Return an element with a long name, small elements in it, blank lines and a wrong value."""
    before, after = ENVELOPE.replace('passed="true"', 'passed="yes"').split("  <memory>")
    name = "n" * (size // 16)
    children = _fill("<b/>", size // 8)
    rest = size - len(ENVELOPE) - len(children) - 2 * len(name)
    return f"{before}<{name}>{children}</{name}>" + _fill("\n", rest) + f"  <memory>{after}"


def _cut_off(size: int) -> str:
    return ENVELOPE.split("    </files>")[0] + _fill(_FILE, size - len(ENVELOPE)) + "      <file pa"


REPLIES: Final = (
    _before("prose before", _PROSE),
    _before("prose before, not ASCII", _CYRILLIC),
    _before("prose before, CRLF", _PROSE.replace("\n", "\r\n")),
    _after("prose after", _PROSE),
    _alone("prose, no envelope", _PROSE),
    _before("fences", _FENCE),
    HostileText(
        name="fences, then cut off",
        build=lambda size: _fill(_FENCE, size - len(REPLY)) + REPLY[:-60],
    ),
    _after("closing fences after", "```\n\n"),
    _after("blanks after", " "),
    _alone("<goop_report> never closed", "<goop_report>"),
    _alone("<goop_report> never closed, lines", '<goop_report version="0.1.6">\n'),
    _alone("<goop_report without >", "\n<goop_report "),
    _alone("</goop_report> never opened", "</goop_report>\n"),
    _alone("`<goop_report>` in code", "`<goop_report>` "),
    _alone("<response><status> never closed", "<response><status>", last="</response>"),
    _alone("words in a status never closed", "A ", first="<response><status>", last="</response>"),
    _alone("<report without >", "<report "),
    _before("<a", "<a"),
    _before("<<<<", "<"),
    _before("<a:b:", "<a:b:"),
    _alone("<!-- never closed", "<!--"),
    _before("<think>", "<think>"),
    _before("<think></think>", "<think></think>"),
    _before("</think>", "</think>"),
    _before("backticks, one run", "`"),
    _before("backticks, runs", "` `` "),
    HostileText(name="backticks, rising runs", build=_rising_backticks),
    _alone("candidates", f"{ENVELOPE}\n"),
    _alone("candidates, small", "<goop_report>\n<status>DONE</status></goop_report>\n"),
    _alone("escaped by a host", "&lt;a&gt;", last=REPLY.replace("<", "&lt;").replace(">", "&gt;")),
    _alone("indented by a host", f"    {_PROSE}", last=indent(REPLY, "    ")),
    _alone("{{{{", "{", first='"status" "summary"'),
    _alone('{"a":{"a":', '{"a":', first='{"status":"complete","summary":'),
    _alone("[[[[", "[", first='{"status":"complete","summary":', last="}"),
    _alone("JSON objects", '{"status": 1, "summary": 2}\n'),
    _alone('\\" in a string never closed', '\\"', first='{"status" "summary" "'),
    _alone("## STATUS headings", "## STATUS\n"),
    _alone("heading with blanks", " ", first="## STATUS", last="x"),
    _alone("blank lines in a section", "\n", first=f"{_SECTIONS}a", last="b"),
    _alone("blanks in a list item", " ", first=f"{_SECTIONS}- a", last="b"),
    _alone("blanks", " "),
    _alone("blank lines", "\n"),
    _before("<!DOCTYPE", "<!DOCTYPE a [ "),
)
"""Whole replies; a reply may have up to 2 MiB."""

ENVELOPES: Final = (
    _in_files("valid files", _FILE),
    _in_checks("text", _PROSE, "lenient"),
    _in_extension("one long element", _PROSE),
    _in_checks("& on each line", "a & b\n", "lenient", "strict"),
    _in_checks("& on one line", "a & b "),
    _in_checks("< on each line", "0123456789 < 0\n", "lenient", "strict"),
    _in_checks("< on one line", "0123456789 < 0 "),
    _in_checks("<T> on each line", "list of Map<T>\n"),
    _in_checks("HTML entities", "a&nbsp;b\n"),
    _in_checks("]]> on each line", "0123456789 ]]>\n"),
    _in_checks("control characters", "0123456789 \x07 \n"),
    _in_checks("<!-- never closed in a text", "<!--0123456789"),
    _in_checks("<![CDATA[ never closed in a text", "<![CDATA[012345"),
    _in_checks("<?x never closed in a text", "<?x0123456789"),
    _in_checks("</ without a name", "</ 0123456789 "),
    _in_checks("</x without >", "</x 0123456789 "),
    _in_files(
        "smart quotes",
        "      <file path=“src/a.ts” action=“created”>new</file>\n",
        "lenient",
        "strict",
    ),
    _in_files("smart quotes on one line", "<file path=“src/a.ts” action=“created”>new</file>"),
    _in_files("missing quotes", "      <file path=src/a.ts action=created>new</file>\n"),
    _in_files("& in attributes", '      <file path="src/a&b.ts" action="created">new</file>\n'),
    _in_files("tags in wrong case", '      <File Path="src/a.ts" action="created">new</File>\n'),
    _in_files("foreign elements", "      <widget>brand new</widget> <gadget>rather old</gadget>\n"),
    _in_files("wrong values", '      <file path="src/a.ts" action="renamed">new</file>\n'),
    _in_files(
        "nothing filled in", "      <file/>\n      <file/>\n      <!-- none of the others -->\n"
    ),
    _in_extension("many attributes", ' <n a="1" b="2" c="3" d="4" e="5" f="6" g="7">x</n>'),
    HostileText(name="long name, many children", build=_long_name),
    HostileText(name="cut off in a list", build=_cut_off),
)
"""Envelopes; one may have up to 512 KiB."""
