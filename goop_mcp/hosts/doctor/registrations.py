"""Checks of the hosts: where goop-mcp is registered, and whether it starts from there."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from goop_mcp import __version__
from goop_mcp.hosts.catalogue import (
    HOSTS,
    SERVER,
    Asset,
    Element,
    Host,
    Part,
    Scope,
    ServerEntry,
    command_words,
    has_arguments,
    hook_words,
    hooks_of,
    is_our_element,
)
from goop_mcp.hosts.contents import is_our_file
from goop_mcp.hosts.doctor.checks import DoctorCheck, failure, ok, warning
from goop_mcp.hosts.doctor.handshake import HandshakeError, shake_hands
from goop_mcp.hosts.doctor.judging import (
    ARGUMENTS_ARE_UNSAFE,
    Judging,
    check_judging,
    check_version,
    installation,
    plugins_that_judge,
    removal,
    what_is_verified,
    who_is_judged,
)
from goop_mcp.hosts.editing import parse_configuration
from goop_mcp.hosts.installing import Registration
from goop_mcp.hosts.jsonc import Document
from goop_mcp.hosts.launch import is_ours, runs_throwaway
from goop_mcp.hosts.records import InstallRecords
from goop_mcp.hosts.targets import ConfigurationError, Target
from goop_mcp.services.commands import COMMAND_MARK
from goop_mcp.validation.safe_json import JsonValue

__all__ = ["check_hosts"]

_START_SECONDS = 30.0
_SLOW_SECONDS = 5.0
_FROM_THE_DESKTOP = frozenset({"cursor", "vscode"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A server in a host's file: its name, its command line, its environment variables."""

    registration: Registration
    target: Target
    name: str
    words: tuple[str, ...]
    variables: Mapping[str, str]
    is_ours: bool


def check_hosts(project: Path, environment: Mapping[str, str]) -> Iterator[DoctorCheck]:
    """Yield what is found in the files of every host, for the project and for the user."""
    registered = False
    used: list[Host] = []
    for host in HOSTS.values():
        servers: list[_Found] = []
        judges: list[Judging] = []
        for scope in Scope:
            registration = Registration(
                host=host, scope=scope, project=project, environment=environment, tasks=True
            )
            for check in _check_files(registration, servers, judges):
                registered = True
                yield check

        # A plugin is not in the files that installing writes, but it answers the same events.
        if host.name == "claude-code":
            judges += plugins_that_judge(project, environment)

        if len(servers) > 1:
            places = " and ".join(f"{each.target.shown} as {each.name}" for each in servers)
            fixes = " or ".join(dict.fromkeys(removal(each.registration) for each in servers))
            yield warning(
                host.title,
                f"goop-mcp is registered {len(servers)} times: in {places}",
                f"remove all but one of them, for example with {fixes}",
            )

        for check in check_judging(host, judges, environment):
            registered = True
            yield check

        for server in servers:
            yield _check_server(server)

        if servers or judges:
            used.append(host)
            yield from check_version(host, project, environment)

        registered = registered or bool(servers)

    if not registered:
        yield warning(
            "hosts",
            "goop-mcp is not registered in any host here",
            f"goop-mcp install HOST, with one of {', '.join(HOSTS)}",
        )
    if used:
        is_anybody, whom = who_is_judged(project, used)
        judged, _, todo = whom.partition("; ")
        yield ok("judged", whom) if is_anybody else warning("judged", judged, todo)
    verified, fix = what_is_verified(project, used)
    # Without a host nothing is lost yet.
    yield warning("verified", verified, fix) if fix and used else ok("verified", verified)


def _check_files(
    registration: Registration, found: list[_Found], judges: list[Judging]
) -> Iterator[DoctorCheck]:
    """Yield the problems in a host's files.

    Adds the servers in them to `found`, and what judges reports there to `judges`.
    """
    before = len(found)
    for target, parts in registration.files():
        if isinstance(parts, Asset) and parts.is_command:
            continue
        if isinstance(parts, Asset):
            yield from _check_asset(
                registration, target, parts, is_registered=len(found) > before, judges=judges
            )
            continue

        try:
            data = target.read()
            document = (
                None if data is None else parse_configuration(data.decode("utf-8"), target.shown)
            )
        except ConfigurationError as error:
            what, _, _ = str(error).partition("; ")
            yield failure(
                registration.host.title, what, f"fix {target.shown}; the host cannot read it either"
            )
            continue
        except UnicodeDecodeError:
            yield failure(
                registration.host.title,
                f"{target.shown} is not UTF-8 text",
                f"save {target.shown} as UTF-8",
            )
            continue

        # A value that installing wrote is ours, whatever program it starts.
        record = InstallRecords().read(target)
        known = () if record is None else record.written
        if document is not None:
            found.extend(_servers(registration, target, document, parts, known))

        yield from _check_hooks(
            registration,
            target,
            document,
            parts,
            known=known,
            is_registered=len(found) > before,
            judges=judges,
        )

    if len(found) > before:
        yield from _check_commands(registration)


