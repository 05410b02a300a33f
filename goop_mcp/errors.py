"""Exceptions: faults of the caller or of the installation, never of an agent's text.

    GoopError
    ├── UnknownNameError     a protocol, mode, rule, schema or prompt that does not exist
    ├── UnreadableFileError  a file that cannot be read as a reply
    ├── NoClientError        standard input that was to be an MCP client and held something else
    ├── AssetMissingError    a schema, prompt or document that should have been installed is absent
    ├── AssetBrokenError     a schema, prompt or document that was installed cannot be used
    ├── PromptArgumentError  an argument of a prompt that is unknown, missing or of no use
    ├── ContextError         a context for the router with an unknown field or a wrong value
    ├── UnwritableFileError  a file of a project that cannot be written, or would take the place of another
    ├── NotWritableError     a model that cannot be written as an envelope
    ├── NotCorruptibleError  a reply that cannot be corrupted in the way asked for
    ├── ScriptEndedError     a scripted agent that is asked once more than it has replies
    ├── WorkspaceError       the project folder cannot be read or written as asked; what was there is still there
    │   ├── PathRefusedError       a path that leads out of the project, or to a place that is not ours to write
    │   ├── DocumentMissingError   a document that is not there
    │   ├── ProjectElsewhereError  a question to the folder of the project where that is on other machines
    │   ├── DocumentUnreadableError  a document that is no text in UTF-8 or too large to be one
    │   ├── StateCorruptError      state.json cannot be read; nobody resets it
    │   ├── StateReadOnlyError     state.json has a form that is read and never written
    │   ├── StateMovedError        state.json is not the one that was read any more; retryable
    │   └── IllegalMoveError       a change of phase that the profile does not allow
    ├── PolicyError          a policy of asking again that contradicts itself
    ├── RuleRefusedError     a rule of the caller's own that could never be used as it is, or cannot be loaded
    ├── RuleFailedError      a rule of the caller's own whose check raised, or answered with what is no finding
    ├── ReplyTypeError       an agent that answers with something that is no text
    ├── PackageMissingError  a package that an extra of this one brings along
    ├── NotAcceptedError     no acceptable reply came; in `goop_mcp.retry`, as it carries the outcome
    ├── RecordedError        what was raised in a call whose outcome was read again; in `goop_mcp.retry`
    ├── AgentUnavailableError  an agent that is not called because its last calls all failed; in `goop_mcp.retry`
    └── StoreError           the database cannot do what was asked; nothing was half done
        ├── StoreBusyError         others wrote for too long; retryable
        ├── StoreUnavailableError  the database server cannot be reached or went away; retryable
        ├── StoreFullError         no room left on the disk
        ├── StoreReadOnlyError     the folder or the file must not be written
        ├── StoreCorruptError      the file is no database, or a damaged one; it is left as it is
        └── StoreVersionError      the database was made by a newer goop-mcp

What is wrong with an agent's text is a *finding* (`goop_mcp.validation.findings`) and is never
raised.
"""

from collections.abc import Iterable
from typing import Any

__all__ = [
    "AssetBrokenError",
    "AssetMissingError",
    "ContextError",
    "DocumentMissingError",
    "DocumentUnreadableError",
    "GoopError",
    "IllegalMoveError",
    "NoClientError",
    "NotCorruptibleError",
    "NotWritableError",
    "PackageMissingError",
    "PathRefusedError",
    "PolicyError",
    "ProjectElsewhereError",
    "PromptArgumentError",
    "ReplyTypeError",
    "RuleFailedError",
    "RuleRefusedError",
    "ScriptEndedError",
    "StateCorruptError",
    "StateMovedError",
    "StateReadOnlyError",
    "StoreBusyError",
    "StoreCorruptError",
    "StoreError",
    "StoreFullError",
    "StoreReadOnlyError",
    "StoreUnavailableError",
    "StoreVersionError",
    "UnknownNameError",
    "UnreadableFileError",
    "UnwritableFileError",
    "WorkspaceError",
]


# A longer list of names helps nobody.
_MOST_LISTED = 12


