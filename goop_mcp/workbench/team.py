"""The workbench of a team, next to MCP on one server: `goop-mcp serve --ui`."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from goop_mcp.context import AppContext
from goop_mcp.server.http.application import NetworkApplication
from goop_mcp.server.http.auth import VerifierUnavailableError
from goop_mcp.server.http.principal import Caller, limited_as
from goop_mcp.server.http.tenants import TooManyTenantsError
from goop_mcp.server.scopes import READ
from goop_mcp.workbench.access import Logins, SignedValues
from goop_mcp.workbench.app import Door, Workbench, root_of
from goop_mcp.workbench.forms import form_of

__all__ = ["team_pages"]

_ISSUED: Final = "issued"
_PURPOSE: Final = "digest"
_LONGEST_NAME: Final = 200

_logger = logging.getLogger(__name__)


def team_pages(server: NetworkApplication) -> ASGIApp:
    """Return the workbench for the people who have a token of `server`."""
    values = SignedValues(server.state_keys)

    # Who removes a token from the file ends its logins. One of an issuer cannot be taken back, but
    # its login ends with it.
    logins = Logins(
        values,
        still_valid=lambda login: (
            login.proof == _ISSUED
            or server.knows(
                login.name, lambda digest: values.is_mark(_PURPOSE, digest, login.proof)
            )
        ),
    )

    door = _TokenDoor(server, logins)

    @asynccontextmanager
    async def opened(name: str) -> AsyncIterator[AppContext]:
        try:
            tenant = await server.tenants.tenant(name)
        except TooManyTenantsError:
            raise HTTPException(503, headers={"Retry-After": "1"}) from None

        # A tenant with an open page is not idle, and is not closed for another one.
        with tenant:
            yield tenant.application

    door.workbench = Workbench(door, logins, opened, rates=server.rates, traffic=server.traffic)
    return door.workbench


class _TokenDoor(Door):
    """Admits whoever brings a token that the server knows; the cookie has its scopes and tenant."""

    template = "login_token.html"
    workbench: Workbench

    def __init__(self, server: NetworkApplication, logins: Logins) -> None:
        self._server, self._logins = server, logins
        self.routes = [
            Route("/login", self._form, methods=["GET"]),
            Route("/login", self._enter, methods=["POST"]),
        ]

    async def _form(self, request: Request) -> Response:
        self.workbench.limit(request, None)
        if self.workbench.login_of(request) is not None:
            return RedirectResponse(f"{root_of(request)}/", status_code=303)
        return self.workbench.login_page(status=200)

    async def _enter(self, request: Request) -> Response:
        self.workbench.limit(request, None)
        # Browsers send the origin with each form; HostOriginCheck has refused all foreign ones.
        token = (await form_of(request)).text("token").strip()

        verifier = self._server.verifier
        caller: Caller | None = None
        if verifier is not None:
            caller = verifier.recall(token)
            try:
                caller = caller or await verifier.verify_token(token)
            except VerifierUnavailableError:
                raise HTTPException(503, headers={"Retry-After": "10"}) from None

            # A wrong token costs its address another request.
            if caller is None:
                self.workbench.limit(request, None)

        if caller is None:
            _logger.warning("refused a login from %s", limited_as(request.scope))
            return self.workbench.login_page(error="token")
        if READ not in caller.scopes:
            return self.workbench.login_page(status=403, error="scope")

        digest = sha256(token.encode()).hexdigest()
        proof = self._logins.values.mark(_PURPOSE, digest)
        is_static = self._server.knows(
            caller.client_id, lambda known: self._logins.values.is_mark(_PURPOSE, known, proof)
        )
        name = " ".join(dict.fromkeys(filter(None, (caller.client_id, caller.subject))))
        login, cookie = self._logins.issue(
            name=name[:_LONGEST_NAME],
            scopes=frozenset(caller.scopes),
            tenant=caller.tenant,
            proof=proof if is_static else _ISSUED,
            expires=caller.expires_at,
        )

        # A proxy in front may terminate TLS, and names what the browser spoke.
        origin = request.headers.get("origin", "")
        is_secure = (
            origin.startswith("https://") or request.headers.get("x-forwarded-proto") == "https"
        )
        return self.workbench.enter(login, cookie, is_secure=is_secure)
