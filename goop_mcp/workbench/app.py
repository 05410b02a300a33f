"""The workbench as an ASGI application: logins, headers, CSRF tokens, pages and live changes."""

import logging
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from http import HTTPStatus
from typing import Final
from urllib.parse import quote
from weakref import WeakKeyDictionary

import anyio
import anyio.to_thread
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Lifespan, Message, Receive, Scope, Send

from goop_mcp.context import AppContext
from goop_mcp.current_request import ClientMessage, answering, current_request, request_id
from goop_mcp.errors import GoopError, StoreError
from goop_mcp.redaction import redact
from goop_mcp.server.actions import Needs
from goop_mcp.server.http.concurrency import ConcurrencyLimiter
from goop_mcp.server.http.principal import limited_as
from goop_mcp.server.http.rate_limit import RateLimiter
from goop_mcp.server.scopes import CONFIRM, SCOPES
from goop_mcp.workbench.access import LOGIN_SECONDS, Login, Logins
from goop_mcp.workbench.forms import form_of, query_of, with_whole_forms
from goop_mcp.workbench.live import LiveChanges
from goop_mcp.workbench.pages import ROUTES
from goop_mcp.workbench.parts import parts_here
from goop_mcp.workbench.rendering import StaticFiles, Templates
from goop_mcp.workbench.visits import NOTE, Form, Visit, WorkbenchAction, WorkbenchPage

__all__ = ["CONTENT_SECURITY_POLICY", "Door", "Workbench"]

CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self';"
    " form-action 'self'; frame-ancestors 'none'"
)

_HEADERS: Final = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    # With no-referrer browsers would send forms with the origin "null", which is refused.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
# A reply of 2 MiB, of which each byte may take three in a form, and the other fields.
_MOST_OF_A_BODY: Final = 8 * 1024 * 1024
# Of whoever is not logged in: a token, which an issuer may make long.
_MOST_OF_A_LOGIN_FORM: Final = 16_384
_MOST_OF_A_QUESTION: Final = 64 * 1024
_MOST_WORKERS: Final = 8
_MOST_LIVE: Final = 400
_MOST_LIVE_OF_A_LOGIN: Final = 40
# The first part of each address of a login without TLS, which is the path of its cookie.
_ROOT: Final = re.compile(r"/~[\w-]{22}(?=/|$)", re.ASCII)
_ROOT_BYTES: Final = 16

_logger = logging.getLogger(__name__)

Opened = Callable[[str], AbstractAsyncContextManager[AppContext]]


class Door:
    """How people log in; each kind of workbench has one."""

    template = "login_code.html"
    """The page for whoever is not logged in."""

    routes: Sequence[Route] = ()
    """Addresses of its own, which need no login."""

    is_read_only = False
    """Whether nobody can change anything here."""


