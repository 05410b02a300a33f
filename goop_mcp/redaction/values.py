"""Whether what is assigned to a name such as `password` is a secret, or only code or prose about one."""

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
# References to where the value comes from: calls, items, attributes, files.
_REFERENCE: Final = re.compile(
    r"[A-Za-z_][\w.]*[(\[{].*|[A-Za-z_]\w*(?:(?:\.|->|::|\?\.)[A-Za-z_]\w*)+|(?:~|\.{1,2})?/[a-z0-9_.-]+(?:/[a-z0-9_.-]+)*/?",
    re.DOTALL,
)
_PATH: Final = re.compile(r"(?:~|\.{1,2}|[A-Za-z]:)?[/\\][^:;|<>\r\n]*|~|\.{1,2}")
_TYPE: Final = re.compile(
    r"(?:[A-Z][a-z]+)*(?:Str|String|Token|Secret|Key|Password|Type|Bytes|Optional|Union|Any|None)(?:\W.*)?",
    re.DOTALL,
)
_NAME_OR_CALL: Final = re.compile(r"[A-Za-z_.]+(?:\(.*)?", re.DOTALL)
_BEHIND_A_TEXT: Final = frozenset(",;:)]} +%")
_TYPES: Final = (
    "any|bool|boolean|bytes|bytestring|char|float|int|integer|long|null|nil|none|number|object|optional|str|string|text|"
    "true|false|undefined|void|varchar"
)
_STATES: Final = "passed|failed|skipped|ok|unknown|required|missing|invalid|expired|empty|unset|yes|no|on|off|not"
_SMALL_WORDS: Final = (
    "the|a|an|is|are|was|must|should|see|this|that|it|and|or|to|of|in|for|if|from|with"
)
_VARIABLES: Final = "value|token|secret|password|passwd|pass|pwd|key|input|data|env|raw|result|response|user|name|default"
_WORD: Final = re.compile(rf"{_TYPES}|{_STATES}|{_SMALL_WORDS}|{_VARIABLES}", re.IGNORECASE)
_WEAK_SIGNS: Final = frozenset({"", "is", "was", "->", "→", "|"})
_LIKE_A_PASSWORD: Final = re.compile(r"passw(?:or)?d|passphrase|pwd", re.IGNORECASE)
_WEAK_NAMES: Final = frozenset({"auth", "cred", "creds", "credential", "credentials", "key"})
_RANDOM_ONLY: Final = re.compile(r"(?:base64:)?(?!sha\d)[A-Za-z0-9_+/=~-]+")
_DENSE_LENGTH: Final = 16
_DENSITY: Final = 0.4
_SENSIBLE_LENGTH, _LONG_WORD, _LONGEST_COUNT, _SHORTEST_PIN, _LONG_VALUE = 6, 20, 7, 4, 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """`name`, `sign` and `value` as found; quotes and what closes the sentence are set aside.

    `alone` means that the line ends with the value, `argument` that it stands in brackets of a
    call.
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
        """Return what was found in `text`: where it is `named`, with groups name and sign, and its `value`."""
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
        """Whether the value stood in quotes."""
        return bool(self.opening)


def _parts(found: str) -> tuple[str, str, str]:
    """Return opening, value and closing of what was found."""
    quote = next((quote for quote in _QUOTES if found.startswith(quote)), "")
    if not quote:
        value = found.rstrip(_CLOSERS)
        return "", value, found[len(value) :]

    inner = found[len(quote) :]
    closing = quote if inner.endswith(quote) else ""

    return quote, inner[: len(inner) - len(closing)], closing


def looks_random(text: str) -> bool:
    """Tell whether `text` is no word: letters and digits mixed, or letters without end."""
    longest = max(map(len, re.split(r"[^A-Za-z0-9]", text)), default=0)
    return len(text) >= _SENSIBLE_LENGTH and (
        mixes_letters_and_digits(text) or longest >= _LONG_WORD
    )


def mixes_letters_and_digits(text: str) -> bool:
    """Tell whether `text` holds at least one letter and one digit."""
    return any(c.isalpha() for c in text) and any(c.isdigit() for c in text)


def is_stand_in(value: str) -> bool:
    """Tell whether `value` stands for a secret: a variable, a placeholder, the word `password`."""
    value = value.strip()
    return not any(c.isalnum() for c in value) or bool(
        _PLACEHOLDER.fullmatch(value) or _WORD.fullmatch(value)
    )


def is_weak_name(name: str) -> bool:
    """Tell whether most of what is assigned to `name` is no secret."""
    return name.lower() in _WEAK_NAMES


def is_secret(assignment: Assignment) -> bool:
    """Tell whether the value must not be kept.

    The first judge that knows decides; in doubt it is a secret.
    """
    for judge in _JUDGES:
        if (answer := judge(assignment)) is not None:
            return answer

    return True


def _path(it: Assignment) -> bool | None:
    # The shell keeps the current folder in PWD.
    return False if it.name.lower() == "pwd" and _PATH.fullmatch(it.value) else None


def _nothing_there(it: Assignment) -> bool | None:
    return (
        None
        if any(c.isalnum() for c in it.value) and not _PLACEHOLDER.fullmatch(it.value.strip())
        else False
    )


def _weakly_named(it: Assignment) -> bool | None:
    # Most keys open no door, and the names of most are words.
    if not is_weak_name(it.name):
        return None
    return _RANDOM_ONLY.fullmatch(it.value) is not None and _is_dense(it.value)


def _passes(it: Assignment) -> bool | None:
    # Tests pass too.
    if it.name.lower() != "pass":
        return None
    if it.quoted:
        return False if " " in it.value.strip() else None
    if it.sign == "=":
        return None
    return it.value.isalnum() and looks_random(it.value)


def _is_dense(value: str) -> bool:
    """Tell whether `value` changes between small letters, capitals and digits far more often than a name does."""
    longest = max(re.split(r"[^A-Za-z0-9]", value), key=len)
    kinds = [(c.islower(), c.isupper()) for c in longest]
    changes = sum(one != other for one, other in pairwise(kinds))

    return (
        len(longest) >= _DENSE_LENGTH
        and len(set(kinds)) == len("aA1")
        and changes > _DENSITY * len(longest)
    )


def _outside(it: Assignment) -> bool | None:
    # In "Password: ", the quote behind the colon closes what the name stands in.
    return False if it.quoted and it.value[:1] in _BEHIND_A_TEXT else None


def _itself(it: Assignment) -> bool | None:
    return (
        False
        if not it.quoted and _plain(it.value) and it.name.lower() in it.value.lower()
        else None
    )


def _plain(value: str) -> bool:
    """Tell whether `value` is a name without digits, or a call of one."""
    return _NAME_OR_CALL.fullmatch(value) is not None


def _known_word(it: Assignment) -> bool | None:
    value = it.value.strip()
    return False if _WORD.fullmatch(value) or value.lower() == it.name.lower() else None


def _weakly_assigned(it: Assignment) -> bool | None:
    # "the password is wrong": only what cannot be a word is a secret there.
    return looks_random(it.value) if it.sign.strip(" \t`*\"'\\") in _WEAK_SIGNS else None


def _in_quotes(it: Assignment) -> bool | None:
    if not it.quoted:
        return None
    # Several words describe a secret, but for a passphrase.
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
    """Judge a plain word: of an environment, a form or an element it is a value, in code a variable, else a word."""
    if "=" in it.sign and not re.search(r"\s", it.sign):
        return not it.argument
    if it.sign == ">":
        return it.name.lower() != "token"

    certain = (
        _LIKE_A_PASSWORD.fullmatch(it.name) or it.name.isupper() or len(it.value) >= _LONG_VALUE
    )

    return bool(certain) and it.alone


_JUDGES: Final[tuple[Callable[[Assignment], bool | None], ...]] = (
    _nothing_there,
    _path,
    _weakly_named,
    _passes,
    _outside,
    _itself,
    _known_word,
    _weakly_assigned,
    _in_quotes,
    _number,
    _code,
    _random,
    _word,
)
