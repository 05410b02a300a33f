"""A small issuer of tokens on this machine, with real keys."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm
from pydantic import JsonValue

RESOURCE: Final = "https://goop.example/mcp"


class Key:
    """A pair of keys with an id."""

    def __init__(self, id: str) -> None:
        self.id = id
        self.private = rsa.generate_private_key(public_exponent=65_537, key_size=2048)

    def published(self) -> dict[str, JsonValue]:
        key: dict[str, JsonValue] = json.loads(RSAAlgorithm.to_jwk(self.private.public_key()))
        return {**key, "kid": self.id, "use": "sig", "alg": "RS256"}


class Issuer:
    """Publishes its keys at `jwks_url`, and issues tokens with any claims."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.jwks_url = f"{self.url}/keys"
        self.keys = [Key("first")]
        self.fetches = 0
        self.answer: Callable[[BaseHTTPRequestHandler], None] = self.publish
        """What is sent to whoever asks for the keys."""

    def publish(self, to: BaseHTTPRequestHandler) -> None:
        """Send the keys as they are."""
        answer(to, json.dumps({"keys": [key.published() for key in self.keys]}).encode())

    def variables(self) -> dict[str, str]:
        """Return the settings by which a server believes this issuer."""
        return {
            "GOOP_OAUTH_ISSUER": self.url,
            "GOOP_OAUTH_JWKS_URL": self.jwks_url,
            "GOOP_RESOURCE_URL": RESOURCE,
        }

    def token(
        self, *, key: Key | None = None, algorithm: str = "RS256", **claims: JsonValue
    ) -> str:
        """Sign a token with `claims` in place of the usual ones; None leaves one out."""
        now = int(time.time())
        usual: dict[str, JsonValue] = {
            "iss": self.url,
            "aud": RESOURCE,
            "sub": "alice",
            "client_id": "tests",
        }
        usual |= {"scope": "read", "exp": now + 600}
        kept = {name: value for name, value in (usual | claims).items() if value is not None}
        signer = key or self.keys[-1]

        return jwt.encode(kept, signer.private, algorithm=algorithm, headers={"kid": signer.id})


def answer(to: BaseHTTPRequestHandler, body: bytes, *, status: int = 200, **headers: str) -> None:
    """Send a whole answer."""
    to.send_response(status)
    for name, value in headers.items():
        to.send_header(name, value)

    to.send_header("Content-Type", "application/json")
    to.send_header("Content-Length", str(len(body)))
    to.end_headers()
    to.wfile.write(body)


@contextmanager
def issuing() -> Iterator[Issuer]:
    """Run an issuer on a free port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            issuer.fetches += 1
            with suppress(OSError):
                issuer.answer(self)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

    with Server(("127.0.0.1", 0), Handler) as server:
        issuer = Issuer(server.server_address[1])
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()

        try:
            yield issuer
        finally:
            server.shutdown()
            thread.join()
