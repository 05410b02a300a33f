"""JSON values to the fields of a context, with errors that name the field."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any, get_args

from goop_mcp.errors import ContextError
from goop_mcp.routing.context_parts import Adoption, Counters, Policy, RoutingLimits, SessionState
from goop_mcp.validation.expectations import Profile
from goop_mcp.validation.findings import Finding, Severity, excerpt

__all__ = ["check_context", "read_context"]

Reader = Callable[[Any, str], Any]

_JSON_WORDS: Mapping[object, str] = {None: "null", True: "true", False: "false"}


def read_context(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a RoutingContext. Raises ContextError."""
    return _read_fields(values, "", _CONTEXT)


def check_context(context: object) -> None:
    """Raise ContextError, naming the field, for a value of the wrong type in a RoutingContext."""
    _check(context, "", _CONTEXT)


def _check(given: object, path: str, readers: Mapping[str, Reader]) -> None:
    """Check the fields of `given` with their readers, and recursively the fields of its parts."""
    for name, read in readers.items():
        # The path is made while descending, so that the error names the field as the caller wrote
        # it.
        value, where = getattr(given, name), f"{path}.{name}" if path else name
        inner = _OBJECTS.get(name)
        if inner is None:
            read(value, where)
        elif isinstance(value, inner[0]):
            _check(value, where, inner[1])
        else:
            raise _wrong(where, value, f"a {inner[0].__name__}")


def _read_fields(values: object, path: str, readers: Mapping[str, Reader]) -> dict[str, Any]:
    taken = {}
    for name, value in _mapping(values, path).items():
        where = f"{path}.{name}" if path else name
        if name not in readers:
            # Imported here: only a misspelled field needs it, and every start would pay for it.
            from difflib import get_close_matches  # noqa: PLC0415

            # Cut before the comparison, which is quadratic in the length of the name.
            near = get_close_matches(name[:80], readers, n=1, cutoff=0.5)
            hint = f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(readers)}"
            # Where the name itself is hostile, the path is cut too.
            raise ContextError(where[:120], f"there is no such field{hint}")

        taken[name] = readers[name](value, where)

    return taken


def _wrong(path: str, value: object, expected: str) -> ContextError:
    # Callers wrote JSON: null and true are shown as they wrote them, not as None and True. The type
    # is tested first because 1 and 0 would find True and False in the mapping.
    word = _JSON_WORDS.get(value) if value is None or isinstance(value, bool) else None
    # Two cuts: `repr` of a huge value is long before it is an excerpt.
    return ContextError(path, f"is {word or excerpt(repr(value)[:200], 60)}; expected {expected}")


