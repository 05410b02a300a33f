"""From the XML tree of an `<agent_request>` to the typed model."""

import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Literal, TypeVar

from lxml import etree

from goop_mcp.protocols.agent_request.attributes import (
    OWN_ATTRIBUTES,
    read_duration,
    read_list,
    read_number,
)
from goop_mcp.protocols.agent_request.extensions import STRAY_TEXT, read_extension
from goop_mcp.protocols.agent_request.model import (
    DEFAULT_VERSION,
    Deliverable,
    Extension,
    Priority,
    Request,
    RequestMode,
    RequestWorkflow,
)
from goop_mcp.protocols.agent_request.rules import structure, task, values
from goop_mcp.validation.escaping import XML_BLANKS
from goop_mcp.validation.findings import excerpt
from goop_mcp.validation.markup import Grammar
from goop_mcp.validation.paths import PathBounds, read_path
from goop_mcp.validation.template_phrases import AGENT_REQUEST_PROSE
from goop_mcp.validation.template_text import is_templating
from goop_mcp.validation.xml_values import Element, Words, XmlValueReader, XmlValueRules, clean_text

__all__ = ["GRAMMAR", "NAMESPACE", "ROOT_PARTS", "RequestReader"]

T = TypeVar("T")

NAMESPACE = "http://instructor-workflow.org/agent-handoff/v1"
"""The namespace of the schema; a request in it and one without any are equal (H-17)."""

ROOT_PARTS = (
    "mode",
    "original_intent",
    "current_task_summary",
    "workflow",
    "task_details",
    "constraints",
    "deliverables",
    "backlog_notes",
)
"""The elements below the root, in the order of the schema (H-02)."""

_PLACES = {name: place for place, name in enumerate(ROOT_PARTS)}
_KINDS = frozenset({"file", "decision", "report"})
_CONTAINERS = frozenset({"agent_request", "constraints", "deliverables"})
_OF_FILES = frozenset({"path", "required"})
_ROOT = "/agent_request"
_OWN = f"{{{NAMESPACE}}}"
# A slot of our templates. `${{ }}`, `{{{ }}}` and a slot between backticks belong to other
# languages or are quoted.
_SLOT = re.compile(r"(?<![$`{])\{\{[a-z][a-z0-9_]*\}\}(?![`}])")
_DIALECTS = {"spawns": "fan-out", "conversation_message": "conversation"}

GRAMMAR = Grammar(
    root="agent_request",
    containers=_CONTAINERS,
    text_only=(frozenset(ROOT_PARTS) | _KINDS | {"constraint"}) - _CONTAINERS,
    attributes=OWN_ATTRIBUTES | _OF_FILES,
    namespaces=frozenset({NAMESPACE}),
)

_RULES = XmlValueRules(
    missing_field=structure.MISSING_FIELD,
    empty_field=structure.EMPTY_FIELD,
    placeholder_left=values.PLACEHOLDER_LEFT,
    slot_in_text=values.SLOT_IN_TEXT,
    value_case=values.VALUE_CASE,
    parts=structure.REQUIRED_PARTS,
    prose=AGENT_REQUEST_PROSE,
    lists=frozenset({"constraints", "deliverables"}),
)
_MODE = Words({each.value: each for each in RequestMode}, values.UNKNOWN_MODE)
_WORKFLOW = Words({each.value: each for each in RequestWorkflow}, values.UNKNOWN_WORKFLOW)
_BOOLEAN = Words({"true": True, "false": False, "1": True, "0": False}, values.NOT_A_BOOLEAN)
_PRIORITIES = {each.value: each for each in Priority}


