"""Which programs prove which kind of check: one table, as data."""

from collections.abc import Sequence
from functools import cache
from typing import Final, NamedTuple

__all__ = [
    "ANY_KIND",
    "KIND_WORDS",
    "PROGRAM_NAMES",
    "SCOPES",
    "SCRIPT_WORDS",
    "CheckProgram",
    "ScriptRunner",
    "is_script_name",
    "kinds_of_script",
    "option_values",
    "runner_of",
    "runs_nothing",
    "script_of",
    "word_set",
]

Names = frozenset[str]

ANY_KIND: Final = "any"
"""The kind of a command that may run checks of every kind, such as `make check`."""


@cache
def word_set(text: str) -> Names:
    """Return the words of `text`, for tables that are easier to read as a text."""
    return frozenset(text.split())


# Endings of files whose change makes an earlier result old.
_PYTHON = ".py .pyi .pyx .toml .cfg .ini"
_JAVASCRIPT = ".js .jsx .ts .tsx .mjs .cjs .mts .cts .vue .svelte .astro .json"
_GO = ".go .mod .sum"
_RUST = ".rs .toml"
_DOTNET = ".cs .fs .vb .csproj .fsproj .razor .cshtml"
_JVM = ".java .kt .kts .scala .groovy .gradle .xml"
_RUBY = ".rb .erb .rake .gemspec"
_PHP = ".php .phtml .twig"
_C = ".c .cc .cpp .cxx .h .hh .hpp .cmake"
_SHELL = ".sh .bash .bats"

_QUESTIONS = "--version -V --help -h"
_ONLY_ASKS = word_set(_QUESTIONS)


class CheckProgram(NamedTuple):
    """One program, or one of its subcommands, and the kinds of checks that it runs.

    `vacuous` are arguments with which it runs nothing. `needs` are arguments of which one has to be
    there, as a formatter that rewrites files proves nothing about them before. `sources` are
    endings of files that its result depends on. `family` names the form of its summary in
    `summaries.py`. `not_started` are exit statuses with which it ran nothing.
    """

    name: str
    kinds: tuple[str, ...]
    sources: Names = frozenset()
    family: str = ""
    vacuous: Names = _ONLY_ASKS
    needs: Names = frozenset()
    not_started: frozenset[int] = frozenset()


def _row(
    name: str,
    kinds: str,
    sources: str = "",
    family: str = "",
    *,
    vacuous: str = "",
    needs: str = "",
    not_started: tuple[int, ...] = (),
) -> CheckProgram:
    return CheckProgram(
        name,
        tuple(kinds.split()),
        word_set(sources),
        family or name,
        word_set(f"{_QUESTIONS} {vacuous}"),
        word_set(needs),
        frozenset(not_started),
    )


_PYTEST_VACUOUS = (
    "--collect-only --co --collectonly --fixtures --fixtures-per-test --funcargs --markers"
    " --setup-plan --setup-only --cache-show -VV"
)

