"""Programs that the configuration of a repository itself names, and whether a person trusts them.

To compare a file with its content in git, or to check it out, git runs the filter that the
configuration names for it. An agent that writes .git/config, or a checkout that brings one, could
have any program run that way. So git is asked nothing that compares or writes files before a person
has trusted exactly these settings. The user's own configuration is the user's.

It then reads the configuration in a copy of what was looked at: another program could write another
one in between.

Loaded before everything else of a recorded run, like `git_calls`.
"""

import os
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Final, NamedTuple

from goop_mcp.errors import GoopError
from goop_mcp.workspace.regular_files import open_regular

__all__ = [
    "SETTINGS",
    "RepositoryPrograms",
    "Setting",
    "flattened",
    "plain_configuration",
    "read_programs",
    "read_small",
]

SETTINGS: Final = ("config", "--list", "-z", "--show-scope", "--show-origin")
"""Arguments of git that list every setting which holds in a repository, with included files."""

_MOST_BYTES: Final = 1024 * 1024
_SHOWN: Final = 3
_LONGEST_SHOWN: Final = 120
# Git takes these names in any case, but nothing in them can be escaped or stand on two lines.
_TRACES: Final = (b"[include", b"[hook", b"clean", b"smudge", b"process")
_OF_WORK_TREE: Final = b"worktreeconfig"
# At the end, where it is the last word: nothing of another file is read, as what ends in a
# backslash would take up only the first line.
_NO_MORE: Final = b"\n\n[extensions]\n\tworktreeConfig = false\n"
_OF_USER: Final = frozenset({"system", "global", "command"})
_FILTER_PROGRAMS: Final = frozenset({"clean", "smudge", "process"})
# Hooks that the configuration names, since git 2.54; core.hooksPath does not turn them off.
_EVENTS: Final = frozenset({"post-index-change", "post-checkout", "reference-transaction"})
# Programs with which the filter of Git LFS gets the content of a file that it has to write.
_DOWNLOADING: Final = frozenset(
    {"core.sshcommand", "core.askpass", "credential.helper", "lfs.standalonetransferagent"}
)


class Setting(NamedTuple):
    """One setting: its `key` as git writes it, its `value`, and the `file` that it stands in."""

    key: str
    value: str
    file: str


class RepositoryPrograms(NamedTuple):
    """Programs in the configuration of the repository whose common folder is `common`.

    `named` are the settings that name one which git would run now, and `settings` all that a person
    trusts with them, in the order in which git reads them.
    """

    common: str
    named: tuple[Setting, ...] = ()
    settings: tuple[Setting, ...] = ()

    @property
    def digest(self) -> str:
        """What a person trusts: the SHA-256 of all keys and values, in hexadecimal digits."""
        text = "".join(f"{each.key}\n{each.value}\0" for each in self.settings)
        # What hashes takes long to load, and few repositories name programs.
        trusting = import_module("goop_mcp.recording.trust")
        return str(trusting.content_digest(text.encode("utf-8", "surrogateescape")))

    def is_trusted(self) -> bool:
        """Return whether a person trusts exactly these settings. Raises TrustError."""
        if not self.named:
            return True
        trusting = import_module("goop_mcp.recording.trust")
        return bool(trusting.is_trusted(self._subject, self.digest))

    def trust(self) -> None:
        """Trust these settings, in place of earlier ones. Raises TrustError."""
        import_module("goop_mcp.recording.trust").trust(self._subject, self.digest)

    @property
    def _subject(self) -> os.PathLike[str]:
        path: os.PathLike[str] = import_module("pathlib").Path(self.common, "config")
        return path

    def refusal(self, *, nested: str = "") -> str:
        """Return why git must not run these programs, in one clause; "" if it may.

        `nested` is the folder of the project in which the repository is, "" for its own.
        """
        try:
            if self.is_trusted():
                return ""
        except GoopError as error:
            return str(error)

        shown = [self.line(each) for each in self.named[:_SHOWN]]
        more = len(self.named) - _SHOWN
        names = ", ".join(shown) + (f" and {more} more" if more > 0 else "")
        quote = import_module("shlex").quote
        whose = f"the git configuration of the nested repository {nested!r}" if nested else ""
        where = f" --project={quote(nested)}" if nested else ""
        # What to do comes first: the values may be long, and messages are cut.
        return (
            f"a person has to run goop-mcp trust --git{where} first, because"
            f" {whose or 'its git configuration'} names programs: {names}"
        )

    def line(self, setting: Setting, *, whole: bool = False) -> str:
        """Return one of the settings with its file, on one line.

        It is short and without secrets, unless a person has to read the `whole` of it.
        """
        text = f"{setting.key} = {setting.value}"
        if not whole:
            text = import_module("goop_mcp.redaction").redact(text).text
            text = text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 1]}…"
        line = f"{text} (in {self._place(setting.file)})"

        # A line feed in a value ends a comment of the shell, and must be seen.
        return "".join(
            c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in line
        )

    def _place(self, file: str) -> str:
        """Return the name of a file of configuration, without the folders of the machine."""
        above = self.common.rpartition(os.sep)[0] + os.sep
        _, git, inside = f"{os.sep}{file}".rpartition(f"{os.sep}.git{os.sep}")
        if git:
            return f".git{os.sep}{inside}"
        return file.removeprefix(above) if file.startswith(above) else file.rpartition(os.sep)[2]


