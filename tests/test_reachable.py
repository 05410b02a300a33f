"""No public function exists that only tests call.

A surface is the command line, the server, the hosts, what tests of users import (goop_mcp.testing),
a name in the library's `__all__`, or a name that the documentation imports. Names are followed
statically: a function is reached if something that is reached uses its name. Names of different
things may be equal, so that a function with a usual name may be missed.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import goop_mcp
from tests.repository import ROOT

PACKAGE = ROOT / "goop_mcp"
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
WORD = re.compile(r"[A-Za-z_]\w*")
NEUTRAL = {
    "cache",
    "contextmanager",
    "asynccontextmanager",
    "lru_cache",
    "overload",
    "singledispatch",
}
SURFACES = ("cli", "workbench", "server", "hosts", "__main__.py", "testing")


def names_in(node: ast.AST) -> set[str]:
    """Return every name that `node` uses, that of an attribute and of an import included."""
    used: set[str] = set()
    for each in ast.walk(node):
        if isinstance(each, ast.Name):
            used.add(each.id)
        elif isinstance(each, ast.Attribute):
            used.add(each.attr)
        elif isinstance(each, ast.ImportFrom):
            used.update(alias.name for alias in each.names)
        elif isinstance(each, ast.Constant) and isinstance(each.value, str):
            # Modules that are loaded with their first use are named in texts.
            used.update(each.value.split(".")[-1:] if each.value.isascii() else ())

    return used


def definitions(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """Yield functions, methods and the rest of a module, each with the name that reaches it.

    The rest has an empty name: it runs with the import.
    """
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            # A decorator puts rules, rows and commands into a table, from where they are called.
            is_listed = {name_of(each) for each in node.decorator_list} - NEUTRAL
            yield ("" if is_listed else node.name), node
        elif isinstance(node, ast.ClassDef):
            yield from class_definitions(node)
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.Import | ast.ImportFrom):
            targets = (
                node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            )
            name = next((each.id for each in targets if isinstance(each, ast.Name)), None)
            if isinstance(node, ast.Import | ast.ImportFrom) or name == "__all__":
                continue

            yield name or "", node
        else:
            yield "", node


def name_of(decorator: ast.expr) -> str:
    """Return the name of a decorator, without its module and arguments."""
    return ast.unparse(decorator).split("(")[0].split(".")[-1]


def class_definitions(node: ast.ClassDef) -> Iterator[tuple[str, ast.AST]]:
    """Yield a class without its public methods, then these."""
    methods = [
        each
        for each in node.body
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
        and not each.name.startswith("_")
        and not has_foreign_base(node)
    ]
    rest = ast.ClassDef(
        name=node.name,
        bases=node.bases,
        keywords=node.keywords,
        body=[each for each in node.body if each not in methods],
        decorator_list=node.decorator_list,
    )
    yield node.name, rest
    for method in methods:
        yield method.name, method


def has_foreign_base(node: ast.ClassDef) -> bool:
    """Whether others may call its methods: the class is made for a base class."""
    bases = {ast.unparse(base).split("[")[0].split(".")[-1] for base in node.bases}
    return bool(bases - {"Protocol", "NamedTuple", "StrEnum", "Enum", "ABC", ""})


def unreached(package: Path, library: set[str]) -> list[str]:
    """Return the public functions and methods that nothing reachable from a surface uses."""
    found: dict[str, list[tuple[str, ast.AST]]] = {}
    methods: dict[str, set[str]] = {}
    wanted: set[str] = set(library)
    for path in sorted(package.rglob("*.py")):
        place = path.relative_to(package)
        tree = ast.parse(path.read_text("utf-8"))
        if place.parts[0] in SURFACES:
            wanted |= names_in(tree)
            continue

        for each in tree.body:
            if isinstance(each, ast.ClassDef):
                methods[each.name] = {name for name, _ in class_definitions(each)}

        for name, node in definitions(tree):
            if name:
                found.setdefault(name, []).append((place.as_posix(), node))
            else:
                wanted |= names_in(node)

    reached: set[str] = set()
    while new := wanted - reached:
        reached |= new
        for name in new & found.keys():
            for _, node in found[name]:
                wanted |= names_in(node)
                # Users have the objects of these classes, so that all public methods are theirs.
                if name in library and isinstance(node, ast.ClassDef):
                    wanted |= methods[name]

    return sorted(
        f"{place}: {name}"
        for name, places in found.items()
        if name not in reached and not name.startswith("_")
        for place, node in places
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )


def documented_names() -> set[str]:
    """Return what the examples of the documentation use."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    used: set[str] = set()
    for page in pages:
        for example in PYTHON.findall(page.read_text("utf-8")):
            if "goop_mcp" in example:
                used.update(WORD.findall(example))

    return used


def test_every_public_function_is_reached_from_a_surface() -> None:
    assert unreached(PACKAGE, set(goop_mcp.__all__) | documented_names()) == []


def test_what_only_tests_call_is_found(tmp_path: Path) -> None:
    (tmp_path / "cli").mkdir()
    (tmp_path / "cli" / "run.py").write_text("from p.work import used\nused()\n", "utf-8")
    (tmp_path / "work.py").write_text(
        "def used(): return Thing().kept()\n"
        "def unused(): return alone()\n"
        "def alone(): return 1\n"
        "def exported(): return 2\n"
        "class Thing:\n"
        "    def kept(self): return self._own()\n"
        "    def _own(self): return 3\n"
        "    def lost(self): return 4\n",
        "utf-8",
    )
    assert unreached(tmp_path, {"exported"}) == [
        "work.py: alone",
        "work.py: lost",
        "work.py: unused",
    ]
