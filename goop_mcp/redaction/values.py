"""Whether a value assigned to a name such as `password` is a secret, or only code or prose."""

import re
from itertools import pairwise
from typing import Final, NamedTuple, Self

from goop_mcp.redaction.on_use import on_use
from goop_mcp.redaction.prose import is_label, is_statement

__all__ = [
    "Assignment",
    "is_secret",
    "is_stand_in",
    "is_weak_name",
    "looks_random",
    "mixes_letters_and_digits",
]

_QUOTES: Final = ('\\"', '"', "'", "`")
_CLOSERS: Final = ".,;:)]}|"
_OPEN_MARKS: Final = ("[REDACTED", "[PRIVATE")
_AT_THE_END: Final = on_use(r"[,;)}\]]*[ \t]*(?:#|//|\r|\n|\\n|$)")
_PLACEHOLDER: Final = on_use(
    r"\[REDACTED\].*|\[PRIVATE\].*|<.*|\$.*|%.*|\{.*|\[.*|\(.*|\*+|\.{2,}.*|…|x{3,}|your[-_"
    r" ].*|@.*|!.*|env[.:(].*",
    re.IGNORECASE | re.DOTALL,
)
# References to the source of a value: calls, items, attributes, files.
_REFERENCE: Final = on_use(
    r"[A-Za-z_][\w.]*[(\[{].*|[A-Za-z_]\w*(?:(?:\.|->|::|\?\.)[A-Za-z_]\w*)+"
    r"|(?:~|\.{1,2})?/[a-z0-9_.-]+(?:/[a-z0-9_.-]+)*/?",
    re.DOTALL,
)
_PATH: Final = on_use(r"(?:~|\.{1,2}|[A-Za-z]:)?[/\\][^:;|<>\r\n]*|~|\.{1,2}")
_TYPE: Final = on_use(
    r"(?:[A-Z][a-z]+)*"
    r"(?:Str|String|Token|Secret|Key|Password|Type|Bytes|Optional|Union|Any|None)(?:\W.*)?",
    re.DOTALL,
)
_NAME_OR_CALL: Final = on_use(r"[A-Za-z_.]+(?:\(.*)?", re.DOTALL)
_AFTER_A_TEXT: Final = frozenset(",;:)]} +%")
_TYPES: Final = (
    "any|bool|boolean|bytes|bytestring|char|float|int|integer|long|null|nil|none|number|object|"
    "optional|str|string|text|true|false|undefined|void|varchar"
)
_STATES: Final = (
    "passed|failed|skipped|ok|unknown|required|missing|invalid|expired|empty|unset|yes|no|on|off|"
    "not"
)
_SMALL_WORDS: Final = (
    "the|a|an|is|are|was|must|should|see|this|that|it|and|or|to|of|in|for|if|from|with"
)
_VARIABLES: Final = (
    "value|token|secret|password|passwd|pass|pwd|key|input|data|env|raw|result|response|user|name|"
    "default"
)
_WORD: Final = on_use(rf"{_TYPES}|{_STATES}|{_SMALL_WORDS}|{_VARIABLES}", re.IGNORECASE)
_WEAK_ASSIGNMENTS: Final = frozenset({"", "is", "was", "->", "→", "|"})
_LIKE_A_PASSWORD: Final = on_use(r"passw(?:or)?d|passphrase|pwd", re.IGNORECASE)
_WEAK_NAMES: Final = frozenset({"auth", "cred", "creds", "credential", "credentials", "key"})
_RANDOM_ONLY: Final = on_use(r"(?:base64:)?(?!sha\d)[A-Za-z0-9_+/=~-]+")
_DENSE_LENGTH: Final = 16
_DENSITY: Final = 0.4
_SENSIBLE_LENGTH, _LONG_WORD, _LONGEST_COUNT, _SHORTEST_PIN, _LONG_VALUE = 6, 20, 7, 4, 16


class Assignment(NamedTuple):
    """A name, the sign that assigns, and the value without quotes and closing punctuation.

    `alone` means that the line ends after the value, `argument` that the name follows a bracket or
    comma, as in a call.
    """

    name: str
    sign: str
    value: str
    opening: str
    closing: str
    alone: bool
    argument: bool

    @classmethod
    def of(cls, text: str, named: re.Match[str], value: re.Match[str]) -> Self:
        """Return the assignment in `text`; `named` has the groups name and sign."""
        quote = next((quote for quote in _QUOTES if value[0].startswith(quote)), "")
        inner = value[0][len(quote) :]
        bare = inner.removesuffix(quote) if quote else inner.rstrip(_CLOSERS)
        # The bracket of a mark that stands for an earlier secret is part of the mark.
        if bare.endswith(_OPEN_MARKS):
            bare = inner[: len(bare) + 1]
        before = text[max(named.start() - 2, 0) : named.start()].removesuffix(" ")

        return cls(
            name=text[slice(*named.span("name"))],
            sign=named["sign"],
            value=bare,
            opening=quote,
            closing=inner[len(bare) :],
            alone=_AT_THE_END().match(text, value.end()) is not None,
            argument=before[-1:] in {"(", ","},
        )

    @property
    def quoted(self) -> bool:
        """Whether the value was in quotes."""
        return bool(self.opening)