class RequestReader(XmlValueReader):
    """Reads one `<agent_request>` tree into the model; paths are checked by `bounds`."""

    def __init__(self, bounds: PathBounds) -> None:
        """Begin without findings."""
        super().__init__(_RULES)
        self._bounds = bounds
        self._extensions: list[Extension] = []
        self._unread: list[tuple[str, str]] = []
        self._doubled: set[str] = set()
        self._met: dict[str, int] = {}

    def read(self, root: Element) -> Request:
        """Return the request of an `<agent_request>` tree."""
        if root.tag not in ("agent_request", f"{_OWN}agent_request"):
            self.tangled = True

        parts = self._parts(root)
        deliverables = self._deliverables(parts.get("deliverables"))
        given: dict[str, str] = {}
        for key, value in root.attrib.items():
            name = str(key)
            if name in OWN_ATTRIBUTES:
                given[name] = str(value).strip(XML_BLANKS)
            # The repair of the tags gives it the case of the schema.
            elif name.lower() in OWN_ATTRIBUTES:
                self.tangled = True
            else:
                self._unread.append((name, str(value)))
                message = f"attribute {excerpt(name, 60)} is not in the schema; kept"
                where = f"{_ROOT}/@{etree.QName(name).localname}"
                self.report(structure.UNKNOWN_ATTRIBUTE.problem(message, path=where))

        request = Request(
            version=self._name(given, "version", root) or given.get("version", DEFAULT_VERSION),
            mode=self._word(parts, "mode", _MODE),
            original_intent=self._required(parts, "original_intent"),
            current_task_summary=self._required(parts, "current_task_summary"),
            workflow=self._word(parts, "workflow", _WORKFLOW),
            task_details=self._required(parts, "task_details"),
            constraints=self._constraints(parts.get("constraints")),
            deliverables=deliverables,
            backlog_notes=self._free_text(parts.get("backlog_notes"), f"{_ROOT}/backlog_notes"),
            session_id=self._name(given, "session_id", root) or None,
            parent_agent=self._name(given, "parent_agent", root) or None,
            target_agent=self._name(given, "target_agent", root) or None,
            priority=self._typed(given, "priority", _PRIORITIES.get, "high, medium or low"),
            estimated_duration=self._typed(
                given, "estimated_duration", read_duration, "a time such as 30s, 10m or 2h"
            ),
            timeout=self._typed(given, "timeout", read_duration, "a time such as 30s, 10m or 2h"),
            max_retries=self._typed(given, "max_retries", read_number, "a whole number from 0"),
            notify_on_completion=self._typed(
                given, "notify_on_completion", read_list, "a list of agents"
            )
            or (),
            depends_on=self._typed(given, "depends_on", read_list, "a list of session ids") or (),
            extra_attributes=tuple(self._unread),
            extensions=tuple(self._extensions),
        )
        self.template_texts(root)

        return request

    # Elements

    def _parts(self, root: Element) -> dict[str, Element]:
        """Return the known children of the root by name; report duplicates and a wrong order."""
        parts: dict[str, Element] = {}
        # Text between the elements may be a part that lost its tags.
        stray = root.text if root.text and not root.text.isspace() else ""
        order: list[int] = []

        for child in root:
            name = _own_name(child)
            if name not in _PLACES:
                self._extension(child, _ROOT)
            elif name in parts:
                # The first element is still read, so that errors in it are found in the same round.
                self._doubled.add(name)
                message = f"<{name}> occurs more than once; expected once"
                self.report(structure.DUPLICATE_ELEMENT.problem(message, path=f"{_ROOT}/{name}[2]"))
            else:
                parts[name] = child
                order.append(_PLACES[name])
                if child.attrib:
                    self._strange_attributes(child, f"{_ROOT}/{name}", frozenset())

            if child.tail and not child.tail.isspace():
                stray += child.tail

        if stray:
            self._stray_text(stray, _ROOT)
        if all(one < other for one, other in pairwise(order)):
            return parts

        # A sequence of the schema has one order only, while the meaning of the parts needs none.
        # Root; children in this order (section 2.1)
        found, proper = list(parts), sorted(parts, key=_PLACES.__getitem__)
        at = next(
            at for at, (one, other) in enumerate(zip(found, proper, strict=True)) if one != other
        )
        self.report(
            structure.ELEMENT_ORDER.problem(
                f"<{found[at]}> stands before <{proper[at]}>; expected the order of the schema",
                path=f"{_ROOT}/{found[at]}",
                found=", ".join(found),
                before=", ".join(found),
                after=", ".join(proper),
            )
        )
        # The text after an element is stored as its tail in lxml and would move along with it.
        # Tails stay at their positions, so that sorting changes the order of elements and nothing
        # else.
        tails = [child.tail for child in root]
        root[:] = sorted(root, key=lambda child: _PLACES.get(_own_name(child), len(_PLACES)))
        for child, tail in zip(root, tails, strict=True):
            child.tail = tail

        return parts

    def _word(self, parts: Mapping[str, Element], name: str, words: Words[T]) -> T | None:
        """Return the meaning of a part's word; None for two words, as either would be a guess."""
        word = self.required_word(parts.get(name), f"{_ROOT}/{name}", words)
        return None if name in self._doubled else word

    def _required(self, parts: Mapping[str, Element], name: str) -> str | None:
        text = self.required_text(parts.get(name), f"{_ROOT}/{name}")
        return self._without_slots(text, f"{_ROOT}/{name}")

    def _free_text(self, element: Element | None, path: str) -> str | None:
        return self._without_slots(self.text(element), path)

    def _without_slots(self, text: str | None, path: str) -> str | None:
        """Return `text`, reporting unfilled slots of our templates.

        Slots in a text that names a template language belong to that language.
        """
        if (
            text
            and "{{" in text
            and (slots := list(dict.fromkeys(_SLOT.findall(text))))
            and not is_templating(text)
        ):
            shown = excerpt(", ".join(slots), 60)
            message = (
                f"template text left in: slot {shown} of the template was not filled in; expected"
                " the real value"
            )
            fix = (
                f"Replace {shown} by the real value; put it between backticks where it is meant so."
            )
            self.report(
                values.PLACEHOLDER_LEFT.problem(
                    message, path=path, found=excerpt(slots[0]), fix=fix
                )
            )

        return text

    def _constraints(self, element: Element | None) -> tuple[str, ...] | None:
        if element is None:
            return None

        path = f"{_ROOT}/constraints"
        constraints = []

        for number, child in enumerate(self._items(element, path, frozenset({"constraint"})), 1):
            text = self._free_text(child, f"{path}/constraint[{number}]")
            if text:
                constraints.append(text)

        if constraints:
            return tuple(constraints)

        # An empty list and one that cannot be read look alike in the model, but only the second
        # hides a rule from the child (D-78).
        words = " ".join("".join(element.itertext()).split())
        if words:
            message = (
                f"constraints could not be read: {excerpt(words, 60)!r} is outside of <constraint>;"
                " the list is empty"
            )
            self.report(
                task.CONSTRAINTS_UNREADABLE.problem(message, path=path, found=excerpt(words))
            )
        else:
            message = "constraints holds no <constraint>; the list is empty"
            self.report(task.EMPTY_CONSTRAINTS.problem(message, path=path))

        return ()

    def _deliverables(self, element: Element | None) -> tuple[Deliverable, ...] | None:
        path = f"{_ROOT}/deliverables"
        if element is None:
            self.missing(path)
            return None

        counts: dict[str, int] = {}
        deliverables = []

        for child in self._items(element, path, _KINDS):
            kind = _own_name(child)
            number = counts[kind] = counts.get(kind, 0) + 1
            where = f"{path}/{kind}[{number}]"
            text = self._free_text(child, where) or ""
            known = _OF_FILES if kind == "file" else frozenset[str]()
            if not known.issuperset(child.attrib):
                self._strange_attributes(child, where, known)

            if kind != "file":
                named: Literal["decision", "report"] = (
                    "decision" if kind == "decision" else "report"
                )
                deliverables.append(Deliverable(kind=named, text=text))
                continue

            # The schema's default: "required" is true unless it says otherwise.
            required: bool | None = True
            if "required" in child.attrib:
                required = self.attribute_word(child, "required", where, _BOOLEAN)
            file = self._path(child, f"{where}/@path")
            deliverables.append(Deliverable(kind="file", path=file, required=required, text=text))

        if not deliverables:
            message = "deliverables is empty; expected at least one <file>, <decision> or <report>"
            self.report(task.NO_DELIVERABLES.problem(message, path=path))

        return tuple(deliverables)

    def _path(self, element: Element, where: str) -> str | None:
        written = element.get("path")
        if written is None:
            self.missing(where)
            return None

        path = written.strip(XML_BLANKS)
        if not path:
            self.empty(where)
        elif _SLOT.search(path):
            self._without_slots(path, where)
        else:
            # The path as it is meant goes back into the tree, so that the repaired text has it as
            # well.
            meant, problem = read_path(path, where=where, bounds=self._bounds)
            if problem is not None:
                self.report(problem)
            if meant != path:
                element.set("path", meant)
            return meant

        return path

    def _items(self, element: Element, path: str, names: frozenset[str]) -> list[Element]:
        """Return the children that have one of `names`; keep the others."""
        items: list[Element] = []
        stray = element.text if element.text and not element.text.isspace() else ""

        for child in element:
            if _own_name(child) in names:
                items.append(child)
            else:
                self._extension(child, path)

            if child.tail and not child.tail.isspace():
                stray += child.tail

        if stray:
            # Constraints of which none can be read have a finding of their own.
            self._stray_text(stray, path, reported=not items and "constraint" in names)
        if element.attrib:
            self._strange_attributes(element, path, frozenset())
        return items

    # What the schema does not have

    def _extension(self, child: Element, path: str) -> None:
        extension = read_extension(child, parent=path[len(_ROOT) + 1 :], own=NAMESPACE)
        self._extensions.append(extension)
        name = extension.name
        written = f"{child.prefix}:{name}" if child.prefix and extension.namespace else name
        where = f"{path}/{written}"
        number = self._met[where] = self._met.get(where, 0) + 1
        if number > 1:
            where = f"{where}[{number}]"

        shown = excerpt(written, 60)
        if extension.namespace is not None:
            message = f"element <{shown}> is in a separate namespace; kept"
            self.report(structure.EXTENSION_ELEMENT.problem(message, path=where))
            return

        self.tangled = self.tangled or (
            name.lower() in GRAMMAR.names and name not in GRAMMAR.names.values()
        )
        dialect = _DIALECTS.get(name)
        of_dialect = f"; it belongs to the {dialect} dialect" if dialect else ""
        message = f"element <{shown}> is not in the schema{of_dialect}; kept"
        self.report(structure.UNKNOWN_ELEMENT.problem(message, path=where))

    def _stray_text(self, text: str, path: str, *, reported: bool = False) -> None:
        words = clean_text(text)
        self._extensions.append(
            Extension(name=STRAY_TEXT, text=words, parent=path[len(_ROOT) + 1 :])
        )
        if reported:
            return

        message = f"text outside of any element: {excerpt(words, 60)!r}; kept"
        self.report(
            structure.UNKNOWN_ELEMENT.problem(
                message, path=path, fix="Put the text into an element."
            )
        )

    def _strange_attributes(self, element: Element, path: str, known: frozenset[str]) -> None:
        for name in element.attrib:
            lower = str(name).lower()
            if name not in known and lower in known:
                self.tangled = True
            elif name not in known:
                message = (
                    f"attribute {excerpt(str(name), 60)} of <{_own_name(element)}> is not in the"
                    " schema; ignored"
                )
                self.report(structure.UNKNOWN_ATTRIBUTE.problem(message, path=path))

    # Attributes of the root

    def _name(self, given: Mapping[str, str], name: str, root: Element) -> str:
        """Return a name as written; "" when it is absent or template text."""
        raw = given.get(name, "")
        # Nearly every name passes here and needs none of the searches for template text.
        if raw.isascii() and raw.replace("-", "").isalnum():
            return raw
        return (self.listed_name(raw, f"{_ROOT}/@{name}", root, name) or "") if raw else ""

    def _typed(
        self, given: Mapping[str, str], name: str, read: Callable[[str], T | None], expected: str
    ) -> T | None:
        """Return what an attribute of the root says; one that cannot be read is kept as it is."""
        raw = given.get(name)
        if raw is None:
            return None

        value = read(raw)
        if value is None:
            self._unread.append((name, raw))
            message = f"{name} is {excerpt(raw, 60)!r}; expected {expected}"
            self.report(
                values.BAD_ATTRIBUTE_VALUE.problem(
                    message, path=f"{_ROOT}/@{name}", found=excerpt(raw)
                )
            )

        return value


def _own_name(element: Element) -> str:
    """Return an element's name; one of a foreign namespace keeps it as a prefix."""
    return str(element.tag).removeprefix(_OWN)
