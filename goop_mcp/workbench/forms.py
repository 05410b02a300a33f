"""Read the forms of pages: in one piece, in time, and only those of the own origin."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final
from urllib.parse import parse_qs, urlsplit

import anyio
import anyio.to_thread
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from goop_mcp.server.http.body import BODY_SECONDS, replay
from goop_mcp.workbench.visits import Form

__all__ = ["form_of", "query_of", "with_whole_forms"]

_MOST_FIELDS: Final = 2_000
_FORM: Final = "application/x-www-form-urlencoded"


def with_whole_forms(
    app: ASGIApp,
    *,
    most: Callable[[Request], int],
    refused: Callable[[Request, Exception], Awaitable[Response]],
) -> ASGIApp:
    """Return `app`, which gets each form in one piece.

    `most` says how many bytes the form of a request may have. `refused` makes the answer to one
    that has more, or takes more than half a minute.
    """

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            await app(scope, receive, send)
            return

        request = Request(scope, receive)
        try:
            body = await _read(request, most=most(request))
        except ClientDisconnect:
            return
        except HTTPException as error:
            response = await refused(request, error)
            await response(scope, receive, send)
        else:
            await app(scope, replay(body, receive), send)

    return serve


async def form_of(request: Request) -> Form:
    """Return the form of a request.

    Raises HTTPException, also for one that a page of another origin sent: a program on another port
    of this machine is another origin of the same site, to which browsers send strict cookies.
    """
    if not _is_of_this_origin(request):
        raise HTTPException(403, "origin")
    if request.headers.get("content-type", "").partition(";")[0].strip() != _FORM:
        raise HTTPException(415)

    # In a thread: a reply of 2 MiB takes a while, and other requests must not wait for it.
    return Form(await anyio.to_thread.run_sync(_fields, await request.body()))


def query_of(request: Request) -> Form:
    """Return the fields of the address. Raises HTTPException for too many."""
    return Form(_fields(request.scope["query_string"]))


async def _read(request: Request, *, most: int) -> bytes:
    """Return the body of a request of at most `most` bytes. Raises HTTPException."""
    body = bytearray()
    with anyio.move_on_after(BODY_SECONDS):
        async for chunk in request.stream():
            body += chunk
            if len(body) > most:
                raise HTTPException(413)
        return bytes(body)

    raise HTTPException(408, headers={"Connection": "close"})


def _is_of_this_origin(request: Request) -> bool:
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none")

    # Over plain HTTP from another machine browsers send the origin alone, and programs neither.
    origin, host = request.headers.get("origin"), request.headers.get("host", "").lower()
    if origin is None:
        return True
    sent = urlsplit(origin.lower())
    # Some proxies pass the name on without its port.
    return host in (sent.netloc, sent.hostname)


def _fields(text: bytes) -> Mapping[str, list[str]]:
    """Return the fields of a form or a query. Raises HTTPException for too many."""
    try:
        return parse_qs(
            text.decode("ascii", "replace"),
            keep_blank_values=True,
            errors="replace",
            max_num_fields=_MOST_FIELDS,
        )
    except ValueError:
        raise HTTPException(400) from None
