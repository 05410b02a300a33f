"""JSON that may be looked at on a terminal."""

import json

__all__ = ["json_text"]


def json_text(values: object) -> str:
    """Return `values` as indented JSON in UTF-8, ending with a line feed.

    What a terminal would obey or hide (escape sequences, controls of C1, marks of direction) is
    written as an escape, which programs read as the same text: names of files may hold anything.
    """
    document = json.dumps(values, ensure_ascii=False, allow_nan=False, indent=2)
    lines = document.split("\n")

    return "".join(f"{line if line.isprintable() else _escaped(line)}\n" for line in lines)


def _escaped(line: str) -> str:
    # Such characters stand nowhere but in texts.
    return "".join(each if each.isprintable() else json.dumps(each)[1:-1] for each in line)