def plain_configuration(git: str, common: str) -> bytes | None:
    """Return the configuration of a repository in one text, None if it may name a program.

    `git` is git's folder for a work tree, and `common` the one with the configuration of all of
    them. Starts no process; where this is None, the answer to `SETTINGS` shows what there is.
    """
    content = b""
    try:
        content = read_small(f"{common}{os.sep}config", most=_MOST_BYTES)
        if _OF_WORK_TREE in content.lower():
            content += b"\n\n" + read_small(f"{git}{os.sep}config.worktree", most=_MOST_BYTES)
    except FileNotFoundError:
        pass
    except OSError:
        return None

    lowered = content.lower()
    if any(trace in lowered for trace in _TRACES):
        return None
    return content + _NO_MORE


def flattened(listing: str) -> bytes:
    """Return the settings of the repository in the answer to `SETTINGS`, as a configuration."""
    lines = []
    for scope, setting in _scoped(listing):
        if scope in _OF_USER:
            continue
        section, _, rest = setting.key.partition(".")
        inner, _, name = rest.rpartition(".")
        heading = f'{section} "{_escaped(inner)}"' if inner else section
        value = _escaped(setting.value).replace("\n", "\\n")
        lines.append(f'[{heading}]\n\t{name} = "{value}"\n')

    return "".join(lines).encode("utf-8", "surrogateescape") + _NO_MORE


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _scoped(listing: str) -> Iterator[tuple[str, Setting]]:
    """Yield each setting with its scope; one without a value is true."""
    raw = listing.split("\0")
    for scope, origin, text in zip(raw[::3], raw[1::3], raw[2::3], strict=False):
        key, has_value, value = text.partition("\n")
        yield scope, Setting(key, value if has_value else "true", origin.removeprefix("file:"))


def read_programs(listing: str, common: str, *, checks_out: bool = False) -> RepositoryPrograms:
    """Return the programs of the repository whose common folder is `common`.

    `listing` is the answer of git to `SETTINGS`, decoded like a path. `checks_out` is whether git
    is to write files, and not only to compare them.
    """
    scoped = list(_scoped(listing))
    everywhere = [setting for _, setting in scoped]
    own = [setting for scope, setting in scoped if scope not in _OF_USER]

    running = list(_running(own, everywhere))
    # Only a filter downloads, one of the user included.
    filters = any(_names_filter(each) for each in everywhere)
    downloading = [each for each in own if filters and each.value and _downloads(each.key)]
    groups = {_group(each.key) for each in (*running, *downloading)}

    return RepositoryPrograms(
        common,
        tuple(running + downloading if checks_out else running),
        tuple(each for each in own if _group(each.key) in groups),
    )


def _running(own: Sequence[Setting], everywhere: Sequence[Setting]) -> Iterator[Setting]:
    """Yield the settings of the repository with programs that git, or a filter, runs by itself."""
    fired = {_group(each.key) for each in everywhere if _is_fired(each)}
    for each in own:
        section, _, rest = each.key.partition(".")
        _, _, name = rest.rpartition(".")
        is_hook = section == "hook" and name == "command" and _group(each.key) in fired
        # Git LFS passes files through its extensions.
        is_extension = rest.lower().startswith("extension.") and name in _FILTER_PROGRAMS
        if each.value and (_names_filter(each) or is_hook or (section == "lfs" and is_extension)):
            yield each


def _names_filter(setting: Setting) -> bool:
    section, _, rest = setting.key.partition(".")
    return (
        section == "filter"
        and rest.rpartition(".")[2] in _FILTER_PROGRAMS
        # An empty one turns the filter off.
        and bool(setting.value)
    )


def _is_fired(setting: Setting) -> bool:
    section, _, rest = setting.key.partition(".")
    return section == "hook" and rest.endswith(".event") and setting.value in _EVENTS


def _downloads(key: str) -> bool:
    section, _, rest = key.partition(".")
    inner, _, name = rest.rpartition(".")
    if section == "lfs" and inner.lower().startswith("customtransfer."):
        return name == "path"
    # For one address, its URL stands between the two.
    return f"{section}.{name}" in _DOWNLOADING


def _group(key: str) -> str:
    """Return what the settings that belong together have in common."""
    section, _, rest = key.partition(".")
    inner, _, _ = rest.rpartition(".")
    of_lfs = inner.lower().startswith(("extension.", "customtransfer."))
    return f"{section}.{inner}" if section in ("filter", "hook") or of_lfs else key


def read_small(path: str, *, most: int) -> bytes:
    """Return the content of a file, without waiting for one that is a pipe.

    Raises OSError, also for more than `most` bytes and for what is no file.
    """
    with os.fdopen(open_regular(path), "rb") as file:
        content = file.read(most + 1)

    if len(content) > most:
        raise OSError(f"it has more than {most:,} bytes")
    return content
