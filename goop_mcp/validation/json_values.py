"""Single values of a JSON envelope, by tables: each kind accepts legal values and reports others.

A table of fields defines what an object has to contain. Values are repaired in place, so that the
object can be written again. The first error of a value is the only finding for it (D-22). The same
tables give the schema.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from goop_mcp.structs import DataStruct
from goop_mcp.validation.envelope_rules import CONFLICTING_DUPLICATE
from goop_mcp.validation.escaping import without_emphasis
from goop_mcp.validation.findings import Severity, excerpt
from goop_mcp.validation.json_strings import escape_pointer
from goop_mcp.validation.paths import ANYWHERE_INSIDE, PLAIN_PATH, PathBounds, read_path
from goop_mcp.validation.rules import Problem, Rule
from goop_mcp.validation.safe_json import JsonObjectValue, JsonValue
from goop_mcp.validation.template_phrases import Prose
from goop_mcp.validation.template_text import (
    TEMPLATE,
    ValueKind,
    is_template,
    suspects,
    template_text,
    value_kind,
)

__all__ = [
    "ANYTHING",
    "COUNT",
    "FLAG",
    "NAME",
    "NUMBER",
    "PATH",
    "TEXT",
    "Field",
    "Fields",
    "Formed",
    "JsonValueRules",
    "Kind",
    "ListOf",
    "MapOf",
    "Schema",
    "ValueReader",
    "Word",
    "fields_schema",
    "is_elided",
    "text_definitions",
]

Schema = dict[str, Any]
"""A JSON Schema, or a part of one."""

_SHOWN = 60
_ELISIONS = ("...", "…")


class JsonValueRules(DataStruct, frozen=True, kw_only=True):
    """The rules a family reports single values by; `prose` is that of its templates.

    `slots_in_angles`: the templates write the slots of paths in angle brackets.
    """

    wrong_type: Rule
    placeholder: Rule
    slot_in_text: Rule
    value_case: Rule
    value_alias: Rule | None = None
    prose: Prose
    slots_in_angles: bool = False


class ValueReader:
    """Collects the problems of the values of one envelope."""

    def __init__(self, rules: JsonValueRules, bounds: PathBounds = ANYWHERE_INSIDE) -> None:
        """Report by `rules`, and compare paths with `bounds`."""
        self.rules = rules
        self.bounds = bounds
        self.problems: list[Problem] = []
        # Texts that may be template text, known once all were examined together; None before.
        self.suspected: frozenset[str] | None = None

    def fields(self, fields: "Fields", values: JsonObjectValue, where: str) -> None:
        """Read `values`, an object at the pointer `where`, by the table of `fields`.

        Repaired values are put in place.
        """
        # Two keys can only differ by case if one of them is in no table and has a capital. One
        # call over all keys clears nearly every object.
        if not fields.known.issuperset(values) and not "".join(values).islower():
            self._conflicting_keys(values, where)

        # Looked up once: this loop passes each field of each object of each reply.
        get = values.get
        for name, kind, words, may_be_blank, each in fields.rows:
            value = get(name)
            if value is None:
                if each.missing is not None:
                    self.missing(each, f"{where}/{name}", blank=False)

                continue

            if value.__class__ is str:
                # Most values are free texts or listed words, which need no call.
                if words is not None and value in words:
                    continue
                if not may_be_blank and not value.strip():
                    self.missing(each, f"{where}/{name}", blank=True)
                    continue
                if kind is TEXT:
                    continue

            read = kind.read(value, where, name, self)
            # Only repaired values are set again, so that a clean object is never written to.
            if read is not value:
                values[name] = read

    def _conflicting_keys(self, values: JsonObjectValue, where: str) -> None:
        """Report keys that differ only in case and have different values."""
        # casefold() and not lower(): keys come in every script.
        spellings: dict[str, str] = {}
        for name, value in values.items():
            other = spellings.setdefault(name.casefold(), name)
            path = f"{where}/{escape_pointer(name)}"
            # The reader of a family may read an object again, with another table.
            if value != values[other] and not any(
                each.rule is CONFLICTING_DUPLICATE and each.hit.path == path
                for each in self.problems
            ):
                message = (
                    f"keys {excerpt(other, _SHOWN)!r} and {excerpt(name, _SHOWN)!r} have different"
                    " values; expected one key"
                )
                self.problems.append(CONFLICTING_DUPLICATE.problem(message, path=path))

    def missing(self, each: "Field", where: str, *, blank: bool) -> None:
        """Report that a field is absent, null or blank."""
        if each.missing is not None:
            what = "is blank" if blank else "is missing"
            message = f"{each.name} {what}; expected {each.wanted or each.kind.expected}"
            fix = f'Add "{each.name}": {each.wanted or each.kind.expected}.'
            self.problems.append(each.missing.problem(message, path=where, fix=fix))

    def wrong_type(self, value: JsonValue, where: str, step: str, kind: "Kind") -> None:
        """Report a value of another kind; template text is reported as such."""
        # "N" for a number is a form that was not filled in, which another rule explains better.
        if isinstance(value, str) and is_template(value, ValueKind.NUMBER):
            self.placeholder(value, where, step, kind.expected)
            return

        message = f"{step} is {describe(value)}; expected {kind.expected}"
        found = excerpt(value) if isinstance(value, str) else None
        self.problems.append(
            self.rules.wrong_type.problem(message, path=f"{where}/{step}", found=found)
        )

    def placeholder(self, value: str, where: str, step: str, expected: str) -> None:
        """Report template text that was left in."""
        message = (
            f"template text left in: {step} is {excerpt(value, _SHOWN)!r}; expected {expected}"
        )
        problem = self.rules.placeholder.problem(
            message, path=f"{where}/{step}", found=excerpt(value)
        )
        self.problems.append(problem)

    def template_texts(
        self, values: JsonObjectValue, where: str = "", *, but: str | None = None
    ) -> None:
        """Report the template text in all texts of `values`, except under the key `but`.

        This includes values that the tables do not cover.
        """
        suspected = (
            self.suspected if self.suspected is not None else self.look_for_template_text(values)
        )
        if suspected:
            # A member that another reader judges would be reported twice.
            others = {key: value for key, value in values.items() if key != but}
            self._walk(others, where, ValueKind.TEXT, suspected)

    def look_for_template_text(self, values: JsonObjectValue) -> frozenset[str]:
        """Return the texts of `values` that may be template text, usually none.

        A kind that reads a value later asks `is_suspected`, so that no text is examined twice.
        """
        texts: list[str] = []
        _collect_texts(values, texts)
        self.suspected = suspects([*map(str.strip, texts)], self.rules.prose)
        return self.suspected

    def is_suspected(self, value: str) -> bool:
        """Return whether `value` may be template text."""
        return self.suspected is None or (bool(self.suspected) and value.strip() in self.suspected)

    def _walk(
        self,
        holder: dict[str, JsonValue] | list[JsonValue],
        where: str,
        kind: ValueKind,
        suspected: frozenset[str],
    ) -> None:
        is_object = isinstance(holder, dict)
        items = holder.items() if isinstance(holder, dict) else enumerate(holder)
        for key, value in items:
            if isinstance(value, str) and value.strip() not in suspected:
                continue

            step = escape_pointer(str(key))
            own = value_kind(str(key)) if is_object else kind
            if isinstance(value, dict | list):
                self._walk(value, f"{where}/{step}", own, suspected)
            elif isinstance(value, str):
                self._template_text(value, where, step, own)

    def _template_text(self, value: str, where: str, step: str, kind: ValueKind) -> None:
        weight = template_text(value, kind, self.rules.prose)
        if weight is None:
            return

        path = f"{where}/{step}"
        own = (self.rules.placeholder.id, "path/template-variable")
        # The reader of the value has reported it already, with what was expected.
        if any(each.hit.path == path and each.rule.id in own for each in self.problems):
            return
        if weight is Severity.ERROR:
            self.placeholder(value, where, step, "the real value")
            return

        message = (
            f"template text left in: {step} holds a slot: {excerpt(value, _SHOWN)!r}; expected the"
            " real value"
        )
        self.problems.append(
            self.rules.slot_in_text.problem(message, path=path, found=excerpt(value))
        )


class Kind(ABC):
    """A kind of value."""

    textual: bool = False
    """Whether a blank text counts as missing where a value of this kind is required."""

    @property
    def accepted(self) -> frozenset[str] | None:
        """Texts that are right as they are, None if only `read` knows."""
        return None

    @property
    def expected(self) -> str:
        """What a value looks like, as the end of "expected ..."."""
        return "a value"

    @abstractmethod
    def read(self, value: JsonValue, where: str, step: str, reader: ValueReader) -> JsonValue:
        """Return `value`, the value at `where/step`, as it is meant, and report its problems."""

    @abstractmethod
    def schema(self) -> Schema:
        """Return what strict mode accepts without an error, as JSON Schema."""

    def paths(self, value: JsonValue, where: str) -> Iterator[tuple[str, str]]:
        """Yield the paths in `value`, which is at the pointer `where`, each with its pointer."""
        del value, where
        yield from ()


class Anything(Kind):
    """Any value at all."""

    def read(self, value: JsonValue, where: str, step: str, reader: ValueReader) -> JsonValue:
        """See `Kind.read`."""
        del where, step, reader
        return value

    def schema(self) -> Schema:
        """See `Kind.schema`."""
        return {}


class Text(Kind):
    """Free text."""

    expected = "a text"
    textual = True

    def read(self, value: JsonValue, where: str, step: str, reader: ValueReader) -> JsonValue:
        """See `Kind.read`."""
        if value.__class__ is not str:
            reader.wrong_type(value, where, step, self)
        return value

    def schema(self) -> Schema:
        """See `Kind.schema`."""
        return {"$ref": "#/$defs/text"}


class Name(Text):
    """A name or another short word, without a closed list."""

    expected = "a name"

    def read(self, value: JsonValue, where: str, step: str, reader: ValueReader) -> JsonValue:
        """See `Kind.read`."""
        if not isinstance(value, str):
            reader.wrong_type(value, where, step, self)
        elif reader.is_suspected(value) and not value.isalnum() and is_template(value):
            reader.placeholder(value, where, step, self.expected)

        return value

    def schema(self) -> Schema:
        """See `Kind.schema`."""
        return {"$ref": "#/$defs/name"}


@dataclass(frozen=True, slots=True)
class Formed(Name):
    """A short text of a certain form; `otherwise` is the rule for one that has another."""

    pattern: re.Pattern[str]
    otherwise: Rule
    expected: str

    def read(self, value: JsonValue, where: str, step: str, reader: ValueReader) -> JsonValue:
        """See `Kind.read`."""
        if isinstance(value, str) and self.fits(value):
            return value
        if not isinstance(value, str):
            reader.wrong_type(value, where, step, self)
        elif is_template(value):
            reader.placeholder(value, where, step, self.expected)
        else:
            message = f"{step} is {excerpt(value, _SHOWN)!r}; expected {self.expected}"
            reader.problems.append(
                self.otherwise.problem(message, path=f"{where}/{step}", found=excerpt(value))
            )

        return value

    def fits(self, value: str) -> bool:
        """Return whether `value` has the form."""
        return self.pattern.fullmatch(value) is not None

    def schema(self) -> Schema:
        """See `Kind.schema`."""
        if _is_error(self.otherwise):
            return {"type": "string", "pattern": f"^(?:{self.pattern.pattern})$(?!\\n)"}
        return {"$ref": "#/$defs/name"}


class Path(Text):
    """A path below the workspace."""

    expected = "a path relative to the project"

    def read(self, value: JsonValue, where: str, step: str, reader: ValueReader) -> JsonValue:
        """See `Kind.read`."""
        if not isinstance(value, str):
            reader.wrong_type(value, where, step, self)
            return value

        # Nothing is suspected and nothing bounds the paths of most replies: one match is enough.
        unsuspected = reader.suspected is not None and not reader.suspected
        if unsuspected and reader.bounds is ANYWHERE_INSIDE and PLAIN_PATH.fullmatch(value):
            return value

        suspected = reader.is_suspected(value)
        weight = template_text(value, ValueKind.PATH, reader.rules.prose) if suspected else None
        if weight is Severity.ERROR:
            reader.placeholder(value, where, step, self.expected)
            return value
        if weight is not None and reader.rules.slots_in_angles:
            return value  # reported with the other slots in texts

        path, problem = read_path(value, where=f"{where}/{step}", bounds=reader.bounds)
        if problem is not None:
            reader.problems.append(problem)
        return path

    def schema(self) -> Schema:
        """See `Kind.schema`."""
        return {"$ref": "#/$defs/path"}

    def paths(self, value: JsonValue, where: str) -> Iterator[tuple[str, str]]:
        """See `Kind.paths`."""
        if isinstance(value, str):
            yield where, value


class Count(Kind):
    """A whole number from 0 upwards."""

    expected = "a whole number from 0 up"

    def read(self, value: JsonValue, where: str, step: str, reader: ValueReader) -> JsonValue:
        """See `Kind.read`."""
        # The class first: this is asked for each number of each reply.
        if (value.__class__ is not int and not _is_whole(value)) or value < 0:
            reader.wrong_type(value, where, step, self)
        return value

    def schema(self) -> Schema:
        """See `Kind.schema`."""
        return {"type": "integer", "minimum": 0}


def _is_whole(value: JsonValue) -> TypeGuard[int | float]:
    # JSON has one kind of number: 2.0 is whole. A bool is an int to Python only.
    return value.__class__ is int or (isinstance(value, float) and value.is_integer())


class Number(Kind):
    """Any number."""

    expected = "a number"

    def read(self, value: JsonValue, where: str, step: str, reader: ValueReader) -> JsonValue:
        """See `Kind.read`."""
        if value.__class__ is not int and value.__class__ is not float:
            reader.wrong_type(value, where, step, self)
        return value

    def schema(self) -> Schema:
        """See `Kind.schema`."""
        return {"type": "number"}


class Flag(Kind):
    """True or false."""

    expected = "true or false"

    def read(self, value: JsonValue, where: str, step: str, reader: ValueReader) -> JsonValue:
        """See `Kind.read`."""
        if value.__class__ is not bool:
            reader.wrong_type(value, where, step, self)
        return value

    def schema(self) -> Schema:
        """See `Kind.schema`."""
        return {"type": "boolean"}


ANYTHING, TEXT, NAME, PATH, COUNT, NUMBER, FLAG = (
    Anything(),
    Text(),
    Name(),
    Path(),
    Count(),
    Number(),
    Flag(),
)


@dataclass(frozen=True, slots=True)
class Word(Kind):
    """One of a list of words; `aliases` are read as another word, `otherwise` is for others.

    An `open` list accepts other words, with a warning at most, so the schema accepts them too.
    """

    words: tuple[str, ...]
    otherwise: Rule
    aliases: Mapping[str, str] = field(default_factory=dict)
    open: bool = False
    textual = True

    @property
    def expected(self) -> str:
        """The words."""
        return f"one of {', '.join(self.words)}" if len(self.words) > 1 else self.words[0]

    @property
    def accepted(self) -> frozenset[str]:
        """See `Kind.accepted`."""
        return frozenset(map(str, self.words))

    def read(self, value: JsonValue, where: str, step: str, reader: ValueReader) -> JsonValue:
        """See `Kind.read`."""
        return value if value in self.words else self.odd(value, where, step, reader)

    def odd(self, value: JsonValue, where: str, step: str, reader: ValueReader) -> JsonValue:
        """Report the problem of a value that is not in the list; return what it is read as."""
        if not isinstance(value, str):
            reader.wrong_type(value, where, step, self)
            return value
        if is_template(value):
            reader.placeholder(value, where, step, self.expected)
            return value

        # Models write **SUCCESS** as well, in the emphasis of Markdown.
        folded = without_emphasis(value.strip()).lower()
        for known in self.words:
            if known.lower() == folded:
                return self._repaired(reader.rules.value_case, value, known, (where, step), reader)

        # Only known other words for the same: a guess would change the meaning.
        alias = self.aliases.get(folded)
        if alias is not None and reader.rules.value_alias is not None:
            return self._repaired(reader.rules.value_alias, value, alias, (where, step), reader)

        message = f"{step} is {excerpt(value, _SHOWN)!r}; expected {self.expected}"
        found = excerpt(value) or None
        problem = self.otherwise.problem(
            message, path=f"{where}/{step}", found=found, expected=self.words
        )
        reader.problems.append(problem)

        return value

    def _repaired(
        self, rule: Rule, value: str, known: str, position: tuple[str, str], reader: ValueReader
    ) -> str:
        where, step = position
        found = excerpt(value)
        message = f"{step} is {excerpt(value, _SHOWN)!r}; expected {known!r}"
        problem = rule.problem(
            message,
            path=f"{where}/{step}",
            found=found,
            expected=self.words,
            before=found,
            after=known,
        )
        reader.problems.append(problem)

        return known

    def schema(self) -> Schema:
        """See `Kind.schema`."""
        if not self.open:
            return {"enum": list(self.words)}

        # A schema has no flag for case, so that each letter is given in both.
        spellings = "|".join(
            "".join(f"[{c.lower()}{c.upper()}]" if c.isalpha() else c for c in w)
            for w in self.words
        )
        other = {
            "allOf": [{"$ref": "#/$defs/name"}, {"not": {"pattern": rf"^\s*(?:{spellings})\s*$"}}]
        }

        return {"anyOf": [{"enum": list(self.words)}, other]}


@dataclass(frozen=True, slots=True)
class ListOf(Kind):
    """A list whose items are of one kind."""

    item: Kind

    @property
    def expected(self) -> str:
        """What the items are."""
        return f"a list, each item {self.item.expected}"

    def read(self, value: JsonValue, where: str, step: str, reader: ValueReader) -> JsonValue:
        """See `Kind.read`."""
        if not isinstance(value, list):
            reader.wrong_type(value, where, step, self)
            return value

        read, inner = self.item.read, f"{where}/{step}"
        # `["..."]` is copied from an example: the items are missing, and the list is not empty.
        if is_elided(value):
            reader.placeholder(str(value[0]), inner, "0", self.item.expected)
            return value

        for number, item in enumerate(value):
            repaired = read(item, inner, str(number), reader)
            if repaired is not item:
                value[number] = repaired

        return value

    def schema(self) -> Schema:
        """See `Kind.schema`."""
        return {"type": "array", "items": self.item.schema()}

    def paths(self, value: JsonValue, where: str) -> Iterator[tuple[str, str]]:
        """See `Kind.paths`."""
        if isinstance(value, list):
            for number, item in enumerate(value):
                yield from self.item.paths(item, f"{where}/{number}")


@dataclass(frozen=True, slots=True)
class MapOf(Kind):
    """An object with any keys, whose values are of one kind; None accepts any value."""

    item: Kind | None = None
    expected = "an object"

    def read(self, value: JsonValue, where: str, step: str, reader: ValueReader) -> JsonValue:
        """See `Kind.read`."""
        if not isinstance(value, dict):
            reader.wrong_type(value, where, step, self)
        elif self.item is not None:
            inner = f"{where}/{step}"
            for key, item in value.items():
                repaired = self.item.read(item, inner, escape_pointer(key), reader)
                if repaired is not item:
                    value[key] = repaired

        return value

    def schema(self) -> Schema:
        """See `Kind.schema`."""
        values = {} if self.item is None else {"additionalProperties": self.item.schema()}
        return {"type": "object", **values}


class Fields(Kind):
    """An object with the fields of a table; other keys are kept without a check.

    `others` are names that another table has for the same object.
    """

    expected = "an object"

    def __init__(self, table: "Sequence[Field]", others: Iterable[str] = ()) -> None:
        """Prepare what a reader needs for each object of each reply."""
        self.table = tuple(table)
        known = frozenset((*others, *(each.name for each in self.table)))
        if len({name.casefold() for name in known}) < len(known):
            raise ValueError("two fields differ only in case")

        self.known = known
        self.rows = [
            (
                each.name,
                each.kind,
                each.kind.accepted,
                each.missing is None or not each.kind.textual,
                each,
            )
            for each in self.table
        ]

    def read(self, value: JsonValue, where: str, step: str, reader: ValueReader) -> JsonValue:
        """See `Kind.read`."""
        if isinstance(value, dict):
            reader.fields(self, value, f"{where}/{step}")
        else:
            reader.wrong_type(value, where, step, self)

        return value

    def schema(self) -> Schema:
        """See `Kind.schema`."""
        return fields_schema(self.table)

    def paths(self, value: JsonValue, where: str) -> Iterator[tuple[str, str]]:
        """See `Kind.paths`."""
        if isinstance(value, dict):
            for each in self.table:
                yield from each.kind.paths(value.get(each.name), f"{where}/{each.name}")


class Field(DataStruct, frozen=True):
    """A member of an object.

    `missing` is the rule for its absence, None if it may be left out or null. `wanted` is what the
    finding asks for, if that is more than the kind's `expected`.
    """

    name: str
    kind: Kind
    missing: Rule | None = None
    wanted: str = ""


def fields_schema(table: Sequence[Field]) -> Schema:
    """Return the schema of an object with the fields of `table`."""
    properties = {}
    for each in table:
        schema = each.kind.schema()
        if each.missing is None or not _is_error(each.missing):
            schema = {"anyOf": [schema, {"type": "null"}]}
        elif each.kind.textual and "enum" not in schema and "pattern" not in schema:
            schema = {**schema, "pattern": r"\S"}

        properties[each.name] = schema

    required = [each.name for each in table if each.missing is not None and _is_error(each.missing)]

    return {"type": "object", "required": required, "properties": properties}


def text_definitions(rules: JsonValueRules) -> Schema:
    """Return the definitions that the schemas of values refer to."""
    # A pattern cannot recognize all slots within texts; what the schema refuses, the reader refuses
    # as well.
    slots = sorted(phrase for phrase in rules.prose.phrases if phrase.startswith("<"))
    template = {"pattern": f"^(?:{TEMPLATE.pattern})$(?!\\n)"}

    return {
        "text": {"type": "string", "not": {"enum": slots}} if slots else {"type": "string"},
        "name": {"type": "string", "not": template},
        "path": {"type": "string"},
    }


def _collect_texts(value: JsonValue, texts: list[str]) -> None:
    # The class is compared because isinstance takes twice as long, and every value of every reply
    # passes here.
    if isinstance(value, str):
        texts.append(value)
    elif value.__class__ is dict or value.__class__ is list:
        for each in value.values() if isinstance(value, dict) else value:
            if each.__class__ is not int:
                _collect_texts(each, texts)


def describe(value: JsonValue) -> str:
    """Return a description of `value` and its type for a message."""
    if isinstance(value, str):
        return f"the text {excerpt(value, _SHOWN)!r}"
    if isinstance(value, bool | int | float):
        return str(value).lower()
    return "null" if value is None else "a list" if isinstance(value, list) else "an object"


def is_elided(values: list[JsonValue]) -> bool:
    """Return whether a whole list was left out, `[...]`: template text, not no items (D-93)."""
    return len(values) == 1 and values[0] in _ELISIONS


def _is_error(rule: Rule) -> bool:
    return rule.severity("strict") == "error"
