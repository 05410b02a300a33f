"""Check what judges reports in a host: hooks in its settings, or a plugin.

Where both do, an agent is asked twice.
"""

import asyncio
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from goop_mcp import __version__
from goop_mcp.evidence import readers
from goop_mcp.hosts.catalogue import Host, has_arguments
from goop_mcp.hosts.doctor.checks import DoctorCheck, failure, ok, warning
from goop_mcp.hosts.hooks.plugins import find_plugins
from goop_mcp.hosts.installing import Registration
from goop_mcp.hosts.jsonc import Document, parse
from goop_mcp.hosts.launch import PROGRAM
from goop_mcp.processes import end_marked, marked, new_mark
from goop_mcp.services.options_file import read_options
from goop_mcp.services.small_files import read_whole
from goop_mcp.services.stop_hooks.judging import why_unverified
from goop_mcp.services.stop_hooks.policy import FILE, read_policy
from goop_mcp.services.stop_hooks.profile import is_project
from goop_mcp.services.unverified import NO_PROJECT

__all__ = [
    "ARGUMENTS_ARE_UNSAFE",
    "Judging",
    "check_judging",
    "check_version",
    "installation",
    "plugins_that_judge",
    "removal",
    "what_is_verified",
    "who_is_judged",
]

ARGUMENTS_ARE_UNSAFE: Final = (
    "a host that does not know args, such as Claude Code before 2.1.139, Codex, Qwen Code or"
    " Copilot CLI, starts their program without them and gives it the event, in which models and"
    " people wrote"
)
_STARTERS: Final = (PROGRAM, "uvx", "pipx")
"""The programs that the plugin of Claude Code tries, in this order."""

_PROGRAMS: Final[Mapping[str, str]] = {"claude-code": "claude", "opencode": "opencode"}
"""The program of each host that judges reports, and whose records of the work can be read."""

_MOST_BYTES = 1024 * 1024
_VERSION_SECONDS = 10
_MOST_PRINTED = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging:
    """A hook or plugin that judges reports, and the command that removes it.

    `is_plugin` is true for a plugin that finds goop-mcp by itself; `outdated` is the version of one
    that is not of this version, and `renewal` the command that renews it. `has_arguments` is true
    for one whose hooks have arguments in a list.
    """

    name: str
    fix: str
    is_plugin: bool = False
    outdated: str | None = None
    renewal: str = ""
    has_arguments: bool = False


def plugins_that_judge(project: Path, environment: Mapping[str, str]) -> list[Judging]:
    """Return our plugins that are enabled in Claude Code."""
    return [
        Judging(
            name=f"the plugin {plugin.name} of {plugin.shown}",
            fix=f"claude plugin disable {plugin.name}",
            is_plugin=True,
            outdated=next((each for each in plugin.versions if each != __version__), None),
            renewal=f"claude plugin update {plugin.name}",
            has_arguments=any(map(_names_arguments, plugin.hook_files)),
        )
        for plugin in find_plugins(project, environment)
    ]


def _names_arguments(file: Path) -> bool:
    """Return whether a hook in the file of a plugin has arguments in a list."""
    try:
        document = parse((read_whole(str(file), most=_MOST_BYTES) or b"").decode("utf-8"))
    except (OSError, UnicodeDecodeError):
        return False

    events = document.get(("hooks",)) if isinstance(document, Document) else None
    groups = events.values() if isinstance(events, Mapping) else ()
    return any(has_arguments(group) for each in groups if isinstance(each, list) for group in each)


def who_is_judged(project: Path, hosts: Sequence[Host]) -> tuple[bool, str]:
    """Return whether anybody's reports are judged in `project` by these hosts, and whose.

    Where nobody's are, the text says what to do about it.
    """
    if not any(each.judges for each in hosts):
        titles = " and ".join(each.title for each in hosts)
        return False, (
            f"nobody by itself, because {titles} cannot hold an agent back; have agents call the"
            " tool validate_report: goop-mcp prompt prints what to put into their instructions"
        )

    policy, _ = read_policy(str(project))
    example = f'in {FILE}: {{"agents": ["goop-*", "backend-*"]}}'
    options = read_options(str(project))
    # Where both files have them, this one counts.
    if "agents" in options.table("hooks"):
        example = f'in {options.place("hooks", "agents")}: agents = ["goop-*", "backend-*"]'
    if not policy.agents and policy.main != "required":
        return False, f"nobody, because agents is empty; list them {example}"

    exempt = f" (but not {', '.join(policy.exempt)})" if policy.exempt else ""
    main = {
        "present": "the main agent where its message has an envelope",
        "required": "the main agent always",
        "ignored": "not the main agent",
    }[policy.main]
    names = ", ".join(policy.agents) or "(none)"

    return True, f"subagents named {names}{exempt}, and {main}; to change them, list all {example}"


