"""Values that are secrets because their name contains a service: `ALGOLIA_KEY=…`, `heroku: …`.

Such a token has letters and digits like many other values. It counts as a secret if it has exactly
the length of the service's tokens. The lengths come from the documentation of the services and the
default rules of secret scanners.
"""

import re
from collections.abc import Iterator
from typing import Final

from goop_mcp.redaction.on_use import on_use
from goop_mcp.redaction.searched import SearchedText
from goop_mcp.redaction.tokens import one_of
from goop_mcp.redaction.values import mixes_letters_and_digits

__all__ = ["find_of_services", "may_name_service"]

_UUID: Final = 36
_LENGTHS: Final[dict[str, tuple[int, ...]]] = {
    "adafruit": (32,),
    "adobe": (32,),
    "airtable": (17,),
    "algolia": (32,),
    "alibaba": (30,),
    "artifactory": (64, 73),
    "asana": (16, 32),
    "atlassian": (24,),
    "beamer": (46,),
    "bintray": (64, 73),
    "bitbucket": (32, 64),
    "bittrex": (32,),
    "cloudflare": (37, 40),
    "codecov": (32, _UUID),
    "cohere": (40,),
    "coinbase": (64,),
    "confluence": (24,),
    "confluent": (16, 64),
    "contentful": (43,),
    "contribsys": (17,),
    "datadog": (32, 40),
    "discord": (18, 32, 64),
    "drone": (32,),
    "dropbox": (15, 64),
    "etsy": (24,),
    "facebook": (32,),
    "fastly": (32,),
    "finicity": (20, 32),
    "finnhub": (20,),
    "flickr": (32,),
    "freshbooks": (64,),
    "gitter": (40,),
    "gocardless": (45,),
    "heroku": (_UUID,),
    "hubspot": (_UUID,),
    "intercom": (60,),
    "jfrog": (64, 73),
    "jira": (24,),
    "kraken": tuple(range(80, 91)),
    "kucoin": (24, _UUID),
    "launchdarkly": (40,),
    "linear": (32,),
    "linkedin": (14, 16),
    "linked_in": (14, 16),
    "linked-in": (14, 16),
    "lob": (40,),
    "looker": (20, 24),
    "mailchimp": (32, 36, 37),
    "mailgun": (32, 50),
    "mattermost": (26,),
    "meraki": (40,),
    "messagebird": (25, _UUID),
    "message_bird": (25, _UUID),
    "message-bird": (25, _UUID),
    "netlify": tuple(range(40, 47)),
    "new_relic": (32, 64),
    "new-relic": (32, 64),
    "newrelic": (32, 64),
    "new-york-times": (32,),
    "newyorktimes": (32,),
    "nytimes": (32,),
    "okta": (42,),
    "pagerduty": (20,),
    "plaid": (24, 30),
    "private-ai": (32,),
    "private_ai": (32,),
    "privateai": (32,),
    "rapidapi": (50,),
    "sendbird": (40, _UUID),
    "sentry": (64,),
    "snyk": (_UUID,),
    "sonar": (40, 44),
    "squarespace": (_UUID,),
    "sumo": (14, 64),
    "travis": (22,),
    "twilio": (32,),
    "twitch": (30,),
    "twitter": (25, *range(36, 66), *range(102, 123)),
    "xray": (64, 73),
    "yandex": (40,),
    "zendesk": (40,),
}
# Commits, releases and files have values of these lengths too.
_NO_SECRET: Final = on_use(
    r"sha|commit|revision|release|version|hash|digest|checksum|image|build|zone|url"
)
# Short names are part of other words: `global`, `bilinear`.
_SHORT: Final = 6


def _name() -> str:
    short = one_of(name for name in _LENGTHS if len(name) <= _SHORT)
    return rf"(?:(?<![a-z]){short}|{one_of(name for name in _LENGTHS if len(name) > _SHORT)})"


_SERVICE: Final = on_use(_name)
_ASSIGNED: Final = on_use(
    lambda: (
        rf"(?P<service>{_name()})(?P<name>[ \t\w.-]{{0,30}})"
        r"[ \t\"'`\\]{0,4}(?:=>|:{0,3}=|\|\||\?=|[=:,>(])[ \t\"'`\\=]{0,5}"
        r"(?P<value>[a-z0-9_=+/.~%:-]{12,160})"
    )
)


_DIGIT: Final = re.compile("[0-9]")


def may_name_service(searched: SearchedText) -> bool:
    """Return whether a text may hold a token of a service."""
    # Each token is long and has a digit. Few words are both, and to look for those is several times
    # faster than for each name.
    if _DIGIT.search("".join(searched.long_runs)) is None:
        return False
    lowered = searched.lowered
    # As for tokens: the pattern is for the few texts that hold such a word.
    return any(name in lowered for name in _LENGTHS) and _SERVICE().search(lowered) is not None


def find_of_services(searched: SearchedText) -> Iterator[tuple[int, int]]:
    """Yield the tokens that are assigned to names of services."""
    for found in _ASSIGNED().finditer(searched.lowered):
        value = found["value"].rstrip(".:,")
        has_length = len(value) in _LENGTHS[found["service"]]
        has_form = mixes_letters_and_digits(value) or value.isdecimal()
        if has_length and has_form and not _NO_SECRET().search(found["name"]):
            yield found.start("value"), found.end("value")
