"""Read the settings of the network from environment and options; imports nothing of the SDK."""

import ipaddress
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import SplitResult, urlsplit

from goop_mcp.server.http.options import Options
from goop_mcp.server.http.tokens import Tokens, read_token_file, single_token
from goop_mcp.settings import Settings, SettingsError

__all__ = ["Issuer", "NetworkSettings", "read_network_settings"]

_LOOPBACK_NAMES: Final = ("localhost", "127.0.0.1", "[::1]")
_HIGHEST_PORT: Final = 65_535
# Bytes; the seal is an HMAC with SHA-256, whose keys should not be shorter than its digest.
_SHORTEST_KEY: Final = 32
_OF_THE_ISSUER: Final = (
    "GOOP_OAUTH_JWKS_URL",
    "GOOP_OAUTH_AUDIENCE",
    "GOOP_OAUTH_TENANT_CLAIM",
    "GOOP_RESOURCE_URL",
)
# Requests a second. A larger number is a typing error, and would mean no limit at all.
_HIGHEST_RATE: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Issuer:
    """The issuer of OAuth tokens: what its tokens must state, and where its public keys are."""

    url: str
    resource_url: str
    audience: str
    jwks_url: str
    tenant_claim: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSettings:
    """All settings of the network.

    `streamable` and `sse` select the transports. `allowed_hosts` are names as in the header Host,
    without a port for any port. `allowed_origins` are whole origins, with `:*` at the end for any
    port; `cors_origins` those whose pages may call this server. `rate` is in requests a second for
    each client, 0 for no limit. With `stateless` no sessions of protocol versions up to 2025-11-25
    are kept, so that any replica can answer. `state_keys` seal what clients carry from one request
    to the next; none means keys of this process. `read_tokens` reads the file of tokens again and
    raises SettingsError like the first time; None where the tokens are not in a file.
    """

    streamable: bool = True
    sse: bool = False
    host: str = "127.0.0.1"
    port: int = 8000
    tokens: Tokens | None = None
    issuer: Issuer | None = None
    allowed_hosts: tuple[str, ...] = _LOOPBACK_NAMES
    allowed_origins: tuple[str, ...] = ()
    cors_origins: tuple[str, ...] = ()
    rate: float = 20.0
    stateless: bool = False
    state_keys: tuple[str, ...] = field(default=(), repr=False)
    read_tokens: Callable[[], Tokens] | None = field(default=None, repr=False)

    @property
    # Tokens of either kind: what is not asked for a token may be used by anybody who reaches it.
    def asks_for_tokens(self) -> bool:
        """Whether callers need a token."""
        return self.tokens is not None or self.issuer is not None

    @property
    def is_open_under_other_names(self) -> bool:
        """Whether clients need no token under a name of another machine, as through a proxy."""
        return not self.asks_for_tokens and bool(self.other_names)

    @property
    def is_local(self) -> bool:
        """Whether only clients on this machine reach it."""
        return _is_loopback(self.host)

    @property
    def other_names(self) -> tuple[str, ...]:
        """The allowed hosts without the names of this machine."""
        own = {*_LOOPBACK_NAMES, _in_an_address(self.host)} if self.is_local else set()
        return tuple(name for name in self.allowed_hosts if name not in own)

    @property
    def own_origins(self) -> tuple[str, ...]:
        """The origins of pages that this server serves itself, under each allowed host."""
        # Without a port in the name any port may be used, and a proxy may terminate TLS.
        return tuple(
            f"{scheme}://{name}{port}"
            for name in self.allowed_hosts
            for scheme in ("http", "https")
            for port in (("",) if urlsplit(f"//{name}").port else ("", ":*"))
        )

    def name_with(self, port: int) -> str:
        """Return a host and port, such as `localhost:8000`, that requests to `port` may name."""
        if self.is_local:
            return f"{_in_an_address(self.host)}:{port}"

        # The name is printed at the start, for people to copy into a client.
        # A name with this port, or without a port, is one that the guard accepts here.
        given = {name: urlsplit(f"//{name}").port for name in self.allowed_hosts}
        direct = [name for name, named in given.items() if named in {None, port}] or list(given)
        return f"{direct[0]}:{port}" if given[direct[0]] is None else direct[0]


