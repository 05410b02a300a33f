"""What has to be settled before the server opens a port."""

import socket
import sys
from pathlib import Path

import pytest

from goop_mcp.server.http import NetworkSettings, Options, read_network_settings
from goop_mcp.settings import DatabaseUrl, Settings, SettingsError
from tests.server.http.requests import ask
from tests.server.http.serving import refused, served

TOKEN = "a-token-of-the-tests"
POSTGRES = DatabaseUrl("postgresql://goop@db.example/goop")


def read(
    environment: dict[str, str] | None = None,
    *,
    transport: str = "http",
    database: DatabaseUrl | None = None,
    options: Options | None = None,
) -> NetworkSettings:
    settings = Settings(project=Path.cwd(), database=database)
    return read_network_settings(
        environment or {}, settings, options or Options(), transport=transport
    )


def sentence(environment: dict[str, str] | None = None, **more: object) -> str:
    with pytest.raises(SettingsError) as refusal:
        read(environment, **more)  # type: ignore[arg-type]
    return str(refusal.value)


def private(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)
    return str(path)


def test_no_settings_mean_this_machine_only() -> None:
    network = read()
    assert (network.host, network.port, network.asks_for_tokens) == ("127.0.0.1", 8000, False)
    assert network.allowed_hosts == ("localhost", "127.0.0.1", "[::1]")
    assert network.cors_origins == ()


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "::1", "localhost"])
def test_addresses_of_this_machine_need_no_token(host: str) -> None:
    assert read(options=Options(host=host)).host == host


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "goop.example"])
@pytest.mark.parametrize(
    ("environment", "hosts", "missing"),
    [
        ({}, [], ["a token (GOOP_TOKEN or --token-file FILE)", "--allowed-host NAME"]),
        ({"GOOP_TOKEN": TOKEN}, [], ["--allowed-host NAME"]),
        ({}, ["goop.example"], ["a token (GOOP_TOKEN or --token-file FILE)"]),
    ],
)
def test_other_addresses_need_a_token_and_a_name(
    host: str, environment: dict[str, str], hosts: list[str], missing: list[str]
) -> None:
    message = sentence(environment, options=Options(host=host, allowed_hosts=hosts))
    assert message.startswith(f"--host {host} serves other machines, which needs ")
    assert all(each in message for each in missing)


def test_other_addresses_with_both_are_known_by_the_given_names_only() -> None:
    network = read(
        {"GOOP_TOKEN": TOKEN}, options=Options(host="0.0.0.0", allowed_hosts=["goop.example"])
    )
    assert network.allowed_hosts == ("goop.example",)
    assert network.allowed_origins == ()


@pytest.mark.parametrize(
    "name", ["", "a b", "https://goop.example", "goop.example/mcp", "*.example", "u@h", "h:99999"]
)
def test_an_allowed_host_is_a_name(name: str) -> None:
    assert "expected a name such as goop.example" in sentence(options=Options(allowed_hosts=[name]))


@pytest.mark.parametrize(
    "origin", ["*", "null", "goop.example", "https://a.example/", "https://*.example", "ftp://a"]
)
def test_an_allowed_origin_is_what_a_browser_sends(origin: str) -> None:
    assert sentence(options=Options(allowed_origins=[origin])).startswith("--allowed-origin is ")


@pytest.mark.parametrize(
    "token", ["two words", "line\nbreak", "line end\n", " front", "tab\t", "üml", "nul\0"]
)
def test_a_token_with_a_blank_or_a_line_break_is_refused_and_not_repeated(token: str) -> None:
    message = sentence({"GOOP_TOKEN": token})
    assert message.startswith("GOOP_TOKEN has a blank, a line break or another invalid character")
    assert token.strip() not in message