def looks_random(text: str) -> bool:
    """Return whether `text` is not a word: it mixes letters and digits, or is very long."""
    longest = max(map(len, re.split(r"[^A-Za-z0-9]", text)), default=0)
    return len(text) >= _SENSIBLE_LENGTH and (
        mixes_letters_and_digits(text) or longest >= _LONG_WORD
    )


def mixes_letters_and_digits(text: str) -> bool:
    """Return whether `text` holds at least one letter and one digit."""
    return any(c.isalpha() for c in text) and any(c.isdigit() for c in text)


def is_stand_in(value: str) -> bool:
    """Return whether `value` is a placeholder: a variable, `<password>`, the word `password`."""
    value = value.strip()
    return not any(c.isalnum() for c in value) or bool(
        _PLACEHOLDER().fullmatch(value) or _WORD().fullmatch(value)
    )


def is_weak_name(name: str) -> bool:
    """Return whether most values of `name` are not secrets, as for `key`."""
    return name.lower() in _WEAK_NAMES


def is_secret(it: Assignment) -> bool:
    """Return whether the value is a secret: the first paragraph that knows it decides.

    First come values that are certainly none, then weak names and weak ways to assign; the form of
    the value decides last.
    """
    name, value = it.name.lower(), it.value.strip()
    if not any(c.isalnum() for c in it.value) or _PLACEHOLDER().fullmatch(value):
        return False

    # The shell keeps the current folder in PWD.
    if name == "pwd" and _PATH().fullmatch(it.value):
        return False

    # Most values of `key` are keys of mappings or of keyboards, and words.
    if is_weak_name(name):
        return _RANDOM_ONLY().fullmatch(it.value) is not None and _is_dense(it.value)

    # `pass` is also what tests do.
    if name == "pass":
        if it.quoted and " " in value:
            return False
        if not it.quoted and it.sign != "=":
            return it.value.isalnum() and looks_random(it.value)

    # In `"Password: "`, the quote after the colon closes the text that contains the name.
    if it.quoted and it.value[:1] in _AFTER_A_TEXT:
        return False

    # `password = get_password()`: a name without digits, or a call of one, that repeats the name.
    if not it.quoted and _NAME_OR_CALL().fullmatch(it.value) and name in it.value.lower():
        return False
    if _WORD().fullmatch(value) or value.lower() == name:
        return False

    # `Password: rotated`. What is assigned in an environment or in code may be any word.
    in_prose = "=" not in it.sign
    if is_label(value) or (
        (in_prose or not it.name.isupper()) and is_statement(value, by_ending=in_prose)
    ):
        return False

    # "the password is wrong": here only a value that cannot be a word is a secret.
    if it.sign.strip(" \t`*\"'\\") in _WEAK_ASSIGNMENTS:
        return looks_random(it.value)
    return _has_form_of_secret(it)


def _has_form_of_secret(it: Assignment) -> bool:
    # Several words in quotes describe a secret, unless they are a passphrase.
    like_a_password = _LIKE_A_PASSWORD().fullmatch(it.name) is not None
    if it.quoted:
        return like_a_password or " " not in it.value.strip() or looks_random(it.value)

    # Counts, ports and timeouts are short; a PIN is short too, but not the value of a token.
    if it.value.isdecimal():
        return len(it.value) > _LONGEST_COUNT or (
            like_a_password and len(it.value) >= _SHORTEST_PIN
        )

    # A reference or a type is code, unless it is all that an environment file assigns.
    assigned_alone = it.sign == "=" and it.alone and not it.argument and not it.closing
    if not assigned_alone and (_REFERENCE().fullmatch(it.value) or _TYPE().fullmatch(it.value)):
        return False
    if looks_random(it.value):
        return True

    # A plain word: a value in environments, forms and elements, a variable in code.
    if "=" in it.sign and not re.search(r"\s", it.sign):
        return not it.argument
    if it.sign == ">":
        return it.name.lower() != "token"
    return it.alone and (like_a_password or it.name.isupper() or len(it.value) >= _LONG_VALUE)


def _is_dense(value: str) -> bool:
    """Return whether `value` changes between small letters, capitals and digits very often.

    Names in camel case with digits change as well, but less often than random text.
    """
    longest = max(re.split(r"[^A-Za-z0-9]", value), key=len)
    kinds = [(c.islower(), c.isupper()) for c in longest]
    changes = sum(one != other for one, other in pairwise(kinds))

    return (
        len(longest) >= _DENSE_LENGTH
        and len(set(kinds)) == len("aA1")
        and changes > _DENSITY * len(longest)
    )
