"""In which direction each setting of a project weakens how replies are judged.

Settings that tighten count at once. What weakens, compared with how it was before, counts for
agents at work only once a person trusts it: until then the stricter of the two holds for each key.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple, TypeAlias

from goop_mcp.services.options_file import PROTOCOLS, severities_of
from goop_mcp.services.stop_hooks.policy import (
    ProjectSettings,
    StopPolicy,
    Tables,
    policy_of,
)
from goop_mcp.validation.severities import Severities

__all__ = [
    "DIRECTIONS",
    "Direction",
    "Weakened",
    "describe",
    "described",
    "file_of",
    "stricter",
    "weakened",
]

_Table: TypeAlias = Mapping[str, Any]
_SEVERITIES: Final = ("select", "ignore", "severity")
_SEVERITY_NAMES: Final = ("error", "warning", "info")
_MOST_SHOWN: Final = 4
_LONGEST_VALUE: Final = 80


class Direction(NamedTuple):
    """When a key weakens: a clause for people, and whether it does from one table to the next.

    Both tables have every key, those that no file has with their defaults.
    """

    weakens_when: str
    weakens: Callable[[_Table, _Table, str], bool]


class Weakened(NamedTuple):
    """A key that weakens, with its value before and now; `is_set` is whether a file has it now."""

    table: str
    key: str
    before: Any
    now: Any
    is_set: bool


def _ordered(*strictest_first: object) -> Callable[[_Table, _Table, str], bool]:
    def weakens(before: _Table, now: _Table, key: str) -> bool:
        return strictest_first.index(now[key]) > strictest_first.index(before[key])

    return weakens


def _is_another(before: _Table, now: _Table, key: str) -> bool:
    return bool(before[key] != now[key])


def _is_wider(before: _Table, now: _Table, key: str) -> bool:
    return before[key] not in (now[key], "auto")


def _never(_before: _Table, _now: _Table, _key: str) -> bool:
    return False


def _asks_more(before: _Table, now: _Table, key: str) -> bool:
    # With 0 nothing is sent back, which is weaker than any number.
    return bool((now[key] or float("inf")) > (before[key] or float("inf")))


def _names_fewer(before: _Table, now: _Table, key: str) -> bool:
    return any(not _covered(pattern, now[key]) for pattern in before[key])


def _exempts_more(before: _Table, now: _Table, key: str) -> bool:
    return any(_is_new_exception(pattern, before) for pattern in now[key])


def _lowers(before: _Table, now: _Table, key: str) -> bool:
    return before[key] != now[key] and _is_below(
        severities_of({**before, key: now[key]}, source=""), severities_of(before, source="")
    )


_OFF: Final = Direction("`false` after `true`", _ordered(True, False))
_EVIDENCE: Final = Direction(
    "a lower one: of `recorded`, `observed`, `readable` and `claimed` one further on",
    _ordered("recorded", "observed", "readable", "claimed"),
)
_MODE: Final = Direction("`lenient` after `strict`", _ordered("strict", "lenient"))

DIRECTIONS: Final[Mapping[str, Mapping[str, Direction]]] = {
    "hooks": {
        "agents": Direction("an agent that had to report is not named", _names_fewer),
        "exempt": Direction("an agent that had to report is exempt", _exempts_more),
        "main": Direction(
            "`present` after `required`, `ignored` after either",
            _ordered("required", "present", "ignored"),
        ),
        "protocol": Direction("another one", _is_another),
        "mode": _MODE,
        "ask_again": Direction("a higher number, or 0", _asks_more),
        "check_workspace": _OFF,
        "record": _OFF,
        "inform": Direction("never", _never),
        "confirm_decisions": _OFF,
        "keep_replies": Direction("never", _never),
        "evidence": Direction("`off` after `observed`", _ordered("observed", "off")),
        "require_evidence": _EVIDENCE,
        "unreadable": Direction("`pass` after `reject`", _ordered("reject", "pass")),
        "tasks": _OFF,
    },
    "check": {
        "protocol": Direction("another one, unless it was `auto`", _is_wider),
        "mode": _MODE,
        "profile": Direction("another one", _is_another),
        "workspace": _OFF,
        "require_evidence": _EVIDENCE,
        "select": Direction("a rule that counted is not selected", _lowers),
        "ignore": Direction("a rule that counted is ignored", _lowers),
        "severity": Direction("a rule counts less than before", _lowers),
    },
    PROTOCOLS: {},
}
"""Each key of the tables that a person trusts, with when it weakens."""

_DEFAULTS: Final[Mapping[str, _Table]] = {
    "check": {
        "protocol": "auto",
        "mode": "lenient",
        "profile": "0.x",
        "workspace": False,
        "require_evidence": "claimed",
        "select": (),
        "ignore": (),
        "severity": {},
    },
    "hooks": {key: StopPolicy._field_defaults[key] for key in DIRECTIONS["hooks"]},
    PROTOCOLS: {},
}


def weakened(references: Sequence[Tables], now: Tables) -> tuple[Weakened, ...]:
    """Return the keys that weaken how replies are judged, compared with each of `references`.

    Of a key that weakens compared with several, the value of the first is the one before.
    """
    found: dict[tuple[str, str], Weakened] = {}
    for before in references:
        for each in _weakened(before, now):
            found.setdefault((each.table, each.key), each)

    return tuple(found.values())


def _weakened(before: Tables, now: Tables) -> Iterator[Weakened]:
    for name, directions in DIRECTIONS.items():
        old, new = _whole(before, name), _whole(now, name)
        keys = [key for key, each in directions.items() if each.weakens(old, new, key)]
        if name == "check" and not any(key in _SEVERITIES for key in keys):
            keys += _lowered_together(old, new)
        yield from (
            Weakened(name, key, old[key], new[key], key in now.get(name, {})) for key in keys
        )


def stricter(settings: ProjectSettings, references: Sequence[Tables]) -> StopPolicy:
    """Return the policy of `settings` where it does not weaken, else that of the `references`.

    For each key the stricter value holds, so that what tightens counts in any case.
    """
    source = settings.options.source
    check, hooks = _whole(settings.tables, "check"), dict(_whole(settings.tables, "hooks"))
    severities = severities_of(check, source=source)
    for reference in references:
        before, now = _whole(reference, "hooks"), dict(hooks)
        weaker = [
            key for key, each in DIRECTIONS["hooks"].items() if each.weakens(before, now, key)
        ]
        hooks |= {key: before[key] for key in weaker}
        if "agents" in weaker or "exempt" in weaker:
            hooks["agents"], hooks["exempt"] = _who_must_report(before, now)

        held = policy_of(reference, source=source).severities
        if _is_below(severities, held):
            severities = _at_least(severities, held)

    return policy_of({"hooks": hooks}, source=source)._replace(severities=severities)


def describe(settings: ProjectSettings, found: Sequence[Weakened]) -> str:
    """Return the keys with value, place and what held before, on one line of bounded length."""
    shown = [described(settings, each) for each in found[:_MOST_SHOWN]]
    if more := len(found) - len(shown):
        shown.append(f"{more} more")
    return ", ".join(shown)


def file_of(settings: ProjectSettings, found: Sequence[Weakened]) -> str:
    """Return a file that has one of these keys, else the one with options, "" without any."""
    files = (settings.file_of(each.table, each.key) for each in found)
    return next(filter(None, files), settings.options.source)


def described(settings: ProjectSettings, each: Weakened) -> str:
    """Return a key with its value and place, and what held before."""
    name = each.key if each.table == "hooks" else f"{each.table}.{each.key}"
    before = f"before: {_json(each.before)}"
    if not each.is_set:
        return f"{name} is not set any more ({before})"
    return f"{name} = {_json(each.now)} ({settings.place(each.table, each.key)}; {before})"


def _json(value: object) -> str:
    # ASCII, because nothing that an agent writes may change how a terminal shows the line.
    text = json.dumps(value, default=str)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"


def _whole(tables: Tables, name: str) -> _Table:
    return {**_DEFAULTS[name], **tables.get(name, {})}


def _who_must_report(one: _Table, other: _Table) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return patterns of agents and exceptions by which every agent of either table must report."""
    agents = dict.fromkeys((*other["agents"], *one["agents"]))
    exempt = [
        pattern
        for mine, others in ((other, one), (one, other))
        for pattern in mine["exempt"]
        if not _is_new_exception(pattern, others)
    ]
    return tuple(agents), tuple(dict.fromkeys(exempt))


