"""Ask each request for its token, before its body is read, and say whose it is to everything behind."""

import logging
from collections.abc import Mapping
from typing import Protocol

from mcp.server.auth.middleware.auth_context import auth_context_var
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from goop_mcp.current_request import Request, answering, current_request, request_id
from goop_mcp.server.network.callers import Caller, address_of, limited_as
from goop_mcp.server.network.rates import Rates
from goop_mcp.server.network.refusals import refusal
from goop_mcp.server.network.tokens import Tokens
from goop_mcp.server.permissions import name_of_caller
from goop_mcp.server.scopes import READ

__all__ = ["Access", "FirstKnown", "KnownTokens", "Verifier", "VerifierUnavailableError"]

_logger = logging.getLogger(__name__)

_SCHEME = "bearer "
_MAY_NOT_READ = "this token may not read; ask whoever runs the server for one with the scope read"
_UNREACHABLE = "the keys of the issuer cannot be had, so no token can be checked; try again"


class VerifierUnavailableError(Exception):
    """Raised when nobody can say at present whose token it is."""


class Verifier(Protocol):
    """Finds out whose token it is."""

    def recall(self, token: str) -> Caller | None:
        """Return whose token it is where that is known without any work, else None."""
        ...

    async def verify_token(self, token: str) -> Caller | None:
        """Return whose token it is, None when it opens nothing here.

        Raises VerifierUnavailableError.
        """
        ...


class KnownTokens:
    """The tokens that a setting or a file holds."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    async def verify_token(self, token: str) -> Caller | None:
        """Return whose token it is, None for an unknown one."""
        return self.recall(token)

    def recall(self, token: str) -> Caller | None:
        """Return whose token it is, None for an unknown one."""
        holder = self._tokens.holder(token)
        if holder is None:
            return None
        return Caller(
            token="", client_id=holder.name, scopes=sorted(holder.scopes), tenant=holder.tenant
        )


class FirstKnown:
    """Several ways to know a token, asked in turn."""

    def __init__(self, *verifiers: Verifier) -> None:
        self._verifiers = verifiers

    def recall(self, token: str) -> Caller | None:
        """Return the answer of the first who knows the token without any work."""
        return next(
            (caller for each in self._verifiers if (caller := each.recall(token)) is not None), None
        )

    async def verify_token(self, token: str) -> Caller | None:
        """Return the answer of the first who knows the token."""
        for verifier in self._verifiers:
            if (caller := await verifier.verify_token(token)) is not None:
                return caller
        return None


class Access:
    """Answers 401 where no token opens this server, 403 to one that may not even read."""

    def __init__(
        self, app: ASGIApp, verifier: Verifier, rates: Rates, *, metadata_url: str | None = None
    ) -> None:
        """Let `rates` limit how often an address may guess.

        `metadata_url` tells clients of OAuth where to get a token, None where there is no issuer.
        """
        self._app = app
        self._verifier = verifier
        self._rates = rates
        self._hint = f', resource_metadata="{metadata_url}"' if metadata_url else ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        # A missing token takes the same way as a wrong one, and the same time.
        token, address = _token(Headers(scope=scope)), limited_as(scope)
        refused: Response | None = None
        caller = self._verifier.recall(token)
        if caller is None:
            # Each token that opens nothing costs its address a request; who has none left is not
            # verified any more.
            refused = self._rates.refusal(address, take=False)
            try:
                caller = None if refused is not None else await self._verifier.verify_token(token)
            except VerifierUnavailableError:
                refused = self._rates.refusal(address) or _unreachable()

        if caller is None:
            answer = refused or self._rates.refusal(address) or self._unknown(scope)
            await answer(scope, receive, send)
        elif READ not in caller.scopes:
            headers = self._challenge("insufficient_scope", scope=READ)
            await refusal(403, "insufficient_scope", _MAY_NOT_READ, headers=headers)(
                scope, receive, send
            )
        else:
            await self._admit(caller, scope, receive, send)

    def _unknown(self, scope: Scope) -> Response:
        # Behind the limit, so that guessing fills no disk.
        _logger.warning(
            "refused a request from %s without a token that is known", address_of(scope)
        )
        description = (
            "this server needs a token that it knows; send the header Authorization: Bearer TOKEN"
        )
        return refusal(401, "invalid_token", description, headers=self._challenge("invalid_token"))

    async def _admit(self, caller: Caller, scope: Scope, receive: Receive, send: Send) -> None:
        # The SDK binds sessions to the user, and hands it on to whatever serves the request.
        user = scope["user"] = AuthenticatedUser(caller)
        before = auth_context_var.set(user)
        try:
            request = current_request() or Request(request_id())
            with answering(request._replace(caller=name_of_caller())):
                await self._app(scope, receive, send)
        finally:
            auth_context_var.reset(before)

    def _challenge(self, error: str, *, scope: str | None = None) -> Mapping[str, str]:
        wanted = f', scope="{scope}"' if scope else ""
        return {"WWW-Authenticate": f'Bearer error="{error}"{wanted}{self._hint}'}


def _unreachable() -> Response:
    return refusal(503, "issuer_unreachable", _UNREACHABLE, headers={"Retry-After": "10"})


def _token(headers: Headers) -> str:
    given = headers.getlist("authorization")
    if len(given) != 1 or not given[0].lower().startswith(_SCHEME):
        return ""
    return given[0][len(_SCHEME) :].strip(" ")