def _mapping(value: object, path: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _wrong(path, value, "an object")
    if wrong := next((key for key in value if not isinstance(key, str)), None):
        raise _wrong(path, wrong, "a text as key")
    return value


def _text(value: object, path: str) -> str:
    if not isinstance(value, str):
        raise _wrong(path, value, "a text")
    return value


def _optional_text(value: object, path: str) -> str | None:
    return None if value is None else _text(value, path)


def _flag(value: object, path: str) -> bool:
    if not isinstance(value, bool):
        raise _wrong(path, value, "true or false")
    return value


def _number(least: int) -> Reader:
    def read(value: object, path: str) -> int:
        # bool is a subclass of int, and `true` is not a count.
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise _wrong(path, value, f"a whole number from {least}")
        return value

    return read


_COUNT = _number(0)


def _optional_count(value: object, path: str) -> int | None:
    return None if value is None else _number(0)(value, path)


def _one_of(*allowed: str) -> Reader:
    def read(value: object, path: str) -> str:
        if value not in allowed or not isinstance(value, str):
            raise _wrong(path, value, f"one of {', '.join(allowed)}")
        return value

    return read


def _texts(value: object, path: str) -> tuple[str, ...]:
    # A text is a sequence too, of its characters.
    if isinstance(value, str) or not isinstance(value, list | tuple):
        raise _wrong(path, value, "a list of texts")
    return tuple(_text(each, f"{path}[{number}]") for number, each in enumerate(value))


def _counts(value: object, path: str) -> Mapping[str, int]:
    # Read-only: a context is shared by decisions, and none of them may change it.
    return MappingProxyType(
        {name: _COUNT(each, f"{path}.{name}") for name, each in _mapping(value, path).items()}
    )


def _sessions(value: object, path: str) -> Mapping[str, SessionState]:
    """Read a map from session id to state: a string, or {state, result, depends_on}."""
    return MappingProxyType(
        {name: _session(each, f"{path}.{name}") for name, each in _mapping(value, path).items()}
    )


def _session(value: object, path: str) -> SessionState:
    # From Python the parts may come as objects, from JSON as values.
    if isinstance(value, SessionState):
        return value
    if isinstance(value, str):
        return SessionState(state=value)

    read = _read_fields(
        value, path, {"state": _text, "result": lambda each, _path: each, "depends_on": _texts}
    )
    # Everything else of a session has a default.
    if "state" not in read:
        raise ContextError(f"{path}.state", "is missing; expected a text")
    return SessionState(**read)


def _findings(value: object, path: str) -> tuple[Finding, ...]:
    if isinstance(value, str) or not isinstance(value, list | tuple):
        raise _wrong(path, value, "a list of findings")
    return tuple(_finding(each, f"{path}[{number}]") for number, each in enumerate(value))


def _finding(value: object, path: str) -> Finding:
    if isinstance(value, Finding):
        return value

    read = _read_fields(value, path, _FINDING)
    for name in ("rule", "severity", "message"):
        if name not in read:
            raise ContextError(
                f"{path}.{name}", "is missing; expected a finding with rule, severity and message"
            )

    # The fix is for people, and a caller that passes findings on may have dropped it.
    return Finding(**{"fix": "", **read, "severity": Severity(read["severity"])})


_FINDING: Mapping[str, Reader] = {
    "rule": _text,
    "severity": _one_of(*Severity),
    "message": _text,
    "path": _optional_text,
    "line": _optional_count,
    "column": _optional_count,
    "found": _optional_text,
    "expected": lambda value, path: None if value is None else _texts(value, path),
    "fix": _text,
}

_LIMITS: Mapping[str, Reader] = {
    **{each.name: _COUNT for each in fields(RoutingLimits)},
    "feedback_edges": _counts,
}


def _object(kind: Callable[..., Any], readers: Mapping[str, Reader]) -> Reader:
    """Return a reader of `kind`; a value that is one already is taken as it is."""

    def read(value: object, path: str) -> object:
        # Checked by `_check`, which descends into parts that are objects already.
        return (
            value
            if isinstance(kind, type) and isinstance(value, kind)
            else kind(**_read_fields(value, path, readers))
        )

    return read


_POLICY: Mapping[str, Reader] = {
    "adoption": _one_of(*get_args(Adoption)),
    "containment": _one_of("workspace", "session"),
    "markdown": _one_of("allow", "forbid"),
    "checkpoint_before_implement": _flag,
    "auto_default": _flag,
    "review_on_medium": _flag,
    "approve_build": _flag,
    "fail_on_warning": _flag,
    "limits": _object(RoutingLimits, _LIMITS),
}

_COUNTERS: Mapping[str, Reader] = {
    **{each.name: _COUNT for each in fields(Counters)},
    "prerequisites": _counts,
}

_CONTEXT: Mapping[str, Reader] = {
    "expected_agent": _optional_text,
    "phase": _optional_text,
    "task_id": _optional_text,
    "session_id": _optional_text,
    "attempt": _number(1),
    "iteration": _COUNT,
    "max_iterations": _optional_count,
    "counters": _object(Counters, _COUNTERS),
    "previous_rules": _texts,
    "responded": _flag,
    "evidence": _findings,
    "workflow": _optional_text,
    "dependencies": _sessions,
    "batch": _sessions,
    "session_state": _optional_text,
    "known_agents": _texts,
    "execution_gate": lambda value, path: None if value is None else _flag(value, path),
    "profile": _one_of(*get_args(Profile)),
    "next_command": _optional_text,
    "package_version": _optional_text,
    "policy": _object(Policy, _POLICY),
}

_OBJECTS: Mapping[str, tuple[type, Mapping[str, Reader]]] = {
    "counters": (Counters, _COUNTERS),
    "policy": (Policy, _POLICY),
    "limits": (RoutingLimits, _LIMITS),
}
