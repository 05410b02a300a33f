"""The pages Handoff, Templates and Draft: three ways to one form, and from there to a prompt."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.responses import Response

from goop_mcp import services
from goop_mcp.errors import GoopError, UnknownNameError
from goop_mcp.protocols.agent_request.model import Priority, RequestMode, RequestWorkflow
from goop_mcp.services.build_request import HANDOFF_AGENTS, fields_of_prompt
from goop_mcp.services.draft_request import Draft
from goop_mcp.services.fill_template import preview_template
from goop_mcp.services.templates import find_template, template_library
from goop_mcp.validation.findings import excerpt
from goop_mcp.workbench.visits import Form, RouteList, Visit, whole_number

__all__ = ["ROUTES"]

ROUTES: Final = RouteList()

_SLOT: Final = re.compile(r"(\{\{[a-z][a-z0-9_]*\}\})")
_MOST_ROWS: Final = 60
_SPARE_ROWS: Final = 2
_LINES: Final = ("constraints", "depends_on", "notify_on_completion")
_TEXTS: Final = (
    "title",
    "original_intent",
    "current_task_summary",
    "task_details",
    "backlog_notes",
    "context",
    "session_id",
    "parent_agent",
    "target_agent",
    "estimated_duration",
    "timeout",
)


# The editor


@ROUTES.page("/handoff", label="Handoff", part="project")
def _show_editor(visit: Visit) -> Response:
    """Show the form: empty, with the prompt of a session, or for what follows a report."""
    fields: dict[str, Any] = {}
    opened, problem = "", None
    try:
        if session := visit.query.text("session"):
            fields, opened = services.hand_over.read_handoff(
                visit.application.settings.project, session
            )
        elif report := visit.query.text("report"):
            shown = services.recorded_reports.show_report(
                visit.application.store, whole_number(report) or 0
            )
            decision = shown.decision
            to_read = decision.get("files_to_read")
            read = "\n".join(f"- {each}" for each in to_read) if isinstance(to_read, list) else ""

            fields = {
                "current_task_summary": decision.get("instruction") or "",
                "target_agent": decision.get("next_agent") or "",
                "context": f"Files to read first:\n\n{read}" if read else "",
            }
    except GoopError as error:
        problem = str(error)

    return _editor(visit, fields, opened=opened, problem=problem)


@ROUTES.action("/handoff/preview")
def _preview_editor(visit: Visit) -> Response:
    return visit.part("handoff_result.html", **_result(_fields(visit.form)))


@ROUTES.action("/handoff")
def _check_editor(visit: Visit) -> Response:
    """Show the page again with its verdict, or with more rows, for browsers without script."""
    rows = len(visit.form.texts("kind"))
    more = _SPARE_ROWS + 2 if visit.form.text("do") == "rows" else 0

    return _editor(visit, _fields(visit.form), opened=visit.form.text("opened"), rows=rows + more)


@ROUTES.action("/handoff/write")
def _write(visit: Visit) -> Response:
    """Write the prompt into the folder of its session; what stops it is shown next to the form."""
    fields, opened = _fields(visit.form), visit.form.text("opened")
    here = visit.application.settings
    if not here.keeps_files:
        return _editor(
            visit, fields, opened=opened, problem="This server keeps no files: copy the prompt."
        )

    try:
        built = services.hand_over.hand_over_request(
            fields,
            project=here.project,
            write=True,
            now=datetime.now().astimezone(),
            replaces=opened or None,
        )
    except GoopError as error:
        return _editor(visit, fields, opened=opened, problem=str(error), status=409)

    session = (built.path or "").split("/")[-2]
    note = f"Written: {built.path}. Check it before an agent starts: goop-mcp gate {built.path}"

    shown = f"?session={session}" if visit.login.may_look_at_files else ""

    return visit.go(f"/handoff{shown}", note, clears="handoff")


def _editor(
    visit: Visit,
    fields: Mapping[str, Any],
    *,
    opened: str = "",
    problem: str | None = None,
    status: int = 200,
    rows: int = 0,
) -> Response:
    given = [each for each in fields.get("deliverables") or () if isinstance(each, Mapping)]
    count = min(max(rows, len(given) + _SPARE_ROWS), _MOST_ROWS)
    empty = {"kind": "file", "path": "", "required": True, "text": ""}
    deliverables = [*given, *[empty] * (count - len(given))]

    return visit.show(
        "handoff.html",
        status=status,
        fields={
            **{name: str(fields.get(name) or "") for name in (*_TEXTS, "priority", "max_retries")},
            **{name: "\n".join(map(str, fields.get(name) or ())) for name in _LINES},
            "mode": fields.get("mode") or "spawn",
            "workflow": fields.get("workflow") or "standard",
            "max_retries": "" if (n := fields.get("max_retries")) is None else str(n),
        },
        deliverables=deliverables,
        opened=opened,
        problem=problem,
        modes=[each.value for each in RequestMode],
        workflows=[each.value for each in RequestWorkflow],
        priorities=[each.value for each in Priority],
        agents=sorted(HANDOFF_AGENTS),
        **_result(fields),
    )


def _fields(form: Form) -> dict[str, Any]:
    """Return the fields of a request from the form; browsers end lines with CRLF."""

    def text(name: str) -> str:
        return form.text(name).replace("\r\n", "\n")

    fields: dict[str, Any] = {name: text(name) for name in _TEXTS if text(name).strip()}
    for name in _LINES:
        if lines := [line.strip() for line in text(name).split("\n") if line.strip()]:
            fields[name] = lines

    fields |= {name: text(name) for name in ("mode", "workflow", "priority") if text(name)}
    if retries := text("max_retries").strip():
        # What is not a number is refused by the service, which says what it expects.
        fields["max_retries"] = number if (number := whole_number(retries)) is not None else retries

    columns = [form.texts(name)[:_MOST_ROWS] for name in ("kind", "path", "required", "text")]
    deliverables = []
    for kind, path, required, says in zip(*columns, strict=False):
        if not (path.strip() or says.strip()):
            continue

        each: dict[str, Any] = {"kind": kind, "text": says.replace("\r\n", "\n")}
        if kind == "file":
            each |= {"path": path.strip(), "required": required != "no"}
        elif path.strip():
            each["path"] = path.strip()
        deliverables.append(each)

    if deliverables:
        fields["deliverables"] = deliverables

    return fields


def _result(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the draft that the fields give; None without any."""
    # Mode and workflow have values from the start: alone they are nothing that was written.
    if not set(fields) - {"mode", "workflow"}:
        return {"draft": None, "refused": None, "parts": []}

    try:
        draft = services.draft_request.draft_of_fields(fields)
    except GoopError as error:
        return {"draft": None, "refused": str(error), "parts": []}

    return {"draft": draft, "refused": None, "parts": _parts(draft.text)}


