"""The kinds of secrets, one `SecretPattern` each.

No text makes the patterns slower than linear: each starts at a fixed keyword and continues either
over a bounded number of characters, or over a class of characters that cannot contain the next
keyword. A character is therefore read by a bounded number of attempts.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from goop_mcp.redaction.assignments import WORDS_OF_NAMES, hide_assigned
from goop_mcp.redaction.command_lines import PROGRAMS, hide_in_commands
from goop_mcp.redaction.on_use import LatePattern, on_use
from goop_mcp.redaction.services import hide_of_services, may_name_service
from goop_mcp.redaction.tokens import find_token, may_begin_token
from goop_mcp.redaction.values import is_stand_in, looks_random, mixes_letters_and_digits

__all__ = ["REDACTED", "SECRET_PATTERNS", "SecretPattern"]

REDACTED: Final = "[REDACTED]"


Hiding = Callable[[str], tuple[str, int]]
Replacing = Callable[[re.Match[str]], str | None]


class SecretPattern(NamedTuple):
    """One kind of secret.

    A text without any of `words`, which are in lower case, holds none of this kind; if `may_hold`
    is given, it decides instead, by the text and its `long_runs`. `hide` returns the text without
    these secrets and their number.
    """

    words: tuple[str, ...]
    hide: Hiding
    may_hold: Callable[[str, Sequence[str]], bool] | None = None


def _replacing(
    words: tuple[str, ...], pattern: LatePattern, replacement: Replacing | None = None
) -> SecretPattern:
    """Return a kind for the matches of `pattern`; `replacement` returns None to keep a match."""

    def hide(text: str) -> tuple[str, int]:
        found = 0

        def replace(match: re.Match[str]) -> str:
            nonlocal found
            put = REDACTED if replacement is None else replacement(match)
            if put is None or put == match[0]:
                return match[0]

            found += 1
            return put

        return pattern().sub(replace, text), found

    return SecretPattern(words, hide)


def _value_only(match: re.Match[str]) -> str:
    """Replace the group `value` and keep the rest of the match."""
    start, end = (at - match.start() for at in match.span("value"))
    return match[0][:start] + REDACTED + match[0][end:]


def _value_if_mixed(match: re.Match[str]) -> str | None:
    return _value_only(match) if mixes_letters_and_digits(match["value"]) else None


def _value_unless_stand_in(match: re.Match[str]) -> str | None:
    return None if is_stand_in(match["value"]) else _value_only(match)


def _hide_tokens(text: str) -> tuple[str, int]:
    pieces: list[str] = []
    shown = 0
    while token := find_token(text, shown):
        pieces += [text[shown : token[0]], REDACTED]
        shown = token[1]

    pieces.append(text[shown:])
    return "".join(pieces), len(pieces) // 2


# Tokens with their keyword in the middle or at the end, or recognised by the form of all parts.
_MARKED: Final = (
    (("q~",), r"(?<![A-Za-z0-9_~.-])(?P<value>[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,40})"),
    ((".atlasv1.",), r"(?<![A-Za-z0-9])(?P<value>[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,})"),
    (("_mmk",), r"(?<![A-Za-z0-9])(?P<value>[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk)(?![A-Za-z0-9])"),
    (("-us",), r"(?<![A-Za-z0-9])(?P<value>[a-f0-9]{32}-us[0-9]{1,2})(?![A-Za-z0-9])"),
    ((":a",), r"(?<![0-9])(?P<value>[0-9]{6,16}:A[A-Za-z0-9_-]{34})(?![A-Za-z0-9_-])"),
    (
        ("|", "%"),
        r"(?<![A-Za-z0-9])(?P<value>[0-9]{15,16}(?:\||%(?:7[Cc])?)[A-Za-z0-9_-]{27,40})"
        r"(?![A-Za-z0-9_-])",
    ),
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
# Three parts with dots between them, which nearly every text has, but few words are as long.
_THREE_PARTS: Final = on_use(
    r"(?P<value>[MNO](?<![A-Za-z0-9_.-][MNO])"
    r"[A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,45})(?![A-Za-z0-9_.-])"
)
_SHORTEST_OF_THREE: Final = 58
_NETRC: Final = on_use(
    r"\b(?:machine[ \t\r\n]{1,8}\S{1,256}|default)"
    r"(?P<login>(?:[ \t\r\n]{1,8}(?:login|account)[ \t\r\n]{1,8}\S{1,256}){1,2})?"
    r"[ \t\r\n]{1,8}password[ \t\r\n]{1,8}(?P<value>\S{1,256})(?(login)|(?=[ \t\r\n]{1,8}login["
    r" \t\r\n]))"
)
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


def _hide_in_kubernetes_secret(text: str) -> tuple[str, int]:
    if _IS_SECRET().search(text) is None:
        return text, 0

    count = 0

    def replace(match: re.Match[str]) -> str:
        nonlocal count
        start, end = (at - match.start() for at in match.span("lines"))
        lines, found = _DATA_LINE().subn(rf"\g<before>{REDACTED}", match["lines"])
        count += found
        return match[0][:start] + lines + match[0][end:]

    return _IN_DATA().sub(replace, text), count


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


def _without_cookies(match: re.Match[str]) -> str:
    """Return a header of cookies without values that look like credentials."""

    def hidden(cookie: re.Match[str]) -> str:
        is_secret = looks_random(cookie["value"]) and cookie["name"].lower() not in _ATTRIBUTES
        return f"{cookie['name']}={REDACTED}" if is_secret else cookie[0]

    start = match.start("cookies") - match.start()

    return match[0][:start] + _COOKIE().sub(hidden, match["cookies"])


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


def _from_value_on(match: re.Match[str]) -> str:
    """Replace everything from the group `value` to the end of the match."""
    return match[0][: match.start("value") - match.start()] + REDACTED


def _authorization(match: re.Match[str]) -> str | None:
    # After a scheme there are only credentials. Without one it may be a sentence about
    # authorization.
    value = match["value"]
    named = match["scheme"] and len(value) >= _SHORTEST_CREDENTIALS and value[0].isalnum()
    alone = _CREDENTIALS().fullmatch(value) and looks_random(value)
    return _from_value_on(match) if named or alone else None


# Whole blocks first, so that no part of them is matched alone; then tokens recognised by their own
# form; then values recognised only by their name.
SECRET_PATTERNS: Final = (
    _replacing(("-----begin ",), _KEY_BLOCK),
    _replacing((" aaaa",), _SSH_KEY),
    _replacing(("://",), _IN_URL, lambda _match: f"{REDACTED}@"),
    *(_replacing(words, on_use(pattern), _value_if_mixed) for words, pattern in _MARKED),
    _replacing((), _THREE_PARTS, _value_if_mixed)._replace(
        may_hold=lambda _text, runs: any(len(run) >= _SHORTEST_OF_THREE for run in runs)
    ),
    SecretPattern((), _hide_tokens, lambda _text, runs: may_begin_token(runs)),
    _replacing(("cookie", " -b "), _COOKIES, _without_cookies),
    _replacing(("authorization",), _AUTHORIZATION, _authorization),
    _replacing(
        ("bearer",),
        _BEARER,
        lambda match: _from_value_on(match) if looks_random(match["value"]) else None,
    ),
    SecretPattern(PROGRAMS, lambda text: hide_in_commands(text, REDACTED)),
    _replacing(("machine", "default"), _NETRC, _value_unless_stand_in),
    SecretPattern(("secret",), _hide_in_kubernetes_secret),
    _replacing(("value=",), _NAMED_ELEMENT, _value_unless_stand_in),
    SecretPattern(WORDS_OF_NAMES, lambda text: hide_assigned(text, REDACTED)),
    SecretPattern((), lambda text: hide_of_services(text, REDACTED), may_name_service),
)
