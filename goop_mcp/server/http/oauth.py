"""Accept tokens that an issuer signed for this server (OAuth 2.1, RFC 9068 and RFC 9728)."""

import logging
from collections import OrderedDict
from collections.abc import Mapping
from hashlib import sha256
from time import time
from typing import Any, Final

import jwt
from mcp.server.auth.routes import build_resource_metadata_url
from mcp.shared.auth import ProtectedResourceMetadata
from pydantic import AnyHttpUrl
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from goop_mcp.server.http.auth import VerifierUnavailableError
from goop_mcp.server.http.key_sets import KeySet, KeySetUnavailableError
from goop_mcp.server.http.principal import Caller
from goop_mcp.server.http.settings import Issuer
from goop_mcp.server.scopes import DEFAULT_SCOPES, SCOPES
from goop_mcp.settings import DEFAULT_TENANT

__all__ = ["IssuedTokens", "metadata_route", "metadata_url"]

_LEEWAY: Final = 30
_PARTS: Final = 3
_LONGEST: Final = 16_384
_LONGEST_NAME: Final = 255
_PREFIX: Final = "goop:"
_REMEMBERED: Final = 60.0
_MOST_REMEMBERED: Final = 10_000

_logger = logging.getLogger(__name__)


class IssuedTokens:
    """Verifies tokens of one issuer, whose keys are fetched when they are needed."""

    def __init__(self, issuer: Issuer) -> None:
        self._issuer = issuer
        self._keys = KeySet(issuer.jwks_url)
        # Callers by the digest of a valid token, with the time until which that counts.
        self._good: OrderedDict[bytes, tuple[float, Caller]] = OrderedDict()

    def recall(self, token: str) -> Caller | None:
        """Return the caller of a token that was verified within the last minute and is valid."""
        until, caller = self._good.get(_digest(token), (0.0, None))
        return caller if time() < until else None

    async def verify_token(self, token: str) -> Caller | None:
        """Return the caller of a token, None if it has expired or was not signed for this server.

        Raises VerifierUnavailableError if the issuer's keys are not available.
        """
        if token.count(".") != _PARTS - 1 or len(token) > _LONGEST:
            return None

        try:
            id = jwt.get_unverified_header(token).get("kid")
            key = await self._keys.key(id) if isinstance(id, str) else None
            if key is None:
                raise jwt.InvalidTokenError("the token names no key of the issuer")

            # The algorithms are those of the key, never the one that the token names: otherwise a
            # token could choose to be verified by another algorithm than it was meant for.
            claims: Mapping[str, Any] = jwt.decode(
                token,
                key.key,
                algorithms=key.algorithms,
                issuer=self._issuer.url,
                audience=self._issuer.audience,
                leeway=_LEEWAY,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
            caller = self._caller(claims)
        except KeySetUnavailableError as error:
            raise VerifierUnavailableError from error
        except (jwt.PyJWTError, ValueError, TypeError, ArithmeticError, RecursionError) as error:
            # The header of a token is read before its signature is verified, and can hold anything.
            _logger.info("refused a token of the issuer: %s", type(error).__name__)
            return None

        if caller is not None:
            # Kept for a minute, as verifying a signature takes longer than the rest of a request.
            until = min(time() + _REMEMBERED, (caller.expires_at or 0) + _LEEWAY)
            self._good[_digest(token)] = until, caller
            if len(self._good) > _MOST_REMEMBERED:
                self._good.popitem(last=False)

        return caller

    def _caller(self, claims: Mapping[str, Any]) -> Caller | None:
        tenant_claim = self._issuer.tenant_claim
        tenant = DEFAULT_TENANT if tenant_claim is None else _name(claims.get(tenant_claim))
        subject = _name(claims["sub"])
        if subject is None:
            _logger.warning("refused a token of the issuer: its claim 'sub' names nobody")
            return None
        if tenant is None:
            _logger.warning(
                "refused a token of the issuer: its claim %r names no tenant", tenant_claim
            )
            return None

        # Scopes may have a prefix, as other services use the same issuer: `goop:read` is `read`.
        given = claims.get("scope", claims.get("scp"))
        listed = given.split() if isinstance(given, str) else given
        named = listed if isinstance(listed, list) else []
        known = [each.removeprefix(_PREFIX) for each in named if isinstance(each, str)]

        return Caller(
            token="",
            client_id=_name(claims.get("client_id")) or _name(claims.get("azp")) or subject,
            scopes=[each for each in SCOPES if each in known],
            expires_at=int(claims["exp"]),
            resource=self._issuer.audience,
            subject=subject,
            claims={"iss": claims["iss"]},
            tenant=tenant,
        )


def _digest(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogateescape")).digest()


def _name(claim: object) -> str | None:
    """Return a claim if it is a printable name, else None: names go into logs and limits."""
    is_name = (
        isinstance(claim, str)
        and 0 < len(claim) <= _LONGEST_NAME
        and claim.isprintable()
        and claim.strip()
    )
    return claim if isinstance(claim, str) and is_name else None


def metadata_url(issuer: Issuer) -> str:
    """Return the address of the metadata that names the issuer."""
    return str(build_resource_metadata_url(AnyHttpUrl(issuer.resource_url)))


def metadata_route(issuer: Issuer) -> Route:
    """Return the route of the metadata. Unlike the SDK's, it allows no pages of other origins."""
    metadata = ProtectedResourceMetadata(
        resource=AnyHttpUrl(issuer.resource_url),
        authorization_servers=[AnyHttpUrl(issuer.url)],
        # Clients ask for every scope that is listed, so those in no default are not.
        scopes_supported=[each for each in SCOPES if each in DEFAULT_SCOPES],
        bearer_methods_supported=["header"],
    )
    written = metadata.model_dump(mode="json", exclude_none=True)

    async def serve(_: Request) -> Response:
        return JSONResponse(written)

    path = AnyHttpUrl(metadata_url(issuer)).path or "/"

    return Route(path, serve, methods=["GET"])