def _parts(text: str) -> list[tuple[str, bool]]:
    """Return `text` in parts, each with whether it is a slot that was not filled in."""
    return [(part, bool(_SLOT.fullmatch(part))) for part in _SLOT.split(text) if part]


# Templates


@ROUTES.page("/templates", label="Templates", part="project")
def _show_templates(visit: Visit) -> Response:
    library = template_library(visit.application.own_templates)
    return visit.show("templates.html", library=library)


@ROUTES.page("/templates/{name}", of="/templates")
@ROUTES.action("/templates/{name}")
def _template(visit: Visit, problem: str | None = None) -> Response:
    try:
        template = find_template(visit.params["name"], project=visit.application.own_templates)
    except UnknownNameError as error:
        raise HTTPException(404, str(error)) from error

    values = _slot_values(visit, [slot.name for slot in template.slots])
    preview = preview_template(template, values)

    return visit.show(
        "template.html",
        chosen=template,
        values=values,
        problem=problem,
        parts=_parts(preview.text),
        unfilled=preview.unfilled,
    )


@ROUTES.action("/templates/{name}/preview")
def _preview_slots(visit: Visit) -> Response:
    template = find_template(visit.params["name"], project=visit.application.own_templates)
    preview = preview_template(
        template, _slot_values(visit, [slot.name for slot in template.slots])
    )
    return visit.part("template_result.html", parts=_parts(preview.text), unfilled=preview.unfilled)


@ROUTES.action("/templates/{name}/edit")
def _edit_template(visit: Visit) -> Response:
    """Lead from a template with all its slots filled in to the editor."""
    name = visit.params["name"]
    template = find_template(name, project=visit.application.own_templates)
    values = _slot_values(visit, [slot.name for slot in template.slots])
    try:
        built = services.fill_template.fill_template(
            name, values, project=visit.application.own_templates
        )
    except GoopError as error:
        return _template(visit, problem=str(error))

    return _editor(visit, fields_of_prompt(built.text))


def _slot_values(visit: Visit, slots: list[str]) -> dict[str, str]:
    texts = {name: visit.form.text(f"slot-{name}").replace("\r\n", "\n") for name in slots}
    return {name: text for name, text in texts.items() if text}


# Drafts


@ROUTES.page("/draft", label="Draft", part="project")
def _show_draft(visit: Visit) -> Response:
    return visit.show("draft.html", text="", **_drafted(""))


@ROUTES.action("/draft")
def _check_draft(visit: Visit) -> Response:
    text = visit.form.text("text").replace("\r\n", "\n")
    return visit.show("draft.html", text=text, **_drafted(text))


@ROUTES.action("/draft/preview")
def _preview_draft(visit: Visit) -> Response:
    text = visit.form.text("text").replace("\r\n", "\n")
    return visit.part("draft_result.html", **_drafted(text))


@ROUTES.action("/draft/edit")
def _edit_draft(visit: Visit) -> Response:
    """Lead from a description to the editor, with what it proves filled in."""
    text = visit.form.text("text").replace("\r\n", "\n")
    try:
        draft = services.draft_request.draft_request(text)
    except GoopError:
        return visit.show("draft.html", text=text, **_drafted(text))

    return _editor(visit, draft.fields)


def _drafted(text: str) -> dict[str, Any]:
    if not text.strip():
        return {"draft": None, "refused": None, "parts": []}

    try:
        draft: Draft = services.draft_request.draft_request(text)
    except GoopError as error:
        return {"draft": None, "refused": str(error), "parts": []}

    facts = []
    for fact in draft.facts:
        shown = fact.value
        if isinstance(shown, Mapping):
            # Of a deliverable its kind, path and text.
            parts = (shown.get("kind"), shown.get("path"), shown.get("text"))
            shown = " · ".join(str(part) for part in parts if part)
        facts.append((fact, excerpt(str(shown), 300)))

    return {"draft": draft, "refused": None, "parts": _parts(draft.text), "facts": facts}
