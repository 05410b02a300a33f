"""The kinds of secrets, one `SecretPattern` each.

No text makes the patterns slower than linear: each starts at a fixed keyword and continues either
over a bounded number of characters, or over a class of characters that cannot contain the next
keyword. A character is therefore read by a bounded number of attempts.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from goop_mcp.redaction.assignments import (
    WORDS_OF_NAMES,
    find_assigned,
    find_in_elements,
    find_in_options,
)
from goop_mcp.redaction.command_lines import find_in_commands, may_hold_commands
from goop_mcp.redaction.on_use import LatePattern, on_use
from goop_mcp.redaction.searched import SearchedText
from goop_mcp.redaction.services import find_of_services, may_name_service
from goop_mcp.redaction.tokens import find_tokens, may_begin_token
from goop_mcp.redaction.values import is_stand_in, looks_random, mixes_letters_and_digits

__all__ = ["SECRET_PATTERNS", "SecretPattern", "Span"]

Span = tuple[int, int]
"""Start and end of a part of a text."""

Spans = Iterable[Span]


class SecretPattern(NamedTuple):
    """One kind of secret.

    A text without any of `words`, which are in lower case, holds none of this kind; if `may_hold`
    is given, it decides instead. `find` yields the parts of a text that are such secrets, in their
    order.
    """

    words: tuple[str, ...]
    find: Callable[[SearchedText], Spans]
    may_hold: Callable[[SearchedText], bool] | None = None


def _matching(
    words: tuple[str, ...],
    pattern: LatePattern,
    part: Callable[[re.Match[str]], Spans] | None = None,
) -> SecretPattern:
    """Return a kind for the matches of `pattern`; `part` says which parts of one are secrets."""

    def find(searched: SearchedText) -> Iterator[Span]:
        for match in pattern().finditer(searched.text):
            if part is None:
                yield match.span()
            else:
                yield from part(match)

    return SecretPattern(words, find)


def _value_if_mixed(match: re.Match[str]) -> Spans:
    return [match.span("value")] if mixes_letters_and_digits(match["value"]) else []


def _value_unless_stand_in(match: re.Match[str]) -> Spans:
    return [] if is_stand_in(match["value"]) else [match.span("value")]


# Tokens with their keyword in the middle or at the end, or recognised by the form of all parts.
_MARKED: Final = (
    (("q~",), r"(?<![A-Za-z0-9_~.-])(?P<value>[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,40})"),
    ((".atlasv1.",), r"(?<![A-Za-z0-9])(?P<value>[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,})"),
    (("_mmk",), r"(?<![A-Za-z0-9])(?P<value>[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk)(?![A-Za-z0-9])"),
    (("-us",), r"(?<![A-Za-z0-9])(?P<value>[a-f0-9]{32}-us[0-9]{1,2})(?![A-Za-z0-9])"),
    ((":a",), r"(?<![0-9])(?P<value>[0-9]{6,16}:A[A-Za-z0-9_-]{34})(?![A-Za-z0-9_-])"),
    (("/webhooks/",), r"(?<=/webhooks/)(?P<value>[0-9]{15,22}/[A-Za-z0-9_-]{50,90})"),
    (("incomingwebhook/",), r"(?<=IncomingWebhook/)(?P<value>[a-z0-9]{32}/[a-z0-9-]{36})"),
    (
        ("hooks.slack.com",),
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<value>[A-Za-z0-9+/]{20,})",
    ),
    # Signed URLs, which give access to everybody who has them.
    (("sig=",), r"(?<=[?&;])sig=(?P<value>[A-Za-z0-9%+/=_-]{20,})"),
    (
        ("-signature=",),
        r"(?i:(?<=X-Amz-Signature=)|(?<=X-Goog-Signature=))(?P<value>[A-Fa-f0-9]{32,})",
    ),
    (
        ("sessionid=", "session="),
        r"(?<![\w.-])"
        r"(?:[A-Z]{1,10}SESSIONID|ASP\.NET_SessionId|_gitlab_session|laravel_session|sessionid)"
        r"=(?P<value>[A-Za-z0-9%+/=_.:-]{16,})",
    ),
    (
        ("phpsessid", "connect.sid"),
        r"(?:PHPSESSID|connect\.sid)=(?P<value>[A-Za-z0-9%+/=_.:-]{16,})",
    ),
)
# Two parts, of which the first is a long number, as few texts have one.
_OF_A_NUMBER: Final = on_use(
    r"(?<![A-Za-z0-9])(?P<value>[0-9]{15,16}(?:\||%(?:7[Cc])?)[A-Za-z0-9_-]{27,40})(?![A-Za-z0-9_-])"
)
_LONG_NUMBER: Final = on_use("[0-9]{15}")
# Three parts with dots between them, which nearly every text has, but few words are as long.
_THREE_PARTS: Final = on_use(
    r"(?P<value>[MNO](?<![A-Za-z0-9_.-][MNO])"
    r"[A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,45})(?![A-Za-z0-9_.-])"
)
_SHORTEST_OF_THREE: Final = 58
_COMMAS: Final = (",", ";", ":")
_NETRC: Final = on_use(
    r"\b(?:machine[ \t\r\n]{1,8}(?P<machine>\S{1,256})|default)"
    r"(?P<login>(?:[ \t\r\n]{1,8}(?:login|account)[ \t\r\n]{1,8}\S{1,256}){1,2})?"
    r"[ \t\r\n]{1,8}password[ \t\r\n]{1,8}(?P<value>[^\s<]{1,256})(?(login)|(?=[ \t\r\n]{1,8}login["
    r" \t\r\n]))"
)


def _value_of_netrc(match: re.Match[str]) -> Spans:
    """Return the password of a login as `.netrc` has it, and nothing of a list of features."""
    value, logins = match["value"], match["login"] or ""
    # "default login page, password policy"
    is_list = any(word.endswith(_COMMAS) for word in (match["machine"] or "", *logins.split()))
    # A machine that is named like one of a network is no word of a sentence.
    is_network = "." in (match["machine"] or "")
    is_word = value.rstrip(".,;:").isalpha() and not looks_random(value) and not is_network
    return [] if is_list or is_word or is_stand_in(value) else [match.span("value")]


# <add key="ClearTextPassword" value="…"/>
_NAMED_ELEMENT: Final = on_use(
    r"\b(?:key|name)=[\"'][\w.:-]{0,80}?(?:password|passwd|secret|token|api_?key)[\"']["
    r" \t\r\n]{1,8}"
    r"value=[\"'](?P<value>[^\"'<>\r\n]{1,512})",
    re.IGNORECASE,
)
# The values of a Kubernetes Secret are base64; `kind: Secret` may be before or after them.
_IN_DATA: Final = on_use(
    r"^[ \t]{0,40}data:[ \t]{0,8}\r?\n(?P<lines>(?:["
    r" \t]{1,40}[\w.-]{1,253}:[^\r\n]{0,65536}\r?\n?){1,512})",
    re.MULTILINE,
)
_IS_SECRET: Final = on_use(
    r"^[ \t]{0,8}[\"']?kind[\"']?:[ \t]{0,8}[\"']?secret\b", re.IGNORECASE | re.MULTILINE
)
_DATA_LINE: Final = on_use(
    r"(?P<before>:[ \t]{1,8}[\"']?)[A-Za-z0-9+/]{8,}={0,2}(?=[\"']?[ \t]*\r?$)", re.MULTILINE
)


def _find_in_kubernetes_secret(searched: SearchedText) -> Iterator[Span]:
    text = searched.text
    if _IS_SECRET().search(text) is None:
        return

    for data in _IN_DATA().finditer(text):
        for line in _DATA_LINE().finditer(text, *data.span("lines")):
            yield line.end("before"), line.end()


_COOKIES: Final = on_use(
    r"(?:\b(?:set-)?cookie2?\\?[\"']?[ \t]{0,4}[:=][ \t]{0,4}\\?[\"']?|(?<=\s)(?:-b|--cookie)["
    r" \t=]{1,8}[\"']?)"
    r"(?P<cookies>[^\r\n\"'<>]{4,8192})",
    re.IGNORECASE,
)
_COOKIE: Final = on_use(r"(?P<name>[A-Za-z0-9_.$-]{1,128})=(?P<value>[^;,\s\"'<>]{12,8192})")
# Attributes of a cookie in Set-Cookie.
_ATTRIBUTES: Final = frozenset(
    {"expires", "max-age", "path", "domain", "samesite", "priority", "version"}
)


def _values_of_cookies(match: re.Match[str]) -> Iterator[Span]:
    """Yield the values in a header of cookies that look like credentials."""
    for cookie in _COOKIE().finditer(match.string, *match.span("cookies")):
        if looks_random(cookie["value"]) and cookie["name"].lower() not in _ATTRIBUTES:
            yield cookie.span("value")


_KEY_BLOCK: Final = on_use(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?:(?!-----BEGIN )[\s\S])*?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?:"
    r" BLOCK)?-----|[A-Za-z0-9+/=\s\\:,-]*)"
)
_SSH_KEY: Final = on_use(
    r"\b(?:ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-nistp\d{3}|sk-[a-z0-9-]{1,40}@openssh\.com)"
    r"\s{1,4}AAAA[A-Za-z0-9+/=]{16,}"
)
# User and password are between // and the last @ before the path.
_IN_URL: Final = on_use(r"(?<=://)[^\s/?#\"'<>@:\[\]]{0,256}:[^\s/\"'<>]{1,512}@(?=[^\s@])")

_BEARER: Final = on_use(r"\bbearer[ \t]{1,8}(?P<value>[A-Za-z0-9._~+/=-]{8,})", re.IGNORECASE)
_AUTHORIZATION: Final = on_use(
    r"authorization\\?[\"']?[ \t]{0,8}[:=][ \t]{0,8}\\?[\"']?"
    r"(?P<scheme>(?:basic|bearer|token|digest|apikey|negotiate|ntlm|aws4-hmac-sha256)[ \t]{1,8})?"
    r"(?P<value>[^\s\"'<>\\,;]+(?P<parameters>,?[ \t]{1,8}[A-Za-z]{1,40}=[^\r\n<>]{1,4096})?)",
    re.IGNORECASE,
)
_CREDENTIALS: Final = on_use(r"[A-Za-z0-9._~+/=-]+")
_SHORTEST_CREDENTIALS: Final = 6


def _authorization(match: re.Match[str]) -> Spans:
    # After a scheme there are only credentials. Without one it may be a sentence about
    # authorization.
    value = match["value"]
    named = match["scheme"] and len(value) >= _SHORTEST_CREDENTIALS and value[0].isalnum()
    alone = _CREDENTIALS().fullmatch(value) and looks_random(value)
    return [(match.start("value"), match.end())] if named or alone else []


# Whole blocks first, so that no part of them is matched alone; then tokens recognised by their own
# form; then values recognised only by their name.
SECRET_PATTERNS: Final = (
    _matching(("-----begin ",), _KEY_BLOCK),
    _matching((" aaaa",), _SSH_KEY),
    # All but the @ at the end.
    _matching(("://",), _IN_URL, lambda match: [(match.start(), match.end() - 1)]),
    *(_matching(words, on_use(pattern), _value_if_mixed) for words, pattern in _MARKED),
    _matching((), _OF_A_NUMBER, _value_if_mixed)._replace(
        may_hold=lambda searched: _LONG_NUMBER().search("_".join(searched.long_runs)) is not None
    ),
    _matching((), _THREE_PARTS, _value_if_mixed)._replace(
        may_hold=lambda searched: any(len(run) >= _SHORTEST_OF_THREE for run in searched.long_runs)
    ),
    SecretPattern((), find_tokens, may_begin_token),
    _matching(("cookie", " -b "), _COOKIES, _values_of_cookies),
    _matching(("authorization",), _AUTHORIZATION, _authorization),
    _matching(
        ("bearer",),
        _BEARER,
        lambda match: [match.span("value")] if looks_random(match["value"]) else [],
    ),
    SecretPattern((), find_in_commands, may_hold_commands),
    _matching((), _NETRC, _value_of_netrc)._replace(
        may_hold=lambda searched: (
            "password" in searched.lowered
            and ("machine" in searched.lowered or "default" in searched.lowered)
        )
    ),
    SecretPattern(("secret",), _find_in_kubernetes_secret),
    _matching(("value=",), _NAMED_ELEMENT, _value_unless_stand_in),
    SecretPattern(WORDS_OF_NAMES, find_assigned),
    SecretPattern(WORDS_OF_NAMES, find_in_options),
    SecretPattern(WORDS_OF_NAMES, find_in_elements),
    SecretPattern((), find_of_services, may_name_service),
)