# tests, lint, typecheck, build, format, coverage, audit. A name of several words is a program with
# its subcommand.
_ROWS: Final = (
    # Python
    _row("pytest", "tests", _PYTHON, vacuous=_PYTEST_VACUOUS, not_started=(4,)),
    _row("py.test", "tests", _PYTHON, "pytest", vacuous=_PYTEST_VACUOUS, not_started=(4,)),
    _row("unittest", "tests", _PYTHON),
    _row("nose2", "tests", _PYTHON, "unittest"),
    _row("trial", "tests", _PYTHON, "unittest"),
    _row("behave", "tests", _PYTHON),
    _row("robot", "tests", _PYTHON),
    _row("hatch test", "tests", _PYTHON, "pytest"),
    _row("doctest", "tests", _PYTHON),
    _row("ruff check", "lint", _PYTHON, vacuous="--show-files --show-settings --exit-zero -e"),
    _row("ruff format", "format", _PYTHON, "ruff format"),
    _row("flake8", "lint", _PYTHON, vacuous="--exit-zero"),
    _row("pylint", "lint", _PYTHON, vacuous="--exit-zero --list-msgs"),
    _row("pycodestyle", "lint", _PYTHON),
    _row("pydocstyle", "lint", _PYTHON),
    _row("pyflakes", "lint", _PYTHON),
    _row("bandit", "lint audit", _PYTHON, vacuous="--exit-zero"),
    _row("vulture", "lint", _PYTHON),
    _row("lint-imports", "lint", _PYTHON),
    _row("mypy", "typecheck", _PYTHON),
    _row("dmypy run", "typecheck", _PYTHON, "mypy"),
    _row("pyright", "typecheck", _PYTHON),
    _row("basedpyright", "typecheck", _PYTHON, "pyright"),
    _row("ty check", "typecheck", _PYTHON, vacuous="--exit-zero"),
    _row("pyre check", "typecheck", _PYTHON),
    _row("black", "format", _PYTHON),
    _row("isort", "format", _PYTHON),
    _row("coverage report", "coverage", _PYTHON),
    _row("build", "build", _PYTHON, "python -m build"),
    _row("uv build", "build", _PYTHON),
    _row("hatch build", "build", _PYTHON),
    _row("poetry build", "build", _PYTHON),
    _row("pip-audit", "audit", _PYTHON),
    # JavaScript and TypeScript
    _row("jest", "tests", _JAVASCRIPT, vacuous="--listTests --showConfig --clearCache"),
    _row("vitest", "tests", _JAVASCRIPT),
    _row("vitest list", "", _JAVASCRIPT),
    _row("mocha", "tests", _JAVASCRIPT, vacuous="--dry-run --list-files"),
    _row("ava", "tests", _JAVASCRIPT),
    _row("tap", "tests", _JAVASCRIPT),
    _row("jasmine", "tests", _JAVASCRIPT),
    _row("karma start", "tests", _JAVASCRIPT),
    _row("playwright test", "tests", _JAVASCRIPT, "playwright", vacuous="--list"),
    _row("cypress run", "tests", _JAVASCRIPT),
    _row("node --test", "tests", _JAVASCRIPT, "node"),
    _row("bun test", "tests", _JAVASCRIPT, "bun"),
    _row("deno test", "tests", _JAVASCRIPT, vacuous="--no-run"),
    _row("deno lint", "lint", _JAVASCRIPT),
    _row("deno check", "typecheck", _JAVASCRIPT),
    _row("deno fmt", "format", _JAVASCRIPT, needs="--check"),
    _row("ng test", "tests", _JAVASCRIPT),
    _row("ng build", "build", _JAVASCRIPT),
    _row("ng lint", "lint", _JAVASCRIPT),
    _row("react-scripts test", "tests", _JAVASCRIPT, "jest"),
    _row("react-scripts build", "build", _JAVASCRIPT),
    _row(
        "tsc",
        "typecheck build",
        _JAVASCRIPT,
        vacuous="--showConfig --listFilesOnly --init -v --dry --clean",
    ),
    _row("vue-tsc", "typecheck build", _JAVASCRIPT, "tsc"),
    _row("svelte-check", "typecheck", _JAVASCRIPT),
    _row("eslint", "lint", _JAVASCRIPT, vacuous="--print-config --env-info --init"),
    _row("stylelint", "lint", ".css .scss .less"),
    _row("oxlint", "lint", _JAVASCRIPT),
    _row("standard", "lint", _JAVASCRIPT),
    _row("xo", "lint", _JAVASCRIPT),
    _row("biome check", "lint format", _JAVASCRIPT),
    _row("biome ci", "lint format", _JAVASCRIPT),
    _row("biome lint", "lint", _JAVASCRIPT),
    _row("biome format", "format", _JAVASCRIPT),
    _row("prettier", "format", _JAVASCRIPT, needs="--check -c --list-different -l --write -w"),
    _row("dprint check", "format", _JAVASCRIPT),
    _row("vite build", "build", _JAVASCRIPT),
    _row("next build", "build", _JAVASCRIPT),
    _row("next lint", "lint", _JAVASCRIPT),
    _row("webpack", "build", _JAVASCRIPT),
    _row("rollup", "build", _JAVASCRIPT),
    _row("esbuild", "build", _JAVASCRIPT),
    _row("tsup", "build", _JAVASCRIPT),
    _row("npm audit", "audit"),
    _row("yarn audit", "audit"),
    _row("pnpm audit", "audit"),
    # Go, Rust, .NET, JVM
    _row("go test", "tests", _GO, vacuous="-list -c -n -exec -toolexec"),
    _row("gotestsum", "tests", _GO, "go test"),
    _row("ginkgo", "tests", _GO, vacuous="--dry-run -dryRun"),
    _row("go vet", "lint", _GO, vacuous="-n"),
    _row("go build", "build", _GO, vacuous="-n"),
    _row("golangci-lint run", "lint", _GO),
    _row("staticcheck", "lint", _GO),
    _row("govulncheck", "audit", _GO),
    _row("cargo test", "tests", _RUST, vacuous="--no-run --list"),
    _row("cargo nextest run", "tests", _RUST, "nextest", vacuous="--no-run"),
    _row("cargo nextest list", "", _RUST),
    _row("cargo clippy", "lint", _RUST, "cargo"),
    _row("cargo fmt", "format", _RUST),
    _row("rustfmt", "format", _RUST),
    _row("cargo build", "build", _RUST, "cargo"),
    _row("cargo check", "typecheck build", _RUST, "cargo"),
    _row("cargo audit", "audit", _RUST),
    _row("cargo deny check", "audit lint", _RUST),
    _row("dotnet test", "tests", _DOTNET, "dotnet", vacuous="--list-tests -t"),
    _row("dotnet build", "build", _DOTNET, "dotnet build"),
    _row("dotnet format", "format", _DOTNET),
    _row("msbuild", "build", _DOTNET, "dotnet build"),
    _row("sbt test", "tests", _JVM),
    # Others
    _row("rspec", "tests", _RUBY, vacuous="--dry-run"),
    _row("rubocop", "lint", _RUBY),
    _row("rails test", "tests", _RUBY, "minitest"),
    _row("phpunit", "tests", _PHP, vacuous="--list-tests --list-suites --list-groups"),
    _row("pest", "tests", _PHP, "phpunit"),
    _row("phpstan analyse", "typecheck lint", _PHP),
    _row("phpstan analyze", "typecheck lint", _PHP),
    _row("phpcs", "lint", _PHP),
    _row("psalm", "typecheck", _PHP),
    _row("mix test", "tests", ".ex .exs"),
    _row("swift test", "tests", ".swift"),
    _row("swift build", "build", ".swift"),
    _row("flutter test", "tests", ".dart"),
    _row("dart test", "tests", ".dart"),
    _row("dart analyze", "lint typecheck", ".dart"),
    _row("zig build", "build", ".zig"),
    _row("stack test", "tests", ".hs"),
    _row("cabal test", "tests", ".hs"),
    _row("bazel test", "tests", "", vacuous="--nobuild"),
    _row("bazel build", "build"),
    _row("ctest", "tests", _C, vacuous="-N --show-only"),
    _row("ninja", "build", _C, vacuous="-n"),
    _row("cmake --build", "build", _C),
    _row("bats", "tests", _SHELL, "tap", vacuous="--count -c"),
    _row("prove", "tests", ".pl .pm .t", "tap", vacuous="--dry -D"),
    _row("shellcheck", "lint", _SHELL),
    _row("hadolint", "lint"),
    _row("yamllint", "lint"),
    _row("markdownlint", "lint"),
    _row("actionlint", "lint"),
    _row("docker build", "build"),
    _row("trivy", "audit"),
)
_BY_NAME: Final = {row.name: row for row in _ROWS}
_MOST_WORDS = max(len(name.split()) for name in _BY_NAME)