def read_network_settings(
    environment: Mapping[str, str], settings: Settings, options: Options, *, transport: str
) -> NetworkSettings:
    """Return the settings for `transport`, one of sse, streamable-http and http, which is both.

    Options override the environment. Raises SettingsError for the first setting that is not valid.
    """
    source = "--host" if options.host else "GOOP_HOST"
    host = options.host or environment.get("GOOP_HOST") or "127.0.0.1"
    tokens, issuer = _tokens(environment, options), _issuer(environment)
    names = "--allowed-host" if options.allowed_hosts else "GOOP_ALLOWED_HOSTS"
    # An empty list of names on the command line means that none was given, and not "no names".
    given = list(options.allowed_hosts) or _listed(environment.get("GOOP_ALLOWED_HOSTS"))
    hosts = tuple(_host_name(each, names) for each in given)
    local = _is_loopback(host)
    if not local:
        _require_token_and_name(
            f"{source} {host}", guarded=tokens is not None or issuer is not None, hosts=hosts
        )

    # After the tokens are read: whether tenants are named stands in their file.
    _refuse_tenants(tokens, issuer, settings)

    # From the same place as at the start, so that a changed environment of a running process, which
    # nobody sees, has no effect.
    def read_tokens() -> Tokens:
        read = _tokens(environment, options)
        if read is None:
            raise SettingsError("no file of tokens is set")
        _refuse_tenants(read, issuer, settings)
        return read

    origins = "--allowed-origin" if options.allowed_origins else "GOOP_ALLOWED_ORIGINS"
    given = list(options.allowed_origins) or _listed(environment.get("GOOP_ALLOWED_ORIGINS"))
    cors = tuple(_origin(each, origins) for each in given)

    return NetworkSettings(
        streamable=transport != "sse",
        sse=transport != "streamable-http",
        host=host,
        port=_port(environment, options),
        tokens=tokens,
        read_tokens=(
            read_tokens if options.token_file or environment.get("GOOP_TOKEN_FILE") else None
        ),
        issuer=issuer,
        # Names of this machine are always allowed where it serves itself only: no other machine can
        # use them.
        allowed_hosts=(
            tuple(dict.fromkeys((*_LOOPBACK_NAMES, _in_an_address(host), *hosts)))
            if local
            else hosts
        ),
        allowed_origins=(
            (*(f"http://{name}:*" for name in _LOOPBACK_NAMES), *cors) if local else cors
        ),
        cors_origins=cors,
        rate=_rate(environment, options),
        stateless=_stateless(environment, options, settings),
        state_keys=_state_keys(environment),
    )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True

    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _in_an_address(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _require_token_and_name(given: str, *, guarded: bool, hosts: Sequence[str]) -> None:
    missing = []
    if not guarded:
        missing.append("a token (GOOP_TOKEN or --token-file FILE)")
    if not hosts:
        missing.append("the name by which clients reach it (--allowed-host NAME)")
    if missing:
        raise SettingsError(
            f"{given} serves other machines, which needs {' and '.join(missing)}; "
            f"give that, or leave {given.partition(' ')[0]} out to serve this machine only"
        )


def _refuse_tenants(tokens: Tokens | None, issuer: Issuer | None, settings: Settings) -> None:
    # One file holds one project, and would mix the rows of several tenants.
    several = (tokens is not None and tokens.tenants != {settings.tenant}) or (
        issuer and issuer.tenant_claim
    )
    if several and settings.database_in_a_file:
        raise SettingsError(
            "tokens name tenants, but a database in a file belongs to one project; "
            "use postgresql:// (--database URL), or name no tenants"
        )


def _tokens(environment: Mapping[str, str], options: Options) -> Tokens | None:
    if options.token_file is not None:
        return read_token_file(options.token_file)

    file, token = environment.get("GOOP_TOKEN_FILE"), environment.get("GOOP_TOKEN")
    for name, value in (("GOOP_TOKEN_FILE", file), ("GOOP_TOKEN", token)):
        # A secret that a deployment failed to read becomes an empty variable, which must not
        # disable tokens.
        if value == "":
            raise SettingsError(
                f"{name} is set, but empty, so no token would be needed; fill it, or unset it"
            )

    if file and token:
        raise SettingsError("GOOP_TOKEN and GOOP_TOKEN_FILE are both set; keep one of them")
    if file:
        return read_token_file(file, source="GOOP_TOKEN_FILE")
    return single_token(token, source="GOOP_TOKEN") if token else None


def _issuer(environment: Mapping[str, str]) -> Issuer | None:
    url = environment.get("GOOP_OAUTH_ISSUER")
    if not url:
        # Anybody who sets one of these expects that tokens are required.
        if useless := [name for name in _OF_THE_ISSUER if environment.get(name)]:
            raise SettingsError(
                f"{useless[0]} is set, but not GOOP_OAUTH_ISSUER, so no tokens would be needed;"
                " name the issuer, or unset the other one"
            )

        return None

    resource = environment.get("GOOP_RESOURCE_URL")
    if not resource:
        raise SettingsError(
            "GOOP_OAUTH_ISSUER is set, but not GOOP_RESOURCE_URL; give the address by which clients"
            " reach this server, such as https://goop.example/mcp"
        )

    jwks = environment.get("GOOP_OAUTH_JWKS_URL")
    if not jwks:
        raise SettingsError(
            "GOOP_OAUTH_ISSUER is set, but not GOOP_OAUTH_JWKS_URL; give the address of the"
            " issuer's keys, which its metadata calls jwks_uri"
        )

    return Issuer(
        url=_secure_url("GOOP_OAUTH_ISSUER", url),
        resource_url=_secure_url("GOOP_RESOURCE_URL", resource),
        audience=environment.get("GOOP_OAUTH_AUDIENCE") or resource,
        jwks_url=_secure_url("GOOP_OAUTH_JWKS_URL", jwks),
        tenant_claim=environment.get("GOOP_OAUTH_TENANT_CLAIM") or None,
    )


def _secure_url(name: str, url: str) -> str:
    """Return `url` if it is HTTPS, or HTTP on this machine. Raises SettingsError."""
    # Anybody on the way could replace keys that are sent over plain HTTP.
    parts = _split(name, url)
    if parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(parts.hostname or "")):
        return url
    raise SettingsError(f"{name} is {url!r}; expected an address that begins with https://")


