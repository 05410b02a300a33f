"""The core principles stand in boxes 66 wide; messages never do."""

import re

from hypothesis import given
from hypothesis import strategies as st

from goop_mcp.messages.boxes import BOX_WIDTH, PRINCIPLES, principle_box, principles
from tests.requirements import requirement

SEED = """\
+================================================================+
|  SUBAGENTS ARE MEMORY-FIRST.                                   |
|  Search before starting. Save during work. Persist after.      |
|  Decisions and learnings flow through memory.                  |
+================================================================+

+================================================================+
|  SUBAGENTS USE XML RESPONSE ENVELOPES.                         |
|  Every response ends with a <goop_report> XML block.           |
|  See references/xml-response-schema.md for full format.        |
+================================================================+

+================================================================+
|  SUBAGENTS LOAD PROJECT CONTEXT.                               |
|  Read PROJECT_KNOWLEDGE_BASE.md for conventions.               |
|  Align work with spec must-haves.                              |
+================================================================+"""


@requirement("P-04")
def test_the_principles_are_written_as_the_protocol_has_them() -> None:
    assert principles() == SEED
    assert len(PRINCIPLES) == 3


@requirement("P-04")
@given(st.lists(st.from_regex(r"\A[ -~]{0,150}\Z"), min_size=1, max_size=4))
def test_every_line_of_a_box_is_66_wide_and_no_word_is_lost(texts: list[str]) -> None:
    box = principle_box(*texts)
    lines = box.split("\n")

    assert {len(line) for line in lines} == {BOX_WIDTH} == {66}
    assert lines[0] == lines[-1] == f"+{'=' * 64}+"
    assert re.sub(r"\s", "", "".join(texts)) == re.sub(
        r"\s", "", "".join(line[1:-1] for line in lines[1:-1])
    )


def test_wide_characters_take_two_columns() -> None:
    line = principle_box("日本語").split("\n")[1]

    assert len(line) == 63