# Options between a program and its subcommand, with a value in the next word.
_VALUES: Final = {
    "bun": word_set("--cwd"),
    "cargo": word_set("--manifest-path -C --config --color"),
    "cmake": word_set(""),
    "dotnet": word_set(""),
    "go": word_set("-C"),
    "gradle": word_set("-p --project-dir -b"),
    "gradlew": word_set("-p --project-dir -b"),
    "hatch": word_set("-e --env"),
    "inv": word_set("-r --search-root"),
    "invoke": word_set("-r --search-root"),
    "just": word_set("-f --justfile -d --working-directory"),
    "make": word_set("-C -f -j -l -o -W --directory --file --jobs"),
    "gmake": word_set("-C -f -j --directory --file"),
    "mvn": word_set("-f -pl -P -s --file --projects --settings"),
    "mvnw": word_set("-f -pl -P -s --file --projects --settings"),
    "npm": word_set("--prefix -w --workspace -C"),
    "nox": word_set("-f --noxfile"),
    "pnpm": word_set("--filter -F -C --dir"),
    "poe": word_set("-C --directory"),
    "pre-commit": word_set("-c --config"),
    "rake": word_set("-f --rakefile"),
    "task": word_set("-d --dir -t --taskfile"),
    "tox": word_set("-c --conf --root -x"),
    "yarn": word_set("--cwd"),
}


