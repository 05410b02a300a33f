"""Forty different secrets in texts of agents, so that a leaked one can be identified."""

import random
import string
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

__all__ = ["Planted", "found_in", "plant"]

# The text before and after each kind. Pieces of known beginnings are put together at run time,
# so that no scanner takes this file for a leak. {0} is the secret itself; what it begins with comes
# from the second column.
_KINDS: Final = (
    ("AWS access key", "AKI" + "A", 16, "upper", "the log shows {0} twice"),
    ("AWS temporary key", "ASI" + "A", 16, "upper", "export AWS_ACCESS_KEY_ID={0}"),
    ("AWS secret key", "", 40, "mixed", "aws_secret_access_key = {0}"),
    ("GitHub token", "gh" + "p_", 36, "mixed", "git push with {0} worked"),
    ("GitHub fine-grained token", "github" + "_pat_", 60, "mixed", "GH_TOKEN: {0}"),
    ("GitLab token", "glp" + "at-", 20, "mixed", "the runner uses {0}."),
    (
        "PEM",
        "MII",
        64,
        "mixed",
        "-----BEGIN RSA PRIVATE" + " KEY-----\n{0}\n-----END RSA PRIVATE" + " KEY-----",
    ),
    ("OpenSSH key", "b3Bl", 64, "mixed", "-----BEGIN OPENSSH PRIVATE" + " KEY-----\n{0}"),
    (
        "JWT",
        "eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiIxIn0.",
        43,
        "mixed",
        "cookie session={0}; path=/",
    ),
    ("PostgreSQL password", "", 12, "mixed", "postgresql://app:{0}@db1:5432/shop"),
    ("MySQL password", "", 12, "mixed", "it connects to mysql://root:{0}@localhost/shop"),
    ("Redis password", "", 12, "mixed", "redis://:{0}@cache:6379/0"),
    ("AMQP password", "", 12, "mixed", "amqp://guest:{0}@queue/"),
    ("bearer", "", 32, "mixed", "curl -H 'Authorization: Bearer {0}' https://api.example"),
    ("basic authorization", "", 24, "mixed", "Authorization: Basic {0}"),
    ("api_key assignment", "", 24, "mixed", 'api_key="{0}"'),
    ("apikey in YAML", "", 24, "mixed", "apikey: {0}"),
    ("api key in JSON", "", 24, "mixed", '{{"api_key": "{0}"}}'),
    ("key in a query", "", 24, "mixed", "GET /v1/items?api_key={0}&page=2"),
    ("password in a shell", "", 12, "mixed", "export DB_PASSWORD={0}"),
    ("password in YAML", "", 12, "mixed", "password: {0}"),
    ("client secret", "", 24, "mixed", "clientSecret: '{0}'"),
    ("token in JSON", "", 24, "mixed", '{{"access_token": "{0}"}}'),
    ("Slack bot token", "xo" + "xb-123456789012-", 24, "mixed", "the bot has {0}"),
    ("Slack user token", "xo" + "xp-123456789012-", 24, "mixed", "SLACK_TOKEN={0}"),
    ("Slack hook", "T01234567/B01234567/", 24, "mixed", "https://hooks.slack.com/services/{0}"),
    ("Stripe live key", "sk" + "_live_", 24, "mixed", "stripe.api_key = {0}"),
    ("Stripe test key", "sk" + "_test_", 24, "mixed", "charged with {0}"),
    ("Stripe restricted key", "rk" + "_live_", 24, "mixed", "and {0} for reports"),
    ("OpenAI key", "sk-" + "proj-", 40, "mixed", "OPENAI_API_KEY={0}"),
    ("Anthropic key", "sk-" + "ant-api03-", 40, "mixed", "the model is called with {0}"),
    ("npm token", "np" + "m_", 36, "mixed", "//registry/:_authToken={0}"),
    ("PyPI token", "py" + "pi-AgEIcHlwaS5vcmcC", 40, "mixed", "uploaded with {0}"),
    ("Google key", "AI" + "zaSyD", 32, "mixed", "maps need {0}"),
    ("Hugging Face token", "h" + "f_", 34, "mixed", "HF_TOKEN is {0}"),
    ("SendGrid key", "S" + "G.a8Kd92LmQz71Xw4Tn0Vb3R.", 43, "mixed", "mail goes out with {0}"),
    ("private part", "", 16, "mixed", "<private>the door code is {0}</private>"),
    ("private part, never closed", "", 16, "mixed", "<private>my own note {0}"),
    ("connection string", "", 14, "mixed", "Server=db1;User=sa;Password={0};Database=shop"),
    ("XML element", "", 14, "mixed", "<db><password>{0}</password></db>"),
)


@dataclass(frozen=True, slots=True)
class Planted:
    """A text with a secret in it; `core` is the part of the secret that occurs nowhere else."""

    kind: str
    text: str
    core: str


def plant(seed: int) -> list[Planted]:
    """Return one of each kind; another `seed` gives other secrets."""
    chance = random.Random(seed)
    return [_planted(chance, *kind) for kind in _KINDS]


# The parameters are the columns of the table below, hence the noqa.
def _planted(  # noqa: PLR0917
    chance: random.Random, kind: str, beginning: str, length: int, letters: str, frame: str
) -> Planted:
    alphabet = (
        string.ascii_uppercase + string.digits
        if letters == "upper"
        else string.ascii_letters + string.digits
    )
    # One of each kind of character at the front: a secret that is a word would not be redacted.
    core = "".join(["Q7", *chance.choices(alphabet, k=length - 2)])
    return Planted(kind, frame.format(beginning + core), core)


def found_in(texts: Iterable[tuple[str, bytes]], planted: Iterable[Planted]) -> list[str]:
    """Return which secrets occur in which of the named `texts`, in plain or escaped form."""
    cores = [(each, each.core.encode()) for each in planted]
    return [
        f"{each.kind} in {name}" for name, text in texts for each, core in cores if core in text
    ]