def _servers(
    registration: Registration,
    target: Target,
    document: Document,
    parts: list[Part],
    known: Sequence[JsonValue],
) -> Iterator[_Found]:
    for part in parts:
        entries = document.get((part.key,)) if isinstance(part, ServerEntry) else None
        for name, entry in entries.items() if isinstance(entries, Mapping) else ():
            words = command_words(entry)
            ours = is_ours(words) or entry in known
            if name == SERVER or ours:
                # OpenCode calls the variables "environment", the other hosts "env".
                given = (
                    entry.get("env", entry.get("environment"))
                    if isinstance(entry, Mapping)
                    else None
                )
                variables = (
                    {key: str(value) for key, value in given.items()}
                    if isinstance(given, Mapping)
                    else {}
                )
                yield _Found(
                    registration=registration,
                    target=target,
                    name=name,
                    words=words,
                    variables=variables,
                    is_ours=ours,
                )


def _check_hooks(
    registration: Registration,
    target: Target,
    document: Document | None,
    parts: list[Part],
    *,
    known: Sequence[JsonValue],
    is_registered: bool,
    judges: list[Judging],
) -> Iterator[DoctorCheck]:
    """Yield hooks that are missing, outdated, or written in a form that some hosts misread.

    Also those that are duplicated, or start a program that does not exist.
    """
    title, optional = registration.host.title, registration.optional_hooks
    missing: list[str] = []
    outdated: list[str] = []
    unsafe: list[str] = []
    answered = False

    for part in parts:
        if not isinstance(part, Element):
            continue

        event = part.keys[-1]
        value = None if document is None else document.get(part.keys)
        elements = value if isinstance(value, list) else []
        ours = [element for element in elements if is_our_element(element) or element in known]
        answered = answered or any(map(hooks_of, ours))
        if not ours and part not in optional:
            missing.append(event)
        if any(map(has_arguments, ours)):
            unsafe.append(event)
        # What somebody wrote by hand may differ; what installing wrote is that of this version.
        elif any(element in known and not part.is_current(element) for element in ours):
            outdated.append(event)

        yield from _check_elements(registration, target, ours, place=".".join(part.keys))

    if answered:
        judges.append(Judging(name=f"the hooks in {target.shown}", fix=removal(registration)))
    fix = installation(registration)
    if missing and is_registered:
        yield warning(title, f"{target.shown} lacks entries of ours: {', '.join(missing)}", fix)
    if outdated:
        yield warning(
            title,
            f"{target.shown} has entries of another version of goop-mcp: {', '.join(outdated)}",
            fix,
        )
    if unsafe:
        message = f"{target.shown} has hooks with args: {', '.join(unsafe)}; {ARGUMENTS_ARE_UNSAFE}"
        yield warning(title, message, f"{fix}; with --replace if they were written by hand")


def _check_elements(
    registration: Registration, target: Target, ours: Sequence[JsonValue], *, place: str
) -> Iterator[DoctorCheck]:
    """Yield whether an event has several hooks of ours, and whether each can be started."""
    if len(ours) > 1:
        yield warning(
            registration.host.title,
            f"{target.shown} has {len(ours)} entries of ours in {place}",
            f"remove all but one from {target.shown}",
        )

    for words in filter(None, (hook_words(hook) for group in ours for hook in hooks_of(group))):
        # In a line for a shell, what looks like a variable may be quoted, and part of the name.
        is_file = "/" in words[0] and (registration.project / words[0]).is_file()
        if not is_file and _program(words[0], registration) is None:
            yield failure(
                registration.host.title,
                f"{target.shown} starts {words[0]} in {place}, which does not exist",
                f"{installation(registration)} --replace",
            )


def _check_asset(
    registration: Registration,
    target: Target,
    asset: Asset,
    *,
    is_registered: bool,
    judges: list[Judging],
) -> Iterator[DoctorCheck]:
    fix = installation(registration)
    try:
        data = target.read()
    except ConfigurationError as error:
        yield failure(registration.host.title, str(error), fix)
        return

    if data is None:
        if is_registered:
            yield warning(
                registration.host.title,
                f"{target.shown} is missing: bad reports are not sent back",
                fix,
            )

        return

    text = data.decode("utf-8", "replace")
    if not is_our_file(text):
        # `install` alone keeps what somebody else wrote, and would be no fix.
        yield warning(
            registration.host.title,
            f"{target.shown} is not a file of goop-mcp: bad reports are not sent back",
            f"rename it and run {fix}, or overwrite it: {fix} --replace",
        )
        return

    judges.append(Judging(name=f"the plugin {target.shown}", fix=removal(registration)))
    if text != asset.text():
        yield warning(
            registration.host.title,
            f"{target.shown} is not the file of goop-mcp {__version__}",
            fix,
        )


