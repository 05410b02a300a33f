"""Secrets of every published kind are taken out, ordinary prose and code stay as they are."""

import re
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goop_mcp.redaction import PRIVATE, REDACTED, may_hold_secrets, redact
from goop_mcp.redaction.on_use import on_use
from tests.growth import assert_linear
from tests.repository import ROOT, project_files
from tests.secret_shapes import LOOK_ALIKES
from tests.secret_shapes import SECRETS as KNOWN

A24 = "a8Kd92LmQz71Xw4Tn0Vb3Rc6"
A40 = A24 + "Yp5Hs7Je1Gf9Ud2M"
BASE64 = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmU" * 3


@dataclass(frozen=True)
class Planted:
    """A text and the part of it that must be gone.

    Written in pieces, so that no scanner takes it for a real one.
    """

    kind: str
    before: str
    secret: str
    after: str = ""

    @property
    def text(self) -> str:
        return self.before + self.secret + self.after


PLANTED = (
    Planted("assignment in a shell", "export DB_PASSWORD=", "hunter2"),
    Planted("assignment of a word", "PASSWORD=", "swordfish"),
    Planted("assignment in YAML", "db:\n  password: ", "hunter2", "\n  host: db1"),
    Planted("assignment in JSON", '{"api_key": "', "tiger-4711", '", "region": "eu"}'),
    Planted(
        "assignment in JSON within JSON", '{"body": "{\\"password\\": \\"', "tiger-4711", '\\"}"}'
    ),
    Planted("assignment in Python", 'client = Client(apikey="', A24, '")'),
    Planted("assignment with spaces", "secret = ", A24),
    Planted("assignment in camel case", "clientSecret: '", A24, "',"),
    Planted("passphrase of words", 'passphrase: "', "correct horse battery staple", '"'),
    Planted("password in prose", "The Password: ", "Sw0rdf1sh", " is on the wall."),
    Planted("password in a sentence", "my password is ", "hunter2", ", keep it"),
    Planted("password in Markdown", "**Password:** ", "hunter2"),
    Planted("password in a table", "| password | ", "hunter2", " |"),
    Planted("flag", "login --user joe --password ", "hunter2", " --now"),
    Planted("environment in YAML", "API_TOKEN: ", "abcdefghijklmnop"),
    Planted("quote within quotes", "password: 'it''", "s-hunter2", "'"),
    Planted("PIN", "passwd=", "4711"),
    Planted("query of a URL", "GET /v1/items?page=2&token=", A24, "&sort=asc"),
    Planted("connection string", "Server=db1;User=sa;Password=", "Tiger!4711", ";Database=shop"),
    Planted("element", "<db><password>", "hunter2", "</password></db>"),
    Planted("attribute", '<db user="sa" password="', "hunter2", '"/>'),
    Planted("bearer", "curl -H 'Authorization: Bearer ", A40, "' https://api.example"),
    Planted("bearer alone", "it sent Bearer ", A24, " and got 403"),
    Planted("basic", "Authorization: Basic ", "dXNlcjpodW50ZXIy"),
    Planted("authorization without scheme", '"authorization": "', A24, '"'),
    Planted(
        "PEM",
        "-----BEGIN RSA " + "PRIVATE KEY-----\n",
        BASE64,
        "\n-----END RSA " + "PRIVATE KEY-----\n",
    ),
    Planted(
        "OpenSSH",
        "-----BEGIN OPENSSH " + "PRIVATE KEY-----\\n",
        BASE64,
        "\\n-----END OPENSSH PRIVATE KEY-----",
    ),
    Planted("PEM cut off", "-----BEGIN " + "PRIVATE KEY-----\n", BASE64),
    Planted("ssh key", "ssh-ed25519 ", "AAAAC3NzaC1lZDI1NTE5" + "AAAAIO" + A24, " joe@laptop"),
    Planted("AWS access key", "found ", "AKIA" + "IOSFODNN7EXAMPLE", " in the log"),
    Planted("AWS after an escape", '{"log": "key:\\n', "ASIA" + "IOSFODNN7EXAMPLE", '"}'),
    Planted(
        "AWS secret", "aws_secret_access_key = ", "wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYEXAMPLEKEY"
    ),
    Planted("AWS session", "aws_session_token=", "IQoJb3JpZ2luX2VjE" + A40),
    Planted("database URL", "postgresql://", "joe:hunter2", "@db1:5432/shop"),
    Planted("database URL with @", "mysql://", "root:p@ss", "@localhost/shop"),
    Planted("redis URL without user", "redis://", ":hunter2", "@cache:6379/0"),
    Planted("GitHub", "push with ", "ghp_" + A40[:36]),
    Planted("GitHub, fine-grained", "", "github_pat_" + A24[:22] + "_" + A40),
    Planted("GitLab", "token is ", "glpat-" + A24[:20]),
    Planted("Slack", "bot ", "xoxb-" + "123456789012-123456789012-" + A24),
    Planted("Slack hook", "https://hooks.slack.com/services/", "T01234567/B01234567/" + A24),
    Planted("Stripe", "charge with ", "sk_live_" + A24),
    Planted("OpenAI", "key ", "sk-proj-" + A40),
    Planted("Anthropic", "key ", "sk-ant-api03-" + A40 + "-AA"),
    Planted("npm", "//registry/:_auth ", "npm_" + A40[:36]),
    Planted("PyPI", "upload with ", "pypi-" + "AgEIcHlwaS5vcmcC" + A40),
    Planted("Google", "maps ", "AIza" + "SyD" + A40[:32]),
    Planted("Google OAuth", "", "ya29.a0" + A40),
    Planted("Hugging Face", "", "hf_" + A40[:34]),
    Planted("SendGrid", "", "SG." + A24[:22] + "." + A40),
    Planted("Vault", "", "hvs." + A40),
    Planted("JWT", "cookie ", "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0." + A40),
)

