"""Exceptions: errors of the caller or of the installation, never of an agent's text.

    GoopError
    ├── UnknownNameError     a protocol, mode, rule, schema or prompt that does not exist
    ├── UnreadableFileError  a file that cannot be read as a reply
    ├── ResultFileError      a result file of a test runner that cannot be read
    ├── NoClientError        standard input that held something else than an MCP client's messages
    │   └── HookEventError           the event of a hook
    ├── AssetMissingError    a schema, prompt or document of the package is missing
    ├── AssetBrokenError     a schema, prompt or document of the package cannot be used
    ├── PromptArgumentError  an argument of a prompt that is unknown, missing or invalid
    ├── ContextError         a context for the router with an unknown field or a wrong value
    ├── UnwritableFileError  a file of a project that cannot be written, or would replace another
    ├── NotWritableError     a model that cannot be written as an envelope
    ├── NotCorruptibleError  a reply that the requested mutation does not apply to
    ├── ScriptEndedError     a scripted agent that was called more often than it has replies
    ├── WorkspaceError       the project folder cannot be read or written; nothing was changed
    │   ├── PathRefusedError         a path out of the project, or to a file not to be written
    │   ├── DocumentMissingError     a document that does not exist
    │   ├── ProjectElsewhereError    the folder of the project is on another machine
    │   ├── DocumentUnreadableError  a document that is not text in UTF-8, or too large
    │   ├── StateCorruptError        state.json cannot be read; it is not reset
    │   ├── StateReadOnlyError       state.json has a format that is only read
    │   ├── StateMovedError          state.json was changed since it was read; retryable
    │   └── IllegalMoveError         a change of phase that the profile does not allow
    ├── PolicyError          a retry policy that contradicts itself
    ├── RuleRefusedError     a custom rule that cannot be loaded or used
    ├── RuleFailedError      a custom rule whose check raised, or returned an invalid value
    ├── ReplyTypeError       an agent that returned something else than text
    ├── PackageMissingError  a package that an extra of this one installs
    ├── IncompatiblePackageError  a package in a version that this one cannot work with
    ├── NotAcceptedError     no acceptable reply came (`goop_mcp.retry`)
    ├── RecordedError        an error of a call whose outcome was replayed (`goop_mcp.retry`)
    ├── AgentUnavailableError  an agent whose last calls all failed (`goop_mcp.retry`)
    └── StoreError           the database cannot do what was requested; nothing was half done
        ├── StoreBusyError         others wrote for too long; retryable
        ├── StoreUnavailableError  the database server cannot be reached or went away; retryable
        ├── StoreFullError         no space left on the disk
        ├── StoreReadOnlyError     the folder or the file may not be written
        ├── StoreCorruptError      the file is not a database, or is damaged; it is left as it is
        └── StoreVersionError      the database was made by a newer goop-mcp

What is wrong with an agent's text is a *finding* (`goop_mcp.validation.findings`) and is never
raised.
"""

from collections.abc import Iterable

