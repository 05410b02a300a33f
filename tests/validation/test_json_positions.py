import json

from hypothesis import given
from hypothesis import strategies as st

from goop_mcp.validation.json_positions import nearest_position
from goop_mcp.validation.json_repair import read_loosely

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 99) | st.text(alphabet='ab/~"\\{[ ,:', max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(alphabet='ab/~"', max_size=3), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(
    value=st.dictionaries(st.text(alphabet='ab/~"', max_size=3), VALUES),
    indent=st.sampled_from([None, 0, 2]),
)
def test_each_value_is_found_where_reading_the_whole_finds_it(
    value: dict[str, object], indent: int | None
) -> None:
    source = json.dumps(value, indent=indent) + " and more {"

    positions = read_loosely(source, depth=64).positions

    assert {pointer: nearest_position(source, pointer) for pointer in positions} == positions


def test_the_place_of_a_missing_value_is_that_of_what_should_hold_it() -> None:
    source = '{"a": [{"b": 1}, "c"], "d": {}, "e": "x"}'

    positions = {
        pointer: source[nearest_position(source, pointer) :][:5]
        for pointer in ("/a/0/z", "/a/2", "/a/x", "/d/z", "/z")
    }

    assert positions == {
        "/a/0/z": '{"b":',
        "/a/2": '[{"b"',
        "/a/x": '[{"b"',
        "/d/z": '{}, "',
        "/z": '{"a":',
    }