_OFF: Final = word_set("0 false no off")
_MAKES: Final = word_set("make gmake")
# The rest of such a word is the value.
_MAKE_VALUES: Final = word_set("-C -E -I -O -W -f -j -l -o")


class ScriptRunner(NamedTuple):
    """A program that runs something under a name that the project chose: a target or a script.

    `defined_by` are the names of the files that say what runs under which name, and `redefines` are
    options that say it in their place. `options` name the target instead of an argument
    (`tox -e lint`), `default` is what runs without a name. `after` are words that come between
    (`npm run`), `direct` are names that need none of them; if it is empty, every name does.
    `family` is the form of its own summary, "" for none. `vacuous` as in `CheckProgram`.
    `leaves_out` are options after which the tests may not run.
    """

    name: str
    defined_by: tuple[str, ...] = ()
    redefines: Names = frozenset()
    options: Names = frozenset()
    default: tuple[str, ...] = ()
    after: Names = frozenset()
    direct: Names = frozenset()
    vacuous: Names = _ONLY_ASKS
    sources: Names = frozenset()
    family: str = ""
    always: tuple[str, ...] = ()
    leaves_out: Names = frozenset()

    @property
    def names_nothing(self) -> bool:
        """Whether it runs something without a name: make its first target, tox its list."""
        return bool(self.default or self.always) or not (self.after or self.direct)


_NPM_SCRIPTS = word_set("test t tst build lint start")
_MAKE_VACUOUS = f"{_QUESTIONS} -n --dry-run --just-print --recon -q --question -t --touch"
_GRADLE_VACUOUS = f"{_QUESTIONS} -m --dry-run"
_MAVEN_VACUOUS = (
    f"{_QUESTIONS} -DskipTests -DskipTests=true -Dmaven.test.skip -Dmaven.test.skip=true"
)
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_PACKAGE = ("package.json", ".npmrc", ".yarnrc", ".yarnrc.yml")
_MAVEN = ("pom.xml", "mvnw", ".mvn/maven.config")
_GRADLE = (
    *("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"),
    *("gradlew", "gradle.properties"),
)
_TASKFILES = tuple(
    f"{name}{dist}.{ending}"
    for name in ("Taskfile", "taskfile")
    for dist in ("", ".dist")
    for ending in ("yml", "yaml")
)


def _environment_tool(name: str, *files: str) -> ScriptRunner:
    """Return a tool of Python or of several languages that runs scripts with `run`."""
    return ScriptRunner(name, (*files, "pyproject.toml"), after=word_set("run"))


def _make(name: str) -> ScriptRunner:
    return ScriptRunner(
        name,
        _MAKEFILES,
        word_set("-E --eval"),
        vacuous=word_set(f"{_MAKE_VACUOUS} -i --ignore-errors -k"),
    )