# What begins a secret again and again and never ends one.
SLOW_PIECES = (
    "sk-",
    "glpat-.",
    "SG.aaaaaaaaaaaaaaaa",
    "eyJaaaaaa.",
    "curl ",
    "curl -u ",
    "curl -u a",
    "mysql -p",
    "mysql a/mysql ",
    "machine x login y ",
    "default login a\n",
    "Cookie: a=",
    "a=b; ",
    "password",
    "password:",
    "key=",
    "key=aaa",
    "auth: https://",
    "machine x password y ",
    'auth="',
    "pass: ",
    "datadog ",
    "datadog=",
    "heroku-",
    "https://",
    "https://a:",
    "://a:b",
    "data:\n a: b\n",
    "kind: Secret\ndata:\n a:\n",
    "<key ",
    '<add key="password" ',
    "<token>",
    "--token ",
    "pk.aaaaa",
    "xoxb-.",
    "123456789012:",
    "1234567|",
    "M.a.",
    "A3-AAAAAA-",
    "authorization: bearer ",
    "-----BEGIN PRIVATE KEY-----",
    "<private>",
    "\\",
    "aws_secret",
    "_key_key",
)

ORDINARY = """\
token: the word is a CSS token
A token: what the lexer yields. The secret: there is none. Password: see the manual.
The token is 'IDENT', the next token: 'NUMBER'. max_tokens: 4096, token=4096
commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b, blob 9f86d08, \
tree 4e07408562bedb8b60ce05c1decfe3ad16b72230
id 123e4567-e89b-12d3-a456-426614174000, \
sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
src/auth/token.py, tests/secret/test_password.py:12, docs/api_key.md, C:\\work\\token.txt
def login(user: str, password: str, token: str | None = None) -> Token:
    password = getpass("Password: ")
    token = request.headers["x-token"]
    secret = os.environ["APP_SECRET"]
    api_key = settings.api_key
    return Session(token=token, secret=secret, api_key=key, password=password)
password: SecretStr = Field(min_length=8)
if token == "abc": raise ValueError("no token: expected one")
password=$DB_PASSWORD api_key: ${API_KEY} token: <your token> secret: {{ secret }} PASSWORD=********
{"type": "object", "properties": {"token": {"type": "string"}, \
"secret": {"description": "The secret of the client"}}}
"token": true, "password": null, "secret": "", token: undefined
Authorization: the user must be an admin. authorization = authorization[1].encode('ascii')
Bearer authentication is used; the bearer of the letter; Bearer token.
https://example.org:8080/path@x?y=1, http://localhost:3000/, \
git@github.com:org/repo.git, mailto:joe@example.org
<div class="sk-fading-circle-container sk-child-of-the-circle"> pypi-publish-to-the-index
-----BEGIN CERTIFICATE----- and -----BEGIN PUBLIC KEY----- are public.
We chose JWT with RS256; the private key stays in the vault. Private: false. \
private int x; <private-part>
eyJ is how a JWT begins; AKIA is how an access key begins; ghp_ is for people.
task: W2.T3, wave: 2, gate: Spec, password policy: 12 characters, secrets: none, tokens: 12
the password is wrong. the token is 'IDENT', the secret was lost; \
the token | meaning | table; use --token to pass it
the key: value pairs, keyword=value, monkey: banana, primary_key=True, foreign_key: user_id
"""


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.kind)
def test_a_planted_secret_is_gone_and_the_rest_stays(planted: Planted) -> None:
    redacted = redact(planted.text)

    assert planted.secret not in redacted.text
    assert REDACTED in redacted.text
    assert redacted.count == 1


@pytest.mark.parametrize("kind", KNOWN)
def test_a_secret_of_a_known_form_is_gone_and_the_rest_stays(kind: str) -> None:
    text, secret = KNOWN[kind]
    redacted = redact(text)

    before, _, after = text.partition(secret)
    assert secret not in redacted.text
    assert redacted.text.endswith(after)
    assert redacted.count >= 1
    assert redacted.text.startswith(before)
    assert redact(redacted.text).count == 0


