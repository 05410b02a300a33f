"""Believe an issuer: tokens that it signed for this server (OAuth 2.1, RFC 9068 and RFC 9728)."""

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

from goop_mcp.server.network.access import VerifierUnavailableError
from goop_mcp.server.network.callers import Caller
from goop_mcp.server.network.key_sets import KeySet, KeySetUnavailableError
from goop_mcp.server.network.settings import Issuer
from goop_mcp.server.scopes import SCOPES
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
    """The tokens of one issuer, whose keys are fetched when they are needed."""

    def __init__(self, issuer: Issuer) -> None:
        self._issuer = issuer
        self._keys = KeySet(issuer.jwks_url)
        # By the digest of a token that was good a moment ago, and until when that counts.
        self._good: OrderedDict[bytes, tuple[float, Caller]] = OrderedDict()

    def recall(self, token: str) -> Caller | None:
        """Return whose token it is if that was found out within the last minute and it has not expired since."""
        until, caller = self._good.get(_digest(token), (0.0, None))
        return caller if time() < until else None

    async def verify_token(self, token: str) -> Caller | None:
        """Return whose token it is, None for one that the issuer did not sign for this server or that has expired.

        Raises VerifierUnavailableError when the issuer's keys cannot be had.
        """
        if token.count(".") != _PARTS - 1 or len(token) > _LONGEST:
            return None

        try:
            caller = self._caller(await self._claims(token))
        except KeySetUnavailableError as error:
            raise VerifierUnavailableError from error
        except (jwt.PyJWTError, ValueError, TypeError, ArithmeticError, RecursionError) as error:
            # The header of a token is read before its signature, so it can hold anything.
            _logger.info("refused a token of the issuer: %s", type(error).__name__)
            return None

        if caller is not None:
            self._remember(token, caller)
        return caller

    async def _claims(self, token: str) -> Mapping[str, Any]:
        header = jwt.get_unverified_header(token)
        id = header.get("kid")
        key = await self._keys.key(id) if isinstance(id, str) else None
        if key is None:
            raise jwt.InvalidTokenError("the token names no key of the issuer")

        claims: Mapping[str, Any] = jwt.decode(
            token,
            key.key,
            algorithms=key.algorithms,
            issuer=self._issuer.url,
            audience=self._issuer.audience,
            leeway=_LEEWAY,
            options={"require": ["exp", "iss", "aud", "sub"]},
        )

        return claims

    def _caller(self, claims: Mapping[str, Any]) -> Caller | None:
        subject, tenant = _name(claims["sub"]), self._tenant(claims)
        if subject is None:
            _logger.warning("refused a token of the issuer: its claim 'sub' names nobody")
            return None
        if tenant is None:
            _logger.warning(
                "refused a token of the issuer: its claim %r names no tenant",
                self._issuer.tenant_claim,
            )
            return None

        return Caller(
            token="",
            client_id=_name(claims.get("client_id")) or _name(claims.get("azp")) or subject,
            scopes=_scopes(claims.get("scope", claims.get("scp"))),
            expires_at=int(claims["exp"]),
            resource=self._issuer.audience,
            subject=subject,
            claims={"iss": claims["iss"]},
            tenant=tenant,
        )

    def _tenant(self, claims: Mapping[str, Any]) -> str | None:
        if self._issuer.tenant_claim is None:
            return DEFAULT_TENANT
        return _name(claims.get(self._issuer.tenant_claim))

    def _remember(self, token: str, caller: Caller) -> None:
        until = min(time() + _REMEMBERED, (caller.expires_at or 0) + _LEEWAY)
        self._good[_digest(token)] = until, caller
        if len(self._good) > _MOST_REMEMBERED:
            self._good.popitem(last=False)


def _digest(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogateescape")).digest()


def _name(claim: object) -> str | None:
    """Return a claim that names somebody, None for anything else: it goes into logs and limits."""
    is_name = (
        isinstance(claim, str)
        and 0 < len(claim) <= _LONGEST_NAME
        and claim.isprintable()
        and claim.strip()
    )
    return claim if isinstance(claim, str) and is_name else None


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
