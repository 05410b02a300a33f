"""The options of a project in one file: `goop-mcp.toml`, or `[tool.goop-mcp]` in `pyproject.toml`.

Hooks read it as well, whose start a host waits for: TOML is loaded only where there is such a file.
The tables are `check`, `hooks` and `checks`. Nothing of security is among them, because whoever can
write to a project can write this file: no tokens, no database, no addresses, no code.
"""

import json
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from importlib import import_module
from itertools import chain, islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from goop_mcp.errors import UnknownNameError
from goop_mcp.services.small_files import read_whole
from goop_mcp.validation.severities import NO_CHANGES, OFF, Severities

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from goop_mcp.validation.rules import Rule
    from goop_mcp.validation.severities import SeverityName

__all__ = [
    "CANNOT_BE_LOWERED",
    "CHECK_KEYS",
    "FILES",
    "NO_OPTIONS",
    "PROTOCOLS",
    "TABLES",
    "FileReader",
    "OptionsFile",
    "file_reader",
    "limited",
    "merged_severities",
    "read_options",
    "read_severities",
    "remarks_on_rules",
    "severities_of",
    "usable_values",
]

FileReader: TypeAlias = Callable[[str, int], bytes | None]
"""Returns the content of the file at a path from the project's folder, None where there is none.

The number is how many bytes it has at most. Raises OSError.
"""

FILES: Final = ("goop-mcp.toml", "pyproject.toml")
"""Where options are read from, the first one that has any."""

TABLES: Final = ("check", "hooks", "checks")

PROTOCOLS: Final = "protocols"
"""A table that later versions read; a digest of how replies are judged covers it already."""

_MOST_BYTES: Final = 256 * 1024
_MOST_NAMES: Final = 200
_MOST_REMARKS: Final = 20
# The parser takes a time for these that grows with the square of their number.
_MOST_PARTS: Final = 64
_DIVIDING: Final = str.maketrans(dict.fromkeys("=[]{},#", "\n"))
_LEVELS: Final = ("error", "warning", "info", OFF)

CANNOT_BE_LOWERED: Final = (
    "it decides whether a reply can be read, is safe or is true, and cannot be lowered"
)

CHECK_KEYS: Final[Mapping[str, str]] = {
    "protocol": "auto, goop_report, agent_request, speckit or factory",
    "mode": "lenient or strict",
    "profile": "0.x or v1",
    "workspace": "true or false",
    "require_evidence": "claimed, readable, observed or recorded",
    "select": 'a list of rules or families such as ["goop_report"]',
    "ignore": 'a list of rules or families such as ["goop_report/task-id-missing"]',
    "severity": 'a table such as {"goop_report/unknown-phase" = "warning"}',
}
"""Every key of the table `check` with what is expected there."""

_CHOICES: Final[Mapping[str, tuple[object, ...]]] = {
    "protocol": ("auto", "goop_report", "agent_request", "speckit", "factory"),
    "mode": ("lenient", "strict"),
    "profile": ("0.x", "v1"),
    "workspace": (True, False),
    "require_evidence": ("claimed", "readable", "observed", "recorded"),
}