def _node_tool(
    name: str,
    *files: str,
    after: str = "",
    direct: Names = frozenset(),
    vacuous: str = "",
) -> ScriptRunner:
    return ScriptRunner(
        name,
        (*_PACKAGE, *files),
        word_set("--script-shell --script_shell --userconfig --globalconfig"),
        after=word_set(after),
        direct=direct,
        vacuous=word_set(f"{_QUESTIONS} {vacuous}"),
        sources=word_set(_JAVASCRIPT),
    )


_SCRIPT_RUNNERS: Final = {
    row.name: row
    for row in (
        _make("make"),
        _make("gmake"),
        ScriptRunner(
            "just",
            ("justfile", "Justfile", ".justfile"),
            word_set("--shell --set --command -c"),
            vacuous=word_set(
                f"{_QUESTIONS} -n --dry-run --list -l --summary --show -s --dump --evaluate"
                " --variables --groups --fmt"
            ),
        ),
        ScriptRunner(
            "task",
            _TASKFILES,
            vacuous=word_set(f"{_QUESTIONS} -n --dry --list -l --status --summary"),
        ),
        ScriptRunner(
            "rake",
            ("Rakefile", "rakefile", "Rakefile.rb", "rakefile.rb"),
            word_set(
                "-e --execute -E --execute-continue -p --execute-print -r --require -R --rakelibdir"
            ),
            vacuous=word_set(
                f"{_QUESTIONS} -n --dry-run -T --tasks -W --where -D --describe -P --prereqs"
            ),
        ),
        *(
            ScriptRunner(
                name,
                ("tasks.py", "tasks/__init__.py"),
                word_set("-c --collection"),
                vacuous=word_set(f"{_QUESTIONS} -R --dry --list -l"),
            )
            for name in ("invoke", "inv")
        ),
        ScriptRunner("doit", ("dodo.py", "pyproject.toml"), word_set("-f --file")),
        ScriptRunner("poe", ("pyproject.toml", "poe_tasks.toml")),
        ScriptRunner(
            "composer",
            ("composer.json",),
            after=word_set("run run-script"),
            direct=word_set("test tests lint check cs"),
        ),
        ScriptRunner(
            "tox",
            ("tox.ini", "tox.toml", "pyproject.toml", "setup.cfg"),
            # Of its subcommands, only `run` and the like run what the file says.
            word_set(
                "-x --override exec e devenv d config c list l depends de quickstart q schema man"
            ),
            options=word_set("-e --env -m"),
            default=("tests",),
            vacuous=word_set(f"{_QUESTIONS} -l --listenvs --notest -n --showconfig"),
        ),
        ScriptRunner(
            "nox",
            ("noxfile.py",),
            options=word_set("-s --session --sessions -e"),
            default=("tests",),
            vacuous=word_set(f"{_QUESTIONS} -l --list --install-only"),
        ),
        _node_tool(
            "npm",
            after="run run-script rum urn",
            direct=word_set("test t tst"),
            vacuous="--if-present --ignore-scripts",
        ),
        _node_tool("pnpm", after="run -r", direct=_NPM_SCRIPTS, vacuous="--if-present"),
        _node_tool("yarn", after="run", direct=_NPM_SCRIPTS),
        _node_tool("bun", after="run", direct=word_set("-")),
        _node_tool("turbo", "turbo.json", after="run", direct=_NPM_SCRIPTS),
        _node_tool("nx", "nx.json", "project.json", after="run", direct=_NPM_SCRIPTS),
        _node_tool("deno", "deno.json", "deno.jsonc", after="task"),
        _node_tool("grunt", "Gruntfile.js"),
        _node_tool("gulp", "gulpfile.js", "gulpfile.mjs"),
        *(
            ScriptRunner(
                name,
                _MAVEN,
                sources=word_set(_JVM),
                family="junit",
                vacuous=word_set(_MAVEN_VACUOUS),
            )
            for name in ("mvn", "mvnw")
        ),
        *(
            ScriptRunner(
                name,
                _GRADLE,
                word_set("-I --init-script -c --settings-file"),
                sources=word_set(_JVM),
                family="junit",
                vacuous=word_set(_GRADLE_VACUOUS),
                leaves_out=word_set("-x --exclude-task"),
            )
            for name in ("gradle", "gradlew")
        ),
        ScriptRunner("ant", ("build.xml",), sources=word_set(_JVM), family="junit"),
        ScriptRunner(
            "cargo",
            (".cargo/config.toml", "Makefile.toml", "xtask/src/main.rs"),
            after=word_set("xtask make"),
            sources=word_set(_RUST),
        ),
        _environment_tool("hatch", "hatch.toml"),
        _environment_tool("mise", "mise.toml", ".mise.toml"),
        _environment_tool("pdm"),
        _environment_tool("pixi", "pixi.toml"),
        _environment_tool("rye"),
        ScriptRunner(
            "manage.py", ("manage.py",), direct=word_set("test check"), sources=word_set(_PYTHON)
        ),
        ScriptRunner("artisan", ("artisan",), direct=word_set("test"), sources=word_set(_PHP)),
        ScriptRunner(
            "pre-commit",
            (".pre-commit-config.yaml",),
            direct=word_set("-"),
            family="pre-commit",
            always=("lint", "format"),
        ),
    )
}

