"""The machine contracts of the protocols, for those who check envelopes with tools of their own."""

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from goop_mcp.assets import list_assets, read_asset
from goop_mcp.errors import UnknownNameError

__all__ = ["Schema", "find_schema", "list_schemas"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """One schema as it ships; `version` is the version of the envelope it was written for."""

    protocol: str
    version: str
    uri: str
    media_type: str
    text: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Series:
    """What is said of all schemas of one protocol: its title, and the versions that share one structure (D-23)."""

    title: str
    oldest: tuple[int, ...]
    newest: tuple[int, ...]


_SERIES = {
    "goop_report": _Series(
        title="GoopSpec report {version}, Subagent Protocol v0.1.4", oldest=(0, 1, 4), newest=(0, 2, 9)
    ),
}
_MEDIA_TYPES = {".json": "application/schema+json", ".xsd": "application/xml"}
_VERSION = re.compile(r"[0-9]{1,4}(?:\.[0-9]{1,4}){1,3}")


def list_schemas() -> tuple[Schema, ...]:
    """Return every schema, by protocol, the oldest version first."""
    names = [name for suffix in _MEDIA_TYPES for name in list_assets("schemas", suffix)]
    schemas = [_read(PurePosixPath(name)) for name in names]
    return tuple(sorted(schemas, key=lambda schema: (schema.protocol, _number(schema.version))))


def find_schema(protocol: str, version: str | None = None) -> Schema:
    """Return the schema that `version` of `protocol` is judged by; without a version the newest.

    Versions that share one structure share one schema: every version of goop_report from 0.1.4 to 0.2.9 leads to the
    same file (D-23). Raises UnknownNameError for a protocol without a schema and for a version that no schema fits.
    """
    schemas = list_schemas()
    of_protocol = {schema.version: schema for schema in schemas if schema.protocol == protocol}
    if not of_protocol:
        raise UnknownNameError("schema", protocol, sorted({schema.protocol for schema in schemas}))
    newest = list(of_protocol.values())[-1]
    if version is None:
        return newest
    if version in of_protocol:
        return of_protocol[version]
    series = _SERIES[protocol]
    if series.oldest <= _number(version) <= series.newest:
        return newest
    raise UnknownNameError(f"{protocol} schema of version", version, of_protocol)


def _read(name: PurePosixPath) -> Schema:
    protocol, version = name.parent.name, name.stem
    return Schema(
        protocol=protocol,
        version=version,
        uri=f"goop://schemas/{protocol}/{version}",
        media_type=_MEDIA_TYPES[name.suffix],
        text=read_asset("schemas", name.as_posix()),
        title=_SERIES[protocol].title.format(version=version),
    )


def _number(version: str) -> tuple[int, ...]:
    """Return `version` as numbers to compare by; empty, and so below all others, when it is none."""
    return tuple(map(int, version.split("."))) if _VERSION.fullmatch(version) else ()
