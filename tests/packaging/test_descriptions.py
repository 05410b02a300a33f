"""What registries, marketplaces and desktop hosts read about this package: consistent and valid."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from goop_mcp import __version__
from goop_mcp.server.http import Options, read_network_settings
from goop_mcp.settings import read_settings
from tests.packaging.bundle import CONTENTS, MANIFEST
from tests.repository import ROOT

PLUGINS = ROOT / "packaging" / "plugins" / "claude-code"
START = PLUGINS / "goop-mcp" / "scripts" / "goop-mcp"
SERVER_NAME = re.compile(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+")
LONGEST_DESCRIPTION = 100
EXACT_VERSION = re.compile(r"[0-9]+(\.[0-9]+){2}([-+.]?[0-9A-Za-z.-]+)?")


def read(path: str) -> dict[str, Any]:
    value = json.loads((ROOT / path).read_text(encoding="utf-8"))
    assert isinstance(value, dict)
    return value


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SERVER = read("packaging/server.json")
BUNDLE = json.loads(MANIFEST.read_text(encoding="utf-8"))
PACKAGE, ON_A_NETWORK = SERVER["packages"]


@pytest.mark.parametrize(
    ("place", "version"),
    [
        ("pyproject.toml", PROJECT["version"]),
        ("server.json", SERVER["version"]),
        ("server.json, package", PACKAGE["version"]),
        ("server.json, package on a network", ON_A_NETWORK["version"]),
        ("mcpb/manifest.json", BUNDLE["version"]),
        (
            "marketplace of the repository",
            read(".claude-plugin/marketplace.json")["plugins"][0]["version"],
        ),
        (
            "marketplace of the plugin",
            read("packaging/plugins/claude-code/.claude-plugin/marketplace.json")["plugins"][0][
                "version"
            ],
        ),
        (
            "scripts/goop-mcp",
            re.findall(r"^VERSION=(.*)$", START.read_text(encoding="utf-8"), re.MULTILINE)[0],
        ),
        (
            "plugin.json",
            read("packaging/plugins/claude-code/goop-mcp/.claude-plugin/plugin.json")["version"],
        ),
    ],
)
def test_every_place_that_names_the_version_names_the_same(place: str, version: str) -> None:
    assert version == __version__, place


def test_both_marketplaces_offer_the_same_plugin_under_the_same_name() -> None:
    outer, inner = (
        read(f"{folder}.claude-plugin/marketplace.json")
        for folder in ("", "packaging/plugins/claude-code/")
    )
    (outer_plugin,), (inner_plugin,) = outer.pop("plugins"), inner.pop("plugins")
    places = [
        (ROOT / outer_plugin.pop("source")).resolve(),
        (PLUGINS / inner_plugin.pop("source")).resolve(),
    ]

    assert outer == inner
    assert outer_plugin == inner_plugin
    assert places == [PLUGINS / "goop-mcp"] * 2


def test_the_entry_for_the_registry_keeps_to_its_limits() -> None:
    assert SERVER_NAME.fullmatch(SERVER["name"])
    assert 0 < len(SERVER["description"]) <= LONGEST_DESCRIPTION
    assert 0 < len(SERVER["title"]) <= LONGEST_DESCRIPTION
    assert EXACT_VERSION.fullmatch(SERVER["version"])
    assert "OWNER" not in json.dumps(SERVER)
    assert PACKAGE["registryType"] == "pypi"
    assert PACKAGE["transport"] == {"type": "stdio"}
    assert all(variable["description"] for variable in ON_A_NETWORK["environmentVariables"])


def test_the_registry_can_see_that_the_package_is_ours() -> None:
    # The registry looks for this line in the description on PyPI, which is the README.
    assert f"mcp-name: {SERVER['name']} " in (ROOT / PROJECT["readme"]).read_text(encoding="utf-8")


def test_the_command_of_the_package_is_called_like_the_package() -> None:
    # uvx starts the command that has the name of the distribution.
    assert PACKAGE["identifier"] == PROJECT["name"] == BUNDLE["name"]
    assert PROJECT["name"] in PROJECT["scripts"]


def test_every_variable_of_the_registry_entry_is_a_setting(tmp_path: Path) -> None:
    values = {
        "GOOP_PROJECT_DIR": str(tmp_path),
        "GOOP_DATABASE_URL": "postgresql://u@h/n",
        "GOOP_PROJECT_ID": "shop",
        "GOOP_LOG_LEVEL": "ERROR",
        "GOOP_LOG_FORMAT": "json",
    }
    assert names_of(PACKAGE) == set(values)

    settings = read_settings(values)
    assert str(settings.project) == str(tmp_path)
    assert (str(settings.database), settings.project_id) == ("postgresql://u@h/n", "shop")
    assert (settings.log_level, settings.log_format) == ("ERROR", "json")


def test_every_variable_of_the_entry_for_a_network_is_a_setting(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("5c1f5c1f5c1f5c1f", encoding="ascii")
    file.chmod(0o600)
    values = {
        "GOOP_HOST": "0.0.0.0",  # noqa: S104 - nothing is served here
        "GOOP_PORT": "8443",
        "GOOP_TOKEN_FILE": str(file),
        "GOOP_ALLOWED_HOSTS": "goop.example",
        "GOOP_ALLOWED_ORIGINS": "https://app.example",
        "GOOP_RATE_LIMIT": "5",
    }
    assert names_of(ON_A_NETWORK) - names_of(PACKAGE) == {*values, "GOOP_TOKEN"}

    options = [
        argument.get("name", "") + argument["value"]
        for argument in ON_A_NETWORK["packageArguments"]
    ]
    assert options == ["serve", "--transportstreamable-http"]
    network = read_network_settings(
        values, read_settings({}), Options(), transport="streamable-http"
    )
    assert network.tokens is not None
    # The address of the test's own setting.
    assert (network.host, network.port, network.rate) == ("0.0.0.0", 8443, 5)  # noqa: S104
    assert (network.allowed_hosts, network.cors_origins) == (
        ("goop.example",),
        ("https://app.example",),
    )


def test_what_nobody_filled_in_is_as_good_as_not_there(tmp_path: Path) -> None:
    values = dict.fromkeys(BUNDLE["server"]["mcp_config"]["env"], "") | {
        "GOOP_PROJECT_DIR": str(tmp_path)
    }
    assert read_settings(values) == read_settings({"GOOP_PROJECT_DIR": str(tmp_path)})


def names_of(package: dict[str, Any]) -> set[str]:
    return {variable["name"] for variable in package["environmentVariables"]}


def test_the_bundle_starts_what_is_in_it() -> None:
    server = BUNDLE["server"]
    command = [server["mcp_config"]["command"], *server["mcp_config"]["args"]]

    assert (ROOT / server["entry_point"]).is_file()
    assert any(server["entry_point"].startswith(f"{name}/") for name in CONTENTS)
    assert command == [
        "uv",
        "run",
        "--directory",
        "${__dirname}",
        "--extra",
        "postgres",
        "goop-mcp",
        "serve",
    ]
    assert "postgres" in PROJECT["optional-dependencies"]
    assert set(re.findall(r"\$\{user_config\.(\w+)\}", json.dumps(server))) == set(
        BUNDLE["user_config"]
    )
    assert BUNDLE["compatibility"]["runtimes"]["python"] == PROJECT["requires-python"]


def test_everything_that_the_package_is_built_from_is_in_the_bundle() -> None:
    built = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"][
        "build"
    ]["targets"]
    needed = {
        *built["wheel"]["packages"],
        *built["wheel"]["force-include"],
        PROJECT["readme"],
        "pyproject.toml",
    }

    assert needed <= set(CONTENTS)
    assert all((ROOT / name).exists() for name in CONTENTS)
