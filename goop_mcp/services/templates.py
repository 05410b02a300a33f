"""Templates for common tasks: complete prompts with slots to fill in (H-65).

A template file begins with front matter, TOML between two `+++` lines: `name`, `title`,
`description` and, for each slot, a table `[[slots]]` with `name` and `description`. The rest is a
prompt in which a slot has the form `{{name}}`. Templates come with the package, and a project has
its own in `.goopspec/templates/`. This module loads no validation, because a server lists templates
before its first call.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from goop_mcp import workspace
from goop_mcp.assets import list_assets, read_asset, split_front_matter
from goop_mcp.errors import AssetBrokenError, GoopError, UnknownNameError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "MOST_OWN",
    "MOST_SLOTS",
    "OWN_FOLDER",
    "REQUEST_ARGUMENTS",
    "SLOT",
    "Slot",
    "Template",
    "TemplateError",
    "TemplateLibrary",
    "find_template",
    "list_templates",
    "parse_template",
    "read_template",
    "template_library",
    "template_names",
]

OWN_FOLDER: Final = ".goopspec/templates"
"""Where a project keeps templates of its own, one file each, relative to its folder."""

MOST_OWN: Final = 100
"""How many templates of its own a project may have."""

MOST_SLOTS: Final = 50
"""How many slots a template may have."""

REQUEST_ARGUMENTS: Final = ("session_id", "parent_agent", "target_agent")
"""What is given next to the values of slots, so that no slot may have such a name."""

SLOT = re.compile(r"\{\{([a-z][a-z0-9_]*)\}\}")
"""A slot in the text of a template; its group is the name."""

_FOLDER = "agent_request/"
_SUFFIX = ".md"
_MOST_BYTES = 64 * 1024
_TASK = re.compile(r"# Task: (?P<heading>[^\n]+)\n.+", re.DOTALL)
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")
_FRONT = (
    "name, title and description as texts, and for each slot a table [[slots]] with name and"
    " description, or slots = []"
)


class TemplateError(GoopError, ValueError):
    """Raised when a template of a project cannot be used; the text names the file and the fix."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """A slot of a template."""

    name: str
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """One template; `text` is the prompt with its slots, `heading` the title in it.

    `file` is the path in the project of a template of its own, None for one of the package.
    """

    name: str
    title: str
    description: str
    slots: tuple[Slot, ...]
    heading: str
    text: str
    file: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the template as JSON values."""
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "slots": [{"name": each.name, "description": each.description} for each in self.slots],
            "file": self.file,
            "text": self.text,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateLibrary:
    """The templates that a project can use, and one text for each file that is none."""

    templates: tuple[Template, ...]
    problems: tuple[str, ...] = ()


def list_templates() -> tuple[Template, ...]:
    """Return the templates of the package, sorted by name.

    Raises AssetBrokenError for a malformed file.
    """
    return tuple(find_template(name) for name in template_names())


def template_library(project: "Path | None") -> TemplateLibrary:
    """Return the templates of the package, then those of `project` if any, each sorted by name.

    A file of the project that is not a template is a problem, and hides none of the others.
    """
    own: list[Template] = []
    problems: list[str] = []
    names = () if project is None else _own_names(project)
    for name in names[:MOST_OWN]:
        try:
            own.append(find_template(name, project=project))
        except GoopError as error:
            problems.append(str(error))

    if len(names) > MOST_OWN:
        problems.append(
            f"{OWN_FOLDER} has {len(names)} templates; only the first {MOST_OWN} by name are used"
        )

    return TemplateLibrary(templates=(*list_templates(), *own), problems=tuple(problems))


def find_template(name: str, *, project: "Path | None" = None) -> Template:
    """Return the template called `name`, of the package or of `project`.

    Raises UnknownNameError, which suggests the nearest name, and TemplateError for a file of the
    project that cannot be used.
    """
    if name in template_names() or project is None:
        if project is not None and name in _own_names(project):
            # Silently preferring one of them would send another text than the one a reader sees.
            raise TemplateError(
                f"{_own_file(name)} cannot be used: goop-mcp has a template of that name; rename"
                " the file and its name"
            )

        return parse_template(read_template(name), file=name + _SUFFIX)

    text = read_template(name, project=project)
    try:
        template = parse_template(text, file=_own_file(name))
    except AssetBrokenError as error:
        raise TemplateError(str(error)) from error

    return template