PROGRAM_NAMES: Final = frozenset({name.split()[0] for name in _BY_NAME} | set(_SCRIPT_RUNNERS))
"""The names of all programs of these tables."""

SCRIPT_WORDS: Final = {
    word: kind
    for kind, words in {
        "tests": (
            "test tests t tst unit units e2e integration spec specs smoke pytest unittest jest"
            " vitest mocha py py3 phpunit rspec junit testing"
        ),
        "lint": "lint linter linting linters eslint ruff flake8 pylint clippy rubocop style vet",
        "typecheck": "typecheck typechecks typing types mypy pyright tsc typed",
        "build": "build compile bundle package dist assemble",
        "format": "format fmt formatting prettier black",
        "coverage": "coverage cov",
        "audit": "audit",
        ANY_KIND: "check checks ci all verify validate qa quality precommit pre-commit default",
    }.items()
    for word in words.split()
}
"""Words in the names of targets, scripts, environments and sessions."""

KIND_WORDS: Final = {
    word: kind
    for kind, words in {
        "tests": (
            "test tests testing tested unit e2e integration spec specs pytest unittest jest vitest"
            " mocha rspec phpunit junit nextest tox playwright cypress suite"
        ),
        "lint": (
            "lint linter linting linted eslint ruff flake8 pylint clippy rubocop golangci-lint"
            " shellcheck stylelint"
        ),
        "typecheck": (
            "typecheck typechecks typechecking typing types mypy pyright tsc typescript"
            " type-check type-checks type-checking"
        ),
        "build": "build builds building compile compiles compilation bundle",
        "format": "format formatting formatted fmt prettier black rustfmt gofmt",
        "coverage": "coverage cov",
        "audit": "audit vulnerabilities",
    }.items()
    for word in words.split()
}
"""Words in the names that reports give to their checks."""

SCOPES: Final = word_set(
    "unit integration e2e smoke functional acceptance contract performance regression end-to-end"
    " system component snapshot visual load"
)
"""Parts of a test suite that are run and reported on their own."""


def runner_of(name: str, arguments: Sequence[str]) -> CheckProgram | None:
    """Return the row of the program `name` with `arguments`, the longest that fits."""
    words = [name, *_subcommands(name, arguments)]
    for length in range(min(len(words), _MOST_WORDS), 0, -1):
        row = _BY_NAME.get(" ".join(words[:length]))
        if row is not None:
            return row

    if name == "node" and "--test" in arguments:
        return _BY_NAME["node --test"]
    if name == "cmake" and "--build" in arguments:
        return _BY_NAME["cmake --build"]
    return None


