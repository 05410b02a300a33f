"""Tokens of an issuer: signed for this server and still good, or refused like any other unknown token."""

import base64
import hmac
import json
import time
from collections.abc import Iterator
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from pydantic import JsonValue

from tests.server.connections import ERAS, connect, target, text_of
from tests.server.network.asking import ask, refusal_of
from tests.server.network.issuer import RESOURCE, Issuer, Key, issuing
from tests.server.network.serving import Served, served

METADATA = "https://goop.example/.well-known/oauth-protected-resource/mcp"


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with issuing() as running:
        yield running


@pytest.fixture(scope="module")
def server(issuer: Issuer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("project")
    options = ("--transport", "http", "--rate-limit", "0")
    with served(*options, project=folder, GOOP_TOKEN="our-own-of-the-tests", **issuer.variables()) as running:
        yield running


@pytest.mark.parametrize("era", ERAS)
def test_a_token_of_the_issuer_opens_what_its_scopes_allow(server: Served, issuer: Issuer, era: str) -> None:
    with connect(target(server, "streamable-http", token=issuer.token()), era) as reader:
        assert "save_memory" not in reader.tools()
        refused = reader.tool("save_memory", title="A title", content="Something.")
        assert "needs the scope write" in text_of(refused)
    with connect(target(server, "sse", token=issuer.token(scope="openid goop:read goop:write")), era) as writer:
        assert not writer.tool("save_memory", title="A title", content="Something.").is_error


def test_a_token_of_our_own_is_good_beside_those_of_the_issuer(server: Served) -> None:
    assert ask(server.mcp, token="our-own-of-the-tests").status_code == 200


def test_a_token_that_the_issuer_did_not_sign_for_this_server_now_is_refused(server: Served, issuer: Issuer) -> None:
    past = int(time.time()) - 3_600
    wrong = {
        "another audience": issuer.token(aud="https://other.example/mcp"),
        "no audience": issuer.token(aud=None),
        "another issuer": issuer.token(iss="https://attacker.example"),
        "expired": issuer.token(exp=past),
        "without an end": issuer.token(exp=None),
        "nobody": issuer.token(sub=None),
        "not yet": issuer.token(nbf=int(time.time()) + 3_600),
        "another key under the same name": issuer.token(key=Key("first")),
        "an unknown key": issuer.token(key=Key("unknown")),
        "no signature": jwt.encode({"iss": issuer.url, "aud": RESOURCE, "sub": "a"}, "", algorithm="none"),
        "signed with what is public": _signed_with_public_key(issuer),
        "cut": issuer.token()[:-4],
        "three parts of nothing": "a.b.c",
        "very long": "a" * 10_000 + "." + "b" * 10_000 + ".c",
    }
    for what, token in wrong.items():
        answer = ask(server.mcp, token=token)
        assert refusal_of(answer) == (401, "invalid_token"), what


def test_a_token_without_a_scope_of_ours_may_not_even_read(server: Served, issuer: Issuer) -> None:
    for scope in ("openid profile", "", "readx"):
        assert refusal_of(ask(server.mcp, token=issuer.token(scope=scope))) == (403, "insufficient_scope")
    assert ask(server.mcp, token=issuer.token(scope=None, scp=["read"])).status_code == 200


def test_who_has_no_token_is_told_where_to_get_one(server: Served, issuer: Issuer) -> None:
    challenge = ask(server.mcp).headers["www-authenticate"]
    assert challenge == f'Bearer error="invalid_token", resource_metadata="{METADATA}"'
    answer = ask(f"{server.address}/.well-known/oauth-protected-resource/mcp", method="GET")
    assert answer.json() == {
        "resource": RESOURCE,
        "authorization_servers": [f"{issuer.url}/"],
        "scopes_supported": ["read", "write", "workspace"],
        "bearer_methods_supported": ["header"],
    }


def test_a_session_belongs_to_the_person_and_not_to_the_program(server: Served, issuer: Issuer) -> None:
    session = ask(server.mcp, token=issuer.token(sub="alice")).headers["mcp-session-id"]
    listing: JsonValue = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    for person, status in (("alice", 200), ("bob", 404)):
        token = issuer.token(sub=person)
        assert ask(server.mcp, token=token, body=listing, Mcp_Session_Id=session).status_code == status


def test_an_issuer_that_cannot_be_reached_is_no_fault_of_the_caller(tmp_path: Path) -> None:
    with issuing() as gone:
        variables, token = gone.variables(), gone.token()
    with served("--transport", "http", project=tmp_path, **variables) as server:
        answer = ask(server.mcp, token=token)
        assert refusal_of(answer) == (503, "issuer_unreachable")
        assert answer.headers["retry-after"]
        assert refusal_of(ask(server.mcp, token="anything")) == (401, "invalid_token")


def _signed_with_public_key(issuer: Issuer) -> str:
    """Return a token that a server takes which lets the token choose how it is checked."""
    public = issuer.keys[0].private.public_key()
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    claims = {"iss": issuer.url, "aud": RESOURCE, "sub": "a", "scope": "read", "exp": int(time.time()) + 600}
    parts = [_encoded(json.dumps(part).encode()) for part in ({"alg": "HS256", "typ": "JWT", "kid": "first"}, claims)]
    signature = hmac.digest(pem, ".".join(parts).encode(), "sha256")
    return ".".join([*parts, _encoded(signature)])


def _encoded(part: bytes) -> str:
    return base64.urlsafe_b64encode(part).rstrip(b"=").decode()
