"""Who may use the workbench: codes that log in once, cookies for half a day, keys that confirm.

Browsers send a cookie to every port of a machine, so that any program on it may get one. Without
TLS a cookie therefore belongs to an address that cannot be guessed, and none confirms anything
alone: that needs the key of the login, which only pages of this origin have.
"""

import hmac
import secrets
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from time import time
from typing import Any, Final

import jwt
from starlette.responses import Response

from goop_mcp.server.scopes import CONFIRM, READ, WORKSPACE, WRITE

__all__ = ["CODE_SECONDS", "LOGIN_SECONDS", "Login", "Logins", "OneTimeCodes", "SignedValues"]

CODE_SECONDS: Final = 300
LOGIN_SECONDS: Final = 12 * 3_600

_ALGORITHM: Final = "HS256"
_MOST_ENDED: Final = 10_000
_MOST_CODES: Final = 100
_LOGIN: Final = "login"
_CONFIRMING: Final = "confirm"
_LONGEST_VALUE: Final = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """A person who is logged in.

    `name` is the user of this machine or the holder of a token, `scopes` what they may do.
    `expires` is in seconds since 1970. `proof` ties the login to its token, and is empty without.
    """

    id: str
    name: str
    scopes: frozenset[str]
    tenant: str
    expires: float
    proof: str = ""

    @property
    def via(self) -> str:
        """How answers of this person came, for ADL.md: `workbench ann`."""
        return f"workbench {self.name}"

    @property
    def may_write(self) -> bool:
        """Whether this person may change what is recorded."""
        return WRITE in self.scopes

    @property
    def may_confirm(self) -> bool:
        """Whether this person may take steps that need a person."""
        return CONFIRM in self.scopes

    @property
    def may_look_at_files(self) -> bool:
        """Whether this person may be shown what is in the files of the project."""
        return WORKSPACE in self.scopes


class SignedValues:
    """Values that a browser keeps for the server, signed with the first of some keys.

    The other keys only verify, so that keys can be replaced without ending all logins.
    """

    def __init__(self, keys: Sequence[str]) -> None:
        """Sign with `keys`, which may be shared with other uses: each use derives its own."""
        self._keys = tuple(
            hmac.digest(key.encode(), b"goop-mcp workbench", "sha256") for key in keys
        )
        # Browsers send cookies to every port of a machine: the names of two servers must differ.
        self._names = tuple(f"goop_{sha256(key).hexdigest()[:8]}" for key in self._keys)

    def sign(self, purpose: str, values: Mapping[str, Any], *, expires: float) -> str:
        """Return `values` as text for a cookie, valid until `expires`."""
        payload = {**values, "aud": purpose, "exp": int(expires)}
        return jwt.encode(payload, self._keys[0], algorithm=_ALGORITHM)

    def open(self, purpose: str, text: str) -> Mapping[str, Any] | None:
        """Return the values of a text that `sign` made for `purpose`, None for any other text."""
        if len(text) > _LONGEST_VALUE:
            return None

        for key in self._keys:
            try:
                return jwt.decode(
                    text,
                    key,
                    algorithms=[_ALGORITHM],
                    audience=purpose,
                    options={"require": ["exp", "aud"]},
                )
            except jwt.InvalidTokenError:
                continue

        return None

    def mark(self, purpose: str, text: str) -> str:
        """Return a short digest of `text` that only a holder of the keys can make."""
        return hmac.new(self._keys[0], f"{purpose} {text}".encode(), "sha256").hexdigest()[:32]

    def is_mark(self, purpose: str, text: str, given: str) -> bool:
        """Whether `given` is a mark of `text` under one of the keys; always in the same time."""
        found = False
        for key in self._keys:
            known = hmac.new(key, f"{purpose} {text}".encode(), "sha256").hexdigest()[:32]
            found |= hmac.compare_digest(known.encode(), given.encode("utf-8", "replace"))

        return found

    def keep(
        self, response: Response, text: str, *, root: str, seconds: int, suffix: str = ""
    ) -> None:
        """Have the browser keep `text` as our cookie for the pages below `root`.

        `root` is "" over TLS. `suffix` distinguishes several cookies of ours, 0 seconds remove one.
        """
        response.set_cookie(
            _cookie_name(self._names[0], suffix, root=root),
            text,
            max_age=seconds,
            path=f"{root}/",
            httponly=True,
            secure=not root,
            samesite="strict",
        )

    def find(self, cookies: Mapping[str, str], *, root: str, suffix: str = "") -> str | None:
        """Return the text of our cookie among `cookies`, whichever key it was named for."""
        names = (_cookie_name(name, suffix, root=root) for name in self._names)
        return next((cookies[name] for name in names if name in cookies), None)


