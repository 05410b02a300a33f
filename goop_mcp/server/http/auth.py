"""Check the token of each request before its body is read, and put its caller into the scope."""

import logging
from collections.abc import Mapping
from typing import Protocol

from mcp.server.auth.middleware.auth_context import auth_context_var
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from goop_mcp.current_request import ClientMessage, answering, current_request, request_id
from goop_mcp.server.http.error_responses import refusal
from goop_mcp.server.http.principal import Caller, address_of, limited_as
from goop_mcp.server.http.rate_limit import RateLimiter
from goop_mcp.server.http.tokens import TokenHolder, Tokens
from goop_mcp.server.permissions import name_of_caller
from goop_mcp.server.scopes import READ

__all__ = ["BearerAuth", "StaticTokens", "Verifier", "VerifierChain", "VerifierUnavailableError"]

_logger = logging.getLogger(__name__)

_SCHEME = "bearer "
_UNKNOWN = "this server needs a token that it knows; send the header Authorization: Bearer TOKEN"
_MAY_NOT_READ = "this token may not read; ask whoever runs the server for one with the scope read"
_UNREACHABLE = "the keys of the issuer are unavailable, so no token can be checked; try again"


class VerifierUnavailableError(Exception):
    """Raised if a token cannot be verified at present."""


class Verifier(Protocol):
    """Finds the caller that a token belongs to."""

    def recall(self, token: str) -> Caller | None:
        """Return the caller of a token that is known without any waiting, else None."""
        ...

    async def verify_token(self, token: str) -> Caller | None:
        """Return the caller of a token, None if the token is not valid here.

        Raises VerifierUnavailableError.
        """
        ...


class StaticTokens:
    """The tokens from a setting or a file."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    def replace(self, tokens: Tokens) -> None:
        """Know `tokens` from the next request on, and the former ones no more."""
        self._tokens = tokens

    @property
    def holders(self) -> tuple[TokenHolder, ...]:
        """The holders of all tokens."""
        return self._tokens.holders

    async def verify_token(self, token: str) -> Caller | None:
        """Return the caller of a token, None for an unknown token."""
        return self.recall(token)

    def recall(self, token: str) -> Caller | None:
        """Return the caller of a token, None for an unknown token."""
        holder = self._tokens.holder(token)
        if holder is None:
            return None
        return Caller(
            token="", client_id=holder.name, scopes=sorted(holder.scopes), tenant=holder.tenant
        )


class VerifierChain:
    """Several verifiers, asked in order."""

    def __init__(self, *verifiers: Verifier) -> None:
        self._verifiers = verifiers

    def recall(self, token: str) -> Caller | None:
        """Return the caller from the first verifier that knows the token without waiting."""
        return next(
            (caller for each in self._verifiers if (caller := each.recall(token)) is not None), None
        )

    async def verify_token(self, token: str) -> Caller | None:
        """Return the caller from the first verifier that knows the token."""
        for verifier in self._verifiers:
            if (caller := await verifier.verify_token(token)) is not None:
                return caller
        return None


class BearerAuth:
    """Answers 401 to a request without a valid token, 403 to a token without the scope read."""

    def __init__(
        self,
        app: ASGIApp,
        verifier: Verifier,
        rates: RateLimiter,
        *,
        metadata_url: str | None = None,
    ) -> None:
        """Let `rates` limit how often an address may guess.

        `metadata_url` leads OAuth clients to the issuer of tokens; None without one.
        """
        self._app = app
        self._verifier = verifier
        self._rates = rates
        self._hint = f', resource_metadata="{metadata_url}"' if metadata_url else ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        # A missing token becomes an empty one, which is verified like a wrong one: in the same
        # time, by the same steps.
        given = Headers(scope=scope).getlist("authorization")
        is_bearer = len(given) == 1 and given[0].lower().startswith(_SCHEME)
        token = given[0][len(_SCHEME) :].strip(" ") if is_bearer else ""

        address = limited_as(scope)
        refused: Response | None = None
        caller = self._verifier.recall(token)
        if caller is None:
            # Each invalid token costs its address one request of its rate. An address with none
            # left is refused before the verification, which may be expensive.
            refused = self._rates.refusal(address, take=False)
            try:
                caller = None if refused is not None else await self._verifier.verify_token(token)
            except VerifierUnavailableError:
                refused = self._rates.refusal(address) or refusal(
                    503, "issuer_unreachable", _UNREACHABLE, headers={"Retry-After": "10"}
                )

        if caller is None:
            refused = refused or self._rates.refusal(address)
            if refused is None:
                # Logged after the rate limit, so that guessing cannot fill the disk.
                _logger.warning(
                    "refused a request from %s without a token that is known", address_of(scope)
                )
                refused = refusal(
                    401, "invalid_token", _UNKNOWN, headers=self._challenge("invalid_token")
                )

            await refused(scope, receive, send)
        elif READ not in caller.scopes:
            headers = self._challenge("insufficient_scope", scope=READ)
            await refusal(403, "insufficient_scope", _MAY_NOT_READ, headers=headers)(
                scope, receive, send
            )
        else:
            # The SDK binds sessions to the user, and passes it on to the handlers of the request.
            user = scope["user"] = AuthenticatedUser(caller)
            before = auth_context_var.set(user)
            try:
                request = current_request() or ClientMessage(request_id())
                with answering(request._replace(caller=name_of_caller())):
                    await self._app(scope, receive, send)
            finally:
                auth_context_var.reset(before)

    def _challenge(self, error: str, *, scope: str | None = None) -> Mapping[str, str]:
        wanted = f', scope="{scope}"' if scope else ""
        return {"WWW-Authenticate": f'Bearer error="{error}"{wanted}{self._hint}'}