__all__ = [
    "AssetBrokenError",
    "AssetMissingError",
    "ContextError",
    "DocumentMissingError",
    "DocumentUnreadableError",
    "GoopError",
    "HookEventError",
    "IllegalMoveError",
    "IncompatiblePackageError",
    "NoClientError",
    "NotCorruptibleError",
    "NotWritableError",
    "PackageMissingError",
    "PathRefusedError",
    "PolicyError",
    "ProjectElsewhereError",
    "PromptArgumentError",
    "ReplyTypeError",
    "ResultFileError",
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


# A longer list of names would not help.
_MOST_LISTED = 12


class GoopError(Exception):
    """Base of all exceptions of this package. The text is one sentence that names the fix.

    They can be copied and pickled, so that they can be raised in another process.
    """

    def __reduce__(self) -> tuple[object, ...]:
        """Return what restores the same exception.

        By default, unpickling calls the class with `args`, which is the finished text here and not
        the arguments of subclasses.
        """
        return _restored, (type(self), self.args, self.__dict__)


def _restored(
    kind: type[GoopError], args: tuple[object, ...], state: dict[str, object]
) -> GoopError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class UnknownNameError(GoopError, ValueError):
    """Raised when a caller names something that does not exist; suggests similar names."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        """Create the error for `name`, which is not the name of a `kind` of thing in `known`."""
        # Imported only here, as every start would pay for it.
        from difflib import get_close_matches  # noqa: PLC0415

        self.kind, self.name, self.known = kind, name, tuple(known)
        wanted = name[:100]
        # Names that end in the given one after a slash, or have its words in another order, are
        # better suggestions than those with similar letters.
        near = (
            [each for each in self.known if each.endswith(f"/{wanted}")]
            or [each for each in self.known if _words(each) == _words(wanted)][:1]
            or get_close_matches(wanted, self.known, n=1, cutoff=0.5)
        )
        if near:
            hint = f"did you mean {' or '.join(repr(each) for each in near)}?"
        elif len(self.known) <= _MOST_LISTED:
            hint = f"known are {', '.join(self.known)}."
        else:
            hint = f"{len(self.known)} are known, {self.known[0]!r} for example."

        super().__init__(f"there is no {kind} {name[:80]!r}; {hint}")


def _words(name: str) -> list[str]:
    return sorted(name.replace("-", "_").split("_"))


class UnreadableFileError(GoopError, OSError):
    """Raised when a file that the user named cannot be read as a reply."""


class ResultFileError(GoopError, ValueError):
    """Raised when a result or coverage file is missing, too large, or not of its kind."""


class NoClientError(GoopError, OSError):
    """Raised when standard input held text, but no message of an MCP client."""


class HookEventError(NoClientError):
    """Raised when standard input held the event of a host's hook: the bytes `event`."""

    def __init__(self, event: bytes) -> None:
        super().__init__(
            "standard input holds the event of a hook instead of messages of an MCP client; as the"
            " command of a hook use goop-mcp hook HOST"
        )
        self.event = event


class AssetMissingError(GoopError, FileNotFoundError):
    """Raised when a file of the package is missing; the installation is damaged."""


class AssetBrokenError(GoopError, ValueError):
    """Raised when a file of the package cannot be used; the text names the file."""


class PromptArgumentError(GoopError, ValueError):
    """Raised for an argument of a prompt that is unknown, missing or invalid."""


class NotWritableError(GoopError, ValueError):
    """Raised when a model holds what no envelope can carry, such as a control character."""


class NotCorruptibleError(GoopError, ValueError):
    """Raised when a reply is not valid before the mutation, or does not allow it."""


class ScriptEndedError(GoopError, RuntimeError):
    """Raised when a scripted agent is called more often than it has replies."""


class ContextError(GoopError, ValueError):
    """Raised for an unknown field of a context or a value of the wrong type; names the field."""

    def __init__(self, path: str, problem: str) -> None:
        """Create the error for the field at `path`, relative to the context."""
        self.field = path
        super().__init__(f"context.{path}: {problem}" if path else f"context: {problem}")


class UnwritableFileError(GoopError, OSError):
    """Raised when a file of a project cannot be written; the text has its path in the project."""


class PolicyError(GoopError, ValueError):
    """Raised when a retry policy contradicts itself; the text names the fields."""


class RuleRefusedError(GoopError, ValueError):
    """Raised for a custom rule that cannot be loaded or used; names the rule."""


class RuleFailedError(GoopError, RuntimeError):
    """Raised when the check of a custom rule raises, or returns something else than findings.

    `rule` is its id. What the check raised is the cause (`__cause__`).
    """

    def __init__(self, rule: str, problem: str) -> None:
        """Create the error for the rule with the id `rule`."""
        self.rule = rule
        super().__init__(f"rule {rule} failed: {problem}; fix its check")


class ReplyTypeError(GoopError, TypeError):
    """Raised when an agent returns something else than text; `answer` is what it returned."""

    def __init__(self, answer: object, expected: str = "a text") -> None:
        """Create the error for `answer`, which is not what was `expected`."""
        self.answer = answer
        hint = "; decode it first" if isinstance(answer, bytes | bytearray) else ""
        if hasattr(answer, "__anext__") or hasattr(answer, "__next__"):
            hint = "; join its parts first"

        super().__init__(
            f"the agent answered with {type(answer).__name__}; expected {expected}{hint}"
        )


class IncompatiblePackageError(GoopError, ImportError):
    """Raised when a library lacks what is used of it; the text names a version that has it."""


class PackageMissingError(GoopError, ImportError):
    """Raised when a framework is used that is not installed; the text has the command for it."""


class StoreError(GoopError, OSError):
    """Raised when the database cannot do what was requested; nothing of it is done then.

    `retryable` is whether the same call may succeed later; `retry_after` is in seconds, None when
    that is not known.
    """

    retryable = False
    retry_after: float | None = None


class StoreBusyError(StoreError):
    """Raised when others held the database longer than the timeout; names the holder if known."""

    retryable = True
    retry_after = 1.0


class StoreUnavailableError(StoreError):
    """Raised when the database server cannot be reached, or is lost before it confirms a commit."""

    retryable = True
    retry_after = 1.0


class StoreFullError(StoreError):
    """Raised when the disk has no room for the change."""


class StoreReadOnlyError(StoreError):
    """Raised when the file or folder of the database may not be written."""


class StoreCorruptError(StoreError):
    """Raised when the file is not a database of goop-mcp or is damaged; it is not changed."""


class StoreVersionError(StoreError):
    """Raised when the database was made by a newer version of this program."""


class WorkspaceError(GoopError, OSError):
    """Raised when the project folder cannot be read or written; nothing was changed.

    `retryable` is whether the same call may succeed later.
    """

    retryable = False


class PathRefusedError(WorkspaceError):
    """Raised for a path out of the project, through a link, or to a file not to be written."""


class DocumentMissingError(WorkspaceError, LookupError):
    """Raised when a document of the project does not exist; the text names how to create it."""


class ProjectElsewhereError(WorkspaceError):
    """Raised when claims cannot be verified, as the project's folder is on another machine."""


class DocumentUnreadableError(WorkspaceError):
    """Raised when a file of the project is not text in UTF-8, or is too large for a document."""


class StateCorruptError(WorkspaceError):
    """Raised when state.json must be updated but cannot be read; the text has line and column."""


class StateReadOnlyError(WorkspaceError):
    """Raised when state.json must be updated but has a format that goop-mcp only reads."""


class StateMovedError(WorkspaceError):
    """Raised when state.json was changed since it was read; nothing is written.

    Read it again and decide again.
    """

    retryable = True


class IllegalMoveError(WorkspaceError):
    """Raised for a change of phase that the profile does not allow; nothing is written."""
