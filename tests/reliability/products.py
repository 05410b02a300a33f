"""The two memory servers that are compared: goop-mcp and the reference server of MCP."""

import json
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from pydantic import JsonValue

from goop_mcp.store.opening import open_store
from goop_mcp.store.records import MemoryFilter
from tests.npm import NO_NPM
from tests.reliability.stdio_server import Answer, StdioServer, serve
from tests.repository import CACHE

__all__ = [
    "OURS",
    "REFERENCE",
    "REFERENCE_VERSION",
    "Ours",
    "Product",
    "Reference",
    "reference_program",
]

REFERENCE_VERSION: Final = "2026.8.31"
_PACKAGE: Final = "@modelcontextprotocol/server-memory"
_CACHE: Final = CACHE / "server-memory"
_PROGRAM: Final = _CACHE / "node_modules" / _PACKAGE / "dist" / "index.js"
_LONGEST_INSTALLATION: Final = 300
_NOTE: Final = (
    "The service keeps its sessions in the cache for an hour; see the notes of the last review."
)


class Product(Protocol):
    """A memory server that stores its memories in a folder."""

    @property
    def name(self) -> str:
        """What it is called in tables."""
        ...

    def start(self, folder: Path) -> StdioServer:
        """Start one more process on `folder`."""
        ...

    def saving(self, title: str) -> tuple[str, Mapping[str, JsonValue]]:
        """Return the tool that saves and its arguments for a note called `title`."""
        ...

    def acknowledges(self, answer: Answer) -> bool:
        """Return whether `answer` confirms that the note is saved."""
        ...

    def stored(self, folder: Path) -> list[str]:
        """Return the titles of all notes in `folder`, read by a new process or program."""
        ...

    def strays(self, folder: Path) -> list[str]:
        """Return the names of files in `folder` that should not be there."""
        ...


@dataclass(frozen=True, slots=True)
class Ours:
    """goop-mcp with its database in the project folder."""

    name: str = "goop-mcp"

    def start(self, folder: Path) -> StdioServer:
        return serve(folder)

    def saving(self, title: str) -> tuple[str, Mapping[str, JsonValue]]:
        return "save_memory", {"title": title, "content": f"{title}. {_NOTE}"}

    def acknowledges(self, answer: Answer) -> bool:
        structure = answer.get("structuredContent")
        return isinstance(structure, dict) and structure.get("status") == "saved"

    def stored(self, folder: Path) -> list[str]:
        store = open_store(None, project=folder)
        titles = store.read(
            lambda reading: [memory.title for memory in reading.memories(MemoryFilter())]
        )
        store.close()
        return titles

    def strays(self, folder: Path) -> list[str]:
        expected = {".gitignore", ".lock", "goop.db", "goop.db-wal", "goop.db-shm"}
        return sorted(
            path.name for path in (folder / ".goopspec").iterdir() if path.name not in expected
        )


@dataclass(frozen=True, slots=True)
class Reference:
    """The reference memory server on Node.js: a graph in one file, rewritten at each save."""

    name: str = f"server-memory {REFERENCE_VERSION}"

    def start(self, folder: Path) -> StdioServer:
        return StdioServer(
            ["node", str(_PROGRAM)], variables={"MEMORY_FILE_PATH": str(self.file(folder))}
        )

    def file(self, folder: Path) -> Path:
        """Return the file that it keeps its notes in."""
        return folder / "memory.jsonl"

    def saving(self, title: str) -> tuple[str, Mapping[str, JsonValue]]:
        return "create_entities", {"entities": [self.entity(title)]}

    def entity(self, title: str) -> dict[str, JsonValue]:
        """Return a note as it is saved."""
        return {"name": title, "entityType": "observation", "observations": [f"{title}. {_NOTE}"]}

    def acknowledges(self, answer: Answer) -> bool:
        return bool(answer) and not answer.get("isError")

    def stored(self, folder: Path) -> list[str]:
        with self.start(folder) as server:
            graph = server.call("read_graph").get("structuredContent")
        assert isinstance(graph, dict)
        assert isinstance(graph["entities"], list)
        return [str(entity["name"]) for entity in graph["entities"] if isinstance(entity, dict)]

    def strays(self, folder: Path) -> list[str]:
        return sorted(path.name for path in folder.iterdir() if path.name != "memory.jsonl")


OURS: Final = Ours()
REFERENCE: Final = Reference()


def reference_program() -> str:
    """Install the reference server; return why that is impossible, empty when it is there."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return NO_NPM
    if _installed_version() != REFERENCE_VERSION:
        _CACHE.mkdir(parents=True, exist_ok=True)
        command = [
            npm,
            "install",
            "--silent",
            "--no-fund",
            "--no-audit",
            f"{_PACKAGE}@{REFERENCE_VERSION}",
        ]
        result = subprocess.run(
            [*command, "--prefix", str(_CACHE)],
            check=False,
            capture_output=True,
            timeout=_LONGEST_INSTALLATION,
        )
        if result.returncode:
            what = (
                f"{_PACKAGE} {REFERENCE_VERSION} cannot be installed (npm ended with"
                f" {result.returncode})"
            )
            return f"{what}; see whether npm's registry answers"

    return ""


def _installed_version() -> str:
    about = _PROGRAM.parents[1] / "package.json"
    return str(json.loads(about.read_text(encoding="utf-8"))["version"]) if about.exists() else ""
