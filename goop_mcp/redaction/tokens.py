"""Tokens recognised by their own form: the prefix that a service uses, and what may follow it.

The forms come from the documentation of the services and the default rules of secret scanners.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from goop_mcp.redaction.on_use import on_use
from goop_mcp.redaction.searched import SearchedText
from goop_mcp.redaction.values import looks_random, mixes_letters_and_digits

__all__ = ["find_tokens", "may_begin_token", "one_of"]

_WORD: Final = "A-Za-z0-9"
_RUN: Final = "A-Za-z0-9_-"
_HEX: Final = "a-fA-F0-9"
_DOTTED: Final = "A-Za-z0-9_.=-"
_BASE64: Final = "A-Za-z0-9+/=_-"
_UPPER: Final = "A-Z0-9"


class _TokenFormat(NamedTuple):
    """What follows one of `prefixes` in a token.

    `in_run` is for tokens that may hold - and _: they do not start after one of these, and must not
    look like words. `mixed` requires both letters and digits. `rest` is compiled on first use, as
    there are many kinds.
    """

    prefixes: str
    rest: str
    in_run: bool = False
    mixed: bool = False

    @property
    def breaks_runs(self) -> bool:
        """Whether such a token has characters that no other one has."""
        return "," in self.rest.partition("{")[0]


def _open(prefixes: str, alphabet: str, least: int) -> _TokenFormat:
    """Return a kind with at least `least` more characters of `alphabet`."""
    in_run = "-" in alphabet.replace("A-Z", "").replace("a-z", "").replace("0-9", "")
    return _TokenFormat(prefixes, rf"[{alphabet}]{{{least},}}", in_run=in_run)


def _exact(prefixes: str, alphabet: str, length: int, *, in_run: bool = True) -> _TokenFormat:
    """Return a kind with exactly `length` more characters, for prefixes that are also words."""
    return _TokenFormat(
        prefixes, rf"[{alphabet}]{{{length}}}(?![A-Za-z0-9])", in_run=in_run, mixed=True
    )


def _parted(prefixes: str, rest: str) -> _TokenFormat:
    """Return a kind of several parts; each part of `rest` is bounded or excludes the next one."""
    return _TokenFormat(prefixes, rest, in_run=True)


_TOKEN_FORMATS: Final = (
    # Letters and digits only: one character class up to the end.
    _exact("AKIA ASIA ABIA ACCA", _UPPER, 16, in_run=False),
    _exact("A3T", _UPPER, 17),
    _open("ghp_ gho_ ghu_ ghs_ ghr_", _WORD, 20),
    _open("github_pat_", "A-Za-z0-9_", 20),
    _open("npm_ hf_ api_org_ gsk_ lin_api_ lin_oauth_ ntn_ pnu_ rdme_ r8_ secret_", _WORD, 30),
    _open("sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_ whsec_", _WORD, 10),
    _open("sm_aat_ sm_pat_ sm_sat_", _WORD, 16),
    _open("dop_v1_ doo_v1_ dor_v1_ sntryu_ sntrya_ rubygems_ DOR_V1_", _HEX, 40),
    _open("shpat_ shpca_ shppa_ shpss_", _HEX, 32),
    _open("shippo_live_ shippo_test_", _HEX, 32),
    _open("live_pub_ test_pub_", _HEX, 31),
    _open("AGE-SECRET-KEY-1", _UPPER, 20),
    _open("AKCp cmVmd", _WORD, 50),
    _open("EZAK EZTK", _WORD, 50),
    _open("EAAM EAAC", _WORD, 80),
    _open("LTAI", _WORD, 16),
    _open("CLOJARS_ clojars_", _WORD, 50),
    _open("ico-", _WORD, 32),
    _open("sgp_ figd_ dckr_oat_ pat_na1_ squ_ sqp_ sqa_", "A-Za-z0-9_-", 36),
    _open("ABSK", "A-Za-z0-9+/=", 90),
    _open("bedrock-api-key-YmVkcm9jay", _BASE64, 16),
    _open("ops_eyJ", "A-Za-z0-9+/=", 200),
    _open("ZXlK", _BASE64, 40),
    _open("eyJrIjoi", _BASE64, 60),
    _open("glc_", "A-Za-z0-9+/=", 32),
    _open("fm1a_ fm1r_ fm2_", "A-Za-z0-9+/=,", 100),
    _open("sntrys_eyJ", "A-Za-z0-9+/=_", 20),
    _open("dapi", _HEX, 32),
    _open("p8e-", _WORD, 32),
    _open("s-s4t2ud- s-s4t2af-", _HEX, 40),
    _open("pul-", _HEX, 40),
    # Letters, digits, - and _, or dots as well.
    _open(
        "glpat- gldt- glrt- glcbt- glptt- glft- glffct- glagent- gloas- glsoat- glimt- glwt-",
        _DOTTED,
        16,
    ),
    _open("GR1348941", _RUN, 16),
    _open("xoxa- xoxb- xoxc- xoxd- xoxe- xoxe. xoxo- xoxp- xoxr- xoxs- xapp-", "A-Za-z0-9.%-", 10),
    _open("sk- xai- pplx- nvapi-", _RUN, 20),
    _open("pypi-", _RUN, 16),
    _open("AIza", _RUN, 30),
    _open("GOCSPX-", _RUN, 20),
    _open("ya29. 1//0", _DOTTED, 20),
    _open("hvs. hvb. hvr.", _RUN, 20),
    _open("dckr_pat_ ATATT3 ATCTT3 ATBB", "A-Za-z0-9_=-", 20),
    _open("HRKU-", _RUN, 36),
    _open("tskey-", _RUN, 16),
    _open("fo1_ fio-u- duffel_test_ duffel_live_", "A-Za-z0-9_=-", 32),
    _open("pscale_tkn_ pscale_oauth_ pscale_pw_", _DOTTED, 32),
    _open("dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", _DOTTED, 36),
    _open("tk-us- tk-eu-", _RUN, 40),
    _open("tfp_", _DOTTED, 40),
    _open("xkeysib- xsmtpsib-", _RUN, 60),
    _open("dnkey-", "A-Za-z0-9_=-", 60),
    _open("FLWSECK_TEST- FLWPUBK_TEST- FLWSECK- FLWPUBK-", _RUN, 12),
    _open("PMAK- PMAT-", _RUN, 40),
    _open("NRAK- NRJS- NRII- NRRA- NRIQ-", _RUN, 18),
    _open("sq0atp- sq0csp- sq0idp-", _RUN, 22),
    _open("sl. sl.u.", "A-Za-z0-9_=-", 100),
    _open("access-sandbox- access-development- access-production-", _HEX + "-", 36),
    _open("sha256~", _RUN, 40),
    _open("AQVN", _RUN, 35),
    _open("lsv2_pt_ lsv2_sk_", _RUN, 32),
    _open("v1.0-", _HEX + "-", 160),
    _open("CFPAT-", _RUN, 40),
    _open("phx_ sbp_ nfp_ rnd_ cal_live_", _WORD, 24),
    # Short prefixes, which other names have too: the length must be right.
    _exact("SK", _HEX, 32),
    _exact("s.", _WORD, 24),
    _exact("4b1d", _WORD, 38),
    _exact("API-", _UPPER, 26),
    _exact("key- pubkey-", _HEX, 32),
    _exact("YC", _RUN, 38),
    # Several parts.
    _parted("glsa_", r"[A-Za-z0-9]{20,64}_[A-Fa-f0-9]{8}"),
    _parted("EAAA", r"[A-Za-z0-9_-]{22,64}(?![A-Za-z0-9+/=_-])"),
    _parted("SG.", r"[A-Za-z0-9_=-]{16,}\.[A-Za-z0-9_=-]{16,}|[A-Za-z0-9_=-]{60,}"),
    _parted("mfa.", r"[A-Za-z0-9_-]{60,100}"),
    _parted("pat. sat.", r"[A-Za-z0-9_-]{20,24}\.[A-Za-z0-9]{20,26}\.[A-Za-z0-9]{18,22}"),
    _parted("pat", r"[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    _parted("dt0c01. dt0s01. dt0s02.", r"[A-Za-z0-9]{8,24}\.[A-Za-z0-9]{40,64}"),
    _parted("pk. sk. tk.", r"[A-Za-z0-9_-]{40,200}\.[A-Za-z0-9_-]{20,24}"),
    _parted("t1.", r"[A-Za-z0-9_-]{1,200}={0,2}\.[A-Za-z0-9_-]{80,90}={0,2}"),
    _parted("A3-", r"[A-Z0-9]{6}(?:-[A-Z0-9]{5,11}){4,5}"),
    _parted(
        "sc_ ext_ scauth_ authress_",
        r"[A-Za-z0-9]{5,30}\.[A-Za-z0-9]{4,6}\.acc[_-][A-Za-z0-9-]{10,32}"
        r"\.[A-Za-z0-9+/_=-]{30,120}",
    ),
    _parted("eyJ", r"[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){0,3}"),
)
_BY_PREFIX: Final = {prefix: kind for kind in _TOKEN_FORMATS for prefix in kind.prefixes.split()}


def one_of(words: Iterable[str]) -> str:
    """Return a pattern for the longest of `words` that matches.

    Shared prefixes occur once in the pattern (a trie), so that `re` tries few alternatives.
    """
    tree: dict[str, Any] = {}
    for word in words:
        node = tree
        for character in word:
            node = node.setdefault(character, {})

        node[""] = {}

    def written(node: dict[str, Any]) -> str:
        branches = [
            re.escape(character) + written(rest) for character, rest in node.items() if character
        ]
        if not branches:
            return ""
        return f"(?:{'|'.join(branches)}){'?' if '' in node else ''}"

    return written(tree)


# A token starts at the start of a word, or after an escape of JSON such as \n. The lookahead skips
# short words quickly.
_PREFIX: Final = on_use(
    lambda: (
        rf"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))(?=[A-Za-z0-9_.~+/=-]{{11}})(?:{one_of(_BY_PREFIX)})"
    )
)


def may_begin_token(searched: SearchedText) -> bool:
    """Return whether a token may stand somewhere in a text."""
    # With a backslash before each, as it may have stood after one: too many begin then, and none
    # too few.
    words = "\\".join(("", *dict.fromkeys(searched.long_runs)))
    is_likely = _PREFIX.should_search(words) or any(prefix in words for prefix in _BY_PREFIX)
    return is_likely and any(rest or kind.breaks_runs for _, kind, rest in _begun(words))


def find_tokens(searched: SearchedText) -> Iterator[tuple[int, int]]:
    """Yield the tokens in a text."""
    for start, kind, rest in _begun(searched.text):
        if rest is None:
            continue
        token = searched.text[start : rest.end()]
        if kind.mixed:
            is_token = mixes_letters_and_digits(token)
        else:
            # `sk-fading-circle-container` is a CSS class, not a key.
            is_token = not kind.in_run or looks_random(token)

        if is_token:
            yield start, rest.end()


def _begun(text: str) -> Iterator[tuple[int, _TokenFormat, re.Match[str] | None]]:
    """Yield where a token seems to begin, of which kind, and what follows if that fits as well."""
    at = 0
    while prefix := _PREFIX().search(text, at):
        kind = _BY_PREFIX[prefix[0]]
        within_run = kind.in_run and text[prefix.start() - 1 : prefix.start()] in ("-", "_")
        rest = None if within_run else re.compile(kind.rest).match(text, prefix.end())
        # Continue after what was read, even if it is not a token, which keeps this linear.
        at = prefix.end() if rest is None else rest.end()
        yield prefix.start(), kind, rest