def _check_commands(registration: Registration) -> Iterator[DoctorCheck]:
    """Yield whether the commands are installed; those that are missing or of another version."""
    files = registration.command_files
    if not files:
        return

    title, fix = registration.host.title, installation(registration)
    where = f"{title}, {registration.scope} scope"
    if not registration.has_commands():
        whole = fix.replace("--no-commands", "--commands")
        yield ok(
            "installed",
            f"{where}: reports alone, without slash commands; for the whole life of a project:"
            f" {whole}",
        )
        return

    missing, other = [], []
    for target, asset in files.items():
        try:
            data = target.read()
        except ConfigurationError:
            data = b""

        text = None if data is None else data.decode("utf-8", "replace")
        if text is None:
            missing.append(target)
        elif COMMAND_MARK in text and text != asset.text():
            other.append(target)

    # A command that somebody else wrote under such a name is theirs, and no problem.
    yield ok("installed", f"{where}: the whole life of a project, with slash commands")
    if missing:
        yield warning(
            title,
            f"{_listed(missing)} missing: the commands that messages name cannot be run",
            fix,
        )
    if other:
        yield warning(
            title,
            f"{_listed(other)} not of goop-mcp {__version__}",
            f"{fix}; with --replace if it was changed by hand and should not be",
        )


def _listed(targets: Sequence[Target]) -> str:
    first, others = targets[0].shown, len(targets) - 1
    return f"{first} is" if not others else f"{first} and {others} other commands are"


def _check_server(server: _Found) -> DoctorCheck:
    """Start a server as its host does, and return the result."""
    host, where = server.registration.host, f"{server.target.shown}: server {server.name}"
    fix = f"{installation(server.registration)} --replace"
    if not server.words:
        return failure(host.title, f"{where} has no command", fix)
    if not server.is_ours:
        return failure(
            host.title,
            f"{where} starts {server.words[0]}, which is not goop-mcp",
            f"rename it, or overwrite it: {fix}",
        )

    program = _program(server.words[0], server.registration)
    if program is None:
        return failure(
            host.title, f"{where} starts {server.words[0]}, which is not found on the PATH", fix
        )

    words = tuple(_expand_variables(word, server.registration) for word in server.words)
    variables = {
        name: _expand_variables(value, server.registration)
        for name, value in server.variables.items()
    }
    environment = {**server.registration.environment, **variables}
    if host.name == "claude-code":
        environment["CLAUDE_PROJECT_DIR"] = str(server.registration.project)

    try:
        greeting = shake_hands(
            (program, *words[1:]),
            environment=environment,
            folder=server.registration.project,
            timeout=_START_SECONDS,
        )
    except HandshakeError as error:
        return failure(host.title, f"{where} does not work: {error}", fix)

    answer = f"{where} answers in {greeting.seconds:.1f} s with {len(greeting.tools)} tools"
    if greeting.version != __version__:
        other = f"{where} starts goop-mcp {greeting.version}, and this is {__version__}"
        return warning(
            host.title, other, "install the newest one in both places, then restart the host"
        )

    if greeting.seconds > _SLOW_SECONDS:
        advice = (
            f"install it permanently instead of {server.words[0]}: uv tool install goop-mcp, or"
            " pipx install goop-mcp"
            if runs_throwaway(server.words)
            else "run the doctor again when the machine is less busy; restart the host where the"
            " server is missing in it"
        )
        return warning(host.title, f"{answer}, which some hosts do not wait for", advice)
    # A host that the desktop starts does not read the shell's profile, which often sets the PATH.
    if host.name in _FROM_THE_DESKTOP and not Path(server.words[0]).is_absolute():
        return warning(
            host.title,
            f"{answer}; a host started from the desktop may not know the PATH on which"
            f" {server.words[0]} is found",
            f"if it does not start there: goop-mcp install {host.name} --replace --command"
            f" {program}",
        )

    return ok(host.title, answer)


def _program(name: str, registration: Registration) -> str | None:
    """Return the path of the program that the host starts for `name`, None when not found."""
    name = _expand_variables(name, registration)
    if "/" in name or "\\" in name:
        path = registration.project / name
        return str(path) if path.is_file() else None

    return shutil.which(name, path=registration.environment.get("PATH"))


def _expand_variables(text: str, registration: Registration) -> str:
    """Return `text` with the variables expanded that hosts expand."""
    text = text.replace("${workspaceFolder}", str(registration.project)).replace(
        "${CLAUDE_PROJECT_DIR}", str(registration.project)
    )
    for name, value in registration.environment.items():
        for form in (f"${{env:{name}}}", f"{{env:{name}}}", f"${{{name}}}"):
            text = text.replace(form, value)

    return text
