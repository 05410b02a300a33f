"""Templates for common tasks: complete prompts with slots to fill in (H-65).

A template file begins with front matter, TOML between two `+++` lines: `name`, `title`,
`description` and, for each slot, a table `[[slots]]` with `name` and `description`. The rest is a
prompt in which a slot has the form `{{name}}`. `fill_template` builds a request from a template.
Values are data: they become part of the typed request and are escaped when it is written (D-85).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from goop_mcp.assets import list_assets, read_asset, split_front_matter
from goop_mcp.errors import AssetBrokenError, UnknownNameError
from goop_mcp.protocols.agent_request import AGENT_REQUEST, Request
from goop_mcp.services.build_request import BuiltRequest, RequestFieldsError, build_request
from goop_mcp.validation import pipeline

__all__ = [
    "SLOT",
    "Slot",
    "Template",
    "fill_template",
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


def fill_template(
    name: str,
    values: Mapping[str, str],
    *,
    session_id: str | None = None,
    parent_agent: str | None = None,
    target_agent: str | None = None,
    now: datetime | None = None,
) -> BuiltRequest:
    """Return the prompt of the template `name` with `values` in its slots.

    The other arguments are those of `build_request`; the default target agent is that of the
    template. Raises UnknownNameError for an unknown template or slot, RequestFieldsError for a slot
    without a value, and what `build_request` raises.
    """
    template = find_template(name)
    slots = [slot.name for slot in template.slots]
    for given in values:
        if given not in slots:
            raise UnknownNameError(f"slot of {name}", given, slots)

    empty = [slot for slot in slots if not values.get(slot, "").strip()]
    if empty:
        raise RequestFieldsError(
            f"the template {name} has slots that are not filled in: {', '.join(empty)}"
        )

    request = pipeline.validate(template.text, (AGENT_REQUEST,), protocol="agent_request").envelope
    if not isinstance(request, Request):
        raise AssetBrokenError(f"the template {name} cannot be used: it holds no request")

    def fill(text: str | None) -> str:
        return SLOT.sub(lambda slot: values[slot[1]].strip(), text or "")

    return build_request(
        title=fill(template.heading),
        mode=str(request.mode),
        original_intent=fill(request.original_intent),
        current_task_summary=fill(request.current_task_summary),
        workflow=str(request.workflow),
        task_details=fill(request.task_details),
        constraints=[fill(each) for each in request.constraints or ()],
        deliverables=[
            replace(each, path=fill(each.path) or None, text=fill(each.text))
            for each in request.deliverables or ()
        ],
        backlog_notes=fill(request.backlog_notes),
        session_id=session_id,
        parent_agent=parent_agent,
        target_agent=target_agent or request.target_agent,
        now=now,
    )
