"""Build a prompt with an `<agent_request>` from the fields of a task."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal, TypeVar, cast, get_args

from goop_mcp.errors import GoopError, NotWritableError, UnknownNameError
from goop_mcp.protocols.agent_request import AGENT_REQUEST, Request
from goop_mcp.protocols.agent_request.attributes import read_duration, read_list
from goop_mcp.protocols.agent_request.extensions import write_text
from goop_mcp.protocols.agent_request.model import (
    Deliverable,
    DeliverableKind,
    Duration,
    Priority,
    RequestMode,
    RequestWorkflow,
)
from goop_mcp.protocols.agent_request.rules.placement import MULTIPLE_REQUESTS
from goop_mcp.protocols.agent_request.sessions import SESSIONS_FOLDER, is_session_id
from goop_mcp.protocols.agent_request.writing import normal_text, write_prompt
from goop_mcp.services.prompt_size import PromptSize, measure_prompt
from goop_mcp.validation import pipeline
from goop_mcp.validation.findings import Severity, excerpt
from goop_mcp.validation.paths import PathBounds, read_path
from goop_mcp.validation.verdict import Verdict

__all__ = [
    "HANDOFF_AGENTS",
    "BuiltRequest",
    "RequestFieldsError",
    "build_request",
    "fields_of_prompt",
    "prose_of",
]

T = TypeVar("T", RequestMode, RequestWorkflow, Priority)

# As many digits as are read.
_TOO_MANY_RETRIES = 10**9

HANDOFF_AGENTS = frozenset(
    {
        "planning-agent",
        "backend-agent",
        "test-agent",
        "research-agent",
        "devops-agent",
        "grafana-agent",
        "tracking-agent",
    }
)
"""The agents in the specification; a project may have others (H-48)."""

_KEYS = ("kind", "path", "required", "text")
_NO_SLUG = re.compile(r"[^a-z0-9]+")
_SLUG_CHARACTERS = 40
_MOST_ERRORS = 5


class RequestFieldsError(GoopError, ValueError):
    """Raised when the fields make no acceptable request; the text states the fix for each error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltRequest:
    """A prompt to write to `path`, relative to the project; None if the session has no id.

    `verdict` is that of our validator in strict mode, always accepted. `redactions` is the number
    of secrets that were removed from the fields.
    """

    text: str = field(repr=False)
    path: str | None
    verdict: Verdict
    size: PromptSize
    redactions: int = 0
    kind: Literal["agent_request"] = "agent_request"

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as JSON values."""
        return {
            "kind": self.kind,
            "text": self.text,
            "path": self.path,
            "verdict": self.verdict.to_dict(),
            "redactions": self.redactions,
            "size": self.size.to_dict(),
        }


def build_request(
    *,
    original_intent: str,
    current_task_summary: str,
    task_details: str,
    deliverables: Sequence[Deliverable | Mapping[str, object]],
    mode: str = "spawn",
    workflow: str = "standard",
    constraints: Iterable[str] = (),
    backlog_notes: str | None = None,
    session_id: str | None = None,
    parent_agent: str | None = None,
    target_agent: str | None = None,
    priority: str | None = None,
    estimated_duration: str | None = None,
    timeout: str | None = None,
    max_retries: int | None = None,
    notify_on_completion: Iterable[str] = (),
    depends_on: Iterable[str] = (),
    title: str | None = None,
    context: str | None = None,
    xsd_compat: bool = False,
    agents: Collection[str] | None = None,
    now: datetime | None = None,
) -> BuiltRequest:
    """Return a prompt with title, request and prose built from the fields of the specification.

    `estimated_duration` and `timeout` are durations such as "30m"; `max_retries` counts from 0;
    `notify_on_completion` lists agents and `depends_on` sessions. Each of `deliverables` has `kind`
    (file, decision or report), `path` for a file, `required` (default true) and `text`. The default
    of `title` is the summary. Without a `session_id` it is built from `now` and the title, if `now`
    is given. With `agents`, another target is refused. With `xsd_compat` the literal schema accepts
    the request. Raises RequestFieldsError, UnknownNameError for an unknown name or agent, and
    NotWritableError for text that XML, or with `xsd_compat` that schema, cannot represent.
    """
    if agents is not None and target_agent and target_agent not in agents:
        raise UnknownNameError("agent", target_agent, sorted(agents))

    summary = _text("current_task_summary", current_task_summary)
    heading = " ".join((_text("title", title) or summary).split())
    own_id = _session_id(_text("session_id", session_id), heading, now)
    if isinstance(constraints, str):
        raise RequestFieldsError("constraints is not a list of texts; expected one")

    listed = [_text(f"constraint {number}", each) for number, each in enumerate(constraints, 1)]
    request = Request(
        mode=_word("mode", mode, RequestMode),
        original_intent=_text("original_intent", original_intent),
        current_task_summary=summary,
        workflow=_word("workflow", workflow, RequestWorkflow),
        task_details=_text("task_details", task_details),
        constraints=tuple(filter(None, listed)) or None,
        deliverables=_deliverables(deliverables, own_id),
        backlog_notes=_text("backlog_notes", backlog_notes) or None,
        session_id=own_id,
        parent_agent=_text("parent_agent", parent_agent) or None,
        target_agent=_text("target_agent", target_agent) or None,
        priority=_word("priority", priority, Priority) if priority else None,
        estimated_duration=_duration("estimated_duration", estimated_duration),
        timeout=_duration("timeout", timeout),
        max_retries=_retries(max_retries),
        notify_on_completion=_names("notify_on_completion", notify_on_completion),
        depends_on=_names("depends_on", depends_on),
    )
    # The size compares the texts of the fields with the prompt, so that both get the same values.
    prose = _text("context", context)
    text = write_prompt(request, title=heading, context=prose, xsd_compat=xsd_compat)
    size = measure_prompt(text, request, title=heading, context=prose)
    path = f"{SESSIONS_FOLDER}/{own_id}/prompt.md" if own_id is not None else None

    return BuiltRequest(text=text, path=path, verdict=_judged(text), size=size)


def prose_of(prompt: str) -> str:
    """Return the prose after the request of a prompt; the first line there ends the fence."""
    return prompt.rpartition("</agent_request>")[2].lstrip().partition("\n")[2].strip()


def fields_of_prompt(prompt: str) -> dict[str, Any]:
    """Return the fields from which `build_request` builds `prompt`, as JSON values.

    Raises RequestFieldsError for a text without a request that can be read.
    """
    request = pipeline.validate(prompt, (AGENT_REQUEST,), protocol="agent_request").envelope
    if not isinstance(request, Request):
        raise RequestFieldsError("the text holds no agent_request that can be read")

    title = next((line[8:] for line in prompt.split("\n") if line.startswith("# Task: ")), "")
    durations = {"estimated_duration": request.estimated_duration, "timeout": request.timeout}
    values: dict[str, Any] = {
        name: getattr(request, name)
        for name in (
            "original_intent",
            "current_task_summary",
            "task_details",
            "backlog_notes",
            "session_id",
            "parent_agent",
            "target_agent",
            "max_retries",
        )
    }
    values |= {
        name: None if (word := getattr(request, name)) is None else str(word)
        for name in ("mode", "workflow", "priority")
    }
    values |= {name: None if each is None else each.text for name, each in durations.items()}
    values |= {
        name: list(getattr(request, name) or ())
        for name in ("constraints", "notify_on_completion", "depends_on")
    }
    values["deliverables"] = [
        {"kind": each.kind, "path": each.path, "required": each.required, "text": each.text}
        for each in request.deliverables or ()
    ]

    return {**values, "title": title.strip(), "context": prose_of(prompt)}


def _text(name: str, value: object) -> str:
    """Return a text in normal form, "" for None.

    Raises RequestFieldsError for any other value, and for text that cannot be written.
    """
    if not isinstance(value, str | None):
        raise RequestFieldsError(f"{name} is not a text; expected a text")

    try:
        write_text(value or "")
    except NotWritableError as error:
        raise RequestFieldsError(f"{name}: {error}") from error

    return normal_text(value or "")


def _word(name: str, word: str, words: type[T]) -> T:
    known = {each.value: each for each in words}
    if word not in known:
        raise UnknownNameError(name, str(word), known)
    return known[word]


def _duration(name: str, given: str | None) -> Duration | None:
    text = _text(name, given)
    if not text:
        return None

    if (duration := read_duration(text)) is None:
        raise RequestFieldsError(
            f"{name} is {excerpt(text, 40)!r}; expected a duration such as 30m or 2h"
        )
    return duration


def _retries(given: int | None) -> int | None:
    if given is not None and (isinstance(given, bool) or not 0 <= given < _TOO_MANY_RETRIES):
        raise RequestFieldsError(f"max_retries is {given}; expected a number from 0 to 999,999,999")
    return given


def _names(name: str, given: Iterable[str]) -> tuple[str, ...]:
    """Return names that stand in one attribute, where commas and blanks part them."""
    if isinstance(given, str):
        raise RequestFieldsError(f"{name} is not a list of texts; expected one")

    names = tuple(filter(None, (_text(name, each) for each in given)))
    for each in names:
        if read_list(each) != (each,):
            raise RequestFieldsError(
                f"{name} has {excerpt(each, 40)!r}; expected names without blanks and commas"
            )

    return names


def _deliverables(
    given: Sequence[Deliverable | Mapping[str, object]], session_id: str | None
) -> tuple[Deliverable, ...]:
    """Return the deliverables, with the session's id for its variable in paths (D-59)."""
    if isinstance(given, str | Mapping):
        raise RequestFieldsError(
            "deliverables is not a list; expected a list of objects with kind, path, required, text"
        )

    bounds = PathBounds(session_id=session_id)
    read = [_deliverable(each, number) for number, each in enumerate(given, 1)]

    return tuple(
        (
            each
            if each.path is None
            else replace(each, path=read_path(each.path, where="", bounds=bounds)[0])
        )
        for each in read
    )


