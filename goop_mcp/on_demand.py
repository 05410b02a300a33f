"""Lazy imports for packages, so that a start does not import what it never uses."""

import sys
from collections.abc import Callable, Collection, Mapping
from importlib import import_module

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


def names_on_demand(package: str, modules: Mapping[str, str]) -> Callable[[str], object]:
    """Return a `__getattr__` for `package` that imports each name from its module on first access.

    `modules` maps a name to the module of `package` that defines it.
    """

    def load(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(import_module(f"{package}.{modules[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return load
