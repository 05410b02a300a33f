"""Whether the symbols that a report names in backticks are defined in the file that it lists.

For people only: a description is prose, so that nothing here is a finding or changes a verdict.
"""

import ast
import builtins
import keyword
import re
import warnings
from collections.abc import Iterator
from typing import Final, Literal

from goop_mcp.errors import WorkspaceError
from goop_mcp.messages.quoting import line
from goop_mcp.protocols.goop_report.model import Report
from goop_mcp.validation.verdict import Envelope
from goop_mcp.workspace.files import ProjectFiles

__all__ = ["doubtful_symbols"]

_MOST_FILES: Final = 100
_MOST_SYMBOLS: Final = 20
_MOST_BYTES: Final = 512 * 1024
_LONGEST_SHOWN: Final = 80

Definition = Literal["there", "stub", "imported"]

_SYMBOL: Final = re.compile(r"`([A-Za-z_]\w{0,80}(?:\.[A-Za-z_]\w{0,80}){0,3})(?:\(\))?`")
_WORDS: Final = (
    "function|def|class|func|fn|const|let|var|type|interface|struct|enum|trait|module|record"
    "|sub|object|protocol"
)
# Languages in which a definition begins with one of these words; others are not judged.
_SUFFIXES: Final = (
    ".js",
    ".jsx",
    ".ts",
    ".tsx",
    ".mjs",
    ".cjs",
    ".go",
    ".rs",
    ".rb",
    ".kt",
    ".swift",
)
# Values and types that belong to a language, which no file defines.
_OF_LANGUAGES: Final = frozenset(
    {*dir(builtins), *keyword.kwlist, *keyword.softkwlist}
    | {"any", "boolean", "false", "never", "nil", "null", "number", "self", "string", "this"}
    | {"true", "undefined", "unknown", "void"}
)


def doubtful_symbols(envelope: Envelope | None, files: ProjectFiles) -> Iterator[str]:
    """Yield one sentence for each symbol that is not defined in its file, or is a stub there.

    Python is read by its grammar, some other languages by the words before a name. At most 100
    files of at most 512 KiB and 20 symbols of each are looked at; what cannot be read is skipped.
    """
    if not isinstance(envelope, Report) or envelope.artifacts is None:
        return

    for change in envelope.artifacts.files[:_MOST_FILES]:
        names = dict.fromkeys(_SYMBOL.findall(change.description))
        if change.path is None or not names or change.action == "deleted":
            continue

        try:
            text = files.read_text(change.path, most=_MOST_BYTES)
        except WorkspaceError:
            continue

        defined = None if text is None else _definitions(change.path, text)
        for name in list(names)[:_MOST_SYMBOLS]:
            first, last = name.partition(".")[0], name.rpartition(".")[2]
            shown = line(change.path, longest=_LONGEST_SHOWN)
            # `os.path.join` is what the file uses, whether it imports `os` or not.
            own = change.path.rpartition("/")[2].partition(".")[0]
            is_elsewhere = (
                defined is not None
                and first not in (last, own)
                and defined.get(first, "imported") == "imported"
            )
            if text is None or {first, last} & _OF_LANGUAGES or is_elsewhere:
                continue
            if defined is not None and last not in defined:
                yield f"{last} is not defined in {shown}"
            elif defined is not None and defined[last] == "stub":
                yield f"{last} in {shown} is a stub"
            elif defined is None and change.path.endswith(_SUFFIXES) and not _names(text, last):
                yield f"{last} is not defined in {shown}"


def _names(text: str, name: str) -> bool:
    return re.search(rf"\b(?:{_WORDS})[ \t*&]{{1,4}}{name}\b|\b{name}[ \t]?[(:=]", text) is not None


def _definitions(path: str, text: str) -> dict[str, Definition] | None:
    """Return what a Python file defines, by name; None for other files."""
    if not path.endswith((".py", ".pyi")):
        return None

    try:
        with warnings.catch_warnings():
            # About the agent's code, not about ours; newer versions of Python print them.
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None

    found: dict[str, Definition] = {}
    declared: set[int] | None = None
    if path.endswith(".py"):
        # Nothing else stands in a stub file, and in a class that derives from Protocol directly.
        declared = set()
        classes = [each for each in ast.walk(tree) if isinstance(each, ast.ClassDef)]
        for owner in classes:
            bases = [
                each.value if isinstance(each, ast.Subscript) else each for each in owner.bases
            ]
            names = [getattr(each, "attr", getattr(each, "id", "")) for each in bases]
            if "Protocol" in names:
                declared.update(map(id, owner.body))

    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            # One definition that does something is sufficient: overloads are stubs on purpose.
            is_stub = declared is not None and id(node) not in declared and _is_stub(node)
            found[node.name] = found.get(node.name, "stub") if is_stub else "there"
        elif isinstance(node, ast.ClassDef):
            found[node.name] = "there"
        elif isinstance(node, ast.arg):
            found.setdefault(node.arg, "there")
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.setdefault(node.id if isinstance(node, ast.Name) else node.attr, "there")
        elif isinstance(node, ast.alias):
            # What a file imports on purpose is offered by it as well.
            found.setdefault((node.asname or node.name).partition(".")[0], "imported")

    return found


def _is_stub(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether the function only passes, or raises NotImplementedError, after its docstring."""
    if any(isinstance(each, ast.Attribute | ast.Name) for each in node.decorator_list):
        names = {
            each.attr if isinstance(each, ast.Attribute) else each.id
            for each in node.decorator_list
            if isinstance(each, ast.Attribute | ast.Name)
        }
        if names & {"abstractmethod", "overload"}:
            return False

    body = [
        each
        for each in node.body
        if not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
    ]

    def does_nothing(each: ast.stmt) -> bool:
        if isinstance(each, ast.Raise) and each.exc is not None:
            raised = each.exc.func if isinstance(each.exc, ast.Call) else each.exc
            return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"
        return isinstance(each, ast.Pass)

    return all(does_nothing(each) for each in body)
