"""Envelopes for comparing the schema with the engine: good ones, and variants with errors."""

from collections.abc import Callable, Iterator
from copy import deepcopy

from hypothesis import strategies as st
from lxml import etree

from goop_mcp.validation.samples import BLOCKED_REPLY, COMPLETE_REPLY

Element = etree._Element
Mutation = Callable[[Element, st.DrawFn], None]

MINIMAL = (
    "<goop_report><status>PARTIAL</status><agent>goop-tester</agent><state><phase>plan</phase></state><summary>Half"
    " done.</summary><handoff/></goop_report>"
)


def _envelope_of(reply: str) -> str:
    return reply[reply.index("<goop_report") : reply.index("</goop_report>")] + "</goop_report>"


FULL = _envelope_of(COMPLETE_REPLY).replace(
    "<suggest_new_session>false</suggest_new_session>",
    "<suggest_new_session>true</suggest_new_session><next_command>/goop-accept now</next_command>",
)
GOOD = (FULL, _envelope_of(BLOCKED_REPLY), MINIMAL)

# What is right in one place is wrong in another, so every value may come to stand anywhere.
VALUES = (
    *(
        "COMPLETE",
        "PARTIAL",
        "BLOCKED",
        "CHECKPOINT",
        "complete",
        "Blocked",
        "FAILED",
        "COMPLETE|PARTIAL",
    ),
    *(
        "plan",
        "specify",
        "execute",
        "accept",
        "research",
        "Plan",
        "discuss",
        "DISCUSS",
        "idle",
        "deploy",
    ),
    *("true", "false", "True", "FALSE", "1", "0", "yes", "true|false"),
    *(
        "created",
        "modified",
        "deleted",
        "Created",
        "renamed",
        "decision",
        "observation",
        "note",
        "NOTE",
        "idea",
    ),
    *(
        "goop-executor",
        "goop-orchestrator",
        "goop-baker",
        "memory-distiller",
        "orchestrator",
        "user",
        "goopspec",
    ),
    *(
        "Goop-Executor",
        "Goop-Baker",
        "Memory-Distiller",
        "Orchestrator",
        "executor",
        "bob",
        "goop-",
        "goop-a--b",
    ),
    *("goop-[type]", "goop-executor\n", "goop executor", "goop-mcp:goop-executor"),
    *("2", "007", "123456789", "1234567890", "-1", "+1", "1.5", "1e3", "two", "N", "Y", "1_0", "٣"),
    *(
        "/goop-plan",
        "/goop-plan all of it",
        "/goop-deploy",
        "/Goop-Plan",
        "goop-plan",
        "/goop-",
        "/goop-[command]",
    ),
    *(
        "/goop-plan\n  now",
        "/goop-plan {it}",
        "/goop-planned-",
        "W2.T3",
        "2.3",
        "W[wave].T[task]",
        "A|B",
        "[path]",
    ),
    *(
        "",
        " ",
        "\n\t ",
        "None",
        "n/a",
        "0.8",
        "8",
        "a && b < c",
        "src/<id>.py",
        "é…",
        "COM\u200bPLETE",
        "tr\u00a0ue",
    ),
)
ATTRIBUTES = (
    "version",
    "path",
    "action",
    "sha",
    "type",
    "importance",
    "name",
    "passed",
    "agent",
    "current",
    "total",
)


def parse(envelope: str) -> Element:
    return etree.fromstring(
        envelope.encode(), etree.XMLParser(resolve_entities=False, no_network=True)
    )


def write(root: Element) -> str:
    return etree.tostring(root, encoding="unicode", with_tail=False)


def copies(envelope: str) -> Iterator[tuple[Element, Element]]:
    """Yield, for each element, a fresh copy of the envelope and that element in it."""
    for number in range(sum(1 for _ in parse(envelope).iter())):
        root = parse(envelope)
        yield root, list(root.iter())[number]


def remove(element: Element) -> None:
    parent = element.getparent()
    if parent is not None:
        parent.remove(element)


def double(element: Element) -> None:
    parent = element.getparent()
    if parent is not None:
        parent.insert(parent.index(element), deepcopy(element))


