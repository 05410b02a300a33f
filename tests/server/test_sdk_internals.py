"""One module uses private parts of libraries, and finds out at the start which are missing."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
import textwrap
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

from goop_mcp.errors import IncompatiblePackageError
from goop_mcp.server.sdk_internals import RELIED_ON, TESTED, check_parts
from tests.repository import ROOT, project_files

LIBRARIES = ("anyio", "h11", "mcp", "starlette", "uvicorn")
IMPORT = re.compile(rf"^\s*(?:from|import) (?:{'|'.join(LIBRARIES)})\b", re.MULTILINE)
HOME = ROOT / "goop_mcp" / "server" / "sdk_internals.py"
# These begin with an underscore and are documented.
PUBLIC = {"_exit", "_replace"}
PARTS = [
    (library, module, owner, name)
    for library, places in RELIED_ON.items()
    for (module, owner), names in places.items()
    for name in names
]


def _sources() -> list[Path]:
    return [
        path
        for path in project_files()
        if path.suffix == ".py"
        and any(path.is_relative_to(ROOT / folder) for folder in ("goop_mcp", "benchmarks"))
        and path != HOME
        and IMPORT.search(path.read_text(encoding="utf-8"))
    ]


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def _private_uses(tree: ast.Module) -> list[str]:
    """Return private modules and names imported from the libraries, and private attributes.

    Attributes that a class of the same file has too are left out, and so are those of `self` and
    `cls`; whether a library's class has them too is another test.
    """
    found: list[str] = []
    own = PUBLIC.union(
        *(_own_names(node) for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    )
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                imported = [each.name for each in names]
            case ast.ImportFrom(module=str(module), names=names, level=0):
                imported = [f"{module}.{each.name}" for each in names]
            case ast.Attribute(value=value, attr=attr) if _is_private(attr):
                imported = []
                is_self = isinstance(value, ast.Name) and value.id in {"self", "cls"}
                if not is_self and attr not in own:
                    found.append(ast.unparse(node))
            case _:
                imported = []

        found += [
            name
            for name in imported
            if name.partition(".")[0] in LIBRARIES and any(map(_is_private, name.split(".")))
        ]

    return found


def test_no_other_module_uses_private_names_of_other_objects() -> None:
    found = {
        f"{path.relative_to(ROOT).as_posix()}: {use}"
        for path in _sources()
        for use in _private_uses(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert found == set()


def test_the_names_in_that_module_are_written_nowhere_else() -> None:
    """`vars(request)["_body"]` is a use as well."""
    names = {name.removesuffix("()") for *_, name in PARTS if _is_private(name)}
    found = [
        f"{path.relative_to(ROOT).as_posix()}:{node.lineno}"
        for path in _sources()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in names
    ]
    assert found == []


def _own_names(tree: ast.AST) -> set[str]:
    """Return the private names that the source of a class defines, or uses of `self`."""
    return {
        name
        for node in ast.walk(tree)
        for name in (
            [node.attr]
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "self"
            else [node.name]
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            else []
        )
        if _is_private(name)
    }


def _source_of(kind: type) -> ast.Module:
    return ast.parse(textwrap.dedent(inspect.getsource(kind)))


def _library(kind: type) -> str:
    return kind.__module__.partition(".")[0]


def test_no_class_of_ours_uses_or_replaces_private_names_of_the_class_it_extends() -> None:
    clashes: list[str] = []
    checked = 0
    for path in _sources():
        if not path.is_relative_to(ROOT / "goop_mcp" / "server"):
            continue

        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        module = importlib.import_module(name)
        for kind in vars(module).values():
            if not inspect.isclass(kind) or kind.__module__ != name or "[" in kind.__name__:
                # An alias such as Context[Any] is a class as well, without source.
                continue

            bases = [each for each in kind.__mro__ if _library(each) in LIBRARIES]
            if bases:
                checked += 1
                theirs = set[str]().union(*(_own_names(_source_of(each)) for each in bases))
                both = theirs & _own_names(_source_of(kind))
                clashes += [f"{name}.{kind.__name__}.{each}" for each in sorted(both)]

    assert checked >= 3
    assert clashes == []


@pytest.mark.parametrize(
    ("source", "uses"),
    [
        ("from mcp.server._otel import Spans", ["mcp.server._otel.Spans"]),
        ("import uvicorn._types", ["uvicorn._types"]),
        ("from anyio import _core", ["anyio._core"]),
        ("from starlette.requests import Request\nRequest()._body", ["Request()._body"]),
        ("ctx.session._connection.notify()", ["ctx.session._connection"]),
        ("from mcp import Client\nself._own = Client.__name__", []),
    ],
)
def test_private_uses_are_found(source: str, uses: list[str]) -> None:
    assert _private_uses(ast.parse(source)) == uses


@pytest.mark.parametrize("library", RELIED_ON)
def test_the_installed_versions_have_all_parts(library: str) -> None:
    check_parts(library)


@pytest.mark.parametrize(("library", "module", "owner", "name"), PARTS)
def test_a_part_that_is_missing_is_named_with_the_version_and_a_way_out(
    monkeypatch: pytest.MonkeyPatch, library: str, module: str, owner: str, name: str
) -> None:
    loaded = importlib.import_module(module)
    # A class without any members is enough: the attributes of instances are not its members.
    if owner:
        monkeypatch.setattr(loaded, owner.partition(".")[0], type("Empty", (), {}))
    else:
        monkeypatch.delattr(loaded, name)

    with pytest.raises(IncompatiblePackageError) as caught:
        check_parts(library)

    text = str(caught.value)
    assert text.startswith(f"{library} {version(library)} has changed what goop-mcp")
    assert ".".join(filter(None, (module, owner, name))) in text
    assert f"pip install '{library}=={TESTED[library]}'" in text


@pytest.mark.parametrize(
    ("removal", "arguments", "missing"),
    [
        (
            "import mcp.server._otel as part; del part.OpenTelemetryMiddleware",
            ["serve"],
            "mcp.server._otel.OpenTelemetryMiddleware",
        ),
        (
            "from uvicorn import Server; del Server.capture_signals",
            ["serve", "--transport", "http", "--port", "0"],
            "uvicorn.Server.capture_signals()",
        ),
    ],
    ids=["mcp", "uvicorn"],
)
def test_a_server_does_not_start_with_a_version_that_lacks_a_part(
    tmp_path: Path, removal: str, arguments: list[str], missing: str
) -> None:
    program = f"import sys; {removal}; from goop_mcp.__main__ import main; sys.exit(main())"
    ended = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert re.fullmatch(
        rf"goop-mcp: \w+ \S+ has changed what goop-mcp .*\({re.escape(missing)}\); install .*\n",
        ended.stderr,
    )


def test_the_versions_named_as_tested_are_allowed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    bounds = {
        found[1]: (found[2], found[3])
        for each in project["dependencies"]
        if (found := re.fullmatch(r"([\w.-]+)>=([\d.]+),<([\d.]+)", each))
    }

    def numbers(text: str) -> tuple[int, ...]:
        return tuple(map(int, text.split(".")))

    assert TESTED.keys() == RELIED_ON.keys()
    for library, tested in TESTED.items():
        lowest, above = bounds[library]
        assert numbers(lowest) <= numbers(tested) < numbers(above)
