"""Whether a value assigned to a name such as `password` is a secret, or only code or prose."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Self

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
_AT_THE_END: Final = re.compile(r"[,;)}\]]*[ \t]*(?:#|//|\r|\n|\\n|$)")
_PLACEHOLDER: Final = re.compile(
    r"\[REDACTED\].*|\[PRIVATE\].*|<.*|\$.*|%.*|\{.*|\[.*|\(.*|\*+|\.{2,}.*|…|x{3,}|your[-_"
    r" ].*|@.*|!.*|env[.:(].*",
    re.IGNORECASE | re.DOTALL,
)
# References to the source of a value: calls, items, attributes, files.
_REFERENCE: Final = re.compile(
    r"[A-Za-z_][\w.]*[(\[{].*|[A-Za-z_]\w*(?:(?:\.|->|::|\?\.)[A-Za-z_]\w*)+"
    r"|(?:~|\.{1,2})?/[a-z0-9_.-]+(?:/[a-z0-9_.-]+)*/?",
    re.DOTALL,
)
_PATH: Final = re.compile(r"(?:~|\.{1,2}|[A-Za-z]:)?[/\\][^:;|<>\r\n]*|~|\.{1,2}")
_TYPE: Final = re.compile(
    r"(?:[A-Z][a-z]+)*"
    r"(?:Str|String|Token|Secret|Key|Password|Type|Bytes|Optional|Union|Any|None)(?:\W.*)?",
    re.DOTALL,
)
_NAME_OR_CALL: Final = re.compile(r"[A-Za-z_.]+(?:\(.*)?", re.DOTALL)
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
_WORD: Final = re.compile(rf"{_TYPES}|{_STATES}|{_SMALL_WORDS}|{_VARIABLES}", re.IGNORECASE)
_WEAK_ASSIGNMENTS: Final = frozenset({"", "is", "was", "->", "→", "|"})
_LIKE_A_PASSWORD: Final = re.compile(r"passw(?:or)?d|passphrase|pwd", re.IGNORECASE)
_WEAK_NAMES: Final = frozenset({"auth", "cred", "creds", "credential", "credentials", "key"})
_RANDOM_ONLY: Final = re.compile(r"(?:base64:)?(?!sha\d)[A-Za-z0-9_+/=~-]+")
_DENSE_LENGTH: Final = 16
_DENSITY: Final = 0.4
_SENSIBLE_LENGTH, _LONG_WORD, _LONGEST_COUNT, _SHORTEST_PIN, _LONG_VALUE = 6, 20, 7, 4, 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
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
        opening, inner, closing = _parts(value[0])
        before = text[max(named.start() - 2, 0) : named.start()].removesuffix(" ")

        return cls(
            name=text[slice(*named.span("name"))],
            sign=named["sign"],
            value=inner,
            opening=opening,
            closing=closing,
            alone=_AT_THE_END.match(text, value.end()) is not None,
            argument=before[-1:] in {"(", ","},
        )

    @property
    def quoted(self) -> bool:
        """Whether the value was in quotes."""
        return bool(self.opening)


def _parts(found: str) -> tuple[str, str, str]:
    """Return opening quote, value and closing quote or punctuation."""
    quote = next((quote for quote in _QUOTES if found.startswith(quote)), "")
    if not quote:
        value = found.rstrip(_CLOSERS)
        return "", value, found[len(value) :]

    inner = found[len(quote) :]
    closing = quote if inner.endswith(quote) else ""

    return quote, inner[: len(inner) - len(closing)], closing


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
        _PLACEHOLDER.fullmatch(value) or _WORD.fullmatch(value)
    )


def is_weak_name(name: str) -> bool:
    """Return whether most values of `name` are not secrets, as for `key`."""
    return name.lower() in _WEAK_NAMES


def is_secret(assignment: Assignment) -> bool:
    """Return whether the value is a secret.

    The first check that returns True or False decides; without any it is a secret.
    """
    for check in _CHECKS:
        if (answer := check(assignment)) is not None:
            return answer

    return True


def _path(it: Assignment) -> bool | None:
    # The shell keeps the current folder in PWD.
    return False if it.name.lower() == "pwd" and _PATH.fullmatch(it.value) else None


def _placeholder(it: Assignment) -> bool | None:
    return (
        None
        if any(c.isalnum() for c in it.value) and not _PLACEHOLDER.fullmatch(it.value.strip())
        else False
    )


def _weak_name(it: Assignment) -> bool | None:
    # Most values of `key` are keys of mappings or of keyboards, and words.
    if not is_weak_name(it.name):
        return None
    return _RANDOM_ONLY.fullmatch(it.value) is not None and _is_dense(it.value)


def _pass(it: Assignment) -> bool | None:
    # `pass` is also what tests do.
    if it.name.lower() != "pass":
        return None
    if it.quoted:
        return False if " " in it.value.strip() else None
    if it.sign == "=":
        return None
    return it.value.isalnum() and looks_random(it.value)


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


def _after_closing_quote(it: Assignment) -> bool | None:
    # In `"Password: "`, the quote after the colon closes the text that contains the name.
    return False if it.quoted and it.value[:1] in _AFTER_A_TEXT else None


def _own_name(it: Assignment) -> bool | None:
    # `password = get_password()`: a name without digits, or a call of one, that repeats the name.
    repeats = _NAME_OR_CALL.fullmatch(it.value) and it.name.lower() in it.value.lower()
    return False if not it.quoted and repeats else None


def _known_word(it: Assignment) -> bool | None:
    value = it.value.strip()
    return False if _WORD.fullmatch(value) or value.lower() == it.name.lower() else None


def _weakly_assigned(it: Assignment) -> bool | None:
    # "the password is wrong": here only a value that cannot be a word is a secret.
    return looks_random(it.value) if it.sign.strip(" \t`*\"'\\") in _WEAK_ASSIGNMENTS else None


def _in_quotes(it: Assignment) -> bool | None:
    if not it.quoted:
        return None
    # Several words describe a secret, unless they are a passphrase.
    return (
        bool(_LIKE_A_PASSWORD.fullmatch(it.name))
        or " " not in it.value.strip()
        or looks_random(it.value)
    )


def _number(it: Assignment) -> bool | None:
    if not it.value.isdecimal():
        return None
    return len(it.value) > _LONGEST_COUNT or (
        bool(_LIKE_A_PASSWORD.fullmatch(it.name)) and len(it.value) >= _SHORTEST_PIN
    )


def _code(it: Assignment) -> bool | None:
    if it.sign == "=" and it.alone and not it.argument and not it.closing:
        return None
    return False if _REFERENCE.fullmatch(it.value) or _TYPE.fullmatch(it.value) else None


def _random(it: Assignment) -> bool | None:
    return True if looks_random(it.value) else None


def _word(it: Assignment) -> bool | None:
    """Judge a plain word: a value in environments, forms and elements, a variable in code."""
    if "=" in it.sign and not re.search(r"\s", it.sign):
        return not it.argument
    if it.sign == ">":
        return it.name.lower() != "token"

    certain = (
        _LIKE_A_PASSWORD.fullmatch(it.name) or it.name.isupper() or len(it.value) >= _LONG_VALUE
    )

    return bool(certain) and it.alone


# First values that are certainly not secrets; then weak names and weak ways to assign; then the
# form of the value.
_CHECKS: Final[tuple[Callable[[Assignment], bool | None], ...]] = (
    _placeholder,
    _path,
    _weak_name,
    _pass,
    _after_closing_quote,
    _own_name,
    _known_word,
    _weakly_assigned,
    _in_quotes,
    _number,
    _code,
    _random,
    _word,
)
