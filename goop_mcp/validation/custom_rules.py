"""Custom rules of a caller: checked before use, run in addition to the built-in rules.

An error of a reply is a finding. An error of a rule is for its author to fix: it raises
`RuleFailedError` and never appears in the feedback to an agent.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from typing import cast

from goop_mcp.errors import RuleFailedError, RuleRefusedError
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.findings import Hit, Severity, excerpt
from goop_mcp.validation.rules import Example, Problem, Rule
from goop_mcp.validation.verdict import Envelope

__all__ = ["check_custom_rules", "run_custom_rules"]

_ID = re.compile(r"[a-z0-9][a-z0-9_.-]*/[a-z0-9][a-z0-9_.-]*")
_LONGEST_ID = 100
_LONGEST_TEXT = 1_000
_TEXTS = ("catches", "why", "fix")
_WHERE_FORM_IS_READ = ("offset", "before", "after")


def check_custom_rules(rules: object, *, taken: Collection[str]) -> None:
    """Raise RuleRefusedError unless `rules` can be used in addition to the built-in rules.

    `taken` are the first parts of ids that custom rules must not have. A rule that would never
    fire, or never reject, is refused, because a check without effect looks like one that was
    passed.
    """
    if not isinstance(rules, list | tuple):
        raise RuleRefusedError(
            f"rules is {type(rules).__name__}; expected Rule(...) in a list or a tuple"
        )

    seen: set[str] = set()
    for rule in rules:
        if not isinstance(rule, Rule):
            raise RuleRefusedError(f"one of rules is {type(rule).__name__}; expected Rule(...)")
        if (defect := _defect_of_id(rule.id, taken) or _defect(rule)) is not None:
            raise RuleRefusedError(
                f"rule {excerpt(str(rule.id), _LONGEST_ID)!r} cannot be used: {defect}"
            )

        if rule.id in seen:
            raise RuleRefusedError(
                f"two of rules are called {rule.id!r}; each needs an id of its own"
            )

        seen.add(rule.id)


def _defect_of_id(name: object, taken: Collection[str]) -> str | None:
    if not isinstance(name, str) or len(name) > _LONGEST_ID or _ID.fullmatch(name) is None:
        return (
            "its id has another form; expected your own first part, a slash and a name, as in"
            " shop/ticket-missing"
        )

    first = name.partition("/")[0]
    if first in taken:
        return (
            f"ids that begin with {first}/ are those of goop-mcp; expected a first part of your own"
        )

    return None


def _defect(rule: Rule) -> str | None:
    # Types are checked at run time as well: a severity that is a plain string would reject nothing.
    for name in ("lenient", "strict"):
        if not isinstance(weight := cast("object", getattr(rule, name)), Severity):
            return f"{name} is {excerpt(repr(weight), 40)}; expected one of Severity"

    for name in _TEXTS:
        if not isinstance(text := cast("object", getattr(rule, name)), str) or not text.strip():
            return f"{name} is {excerpt(repr(text), 40)}; expected a text"

    if not isinstance(cast("object", rule.example), Example):
        return "it has no example; expected Example(good=..., bad=..., reply=...)"
    if not callable(rule.check):
        return "it has no check; expected a function of a model and of what is expected"
    models = rule.model if isinstance(rule.model, tuple) else (rule.model,)
    if not models or not all(
        isinstance(each, type) and hasattr(each, "to_dict") and hasattr(each, "partial")
        for each in models
    ):
        return (
            "model is not an envelope class; expected one of goop_mcp.protocols, such as Report, or"
            " several"
        )

    return None


def run_custom_rules(
    rules: Sequence[Rule], envelope: Envelope, expected: Expectations
) -> list[Problem]:
    """Return what the custom `rules` found in `envelope`, in their order; each judges its model.

    An envelope that was cut off is not judged, as by all rules about content. Raise RuleFailedError
    if a rule fails or returns something else than hits.
    """
    if envelope.partial:
        return []
    return [
        problem
        for rule in rules
        if rule.model is not None and isinstance(envelope, rule.model)
        for problem in _run(rule, envelope, expected)
    ]


def _run(rule: Rule, envelope: Envelope, expected: Expectations) -> list[Problem]:
    if rule.check is None:
        return []

    try:
        seen = cast("object", rule.check(envelope, expected))
        if seen is None or isinstance(seen, Hit):
            seen = [] if seen is None else [seen]
        elif isinstance(seen, str | bytes) or not isinstance(seen, Iterable):
            wanted = "expected a Hit, several in a list, or None"
            raise RuleFailedError(rule.id, f"it returned {type(seen).__name__}; {wanted}")

        hits = list(seen)
    except RuleFailedError:
        raise
    except (Exception, SystemExit) as error:  # a rule that exits must not end the server
        text = excerpt(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)
        # The line of the check, which comes after the frames of this module; none if the check was
        # not even entered. A generator is entered only when its items are listed.
        own, entered = _run.__code__.co_filename, error.__traceback__
        while entered is not None and entered.tb_frame.f_code.co_filename == own:
            entered = entered.tb_next

        if entered is not None:
            file = entered.tb_frame.f_code.co_filename.replace("\\", "/").rpartition("/")[2]
            text += f" ({file}, line {entered.tb_lineno})"

        raise RuleFailedError(rule.id, text) from error

    return [Problem(rule, _readable(rule, hit)) for hit in hits]


def _readable(rule: Rule, hit: object) -> Hit:
    """Return `hit` with texts that can be shown anywhere: many quote the agent, in any length."""
    if not isinstance(hit, Hit):
        raise RuleFailedError(
            rule.id, f"it returned {type(hit).__name__} among others; expected Hits only"
        )

    if any(getattr(hit, name) is not None for name in _WHERE_FORM_IS_READ):
        raise RuleFailedError(
            rule.id, "its Hit has offset, before or after; expected a path, as it repairs nothing"
        )

    texts = {
        name: _text(rule, name, getattr(hit, name)) for name in ("message", "path", "found", "fix")
    }
    if not texts["message"]:
        raise RuleFailedError(
            rule.id, "its Hit has no message; expected what is, and what was expected"
        )

    expected = cast("object", hit.expected)
    if expected is not None and not isinstance(expected, list | tuple):
        raise RuleFailedError(
            rule.id, f"its Hit has {type(expected).__name__} as expected; expected several texts"
        )

    return Hit(
        message=texts["message"],
        path=texts["path"],
        found=texts["found"],
        expected=(
            None
            if expected is None
            else tuple([_text(rule, "expected", each) or "" for each in expected])
        ),
        fix=texts["fix"] or None,
    )


def _text(rule: Rule, name: str, text: object) -> str | None:
    if text is not None and not isinstance(text, str):
        raise RuleFailedError(
            rule.id, f"its Hit has {type(text).__name__} as {name}; expected a text"
        )
    return None if text is None else excerpt(text, _LONGEST_TEXT)
