"""Templates for common tasks: complete prompts with slots to fill in (H-65).

A template file begins with front matter, TOML between two `+++` lines: `name`, `title`,
`description` and, for each slot, a table `[[slots]]` with `name` and `description`. The rest is a
prompt in which a slot has the form `{{name}}`. This module loads no validation, because a server
lists templates before its first call.
"""

import re
from dataclasses import dataclass

from goop_mcp.assets import list_assets, read_asset, split_front_matter
from goop_mcp.errors import AssetBrokenError, UnknownNameError

__all__ = [
    "SLOT",
    "Slot",
    "Template",
    "find_template",
    "list_templates",
    "parse_template",
    "read_template",
    "template_names",
]

_FOLDER = "agent_request/"
_SUFFIX = ".md"
_TASK = re.compile(r"# Task: (?P<heading>[^\n]+)\n.+", re.DOTALL)
SLOT = re.compile(r"\{\{([a-z][a-z0-9_]*)\}\}")
"""A slot in the text of a template; its group is the name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """A slot of a template."""

    name: str
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """One packaged template; `text` is the prompt with its slots, `heading` the title in it."""

    name: str
    title: str
    description: str
    slots: tuple[Slot, ...]
    heading: str
    text: str


def list_templates() -> tuple[Template, ...]:
    """Return all templates, sorted by name.

    Raises AssetBrokenError for a malformed file.
    """
    return tuple(find_template(name) for name in template_names())


def find_template(name: str) -> Template:
    """Return the template called `name`.

    Raises UnknownNameError, which suggests the nearest name.
    """
    return parse_template(read_template(name), file=name + _SUFFIX)


def read_template(name: str) -> str:
    """Return the file of the template `name`, front matter included. Raises UnknownNameError."""
    known = template_names()
    if name not in known:
        raise UnknownNameError("template", name, known)
    return read_asset("templates", _FOLDER + name + _SUFFIX)


def parse_template(text: str, *, file: str) -> Template:
    """Return the template in `text`.

    Raises AssetBrokenError, which names the file, if it is malformed.
    """
    front, prompt = split_front_matter(text, file=f"the template {file}")
    match = _TASK.fullmatch(prompt)
    if match is None:
        raise AssetBrokenError(
            f"the template {file} cannot be used: it has no line '# Task:' after its front matter"
        )

    try:
        slots = tuple(
            Slot(name=each["name"], description=each["description"]) for each in front["slots"]
        )
        template = Template(
            name=front["name"],
            title=front["title"],
            description=front["description"],
            slots=slots,
            heading=match["heading"],
            text=prompt,
        )
    except (KeyError, TypeError) as error:
        raise AssetBrokenError(
            f"the template {file} cannot be used: its front matter is not in order"
        ) from error

    if template.name + _SUFFIX != file or {slot.name for slot in slots} != set(
        SLOT.findall(template.text)
    ):
        raise AssetBrokenError(
            f"the template {file} cannot be used: its name or its slots are not those it lists"
        )

    return template


def template_names() -> tuple[str, ...]:
    """Return the names of all templates, sorted."""
    names = list_assets("templates", _SUFFIX)
    return tuple(
        name.removeprefix(_FOLDER).removesuffix(_SUFFIX)
        for name in names
        if name.startswith(_FOLDER)
    )
