"""The tokens that clients show: read from a setting or a file, kept as digests, compared without a hint of which."""

import hmac
import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Final

from goop_mcp.operations.reading_files import read_bytes
from goop_mcp.server.scopes import ALL_SCOPES, SCOPES
from goop_mcp.settings import DEFAULT_TENANT, SettingsError

__all__ = ["TokenHolder", "Tokens", "read_token_file", "single_token"]

_SHARED_BITS: Final = 0o077
_LARGEST_FILE: Final = 1 << 20
_SHORTEST: Final = 16
_MAKE_ONE: Final = "python -c 'import secrets; print(secrets.token_urlsafe(32))'"
_KEYS: Final = frozenset({"token", "scopes", "tenant"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenHolder:
    """Whoever shows a token: a name for logs and limits, what it allows, and whose rows are meant.

    `digest` is the SHA-256 of the token; the token itself is kept nowhere.
    """

    name: str
    scopes: frozenset[str] = ALL_SCOPES
    tenant: str = DEFAULT_TENANT
    digest: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Tokens:
    """All tokens that are known."""

    holders: tuple[TokenHolder, ...]

    def holder(self, token: str) -> TokenHolder | None:
        """Return whose token it is, None for an unknown one.

        Takes as long for every token, known or not.
        """
        given = sha256(token.encode("utf-8", "surrogateescape")).digest()
        found = None
        for holder in self.holders:
            if hmac.compare_digest(given, holder.digest):
                found = holder

        return found

    @property
    def tenants(self) -> frozenset[str]:
        """The tenants that they name."""
        return frozenset(holder.tenant for holder in self.holders)


def single_token(token: str, *, source: str) -> Tokens:
    """Return the one token that a setting holds, with all scopes.

    Raises SettingsError, without repeating it.
    """
    return Tokens((TokenHolder(name="token", digest=_digest(token, source)),))


def read_token_file(name: str, *, source: str = "--token-file") -> Tokens:
    """Return the tokens in a file that nobody else can read.

    It holds one token on one line, or TOML with a table `[tokens.NAME]` for each of several:
    `token`, and as needed `scopes` (the default is all of them) and `tenant`. Raises SettingsError,
    which repeats no token.
    """
    text = _read_private(Path(name), f"{source} {name!r}")
    lines = text.splitlines()
    if len(lines) == 1 and not lines[0].lstrip().startswith("["):
        return single_token(lines[0], source=f"{source} {name!r}")
    return _several(text, f"{source} {name!r}")


def _read_private(path: Path, source: str) -> str:
    try:
        # On Windows the mode does not say who can read a file.
        if os.name == "posix" and path.stat().st_mode & _SHARED_BITS:
            raise SettingsError(
                f"{source} can be read or changed by others; make it yours alone: chmod 600 {path}"
            )

        data = read_bytes(str(path), most=_LARGEST_FILE + 1)
    except OSError as error:
        reason = (error.strerror or "it cannot be read").lower()
        raise SettingsError(
            f"{source} cannot be read ({reason}); name a file with a token"
        ) from error

    if len(data) > _LARGEST_FILE:
        raise SettingsError(
            f"{source} has more than {_LARGEST_FILE:,} bytes; a file with tokens has fewer"
        )

    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise SettingsError(
            f"{source} is no text in UTF-8; write the token into it with an editor"
        ) from None


def _several(text: str, source: str) -> Tokens:
    form = "expected one token on one line, or TOML with a table [tokens.NAME] for each"
    try:
        tables = tomllib.loads(text).get("tokens")
    except tomllib.TOMLDecodeError:
        # The parser's own words may repeat what it read.
        raise SettingsError(f"{source} cannot be read; {form}") from None

    if (
        not isinstance(tables, dict)
        or not tables
        or not all(isinstance(each, dict) for each in tables.values())
    ):
        raise SettingsError(f"{source} names no tokens; {form}")

    holders = tuple(
        _holder(name, table, f"{source}, [tokens.{name}]") for name, table in tables.items()
    )
    _refuse_doubles(holders, source)

    return Tokens(holders)


def _holder(name: str, table: Mapping[str, object], source: str) -> TokenHolder:
    if unknown := sorted(table.keys() - _KEYS):
        raise SettingsError(f"{source} has {unknown[0]!r}; expected token, scopes, tenant")

    token, tenant = table.get("token"), table.get("tenant", DEFAULT_TENANT)
    if not isinstance(token, str):
        raise SettingsError(f'{source} has no token; write token = "…"')
    if not isinstance(tenant, str) or not tenant or not tenant.isprintable():
        raise SettingsError(f'{source} has a tenant that is no name; write tenant = "name"')
    return TokenHolder(
        name=name,
        digest=_digest(token, source),
        scopes=_scopes(table.get("scopes"), source),
        tenant=tenant,
    )


def _scopes(given: object, source: str) -> frozenset[str]:
    if given is None:
        return ALL_SCOPES

    named = [each for each in given if isinstance(each, str)] if isinstance(given, list) else []
    if not isinstance(given, list) or len(named) != len(given) or not named:
        raise SettingsError(
            f'{source} has scopes that are no list of names; write scopes = ["read"]'
        )

    if unknown := [each for each in named if each not in SCOPES]:
        raise SettingsError(f"{source} has the scope {unknown[0]!r}; expected {', '.join(SCOPES)}")
    return frozenset(named)


def _digest(token: str, source: str) -> bytes:
    if not token:
        raise SettingsError(f"{source} is an empty token; {_MAKE_ONE} makes one to write into it")
    if any(not "!" <= character <= "~" for character in token):
        raise SettingsError(
            f"{source} has a blank, a line break or another sign that no token may have; "
            "a token is one word of visible ASCII signs"
        )

    if len(token) < _SHORTEST:
        # On loopback too: a port of this machine may be forwarded, and stand behind a proxy.
        raise SettingsError(
            f"{source} is a token of fewer than {_SHORTEST} signs, which can be guessed;"
            f" {_MAKE_ONE} makes a good one"
        )

    return sha256(token.encode("ascii")).digest()


def _refuse_doubles(holders: Iterable[TokenHolder], source: str) -> None:
    names: dict[bytes, str] = {}
    for holder in holders:
        if (other := names.setdefault(holder.digest, holder.name)) != holder.name:
            raise SettingsError(
                f"{source} has the same token for {other} and {holder.name}; give each one of"
                " its own"
            )
