"""The text of what a framework calls an answer."""

import json

__all__ = ["reply_text"]


def reply_text(answer: object) -> str:
    """Return the text of `answer`: JSON for objects and lists, "" for None, else what it says of itself."""
    if isinstance(answer, str):
        return str(answer)
    if answer is None:
        return ""
    if isinstance(answer, dict | list | tuple):
        return json.dumps(answer, ensure_ascii=False, default=str)
    return str(answer)
