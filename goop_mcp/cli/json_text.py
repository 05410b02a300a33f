"""JSON that is safe to print on a terminal."""

import json
from importlib import import_module

__all__ = ["json_text"]


def json_text(values: object) -> str:
    """Return `values` as indented JSON in UTF-8, ending with a line feed.

    Characters that a terminal would interpret or hide (escape sequences, C1 controls, direction
    marks) are written as JSON escapes, which programs read as the same text: file names may hold
    anything.
    """
    # The module writes indented JSON in Python, which takes four times as long.
    compact = json.dumps(values, ensure_ascii=False, allow_nan=False)
    # Loaded here, as most commands print no JSON.
    formatted = import_module("msgspec.json").format
    document: str = formatted(compact.encode("utf-8", "surrogatepass"), indent=2).decode(
        "utf-8", "surrogatepass"
    )
    if document.replace("\n", "").isprintable():
        return f"{document}\n"

    lines = []
    for line in document.split("\n"):
        if line.isprintable():
            lines.append(line)
        else:
            # Only texts hold such characters, so a JSON escape is valid wherever one is found.
            escaped = (each if each.isprintable() else json.dumps(each)[1:-1] for each in line)
            lines.append("".join(escaped))

    return "".join(f"{line}\n" for line in lines)
