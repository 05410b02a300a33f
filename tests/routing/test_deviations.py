"""`RULE n DEVIATION` and its options are read out of free text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goop_mcp.routing.deviations import parse_deviations
from tests.requirements import requirement


@requirement("G-52")
def test_rule_question_options_and_recommendation_are_read() -> None:
    text = """RULE 4 DEVIATION: Need user decision on payment provider.
      Options: A) Stripe (recommended, better docs), B) PayPal (wider reach)"""
    (question,) = parse_deviations(text)

    assert (question.id, question.rule, question.text) == (
        "q1",
        4,
        "Need user decision on payment provider.",
    )
    assert [(each.letter, each.text, each.recommended) for each in question.options] == [
        ("A", "Stripe (recommended, better docs)", True),
        ("B", "PayPal (wider reach)", False),
    ]
    assert question.default == "Stripe (recommended, better docs)"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("A) one, B) two", ["one", "two"]),
        ("A) one; B) two; C) three", ["one", "two", "three"]),
        ("A) one or B) two", ["one", "two"]),
        ("\n- A) one\n- B) two", ["one", "two"]),
        ("A) use f(X) here, B) two", ["use f(X) here", "two"]),
        ("A) as in B) of last week, B) two", ["as in", "of last week, B) two"]),
        ("A) one and B) two", ["one", "two"]),
        ("(A) one, (B) two", ["one", "two"]),
        ("**A)** one **B)** two", ["one", "two"]),
        ("B) two, A) one", ["one"]),
        ("A) , B) two", ["two"]),
        ("none", []),
    ],
)
def test_options_are_lettered_in_order_from_a(options: str, expected: list[str]) -> None:
    (question,) = parse_deviations(f"RULE 4 DEVIATION: Which? Options: {options}")

    assert [each.text for each in question.options] == expected


@pytest.mark.parametrize("words", ["not recommended", "Not recommended, slow", "isn't recommended"])
def test_what_is_not_recommended_is_not_marked(words: str) -> None:
    (question,) = parse_deviations(
        f"RULE 4 DEVIATION: Which? Options: A) x ({words}), B) y (recommended)"
    )

    assert [each.recommended for each in question.options] == [False, True]


@pytest.mark.parametrize("rule", [1, 2, 3, 4])
def test_every_rule_is_read_by_its_number(rule: int) -> None:
    assert parse_deviations(f"rule {rule} deviation: x")[0].rule == rule


def test_a_deviation_without_options_is_a_question_without_options() -> None:
    (question,) = parse_deviations("RULE 4 DEVIATION: the schema has to change")

    assert (question.text, question.options, question.default) == (
        "the schema has to change",
        (),
        None,
    )


def test_options_without_a_deviation_are_a_question() -> None:
    (question,) = parse_deviations("Which provider? Options: A) Stripe, B) PayPal")

    assert (question.rule, question.text, len(question.options)) == (None, "Which provider?", 2)


def test_several_deviations_are_several_questions() -> None:
    first, second = parse_deviations(
        "RULE 4 DEVIATION: DB? Options: A) pg, B) sqlite RULE 2 DEVIATION: auth is missing"
    )

    assert (first.id, first.rule, len(first.options)) == ("q1", 4, 2)
    assert (second.id, second.rule, second.text) == ("q2", 2, "auth is missing")


@pytest.mark.parametrize(
    "text", ["", "the key is missing", "RULE 5 DEVIATION: x", "Options: none given"]
)
def test_other_blockers_hold_no_question(text: str) -> None:
    assert parse_deviations(text) == ()


_PIECES = st.sampled_from(
    ["RULE 4 DEVIATION:", "Options:", "A) ", "B) ", "C)", ", ", "recommended", "x", "\n", "not "]
)


@given(st.lists(st.one_of(_PIECES, st.text(max_size=5)), max_size=12).map("".join))
def test_no_text_breaks_the_reader_and_every_option_has_words(text: str) -> None:
    for question in parse_deviations(text):
        assert all(option.text for option in question.options)


def test_a_blocker_of_nothing_but_separators_is_read_at_once() -> None:
    (question,) = parse_deviations("RULE 4 DEVIATION: x Options: A) " + ", " * 30_000 + "x")

    assert question.options[0].text.endswith("x")


def test_bold_type_is_no_part_of_question_or_options() -> None:
    (question,) = parse_deviations(
        "**RULE 4 DEVIATION:** Which store?\n**Options:** A) **one**, B) two"
    )

    assert question.text == "Which store?"
    assert [each.text for each in question.options] == ["one", "two"]
