"""Modules that their package loads when they are first used, so that no start pays for what it may never need."""

from collections.abc import Callable, Collection
from importlib import import_module

__all__ = ["modules_on_demand"]


def modules_on_demand(package: str, names: Collection[str]) -> Callable[[str], object]:
    """Return a `__getattr__` for `package` that imports each of its modules `names` when it is first asked for.

    Those who write `package.module.name` pay for the module at that moment, and once.
    """

    def load(name: str) -> object:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return import_module(f"{package}.{name}")

    return load
