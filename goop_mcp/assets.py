"""The files that ship with the package: schemas, prompts, templates, pages, plugins."""

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
    """Return the text of the asset `name`, one of those that `list_assets` gives.

    Raises AssetMissingError for any other name, also for one that leads out of the folder.
    """
    if name not in _names(kind):
        raise AssetMissingError(
            f"{kind} has no file {name[:80]!r}; install goop-mcp again if it should"
        )

    return (_folder(kind) / name).read_text(encoding="utf-8")


def list_assets(kind: AssetKind, suffix: str = "") -> tuple[str, ...]:
    """Return the names of the assets that end with `suffix`, sorted.

    Names are relative to the folder of their kind, with forward slashes.

    Raises AssetMissingError when the folder is not there.
    """
    return tuple(name for name in _names(kind) if name.endswith(suffix))


def split_front_matter(asset: str, *, file: str) -> tuple[Mapping[str, Any], str]:
    """Return the front matter of an asset, TOML between two `+++` lines, and the text behind it.

    Raises AssetBrokenError, which names `file`, when there is none or it is not in order.
    """
    match = _WITH_FRONT_MATTER.fullmatch(asset)
    if match is None:
        raise AssetBrokenError(f"{file} cannot be used: it has no front matter")

    try:
        return tomllib.loads(match["front"]), match["text"]
    except tomllib.TOMLDecodeError as error:
        raise AssetBrokenError(
            f"{file} cannot be used: its front matter is not in order"
        ) from error


@cache
def _names(kind: AssetKind) -> tuple[str, ...]:
    # Cached, because installed files do not change while a program runs.
    folder = _folder(kind)
    if not folder.is_dir():
        raise AssetMissingError(f"the folder {kind} of goop-mcp is missing; install goop-mcp again")
    return tuple(
        sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    )


def _folder(kind: AssetKind) -> Path:
    checkout = _PACKAGE.parent
    # Beside an installed package lie other people's folders, which may have these names too.
    if (checkout / "pyproject.toml").is_file():
        return checkout / _IN_CHECKOUT[kind]
    return _PACKAGE / _INSTALLED[kind]
