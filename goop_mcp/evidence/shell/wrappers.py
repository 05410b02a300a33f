"""Programs that only start another one and end with its status, and shells that read a script."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from goop_mcp.evidence.runners import is_script_name, runner_of
from goop_mcp.evidence.shell.containers import CONTAINER_PROGRAMS, Container, command_in_container
from goop_mcp.evidence.shell.options import (
    after_options,
    are_flags,
    known_options,
    words_of_option,
)
from goop_mcp.evidence.shell.tree import ShellWord

__all__ = [
    "WRAPPER_NAMES",
    "ShellScript",
    "StartedProgram",
    "name_of",
    "shell_script",
    "without_wrappers",
]


class ShellScript(NamedTuple):
    """The script that a shell or `eval` was given, None if it is not known, and its options."""

    text: str | None
    errexit: bool = False
    pipefail: bool = False
    runs: bool = True


class StartedProgram(NamedTuple):
    """What is left without wrappers: a program with arguments, and the variables set for it.

    `container` is where it runs, None for this machine.
    """

    words: tuple[ShellWord, ...]
    variables: tuple[tuple[str, ShellWord], ...] = ()
    container: Container | None = None


_QUIET: Final = "-q --quiet -v --verbose -s --silent"
_UV: Final = known_options(
    "--with-requirements --extra --group --only-group -p --python --project --directory --package"
    " --env-file --index --default-index --no-group --no-extra"
    " --cache-dir --color --resolution --prerelease --link-mode --exclude-newer -P"
    " --upgrade-package --python-platform --index-strategy",
    "-q --quiet -v --verbose --frozen --locked --no-sync --isolated --active --all-extras"
    " --all-groups --all-packages --dev --no-dev --only-dev --no-default-groups --no-editable"
    " --no-project --no-config --no-env-file --offline --no-progress --refresh --reinstall -U"
    " --upgrade --exact -n --no-cache --native-tls --managed-python --no-managed-python"
    " --no-python-downloads -m --module",
    packages="-w --with --with-editable --from",
)
_CONDA: Final = known_options(
    "-n --name -p --prefix --cwd -a --attach",
    "--no-capture-output --live-stream --no-live-stream -v --verbose",
)
_NPX: Final = known_options(
    "-w --workspace --prefix --loglevel",
    "-y --yes --no --no-install --offline --prefer-offline --ignore-existing --workspaces"
    f" {_QUIET}",
    packages="-p --package",
)
_BUNX: Final = known_options(flags=f"-b --bun --no-install {_QUIET}", packages="-p --package")
_YARN: Final = known_options(flags=_QUIET, packages="-p --package")
_DOTENV: Final = known_options("-f --file -e", "-o --override --no-override")
_TIMEOUT: Final = known_options(
    "-s --signal -k --kill-after", "--foreground --preserve-status -v --verbose", skip=1
)

# A name of two words is a program with its subcommand.
_WRAPPERS: Final = {
    "asdf exec": known_options(),
    "bun x": _BUNX,
    "bundle exec": known_options("--gemfile", "--keep-file-descriptors --no-color --verbose"),
    "bunx": _BUNX,
    "caffeinate": known_options("-t -w", "-d -i -m -s -u"),
    "chronic": known_options(flags="-v -e"),
    "command": known_options(flags="-p"),
    "conda run": _CONDA,
    "direnv exec": known_options(skip=1),
    "doas": known_options("-u -C", "-n"),
    "dotenv": _DOTENV,
    "dotenv run": _DOTENV,
    "dotenvx run": known_options("-f --env-file -e --env", f"-o --overload --strict {_QUIET}"),
    # Its -S takes the words of another program.
    "env": known_options("-u --unset", "- -i --ignore-environment --debug"),
    "exec": known_options("-a", "-c -l"),
    "goop-mcp run": known_options(
        "--name --junit --ctrf --tap --coverage --timeout --project --database --project-id",
        "-q --quiet -v --verbose",
    ),
    "gtimeout": _TIMEOUT,
    "hatch run": known_options(),
    "ionice": known_options("-c --class -n --classdata", "-t --ignore"),
    "mamba run": _CONDA,
    "micromamba run": _CONDA,
    "mise exec": known_options("-j --jobs", f"--raw -y --yes {_QUIET}"),
    "mise x": known_options("-j --jobs", f"--raw -y --yes {_QUIET}"),
    "nice": known_options("-n --adjustment", "-1 -2 -3 -4 -5 -6 -7 -8 -9 -10 -15 -19 -20"),
    "nohup": known_options(),
    "npm exec": _NPX,
    "npx": _NPX,
    "php": known_options("-d", "-n -q"),
    "pdm run": known_options("-p --project", "--site-packages --recreate -q --quiet -v --verbose"),
    "pipenv run": known_options(flags="--system -q --quiet -v --verbose"),
    "pipx run": known_options(
        "--python --pip-args",
        "--no-cache -q --quiet -v --verbose",
        packages="--spec",
    ),
    "pixi run": known_options(
        "-e --environment --manifest-path",
        "--frozen --locked --no-install --as-is --clean-env -q --quiet -v --verbose",
    ),
    "pnpm dlx": known_options(flags=_QUIET, packages="--package"),
    "pnpm exec": known_options(
        "--filter -F -C --dir", f"-r --recursive --parallel --stream -w --workspace-root {_QUIET}"
    ),
    "poetry run": known_options(
        "-C --directory -P --project",
        "-q --quiet -v -vv -vvv --verbose -n --no-interaction --ansi --no-ansi --no-plugins"
        " --no-cache",
    ),
    "pyenv exec": known_options(),
    "rbenv exec": known_options(),
    "rye run": known_options("-p --pyproject", "-q --quiet -v --verbose"),
    # With -f it ends before the program.
    "setsid": known_options(flags="-w --wait -c --ctty"),
    "stdbuf": known_options("-i --input -o --output -e --error"),
    "sudo": known_options(
        "-u --user -g --group -C -p -r -t -T",
        "-E -H -n -P -S -A --preserve-env --set-home --non-interactive",
    ),
    "time": known_options(
        "-f --format -o --output", "-p --portability -a --append -q -v --verbose"
    ),
    "timeout": _TIMEOUT,
    "unbuffer": known_options(flags="-p"),
    "uv run": _UV,
    "uvx": _UV,
    "xvfb-run": known_options(
        "-e -f -n -p -s -w --server-num --server-args --error-file",
        "-a --auto-servernum -l --listen-tcp",
    ),
    "yarn dlx": _YARN,
    "yarn exec": _YARN,
}
_PYTHON: Final = known_options("-W -X", "-u -B -O -OO -I -E -s -S -b -bb -d -q -v -P -R")
_MODULE_RUNNERS: Final = {
    "python": _PYTHON,
    "pypy": _PYTHON,
    "py": _PYTHON._replace(flags=_PYTHON.flags | {"-2", "-3"}),
    "coverage run": known_options(
        "--source --rcfile --include --omit --data-file --concurrency --context --source-pkg",
        "-a --append --branch -p --parallel-mode -L --pylib --timid",
    ),
}
"""Programs that run the module named by `-m`."""

WRAPPER_NAMES: Final = frozenset(name.split()[0] for name in (*_WRAPPERS, *_MODULE_RUNNERS))
"""The names of the programs that start another one."""

# These start a program, or else a script that the project calls like this.
_ALSO_SCRIPTS: Final = frozenset({"hatch run", "pdm run", "pixi run", "rye run"})
_SHELLS = frozenset({"ash", "bash", "dash", "ksh", "sh", "zsh"})
# Options with which these read no program of ours before the script.
_SHELL_OPTIONS: Final = frozenset({"--login", "--noprofile", "--norc", "--posix"})
_SHELL_LETTERS: Final = frozenset("abcefhiklmnopqrstuvxBCEHPT")
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
    """Return the program that `words` start in the end, None if a wrapper may start nothing.

    `python -m pytest -q` gives `pytest -q`, `timeout 60 uv run pytest` gives `pytest`.
    """
    left, known = tuple(words), list(variables)
    container: Container | None = None
    for _ in range(_MOST_WRAPPERS):
        if not left:
            return None

        name = name_of(left[0])
        inside = command_in_container(left) if name in CONTAINER_PROGRAMS else None
        if inside is not None and container is None:
            container, left = inside.container, inside.words
            known += inside.variables
            continue

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
            return StartedProgram(left, tuple(known), container)

        rest = after_options(left[taken:], wrapper)
        if rest is None:
            return None
        if name == "env":
            while rest and "=" in rest[0].text and not rest[0].text.startswith(("-", "/")):
                variable, _, value = rest[0].text.partition("=")
                known.append((variable, ShellWord(value, rest[0].literal)))
                rest = rest[1:]

        rest = rest[wrapper.skip :]
        if both in _ALSO_SCRIPTS and _is_script(rest):
            return StartedProgram(left, tuple(known), container)

        left = rest

    return StartedProgram(left, tuple(known), container)


def _is_script(words: Sequence[ShellWord]) -> bool:
    if not words or not is_script_name(words[0].text):
        return False
    arguments = [word.text for word in words[1:]]
    return runner_of(name_of(words[0]), arguments) is None


def _module(
    left: tuple[ShellWord, ...], taken: int, both: str, name: str
) -> tuple[ShellWord, ...] | None:
    runner = _MODULE_RUNNERS.get(both if taken == _PAIR else name)
    if runner is None:
        return None

    at = taken
    while at < len(left) and left[at].text.startswith("-"):
        option, sign, module = left[at].text.partition("m")
        # `-m pytest`, `-um pytest`, `-mpytest`
        if sign and (option == "-" or are_flags(option, runner)):
            return (
                (ShellWord(module, left[at].literal), *left[at + 1 :])
                if module
                else (left[at + 1 :] or None)
            )
        taken_words = words_of_option(left[at:], runner)
        # `-c CODE` and `-` bring a program of their own, `--version` starts none.
        if not taken_words:
            return None
        at += taken_words

    # `python manage.py test` is the program manage.py.
    is_script = at < len(left) and left[at].text.endswith(".py")

    return left[at:] if is_script else None


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
        if option in _SHELL_OPTIONS:
            continue
        # `--version` and `-D` run nothing, `--rcfile` names a file that runs before.
        if not _SHELL_LETTERS.issuperset(option[1:]):
            return ShellScript(None)

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
