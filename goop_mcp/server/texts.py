"""Texts stay texts: the SDK reads a text that looks like JSON as JSON, which is meant for clients that quote lists."""

from collections.abc import Iterator
from typing import Annotated, Any, get_args, get_origin

from mcp.server.mcpserver.tools import Tool
from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata

__all__ = ["keep_texts"]


def keep_texts(tool: Tool) -> None:
    """Let `tool` take what is given as a text for an argument that may be one; a list in a text is still a list."""
    metadata = tool.fn_metadata
    tool.fn_metadata = _Arguments.model_construct(
        **{name: getattr(metadata, name) for name in FuncMetadata.model_fields}
    )


class _Arguments(FuncMetadata):
    """Arguments of one tool."""

    def pre_parse_json(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return `data` with lists and objects in place of texts that hold them, where no text is allowed."""
        parsed = super().pre_parse_json(data)
        return {
            name: (
                given
                if parsed[name] is given or self._is_text(name, given, parsed[name])
                else parsed[name]
            )
            for name, given in data.items()
        }

    def _is_text(self, name: str, given: object, parsed: object) -> bool:
        field = self.arg_model.model_fields.get(name)
        if field is None or not isinstance(given, str):
            return False
        kinds = set(_kinds(field.annotation))
        return str in kinds and not (isinstance(parsed, list) and list in kinds)


# Any annotation there is
def _kinds(annotation: Any) -> Iterator[object]:  # noqa: ANN401
    """Return the kinds of values that one of the alternatives of `annotation` names."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _kinds(get_args(annotation)[0])
    elif origin is None or (isinstance(origin, type) and issubclass(origin, list | dict)):
        yield origin or annotation
    else:
        for each in get_args(annotation):
            yield from _kinds(each)
