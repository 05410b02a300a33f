"""The schemas of protocols and of our files, for checking them with other tools."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from goop_mcp import workspace
from goop_mcp.assets import list_assets, read_asset
from goop_mcp.errors import UnknownNameError
from goop_mcp.workspace.layout import SCHEMAS_FOLDER

__all__ = ["Schema", "find_schema", "install_schemas", "list_schemas"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """One packaged schema; `version` is the version of its envelope, `file` its file name."""

    protocol: str
    version: str
    file: str
    uri: str
    media_type: str
    text: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Series:
    """The schemas of one protocol: their title, and the versions that share one structure (D-23).

    `versions` maps file names to versions where they differ. `folder` is the folder of projects for
    these schemas, None if there is none.
    """

    title: str
    oldest: tuple[int, ...]
    newest: tuple[int, ...]
    versions: Mapping[str, str] = field(default_factory=dict)
    folder: str | None = None


_SERIES = {
    "agent_request": _Series(
        title="XML handoff protocol {version}",
        oldest=(1, 0),
        newest=(1, 1),
        versions={"agent-handoff-v1": "1.0", "agent-handoff-v1-corrected": "1.0-corrected"},
        folder=SCHEMAS_FOLDER,
    ),
    "factory": _Series(title="Factory response {version}", oldest=(1, 0), newest=(1, 0)),
    "goop_report": _Series(
        title="GoopSpec report {version}, Subagent Protocol v0.1.4",
        oldest=(0, 1, 4),
        newest=(0, 2, 9),
    ),
    # No protocols: named commands, the file that `goop-mcp delegate` carries out, settings of a
    # project, and the file that a spawned agent leaves next to its report.
    "checks": _Series(title=".goopspec/checks.toml {version}", oldest=(1,), newest=(1,)),
    "graph": _Series(title="Delegation graph {version}", oldest=(1,), newest=(1,)),
    "hooks": _Series(title=".goopspec/hooks.json {version}", oldest=(1,), newest=(1,)),
    "options": _Series(
        title="goop-mcp.toml or [tool.goop-mcp] {version}", oldest=(1,), newest=(1,)
    ),
    "result": _Series(title="result.json of a session {version}", oldest=(1,), newest=(1,)),
    "speckit": _Series(title="Speckit agent response {version}", oldest=(1, 0), newest=(1, 0)),
}
_MEDIA_TYPES = {".json": "application/schema+json", ".xsd": "application/xml"}
_VERSION = re.compile(r"[0-9]{1,4}(?:\.[0-9]{1,4}){0,3}")


def list_schemas() -> tuple[Schema, ...]:
    """Return every schema, by protocol, the oldest version first."""
    names = [name for suffix in _MEDIA_TYPES for name in list_assets("schemas", suffix)]
    schemas = []
    for name in map(PurePosixPath, names):
        series = _SERIES[name.parent.name]
        version = series.versions.get(name.stem, name.stem)
        schemas.append(
            Schema(
                protocol=name.parent.name,
                version=version,
                file=name.name,
                uri=f"goop://schemas/{name.parent.name}/{version}",
                media_type=_MEDIA_TYPES[name.suffix],
                text=read_asset("schemas", name.as_posix()),
                title=series.title.format(version=version),
            )
        )

    return tuple(sorted(schemas, key=lambda schema: (schema.protocol, _number(schema.version))))


def find_schema(protocol: str, version: str | None = None) -> Schema:
    """Return the schema for `version` of `protocol`, by default the newest.

    Versions with the same structure share a schema: goop_report has one file for all versions from
    0.1.4 to 0.2.9 (D-23). Raises UnknownNameError for a protocol or version without a schema.
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


def install_schemas(protocol: str, project: Path) -> tuple[str, ...]:
    """Write the schemas of `protocol` to their folder in `project`; return their paths.

    Existing files with the same content are left as they are; after an error the files written
    before it stay. Raises UnknownNameError for a protocol without such a folder,
    UnwritableFileError if another file exists there or the system refuses, and PathRefusedError for
    a link.
    """
    kept = {name: series.folder for name, series in _SERIES.items() if series.folder is not None}
    if protocol not in kept:
        raise UnknownNameError("schema to install for", protocol, kept)

    places = {
        f"{kept[protocol]}/{each.file}": each.text
        for each in list_schemas()
        if each.protocol == protocol
    }
    files = workspace.files.ProjectFiles(project)
    for place, text in places.items():
        workspace.replacing.place_file(files, place, text.encode())

    return tuple(places)


def _number(version: str) -> tuple[int, ...]:
    """Return `version` as numbers for comparison; an invalid one is empty and below all others."""
    return tuple(map(int, version.split("."))) if _VERSION.fullmatch(version) else ()