@pytest.mark.parametrize("token", ["x", "sixteen-less-1-"])
@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_a_token_that_can_be_guessed_is_refused_and_not_repeated(
    tmp_path: Path, token: str, host: str
) -> None:
    options = ("--transport", "http", "--host", host, "--allowed-host", "goop.example")
    message = refused(*options, project=tmp_path, GOOP_TOKEN=token)
    assert "GOOP_TOKEN is a token of fewer than 16 characters, which can be guessed" in message
    assert (
        "python -c 'import secrets; print(secrets.token_urlsafe(32))' makes a good one" in message
    )
    assert f" {token} " not in message.replace("'", " ")


def test_the_shortest_valid_token_has_sixteen_characters() -> None:
    tokens = read({"GOOP_TOKEN": "sixteen-chars---"}).tokens
    assert tokens is not None
    assert tokens.holder("sixteen-chars---") is not None


def test_a_token_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    name = private(tmp_path / "token", TOKEN)
    for mode in (0o644, 0o640, 0o606):
        (tmp_path / "token").chmod(mode)
        assert "chmod 600" in sentence(options=Options(token_file=name))


def test_a_token_file_may_end_with_a_line_end(tmp_path: Path) -> None:
    tokens = read(options=Options(token_file=private(tmp_path / "token", f"{TOKEN}\n"))).tokens
    assert tokens is not None
    assert tokens.holder(TOKEN) is not None
    assert tokens.holder(f"{TOKEN}\n") is None


