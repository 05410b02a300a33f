"""Keep text arguments as text: the SDK parses a text that looks like JSON.

It does so for clients that send a list as a text. A reply that is JSON must stay a text.
"""

from collections.abc import Iterator
from typing import Annotated, Any, get_args, get_origin

from mcp.server.mcpserver.tools import Tool
from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata

__all__ = ["keep_texts"]


def keep_texts(tool: Tool) -> None:
    """Stop `tool` from parsing texts for arguments that accept text, except lists sent as text."""
    metadata = tool.fn_metadata
    tool.fn_metadata = _Arguments.model_construct(
        **{name: getattr(metadata, name) for name in FuncMetadata.model_fields}
    )


class _Arguments(FuncMetadata):
    """The arguments of a tool."""

    def pre_parse_json(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return `data` with lists and objects parsed from texts where no text is allowed."""
        parsed = super().pre_parse_json(data)
        for name, given in data.items():
            field = self.arg_model.model_fields.get(name)
            if field is None or not isinstance(given, str) or parsed[name] is given:
                continue

            # A text is allowed and not a list: what was parsed was meant as a text.
            kinds = set(_kinds(field.annotation))
            if str in kinds and not (isinstance(parsed[name], list) and list in kinds):
                parsed[name] = given

        return parsed


# Annotations are of any type.
def _kinds(annotation: Any) -> Iterator[object]:  # noqa: ANN401
    """Yield the types that the alternatives of `annotation` name."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _kinds(get_args(annotation)[0])
    elif origin is None or (isinstance(origin, type) and issubclass(origin, list | dict)):
        yield origin or annotation
    else:
        for each in get_args(annotation):
            yield from _kinds(each)
