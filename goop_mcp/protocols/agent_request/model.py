"""The typed model of an `<agent_request>` (xml-handoff-protocol, sections 2 and 8)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, Self

from goop_mcp.structs import DataStruct
from goop_mcp.validation.plain_values import model_from, plain_values

__all__ = [
    "DEFAULT_VERSION",
    "Deliverable",
    "DeliverableKind",
    "Duration",
    "Extension",
    "Priority",
    "Request",
    "RequestMode",
    "RequestWorkflow",
]

DEFAULT_VERSION = "1.0"
"""What a request without a version is read as, and what is written (H-13, D-70)."""

DeliverableKind = Literal["file", "decision", "report"]


class RequestMode(StrEnum):
    """How the request is carried out (H-03)."""

    SPAWN = "spawn"
    CONVERSATION_ONLY = "conversation_only"
    BLOCKING = "blocking"


class RequestWorkflow(StrEnum):
    """The method to follow (H-06)."""

    SPIKE = "SPIKE"
    TDD = "TDD"
    STANDARD = "standard"
    NONE = "none"


class Priority(StrEnum):
    """How urgent a session is (H-14)."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Duration(DataStruct, frozen=True, kw_only=True):
    """A span of time as it was written (`10m`, `2h`), and in seconds."""

    text: str
    seconds: float


class Deliverable(DataStruct, frozen=True, kw_only=True):
    """An expected output (H-09 to H-11).

    Only a file has a `path`; `required` is None where it could not be read.
    """

    kind: DeliverableKind
    path: str | None = None
    required: bool | None = True
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """An element that the schema does not have (H-16).

    `parent` is "constraints" or "deliverables" where it stands in one of them. `namespace` is None
    for an element without one of its own. Names of `attributes` are in Clark notation. `tail` is
    text after an element inside another extension. The name `#text` stands for text outside of any
    element.
    """

    name: str
    namespace: str | None = None
    text: str = ""
    attributes: tuple[tuple[str, str], ...] = ()
    children: "tuple[Extension, ...]" = ()
    tail: str = ""
    parent: str = ""
    prefix: str | None = field(default=None, compare=False)

    def walk(self) -> "Iterator[Extension]":
        """Yield this element and all below it, in order."""
        yield self
        for child in self.children:
            yield from child.walk()


class Request(DataStruct, frozen=True, kw_only=True):
    """An `<agent_request>`.

    None stands for a value that is absent or could not be read, never for a default.

    The exception is `version`, which is "1.0" where none is written. `constraints` and
    `deliverables` are None when the container is absent and empty when it is there without content.
    `extra_attributes` are those of the root that are unknown or could not be read. `partial` marks
    a request that was cut off (D-16).
    """

    version: str = DEFAULT_VERSION
    mode: RequestMode | None = None
    original_intent: str | None = None
    current_task_summary: str | None = None
    workflow: RequestWorkflow | None = None
    task_details: str | None = None
    constraints: tuple[str, ...] | None = None
    deliverables: tuple[Deliverable, ...] | None = None
    backlog_notes: str | None = None
    session_id: str | None = None
    parent_agent: str | None = None
    target_agent: str | None = None
    priority: Priority | None = None
    estimated_duration: Duration | None = None
    timeout: Duration | None = None
    max_retries: int | None = None
    notify_on_completion: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    extra_attributes: tuple[tuple[str, str], ...] = ()
    extensions: tuple[Extension, ...] = ()
    partial: bool = False

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of all file deliverables, in order (H-22)."""
        return tuple(each.path for each in self.deliverables or () if each.path)

    def values_in(self, namespace: str) -> tuple[tuple[str, str], ...]:
        """Return (name, text) of every element in `namespace` that holds text, in order (H-16)."""
        return tuple(
            (each.name, each.text.strip())
            for extension in self.extensions
            for each in extension.walk()
            if each.namespace == namespace and each.text.strip()
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the request as JSON values under the specification's names."""
        values = plain_values(self)
        values["extra_attributes"] = dict(self.extra_attributes)
        return values

    @classmethod
    def from_dict(cls, values: object) -> Self:
        """Return the request that `to_dict` wrote. Raises ValueError, which names the place."""
        if not isinstance(values, Mapping):
            raise ValueError("the request is not an object; expected what to_dict wrote")

        attributes = values.get("extra_attributes", {})
        if not isinstance(attributes, Mapping):
            raise ValueError("extra_attributes is not an object; expected what to_dict wrote")
        return model_from(
            cls, {**values, "extra_attributes": [list(each) for each in attributes.items()]}
        )
