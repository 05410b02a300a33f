"""Say which extra is missing, in place of an error that names a module."""

from collections.abc import Iterator
from contextlib import contextmanager

from goop_mcp.errors import PackageMissingError

__all__ = ["needing"]


@contextmanager
def needing(package: str, *, extra: str) -> Iterator[None]:
    """Raise PackageMissingError, which names `extra`, when an import within finds no `package`."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise

        raise PackageMissingError(
            f"the package {package} is not installed; pip install 'goop-mcp[{extra}]'", name=package
        ) from error