def test_there_are_enough_forms_to_say_so() -> None:
    assert len(KNOWN) >= 150
    assert len(LOOK_ALIKES) >= 100
    counts = f"({len(KNOWN)} of {len(KNOWN)} forms in the test list; 0 of {len(LOOK_ALIKES)} lines"
    assert counts in (ROOT / "SECURITY.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("line", LOOK_ALIKES)
def test_what_only_looks_like_a_secret_stays(line: str) -> None:
    assert redact(line).text == line


@pytest.mark.parametrize("piece", SLOW_PIECES)
def test_the_time_grows_with_the_text_and_not_faster(piece: str) -> None:
    assert_linear(redact, lambda size: piece * (size // len(piece)), sizes=(40_000, 320_000))


def test_the_words_around_a_secret_stay() -> None:
    assert (
        redact("export DB_PASSWORD=hunter2\nmake run").text
        == f"export DB_PASSWORD={REDACTED}\nmake run"
    )
    assert (
        redact('{"api_key": "tiger-4711", "n": 1}').text == f'{{"api_key": "{REDACTED}", "n": 1}}'
    )
    assert redact("postgresql://joe:hunter2@db1/shop").text == f"postgresql://{REDACTED}@db1/shop"


@pytest.mark.parametrize("line", ORDINARY.splitlines())
def test_an_ordinary_line_stays_as_it_is(line: str) -> None:
    assert redact(line).text == line


def test_the_sources_of_this_package_hold_no_secret_and_stay_as_they_are() -> None:
    # Some show a secret that is taken out, or the form of an address with a password.
    shows_secrets = re.compile(r"redaction|memor|postgres|cli/demo|testing/corpus")
    sources = [
        path
        for path in project_files()
        if path.suffix == ".py" and path.is_relative_to(ROOT / "goop_mcp")
    ]
    texts = {
        path: path.read_text(encoding="utf-8")
        for path in sources
        if not shows_secrets.search(path.as_posix())
    }

    changed = [
        path.relative_to(ROOT).as_posix() for path, text in texts.items() if redact(text).count
    ]

    assert len(texts) > 100
    assert changed == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a <private>b</private> c", f"a {PRIVATE} c"),
        ("a <private>b", f"a {PRIVATE}"),
        ("a <PRIVATE>b</Private> c <private>d</private>", f"a {PRIVATE} c {PRIVATE}"),
        ("a <private>b <private>c</private> d</private> e", f"a {PRIVATE} e"),
        ("a &lt;private&gt;b&lt;/private&gt; c", f"a {PRIVATE} c"),
        ('a <private reason="x">b\nc</private> d', f"a {PRIVATE} d"),
        ("a </private> b", "a </private> b"),
        ("a <private/> b <privately> c", "a <private/> b <privately> c"),
    ],
)
def test_private_parts_are_hidden(text: str, shown: str) -> None:
    assert redact(text).text == shown
    assert redact(text).count == shown.count(PRIVATE)


def test_each_secret_is_counted() -> None:
    text = "PASSWORD=hunter2\nTOKEN=" + A24 + "\n<private>x</private> postgresql://a:b@c/d"

    assert redact(text).count == 4


SECRETS = st.sampled_from([planted.text for planted in PLANTED])
PIECES = st.one_of(
    SECRETS,
    st.text(max_size=12),
    st.sampled_from(
        [
            "<private>",
            "</private>",
            "password",
            "token=",
            ": ",
            '"',
            "'",
            "\\",
            "://",
            "@",
            "eyJ",
            "\n",
        ]
    ),
)


@given(st.lists(st.lists(PIECES, max_size=4).map("".join), max_size=4))
def test_texts_that_hold_no_secret_are_recognised_at_once(texts: list[str]) -> None:
    assert may_hold_secrets(texts) or all(redact(text).text == text for text in texts)
    assert not may_hold_secrets(["a plain note", "", "another one"])


def test_a_token_after_an_escaped_line_end_is_seen_as_the_first_word_as_well() -> None:
    # An access key of an example in the documentation of AWS.
    text = '{"log": "id:\\nASIAIOSFODNN7EXAMPLE"}'

    assert may_hold_secrets([text])
    assert redact(text).text == '{"log": "id:\\n[REDACTED]"}'


@given(st.lists(PIECES, max_size=12).map("".join))
def test_redacting_twice_changes_nothing_more_for_any_text(text: str) -> None:
    once = redact(text)

    assert redact(once.text).text == once.text
    assert redact(once.text).count == 0


@given(st.text(max_size=200), SECRETS)
def test_a_text_with_a_secret_on_a_line_of_its_own_is_never_kept_whole(
    text: str, secret: str
) -> None:
    assert redact(f"{text}\n{secret}\n").count >= 1


def test_a_pattern_is_compiled_for_the_texts_that_many_others_came_before() -> None:
    late = on_use("token")
    texts = ["x" * 1_000] * 150
    assert [late.should_search(each) for each in texts].index(True) == 100
    assert not on_use("token").should_search("x" * 1_000)
    # Compiled already, for a text that needed it.
    late = on_use("token")
    late()
    assert late.should_search("x")
