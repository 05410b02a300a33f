"""OpenSpec, installed from npm at a pinned version."""

from typing import Final

from tests.npm import Installation

__all__ = ["OPENSPEC"]

OPENSPEC: Final = Installation("openspec", {"@fission-ai/openspec": "1.13.2"})