def _cookie_name(name: str, suffix: str, *, root: str) -> str:
    # Browsers take a name with this prefix from this host alone, over TLS, and for all its pages.
    return f"{name}{suffix}" if root else f"__Host-{name}{suffix}"


class Logins:
    """Issues and verifies logins. `still_valid` states whether the token of a login is known."""

    def __init__(
        self,
        values: SignedValues,
        *,
        still_valid: Callable[[Login], bool] = lambda _: True,
        clock: Callable[[], float] = time,
    ) -> None:
        self.values = values
        self._still_valid = still_valid
        self._clock = clock
        # A cookie says everything itself, so that any replica can read it; those that were ended by
        # logging out are remembered here until they would have expired.
        self._ended: OrderedDict[str, float] = OrderedDict()

    def issue(
        self,
        *,
        name: str,
        scopes: frozenset[str],
        tenant: str,
        proof: str = "",
        expires: float | None = None,
    ) -> tuple[Login, str]:
        """Return a new login and the text of its cookie; `expires` may only shorten it."""
        latest = self._clock() + LOGIN_SECONDS
        login = Login(
            id=secrets.token_hex(16),
            name=name,
            scopes=scopes,
            tenant=tenant,
            expires=latest if expires is None else min(expires, latest),
            proof=proof,
        )
        values = {
            "jti": login.id,
            "sub": login.name,
            "scopes": sorted(login.scopes),
            "tenant": login.tenant,
            "proof": login.proof,
        }

        return login, self.values.sign(_LOGIN, values, expires=login.expires)

    def find(self, cookies: Mapping[str, str], *, root: str) -> Login | None:
        """Return the login of a request below `root` by its `cookies`, None without a valid one."""
        text = self.values.find(cookies, root=root)
        values = self.values.open(_LOGIN, text) if text else None
        if values is None:
            return None

        login = Login(
            id=str(values.get("jti")),
            name=str(values.get("sub")),
            scopes=frozenset(values.get("scopes", ())),
            tenant=str(values.get("tenant")),
            expires=float(values["exp"]),
            proof=str(values.get("proof", "")),
        )

        return login if self.is_valid(login) else None

    def key_of(self, login: Login) -> str:
        """Return what confirms for `login` in addition to its cookie, from which it cannot be made.

        It is in the answer to the login alone: whoever has the cookie can read every other page.
        """
        return self.values.mark(_CONFIRMING, login.id)

    def is_key(self, login: Login, key: str) -> bool:
        """Whether `key` is that of `login`."""
        return self.values.is_mark(_CONFIRMING, login.id, key)

    def is_valid(self, login: Login) -> bool:
        """Whether `login` still counts: not expired, not logged out, its token not removed."""
        return (
            login.expires > self._clock()
            and login.id not in self._ended
            and READ in login.scopes
            and self._still_valid(login)
        )

    def end(self, login: Login) -> None:
        """Refuse the cookie of `login` from now on."""
        now = self._clock()
        self._ended[login.id] = login.expires
        while self._ended and (
            len(self._ended) > _MOST_ENDED or next(iter(self._ended.values())) <= now
        ):
            self._ended.popitem(last=False)


class OneTimeCodes:
    """Codes that log in once, within five minutes."""

    def __init__(self, *, clock: Callable[[], float] = time) -> None:
        self._clock = clock
        self._open: OrderedDict[bytes, float] = OrderedDict()

    def make(self) -> str:
        """Return a new code; of more than 100 open ones the oldest is forgotten."""
        code = secrets.token_urlsafe(24)
        # Looked up by digest: how long a look-up takes says nothing about a code.
        self._open[sha256(code.encode()).digest()] = self._clock() + CODE_SECONDS
        while len(self._open) > _MOST_CODES:
            self._open.popitem(last=False)

        return code

    def use(self, code: str) -> bool:
        """Whether `code` is open; it is not any more after that."""
        expires = self._open.pop(sha256(code.encode("utf-8", "replace")).digest(), 0.0)
        return expires > self._clock()