def test_a_file_of_several_tokens_names_scopes_and_tenants(tmp_path: Path) -> None:
    text = (
        '[tokens.alice]\ntoken = "the-token-of-alice"\nscopes = ["read", "write"]\n'
        '[tokens.bob]\ntoken = "the-token-of-bob-too"\ntenant = "acme"\n'
        '[tokens.carol]\ntoken = "the-token-of-carol"\nscopes = ["read", "confirm"]\n'
    )
    options = Options(token_file=private(tmp_path / "tokens.toml", text))
    tokens = read(database=POSTGRES, options=options).tokens
    assert tokens is not None
    alice, bob = tokens.holder("the-token-of-alice"), tokens.holder("the-token-of-bob-too")
    assert alice is not None
    assert bob is not None
    assert (alice.name, sorted(alice.scopes), alice.tenant) == (
        "alice",
        ["read", "write"],
        "default",
    )
    assert (bob.name, sorted(bob.scopes), bob.tenant) == (
        "bob",
        ["read", "workspace", "write"],
        "acme",
    )
    carol = tokens.holder("the-token-of-carol")
    assert carol is not None
    assert "confirm" in carol.scopes, "which has to be named"
    assert "the-token-of" not in repr(tokens)
    assert "belongs to one project" in sentence(options=options)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "names no tokens"),
        ("one\ntwo\n", "cannot be read; expected one token on one line"),
        ("[tokens]", "names no tokens"),
        ("[tokens.a]\nscopes = ['read']", "has no token"),
        ("[tokens.a]\ntoken = ''", "is an empty token"),
        ("[tokens.a]\ntoken = 'x y'", "has a blank"),
        (
            "[tokens.a]\ntoken = 'fifteen-chars--'",
            "[tokens.a] is a token of fewer than 16 characters",
        ),
        ("fifteen-chars--", "is a token of fewer than 16 characters"),
        (
            f"[tokens.a]\ntoken = '{TOKEN}'\nscope = 'read'",
            "has 'scope'; expected token, scopes, tenant",
        ),
        (
            f"[tokens.a]\ntoken = '{TOKEN}'\nscopes = ['admin']",
            "has the scope 'admin'; expected read, write, workspace",
        ),
        (f"[tokens.a]\ntoken = '{TOKEN}'\nscopes = 'read'", "scopes, but not a list"),
        (f"[tokens.a]\ntoken = '{TOKEN}'\ntenant = ''", "has a tenant that is not a name"),
        (
            f"[tokens.a]\ntoken = '{TOKEN}'\n[tokens.b]\ntoken = '{TOKEN}'",
            "has the same token for a and b",
        ),
    ],
)
def test_a_token_file_with_an_error_is_refused_with_what_to_write(
    tmp_path: Path, text: str, message: str
) -> None:
    assert message in sentence(options=Options(token_file=private(tmp_path / "tokens", text)))


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"GOOP_PORT": "http"}, "GOOP_PORT is 'http'; expected 1 to 65535"),
        ({"GOOP_PORT": "70000"}, "GOOP_PORT is '70000'"),
        ({"GOOP_HOST": "0.0.0.0"}, "or leave GOOP_HOST out to serve this machine only"),
        (
            {"GOOP_ALLOWED_HOSTS": "goop.example, *"},
            "GOOP_ALLOWED_HOSTS is '*'; expected a name such as goop.example",
        ),
        (
            {"GOOP_ALLOWED_ORIGINS": "https://*"},
            "GOOP_ALLOWED_ORIGINS is 'https://*'; name each origin",
        ),
        ({"GOOP_RATE_LIMIT": "-1"}, "GOOP_RATE_LIMIT is '-1'; expected requests a second"),
        ({"GOOP_RATE_LIMIT": "nan"}, "GOOP_RATE_LIMIT is 'nan'"),
        ({"GOOP_STATELESS": "perhaps"}, "GOOP_STATELESS is 'perhaps'; expected true or false"),
        ({"GOOP_STATE_KEYS": "short"}, "GOOP_STATE_KEYS has a key of fewer than 32 bytes"),
        (
            {"GOOP_TOKEN": "x", "GOOP_TOKEN_FILE": "y"},
            "GOOP_TOKEN and GOOP_TOKEN_FILE are both set",
        ),
        ({"GOOP_TOKEN": ""}, "GOOP_TOKEN is set, but empty, so no token would be needed"),
        (
            {"GOOP_TOKEN_FILE": ""},
            "GOOP_TOKEN_FILE is set, but empty, so no token would be needed",
        ),
        (
            {"GOOP_OAUTH_JWKS_URL": "https://id.example/keys"},
            "GOOP_OAUTH_JWKS_URL is set, but not GOOP_OAUTH_ISSUER",
        ),
        (
            {"GOOP_RESOURCE_URL": "https://goop.example/mcp"},
            "GOOP_RESOURCE_URL is set, but not GOOP_OAUTH_ISSUER",
        ),
        (
            {"GOOP_TOKEN_FILE": "/no/such"},
            "GOOP_TOKEN_FILE '/no/such' cannot be read (no such file or directory)",
        ),
        ({"GOOP_OAUTH_ISSUER": "https://id.example"}, "but not GOOP_RESOURCE_URL"),
        (
            {
                "GOOP_OAUTH_ISSUER": "https://id.example",
                "GOOP_RESOURCE_URL": "https://goop.example/mcp",
            },
            "but not GOOP_OAUTH_JWKS_URL",
        ),
        (
            {
                "GOOP_OAUTH_ISSUER": "http://id.example",
                "GOOP_RESOURCE_URL": "https://goop.example/mcp",
                "GOOP_OAUTH_JWKS_URL": "https://id.example/keys",
            },
            (
                "GOOP_OAUTH_ISSUER is 'http://id.example'; expected an address that begins with"
                " https://"
            ),
        ),
    ],
)
def test_a_bad_variable_is_refused_with_what_to_do(
    environment: dict[str, str], message: str
) -> None:
    assert message in sentence(environment)


def test_sessions_are_kept_unless_a_database_of_several_machines_is_used() -> None:
    assert not read().stateless
    assert read(database=POSTGRES).stateless
    assert not read({"GOOP_STATELESS": "false"}, database=POSTGRES).stateless
    assert read({"GOOP_STATELESS": "false"}, options=Options(stateless=True)).stateless


