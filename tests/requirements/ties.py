"""Find which tests prove which requirements, by reading the sources of the tests.

The sources are read, not what pytest collected: the answer is the same when one test file is run
alone.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

TESTS_FOLDER = Path(__file__).parent.parent


@dataclass(frozen=True, slots=True)
class Tie:
    """A test proves a requirement; `place` is `file:line`, relative to the folder of the tests."""

    id: str
    place: str


@dataclass(frozen=True, slots=True)
class StrayTie:
    """A use of `requirement` that ties nothing; `problem` is the reason."""

    place: str
    problem: str


def read_ties(folder: Path = TESTS_FOLDER) -> tuple[list[Tie], list[StrayTie]]:
    """Return the ties in the Python files below `folder`, and uses that tie nothing."""
    ties: list[Tie] = []
    strays: list[StrayTie] = []

    for path in sorted(folder.rglob("*.py")):
        if path.parent == TESTS_FOLDER / "requirements":
            continue

        tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
        attached = {
            id(call)
            for place in _places_of_marks(tree)
            for call in ast.walk(place)
            if _is_requirement(call)
        }

        for call in ast.walk(tree):
            if not _is_requirement(call):
                continue

            place = f"{path.relative_to(folder).as_posix()}:{call.lineno}"
            ids = _literal_ids(call)
            if id(call) not in attached:
                strays.append(
                    StrayTie(place, "stands on no test, class of tests, pytestmark or pytest.param")
                )
            elif ids is None:
                strays.append(StrayTie(place, "its ids are no plain strings"))
            else:
                ties.extend(Tie(requirement_id, place) for requirement_id in ids)

    return ties, strays


def _places_of_marks(tree: ast.Module) -> Iterator[ast.expr]:
    """Yield the expressions in which pytest looks for marks."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if name.startswith(
                "test"
            ):
                yield from node.decorator_list
            case ast.ClassDef(name=name) if name.startswith("Test"):
                yield from node.decorator_list
            case ast.Assign(targets=[ast.Name(id="pytestmark")]):
                yield node.value
            case ast.Call(func=ast.Name(id="param") | ast.Attribute(attr="param")):
                yield from (keyword.value for keyword in node.keywords if keyword.arg == "marks")
            case _:
                pass


def _is_requirement(node: ast.AST) -> TypeGuard[ast.Call]:
    """Whether the node is `requirement(...)` or `pytest.mark.requirement(...)`."""
    match node:
        case ast.Call(func=ast.Name(id="requirement") | ast.Attribute(attr="requirement")):
            return True
        case _:
            return False


def _literal_ids(call: ast.Call) -> list[str] | None:
    """Return the ids; None when one of them is only known by running the code."""
    ids = [
        argument.value
        for argument in call.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    ]
    return ids if len(ids) == len(call.args) else None
