"""The named commands of a project: .goopspec/checks.toml, which runs only what a person trusts."""

import tomllib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from goop_mcp.errors import GoopError
from goop_mcp.recording.commands import RunRequest
from goop_mcp.recording.trust import content_digest, is_trusted, trust

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
_KEYS: Final = ("command", "paths", "timeout", "junit", "ctrf")


class CheckFileError(GoopError, ValueError):
    """Raised when the file or a check in it cannot be used; the text says what to do."""


class UntrustedFileError(CheckFileError):
    """Raised when nobody trusts the present content of the file."""


class NamedCheck(NamedTuple):
    """One named command; the fields are those of `RunRequest`, files relative to the project."""

    name: str
    command: tuple[str, ...]
    paths: tuple[str, ...] = ()
    timeout: float | None = None
    junit: str | None = None
    ctrf: str | None = None


class NamedChecks(NamedTuple):
    """The content of the file; `digest` is what a person trusts."""

    path: Path
    digest: str
    checks: Mapping[str, NamedCheck]
    trusted: bool


def read_checks(project: Path) -> NamedChecks:
    """Return the named commands of `project`; raise CheckFileError and TrustError."""
    path = project / CHECKS_FILE
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise CheckFileError(
            f"{CHECKS_FILE} cannot be read ({reason}); write [checks.tests] and command ="
            ' ["pytest", "-q"] in it, or name the command: goop-mcp run --name tests -- COMMAND'
        ) from None

    if len(content) > _MOST_BYTES:
        raise CheckFileError(f"{CHECKS_FILE} has more than {_MOST_BYTES:,} bytes; shorten it")
    try:
        values = tomllib.loads(content.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CheckFileError(f"{CHECKS_FILE} is no TOML: {error}") from None

    checks = values.get("checks", {})
    if not isinstance(checks, dict) or len(checks) > _MOST_CHECKS:
        raise CheckFileError(
            f"{CHECKS_FILE}: checks is no table of at most {_MOST_CHECKS} checks; write"
            " [checks.tests]"
        )

    digest = content_digest(content)
    named = {name: _check(name, check) for name, check in checks.items()}

    return NamedChecks(path, digest, named, is_trusted(path, digest))


def trust_checks(project: Path) -> NamedChecks:
    """Trust the present content of the file, which must be usable; raise as `read_checks`."""
    found = read_checks(project)
    trust(found.path, found.digest)

    return found._replace(trusted=True)


def trusted_check(project: Path, name: str) -> NamedCheck:
    """Return the check `name` of a trusted file; raise UntrustedFileError, CheckFileError."""
    found = read_checks(project)
    if not found.trusted:
        raise UntrustedFileError(
            f"nobody trusts this content of {CHECKS_FILE}, and its commands run as you; a person"
            " has to read it and run goop-mcp run --trust"
        )
    if name not in found.checks:
        known = ", ".join(found.checks) or "none"
        raise CheckFileError(
            f"{CHECKS_FILE} names no check {name[:_LONGEST_NAME]!r}; it has {known}"
        )

    return found.checks[name]


def request_of(project: Path, check: NamedCheck) -> RunRequest:
    """Return what to run for `check` of `project`."""
    files = ((check.junit, "junit"), (check.ctrf, "ctrf"))

    return RunRequest(
        argv=check.command,
        project=project,
        cwd=project,
        name=check.name,
        timeout=check.timeout,
        results=tuple((project / file, kind) for file, kind in files if file),
        pinned=True,
        paths=check.paths,
    )


def _check(name: str, values: object) -> NamedCheck:
    where = f"{CHECKS_FILE}: checks.{name[:_LONGEST_NAME]}"
    if not name.strip() or len(name) > _LONGEST_NAME or not name.isprintable():
        raise CheckFileError(f"{where} is no name of at most {_LONGEST_NAME} characters")
    if not isinstance(values, dict):
        raise CheckFileError(f"{where} is no table; write [checks.{name}]")
    if unknown := [key for key in values if key not in _KEYS]:
        raise CheckFileError(f"{where} has {unknown[0]!r}; expected only {', '.join(_KEYS)}")

    command = _texts(values.get("command"), f"{where}.command")
    if not command:
        raise CheckFileError(f'{where}.command is missing; write command = ["pytest", "-q"]')

    timeout = values.get("timeout")
    number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    if timeout is not None and not (number and 0 < timeout <= _MOST_SECONDS):
        raise CheckFileError(f"{where}.timeout is no number of seconds up to {_MOST_SECONDS:,}")

    paths = _texts(values.get("paths", []), f"{where}.paths")
    files = {key: values.get(key) for key in ("junit", "ctrf")}
    for key, file in (*(("paths", each) for each in paths), *files.items()):
        inside = isinstance(file, str) and file.strip() and _is_inside(file)
        if file is not None and not inside:
            raise CheckFileError(f"{where}.{key}: {file!r} is no path within the project")

    return NamedCheck(name, command, paths, timeout, files["junit"], files["ctrf"])


def _texts(value: object, where: str) -> tuple[str, ...]:
    texts = isinstance(value, list) and all(isinstance(each, str) and each for each in value)
    if value is None:
        return ()
    if not texts or not isinstance(value, list) or len(value) > _MOST_ITEMS:
        raise CheckFileError(f"{where} is no list of at most {_MOST_ITEMS} texts")
    if any("\0" in each for each in value):
        raise CheckFileError(f"{where} holds the character NUL; remove it")
    return tuple(value)


def _is_inside(path: str) -> bool:
    pure = PurePosixPath(path)
    return not pure.is_absolute() and ".." not in pure.parts and "\0" not in path
