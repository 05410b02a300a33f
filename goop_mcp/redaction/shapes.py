"""The kinds of secrets, one `Shape` each.

Each pattern begins at a fixed word and reads on over one class of characters that ends before the next such word
could begin, or over a bounded number: so no text makes it slower than linear.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from goop_mcp.redaction.values import Assignment, is_secret, looks_random

__all__ = ["REDACTED", "SHAPES", "Shape"]

REDACTED: Final = "[REDACTED]"


def _whole(_match: re.Match[str]) -> str:
    return REDACTED


def _whole_if_random(match: re.Match[str]) -> str | None:
    # `sk-fading-circle-container` is a style, no key.
    return REDACTED if looks_random(match[0]) else None


@dataclass(frozen=True, slots=True)
class Shape:
    """One kind of secret.

    `words` are in lower case; a text without any of them has none of this kind. `replacement` says what stands in
    place of a match, None to leave it as it is.
    """

    words: tuple[str, ...]
    pattern: re.Pattern[str]
    replacement: Callable[[re.Match[str]], str | None] = _whole


# A token stands free, or behind an escape of JSON such as \n.
_FREE: Final = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"
# The same where - and _ are part of tokens.
_FREE_RUN: Final = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))"


def _token(words: str, rest: str) -> Shape:
    """Return the shape of tokens that begin with one of `words` and go on without - and _."""
    return Shape(_lowered(words), re.compile(rf"{_FREE}(?:{_either(words)}){rest}"))


def _run(words: str, rest: str) -> Shape:
    """Return the shape of tokens that begin with one of `words`, may hold - and _, and do not read like words."""
    return Shape(_lowered(words), re.compile(rf"{_FREE_RUN}(?:{_either(words)}){rest}"), _whole_if_random)


def _lowered(words: str) -> tuple[str, ...]:
    return tuple(words.lower().split())


def _either(words: str) -> str:
    return "|".join(re.escape(word) for word in words.split())


_TOKENS: Final = (
    _token("AKIA ASIA ABIA ACCA", r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _token("ghp_ gho_ ghu_ ghs_ ghr_", r"[A-Za-z0-9]{20,}"),
    _token("github_pat_", r"[A-Za-z0-9_]{20,}"),
    _token("npm_", r"[A-Za-z0-9]{30,}"),
    _token("hf_", r"[A-Za-z0-9]{30,}"),
    _token("sk_live_ sk_test_ rk_live_ rk_test_ whsec_", r"[A-Za-z0-9]{10,}"),
    _token("dop_v1_ doo_v1_ dor_v1_", r"[a-f0-9]{40,}"),
    _token("shpat_ shpca_ shppa_ shpss_", r"[A-Fa-f0-9]{32}"),
    _token("gsk_ lin_api_ ntn_", r"[A-Za-z0-9]{30,}"),
    _token("AGE-SECRET-KEY-1", r"[A-Z0-9]{20,}"),
    _run("glpat- gldt- glrt- glcbt- glptt- glft- glagent- gloas- glsoat- glimt-", r"[A-Za-z0-9_.-]{16,}"),
    _run("xoxa- xoxb- xoxe- xoxe. xoxo- xoxp- xoxr- xoxs- xapp-", r"[A-Za-z0-9.-]{10,}"),
    _run("sk- xai- pplx-", r"[A-Za-z0-9_-]{20,}"),
    _run("pypi-", r"[A-Za-z0-9_-]{16,}"),
    _run("AIza", r"[A-Za-z0-9_-]{30,}"),
    _run("GOCSPX-", r"[A-Za-z0-9_-]{20,}"),
    _run("ya29.", r"[A-Za-z0-9_.-]{20,}"),
    _run("SG.", r"[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    _run("hvs. hvb. hvr.", r"[A-Za-z0-9_-]{20,}"),
    _run("dckr_pat_ ATATT3", r"[A-Za-z0-9_=-]{20,}"),
    _run("eyJ", r"[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){0,3}"),
)

_KEY_BLOCK: Final = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?:(?!-----BEGIN )[\s\S])*?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|[A-Za-z0-9+/=\s\\:,-]*)"
)
_SSH_KEY: Final = re.compile(
    r"\b(?:ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-nistp\d{3}|sk-[a-z0-9-]{1,40}@openssh\.com)\s{1,4}AAAA[A-Za-z0-9+/=]{16,}"
)
# User and password stand between // and the last @ before the path.
_IN_URL: Final = re.compile(r"(?<=://)[^\s/?#\"'<>@:\[\]]{0,256}:[^\s/\"'<>]{1,512}@(?=[^\s@])")
_SLACK_HOOK: Final = re.compile(r"(?<=hooks\.slack\.com/services/)[A-Za-z0-9/]{20,}")

_BEARER: Final = re.compile(r"\bbearer[ \t]{1,8}(?P<value>[A-Za-z0-9._~+/=-]{8,})", re.IGNORECASE)
_AUTHORIZATION: Final = re.compile(
    r"authorization\\?[\"']?[ \t]{0,8}[:=][ \t]{0,8}\\?[\"']?"
    r"(?P<scheme>(?:basic|bearer|token|digest|apikey|negotiate|ntlm|aws4-hmac-sha256)[ \t]{1,8})?"
    r"(?P<value>[^\s\"'<>\\,;]+(?P<parameters>,?[ \t]{1,8}[A-Za-z]{1,40}=[^\r\n<>]{1,4096})?)",
    re.IGNORECASE,
)
_CREDENTIALS: Final = re.compile(r"[A-Za-z0-9._~+/=-]+")
_SHORTEST_CREDENTIALS: Final = 6


def _behind_start(match: re.Match[str]) -> str:
    return match[0][: match.start("value") - match.start()] + REDACTED


def _bearer(match: re.Match[str]) -> str | None:
    return _behind_start(match) if looks_random(match["value"]) else None


def _authorization(match: re.Match[str]) -> str | None:
    # Behind a scheme nothing but credentials stands; without one the sentence may only speak of authorization.
    value = match["value"]
    named = match["scheme"] and len(value) >= _SHORTEST_CREDENTIALS and value[0].isalnum()
    alone = _CREDENTIALS.fullmatch(value) and looks_random(value)
    return _behind_start(match) if named or alone else None


_NAME: Final = (
    r"(?P<name>passw(?:or)?d|passphrase|pwd|api[ _-]?key|secret|token"
    r"|(?:private|access|account|signing|encryption|master|auth|storage)[_-]?key"
    r"|aws_(?:access|secret|session|security)\w{0,40})"
    r"(?:[_-]?(?:access|base|key|value)){0,3}"
)
_WORDS_OF_NAMES: Final = ("secret", "token", "passw", "passphrase", "pwd", "key", "aws_")
_QUOTED: Final = r'\\"[^"\n]*"?|"(?>(?:[^"\\\n]++|\\.)*)"?|\'(?>(?:[^\'\\\n]++|\\.|\'\')*)\'?|`[^`\n]*`?'
# A value without quotes ends where the next part of a query or a connection string begins.
_BARE: Final = (
    r"(?>(?:[^\s\"'`<>\\;&]++|\\(?![nrt\"'])"
    r"|&(?![A-Za-z_-]{1,40}[=;])|;(?=\S)(?![A-Za-z _-]{1,40}=))+)"
)
_ASSIGNS: Final = r"(?:\|\||\?|\+|:)?(?:=>|=(?![=~>])|:(?![:=]))"
_ASSIGNMENT: Final = re.compile(
    rf"(?P<before>[(,?&] ?|){_NAME}"
    rf"(?P<sign>(?:\\?[\"'`]|\*\*)?[ \t]{{0,8}}(?:{_ASSIGNS}(?:\*\*)?|(?:is|was|->|→|\|)(?=\s))[ \t]{{0,8}})"
    rf"(?P<value>{_QUOTED}|{_BARE})",
    re.IGNORECASE,
)
_FLAG: Final = re.compile(
    rf"(?P<before>)--[a-z-]{{0,20}}?{_NAME}(?P<sign>[ \t]{{1,8}})(?P<value>{_QUOTED}|{_BARE})", re.IGNORECASE
)
_ELEMENT: Final = re.compile(
    rf"<[\w:.-]{{0,40}}?{_NAME}(?:\s[^<>]{{0,200}})?(?P<sign>>)(?P<before>)(?P<value>[^<>]+)(?=</)", re.IGNORECASE
)


def _assigned(match: re.Match[str]) -> str | None:
    assignment = Assignment.of(match)
    if not is_secret(assignment):
        return None
    start = match.start("value") - match.start()
    return f"{match[0][:start]}{assignment.opening}{REDACTED}{assignment.closing}"


# Whole blocks first, then tokens that speak for themselves, then what only its name gives away.
SHAPES: Final = (
    Shape(("-----begin ",), _KEY_BLOCK),
    Shape((" aaaa",), _SSH_KEY),
    Shape(("://",), _IN_URL, lambda _match: f"{REDACTED}@"),
    Shape(("hooks.slack.com",), _SLACK_HOOK),
    *_TOKENS,
    Shape(("authorization",), _AUTHORIZATION, _authorization),
    Shape(("bearer",), _BEARER, _bearer),
    Shape(_WORDS_OF_NAMES, _ASSIGNMENT, _assigned),
    Shape(("--",), _FLAG, _assigned),
    Shape(_WORDS_OF_NAMES, _ELEMENT, _assigned),
)