class Workbench:
    """The pages for all tenants.

    `door` lets people in, `logins` knows those who are, `opened` yields the application of a tenant
    for the time of a request. `rates` limits how often a person or an address may ask.
    """

    def __init__(
        self,
        door: Door,
        logins: Logins,
        opened: Opened,
        *,
        rates: RateLimiter,
        traffic: ConcurrencyLimiter,
        lifespan: Lifespan[Starlette] | None = None,
    ) -> None:
        self._door, self._logins, self._opened, self._rates = door, logins, opened, rates
        self._templates, self._static = Templates(), StaticFiles()
        self._live: WeakKeyDictionary[AppContext, LiveChanges] = WeakKeyDictionary()
        # Pages read the database; calls of agents on the same server keep their own threads.
        self._workers = anyio.CapacityLimiter(_MOST_WORKERS)
        self._listed = [
            each for each in ROUTES if isinstance(each, WorkbenchPage) and each.label is not None
        ]
        routes = [
            Route("/static/{name}", self._file, methods=["GET"]),
            Route("/live", _LiveEndpoint(self), methods=["GET"]),
            Route("/logout", self._logout, methods=["POST"]),
            *door.routes,
            *(self._route(each) for each in ROUTES),
        ]
        app = Starlette(
            routes=routes,
            exception_handlers={HTTPException: self._refused, Exception: self._failed},
            lifespan=lifespan,
        )
        app.router.redirect_slashes = False
        self._pages = app
        # A form counts as in progress once it is there: slow ones must not keep others out.
        self._app = _with_headers(
            with_whole_forms(traffic.limited(app), most=self._most_of_a_form, refused=self._refused)
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._pages(scope, receive, send)
            return

        root = _ROOT.match(scope["path"])
        scope = {**scope, "root_path": "" if root is None else root[0]}
        await self._app(scope, receive, send)

    def _most_of_a_form(self, request: Request) -> int:
        return _MOST_OF_A_LOGIN_FORM if self.login_of(request) is None else _MOST_OF_A_BODY

    def login_of(self, request: Request) -> Login | None:
        """Return who asks, None for nobody who is logged in."""
        return self._logins.find(request.cookies, root=root_of(request))

    def enter(self, login: Login, cookie: str, *, is_secure: bool) -> Response:
        """Return the page that leads to the first one, with the cookie of a new login and its key.

        `is_secure`: the browser speaks TLS, so that the cookie can belong to this host. Without it
        the cookie belongs to a path that only this answer names.
        """
        root = "" if is_secure else f"/~{secrets.token_urlsafe(_ROOT_BYTES)}"
        values = {
            **self._layout(None, "", root=root),
            "key": self._logins.key_of(login),
            "may_confirm": login.may_confirm,
        }
        response = HTMLResponse(self._templates.render("welcome.html", values))
        self._logins.values.keep(response, cookie, root=root, seconds=LOGIN_SECONDS)
        _logger.info("%s logged in to the workbench", login.name)
        return response

    def login_page(self, *, root: str = "", status: int = 401, error: str = "") -> Response:
        """Return the page for somebody who is not logged in; `error` says what went wrong."""
        values = {**self._layout(None, "/", root=root), "error": error}
        return HTMLResponse(self._templates.render(self._door.template, values), status)

    def limit(self, request: Request, login: Login | None) -> None:
        """Raise HTTPException if this person, or this address, asks too often."""
        client = (
            limited_as(request.scope) if login is None else f"workbench {login.tenant} {login.id}"
        )
        if wait := self._rates.wait(client):
            raise HTTPException(429, headers={"Retry-After": str(int(wait) + 1)})

    async def live(self, request: Request, send: Send) -> None:
        """Serve the stream of changes of one page."""
        login = self.login_of(request)
        self.limit(request, login)
        if login is None:
            raise HTTPException(401)

        async with self._opened(login.tenant) as application:
            changes = self._changes(application)
            # Whoever opens many pages must leave some to the others of the tenant.
            own, all_pages = changes.pages[login.id], changes.pages.total()
            if own >= _MOST_LIVE_OF_A_LOGIN or all_pages >= _MOST_LIVE:
                raise HTTPException(503, headers={"Retry-After": "10"})

            known = request.query_params.get("stamp", "")[:64]
            await changes.serve(
                known,
                request.receive,
                send,
                login=login.id,
                is_valid=lambda: self._logins.is_valid(login),
            )

    def _changes(self, application: AppContext) -> LiveChanges:
        if application not in self._live:
            self._live[application] = LiveChanges(application)
        return self._live[application]

    def _route(self, each: WorkbenchPage | WorkbenchAction) -> Route:
        method = "GET" if isinstance(each, WorkbenchPage) else "POST"

        async def serve(request: Request) -> Response:
            login = self.login_of(request)
            self.limit(request, login)
            if login is None:
                root = root_of(request)
                kept = self._logins.values.find(request.cookies, root=root)
                return self.login_page(root=root, error="" if kept is None else "expired")

            form, given, confirms = Form({}), query_of(request), False
            if isinstance(each, WorkbenchAction):
                form = given = await self._checked_form(request, login)
                confirms = login.may_confirm and self._logins.is_key(
                    login, form.text("key").strip()
                )
            _require(each.needs, login, given)
            if CONFIRM in each.needs.scopes and not confirms:
                return self._ask_for_key(request, login, form)

            # For the log, and for the record of who wrote each revision.
            message = current_request() or ClientMessage(request_id())
            message = message._replace(caller=login.name, tool="workbench")
            async with self._opened(login.tenant) as application:
                changes = self._changes(application)
                with answering(message):
                    return await anyio.to_thread.run_sync(
                        partial(
                            self._answer,
                            each,
                            request,
                            changes,
                            login=login,
                            form=form,
                            confirms=confirms,
                        ),
                        limiter=self._workers,
                    )

        return Route(each.path, serve, methods=[method])

    def _answer(
        self,
        each: WorkbenchPage | WorkbenchAction,
        request: Request,
        changes: LiveChanges,
        *,
        login: Login,
        form: Form,
        confirms: bool,
    ) -> Response:
        """Return the answer of a page or action; runs on a worker thread."""
        address = each.of or each.path if isinstance(each, WorkbenchPage) else each.path

        root = root_of(request)
        kept = self._logins.values.find(request.cookies, root=root, suffix=NOTE)
        values = self._logins.values.open(NOTE, kept) if kept else None
        # Nobody sees the note of somebody who was logged in here before.
        note = values if values is not None and values.get("jti") == login.id else None

        # Read before the page is made: a change in between then counts as one after it.
        stamp = changes.read_stamp()

        visit = Visit(
            application=changes.application,
            login=login,
            confirms=confirms,
            root=root,
            params={name: str(value) for name, value in request.path_params.items()},
            query=query_of(request),
            form=form,
            templates=self._templates,
            values=self._logins.values,
            layout={
                **self._layout(login, address, root=root),
                "navigation": self._navigation(changes.application, address),
                "note": note,
                "stamp": stamp,
            },
        )

        try:
            response = each.show(visit) if isinstance(each, WorkbenchPage) else each.take(visit)
        except GoopError as error:
            _logger.warning("a page could not be made: %s", error)
            status = 503 if isinstance(error, StoreError) else 409
            response = visit.show("error.html", status=status, **_explained(status, str(error)))

        if note is not None:
            self._logins.values.keep(response, "", root=root, seconds=0, suffix=NOTE)
        return response

    def _navigation(self, application: AppContext, address: str) -> list[tuple[str, str]]:
        """Return address and label of each page, without those of parts that are not in use.

        The page that is shown is always there.
        """
        try:
            unused = parts_here(application).unused
        except StoreError:
            unused = ()
        return [
            (each.path, each.label or "")
            for each in self._listed
            if each.part not in unused or each.path == address
        ]

    def _layout(self, login: Login | None, address: str, *, root: str) -> dict[str, object]:
        return {
            "root": root,
            "navigation": [],
            "address": address,
            "login": login,
            "csrf": self._logins.values.mark("csrf", login.id) if login is not None else "",
            "version": self._static.version,
            "note": None,
            "stamp": "",
            "is_read_only": self._door.is_read_only,
        }

    async def _checked_form(self, request: Request, login: Login) -> Form:
        """Return the form of a request that a page of `login` has sent. Raises HTTPException."""
        form = await form_of(request)
        if not self._logins.values.is_mark("csrf", login.id, form.text("csrf")):
            raise HTTPException(403, "csrf")
        return form

    def _ask_for_key(self, request: Request, login: Login, form: Form) -> Response:
        """Return the page that sends `form` again with the key of the login, which it lacks."""
        fields = [each for each in form.pairs() if each[0] not in ("csrf", "key")]
        if sum(len(name) + len(value) for name, value in fields) > _MOST_OF_A_QUESTION:
            raise HTTPException(413)

        values = {
            **self._layout(login, "", root=root_of(request)),
            "action": quote(request.scope["path"]),
            "fields": fields,
            "was_wrong": bool(form.text("key")),
        }
        return HTMLResponse(self._templates.render("key.html", values), 403)

    async def _file(self, request: Request) -> Response:
        found = self._static.files.get(request.path_params["name"])
        if found is None:
            raise HTTPException(404)
        is_current = request.query_params.get("v") == self._static.version
        keep = "private, max-age=31536000, immutable" if is_current else "no-cache"
        return Response(found[0], media_type=found[1], headers={"Cache-Control": keep})

    async def _logout(self, request: Request) -> Response:
        login = self.login_of(request)
        self.limit(request, login)
        if login is not None:
            await self._checked_form(request, login)
            self._logins.end(login)
        root = root_of(request)
        response = self.login_page(root=root, status=200, error="out")
        self._logins.values.keep(response, "", root=root, seconds=0)
        return response

    async def _refused(self, request: Request, error: Exception) -> Response:
        refused = error if isinstance(error, HTTPException) else HTTPException(500)
        root = root_of(request)
        if refused.status_code == HTTPStatus.UNAUTHORIZED:
            return self.login_page(root=root)
        login = self.login_of(request)
        explained = _explained(refused.status_code, refused.detail)
        values = {**self._layout(login, "", root=root), **explained}
        text = self._templates.render("error.html", values)
        return HTMLResponse(text, refused.status_code, headers=refused.headers)

    async def _failed(self, request: Request, _: Exception) -> Response:
        # Starlette raises the error again after this answer, so that it is logged.
        return await self._refused(request, HTTPException(500))


class _LiveEndpoint:
    """The stream of changes; no response of Starlette, as it watches for the page to close."""

    def __init__(self, workbench: Workbench) -> None:
        self._workbench = workbench

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._workbench.live(Request(scope, receive), send)


def root_of(request: Request) -> str:
    """Return what the address of each page begins with, such as "/~nNEJ5jMcclfebrPYmPNL_c"."""
    return str(request.scope["root_path"])


def _require(needs: Needs, login: Login, given: Form) -> None:
    """Raise HTTPException if `login` lacks a scope for a page or action, or for a field of it."""
    lacking = needs.missing_for(given.given(), login.scopes)
    if scope := needs.missing(login.scopes) or (lacking and lacking[1]):
        raise HTTPException(403, scope)


def _with_headers(app: ASGIApp) -> ASGIApp:
    """Return `app` with the headers of each answer that keep pages of others and scripts out."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await app(scope, receive, send_with)

    return serve


_EXPLAINED: Final[Mapping[int, tuple[str, str]]] = {
    400: ("The form cannot be read", "Go back, reload the page and send it again."),
    403: ("Not allowed", "Go back, reload the page and send it again."),
    404: ("There is no such page", "The navigation has all pages."),
    405: ("Not possible here", "Use the buttons of the page."),
    408: ("The form came too slowly", "Go back and send it again."),
    409: ("That is not possible", ""),
    413: ("That is too large", "A reply has at most 2 MiB."),
    415: ("The form cannot be read", "Use the forms of the pages."),
    429: ("Too many requests", "Wait some seconds, then reload the page."),
    500: ("The server made an error", "Its log says more. Nothing else is affected; try again."),
    503: ("The database does not answer", "What you see is not lost. Reload the page in a moment."),
}


def _explained(status: int, detail: str) -> dict[str, object]:
    """Return what the error page shows: what happened, why, and what to do."""
    title, next_step = _EXPLAINED.get(status, ("That did not work", "Try again."))
    if status == HTTPStatus.FORBIDDEN and detail == "csrf":
        next_step = (
            "The form was made for another login, or by another page. Go back, reload the page, and"
            " send it again."
        )
        detail = ""
    elif status == HTTPStatus.FORBIDDEN and detail == "origin":
        next_step = "The form was sent by a page of another address. Use the pages of this one."
        detail = ""
    elif status == HTTPStatus.FORBIDDEN and detail in SCOPES:
        next_step = f"Your login lacks the scope {detail}, which is needed to: {SCOPES[detail]}."
        detail = ""
    elif status not in (HTTPStatus.CONFLICT, HTTPStatus.SERVICE_UNAVAILABLE):
        detail = ""

    return {"title": title, "detail": redact(detail).text, "next": next_step}
