"""A module without its framework names the extra to install; all others still work."""

import importlib
import sys
from types import ModuleType
from typing import cast

import pytest

from goop_mcp.errors import PackageMissingError

FRAMEWORKS = {
    "claude_agent_sdk": ("claude_agent_sdk", "claude-agent-sdk"),
    "langchain": ("langchain_core", "langchain"),
    "langgraph": ("langchain_core", "langchain"),
    "openai_agents": ("agents", "openai-agents"),
    "pydantic_ai": ("pydantic_ai", "pydantic-ai"),
    "smolagents": ("smolagents", "smolagents"),
}
FOLDER = "goop_mcp.hosts.frameworks"
BARE = ["command_line", "crewai", "open_reviews", "packages", "reply_text", "unaccepted"]


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_a_missing_framework_is_named_with_the_extra_that_brings_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    package, extra = FRAMEWORKS[name]
    for module in (f"{FOLDER}.{name}", f"{FOLDER}.langchain_messages"):
        monkeypatch.delitem(sys.modules, module, raising=False)

    # None makes the import fail as if the package were not installed.
    monkeypatch.setitem(cast("dict[str, ModuleType | None]", sys.modules), package, None)

    with pytest.raises(
        PackageMissingError, match=rf"{package} is not installed; pip install 'goop-mcp\[{extra}\]'"
    ):
        importlib.import_module(f"{FOLDER}.{name}")


@pytest.mark.parametrize("name", BARE)
def test_what_needs_no_framework_imports_without_any(name: str) -> None:
    assert importlib.import_module(f"{FOLDER}.{name}").__all__
