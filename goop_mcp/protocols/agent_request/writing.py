"""Write the typed model as an `<agent_request>` or a whole prompt; reading it gives the model."""

import re
from collections.abc import Iterator

from msgspec.structs import replace

from goop_mcp.errors import NotWritableError
from goop_mcp.protocols.agent_request.extensions import write_attribute, write_extension, write_text
from goop_mcp.protocols.agent_request.model import Request
from goop_mcp.protocols.agent_request.reading import NAMESPACE
from goop_mcp.validation.xml_values import clean_text

__all__ = ["normal_text", "write_prompt", "write_request"]

_KINDS = ("file", "decision", "report")
_LEAST_BACKTICKS = 4
_BACKTICKS = re.compile(r"`{3,}")
_NAME = re.compile(r"[^\W\d][\w.\-]*")


def normal_text(text: str) -> str:
    """Return `text` as a request can carry it: without outer blanks and shared indentation."""
    return clean_text("\n" + text.replace("\r\n", "\n"))


def write_request(request: Request, *, xsd_compat: bool = False) -> str:
    """Return `request` as an envelope, indented by two blanks, ending with a line feed.

    Optional parts that are None are left out. Texts should be in the form of `normal_text`. With
    `xsd_compat` the literal schema of section 2.1 accepts the envelope: it stands in its namespace,
    deliverables are sorted by kind, an empty list of constraints is left out (D-64). Raises
    NotWritableError when a text holds a character that XML cannot carry, when the request is
    partial (D-16), and with `xsd_compat` when it holds what that schema refuses.
    """
    if request.partial:
        raise NotWritableError(
            "a request that was cut off cannot be written as a whole one; ask for it again"
        )

    if xsd_compat:
        # The literal schema has no place for these, and leaving one out would change what is asked.
        named = {
            "priority": request.priority,
            "estimated_duration": request.estimated_duration,
            "timeout": request.timeout,
            "max_retries": request.max_retries,
            "notify_on_completion": request.notify_on_completion or None,
            "depends_on": request.depends_on or None,
        }
        refused = [name for name, value in named.items() if value is not None]
        refused += [name for name, _ in request.extra_attributes]
        refused += [f"<{extension.name}>" for extension in request.extensions]
        if refused:
            raise NotWritableError(
                f"the literal schema has no room for {', '.join(refused)[:200]}; leave it out or"
                " write without xsd_compat"
            )

        deliverables = tuple(
            sorted(request.deliverables or (), key=lambda each: _KINDS.index(each.kind))
        )
        request = replace(
            request, deliverables=deliverables, constraints=request.constraints or None
        )

    namespace = f' xmlns="{NAMESPACE}"' if xsd_compat else ""

    return "\n".join(_lines(request, namespace)) + "\n"


def write_prompt(
    request: Request, *, title: str, context: str = "", xsd_compat: bool = False
) -> str:
    """Return a whole `prompt.md`: title, request in a fence, and `context` as prose (H-44).

    The fence has four backticks, or one more than the longest run in the request (D-83). Raises
    NotWritableError as `write_request` does.
    """
    envelope = write_request(request, xsd_compat=xsd_compat)
    longest = max((len(run) for run in _BACKTICKS.findall(envelope)), default=0)
    fence = "`" * max(_LEAST_BACKTICKS, longest + 1)
    prose = f"\n{context.strip()}\n" if context.strip() else ""

    return f"# Task: {' '.join(title.split())}\n\n{fence}xml\n{envelope}{fence}\n{prose}"


def _lines(request: Request, namespace: str) -> Iterator[str]:
    yield f"<agent_request{namespace}{''.join(_attributes(request))}>"
    yield from _leaf("mode", request.mode)
    yield from _leaf("original_intent", request.original_intent)
    yield from _leaf("current_task_summary", request.current_task_summary)
    yield from _leaf("workflow", request.workflow)
    yield from _leaf("task_details", request.task_details)
    if request.constraints is not None:
        constraints = [
            line
            for each in request.constraints
            for line in _leaf("constraint", each, indent="    ")
        ]
        yield from _container("constraints", constraints, request)

    if request.deliverables is not None:
        deliverables: list[str] = []
        for each in request.deliverables:
            attributes = ""
            if each.kind == "file" and each.path is not None:
                attributes += f" path={write_attribute(each.path)}"
            if each.kind == "file" and each.required is not None:
                attributes += f' required="{str(each.required).lower()}"'
            deliverables += _leaf(each.kind, each.text, indent="    ", attributes=attributes)

        yield from _container("deliverables", deliverables, request)

    yield from _leaf("backlog_notes", request.backlog_notes)
    yield from _extensions(request, "", "  ")
    yield "</agent_request>"


def _attributes(request: Request) -> Iterator[str]:
    duration, timeout = request.estimated_duration, request.timeout
    named = {
        "version": request.version,
        "session_id": request.session_id,
        "parent_agent": request.parent_agent,
        "target_agent": request.target_agent,
        "priority": request.priority,
        "estimated_duration": duration.text if duration else None,
        "max_retries": None if request.max_retries is None else str(request.max_retries),
        "notify_on_completion": ",".join(request.notify_on_completion) or None,
        "depends_on": ",".join(request.depends_on) or None,
        "timeout": timeout.text if timeout else None,
    }
    for name, value in named.items():
        if value is not None:
            yield f" {name}={write_attribute(value)}"

    # A prefix for each attribute with a namespace: sharing them would save nothing in practice.
    for number, (name, value) in enumerate(request.extra_attributes):
        namespace, _, local = name.rpartition("}")
        if not _NAME.fullmatch(local):
            raise NotWritableError(
                f"{local[:40]!r} is not an attribute name; use letters, digits, - and _"
            )

        if namespace:
            yield f" xmlns:x{number}={write_attribute(namespace.removeprefix('{'))}"

        prefix = f"x{number}:" if namespace else ""
        yield f" {prefix}{local}={write_attribute(value)}"


def _container(name: str, lines: list[str], request: Request) -> Iterator[str]:
    yield f"  <{name}>"
    yield from lines
    yield from _extensions(request, name, "    ")
    yield f"  </{name}>"


def _leaf(
    name: str, text: str | None, *, indent: str = "  ", attributes: str = ""
) -> Iterator[str]:
    """Yield an element with text; longer text gets indented lines, so that no fence ends there."""
    if text is None:
        return

    start, end = f"{indent}<{name}{attributes}>", f"</{name}>"
    written = write_text(text)
    if "\n" not in written:
        yield f"{start}{written}{end}"
        return

    yield start
    for line in written.split("\n"):
        yield f"  {indent}{line}" if line else ""

    yield f"{indent}{end}"


def _extensions(request: Request, parent: str, indent: str) -> Iterator[str]:
    for extension in request.extensions:
        if extension.parent == parent:
            yield indent + write_extension(extension)