def rename(element: Element, name: str) -> None:
    element.tag = name


# Mutations of a whole envelope
# --------------------------------------------------------------------------------------


def _any_element(root: Element, draw: st.DrawFn) -> Element:
    return draw(st.sampled_from(list(root.iter(etree.Element))))


def _with_content(root: Element) -> list[Element]:
    # What stands inside of a counter belongs to no element, and the engine ignores it.
    return [element for element in root.iter(etree.Element) if element.tag not in ("wave", "task")]


def _remove_one(root: Element, draw: st.DrawFn) -> None:
    remove(_any_element(root, draw))


def _double_one(root: Element, draw: st.DrawFn) -> None:
    double(_any_element(root, draw))


def _shuffle(root: Element, draw: st.DrawFn) -> None:
    for element in list(root.iter(etree.Element)):
        element[:] = draw(st.permutations(list(element)))


def _rename_one(root: Element, draw: st.DrawFn) -> None:
    element = _any_element(root, draw)
    names = [
        str(element.tag).upper(),
        str(element.tag).title(),
        "evidence",
        "hint-2",
        "{urn:other}status",
    ]
    rename(element, draw(st.sampled_from(names)))


def _move_one(root: Element, draw: st.DrawFn) -> None:
    element = _any_element(root, draw)
    places = [
        place for place in _with_content(root) if element not in (place, *place.iterancestors())
    ]
    if places and element.getparent() is not None:
        draw(st.sampled_from(places)).append(element)


def _other_text(root: Element, draw: st.DrawFn) -> None:
    draw(st.sampled_from(_with_content(root))).text = draw(VALUE)


def _add_one(root: Element, draw: st.DrawFn) -> None:
    element = etree.SubElement(
        draw(st.sampled_from(_with_content(root))),
        draw(st.sampled_from(["b", "evidence", "status", "file"])),
    )
    element.text = draw(VALUE)


def _stray_text(root: Element, draw: st.DrawFn) -> None:
    _any_element(root, draw).tail = draw(VALUE)


def _other_attribute(root: Element, draw: st.DrawFn) -> None:
    name = draw(st.sampled_from([*ATTRIBUTES, "note", "{urn:other}agent"]))
    _any_element(root, draw).set(name, draw(VALUE))


def _change_attribute(root: Element, draw: st.DrawFn) -> None:
    attributes = [
        (element, name) for element in root.iter(etree.Element) for name in element.attrib
    ]
    if attributes:
        element, name = draw(st.sampled_from(attributes))
        element.set(name, draw(VALUE))


def _remove_attribute(root: Element, draw: st.DrawFn) -> None:
    attributes = [
        (element, name) for element in root.iter(etree.Element) for name in element.attrib
    ]
    if attributes:
        element, name = draw(st.sampled_from(attributes))
        del element.attrib[name]


def _pad(root: Element, draw: st.DrawFn) -> None:
    element = _any_element(root, draw)
    if not len(element) and element.text:
        element.text = f"\n  {element.text}\t"


def _comment(root: Element, draw: st.DrawFn) -> None:
    _any_element(root, draw).append(etree.Comment(" done "))


_LETTERS = "abgop-/WT.12 |[]{}<>&\"'\n\u200b\u00adÄÉ…"
# Not invisible characters alone: as a task id the engine passes them over, and the schema does not.
VALUE = st.sampled_from(VALUES) | st.text(_LETTERS, max_size=8).filter(
    lambda text: not text or text.strip("\u200b\u00ad \n") != ""
)
MUTATIONS: tuple[Mutation, ...] = (
    _remove_one,
    _double_one,
    _shuffle,
    _rename_one,
    _move_one,
    _add_one,
    _other_text,
    _stray_text,
    _other_attribute,
    _change_attribute,
    _remove_attribute,
    _pad,
    _comment,
)


@st.composite
def envelopes(draw: st.DrawFn) -> str:
    """Draw a good envelope and up to four mutations of it; it stays well-formed."""
    root = parse(draw(st.sampled_from(GOOD)))
    for mutate in draw(st.lists(st.sampled_from(MUTATIONS), max_size=4)):
        mutate(root, draw)
    return write(root)