def test_a_server_that_lets_others_in_without_a_token_does_not_start(tmp_path: Path) -> None:
    message = refused("--transport", "streamable-http", "--host", "0.0.0.0", project=tmp_path)
    assert "serves other machines, which needs a token" in message


def test_an_option_of_the_network_without_a_network_is_refused(tmp_path: Path) -> None:
    assert "--port is for a network; give --transport http" in refused(
        "--port", "8000", project=tmp_path
    )


def test_an_address_of_another_machine_is_refused(tmp_path: Path) -> None:
    options = ("--transport", "sse", "--host", "192.0.2.1", "--allowed-host", "h")
    message = refused(*options, project=tmp_path, GOOP_TOKEN=TOKEN)
    assert "not an address of this machine" in message


def test_a_port_in_use_is_refused_with_the_process_that_has_it(tmp_path: Path) -> None:
    with served("--transport", "sse", project=tmp_path) as server:
        message = refused("--transport", "http", "--port", str(server.port), project=tmp_path)
        assert (
            f"port {server.port} of 127.0.0.1 is in use (process {server.process.pid} (" in message
        )
        assert ask(f"{server.address}/health", method="GET").json() == {"status": "ok"}


def test_a_port_is_free_again_as_soon_as_its_server_has_ended(tmp_path: Path) -> None:
    with served("--transport", "http", project=tmp_path) as server:
        ask(server.mcp)
        assert server.stop() == 143

    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind(("127.0.0.1", server.port))


@pytest.mark.parametrize(
    ("names", "first"),
    [
        (["goop.example"], "goop.example:{port}"),
        (["goop.example:8443", "b.example"], "b.example:{port}"),
        (["goop.example:8443"], "goop.example:8443"),
    ],
)
def test_a_server_for_others_prints_an_address_that_accepts_requests(
    tmp_path: Path, names: list[str], first: str
) -> None:
    options = [each for name in names for each in ("--allowed-host", name)]
    with served(
        "--transport", "http", "--host", "0.0.0.0", *options, project=tmp_path, GOOP_TOKEN=TOKEN
    ) as server:
        port = int(server.announced.rpartition(" port ")[2].split(";")[0])
        host = first.format(port=port)
        assert (
            server.announced == f"http://{host}/mcp and http://{host}/sse on 0.0.0.0 port {port}; "
            f"accepts requests that name {' or '.join(names)} as their host"
        )
        assert ask(f"http://127.0.0.1:{port}/mcp", token=TOKEN, Host=host).status_code == 200


_OTHER_LOOPBACK = pytest.param(
    "127.0.0.2",
    marks=pytest.mark.skipif(sys.platform == "darwin", reason="macOS has only 127.0.0.1"),
)


@pytest.mark.parametrize("host", ["127.0.0.1", _OTHER_LOOPBACK, "localhost"])
def test_a_server_for_this_machine_prints_an_address_that_accepts_requests(
    tmp_path: Path, host: str
) -> None:
    with served("--transport", "streamable-http", "--host", host, project=tmp_path) as server:
        assert server.announced == f"http://{host}:{server.port}/mcp"
        assert ask(server.mcp).status_code == 200
        assert ask(server.mcp, Host="0.0.0.0").status_code == 421


def test_a_server_behind_a_proxy_prints_the_names_that_are_accepted(tmp_path: Path) -> None:
    with served("--transport", "sse", "--allowed-host", "goop.example", project=tmp_path) as server:
        names = "localhost or 127.0.0.1 or [::1] or goop.example"
        assert server.announced == f"{server.sse}; accepts requests that name {names} as their host"


def test_a_name_for_others_without_a_token_is_warned_about(tmp_path: Path) -> None:
    for options, warned in (((), False), (("--allowed-host", "goop.example"), True)):
        with served("--transport", "sse", *options, project=tmp_path) as server:
            assert server.stop() == 143
            assert ("need no token" in server.stderr()) is warned
