"""Programs that only start another one and end with its status, and shells that read a script."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from goop_mcp.evidence.runners import is_script_name, runner_of
from goop_mcp.evidence.shell.tree import ShellWord

__all__ = [
    "WRAPPER_NAMES",
    "ShellScript",
    "StartedProgram",
    "name_of",
    "shell_script",
    "without_wrappers",
]


class Wrapper(NamedTuple):
    """How to find the program that a wrapper starts.

    `values` are its options that take the next word as a value, `skip` is the number of words of
    its own that come after the options. `only_asks` are options with which it starts nothing.
    """

    values: frozenset[str] = frozenset()
    skip: int = 0
    only_asks: frozenset[str] = frozenset()


class ShellScript(NamedTuple):
    """The script that a shell or `eval` was given, None if it is not known, and its options."""

    text: str | None
    errexit: bool = False
    pipefail: bool = False
    runs: bool = True


class StartedProgram(NamedTuple):
    """What is left without wrappers: a program with arguments, and the variables set for it."""

    words: tuple[ShellWord, ...]
    variables: tuple[tuple[str, ShellWord], ...] = ()


def _wrapper(values: str = "", *, skip: int = 0, only_asks: str = "") -> Wrapper:
    return Wrapper(frozenset(values.split()), skip, frozenset(only_asks.split()))


_UV = (
    "--with --with-editable --with-requirements --extra --group --only-group -p --python --project"
    " --directory --package --env-file --index --default-index -m --module --no-group"
)

# A name of two words is a program with its subcommand.
_WRAPPERS: Final = {
    "asdf exec": _wrapper(),
    "bun x": _wrapper(),
    "bundle exec": _wrapper(),
    "bunx": _wrapper(),
    "caffeinate": _wrapper("-t -w"),
    "chronic": _wrapper(),
    "command": _wrapper(only_asks="-v -V"),
    "conda run": _wrapper("-n --name -p --prefix --cwd"),
    "direnv exec": _wrapper(skip=1),
    "doas": _wrapper("-u -C"),
    "dotenv": _wrapper("-f --file -e"),
    "dotenv run": _wrapper(),
    "dotenvx run": _wrapper("-f --env-file -e --env"),
    "env": _wrapper("-u --unset -C --chdir"),
    "exec": _wrapper("-a"),
    "goop-mcp run": _wrapper(
        "--name --junit --ctrf --tap --coverage --timeout --project --database --project-id"
    ),
    "gtimeout": _wrapper("-s --signal -k --kill-after", skip=1),
    "hatch run": _wrapper(),
    "ionice": _wrapper("-c -n -p"),
    "mamba run": _wrapper("-n --name -p --prefix"),
    "micromamba run": _wrapper("-n --name -p --prefix"),
    "mise exec": _wrapper(),
    "mise x": _wrapper(),
    "nice": _wrapper("-n --adjustment"),
    "nohup": _wrapper(),
    "npm exec": _wrapper("-p --package -w --workspace --prefix"),
    "npx": _wrapper("-p --package -w --workspace"),
    "php": _wrapper("-d -c"),
    "pdm run": _wrapper("-p --project"),
    "pipenv run": _wrapper(),
    "pipx run": _wrapper("--spec --python"),
    "pixi run": _wrapper("-e --environment --manifest-path"),
    "pnpm dlx": _wrapper("--package"),
    "pnpm exec": _wrapper("--filter -C --dir"),
    "poetry run": _wrapper("-C --directory -P --project"),
    "pyenv exec": _wrapper(),
    "rbenv exec": _wrapper(),
    "rye run": _wrapper("-p --pyproject"),
    "setsid": _wrapper(),
    "stdbuf": _wrapper("-i -o -e"),
    "sudo": _wrapper("-u --user -g --group -C -D -h -p -r -t -T"),
    "time": _wrapper("-f --format -o --output"),
    "timeout": _wrapper("-s --signal -k --kill-after", skip=1),
    "unbuffer": _wrapper(),
    "uv run": _wrapper(_UV),
    "uvx": _wrapper("--with --from -p --python"),
    "xvfb-run": _wrapper("-e -f -n -p -s -w --server-num --server-args --error-file"),
    "yarn dlx": _wrapper("-p --package"),
    "yarn exec": _wrapper(),
}
_MODULE_RUNNERS: Final = {
    "python": frozenset({"-W", "-X"}),
    "pypy": frozenset({"-W", "-X"}),
    "py": frozenset({"-W", "-X"}),
    "coverage run": frozenset({"--source", "--rcfile", "--include", "--omit", "--data-file"}),
}
"""Programs that run the module named by `-m`, and their options that take a value."""

WRAPPER_NAMES: Final = frozenset(name.split()[0] for name in (*_WRAPPERS, *_MODULE_RUNNERS))
"""The names of the programs that start another one."""

# These start a program, or else a script that the project calls like this.
_ALSO_SCRIPTS: Final = frozenset({"hatch run", "pdm run", "pixi run", "rye run"})
_SHELLS = frozenset({"ash", "bash", "dash", "ksh", "sh", "zsh"})
_MODULE_OPTIONS = frozenset({"-m", "-Im", "-um", "-sm", "-Bm", "-Em"})
_MOST_WRAPPERS = 8
_PAIR = 2


def name_of(word: ShellWord) -> str:
    """Return the name of the program that `word` stands for, "" if a variable decides about it."""
    name = word.text.replace("\\", "/").rpartition("/")[2]
    for ending in (".exe", ".cmd", ".bat"):
        name = name.removesuffix(ending)

    if "$" in name or (not word.literal and not name):
        return ""

    plain = name.rstrip("0123456789.")
    return plain if plain in ("python", "pypy") else name


def without_wrappers(
    words: Sequence[ShellWord], variables: Sequence[tuple[str, ShellWord]] = ()
) -> StartedProgram | None:
    """Return the program that `words` start in the end, None if a wrapper starts nothing.

    `python -m pytest -q` gives `pytest -q`, `timeout 60 uv run pytest` gives `pytest`.
    """
    left, known = tuple(words), list(variables)
    for _ in range(_MOST_WRAPPERS):
        if not left:
            return None

        name = name_of(left[0])
        second = left[1].text if len(left) > 1 else ""
        both = f"{name} {second}"

        module = _module(left, 2 if both in _MODULE_RUNNERS else 1, both, name)
        if module is not None:
            left = module
            continue

        wrapper, taken = _WRAPPERS.get(both), 2
        if wrapper is None or name == "dotenv":
            wrapper, taken = _WRAPPERS.get(name), 1
        if wrapper is None:
            return StartedProgram(left, tuple(known))

        rest = _after_options(left[taken:], wrapper)
        if rest is None:
            return None
        if name == "uv" and (at := _index_of(left[taken:], ("-m", "--module"))) is not None:
            rest = left[taken + at + 1 :]
        if name == "env":
            while rest and "=" in rest[0].text and not rest[0].text.startswith(("-", "/")):
                variable, _, value = rest[0].text.partition("=")
                known.append((variable, ShellWord(value, rest[0].literal)))
                rest = rest[1:]

        rest = rest[wrapper.skip :]
        if both in _ALSO_SCRIPTS and _is_script(rest):
            return StartedProgram(left, tuple(known))

        left = rest

    return StartedProgram(left, tuple(known))


def _is_script(words: Sequence[ShellWord]) -> bool:
    if not words or not is_script_name(words[0].text):
        return False
    arguments = [word.text for word in words[1:]]
    return runner_of(name_of(words[0]), arguments) is None


def _module(
    left: tuple[ShellWord, ...], taken: int, both: str, name: str
) -> tuple[ShellWord, ...] | None:
    values = _MODULE_RUNNERS.get(both if taken == _PAIR else name)
    if values is None:
        return None

    at = taken
    while at < len(left) and left[at].text.startswith("-"):
        option = left[at].text
        if option in _MODULE_OPTIONS:
            return left[at + 1 :] or None

        at += 2 if option in values else 1

    # `python manage.py test` is the program manage.py.
    is_script = at < len(left) and left[at].text.endswith(".py")

    return left[at:] if is_script else None


def _index_of(words: Sequence[ShellWord], names: Sequence[str]) -> int | None:
    for at, word in enumerate(words):
        if word.text in names:
            return at
        if not word.text.startswith("-"):
            return None

    return None


def _after_options(words: tuple[ShellWord, ...], wrapper: Wrapper) -> tuple[ShellWord, ...] | None:
    at = 0
    while at < len(words) and words[at].text.startswith("-"):
        option = words[at].text
        if option in wrapper.only_asks:
            return None
        if option == "--":
            at += 1
            break

        at += 2 if option in wrapper.values else 1

    return words[at:]


def shell_script(command: StartedProgram) -> ShellScript | None:
    """Return the script that `command` gives to a shell, None if it starts another program."""
    words = command.words
    name = name_of(words[0])
    if name == "eval":
        known = all(word.literal for word in words[1:])
        return ShellScript(" ".join(word.text for word in words[1:]) if known else None)
    if name not in _SHELLS:
        return None

    errexit = pipefail = reads = False
    runs = True
    at = 1
    while at < len(words) and words[at].text[:1] in ("-", "+") and len(words[at].text) > 1:
        option = words[at].text
        at += 1
        if option.startswith("--"):
            continue

        on = option[0] == "-"
        if "o" in option and at < len(words):
            pipefail = on if words[at].text == "pipefail" else pipefail
            errexit = on if words[at].text == "errexit" else errexit
            runs = runs and words[at].text != "noexec"
            at += 1

        errexit = on if "e" in option else errexit
        runs = runs and "n" not in option
        reads = reads or "c" in option

    if not reads or at >= len(words):
        # `bash tests.sh` runs a file that nobody has read here.
        return None

    text = words[at].text if words[at].literal else None
    return ShellScript(text, errexit, pipefail, runs)
