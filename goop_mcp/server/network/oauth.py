"""Believe an issuer: tokens that it signed for this server (OAuth 2.1, RFC 9068 and RFC 9728)."""

import logging
from collections.abc import Mapping
from typing import Any, Final

import anyio
import anyio.to_thread
import jwt
from mcp.server.auth.routes import build_resource_metadata_url
from mcp.shared.auth import ProtectedResourceMetadata
from pydantic import AnyHttpUrl
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from goop_mcp.server.network.access import VerifierUnavailableError
from goop_mcp.server.network.callers import Caller
from goop_mcp.server.network.settings import Issuer
from goop_mcp.server.scopes import SCOPES
from goop_mcp.settings import DEFAULT_TENANT

__all__ = ["IssuedTokens", "metadata_route", "metadata_url"]

# Signed with a key that only the issuer has; one that both sides know would let this server issue tokens too.
_ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
_LEEWAY: Final = 30
_PATIENCE: Final = 5.0
_THREADS: Final = 4
_PARTS: Final = 3
_LONGEST: Final = 16_384
_PREFIX: Final = "goop:"

_logger = logging.getLogger(__name__)


class IssuedTokens:
    """The tokens of one issuer. Its keys are fetched when first needed, and again when it signs with a new one."""

    def __init__(self, issuer: Issuer) -> None:
        self._issuer = issuer
        self._keys = jwt.PyJWKClient(issuer.jwks_url, timeout=_PATIENCE)
        # Those who wait for an issuer that does not answer must not take the threads of those who need none.
        self._threads = anyio.CapacityLimiter(_THREADS)

    async def verify_token(self, token: str) -> Caller | None:
        """Return whose token it is, None for one that the issuer did not sign for this server or that has expired.

        Raises VerifierUnavailableError when the issuer's keys cannot be had.
        """
        if token.count(".") != _PARTS - 1 or len(token) > _LONGEST:
            return None
        try:
            return self._caller(await anyio.to_thread.run_sync(self._claims, token, limiter=self._threads))
        except jwt.PyJWKClientConnectionError as error:
            _logger.error("the keys of the issuer cannot be fetched from %s: %s", self._issuer.jwks_url, error)
            raise VerifierUnavailableError from error
        except jwt.PyJWTError as error:
            _logger.info("refused a token of the issuer: %s", type(error).__name__)
            return None

    def _claims(self, token: str) -> Mapping[str, Any]:
        claims: Mapping[str, Any] = jwt.decode(
            token,
            self._keys.get_signing_key_from_jwt(token).key,
            algorithms=_ALGORITHMS,
            issuer=self._issuer.url,
            audience=self._issuer.audience,
            leeway=_LEEWAY,
            options={"require": ["exp", "iss", "aud", "sub"]},
        )
        return claims

    def _caller(self, claims: Mapping[str, Any]) -> Caller | None:
        tenant = self._tenant(claims)
        if tenant is None:
            _logger.warning("refused a token of the issuer: its claim %r names no tenant", self._issuer.tenant_claim)
            return None
        return Caller(
            token="",
            client_id=str(claims.get("client_id") or claims.get("azp") or claims["sub"]),
            scopes=_scopes(claims.get("scope", claims.get("scp"))),
            expires_at=int(claims["exp"]),
            resource=self._issuer.audience,
            subject=str(claims["sub"]),
            claims={"iss": claims["iss"]},
            tenant=tenant,
        )

    def _tenant(self, claims: Mapping[str, Any]) -> str | None:
        if self._issuer.tenant_claim is None:
            return DEFAULT_TENANT
        named = claims.get(self._issuer.tenant_claim)
        return named if isinstance(named, str) and named and named.isprintable() else None


def metadata_url(issuer: Issuer) -> str:
    """Return where clients read which issuer to ask for a token."""
    return str(build_resource_metadata_url(AnyHttpUrl(issuer.resource_url)))


def metadata_route(issuer: Issuer) -> Route:
    """Return the route that serves it. Other than the SDK's it lets in no page of any origin."""
    metadata = ProtectedResourceMetadata(
        resource=AnyHttpUrl(issuer.resource_url),
        authorization_servers=[AnyHttpUrl(issuer.url)],
        scopes_supported=list(SCOPES),
        bearer_methods_supported=["header"],
    )
    written = metadata.model_dump(mode="json", exclude_none=True)

    async def tell(_: Request) -> Response:
        return JSONResponse(written)

    path = AnyHttpUrl(metadata_url(issuer)).path or "/"
    return Route(path, tell, methods=["GET"])


def _scopes(given: object) -> list[str]:
    """Return the scopes of ours among those of a token, which may bear a prefix: `goop:read` is `read`."""
    named = given.split() if isinstance(given, str) else given if isinstance(given, list) else []
    known = [each.removeprefix(_PREFIX) for each in named if isinstance(each, str)]
    return [each for each in SCOPES if each in known]
