"""Build a request from a template and values for its slots (H-65).

Values are data: they become part of the typed request and are escaped when it is written (D-85).
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from goop_mcp.errors import AssetBrokenError, UnknownNameError
from goop_mcp.protocols.agent_request import AGENT_REQUEST, Request
from goop_mcp.services.build_request import BuiltRequest, RequestFieldsError, build_request
from goop_mcp.services.templates import SLOT, find_template
from goop_mcp.validation import pipeline

__all__ = ["fill_template"]


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
