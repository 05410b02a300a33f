"""Values made of a text are shown without its secrets, also where only the value is quoted."""

from dataclasses import dataclass
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goop_mcp import route, validate
from goop_mcp.redaction import (
    REDACTED,
    KnownSecrets,
    map_texts,
    redact,
    redact_structure,
    shareable,
    with_marks,
)
from goop_mcp.validation.samples import COMPLETE_REPLY
from tests.growth import assert_linear
from tests.secret_shapes import LOOK_ALIKES, SECRETS

KEY = "a8Kd92LmQz71Xw4Tn0Vb3Rc6Yp5Hs7Je1Gf9"
TOKEN = "gh" + "p_" + KEY
TEXTS = st.lists(
    st.sampled_from([*(text for text, _ in SECRETS.values()), *LOOK_ALIKES]), max_size=4
).map(" ".join)


@dataclass(frozen=True)
class Account:
    password: str
    text: str
    parts: "tuple[Part, ...]" = ()


class Part(NamedTuple):
    name: str
    detail: str


@pytest.mark.parametrize("kind", SECRETS)
def test_the_parts_of_a_text_are_what_was_replaced(kind: str) -> None:
    text, secret = SECRETS[kind]
    redacted = redact(f"before\n{text}\nafter")

    assert with_marks(f"before\n{text}\nafter", redacted.parts) == redacted.text
    hidden = " ".join(f"before\n{text}\nafter"[part.start : part.end] for part in redacted.parts)
    assert secret in hidden or all(each in hidden for each in secret.split(":"))


@given(TEXTS)
def test_the_parts_of_any_text_give_the_redacted_text(text: str) -> None:
    redacted = redact(text)
    assert with_marks(text, redacted.parts) == redacted.text
    assert bool(redacted.parts) == bool(redacted.count)


@pytest.mark.parametrize(
    ("given", "message", "shown"),
    [
        (
            '{"password": "hunter2x"}',
            "the value is 'hunter2x' here",
            "the value is '[REDACTED]' here",
        ),
        (f"use {TOKEN}.", f"status is '{TOKEN[:17]}…'", "status is '[REDACTED]…'"),
        (f"use {TOKEN}.", f"status is '{TOKEN[:17]}'", "status is '[REDACTED]'"),
        ("PASSWORD=swordfish", "action is 'swordfish'", "action is '[REDACTED]'"),
        ('password="a<b>7&c"', "found a&lt;b&gt;7&amp;c", "found [REDACTED]"),
        ('password="a\\\\b7cdef"', 'in JSON: {"x": "a\\\\b7cdef"}', 'in JSON: {"x": "[REDACTED]"}'),
        (
            'passphrase: "correct horse battery"',
            "correct horse battery is long",
            "[REDACTED] is long",
        ),
        # A word may be a word, and half of a word is none.
        ("PASSWORD=swordfish", "a swordfish is a fish", "a swordfish is a fish"),
        (
            '{"password": "hunter2x"}',
            "hunter2xy and Xhunter2x stay",
            "hunter2xy and Xhunter2x stay",
        ),
        (f"use {TOKEN}.", "ghp_ is how a token begins", "ghp_ is how a token begins"),
    ],
)
def test_a_secret_that_one_text_shows_is_hidden_in_the_others(
    given: str, message: str, shown: str
) -> None:
    assert shareable(message, given) == shown


def test_each_kind_of_structure_is_copied_without_secrets() -> None:
    account = Account("hunter2x", "it is hunter2x", (Part("tests", "used hunter2x"),))
    shown = shareable({"account": account, "list": ["hunter2x", 4]})

    assert shown["account"] == Account(
        REDACTED, f"it is {REDACTED}", (Part("tests", f"used {REDACTED}"),)
    )
    assert shown["list"] == [REDACTED, 4]
    assert account.text == "it is hunter2x"


def test_without_secrets_it_is_the_value_itself() -> None:
    verdict = validate(COMPLETE_REPLY)
    assert shareable(verdict, COMPLETE_REPLY) is verdict


def test_a_verdict_and_a_decision_show_nothing_and_keep_every_place() -> None:
    reply = COMPLETE_REPLY.replace("COMPLETE<", f"DONE {TOKEN}<").replace(
        "Added the login endpoint.", "Added it, password=&quot;hunter2x&quot;."
    )
    verdict = validate(reply)
    decision = route(verdict)
    shown = shareable(decision, reply)

    assert TOKEN[:12] in str(decision.to_dict())
    assert TOKEN[:12] not in str(shown.to_dict())
    assert "hunter2x" not in str(shown.to_dict())
    places = [(each.rule, each.line, each.column) for each in verdict.findings]
    assert [(each.rule, each.line, each.column) for each in shown.verdict.findings] == places
    # What callers of the library get is as the agent wrote it.
    assert TOKEN in str(validate(reply).to_dict())


@given(st.dictionaries(st.sampled_from(["password", "name", "heroku", "a"]), TEXTS, max_size=3))
def test_texts_searched_together_are_redacted_as_one_by_one(values: dict[str, str]) -> None:
    def hide(text: str, name: str | None) -> str:
        found = redact(text)
        named = redact(f"{name}={text}").text == f"{name}={REDACTED}"
        return REDACTED if found.count == 0 and name is not None and named else found.text

    assert redact_structure(values)[0] == map_texts(values, hide)


@pytest.mark.parametrize(
    "piece", ["aaaaaaaa", "aaaaaaaa ", 'password="aaaaaaaa 1"\n', f"token={TOKEN}\n", "'"]
)
def test_the_time_grows_with_the_text_and_not_faster(piece: str) -> None:
    secret = 'password="' + "aaaaaaaa " * 200 + '1x"\n'

    def hide(text: str) -> str:
        return KnownSecrets([secret + text]).hide(text)

    assert_linear(hide, lambda size: piece * (size // len(piece)), sizes=(20_000, 160_000))
