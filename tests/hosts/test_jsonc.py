"""JSON with comments: what is edited, and that nothing else is."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goop_mcp.hosts.jsonc import (
    Document,
    append_element,
    parse,
    remove_element,
    remove_member,
    set_member,
)
from goop_mcp.validation.safe_json import JsonValue
from goop_mcp.workspace.json_text import JsonDefect
from tests.hosts.configurations import CONFIGURATIONS

TEXTS = [text for _, path, text in CONFIGURATIONS.values() if not path.endswith(".md")]
GAPS = st.sampled_from(
    ["", " ", "\n", "\n\t", "\r\n  ", " // {[\n", '/* ", } */', "\n  // a\n  /* b\n */ "]
)
KEYS = st.sampled_from(["a", "b", "//", "/*", '"', "}", "ü"])


def read(text: str) -> Document:
    document = parse(text)
    assert isinstance(document, Document)
    return document


@st.composite
def texts(draw: st.DrawFn, depth: int = 3) -> str:
    """Draw an object, with comments and blanks at every place where they may stand."""
    return draw(GAPS) + draw(values(depth, only_object=True)) + draw(GAPS)


@st.composite
def values(draw: st.DrawFn, depth: int, *, only_object: bool = False) -> str:
    kind = draw(st.sampled_from(["object"] if only_object else ["scalar", "object", "list"]))
    if kind == "scalar" or depth == 0:
        return (
            "{}"
            if only_object
            else json.dumps(draw(st.sampled_from([1, None, "x // y", "/* ,} */", True])))
        )

    keys = draw(st.lists(KEYS, max_size=3, unique=True))
    entries = []
    for key in keys:
        name = f"{json.dumps(key)}{draw(GAPS)}:{draw(GAPS)}" if kind == "object" else ""
        entries.append(f"{draw(GAPS)}{name}{draw(values(depth - 1))}{draw(GAPS)}")

    inside = ",".join(entries) + (
        draw(st.sampled_from(["", "," + draw(GAPS)])) if entries else draw(GAPS)
    )

    return f"{{{inside}}}" if kind == "object" else f"[{inside}]"


@pytest.mark.parametrize("text", TEXTS)
def test_a_member_that_is_added_and_removed_leaves_the_text_as_it_was(text: str) -> None:
    keys = ("model",) if "model" not in read(text).value else ("other",)
    before = set_member(read(text), keys, 1)
    after = remove_member(set_member(before, ("goop",), {"a": [1, {"b": None}]}), ("goop",))
    assert after.text == before.text


@given(texts())
def test_what_is_set_is_there_and_all_else_is_as_before(text: str) -> None:
    document = read(text)
    entry: JsonValue = {"command": "x", "args": ["y"]}
    changed = set_member(document, ("new",), entry)
    assert changed.value == {**document.value, "new": entry}
    assert remove_member(changed, ("new",)).value == document.value


@given(texts())
def test_no_comment_is_lost(text: str) -> None:
    document = read(text)
    changed = remove_member(set_member(document, ("new",), [1]), ("new",))
    assert "".join(changed.text.split()).count("//") == "".join(document.text.split()).count("//")
    assert changed.text.count("/*") == document.text.count("/*")


@given(texts(), KEYS)
def test_a_member_in_the_middle_can_be_removed(text: str, key: str) -> None:
    document = read(text)
    if key in document.value:
        left = remove_member(document, (key,))
        assert left.value == {name: value for name, value in document.value.items() if name != key}


@given(texts())
def test_elements_are_added_and_removed_at_their_place(text: str) -> None:
    document = set_member(read(text), ("list",), [])
    for value in ("one", {"two": 2}, 3):
        document = append_element(document, ("list",), value)
    assert document.get(("list",)) == ["one", {"two": 2}, 3]
    assert remove_element(document, ("list",), 1).get(("list",)) == ["one", 3]


def test_an_entry_follows_the_layout_of_its_neighbours() -> None:
    text = '{\n\t"a": {\n\t\t"x": 1, // why\n\t},\n}\n'
    assert (
        set_member(read(text), ("a", "y"), {"z": [2]}).text
        == '{\n\t"a": {\n\t\t"x": 1, // why\n\t\t"y": {\n\t\t\t"z":'
        " [\n\t\t\t\t2\n\t\t\t]\n\t\t},\n\t},\n}\n"
    )


def test_a_value_is_replaced_where_it_is() -> None:
    assert (
        set_member(read('{"a": 1 /* x */, "b": 2}'), ("a",), 3).text == '{"a": 3 /* x */, "b": 2}'
    )


def test_brackets_in_strings_are_not_nesting() -> None:
    text = json.dumps({"history": ["what is {[ and (["] * 200})
    assert set_member(read(text), ("a",), 1).get(("a",)) == 1


def test_an_object_that_nests_too_deeply_is_refused() -> None:
    for brackets in ("[" * 200 + "]" * 200, "[" * 100_000):
        refused = parse(f'{{"a": {brackets}}}')
        assert isinstance(refused, JsonDefect)
        assert "deeper" in refused.message


@pytest.mark.parametrize("keys", [("a", "b"), ("a", "b", "c")])
def test_nothing_is_added_to_a_value_that_is_not_an_object(keys: tuple[str, ...]) -> None:
    with pytest.raises(TypeError, match=r"^a$"):
        set_member(read('{"a": [1]}'), keys, 1)


def test_what_is_not_there_cannot_be_removed() -> None:
    with pytest.raises(KeyError):
        remove_member(read('{"a": 1}'), ("b",))
    with pytest.raises(KeyError):
        remove_element(read('{"a": [1]}'), ("a",), 1)


@pytest.mark.parametrize(
    ("text", "keys", "place"),
    [
        ('{\n  // x\n  "a": {\n    "b": 1\n  }\n}', ("a", "b"), (4, 10)),
        ('{\n  // x\n  "a": {\n    "b": 1\n  }\n}', ("a", "c"), (3, 8)),
        ('{"a": 1}', ("x", "y"), (1, 1)),
    ],
)
def test_a_position_is_that_of_the_value_or_of_its_nearest_parent(
    text: str, keys: tuple[str, ...], place: tuple[int, int]
) -> None:
    assert read(text).place(keys) == place