class GoopError(Exception):
    """Root of all exceptions of this package. The text is one sentence that says what to do.

    They can be copied and pickled, so that they come whole out of another process.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        """Name what makes the same exception again: not its arguments, as the text was made of those."""
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[GoopError], args: tuple[Any, ...], state: dict[str, Any]) -> GoopError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class UnknownNameError(GoopError, ValueError):
    """Raised when a caller names something that does not exist; suggests the nearest name, or all that end in it."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        """Say which `kind` of thing was asked for, under which `name`, and what is `known`."""
        # Needed only for a slip; every start would pay for it
        from difflib import get_close_matches  # noqa: PLC0415

        self.kind, self.name, self.known = kind, name, tuple(known)
        near = self._meant(name[:100]) or get_close_matches(name[:100], self.known, n=1, cutoff=0.5)
        if near:
            hint = f"did you mean {' or '.join(repr(each) for each in near)}?"
        elif len(self.known) <= _MOST_LISTED:
            hint = f"known are {', '.join(self.known)}."
        else:
            hint = f"{len(self.known)} are known, {self.known[0]!r} for example."

        super().__init__(f"there is no {kind} {name[:80]!r}; {hint}")

    def _meant(self, name: str) -> list[str]:
        """Return the known names that end in `name` behind a slash, else one that has its words in another order."""
        short = [each for each in self.known if each.endswith(f"/{name}")]
        return short or [each for each in self.known if _words(each) == _words(name)][:1]


def _words(name: str) -> list[str]:
    return sorted(name.replace("-", "_").split("_"))


class UnreadableFileError(GoopError, OSError):
    """Raised when a file given by a person cannot be read as a reply."""


class NoClientError(GoopError, OSError):
    """Raised when standard input ends and held text, but no message of an MCP client."""


class AssetMissingError(GoopError, FileNotFoundError):
    """Raised when a file that ships with the package is not there; the installation is damaged."""


class AssetBrokenError(GoopError, ValueError):
    """Raised when a file that ships with the package cannot be used as it is; the text names the file."""


class PromptArgumentError(GoopError, ValueError):
    """Raised when a prompt is given an argument that it cannot use, or lacks one that it needs."""


class NotWritableError(GoopError, ValueError):
    """Raised when a model holds what no envelope can carry, such as a control character."""


class NotCorruptibleError(GoopError, ValueError):
    """Raised when a reply is not good to begin with, or has nothing in it that the slip asked for could happen to."""


class ScriptEndedError(GoopError, RuntimeError):
    """Raised when a scripted agent is asked once more than it has replies."""


class ContextError(GoopError, ValueError):
    """Raised when a context has a field that does not exist or a value of the wrong kind; names the field."""

    def __init__(self, path: str, problem: str) -> None:
        """Say what is wrong with the field at `path`, counted from the context."""
        self.field = path
        super().__init__(f"context.{path}: {problem}" if path else f"context: {problem}")


class UnwritableFileError(GoopError, OSError):
    """Raised when a file of a project cannot be written; the text names it relative to the project."""


class PolicyError(GoopError, ValueError):
    """Raised when a policy of asking again cannot be kept; the text names the fields."""


class RuleRefusedError(GoopError, ValueError):
    """Raised for a rule of the caller's own that could never be used as it is, or cannot be loaded; names it."""


class RuleFailedError(GoopError, RuntimeError):
    """Raised when the check of a rule of the caller's own raises, or answers with what is no finding.

    `rule` is its id. What the check raised is the cause (`__cause__`).
    """

    def __init__(self, rule: str, problem: str) -> None:
        """Say what happened to the rule called `rule`."""
        self.rule = rule
        super().__init__(f"rule {rule} failed: {problem}; mend its check")


class ReplyTypeError(GoopError, TypeError):
    """Raised when an agent answers with something that is no text; `answer` is what it was."""

    def __init__(self, answer: object, expected: str = "a text") -> None:
        """Say what came in place of what was `expected`."""
        self.answer = answer
        hint = "; decode it first" if isinstance(answer, bytes | bytearray) else ""
        if hasattr(answer, "__anext__") or hasattr(answer, "__next__"):
            hint = "; join its parts first"

        super().__init__(
            f"the agent answered with {type(answer).__name__}; expected {expected}{hint}"
        )


class PackageMissingError(GoopError, ImportError):
    """Raised when a framework is used that is not installed; the text says how to install it."""


class StoreError(GoopError, OSError):
    """Raised when the database cannot do what was asked; what was asked is then not done, not even in part.

    `retryable` tells whether the same call may succeed later; `retry_after` is in seconds, None when nobody knows.
    """

    retryable = False
    retry_after: float | None = None


class StoreBusyError(StoreError):
    """Raised when other writers held the database longer than the caller waits; names the holder where known."""

    retryable = True
    retry_after = 1.0


class StoreUnavailableError(StoreError):
    """Raised when the database server cannot be reached or goes away before the commit is known."""

    retryable = True
    retry_after = 1.0


class StoreFullError(StoreError):
    """Raised when the disk has no room for the change."""


class StoreReadOnlyError(StoreError):
    """Raised when the place of the database must not be written."""


class StoreCorruptError(StoreError):
    """Raised when the file is no database of ours or is damaged; nobody resets it."""


class StoreVersionError(StoreError):
    """Raised when the database was made by a newer version of this program."""


class WorkspaceError(GoopError, OSError):
    """Raised when the project folder cannot be read or written as asked; what lay there lies there unchanged.

    `retryable` tells whether the same call may succeed later.
    """

    retryable = False


class PathRefusedError(WorkspaceError):
    """Raised for a path that leads out of the project, through a link, or to a place that is not ours to write."""


class DocumentMissingError(WorkspaceError, LookupError):
    """Raised when a document of the project is not there; the text says how it comes into being."""


class ProjectElsewhereError(WorkspaceError):
    """Raised when claims are to be held against a project whose folder is not on this machine."""


class DocumentUnreadableError(WorkspaceError):
    """Raised when a file of the project is no text in UTF-8, or larger than any such document."""


class StateCorruptError(WorkspaceError):
    """Raised when state.json should be written and cannot be read; the text names line and column."""


class StateReadOnlyError(WorkspaceError):
    """Raised when state.json should be written and has a form that we only read (WORKFLOW, section 5)."""


class StateMovedError(WorkspaceError):
    """Raised when somebody else has changed state.json since it was read; nothing is written.

    Read and decide again.
    """

    retryable = True


class IllegalMoveError(WorkspaceError):
    """Raised when a change of phase is not one of the profile's; nothing is written."""