def _deliverable(given: Deliverable | Mapping[str, object], number: int) -> Deliverable:
    """Return a checked deliverable; messages name it by `number`, from 1."""
    if isinstance(given, Deliverable):
        return given

    where = f"deliverable {number}"
    if not isinstance(given, Mapping):
        raise RequestFieldsError(
            f"{where} is not an object; expected kind, path, required and text"
        )

    for key in given:
        if key not in _KEYS:
            raise UnknownNameError(f"key of {where}", str(key), _KEYS)

    kind, path, required = given.get("kind"), given.get("path"), given.get("required")
    if kind not in get_args(DeliverableKind):
        raise RequestFieldsError(
            f"kind of {where} is {excerpt(str(kind), 40)!r}; expected file, decision or report"
        )

    if (kind == "file") != bool(path):
        raise RequestFieldsError(
            f"{where} is a file without a path; add one"
            if kind == "file"
            else f"{where} is a {kind} and has no path"
        )

    if not isinstance(path, str | None):
        raise RequestFieldsError(f"path of {where} is not a text; expected a text")
    if not isinstance(required, bool | None):
        raise RequestFieldsError(
            f"required of {where} is {excerpt(str(required), 40)!r}; expected true or false"
        )

    return Deliverable(
        kind=cast("DeliverableKind", kind),
        path=path or None,
        required=True if required is None or kind != "file" else required,
        text=_text(f"text of {where}", given.get("text")),
    )