def what_is_verified(project: Path, hosts: Sequence[Host]) -> tuple[str, str]:
    """Return what is verified of reports in `project`, and how to have the rest verified (D-106).

    What is not verified is named with the reason; without that, the second text is "".
    """
    policy, _ = read_policy(str(project))
    found: list[str] = []
    missing: dict[str, str] = {}
    why_not = why_unverified(policy, in_project=is_project(str(project)))
    if why_not:
        fix = "run git init" if why_not == NO_PROJECT else "set it to true, or remove it"
        missing[f"files and commits are not, because {why_not}"] = fix
    else:
        found.append("files and commits in this folder")

    recording = [each.title for each in hosts if each.judges]
    if policy.evidence == "off":
        why_not = 'evidence is "off" in the settings of the project'
        missing[f"what agents did is not, because {why_not}"] = "remove it"
    elif recording:
        found.append(f"what agents did, as {' and '.join(recording)} records it")

    return "; ".join([" and ".join(found) or "nothing", *missing]), "; ".join(missing.values())


def check_judging(
    host: Host, judges: Sequence[Judging], environment: Mapping[str, str]
) -> Iterator[DoctorCheck]:
    """Yield whether plugins can start goop-mcp, and whether each event is answered only once."""
    path = environment.get("PATH")
    starter = next((found for name in _STARTERS if (found := shutil.which(name, path=path))), None)

    for judge in judges:
        if judge.is_plugin and starter is None:
            fix = (
                f"install goop-mcp permanently: uv tool install {PROGRAM}, or pipx install"
                f" {PROGRAM}"
            )
            yield failure(
                host.title, f"{judge.name} finds none of {', '.join(_STARTERS)} on the PATH", fix
            )
        elif judge.is_plugin:
            yield ok(host.title, f"{judge.name} is on and starts {starter}")
        if judge.outdated is not None:
            yield warning(
                host.title,
                f"{judge.name} is of version {judge.outdated}, and this is {__version__}: its hooks"
                " and commands may lack what this version needs",
                judge.renewal,
            )
        if judge.has_arguments:
            # An update does nothing as long as the version is the same.
            yield warning(
                host.title,
                f"{judge.name} has hooks with args; {ARGUMENTS_ARE_UNSAFE}",
                f"install it again: {judge.renewal.replace('update', 'uninstall')}, then"
                f" {judge.renewal.replace('update', 'install')}",
            )

    if len(judges) > 1:
        names = " and ".join(judge.name for judge in judges)
        fixes = " or ".join(dict.fromkeys(judge.fix for judge in judges))
        yield warning(
            host.title,
            f"{names} check the same reports: an agent is asked twice",
            f"keep one: {fixes}",
        )


def check_version(
    host: Host, project: Path, environment: Mapping[str, str]
) -> Iterator[DoctorCheck]:
    """Yield what this version of the host can do: judge reports, record what agents do.

    Only the oldest version counts; the readers of transcripts go by the form of what they read
    (D-105). Only what is known of a version without running it, nothing for a host that has no
    hooks.
    """
    name = _PROGRAMS.get(host.name)
    program = name and shutil.which(name, path=environment.get("PATH"))
    # Claude Code prints its name after the version.
    answer = asyncio.run(_printed_version(program, environment)) if program else ""
    version = next(iter(answer.split()), "")[:40]
    if host.oldest:
        yield _against_oldest(host, version)

    # A host without a reader, or one that does not print its version.
    if name is None or not version or read_policy(str(project))[0].evidence == "off":
        return

    known = {
        "claude-code": readers.claude_code.TESTED_VERSIONS,
        "opencode": readers.opencode.TESTED_VERSIONS,
    }[host.name]
    tested = "" if version in known else f" (tested with {', '.join(known)})"
    yield ok(host.title, f"reports are compared with what version {version} records{tested}")


def _against_oldest(host: Host, version: str) -> DoctorCheck:
    """Return from which version on reports are sent back; "" is a `version` that is not known."""
    numbers, least = (
        tuple(int(part) for part in each.split(".") if part.isdecimal())
        for each in (version, host.oldest)
    )
    if numbers and numbers < least:
        return warning(
            "versions", f"{host.versions}, and this is {version}", f"update {host.title}"
        )
    return ok("versions", host.versions)


async def _printed_version(program: str, environment: Mapping[str, str]) -> str:
    """Return what the program prints about its version, "" if it fails or takes too long."""
    mark = new_mark()
    try:
        process = await asyncio.create_subprocess_exec(
            program,
            "--version",
            env=marked(environment, mark),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError:
        return ""

    try:
        printed, _ = await asyncio.wait_for(process.communicate(), _VERSION_SECONDS)
    except TimeoutError:
        process.kill()
        end_marked(mark)
        await process.wait()
        return ""

    return printed[:_MOST_PRINTED].decode("utf-8", "replace")


def installation(registration: Registration) -> str:
    """Return the command that installs again what is installed in a host, no more and no less."""
    command = f"goop-mcp install {registration.host.name} --scope {registration.scope}"
    with_less = registration.command_files and not registration.has_commands()
    return f"{command} --no-commands" if with_less else command


def removal(registration: Registration) -> str:
    """Return the command that removes what was installed in a host."""
    return f"goop-mcp uninstall {registration.host.name} --scope {registration.scope}"
