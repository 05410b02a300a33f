"""Load custom rules, which are Python code, from files and modules that a person names.

Their code is run. Therefore only what was named is loaded: a checked project cannot add rules by
itself.
"""

import ast
import sys
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Final

from goop_mcp.errors import RuleRefusedError
from goop_mcp.printing import printed_to_stderr
from goop_mcp.protocols import check_rules
from goop_mcp.services.small_files import read_whole
from goop_mcp.validation.findings import excerpt
from goop_mcp.validation.rules import Rule

__all__ = ["DEFAULT_NAME", "digests_of", "load_rules"]

DEFAULT_NAME: Final = "RULES"
"""The variable that is looked up if no name is given."""

_MOST_BYTES: Final = 1024 * 1024
_MOST_FILES: Final = 200
_HINT = f"expected FILE.py or package.module, and :NAME unless it is {DEFAULT_NAME}"


def load_rules(named: Iterable[str]) -> tuple[Rule, ...]:
    """Return the rules in each of `named`: "FILE.py" or "package.module", and ":NAME" if not RULES.

    NAME is a rule or a list of rules. A file is run by itself; a module is imported. Their output
    goes to standard error, because standard output may belong to a protocol. Raises
    RuleRefusedError, also for rules that cannot be used together.
    """
    rules: list[Rule] = []
    for each in named:
        # The colon of a drive belongs to the file.
        place, colon, name = each.rpartition(":")
        if not colon or not name.isidentifier():
            place, name = each, DEFAULT_NAME
        if not _is_file(place) and not all(part.isidentifier() for part in place.split(".")):
            raise RuleRefusedError(f"rules cannot be loaded from {excerpt(each)!r}; {_HINT}")

        try:
            with printed_to_stderr():
                module = _from_file(Path(place)) if _is_file(place) else import_module(place)
        except RuleRefusedError:
            raise
        except (Exception, SystemExit) as error:  # the code of a file may raise anything
            text = excerpt(str(error))
            reason = f"{type(error).__name__}: {text}" if text else type(error).__name__
            raise RuleRefusedError(
                f"rules cannot be loaded from {each!r}: {reason}; fix that first"
            ) from error

        found = getattr(module, name, None)
        if found is None:
            raise RuleRefusedError(
                f"{place!r} has no {name}; {_HINT}, where a Rule or a list of them is"
            )

        loaded = (found,) if isinstance(found, Rule) else found
        if not isinstance(loaded, list | tuple) or not loaded:
            what = "empty" if loaded in ([], ()) else type(found).__name__
            raise RuleRefusedError(
                f"{name} in {place!r} is {what}; expected a Rule, or several in a list"
            )
        rules += loaded

    check_rules(rules)

    return tuple(rules)


def _is_file(place: str) -> bool:
    return place.endswith(".py")


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise RuleRefusedError(f"{str(path)!r} does not exist; name the file that holds your rules")

    # The name of the file is not used, because an installed module may have the same one.
    name = f"goop_mcp_rules_{path.resolve().as_posix()}"
    if name in sys.modules:
        return sys.modules[name]

    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise RuleRefusedError(f"{str(path)!r} cannot be loaded as Python; name another file")

    # Registered before it runs, as the import system does: dataclasses look up their module.
    module = sys.modules[name] = module_from_spec(spec)

    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise

    return module


def digests_of(named: Iterable[str]) -> dict[str, str]:
    """Return the SHA-256 of the code of each of `named`, "" for a file that cannot be read.

    The modules that it imports from its own folder, or from the current one, are part of it; a
    module that is installed elsewhere is not.
    """
    found: dict[str, str] = {}
    for each in named:
        place, colon, name = each.rpartition(":")
        if not colon or not name.isidentifier():
            place = each
        files = [Path(place)] if _is_file(place) else _files_of(place, _own_folders())
        try:
            found[each] = _digest_of(files)
        except OSError:
            found[each] = ""

    return found


def _digest_of(files: Sequence[Path]) -> str:
    """Return the digest of `files` and of what they import. Raises OSError."""
    waiting, known, digest = [each.resolve() for each in files], set[Path](), sha256()
    beginning = [each.parent for each in waiting]
    while waiting and len(known) < _MOST_FILES:
        path = waiting.pop()
        if path in known:
            continue
        known.add(path)
        content = read_whole(str(path), most=_MOST_BYTES) or b""
        digest.update(str(path).encode("utf-8", "surrogateescape") + sha256(content).digest())
        folders = [path.parent, *beginning, *_own_folders()]
        for name, dots in _imports_of(content):
            # One dot is the package of the file itself.
            around = [path.parents[min(dots, len(path.parents)) - 1]] if dots else folders
            waiting += _files_of(name, around)

    return digest.hexdigest()


def _own_folders() -> list[Path]:
    """Return the current folder, and those within it in which Python looks for modules."""
    here = Path.cwd()
    return [here, *(Path(each) for each in sys.path if Path(each).is_relative_to(here))]


def _imports_of(content: bytes) -> Iterator[tuple[str, int]]:
    """Yield the modules that a file of Python imports, and the dots before each name."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return

    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((each.name, 0) for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            # What is imported from a package may be a module of it.
            start = f"{node.module}." if node.module else ""
            yield from ((f"{start}{each.name}", node.level) for each in node.names)


def _files_of(module: str, folders: Iterable[Path]) -> list[Path]:
    """Return the files of a module, and of the packages around it, that are in the folders."""
    parts = [part for part in module.split(".") if part.isidentifier()]
    found: dict[Path, None] = {}
    for folder in folders:
        package = folder
        for part in parts:
            package /= part
            found.update(dict.fromkeys((package.with_suffix(".py"), package / "__init__.py")))

    return [path.resolve() for path in found if path.is_file()]
