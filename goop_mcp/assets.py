"""The files of the package other than code, installed or in a checkout."""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

from goop_mcp.errors import AssetBrokenError, AssetMissingError

__all__ = ["AssetKind", "list_assets", "read_asset", "split_front_matter"]

AssetKind = Literal["schemas", "prompts", "templates", "docs", "plugins"]

_WITH_FRONT_MATTER = re.compile(r"\+\+\+\n(?P<front>.*?\n)\+\+\+\n+(?P<text>.+)", re.DOTALL)
_PACKAGE = Path(__file__).parent
_IN_CHECKOUT: dict[AssetKind, str] = {
    "schemas": "schemas",
    "prompts": "prompts",
    "templates": "prompts/templates",
    "docs": "docs/protocols",
    "plugins": "packaging/plugins",
}
_INSTALLED: dict[AssetKind, str] = {
    "schemas": "schemas",
    "prompts": "prompts",
    "templates": "prompts/templates",
    "docs": "docs",
    "plugins": "plugins",
}


def read_asset(kind: AssetKind, name: str) -> str:
    """Return the text of the asset `name`, one of those that `list_assets` returns.

    Raises AssetMissingError for any other name, including a path out of the folder.
    """
    if name not in _names(kind):
        raise AssetMissingError(
            f"{kind} has no file {name[:80]!r}; install goop-mcp again if it should"
        )

    return (_folder(kind) / name).read_text(encoding="utf-8")


def list_assets(kind: AssetKind, suffix: str = "") -> tuple[str, ...]:
    """Return the sorted names of the assets that end with `suffix`.

    They are relative to the folder of the kind, with forward slashes. Raises AssetMissingError when
    the folder does not exist.
    """
    return tuple(name for name in _names(kind) if name.endswith(suffix))


def split_front_matter(asset: str, *, file: str) -> tuple[Mapping[str, Any], str]:
    """Return the front matter of an asset, TOML between two `+++` lines, and the text after it.

    Raises AssetBrokenError, which names `file`, when it is missing or not valid TOML.
    """
    match = _WITH_FRONT_MATTER.fullmatch(asset)
    if match is None:
        raise AssetBrokenError(
            f"{file} cannot be used: it has no front matter; expected TOML between two +++ lines,"
            " then the text"
        )

    try:
        return tomllib.loads(match["front"]), match["text"]
    except tomllib.TOMLDecodeError as error:
        raise AssetBrokenError(
            f"{file} cannot be used: its front matter is not valid TOML"
        ) from error


@cache
def _names(kind: AssetKind) -> tuple[str, ...]:
    """Return the names of all assets of a kind; cached, as they do not change while it runs."""
    folder = _folder(kind)
    if not folder.is_dir():
        raise AssetMissingError(f"the folder {kind} of goop-mcp is missing; install goop-mcp again")
    return tuple(
        sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    )


def _folder(kind: AssetKind) -> Path:
    checkout = _PACKAGE.parent
    # Next to an installed package are folders of other packages, which may have the same names.
    if (checkout / "pyproject.toml").is_file():
        return checkout / _IN_CHECKOUT[kind]
    return _PACKAGE / _INSTALLED[kind]
