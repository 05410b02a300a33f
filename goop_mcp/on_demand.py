"""What a package loads when it is first used, so that no start pays for what it may never need."""

import sys
from collections.abc import Callable, Collection, Mapping
from importlib import import_module

__all__ = ["modules_on_demand", "names_on_demand"]


def modules_on_demand(package: str, names: Collection[str]) -> Callable[[str], object]:
    """Return a `__getattr__` for `package` that imports each of its modules `names` when it is first asked for.

    Those who write `package.module.name` pay for the module at that moment, and once.
    """

    def load(name: str) -> object:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return import_module(f"{package}.{name}")

    return load


def names_on_demand(package: str, modules: Mapping[str, str]) -> Callable[[str], object]:
    """Return a `__getattr__` for `package` that gives names out of its `modules`, each loaded when it is asked for."""

    def load(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(import_module(f"{package}.{modules[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return load