class OptionsFile(NamedTuple):
    """The options of a project; `source` is the name of their file, "" if there is none.

    `tables` are those of TABLES that it has, and PROTOCOLS. `remarks` say what cannot be used, each
    with its line and what to write instead; the rest counts. `text` is the whole file.
    """

    source: str = ""
    tables: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
    remarks: tuple[str, ...] = ()
    text: str = ""

    def table(self, name: str) -> Mapping[str, Any]:
        """Return the table `name`, an empty one if the file has none."""
        return self.tables.get(name, {})

    def digest(self, name: str) -> str:
        """Return the SHA-256 of the table `name`, in hex: the same for the same values.

        A person trusts the commands of a table by it, whatever else changes in the file.
        """
        values = json.dumps(self.table(name), sort_keys=True, default=str)
        # A hook never needs it, and loads it for nothing otherwise.
        sha256 = import_module("hashlib").sha256
        return str(sha256(values.encode("utf-8", "surrogatepass")).hexdigest())

    def place(self, table: str, key: str | None = None) -> str:
        """Return "FILE, line N" of a table or of a key in it."""
        return f"{self.source}, line {self._line(table, key)}"

    def unknown(self, table: str | None, key: str, known: "Iterable[str]") -> str:
        """Return the remark about a key that `table` does not have; None: a table of the file."""
        if table is None:
            return f"{self.place(key)}: {UnknownNameError('table', key, known)}"
        return f"{self.place(table, key)}: {UnknownNameError(f'key of [{table}]', key, known)}"

    def _line(self, table: str, key: str | None) -> int:
        # tomllib gives no places. A key stands below the header of its table, or after its name in
        # an inline table; whatever is written differently has the line of the table.
        prefix = "tool.goop-mcp." if self.source == FILES[1] else ""
        found, header = 1, ""
        for number, line in enumerate(self.text.splitlines(), 1):
            start = line.strip()
            if start.startswith("["):
                header = start.strip("[] ").replace('"', "").replace(" ", "")
                name = header.removeprefix(prefix)
                if name == table or (key is not None and name == f"{table}.{key}"):
                    found = number
                    if key is None or name != table:
                        return number
            else:
                name = start.partition("=")[0].strip().strip("\"'")
                inside = header.removeprefix(prefix)
                if key is not None and (
                    (inside == table and name == key) or name == f"{table}.{key}"
                ):
                    return number
                if name == table and inside in ("", prefix.rstrip(".")):
                    found = number

        return found


NO_OPTIONS: Final = OptionsFile()


def file_reader(project: str) -> FileReader:
    """Return the reader of the files in the folder `project`."""
    return partial(_read_file, project)


def _read_file(project: str, path: str, most: int) -> bytes | None:
    return read_whole(f"{project}/{path}", most=most)


def read_options(project: str, read: FileReader | None = None) -> OptionsFile:
    """Return the options of the folder `project`; what cannot be read is a remark, not an error.

    `goop-mcp.toml` counts alone where it exists, also an empty one. `read` replaces the reader of
    the folder.
    """
    read = read or file_reader(project)
    for source in FILES:
        try:
            content = read(source, _MOST_BYTES)
        except OSError as error:
            if source == FILES[1]:
                # Somebody else's file: whatever keeps it from being read is not about us.
                return NO_OPTIONS
            reason = error.strerror or error
            return OptionsFile(source, remarks=(f"{source} cannot be read ({reason})",))

        # Most projects have a pyproject.toml that does not speak of us.
        if content is None or (source == FILES[1] and b"goop-mcp" not in content):
            continue
        options = _parsed(source, content)
        if options is not None:
            return options

    return NO_OPTIONS


# A server reads the file for each reply, as it may have changed; a usual pyproject.toml takes ten
# times as long to parse as a reply takes to be judged. By content, since times of files are coarse.
@lru_cache(maxsize=4)
def _parsed(source: str, content: bytes) -> OptionsFile | None:
    tomllib = import_module("tomllib")

    try:
        text = content.decode("utf-8-sig")
        if any(map(_has_too_many_parts, text.splitlines())):
            remark = f"{source} has a key of more than {_MOST_PARTS} parts; shorten it"
            return OptionsFile(source, remarks=(remark,))
        values: object = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        remark = f"{source} is not valid TOML: {str(error)[:200]}; correct it"
        return OptionsFile(source, remarks=(remark,))

    if source == FILES[1]:
        tool = values.get("tool") if isinstance(values, Mapping) else None
        values = tool.get("goop-mcp") if isinstance(tool, Mapping) else None
        if values is None:
            return None

    if not isinstance(values, Mapping):
        return OptionsFile(
            source, remarks=(f"{source}: tool.goop-mcp is not a table; expected one",)
        )

    tables = {
        name: values[name] for name in (*TABLES, PROTOCOLS) if isinstance(values.get(name), Mapping)
    }
    options = OptionsFile(source, tables, text=text)

    return options._replace(
        remarks=limited(
            chain(_remarks_on_tables(options, values), _remarks_on_check(options)), source
        )
    )


def limited(remarks: "Iterable[str]", source: str) -> tuple[str, ...]:
    """Return the first remarks about a file; an agent may write one with any number of mistakes."""
    kept = (*islice(remarks, _MOST_REMARKS + 1),)
    if len(kept) <= _MOST_REMARKS:
        return kept
    return (*kept[:_MOST_REMARKS], f"{source}: there is more that cannot be used; fix this first")


