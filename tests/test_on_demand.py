"""Packages that load their modules when these are first used."""

import operator
import subprocess
import sys
from importlib import import_module

import pytest

from goop_mcp import memory

PACKAGES = (
    "goop_mcp.hosts.hooks",
    "goop_mcp.memory",
    "goop_mcp.services",
    "goop_mcp.services.stop_hooks",
    "goop_mcp.store",
    "goop_mcp.workspace",
)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_loads_each_module_that_it_names_at_its_first_use(package: str) -> None:
    names = import_module(package).__all__
    script = (
        "import importlib, sys; package = importlib.import_module(sys.argv[1])\n"
        "for name in sys.argv[2:]:\n"
        "    module = getattr(package, name)\n"
        "    assert module is sys.modules[f'{sys.argv[1]}.{name}'], name\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script, package, *names], check=False, capture_output=True, text=True
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_what_needs_a_database_does_not_load_it_before_it_is_used() -> None:
    script = (
        "import sys, goop_mcp.context; print(*sorted({'apsw', 'lxml', 'jinja2'} &"
        " sys.modules.keys()))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    assert ended.stdout == "\n"


def test_a_check_loads_no_network_client() -> None:
    script = (
        "import sys, goop_mcp.cli.check; print(*sorted({'asyncio', 'email', 'http.client', 'ssl',"
        " 'urllib.request'} & sys.modules.keys()))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    assert ended.stdout == "\n"


def test_the_package_itself_loads_nothing_but_how_it_loads_the_rest() -> None:
    script = "import sys, goop_mcp; print(*sorted(each for each in sys.modules if 'goop' in each))"
    ended = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    assert ended.stdout.split() == ["goop_mcp", "goop_mcp.errors", "goop_mcp.on_demand"]


def test_a_module_that_is_not_named_is_not_there() -> None:
    with pytest.raises(
        AttributeError, match=r"module 'goop_mcp\.memory' has no attribute 'savings'"
    ):
        operator.attrgetter("savings")(memory)
