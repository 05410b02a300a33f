"""Tokens of an issuer: signed for this server and valid, or refused like any unknown token."""

import base64
import hmac
import json
import time
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import anyio
import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from pydantic import JsonValue

from goop_mcp.server.http.key_sets import KeySet, KeySetUnavailableError
from tests.server.connections import PROTOCOL_MODES, connect, target, text_of
from tests.server.http.issuer import RESOURCE, Issuer, Key, answer, issuing
from tests.server.http.requests import ask, refusal_of
from tests.server.http.serving import Served, served

METADATA = "https://goop.example/.well-known/oauth-protected-resource/mcp"


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with issuing() as running:
        yield running


@pytest.fixture(scope="module")
def server(issuer: Issuer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("project")
    options = ("--transport", "http", "--rate-limit", "0")
    with served(
        *options, project=folder, GOOP_TOKEN="our-own-of-the-tests", **issuer.variables()
    ) as running:
        yield running


@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
def test_a_token_of_the_issuer_opens_what_its_scopes_allow(
    server: Served, issuer: Issuer, protocol_mode: str
) -> None:
    with connect(target(server, "streamable-http", token=issuer.token()), protocol_mode) as reader:
        assert "save_memory" not in reader.tools()
        refused = reader.tool("save_memory", title="A title", content="Something.")
        assert "needs the scope write" in text_of(refused)

    with connect(
        target(server, "sse", token=issuer.token(scope="openid goop:read goop:write")),
        protocol_mode,
    ) as writer:
        assert not writer.tool("save_memory", title="A title", content="Something.").is_error


def test_a_token_of_the_server_is_valid_in_addition_to_those_of_the_issuer(server: Served) -> None:
    assert ask(server.mcp, token="our-own-of-the-tests").status_code == 200


def test_a_token_that_the_issuer_did_not_sign_for_this_server_now_is_refused(
    server: Served, issuer: Issuer
) -> None:
    past = int(time.time()) - 3_600
    wrong = {
        "another audience": issuer.token(aud="https://other.example/mcp"),
        "no audience": issuer.token(aud=None),
        "another issuer": issuer.token(iss="https://attacker.example"),
        "expired": issuer.token(exp=past),
        "without an end": issuer.token(exp=None),
        "nobody": issuer.token(sub=None),
        "an empty name": issuer.token(sub=""),
        "a blank name": issuer.token(sub="  "),
        "a name of several lines": issuer.token(sub="alice\nbob"),
        "a very long name": issuer.token(sub="a" * 256),
        "another algorithm than that of the key": issuer.token(algorithm="RS512"),
        "a header of lists in lists": _encoded(b"[" * 9_000) + ".a.b",
        "a header with a huge number": _encoded(b'{"alg": ' + b"1" * 9_000 + b"}") + ".a.b",
        "an end that is no number": issuer.token(exp=float("inf")),
        "not yet": issuer.token(nbf=int(time.time()) + 3_600),
        "another key under the same name": issuer.token(key=Key("first")),
        "an unknown key": issuer.token(key=Key("unknown")),
        "no signature": jwt.encode(
            {"iss": issuer.url, "aud": RESOURCE, "sub": "a"}, "", algorithm="none"
        ),
        "signed with what is public": _signed_with_public_key(issuer),
        "cut": issuer.token()[:-4],
        "three parts of nothing": "a.b.c",
        "very long": "a" * 10_000 + "." + "b" * 10_000 + ".c",
    }
    for what, token in wrong.items():
        assert refusal_of(ask(server.mcp, token=token)) == (401, "invalid_token"), what


def test_a_token_without_a_scope_of_ours_may_not_even_read(server: Served, issuer: Issuer) -> None:
    for scope in ("openid profile", "", "readx"):
        assert refusal_of(ask(server.mcp, token=issuer.token(scope=scope))) == (
            403,
            "insufficient_scope",
        )

    assert ask(server.mcp, token=issuer.token(scope=None, scp=["read"])).status_code == 200


def test_a_caller_without_a_token_reads_where_to_get_one(server: Served, issuer: Issuer) -> None:
    challenge = ask(server.mcp).headers["www-authenticate"]
    assert challenge == f'Bearer error="invalid_token", resource_metadata="{METADATA}"'
    answer = ask(f"{server.address}/.well-known/oauth-protected-resource/mcp", method="GET")
    assert answer.json() == {
        "resource": RESOURCE,
        "authorization_servers": [f"{issuer.url}/"],
        "scopes_supported": ["read", "write", "workspace"],
        "bearer_methods_supported": ["header"],
    }


def test_a_session_belongs_to_the_person_and_not_to_the_program(
    server: Served, issuer: Issuer
) -> None:
    session = ask(server.mcp, token=issuer.token(sub="alice")).headers["mcp-session-id"]
    listing: JsonValue = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    for person, status in (("alice", 200), ("bob", 404)):
        token = issuer.token(sub=person)
        assert (
            ask(server.mcp, token=token, body=listing, Mcp_Session_Id=session).status_code == status
        )


def test_an_issuer_that_cannot_be_reached_is_not_an_error_of_the_caller(tmp_path: Path) -> None:
    with issuing() as gone:
        variables, token = gone.variables(), gone.token()

    with served("--transport", "http", project=tmp_path, **variables) as server:
        answer = ask(server.mcp, token=token)
        assert refusal_of(answer) == (503, "issuer_unreachable")
        assert answer.headers["retry-after"]
        assert refusal_of(ask(server.mcp, token="anything")) == (401, "invalid_token")


def drip(to: BaseHTTPRequestHandler) -> None:
    to.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n")
    for number in range(10_000):
        to.wfile.write(b"X" if number % 20 else b"\r\nX-Header: ")
        time.sleep(0.2)


def drip_body(to: BaseHTTPRequestHandler) -> None:
    to.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    for _ in range(10_000):
        to.wfile.write(b" ")
        time.sleep(0.2)


SECRET_KEY: JsonValue = {
    "kty": "oct",
    "kid": "first",
    "k": "c2VjcmV0LXRoYXQtYm90aC1zaWRlcy1rbm93LTEyMzQ1Njc4",
}
BAD_KEY_SETS: Mapping[str, Callable[[BaseHTTPRequestHandler], None]] = {
    "an error": lambda to: answer(to, b"{}", status=500),
    "a page": lambda to: answer(to, b"<!DOCTYPE html><html><body>Sign in</body></html>"),
    "a redirect": lambda to: answer(to, b"", status=302, Location="http://127.0.0.1:1/keys"),
    "no keys": lambda to: answer(to, b'{"keys": []}'),
    "a list": lambda to: answer(to, b"[]"),
    "lists in lists": lambda to: answer(to, b"[" * 100_000),
    "a key that both sides know": lambda to: answer(
        to, json.dumps({"keys": [SECRET_KEY]}).encode()
    ),
    "too much": lambda to: answer(to, b'{"keys": []}' + b" " * 1_000_000),
    "an endless head": drip,
    "an endless body": drip_body,
}


@pytest.mark.parametrize("kind", BAD_KEY_SETS)
def test_a_bad_key_set_is_asked_for_once_in_a_while_and_logged_once(
    tmp_path: Path, kind: str
) -> None:
    options = ("--transport", "http", "--rate-limit", "0")
    with issuing() as issuer, served(*options, project=tmp_path, **issuer.variables()) as server:
        issuer.answer = BAD_KEY_SETS[kind]
        began = time.monotonic()
        for _ in range(40):
            answered = ask(server.mcp, token=issuer.token())
            assert refusal_of(answered) == (503, "issuer_unreachable")
            assert answered.headers["retry-after"] == "10"

        pauses = 1 + int((time.monotonic() - began) / 10)
        assert issuer.fetches <= pauses
        server.stop()
        lines = [line for line in server.stderr().splitlines() if not line.startswith("goop-mcp: ")]
        assert 1 <= len(lines) <= pauses
        assert all("the keys of the issuer cannot be fetched" in line for line in lines)


async def test_keys_are_fetched_again_after_a_pause_and_not_before() -> None:
    now = 0.0
    with issuing() as issuer:
        keys = KeySet(issuer.jwks_url, clock=lambda: now)
        issuer.answer = BAD_KEY_SETS["a page"]
        for _ in range(3):
            with pytest.raises(KeySetUnavailableError):
                await keys.key("first")

        issuer.answer = issuer.publish
        now = 9.9
        with pytest.raises(KeySetUnavailableError):
            await keys.key("first")

        now = 10.0
        assert await keys.key("first") is not None
        assert issuer.fetches == 2
        issuer.keys.append(Key("second"))
        assert await keys.key("second") is None
        now = 20.0
        assert await keys.key("second") is not None
        assert (await keys.key("unknown"), issuer.fetches) == (None, 3)
        now = 321.0
        issuer.answer = BAD_KEY_SETS["an error"]
        with pytest.raises(KeySetUnavailableError):
            await keys.key("first")


async def test_of_many_who_need_keys_one_fetches_them() -> None:
    with issuing() as issuer:
        keys = KeySet(issuer.jwks_url)
        async with anyio.create_task_group() as tasks:
            for _ in range(50):
                tasks.start_soon(keys.key, "first")

        assert issuer.fetches == 1


def test_an_address_without_requests_left_has_no_new_token_verified(
    tmp_path: Path,
) -> None:
    options = ("--transport", "http", "--rate-limit", "0.001")
    with issuing() as issuer, served(*options, project=tmp_path, **issuer.variables()) as server:
        known, fresh = issuer.token(sub="alice"), issuer.token(sub="bob")
        assert ask(server.mcp, token=known).status_code == 200
        assert refusal_of(ask(server.mcp, token=issuer.token(aud="other"))) == (
            401,
            "invalid_token",
        )
        assert refusal_of(ask(server.mcp, token=fresh)) == (429, "too_many_requests")
        # It is alice's own bucket that is empty, not that of the address.
        assert refusal_of(ask(server.mcp, token=known)) == (429, "too_many_requests")

    with (
        issuing() as issuer,
        served("--transport", "http", project=tmp_path, **issuer.variables()) as server,
    ):
        known, fresh = issuer.token(sub="alice"), issuer.token(sub="bob")
        assert ask(server.mcp, token=known).status_code == 200
        while ask(server.mcp, token="a.b.c").status_code == 401:
            pass

        assert [ask(server.mcp, token=known).status_code for _ in range(3)] == [200] * 3


def _signed_with_public_key(issuer: Issuer) -> str:
    """Return a token that a server takes which lets the token choose how it is checked."""
    public = issuer.keys[0].private.public_key()
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    claims = {
        "iss": issuer.url,
        "aud": RESOURCE,
        "sub": "a",
        "scope": "read",
        "exp": int(time.time()) + 600,
    }
    parts = [
        _encoded(json.dumps(part).encode())
        for part in ({"alg": "HS256", "typ": "JWT", "kid": "first"}, claims)
    ]
    signature = hmac.digest(pem, ".".join(parts).encode(), "sha256")

    return ".".join([*parts, _encoded(signature)])


def _encoded(part: bytes) -> str:
    return base64.urlsafe_b64encode(part).rstrip(b"=").decode()
