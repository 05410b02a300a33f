"""Templates of a project's documents: their headings and the fields that readers look for (P-15).

A file begins with front matter like every template (`services/templates.py`); its slots are
`project` and `date`.
"""

import re
from dataclasses import dataclass
from functools import cache

from goop_mcp.assets import list_assets, read_asset, split_front_matter
from goop_mcp.errors import AssetBrokenError, UnknownNameError

__all__ = [
    "DocumentTemplate",
    "document_template",
    "document_template_names",
    "is_untouched",
    "read_document_template",
]

_FOLDER = "documents/"
_SUFFIX = ".md"
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_SLOT = re.compile(r"\{\{(project|date)\}\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentTemplate:
    """One packaged template; `text` is the document with its slots."""

    name: str
    title: str
    description: str
    text: str

    def filled(self, *, project: str, date: str) -> str:
        """Return the document of the project `project`, created at `date` (ISO 8601 in UTC)."""
        values = {"project": project, "date": date}
        return _SLOT.sub(lambda slot: values[slot[1]], self.text)


def is_untouched(name: str, text: str) -> bool:
    """Whether every line of the document `text` is from its template `name`, comments aside.

    Such a document counts as not written yet.
    """
    known = _template_lines(name)
    return all(
        known.fullmatch(line.strip())
        for line in _COMMENT.sub("", text).replace("\r", "\n").removeprefix("\ufeff").split("\n")
    )


@cache
def _template_lines(name: str) -> re.Pattern[str]:
    lines = {line.strip() for line in _COMMENT.sub("", document_template(name).text).split("\n")}
    # A slot stands for any text on its line.
    patterns = (".*".join(map(re.escape, re.split(r"\{\{\w+\}\}", line))) for line in lines)
    return re.compile("|".join(patterns))


def document_template_names() -> tuple[str, ...]:
    """Return the names of all templates of documents, sorted."""
    names = list_assets("templates", _SUFFIX)
    return tuple(
        name.removeprefix(_FOLDER).removesuffix(_SUFFIX)
        for name in names
        if name.startswith(_FOLDER)
    )


def read_document_template(name: str) -> str:
    """Return the file of the template `name`, front matter included. Raises UnknownNameError."""
    known = document_template_names()
    if name not in known:
        raise UnknownNameError("template", name, known)
    return read_asset("templates", _FOLDER + name + _SUFFIX)


def document_template(name: str) -> DocumentTemplate:
    """Return the template called `name`.

    Raises UnknownNameError, and AssetBrokenError if its file is malformed.
    """
    front, text = split_front_matter(
        read_document_template(name), file=f"the template {name}{_SUFFIX}"
    )
    try:
        return DocumentTemplate(
            name=name, title=front["title"], description=front["description"], text=text
        )
    except KeyError as error:
        raise AssetBrokenError(
            f"the template {name}{_SUFFIX} cannot be used: it has no {error.args[0]}"
        ) from error