def _is_new_exception(pattern: str, before: _Table) -> bool:
    """Whether an exception may be for an agent that had to report before."""
    return not _covered(pattern, before["exempt"]) and any(
        _may_overlap(pattern.lower(), each.lower()) for each in before["agents"]
    )


def _covered(pattern: str, wider: Sequence[str]) -> bool:
    narrow = pattern.lower()
    return any(_covers(each.lower(), narrow) for each in wider)


def _covers(wide: str, narrow: str) -> bool:
    """Whether each name that fits `narrow` fits `wide`; False where that is not easily seen.

    In time that grows with the length, because an agent may have written either.
    """
    if wide == narrow:
        return True
    if not _has_wildcard(narrow):
        return fnmatchcase(narrow, wide)
    head, star, tail = wide.partition("*")
    return (
        star != ""
        and not _has_wildcard(head + tail)
        and len(narrow) >= len(head + tail)
        and narrow.startswith(head)
        and narrow.endswith(tail)
    )


def _may_overlap(one: str, other: str) -> bool:
    """Whether a name may fit both patterns; True where that is not easily seen."""
    if not _has_wildcard(one):
        return fnmatchcase(one, other)
    if not _has_wildcard(other):
        return fnmatchcase(other, one)

    heads, tails = zip(*((_head(each), _head(each[::-1])) for each in (one, other)), strict=True)
    return all(
        first.startswith(second) or second.startswith(first) for first, second in (heads, tails)
    )


