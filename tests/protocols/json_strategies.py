"""Texts for property tests: replies, what slips make of them, and heaps of pieces."""

from collections.abc import Callable

from hypothesis import strategies as st

from goop_mcp.validation.escaping import ZERO_WIDTH
from tests.protocols.json_replies import FAMILIES, load_cases


def keys(max_size: int) -> st.SearchStrategy[str]:
    """Return keys of objects that are read unchanged.

    An invisible character in a key of ASCII is a typing error that the reader removes, whether it
    is written as it is or as an escape. A writer cannot preserve it, and nobody means it.
    """
    return st.text(max_size=max_size).filter(
        lambda key: not (clean := ZERO_WIDTH.sub("", key)) or clean == key or not clean.isascii()
    )


WHOLE = {
    protocol: [
        case.text
        for case in load_cases(protocol)
        if case.expected["strict"] != "errors" and case.file.endswith((".json", ".txt"))
    ]
    for protocol in FAMILIES
}
CASES = {protocol: [case.text for case in load_cases(protocol)] for protocol in FAMILIES}

_PIECES = (
    *(
        "{",
        "}",
        "[",
        "]",
        '"',
        "'",
        "“",
        "”",
        ":",
        ",",
        "...",
        "//",
        "/*",
        "*/",
        "\\",
        "\n",
        " ",
        "#",
    ),
    *(
        '"agent"',
        '"status"',
        '"result"',
        '"error"',
        '"success"',
        "success",
        '"plan"',
        '"summary"',
        '"deliverables"',
    ),
    *(
        "true",
        "True",
        "null",
        "NaN",
        "12",
        "-1",
        "1e999",
        "9" * 50,
        '"\\ud800"',
        "\ud800",
        '{"a": 1}',
        "{}",
    ),
    *(
        "WORKFLOW_CONTEXT:\n",
        "FEEDBACK_CONTEXT:",
        "USER_REQUEST: ",
        "Task complete.\n",
        "Deliverables:\n- ",
    ),
    *(
        "Task paused - clarification needed.\n",
        "Questions:\n1. ",
        "Review complete - PASS\n",
        "<think>",
        "</think>",
    ),
    *(
        "```json\n",
        "\n```\n",
        "`",
        "{{",
        '{"factory": ',
        '"{\\"status\\": ',
        "&quot;",
        "\u200b",
        "\ufeff",
        "prose ",
    ),
)
PIECES = st.lists(st.sampled_from(_PIECES), max_size=30).map("".join)
PROSE = st.text(st.characters(exclude_characters='{}"`<&'), max_size=60)


@st.composite
def spoiled(draw: st.DrawFn, protocol: str) -> str:
    """Draw a case with up to three stretches cut out, doubled or replaced by pieces."""
    text = draw(st.sampled_from(CASES[protocol]))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 40)))
        text = text[:start] + draw(st.sampled_from(["", text[start:end] * 2]) | PIECES) + text[end:]

    return text


def any_text(protocol: str) -> st.SearchStrategy[str]:
    """Draw any text, most of them near to a reply of `protocol`."""
    return st.one_of(spoiled(protocol), PIECES, st.sampled_from(CASES[protocol]), st.text())


_SLIPS: dict[str, Callable[[str], str]] = {
    "trailing comma": lambda text: text.replace("\n}", ",\n}"),
    "comment": lambda text: text.replace(",\n", ", // note } \n", 1),
    "ellipsis": lambda text: text.replace("\n}", "\n  ...\n}"),
    "typographic": lambda text: text.replace('"status"', "“status”", 1),
    "single": lambda text: text.replace('"status"', "'status'", 1),
    "case": lambda text: text.replace('"success"', '"Success"', 1),
    "python": lambda text: text.replace("true", "True").replace("null", "None"),
}


@st.composite
def slipped(draw: st.DrawFn, protocol: str) -> str:
    """Draw a whole reply with some slips of form."""
    text: str = draw(
        st.sampled_from([each for each in WHOLE[protocol] if each.lstrip().startswith("{")])
    )
    for name in draw(st.lists(st.sampled_from(sorted(_SLIPS)), max_size=4, unique=True)):
        text = _SLIPS[name](text)

    return text
