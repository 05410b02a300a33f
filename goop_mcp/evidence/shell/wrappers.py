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

    `values` are its options that take the next word as a value, `flags` those without one, and
    `packages` those whose value names what is installed first. With any other option it may start
    something else, or nothing. `skip` is the number of words of its own that come after the
    options.
    """

    values: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()
    packages: frozenset[str] = frozenset()
    skip: int = 0


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


def _wrapper(values: str = "", flags: str = "", *, packages: str = "", skip: int = 0) -> Wrapper:
    return Wrapper(
        frozenset(values.split()), frozenset(flags.split()), frozenset(packages.split()), skip
    )


_QUIET: Final = "-q --quiet -v --verbose -s --silent"
_UV: Final = _wrapper(
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
_CONDA: Final = _wrapper(
    "-n --name -p --prefix --cwd -a --attach",
    "--no-capture-output --live-stream --no-live-stream -v --verbose",
)
_NPX: Final = _wrapper(
    "-w --workspace --prefix --loglevel",
    "-y --yes --no --no-install --offline --prefer-offline --ignore-existing --workspaces"
    f" {_QUIET}",
    packages="-p --package",
)
_BUNX: Final = _wrapper(flags=f"-b --bun --no-install {_QUIET}", packages="-p --package")
_YARN: Final = _wrapper(flags=_QUIET, packages="-p --package")
_DOTENV: Final = _wrapper("-f --file -e", "-o --override --no-override")
_TIMEOUT: Final = _wrapper(
    "-s --signal -k --kill-after", "--foreground --preserve-status -v --verbose", skip=1
)

# A name of two words is a program with its subcommand.
_WRAPPERS: Final = {
    "asdf exec": _wrapper(),
    "bun x": _BUNX,
    "bundle exec": _wrapper("--gemfile", "--keep-file-descriptors --no-color --verbose"),
    "bunx": _BUNX,
    "caffeinate": _wrapper("-t -w", "-d -i -m -s -u"),
    "chronic": _wrapper(flags="-v -e"),
    "command": _wrapper(flags="-p"),
    "conda run": _CONDA,
    "direnv exec": _wrapper(skip=1),
    "doas": _wrapper("-u -C", "-n"),
    "dotenv": _DOTENV,
    "dotenv run": _DOTENV,
    "dotenvx run": _wrapper("-f --env-file -e --env", f"-o --overload --strict {_QUIET}"),
    # Its -S takes the words of another program.
    "env": _wrapper("-u --unset", "- -i --ignore-environment --debug"),
    "exec": _wrapper("-a", "-c -l"),
    "goop-mcp run": _wrapper(
        "--name --junit --ctrf --tap --coverage --timeout --project --database --project-id",
        "-q --quiet -v --verbose",
    ),
    "gtimeout": _TIMEOUT,
    "hatch run": _wrapper(),
    "ionice": _wrapper("-c --class -n --classdata", "-t --ignore"),
    "mamba run": _CONDA,
    "micromamba run": _CONDA,
    "mise exec": _wrapper("-j --jobs", f"--raw -y --yes {_QUIET}"),
    "mise x": _wrapper("-j --jobs", f"--raw -y --yes {_QUIET}"),
    "nice": _wrapper("-n --adjustment", "-1 -2 -3 -4 -5 -6 -7 -8 -9 -10 -15 -19 -20"),
    "nohup": _wrapper(),
    "npm exec": _NPX,
    "npx": _NPX,
    "php": _wrapper("-d", "-n -q"),
    "pdm run": _wrapper("-p --project", "--site-packages --recreate -q --quiet -v --verbose"),
    "pipenv run": _wrapper(flags="--system -q --quiet -v --verbose"),
    "pipx run": _wrapper(
        "--python --pip-args",
        "--no-cache -q --quiet -v --verbose",
        packages="--spec",
    ),
    "pixi run": _wrapper(
        "-e --environment --manifest-path",
        "--frozen --locked --no-install --as-is --clean-env -q --quiet -v --verbose",
    ),
    "pnpm dlx": _wrapper(flags=_QUIET, packages="--package"),
    "pnpm exec": _wrapper(
        "--filter -F -C --dir", f"-r --recursive --parallel --stream -w --workspace-root {_QUIET}"
    ),
    "poetry run": _wrapper(
        "-C --directory -P --project",
        "-q --quiet -v -vv -vvv --verbose -n --no-interaction --ansi --no-ansi --no-plugins"
        " --no-cache",
    ),
    "pyenv exec": _wrapper(),
    "rbenv exec": _wrapper(),
    "rye run": _wrapper("-p --pyproject", "-q --quiet -v --verbose"),
    # With -f it ends before the program.
    "setsid": _wrapper(flags="-w --wait -c --ctty"),
    "stdbuf": _wrapper("-i --input -o --output -e --error"),
    "sudo": _wrapper(
        "-u --user -g --group -C -p -r -t -T",
        "-E -H -n -P -S -A --preserve-env --set-home --non-interactive",
    ),
    "time": _wrapper("-f --format -o --output", "-p --portability -a --append -q -v --verbose"),
    "timeout": _TIMEOUT,
    "unbuffer": _wrapper(flags="-p"),
    "uv run": _UV,
    "uvx": _UV,
    "xvfb-run": _wrapper(
        "-e -f -n -p -s -w --server-num --server-args --error-file",
        "-a --auto-servernum -l --listen-tcp",
    ),
    "yarn dlx": _YARN,
    "yarn exec": _YARN,
}
_PYTHON: Final = _wrapper("-W -X", "-u -B -O -OO -I -E -s -S -b -bb -d -q -v -P -R")
_MODULE_RUNNERS: Final = {
    "python": _PYTHON,
    "pypy": _PYTHON,
    "py": _PYTHON._replace(flags=_PYTHON.flags | {"-2", "-3"}),
    "coverage run": _wrapper(
        "--source --rcfile --include --omit --data-file --concurrency --context --source-pkg",
        "-a --append --branch -p --parallel-mode -L --pylib --timid",
    ),
}
"""Programs that run the module named by `-m`."""

# What the project brings: a name alone is that of a package which others have published.
_OWN_PACKAGE: Final = (".", "~", "$", "/")
# Settings of PHP that name a file to run.
_LOADED_BY_PHP: Final = ("auto_prepend_file", "auto_append_file", "extension", "zend_extension")

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
    runner = _MODULE_RUNNERS.get(both if taken == _PAIR else name)
    if runner is None:
        return None

    at = taken
    while at < len(left) and left[at].text.startswith("-"):
        option, sign, module = left[at].text.partition("m")
        # `-m pytest`, `-um pytest`, `-mpytest`
        if sign and (option == "-" or _are_flags(option, runner)):
            return (
                (ShellWord(module, left[at].literal), *left[at + 1 :])
                if module
                else (left[at + 1 :] or None)
            )
        taken_words = _words_of_option(left[at:], runner)
        # `-c CODE` and `-` bring a program of their own, `--version` starts none.
        if not taken_words:
            return None
        at += taken_words

    # `python manage.py test` is the program manage.py.
    is_script = at < len(left) and left[at].text.endswith(".py")

    return left[at:] if is_script else None


def _after_options(words: tuple[ShellWord, ...], wrapper: Wrapper) -> tuple[ShellWord, ...] | None:
    at = 0
    while at < len(words) and words[at].text.startswith("-"):
        if words[at].text == "--":
            at += 1
            break

        taken = _words_of_option(words[at:], wrapper)
        if not taken:
            return None
        at += taken

    return words[at:]


def _words_of_option(words: Sequence[ShellWord], wrapper: Wrapper) -> int:
    """Return how many words the option takes with which `words` begin, 0 for one not known."""
    text = words[0].text
    option, sign, value = text.partition("=")
    if option in wrapper.flags or _are_flags(text, wrapper):
        return 1

    taken = 1
    if not (sign and text.startswith("--")):
        # `-n5`, and `-n 5`
        option, value = (text[:2], text[2:]) if text[:2] in wrapper.values else (text, "")
        if not value:
            taken, value = 2, words[1].text if len(words) > 1 else ""

    if option in wrapper.packages:
        return taken if _is_published(value) else 0
    if option not in wrapper.values or value.partition("=")[0].strip() in _LOADED_BY_PHP:
        return 0
    return taken


def _are_flags(text: str, wrapper: Wrapper) -> bool:
    """Whether `text` is letters of options without values after one dash, such as `-dim`."""
    letters = text[1:]
    return letters != "" and all(f"-{letter}" in wrapper.flags for letter in letters)


def _is_published(package: str) -> bool:
    """Whether a package is not one of the project, whose own one is installed in any case."""
    if package == "." or package.startswith(".["):
        return True
    scoped = package.startswith("@") and package.count("/") == 1
    return (
        bool(package)
        and not package.startswith(_OWN_PACKAGE)
        and ":" not in package
        and ("/" not in package or scoped)
    )


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
