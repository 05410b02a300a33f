"""Build a request from a template and values for its slots (H-65).

Values are data: they become part of the typed request and are escaped when it is written (D-85).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from goop_mcp.errors import UnknownNameError
from goop_mcp.protocols.agent_request import AGENT_REQUEST, Request
from goop_mcp.services.build_request import (
    BuiltRequest,
    RequestFieldsError,
    build_request,
    prose_of,
)
from goop_mcp.services.templates import SLOT, Slot, Template, TemplateError, find_template
from goop_mcp.validation import pipeline

__all__ = ["TemplatePreview", "UnfilledSlotsError", "fill_template", "preview_template"]


class UnfilledSlotsError(RequestFieldsError):
    """Raised when slots of a template have no value; `slots` are those, in order."""

    def __init__(self, template: str, slots: tuple[Slot, ...]) -> None:
        self.slots = slots
        super().__init__(
            f"the template {template} has slots that are not filled in:"
            f" {', '.join(slot.name for slot in slots)}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplatePreview:
    """A template with the values so far; `unfilled` are the slots that still stand in `text`.

    For the eyes of a person only: nothing is escaped, so that it is never sent.
    """

    text: str
    unfilled: tuple[Slot, ...]


def preview_template(template: Template, values: Mapping[str, str]) -> TemplatePreview:
    """Return the text of `template` with `values` in its slots, the others left as they are.

    Raises UnknownNameError for a value that has no slot.
    """
    slots = [slot.name for slot in template.slots]
    for given in values:
        if given not in slots:
            raise UnknownNameError(f"slot of {template.name}", given, slots)

    filled = {name: value.strip() for name, value in values.items() if value.strip()}

    return TemplatePreview(
        text=SLOT.sub(lambda slot: filled.get(slot[1], slot[0]), template.text),
        unfilled=tuple(slot for slot in template.slots if slot.name not in filled),
    )


def fill_template(
    name: str,
    values: Mapping[str, str],
    *,
    project: Path | None = None,
    session_id: str | None = None,
    parent_agent: str | None = None,
    target_agent: str | None = None,
    now: datetime | None = None,
) -> BuiltRequest:
    """Return the prompt of the template `name` with `values` in its slots.

    `project` is the folder whose own templates count as well. The other arguments are those of
    `build_request`; the default agents are those of the template. Raises UnknownNameError for an
    unknown template or slot, UnfilledSlotsError for slots without a value, TemplateError for a
    template of the project that cannot be used, and what `build_request` raises.
    """
    template = find_template(name, project=project)
    unfilled = preview_template(template, values).unfilled
    if unfilled:
        raise UnfilledSlotsError(name, unfilled)

    request = pipeline.validate(template.text, (AGENT_REQUEST,), protocol="agent_request").envelope
    where = template.file or f"the template {name}"
    if not isinstance(request, Request):
        raise TemplateError(
            f"{where} cannot be used: it holds no agent_request in a fence that can be read;"
            " compare it with `goop-mcp template show research-spike`"
        )

    if request.extensions or request.extra_attributes:
        # They would be lost: what is built has the fields of the specification only.
        raise TemplateError(
            f"{where} cannot be used: it has elements or attributes that no agent_request has; take"
            " them out"
        )

    def fill(text: str | None) -> str:
        # In one pass, so that a value which looks like a slot stays what it is.
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
        parent_agent=parent_agent or request.parent_agent,
        target_agent=target_agent or request.target_agent,
        priority=request.priority,
        estimated_duration=request.estimated_duration.text if request.estimated_duration else None,
        timeout=request.timeout.text if request.timeout else None,
        max_retries=request.max_retries,
        notify_on_completion=request.notify_on_completion,
        depends_on=request.depends_on,
        context=fill(prose_of(template.text)),
        now=now,
    )