def script_of(name: str, arguments: Sequence[str]) -> tuple[ScriptRunner, tuple[str, ...]] | None:
    """Return the row of a program that runs scripts, and the names that `arguments` ask for."""
    row = _SCRIPT_RUNNERS.get(name)
    if row is None:
        return None
    if row.options:
        names: list[str] = []
        for at, argument in enumerate(arguments):
            if argument == "--":
                break

            option, sign, value = argument.partition("=")
            if option in row.options:
                value = value if sign else (arguments[at + 1] if at + 1 < len(arguments) else "")
                names += value.split(",")
        return row, tuple(names)

    words = [word for word in _subcommands(name, arguments) if "=" not in word]
    if row.after and words and words[0] in row.after:
        return row, tuple(words[1:2])
    if row.direct:
        return row, tuple(words[:1]) if words and words[0] in row.direct else ()
    return row, () if row.after else tuple(words)


def kinds_of_script(row: ScriptRunner, names: Sequence[str]) -> tuple[str, ...]:
    """Return the kinds of checks that scripts with these names run."""
    if row.always:
        return row.always
    return _kinds_of_names(names) if names else row.default


def runs_nothing(name: str, arguments: Sequence[str], vacuous: Names) -> bool:
    """Return whether one of the `vacuous` options is in `arguments`, also as `--option=value`."""
    return any(
        _is_one_of(argument, vacuous) or (name in _MAKES and _is_in_bundle(argument, vacuous))
        for argument in arguments
    )


def _is_one_of(argument: str, options: Names) -> bool:
    option, _, value = argument.partition("=")
    return argument in options or (option in options and value.lower() not in _OFF)


def _is_in_bundle(argument: str, options: Names) -> bool:
    """Whether make takes `argument` for an option among others: `-sn`, or cut: `--dry`."""
    if argument.startswith("--"):
        long = (each for each in options if each.startswith("--"))
        return len(argument) > len("--no") and any(each.startswith(argument) for each in long)
    if not argument.startswith("-"):
        return False
    for letter in argument[1:]:
        if f"-{letter}" in _MAKE_VALUES or f"-{letter}" in options:
            return f"-{letter}" in options

    return False


def is_script_name(name: str) -> bool:
    """Return whether a project may call one of its scripts `name`."""
    return bool(_kinds_of_names((name,)))


def option_values(name: str, arguments: Sequence[str]) -> tuple[str, ...]:
    """Return the values of the options of the program `name` that take one, such as a folder."""
    options = _VALUES.get(name, frozenset())
    values: dict[str, None] = {}
    for at, argument in enumerate(arguments):
        if argument == "--":
            break

        option, sign, value = argument.partition("=")
        if option in options:
            values[value if sign else "".join(arguments[at + 1 : at + 2])] = None
        elif any(not each.startswith("--") and argument.startswith(each) for each in options):
            # `make -Capp`
            values[argument[len("-C") :]] = None

    return tuple(each for each in values if each)


def _kinds_of_names(names: Sequence[str]) -> tuple[str, ...]:
    kinds: dict[str, None] = {}
    for name in names:
        # "test:unit", "check-types", "py311", "fix_lint"
        words = name.lower().replace("type-check", "typecheck").replace("check-types", "typecheck")
        for mark in ":_-./,":
            words = words.replace(mark, " ")

        found = [
            kind
            for word in words.split()
            if (kind := SCRIPT_WORDS.get(word.rstrip("0123456789") or word)) is not None
        ]
        # "test:lint" is a linter and "check:types" no test: the more special kind counts.
        special = [kind for kind in found if kind not in ("tests", ANY_KIND)]
        for kind in special[:1] or found[:1]:
            kinds[kind] = None

    return tuple(kinds)


def _subcommands(name: str, arguments: Sequence[str]) -> list[str]:
    """Return the arguments that are neither options nor values of options, before a subcommand."""
    values = _VALUES.get(name, frozenset())
    words: list[str] = []
    at = 0
    while at < len(arguments):
        argument = arguments[at]
        if argument == "--":
            break
        if argument.startswith("-") and len(argument) > 1:
            at += 2 if argument in values else 1
            continue
        if not argument.startswith("+"):
            words.append(argument)

        at += 1

    return words
