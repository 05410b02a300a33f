"""Exceptions: faults of the caller or of the installation, never of an agent's text.

    GoopError
    ├── UnknownNameError     a protocol, mode, rule, schema or prompt that does not exist
    ├── UnreadableFileError  a file that cannot be read as a reply
    ├── AssetMissingError    a schema, prompt or document that should have been installed is absent
    ├── AssetBrokenError     a schema, prompt or document that was installed cannot be used
    ├── PromptArgumentError  an argument of a prompt that is unknown, missing or of no use
    └── NotWritableError     a model that cannot be written as an envelope

What is wrong with an agent's text is a *finding* (`goop_mcp.validation.findings`) and is never raised.
"""

from collections.abc import Iterable

__all__ = [
    "AssetBrokenError",
    "AssetMissingError",
    "GoopError",
    "NotWritableError",
    "PromptArgumentError",
    "UnknownNameError",
    "UnreadableFileError",
]


class GoopError(Exception):
    """Root of all exceptions of this package. The text is one sentence that says what to do."""


class UnknownNameError(GoopError, ValueError):
    """Raised when a caller names something that does not exist; suggests the nearest name."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        """Say which `kind` of thing was asked for, under which `name`, and what is `known`."""
        from difflib import get_close_matches  # noqa: PLC0415 - needed only for a slip; every start would pay for it

        self.kind, self.name, self.known = kind, name, tuple(known)
        near = get_close_matches(name[:100], self.known, n=1, cutoff=0.5)
        if near:
            hint = f"did you mean {near[0]!r}?"
        elif len(self.known) <= 12:  # noqa: PLR2004 - a longer list helps nobody
            hint = f"known are {', '.join(self.known)}."
        else:
            hint = f"{len(self.known)} are known, {self.known[0]!r} for example."
        super().__init__(f"there is no {kind} {name[:80]!r}; {hint}")


class UnreadableFileError(GoopError, OSError):
    """Raised when a file given by a person cannot be read as a reply."""


class AssetMissingError(GoopError, FileNotFoundError):
    """Raised when a file that ships with the package is not there; the installation is damaged."""


class AssetBrokenError(GoopError, ValueError):
    """Raised when a file that ships with the package cannot be used as it is; the text names the file."""


class PromptArgumentError(GoopError, ValueError):
    """Raised when a prompt is given an argument that it cannot use, or lacks one that it needs."""


class NotWritableError(GoopError, ValueError):
    """Raised when a model holds what no envelope can carry, such as a control character."""