def _session_id(given: str, title: str, now: datetime | None) -> str | None:
    if given:
        if not is_session_id(given):
            raise RequestFieldsError(
                f"session_id is {excerpt(given, 60)!r}; expected date, time and a short name:"
                " 20260114-093000-login"
            )

        return given

    if now is None:
        return None

    slug = _NO_SLUG.sub("-", title.lower())[:_SLUG_CHARACTERS].strip("-") or "task"

    return f"{now:%Y%m%d-%H%M%S}-{slug}"


def _judged(text: str) -> Verdict:
    """Return the verdict on the prompt. Raises RequestFieldsError if it is not accepted."""
    verdict = pipeline.validate(text, (AGENT_REQUEST,), protocol="agent_request", mode="strict")
    # The protocol only warns of a variable in a path, but this prompt is about to be used.
    errors = [
        finding
        for finding in verdict.findings
        if finding.severity is Severity.ERROR or finding.rule == "path/template-variable"
    ]
    doubled = [finding for finding in errors if finding.rule == MULTIPLE_REQUESTS.id]
    if doubled:
        raise RequestFieldsError(
            f"title or context holds a request of its own: {doubled[0].message}"
        )

    if errors:
        raise RequestFieldsError("; ".join(finding.message for finding in errors[:_MOST_ERRORS]))
    return verdict
