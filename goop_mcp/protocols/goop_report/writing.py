"""From the typed model to a `<goop_report>`; reading what is written gives the same model again."""

import re
from collections.abc import Iterator

from goop_mcp.errors import NotWritableError
from goop_mcp.protocols.goop_report.model import Counter, Extension, Handoff, Report
from goop_mcp.validation.escaping import FORBIDDEN

__all__ = ["write_report"]

_XML_NAME = re.compile(r"[A-Za-z_][\w.\-]*")


def write_report(report: Report) -> str:
    """Return `report` as an envelope, indented by two blanks, ending with a line feed.

    Optional parts that are None are left out. Raises NotWritableError when a text holds a character
    that XML cannot carry, when an extension has no proper name, or when the report is marked as
    partial: what was cut off must not come back as a whole report (D-16).
    """
    if report.partial:
        raise NotWritableError(
            "a report that was cut off cannot be written as a whole one; ask the agent again"
        )

    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    version = "" if report.version is None else f' version="{_attribute(report.version)}"'
    yield f"<goop_report{version}>"
    yield from _leaf("status", report.status)
    yield from _leaf("agent", report.agent)
    yield from _leaf("task_id", report.task_id)
    yield from _leaf("task_name", report.task_name)
    if report.state is not None:
        state = [
            *_plain_leaf("phase", report.state.phase),
            *_counter("wave", report.state.wave),
            *_counter("task", report.state.task),
            *_plain_leaf("spec_locked", _flag(report.state.spec_locked)),
            *_plain_leaf("interview_complete", _flag(report.state.interview_complete)),
        ]
        yield from _section("state", state, report)

    yield from _leaf("summary", report.summary)
    if report.artifacts is not None:
        yield from _section("artifacts", _artifacts(report), report)
    if report.memory is not None:
        saved = []
        for memory in report.memory:
            # The short form of a number is written unless it would change the value.
            importance = None if memory.importance is None else f"{memory.importance:g}"
            if importance is not None and float(importance) != memory.importance:
                importance = repr(memory.importance)
            saved.append(_item("saved", memory.title, type=memory.type, importance=importance))

        yield from _section("memory", saved, report)

    if report.verification is not None:
        checks = [
            _item(
                "check",
                check.evidence,
                name=check.name,
                passed=_flag(check.passed),
                run=check.run,
            )
            for check in report.verification
        ]
        yield from _section("verification", checks, report)

    if report.handoff is not None:
        yield from _section("handoff", _handoff(report.handoff, report), report)

    yield from _extensions(report.extensions, "", "  ")
    yield "</goop_report>"


def _section(
    name: str, lines: "Iterator[str] | list[str]", report: Report, indent: str = "  "
) -> Iterator[str]:
    yield f"{indent}<{name}>"
    yield from (f"{indent}  {line}" for line in lines)
    path = name if indent == "  " else f"{_PARENTS[name]}/{name}"
    yield from _extensions(report.extensions, path, f"{indent}  ")
    yield f"{indent}</{name}>"


_PARENTS = {"files": "artifacts", "commits": "artifacts", "files_to_read": "handoff"}


def _artifacts(report: Report) -> Iterator[str]:
    artifacts = report.artifacts
    if artifacts is None:
        return

    files = [
        _item("file", file.description, path=file.path, action=file.action)
        for file in artifacts.files
    ]
    commits = [_item("commit", commit.message, sha=commit.sha) for commit in artifacts.commits]

    for name, items in (("files", files), ("commits", commits)):
        if items or any(
            extension.name.startswith(f"artifacts/{name}/") for extension in report.extensions
        ):
            yield from _section(name, items, report, "")


def _handoff(handoff: Handoff, report: Report) -> Iterator[str]:
    yield from _plain_leaf("ready", _flag(handoff.ready))
    if handoff.next_action is not None:
        yield _item("next_action", handoff.next_action.text, agent=handoff.next_action.agent)

    extended = any(
        extension.name.startswith("handoff/files_to_read/") for extension in report.extensions
    )
    if handoff.files_to_read or extended:
        yield from _section(
            "files_to_read", [_item("file", path) for path in handoff.files_to_read], report, ""
        )

    yield f"<blockers>{_text(handoff.blockers or 'None')}</blockers>"
    yield from _plain_leaf("suggest_new_session", _flag(handoff.suggest_new_session))
    yield from _plain_leaf("next_command", handoff.next_command)


def _leaf(name: str, value: str | None) -> Iterator[str]:
    yield from (f"  {line}" for line in _plain_leaf(name, value))


def _plain_leaf(name: str, value: str | None) -> Iterator[str]:
    if value is not None:
        yield f"<{name}>{_text(value)}</{name}>"


def _counter(name: str, counter: Counter | None) -> Iterator[str]:
    if counter is not None:
        numbers = {"current": counter.current, "total": counter.total}
        attributes = "".join(
            f' {key}="{number}"' for key, number in numbers.items() if number is not None
        )
        yield f"<{name}{attributes}/>"


def _item(tag: str, text: str, /, **attributes: str | None) -> str:
    written = "".join(
        f' {key}="{_attribute(value)}"' for key, value in attributes.items() if value is not None
    )
    return f"<{tag}{written}>{_text(text)}</{tag}>" if text else f"<{tag}{written}/>"


def _extensions(extensions: tuple[Extension, ...], parent: str, indent: str) -> Iterator[str]:
    for extension in extensions:
        place, _, name = extension.name.rpartition("/")
        if place != parent:
            continue
        if extension.is_xml:
            yield f"{indent}{extension.content}"
        elif name == "#text":
            yield f"{indent}{_text(extension.content)}"
        elif _XML_NAME.fullmatch(name):
            yield f"{indent}<{name}>{_text(extension.content)}</{name}>"
        else:
            raise NotWritableError(
                f"extension {name[:40]!r} is not an element name; use letters, digits, - and _"
            )


def _flag(value: bool | None) -> str | None:
    return None if value is None else str(value).lower()


def _text(text: str) -> str:
    if FORBIDDEN.search(text):
        raise NotWritableError(
            f"{text[:40]!r} holds a control character; remove it, XML cannot carry it"
        )

    return (
        # A reader turns a raw carriage return into a line feed; as a reference it is kept.
        text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\r", "&#13;")
    )


def _attribute(text: str) -> str:
    # In attributes, a reader turns line feeds and tabs into blanks unless they are references.
    return _text(text).replace('"', "&quot;").replace("\n", "&#10;").replace("\t", "&#9;")
