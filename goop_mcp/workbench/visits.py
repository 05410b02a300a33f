"""What a page of the workbench is, and what it knows of the request that asks for it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import accumulate, takewhile
from typing import Final, Literal, TypeVar

from starlette.responses import HTMLResponse, RedirectResponse, Response

from goop_mcp.context import AppContext
from goop_mcp.memory.times import utc_now, written
from goop_mcp.server.actions import Needs, needs_of
from goop_mcp.workbench.access import Login, SignedValues
from goop_mcp.workbench.rendering import Templates

__all__ = [
    "NOTE",
    "Form",
    "NoteKind",
    "RouteList",
    "Visit",
    "WorkbenchAction",
    "WorkbenchPage",
    "whole_number",
]

NoteKind = Literal["done", "refused", "waiting"]

NOTE: Final = "_note"
_NOTE_SECONDS: Final = 60
_MOST_DIGITS: Final = 18
# Browsers drop a cookie of more than 4,096 bytes. The text is escaped to ASCII, in which a letter
# may take twelve bytes, and base64 makes four of three.
_LONGEST_NOTE: Final = 2_400


def whole_number(text: str) -> int | None:
    """Return `text` as a whole number of at most 18 digits, None if it is not one."""
    # No database has longer numbers, and Python takes long to read very long ones.
    is_number = text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS
    return int(text) if is_number else None


class Form:
    """The fields of a form or of a query; what was not sent is empty."""

    def __init__(self, fields: Mapping[str, list[str]]) -> None:
        self._fields = fields

    def text(self, name: str) -> str:
        """Return the first value of the field `name`, "" without one."""
        return next(iter(self._fields.get(name, ())), "")

    def texts(self, name: str) -> list[str]:
        """Return all values of the field `name` in the order in which they were sent."""
        return list(self._fields.get(name, ()))

    def pairs(self) -> list[tuple[str, str]]:
        """Return name and value of each field, by name."""
        return [(name, value) for name, values in self._fields.items() for value in values]

    def given(self) -> set[str]:
        """Return the names of the fields that are not empty."""
        return {name for name, values in self._fields.items() if any(values)}

    def number(self, name: str) -> int | None:
        """Return the field as a whole number of at most 18 digits, None if it is not one."""
        return whole_number(self.text(name).strip())

    def __contains__(self, name: str) -> bool:
        return name in self._fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A request of a person who is logged in.

    `application` is that of the person's tenant. `confirms`: the request is an action that came
    with the key of the login, which only a page of this origin has, of a person who may confirm.
    `root` begins the address of each page, `params` are the parts of it that the page's path names
    in braces. `form` is empty for a page, `query` for most actions.
    """

    application: AppContext
    login: Login
    confirms: bool
    root: str
    params: Mapping[str, str]
    query: Form
    form: Form
    templates: Templates
    values: SignedValues
    layout: Mapping[str, object]

    @property
    def now(self) -> str:
        """The time of this machine in ISO 8601, UTC, as the services take it."""
        return written(utc_now())

    def show(self, template: str, *, status: int = 200, **values: object) -> Response:
        """Return the page that `template` makes of `values` in the layout of the workbench."""
        text = self.templates.render(template, {**self.layout, **values})
        return HTMLResponse(text, status_code=status)

    def part(self, template: str, **values: object) -> Response:
        """Return a part of a page, for forms with `data-preview`."""
        return HTMLResponse(self.templates.render(template, {**self.layout, **values}))

    def go(self, to: str, note: str = "", *, kind: NoteKind = "done", clears: str = "") -> Response:
        """Return the redirect to the page `to` that follows a change, with a note for it.

        `clears` is the `data-keep` of the form whose kept input is used up now.
        """
        response = RedirectResponse(f"{self.root}{to}", status_code=303)
        if note or clears:
            text = _shortened(note)
            signed = self.values.sign(
                NOTE,
                {"text": text, "kind": kind, "clears": clears, "jti": self.login.id},
                expires=utc_now().timestamp() + _NOTE_SECONDS,
            )
            self.values.keep(response, signed, root=self.root, seconds=_NOTE_SECONDS, suffix=NOTE)

        return response


def _shortened(note: str) -> str:
    """Return the beginning of `note` that a cookie holds."""
    if len(json.dumps(note)) <= _LONGEST_NOTE:
        return note
    sizes = accumulate(len(json.dumps(each)) - len('""') for each in note)
    fitting = sum(1 for _ in takewhile(lambda size: size <= _LONGEST_NOTE, sizes))
    return f"{note[:fitting]} …"


Handler = Callable[[Visit], Response]
H = TypeVar("H", bound=Handler)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkbenchPage:
    """A page: its address below the root, in which `{name}` stands for a part, and what shows it.

    `needs` are its scopes, those of single fields of its query included. `label` is its name in
    the navigation, None for a page that others lead to; `of` is the address of the page that is
    marked in the navigation then. `part` is the part of goop-mcp without which the
    navigation leaves the page out. `show` runs on a worker thread and may wait for the database.
    """

    path: str
    show: Handler
    needs: Needs
    label: str | None = None
    of: str | None = None
    part: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkbenchAction:
    """What a form is sent to. `needs` are its scopes, those of single fields included.

    The form has had its CSRF token checked. An action that changes something ends with `go`.
    """

    path: str
    take: Handler
    needs: Needs


class RouteList(list[WorkbenchPage | WorkbenchAction]):
    """The pages and actions of one module, each declared on the function that answers it."""

    def page(
        self,
        path: str,
        *,
        label: str | None = None,
        of: str | None = None,
        part: str | None = None,
    ) -> Callable[[H], H]:
        """Declare a page; the arguments are those of WorkbenchPage.

        What it needs is in the table of all actions. Raises LookupError if it is not.
        """
        needs = needs_of(f"GET {path}")

        def declare(show: H) -> H:
            page = WorkbenchPage(path=path, show=show, needs=needs, label=label, of=of, part=part)
            self.append(page)
            return show

        return declare

    def action(self, path: str) -> Callable[[H], H]:
        """Declare an action; what it needs is in the table of all actions, else LookupError."""
        needs = needs_of(f"POST {path}")

        def declare(take: H) -> H:
            self.append(WorkbenchAction(path=path, take=take, needs=needs))
            return take

        return declare
