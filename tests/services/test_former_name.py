"""`goop_mcp.operations`, the former name of `goop_mcp.services`."""

import sys
from importlib import import_module

import pytest

from goop_mcp.errors import GoopDeprecationWarning

FORMER = "goop_mcp.operations"


@pytest.mark.parametrize(
    "name",
    ["adoption", "build_request", "check_workspace", "count_attempts", "record_attempts"],
)
def test_a_module_is_imported_by_its_former_name_with_a_warning(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for loaded in [each for each in sys.modules if each.partition(FORMER)[0] == ""]:
        monkeypatch.delitem(sys.modules, loaded)

    with pytest.warns(GoopDeprecationWarning, match=r"now called goop_mcp\.services"):
        module = import_module(f"{FORMER}.{name}")

    assert module is import_module(f"goop_mcp.services.{name}")