def _remarks_on_tables(options: OptionsFile, values: Mapping[str, Any]) -> "Iterator[str]":
    for name in values:
        if name not in TABLES:
            yield options.unknown(None, name, TABLES)
        elif name not in options.tables:
            yield f"{options.place(name)}: {name} is not a table; write [{name}]"


def _remarks_on_check(options: OptionsFile) -> "Iterator[str]":
    for key, value in options.table("check").items():
        if key not in CHECK_KEYS:
            yield options.unknown("check", key, CHECK_KEYS)
        elif not _is_usable(key, value):
            place, expected = options.place("check", key), CHECK_KEYS[key]
            yield f"{place}: {key} is {str(value)[:60]!r}; expected {expected}"


def _has_too_many_parts(line: str) -> bool:
    if line.count(".") <= _MOST_PARTS or line.lstrip().startswith("#"):
        return False
    keys = line.translate(_DIVIDING).split("\n")
    return any(sum(part.strip() != "" for part in key.split(".")) > _MOST_PARTS for key in keys)


def _is_usable(key: str, value: object) -> bool:
    if key not in CHECK_KEYS:
        return False
    if key in _CHOICES:
        return value in _CHOICES[key] and isinstance(value, bool) == (key == "workspace")
    if key == "severity":
        return (
            isinstance(value, Mapping)
            and len(value) <= _MOST_NAMES
            and all(each in _LEVELS for each in value.values())
        )
    return (
        isinstance(value, list)
        and len(value) <= _MOST_NAMES
        and all(isinstance(each, str) and each for each in value)
    )


def usable_values(check: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a table `check` that fit their keys."""
    return {key: value for key, value in check.items() if _is_usable(key, value)}


def read_severities(options: OptionsFile) -> Severities:
    """Return the severities that the table `check` chooses."""
    return severities_of(usable_values(options.table("check")), source=options.source)


def severities_of(check: Mapping[str, Any], *, source: str) -> Severities:
    """Return the severities that the usable values of a table `check` of `source` choose."""
    return merged_severities(
        NO_CHANGES,
        select=tuple(check.get("select", ())),
        ignore=tuple(check.get("ignore", ())),
        levels=check.get("severity", {}),
        source=source,
    )


def remarks_on_rules(options: OptionsFile, book: "Mapping[str, Rule]") -> "Iterator[str]":
    """Yield a remark for each name in the table `check` that is not a rule, or cannot be lowered.

    `book` are the rules that exist, by id.
    """
    families = {rule.family for rule in book.values()}
    table = options.table("check")
    for key in ("select", "ignore", "severity"):
        named = table.get(key, ())
        for name in named if _is_usable(key, named) else ():
            place = options.place(
                *(("check.severity", name) if key == "severity" else ("check", key))
            )
            if name not in book and name not in families:
                unknown = UnknownNameError("rule or family", name, (*families, *book))
                yield f"{place}: {unknown}"
            elif name in book and key != "select":
                usual = book[name].lenient
                level = table[key][name] if key == "severity" else OFF
                if Severities.is_fixed(name, usual) and level != usual:
                    yield f"{place}: {name}: {CANNOT_BE_LOWERED}; leave it out"


def merged_severities(
    base: Severities,
    *,
    select: tuple[str, ...] = (),
    ignore: tuple[str, ...] = (),
    levels: "Mapping[str, SeverityName] | None" = None,
    source: str,
) -> Severities:
    """Return `base` with more choices, made at `source`; `select` replaces an earlier one."""
    levels = levels or {}
    if not (select or ignore or levels):
        return base

    notes = base.notes
    if select:
        notes = (*(each for each in notes if not each.startswith("all but ")),)
        notes += (f"all but {', '.join(select)}: {OFF} ({source})",)
    notes += tuple(f"{name}: {OFF} ({source})" for name in ignore)
    notes += tuple(f"{name}: {level} ({source})" for name, level in levels.items())
    off: SeverityName = OFF
    changes = (*base.changes, *levels.items(), *((name, off) for name in ignore))

    return Severities(select or base.selected, changes, notes)
