"""Read the content of messages, as hosts and interfaces of models write it.

A hook loads this for each event, so that it imports next to nothing.
"""

from collections.abc import Mapping, Sequence

__all__ = ["objects", "text_at", "text_of"]


def objects(value: object) -> Sequence[Mapping[str, object]]:
    """Return the objects in a list of JSON; an empty list for any other value."""
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def text_of(content: object) -> str:
    """Return the text of a message's content: a string, or its blocks of text."""
    if isinstance(content, str):
        return content
    texts = [each.get("text") for each in objects(content)]
    return "\n".join(text for text in texts if isinstance(text, str))


def text_at(value: Mapping[str, object], key: str) -> str:
    """Return the text under `key`, "" for any other value."""
    text = value.get(key)
    return text if isinstance(text, str) else ""
