"""The quick way to decode JSON decides as the thorough one does, or leaves the decision to it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goop_mcp.validation.safe_json import decode_object, decode_plain

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(
    st.dictionaries(st.text(), _VALUES, max_size=5), st.sampled_from([None, 1, "\t"]), st.booleans()
)
def test_what_is_read_quickly_is_what_is_read_thoroughly(
    values: dict[str, object], indent: int | str | None, escaped: bool
) -> None:
    text = json.dumps(values, indent=indent, ensure_ascii=escaped)

    quick = decode_plain(text)

    if quick is not None:
        assert (quick, len(text)) == decode_object(text, 0)
    else:
        # Some texts are left to the thorough way; those without escapes and long numbers are not.
        assert "\\" in text or not text.isascii() or any(map(str.isdigit, text))


@pytest.mark.parametrize(
    "text",
    [
        '{"status": "success", "status": "failure"}',
        '{"a": {"b": 1, "b": 1}}',
        '{"a": [{"": 1, "": 2}]}',
        '{"a": NaN}',
        '{"a": -Infinity}',
        '{"a": 1e999}',
        '{"a": ' + "9" * 41 + "}",
        '{"a": [-' + "1" * 41 + "]}",
        '{"a": "\ud800"}',
        '{"a": ' * 100_000,
        '{"a": ' * 100_000 + "1" + "}" * 100_000,
        '["a"]',
        '{"a": 1} {"b": 2}',
        "",
    ],
)
def test_what_the_thorough_way_refuses_is_never_read_quickly(text: str) -> None:
    assert decode_plain(text) is None


def test_a_number_of_forty_digits_is_read_exactly() -> None:
    assert decode_plain('{"a": ' + "7" * 40 + "}") == {"a": int("7" * 40)}
