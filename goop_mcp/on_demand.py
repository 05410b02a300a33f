"""Lazy imports for packages, so that a start does not import what it never uses.

A name that was replaced is resolved in the same way, with a warning.
"""

import sys
import warnings
from collections.abc import Callable, Collection, Mapping
from importlib import import_module

from goop_mcp.errors import GoopDeprecationWarning

__all__ = ["modules_on_demand", "names_on_demand"]


def modules_on_demand(package: str, names: Collection[str]) -> Callable[[str], object]:
    """Return a `__getattr__` for `package` that imports its modules `names` on first access.

    The import binds the module in the package, so `__getattr__` runs once for each.
    """

    def load(name: str) -> object:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return import_module(f"{package}.{name}")

    return load


def names_on_demand(
    package: str, modules: Mapping[str, str], *, renamed: Mapping[str, str] | None = None
) -> Callable[[str], object]:
    """Return a `__getattr__` for `package` that imports each name from its module on first access.

    `modules` maps a name to the module of `package` that defines it, `renamed` a former public name
    to the present one; the former one works and shows a GoopDeprecationWarning.
    """
    renamed = renamed or {}

    def load(name: str) -> object:
        if name in renamed:
            # Not bound in the package: each place that still uses the name is to be warned.
            warnings.warn(
                f"{package}.{name} is now called {renamed[name]}; the old name is removed in 1.0",
                GoopDeprecationWarning,
                stacklevel=2,
            )
            return getattr(sys.modules[package], renamed[name])
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(import_module(f"{package}.{modules[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return load
