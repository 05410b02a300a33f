"""Complete arguments of prompts and resource addresses while somebody types them."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, cast

import anyio.to_thread
from mcp.server import MCPServer
from mcp.types import (
    Completion,
    CompletionArgument,
    CompletionContext,
    PromptReference,
    ResourceTemplateReference,
)

from goop_mcp import memory, services
from goop_mcp.protocols import FAMILIES
from goop_mcp.services.protocol_pages import list_documents
from goop_mcp.services.schemas import list_schemas
from goop_mcp.services.templates import template_names
from goop_mcp.validation.rules import RuleBook
from goop_mcp.workspace.document_templates import document_template_names
from goop_mcp.workspace.layout import DOCUMENTS

if TYPE_CHECKING:
    from goop_mcp.context import AppContext

__all__ = ["add_completions"]

_MOST = 100
"""Most values of one answer, as the MCP specification limits them."""

_Known = Mapping[str, str]
_Handler = Callable[..., Awaitable[Completion | None]]


_NAMES_OF_RULES: Mapping[str, Callable[[_Known, RuleBook], Iterable[str]]] = {
    "protocol": lambda _, rules: (rule.family for rule in rules.values()),
    "name": lambda known, rules: (
        rule.id.partition("/")[2]
        for rule in rules.values()
        if known.get("protocol") in (None, rule.family)
    ),
}
_NAMES: Mapping[tuple[str, str], Callable[[_Known], Iterable[str]]] = {
    ("goop://schemas/{protocol}/{version}", "protocol"): lambda _: (
        schema.protocol for schema in list_schemas()
    ),
    ("goop://schemas/{protocol}/{version}", "version"): lambda known: (
        schema.version
        for schema in list_schemas()
        if known.get("protocol") in (None, schema.protocol)
    ),
    ("goop://docs/{protocol}", "protocol"): lambda _: list_documents(),
    ("goop://project/{name}", "name"): lambda _: DOCUMENTS,
    ("repair_report", "protocol"): lambda _: (family.name for family in FAMILIES),
    ("resolve_blocker", "protocol"): lambda _: (family.name for family in FAMILIES),
}
"""The values of an argument of an address or a prompt, given the arguments entered already."""


def add_completions(server: MCPServer, application: "AppContext") -> None:
    """Complete the arguments of the resources and prompts of `server`."""

    def newest_ids() -> list[str]:
        # One more than is shown, because `has_more` depends on it.
        newest = memory.repository.list_memories(application.store, limit=_MOST + 1)
        return [str(each.id) for each in newest]

    def newest_reports() -> list[str]:
        newest = services.recorded_reports.list_reports(application.store, limit=_MOST + 1)
        return [str(each.report) for each in newest.reports]

    async def complete(
        ref: PromptReference | ResourceTemplateReference,
        argument: CompletionArgument,
        context: CompletionContext | None,
    ) -> Completion | None:
        of = ref.uri if isinstance(ref, ResourceTemplateReference) else ref.name
        if (of, argument.name) == ("goop://reports/{n}", "n"):
            return _completion(await anyio.to_thread.run_sync(newest_reports), argument.value)
        if (of, argument.name) == ("goop://memories/{id}", "id"):
            return _completion(await anyio.to_thread.run_sync(newest_ids), argument.value)

        known = (context.arguments if context is not None else None) or {}
        if (
            of == "goop://rules/{protocol}/{name}"
            and (of_rules := _NAMES_OF_RULES.get(argument.name)) is not None
        ):
            return _completion(of_rules(known, application.rule_book), argument.value)

        if (of, argument.name) == ("goop://templates/{name}", "name"):
            templates = await anyio.to_thread.run_sync(template_names, application.own_templates)
            return _completion((*templates, *document_template_names()), argument.value)

        names = _NAMES.get((of, argument.name))

        return None if names is None else _completion(names(known), argument.value)

    # The SDK's decorator is not annotated.
    register = cast("Callable[[], Callable[[_Handler], _Handler]]", server.completion)
    register()(complete)


def _completion(names: Iterable[str], begun: str) -> Completion:
    """Return the names that begin with `begun`, then those that contain it."""
    wanted = begun.lower()
    fitting = [name for name in dict.fromkeys(names) if wanted in name.lower()]
    fitting.sort(key=lambda name: not name.lower().startswith(wanted))
    return Completion(values=fitting[:_MOST], total=len(fitting), has_more=len(fitting) > _MOST)