def _head(pattern: str) -> str:
    """Return the letters before the first wildcard."""
    return next((pattern[:at] for at, each in enumerate(pattern) if each in "*?[]"), pattern)


def _has_wildcard(pattern: str) -> bool:
    return any(each in pattern for each in "*?[")


def _lowered_together(before: _Table, now: _Table) -> list[str]:
    """Return the keys of severities that weaken only together, such as two that changed places."""
    if not _is_below(severities_of(now, source=""), severities_of(before, source="")):
        return []
    return [key for key in _SEVERITIES if before[key] != now[key]]


def _is_below(now: Severities, before: Severities) -> bool:
    """Whether any rule counts less than before, whatever its own severity is."""
    return any(
        now.is_below(before, rule, usual)
        for rule, severities in _rules_to_compare(now.names | before.names)
        for usual in severities
    )


def _rules_to_compare(names: frozenset[str]) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield rules that stand for all, each with the severities that it may have by itself."""
    if not names:
        return

    # Listing every rule loads every protocol, which only those who change severities pay for.
    from goop_mcp.protocols import RULES  # noqa: PLC0415

    yield from ((rule.id, (rule.lenient, rule.strict)) for rule in RULES.values())
    # Custom rules, and those of a later version, may have any; "/" stands for all not named.
    families = {name.partition("/")[0] for name in names} - {rule.family for rule in RULES.values()}
    others = {name for name in names if "/" in name and name not in RULES}
    yield from ((rule, _SEVERITY_NAMES) for rule in ("/", *others, *(f"{f}/" for f in families)))


def _at_least(now: Severities, before: Severities) -> Severities:
    """Return severities by which no rule counts less than by either; notes say what is in force."""
    held = now._replace(at_least=(*now.at_least, before))
    notes = dict.fromkeys((*before.notes, *now.notes))
    return held._replace(notes=tuple(note for note in notes if _is_in_force(note, held)))


def _is_in_force(note: str, severities: Severities) -> bool:
    name, _, rest = note.partition(": ")
    level = rest.partition(" ")[0]
    rule = "/" if name.startswith("all but ") else name if "/" in name else f"{name}/"
    return any(severities.level(rule, usual) == level != usual for usual in _SEVERITY_NAMES)