def _host_name(given: str, source: str) -> str:
    try:
        parts = urlsplit(f"//{given}")
        fits = (
            bool(parts.hostname) and parts.netloc == given and "@" not in given and parts.port != 0
        )
    except ValueError:
        fits = False

    if not fits or "*" in given or any(character.isspace() for character in given):
        raise SettingsError(
            f"{source} is {given!r}; expected a name such as goop.example or goop.example:8443"
        )

    return given.lower()


def _origin(given: str, source: str) -> str:
    parts = _split(source, given)
    if (
        parts.scheme not in {"http", "https"}
        or not parts.hostname
        or given != f"{parts.scheme}://{parts.netloc}"
    ):
        raise SettingsError(
            f"{source} is {given!r}; expected exactly what a browser sends, such as"
            " https://app.example"
        )

    if "*" in given:
        raise SettingsError(
            f"{source} is {given!r}; name each origin, there is no pattern for several"
        )

    return given.lower()


def _split(name: str, url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:
        raise SettingsError(f"{name} is {url!r}, not an address; expected https://NAME") from None


def _port(environment: Mapping[str, str], options: Options) -> int:
    source, given = (
        ("--port", options.port)
        if options.port is not None
        else ("GOOP_PORT", environment.get("GOOP_PORT"))
    )
    try:
        port = 8000 if given in (None, "") else int(given)
    except ValueError:
        port = -1

    if not 0 <= port <= _HIGHEST_PORT:
        raise SettingsError(
            f"{source} is {given!r}; expected 1 to {_HIGHEST_PORT}, or 0 for any that is free"
        )

    return port


def _rate(environment: Mapping[str, str], options: Options) -> float:
    text = environment.get("GOOP_RATE_LIMIT")
    source, given = (
        ("--rate-limit", options.rate) if options.rate is not None else ("GOOP_RATE_LIMIT", text)
    )
    try:
        rate = 20.0 if given in (None, "") else float(given)
    except ValueError:
        rate = -1.0

    if not 0 <= rate <= _HIGHEST_RATE:
        raise SettingsError(f"{source} is {given!r}; expected requests a second, or 0 for no limit")
    return rate


def _stateless(environment: Mapping[str, str], options: Options, settings: Settings) -> bool:
    if options.stateless is not None:
        return options.stateless

    given = environment.get("GOOP_STATELESS")
    if not given:
        return not settings.database_in_a_file
    if given.lower() not in {"true", "false"}:
        raise SettingsError(f"GOOP_STATELESS is {given!r}; expected true or false")
    return given.lower() == "true"


def _state_keys(environment: Mapping[str, str]) -> tuple[str, ...]:
    keys = tuple((environment.get("GOOP_STATE_KEYS") or "").split())
    if any(len(key.encode()) < _SHORTEST_KEY for key in keys):
        raise SettingsError(
            f"GOOP_STATE_KEYS has a key of fewer than {_SHORTEST_KEY} bytes; give one that openssl"
            " rand -hex 32 makes, the same on every replica; an older one may follow after a blank"
        )

    return keys


def _listed(text: str | None) -> list[str]:
    return [each.strip() for each in (text or "").split(",") if each.strip()]
