"""Tokens from a setting or a file, kept as digests and compared in constant time."""

import hmac
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Final

from goop_mcp.server.scopes import DEFAULT_SCOPES, SCOPES
from goop_mcp.services.user_files import read_bytes
from goop_mcp.settings import DEFAULT_TENANT, SettingsError

__all__ = ["TokenHolder", "Tokens", "read_token_file", "single_token"]

_SHARED_BITS: Final = 0o077
_LARGEST_FILE: Final = 1 << 20
_SHORTEST: Final = 16
_MAKE_ONE: Final = "python -c 'import secrets; print(secrets.token_urlsafe(32))'"
_KEYS: Final = frozenset({"token", "scopes", "tenant"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenHolder:
    """The holder of a token: a name for logs and limits, its scopes and its tenant.

    `digest` is the SHA-256 of the token; the token itself is not kept.
    """

    name: str
    scopes: frozenset[str] = DEFAULT_SCOPES
    tenant: str = DEFAULT_TENANT
    digest: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Tokens:
    """All known tokens."""

    holders: tuple[TokenHolder, ...]

    def holder(self, token: str) -> TokenHolder | None:
        """Return the holder of a token, None for an unknown token; always in the same time."""
        # Digests of equal length are compared in constant time, and the loop does not stop at a
        # match: the time of an answer reveals neither a part of a token nor its place.
        given = sha256(token.encode("utf-8", "surrogateescape")).digest()
        found = None
        for holder in self.holders:
            if hmac.compare_digest(given, holder.digest):
                found = holder

        return found

    @property
    def tenants(self) -> frozenset[str]:
        """The tenants that the tokens name."""
        return frozenset(holder.tenant for holder in self.holders)


def single_token(token: str, *, source: str) -> Tokens:
    """Return the single token of a setting, with the default scopes.

    Raises SettingsError, whose message does not repeat the token.
    """
    return Tokens((TokenHolder(name="token", digest=_digest(token, source)),))


def read_token_file(name: str, *, source: str = "--token-file") -> Tokens:
    """Return the tokens in a file that nobody else can read.

    It holds one token on one line, or TOML with a table `[tokens.NAME]` for each token: `token`,
    and optionally `scopes` (by default all but confirm) and `tenant`. Raises SettingsError, whose
    message repeats no token.
    """
    source = f"{source} {name!r}"
    text = _read_private(Path(name), source)
    lines = text.splitlines()
    if len(lines) == 1 and not lines[0].lstrip().startswith("["):
        return single_token(lines[0], source=source)

    form = "expected one token on one line, or TOML with a table [tokens.NAME] for each"
    try:
        tables = tomllib.loads(text).get("tokens")
    except tomllib.TOMLDecodeError:
        # The parser's message may repeat a token.
        raise SettingsError(f"{source} cannot be read; {form}") from None

    if (
        not isinstance(tables, dict)
        or not tables
        or not all(isinstance(each, dict) for each in tables.values())
    ):
        raise SettingsError(f"{source} names no tokens; {form}")

    holders = tuple(
        _holder(holder, table, f"{source}, [tokens.{holder}]") for holder, table in tables.items()
    )
    # Of one token for two holders nobody knew whose requests are whose.
    names: dict[bytes, str] = {}
    for each in holders:
        if (other := names.setdefault(each.digest, each.name)) != each.name:
            raise SettingsError(
                f"{source} has the same token for {other} and {each.name}; give each its own"
            )

    return Tokens(holders)


def _read_private(path: Path, source: str) -> str:
    try:
        # On Windows the mode does not show who can read a file.
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
            f"{source} is not UTF-8 text; write the token into it with an editor"
        ) from None


def _holder(name: str, table: Mapping[str, object], source: str) -> TokenHolder:
    if unknown := sorted(table.keys() - _KEYS):
        raise SettingsError(f"{source} has {unknown[0]!r}; expected token, scopes, tenant")

    token, tenant = table.get("token"), table.get("tenant", DEFAULT_TENANT)
    if not isinstance(token, str):
        raise SettingsError(f'{source} has no token; write token = "…"')
    if not isinstance(tenant, str) or not tenant or not tenant.isprintable():
        raise SettingsError(f'{source} has a tenant that is not a name; write tenant = "name"')

    digest = _digest(token, source)
    given = table.get("scopes", list(DEFAULT_SCOPES))
    named = [each for each in given if isinstance(each, str)] if isinstance(given, list) else []
    if not isinstance(given, list) or len(named) != len(given) or not named:
        raise SettingsError(
            f'{source} has scopes, but not a list of names; write scopes = ["read"]'
        )

    if unknown := [each for each in named if each not in SCOPES]:
        raise SettingsError(f"{source} has the scope {unknown[0]!r}; expected {', '.join(SCOPES)}")
    return TokenHolder(name=name, digest=digest, scopes=frozenset(named), tenant=tenant)


def _digest(token: str, source: str) -> bytes:
    if not token:
        raise SettingsError(f"{source} is an empty token; {_MAKE_ONE} makes one to write into it")
    if any(not "!" <= character <= "~" for character in token):
        raise SettingsError(
            f"{source} has a blank, a line break or another invalid character; "
            "a token has visible ASCII characters only"
        )

    if len(token) < _SHORTEST:
        # On loopback too: a port of this machine may be forwarded, or be served behind a proxy.
        raise SettingsError(
            f"{source} is a token of fewer than {_SHORTEST} characters, which can be guessed;"
            f" {_MAKE_ONE} makes a good one"
        )

    return sha256(token.encode("ascii")).digest()