def read_template(name: str, *, project: "Path | None" = None) -> str:
    """Return the file of the template `name`, front matter included.

    Raises UnknownNameError, TemplateError for a file of `project` that cannot be read.
    """
    known = template_names()
    if name in known:
        return read_asset("templates", _FOLDER + name + _SUFFIX)

    own = () if project is None else _own_names(project)
    if project is None or name not in own[:MOST_OWN]:
        raise UnknownNameError("template", name, (*known, *own))

    files = workspace.files.ProjectFiles(project)
    try:
        text = files.read_text(_own_file(name), most=_MOST_BYTES)
    except GoopError as error:
        raise TemplateError(f"the template cannot be used: {error}") from error

    if text is None:
        raise UnknownNameError("template", name, (*known, *own))
    return text.removeprefix("\ufeff").replace("\r\n", "\n")


def parse_template(text: str, *, file: str) -> Template:
    """Return the template in `text`; `file` is its name, or its path in a project.

    Raises AssetBrokenError, which names the file and what to change, if it is malformed.
    """
    path = PurePosixPath(file)
    front, prompt = split_front_matter(text, file=f"the template {file}")
    match = _TASK.fullmatch(prompt)
    if match is None:
        raise _broken(file, "it has no line '# Task:' after its front matter")

    listed: Any = front.get("slots")
    texts = [front.get(key) for key in ("name", "title", "description")]

    are_slots = isinstance(listed, list) and all(
        isinstance(each, Mapping)
        and all(isinstance(each.get(key), str) for key in ("name", "description"))
        for each in listed
    )
    if not all(isinstance(each, str) and each.strip() for each in texts) or not are_slots:
        raise _broken(file, f"its front matter is not in order; expected {_FRONT}")

    slots = tuple(Slot(name=each["name"], description=each["description"]) for each in listed)
    template = Template(
        name=front["name"],
        title=front["title"],
        description=front["description"],
        slots=slots,
        heading=match["heading"],
        text=prompt,
        file=file if len(path.parts) > 1 else None,
    )
    if template.name != path.stem:
        raise _broken(file, f"its name is {template.name[:60]!r}; expected {path.stem!r}")
    if problem := _slot_problem([slot.name for slot in slots], SLOT.findall(prompt)):
        raise _broken(file, problem)

    return template


def template_names(project: "Path | None" = None) -> tuple[str, ...]:
    """Return the names of the templates of the package, then of those of `project`, sorted."""
    own = () if project is None else _own_names(project)[:MOST_OWN]
    names = list_assets("templates", _SUFFIX)
    packaged = tuple(
        name.removeprefix(_FOLDER).removesuffix(_SUFFIX)
        for name in names
        if name.startswith(_FOLDER)
    )

    return (*packaged, *(name for name in own if name not in packaged))


def _own_file(name: str) -> str:
    return f"{OWN_FOLDER}/{name}{_SUFFIX}"


def _own_names(project: "Path") -> tuple[str, ...]:
    try:
        files = workspace.files.ProjectFiles(project).names(OWN_FOLDER)
    except GoopError as error:
        raise TemplateError(f"{OWN_FOLDER} cannot be read: {error}") from error

    stems = (file.removesuffix(_SUFFIX) for file in files if file.endswith(_SUFFIX))
    return tuple(stem for stem in stems if _NAME.fullmatch(stem))


def _slot_problem(listed: list[str], used: list[str]) -> str | None:
    """Return what is wrong with the slots that the front matter lists and the text uses."""
    if len(listed) > MOST_SLOTS:
        return f"it has {len(listed)} slots; expected at most {MOST_SLOTS}"
    if reserved := [name for name in listed if name in REQUEST_ARGUMENTS]:
        return f"its slot {reserved[0]} has the name of a field of every request; rename it"
    if doubled := [name for name in listed if listed.count(name) > 1]:
        return f"it lists the slot {doubled[0][:60]!r} twice; list it once"
    if unlisted := [name for name in used if name not in listed]:
        return (
            f"its text has a slot {unlisted[0][:60]!r}, which it does not list; add it to [[slots]]"
        )
    if unused := [name for name in listed if name not in used]:
        return f"it lists the slot {unused[0][:60]!r}, which its text does not have; take it out"
    return None


def _broken(file: str, reason: str) -> AssetBrokenError:
    return AssetBrokenError(f"the template {file} cannot be used: {reason}")
