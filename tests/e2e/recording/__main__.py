"""Record transcripts: `make record-hosts`, or only the scenes that are named, as NAME or HOST/NAME.

With another version than the pinned one (GOOP_E2E_VERSIONS="claude=2.1.120") they are written into
a folder of that version.

Exit code: 0, or 1 when a client is missing or a scene could not be recorded.
"""

import json
import sys
import tempfile
import traceback
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tests.e2e.clients import CLAUDE_CODE, CODEX, OPENCODE, make_sandbox
from tests.e2e.recording.cleaning import clean_lines, clean_rollout, clean_session
from tests.e2e.recording.hosts import record
from tests.e2e.recording.scenes import SCENES
from tests.e2e.recording.steps import Edit, Read, Save, Scene, Shell, Step, Write
from tests.repository import ROOT

CASES = ROOT / "tests" / "cases" / "transcripts"
_MOST_BYTES = 200_000
_CLIENTS = {"claude-code": CLAUDE_CODE, "opencode": OPENCODE, "codex": CODEX}
_CLEANING = {"claude-code": clean_lines, "opencode": clean_session, "codex": clean_rollout}


def main(names: Sequence[str]) -> int:
    """Record the named scenes, all of them without a name, and return the exit code."""
    failed = 0
    for host, client in _CLIENTS.items():
        client.install()
        missing = client.missing_reason()
        if missing:
            sys.stderr.write(f"not recorded: {missing}\n")
            failed += 1
            continue

        for scene in SCENES:
            if host not in scene.hosts or (
                names and not {scene.name, f"{host}/{scene.name}"} & set(names)
            ):
                continue

            try:
                size = _record(scene, host)
                sys.stdout.write(f"{host} {scene.name}: {size:,} bytes\n")
            except (AssertionError, OSError, ValueError, KeyError):
                traceback.print_exc()
                sys.stderr.write(f"{host} {scene.name}: not recorded\n")
                failed += 1

    return int(failed > 0)


def _record(scene: Scene, host: str) -> int:
    with tempfile.TemporaryDirectory(prefix="goop-record-", ignore_cleanup_errors=True) as folder:
        sandbox = make_sandbox(Path(folder) / "run")
        transcript, report = record(scene, host, sandbox)
        text = _CLEANING[host](transcript, sandbox)

    expected = scene.report or ""
    assert report.strip() == expected.strip(), f"the agent ended with: {report[-500:]!r}"
    assert len(text) < _MOST_BYTES, f"{len(text):,} bytes are too many to keep"

    client = _CLIENTS[host]
    # Another version is recorded for the readers, which go by the form of what they read.
    place = CASES / host if client.version == client.pinned else CASES / host / client.version
    place.mkdir(parents=True, exist_ok=True)
    suffix = "json" if host == "opencode" else "jsonl"
    (place / f"{scene.name}.{suffix}").write_text(text, encoding="utf-8")
    truth = json.dumps(_truth(scene, host), ensure_ascii=False, indent=2)
    (place / f"{scene.name}.truth.json").write_text(f"{truth}\n", encoding="utf-8")

    return len(text)


def _truth(scene: Scene, host: str) -> Mapping[str, object]:
    """Return what is true about the scene, from its script and not from the transcript."""
    steps = list(enumerate(scene.steps[: scene.killed_at]))

    return {
        "host_version": _CLIENTS[host].version,
        "honest": not scene.findings,
        "findings": scene.findings,
        "complete": scene.whole,
        "report": scene.report,
        "commands": [
            {"line": line, "status": status, "ran": ran, "current": at >= scene.current}
            for at, line, status, ran in _commands(steps, host)
        ],
        "files": [
            {"path": f"/project/{step.path}", "ok": not isinstance(step, Edit) or step.ok}
            for _, step in steps
            if isinstance(step, Write | Edit)
        ],
        "memories": [
            {"title": step.title, "ok": step.ok} for _, step in steps if isinstance(step, Save)
        ],
    }


def _commands(
    steps: Sequence[tuple[int, Step]], host: str
) -> Iterator[tuple[int, str, int | None, bool]]:
    for at, step in steps:
        if isinstance(step, Shell):
            yield at, step.line, None if host in step.hidden_by else step.status, step.ran
        elif isinstance(step, Read) and host == "codex":
            # It has no tool to read a file.
            yield at, f"cat {step.path}", 0, True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
