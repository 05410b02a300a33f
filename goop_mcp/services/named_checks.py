"""The named commands of a project, which run only once a person trusts them.

They are in .goopspec/checks.toml, or in the table `checks` of the options of the project.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from goop_mcp.errors import GoopError
from goop_mcp.recording.commands import RESULT_KINDS, RunRequest
from goop_mcp.recording.trust import content_digest, is_trusted, trust
from goop_mcp.services.options_file import OptionsFile, read_options

__all__ = [
    "CHECKS_FILE",
    "CheckFileError",
    "NamedCheck",
    "NamedChecks",
    "UntrustedFileError",
    "read_checks",
    "request_of",
    "trust_checks",
    "trusted_check",
]

CHECKS_FILE: Final = ".goopspec/checks.toml"

_MOST_BYTES: Final = 64 * 1024
_MOST_CHECKS: Final = 100
_MOST_ITEMS: Final = 200
_LONGEST_NAME: Final = 60
_MOST_SECONDS: Final = 24 * 3600
_KEYS: Final = ("command", "paths", "timeout", *RESULT_KINDS)


class CheckFileError(GoopError, ValueError):
    """Raised when the file or a check in it cannot be used; the text says what to do."""


class UntrustedFileError(CheckFileError):
    """Raised when the present content of the file is not trusted."""


class NamedCheck(NamedTuple):
    """One named command; the fields are those of `RunRequest`, files relative to the project."""

    name: str
    command: tuple[str, ...]
    paths: tuple[str, ...] = ()
    timeout: float | None = None
    junit: str | None = None
    ctrf: str | None = None
    tap: str | None = None
    coverage: str | None = None


class NamedChecks(NamedTuple):
    """The commands by name, and where they are from: the file `path`, which messages call `source`.

    `digest` is what a person trusts, and `trusted` whether somebody does.
    """

    path: Path
    source: str
    digest: str
    checks: Mapping[str, NamedCheck]
    trusted: bool


def read_checks(project: Path) -> NamedChecks:
    """Return the named commands of `project`; raise CheckFileError and TrustError."""
    # The project itself may be reached by a link, and is the same one.
    project = project.resolve()
    options = read_options(str(project))
    own_file = project / CHECKS_FILE
    if not options.table("checks"):
        return _read_file(own_file, options)
    if own_file.exists():
        # One name could mean two commands, and whoever writes one file could replace a command of
        # the other.
        raise CheckFileError(
            f"checks are named in {options.place('checks')} and in {CHECKS_FILE}; remove one of"
            " them"
        )

    # Only the table is trusted: the rest of the file, such as pyproject.toml, changes often.
    source, digest = project / options.source, options.digest("checks")
    checks = _checks(options.table("checks"), options.source)

    return NamedChecks(source, options.source, digest, checks, is_trusted(source, digest))


def _read_file(path: Path, options: OptionsFile) -> NamedChecks:
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        # The options file may hold the checks and be unreadable; its remark says so.
        unread = f"; {options.remarks[0]}" if options.remarks else ""
        reason = (error.strerror or str(error)).lower()
        raise CheckFileError(
            f"{CHECKS_FILE} cannot be read ({reason}){unread}; write [checks.tests] and command ="
            ' ["pytest", "-q"] in it, or name the command: goop-mcp run --name tests -- COMMAND'
        ) from None

    if len(content) > _MOST_BYTES:
        raise CheckFileError(f"{CHECKS_FILE} has more than {_MOST_BYTES:,} bytes; shorten it")
    try:
        values = tomllib.loads(content.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CheckFileError(f"{CHECKS_FILE} is not valid TOML: {error}") from None

    # Here the whole file is trusted, comments included: a person reads all of it.
    digest = content_digest(content)
    checks = _checks(values.get("checks", {}), CHECKS_FILE)

    return NamedChecks(path, CHECKS_FILE, digest, checks, is_trusted(path, digest))


def _checks(checks: object, source: str) -> dict[str, NamedCheck]:
    if not isinstance(checks, Mapping) or len(checks) > _MOST_CHECKS:
        raise CheckFileError(
            f"{source}: checks is not a table of at most {_MOST_CHECKS} checks; write"
            " [checks.tests]"
        )

    return {name: _check(name, check, source) for name, check in checks.items()}


def trust_checks(found: NamedChecks) -> None:
    """Trust the named commands with the digest that they were read with. Raises TrustError."""
    trust(found.path, found.digest)


def trusted_check(project: Path, name: str) -> NamedCheck:
    """Return the check `name` of a trusted file; raise UntrustedFileError, CheckFileError."""
    found = read_checks(project)
    if not found.trusted:
        raise UntrustedFileError(
            f"the checks in {found.source} are not trusted as they are now, and their commands run"
            " with your rights; a person has to read them and run goop-mcp run --trust at a"
            " terminal"
        )
    if name not in found.checks:
        known = ", ".join(found.checks) or "none"
        raise CheckFileError(
            f"{found.source} names no check {name[:_LONGEST_NAME]!r}; it has {known}"
        )

    return found.checks[name]


def request_of(project: Path, check: NamedCheck) -> RunRequest:
    """Return what to run for `check` of `project`."""
    files = {kind: getattr(check, kind) for kind in RESULT_KINDS}

    return RunRequest(
        argv=check.command,
        project=project,
        cwd=project,
        name=check.name,
        timeout=check.timeout,
        results=tuple((project / file, kind) for kind, file in files.items() if file),
        pinned=True,
        paths=check.paths,
    )


def _check(name: str, values: object, source: str) -> NamedCheck:
    where = f"{source}: checks.{name[:_LONGEST_NAME]}"
    if not name.strip() or len(name) > _LONGEST_NAME or not name.isprintable():
        raise CheckFileError(f"{where} is not a name of at most {_LONGEST_NAME} characters")
    if not isinstance(values, Mapping):
        raise CheckFileError(f"{where} is not a table; write [checks.{name}]")
    if unknown := [key for key in values if key not in _KEYS]:
        raise CheckFileError(f"{where} has {unknown[0]!r}; expected only {', '.join(_KEYS)}")

    command = _texts(values.get("command"), f"{where}.command")
    if not command:
        raise CheckFileError(f'{where}.command is missing; write command = ["pytest", "-q"]')

    timeout = values.get("timeout")
    # In Python, true is a number.
    number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    if timeout is not None and not (number and 0 < timeout <= _MOST_SECONDS):
        raise CheckFileError(f"{where}.timeout is not a number of seconds up to {_MOST_SECONDS:,}")

    paths = _texts(values.get("paths", []), f"{where}.paths")
    files = {key: values.get(key) for key in RESULT_KINDS}
    for key, file in (*(("paths", each) for each in paths), *files.items()):
        pure = PurePosixPath(file if isinstance(file, str) else "")
        is_path = isinstance(file, str) and file.strip() and "\0" not in file
        if file is not None and (not is_path or pure.is_absolute() or ".." in pure.parts):
            raise CheckFileError(f"{where}.{key}: {file!r} is not a path within the project")

    return NamedCheck(name, command, paths, timeout, **files)


def _texts(value: object, where: str) -> tuple[str, ...]:
    texts = isinstance(value, list) and all(isinstance(each, str) and each for each in value)
    if value is None:
        return ()
    if not texts or not isinstance(value, list) or len(value) > _MOST_ITEMS:
        raise CheckFileError(f"{where} is not a list of at most {_MOST_ITEMS} texts")
    # The system would end the argument there.
    if any("\0" in each for each in value):
        raise CheckFileError(f"{where} holds the character NUL; remove it")
    return tuple(value)
