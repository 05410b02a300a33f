"""The text of what a framework calls an answer."""

import dataclasses
import json

__all__ = ["reply_text"]


def reply_text(answer: object) -> str:
    """Return the text of `answer`: JSON for structured output, "" for None, else its `str`.

    Of a pydantic model only the fields that the language model sent are written: a default would
    turn a status that was left out into one that was reported.
    """
    if isinstance(answer, str):
        return str(answer)
    if answer is None:
        return ""

    values = answer if isinstance(answer, dict | list | tuple) else _values(answer)

    return (
        values
        if isinstance(values, str)
        else json.dumps(values, ensure_ascii=False, default=_values)
    )


def _values(value: object) -> object:
    """Return what JSON can hold in place of `value`: the fields of an object, else its `str`."""
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return dump(mode="json", by_alias=True, exclude_unset=True)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
    return str(value)
