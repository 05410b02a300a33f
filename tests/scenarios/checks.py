"""What has to be true of a project after every step of a play, whoever looks at it.

Nothing here asks the server that is tested: files are read as they are on the disk, the database is
opened by another process context, and only at the end the answers of the server are compared. Where
many machines share the database, a document is what it shows in place of a file.
"""

import difflib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goop_mcp.cli.demo.full_player import PlayStep, ProjectPosition, ToolAnswer, position_of
from goop_mcp.cli.demo.full_story import PEOPLES_NOTE
from goop_mcp.context import AppContext
from goop_mcp.services.project_status import project_status
from goop_mcp.settings import Settings
from goop_mcp.store.interface import ReadTransaction
from goop_mcp.workflow.task_ids import is_report_key
from goop_mcp.workspace import layout
from goop_mcp.workspace.checkpoints import checkpoint_path
from goop_mcp.workspace.documents.handoff import read_handoff
from goop_mcp.workspace.file_changes import CHECKPOINT, plan_archive
from goop_mcp.workspace.layout import document_uri

__all__ = [
    "Files",
    "Reader",
    "changed",
    "check_changes",
    "check_documents",
    "check_rows",
    "files_of",
]

FOLDER = ".goopspec"
DOCUMENTS = ("state.json", "CHRONICLE.md", "HANDOFF.md", "ADL.md", "SPEC.md", "BLUEPRINT.md")
# Without the folder CHRONICLE.md and ADL.md have our entries, and not what people wrote there.
SHARED = ("state.json", "HANDOFF.md", "SPEC.md", "BLUEPRINT.md")
PEOPLES = ("REQUIREMENTS.md", "BLUEPRINT.md", "RESEARCH.md", "SPEC.md")

# The database, its locks, and files that are being written.
_NOT_COMPARED = re.compile(r"goop\.db.*|\.lock|\..*\.goop-tmp")
# The lines of SPEC.md that the lock and an amendment may change.
_OURS_IN_SPEC = re.compile(
    r"\*\*(?:Version|Last Updated|Status|Locked|Locked At):\*\* .*"
    r"|\| [^|]* \| [^|]* \| amended \|.*"
)

Files = Mapping[str, bytes]
"""The files of the project's folder by their paths in it."""


def files_of(project: Path) -> Files:
    """Return the files in the folder of the project, without those of this machine."""
    home = project / FOLDER
    return {
        path.relative_to(home).as_posix(): path.read_bytes()
        for path in sorted(home.rglob("*"))
        if path.is_file() and not _NOT_COMPARED.fullmatch(path.name)
    }


def changed(before: Files, after: Files) -> set[str]:
    """Return the paths that were added, changed or removed."""
    return {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}


def check_changes(step: PlayStep, answer: ToolAnswer | None, before: Files, after: Files) -> None:
    """Assert that the call changed only what the step may change and the answer names."""
    found = changed(before, after)
    unexpected = {
        path
        for path in found
        if not any(
            path == each or (each.endswith("/") and path.startswith(each)) for each in step.changes
        )
    }
    assert not unexpected, f"{step.name} changed {sorted(unexpected)}"

    for name in PEOPLES:
        if name in found and step.name != "init":
            _check_ours_in_spec(name, before[name].decode(), after[name].decode())

    if answer is not None and step.person is None:
        named = set(_named_files(answer.values)) | {"state.json"}
        assert found <= named, f"{step.name} does not name {sorted(found - named)}"

    if answer is not None and step.person is not None and answer.status == "done":
        logs = [files.get("ADL.md", b"").count(b"Confirmed: ") for files in (before, after)]
        assert logs[1] > logs[0], f"ADL.md does not say who confirmed {step.name}"

    # A line of a person is where the person wrote it, whatever we write around it.
    was, now = before.get("CHRONICLE.md", b"").decode(), after.get("CHRONICLE.md", b"").decode()
    if PEOPLES_NOTE in was:
        assert now.count(PEOPLES_NOTE) == 1


def _check_ours_in_spec(name: str, before: str, after: str) -> None:
    assert name == "SPEC.md", f"{name} belongs to people, and a call changed it"
    lines = difflib.ndiff(before.splitlines(), after.splitlines())
    different = [line[2:] for line in lines if line[:2] in ("- ", "+ ")]
    others = [line for line in different if not _OURS_IN_SPEC.fullmatch(line)]
    assert not others, f"the call changed lines of people: {others}"


def _named_files(values: Mapping[str, Any]) -> Iterable[str]:
    """Return the documents that an answer names, as files or as resources."""
    written = values.get("written", {})
    named = [*values.get("files", ()), *written.get("files", ())]
    named += [*values.get("resources", ()), *written.get("resources", ())]
    named += [each for key in ("path", "resource") if isinstance(each := values.get(key), str)]
    return (each.removeprefix(f"{FOLDER}/").removeprefix(document_uri("")) for each in named)


def check_documents(files: Files, position: ProjectPosition, *, is_edited: bool) -> None:
    """Assert that state.json, CHRONICLE.md and SPEC.md show `position`.

    `is_edited` is whether people changed documents since the last change of ours: CHRONICLE.md
    follows with the next one.
    """
    if not position.exists:
        assert files == {}
        return

    workflow = json.loads(files["state.json"])["workflow"]
    assert {
        "phase": workflow["phase"],
        "status": workflow["status"],
        "interview": workflow["interviewComplete"],
        "locked": workflow["specLocked"],
        "wave": workflow["currentWave"],
    } == {
        "phase": position.phase,
        "status": position.phase,
        "interview": position.interview,
        "locked": position.locked,
        "wave": position.wave,
    }
    if position.locked:
        assert "**Locked:** Yes" in files["SPEC.md"].decode()
    else:
        assert "**Locked:** Yes" not in files["SPEC.md"].decode()

    if not is_edited:
        _check_block(files["CHRONICLE.md"].decode(), position)


def _check_block(chronicle: str, position: ProjectPosition) -> None:
    """Assert that the block at the top, which agents read first, shows `position`."""
    match = re.search(
        r"<!-- goop:state (\d+) [0-9a-f]+ -->\n(.*?)\n<!-- goop:end-state \1 -->",
        chronicle,
        re.DOTALL,
    )
    assert match is not None, f"CHRONICLE.md has no block of ours: {chronicle[:300]}"
    block = match[2]
    left = [task for task in position.planned if task not in position.done]
    rows = {
        "Current Phase": position.phase,
        "Tasks": f"{len(position.done)}/{len(position.planned)}" if position.planned else None,
        "Next Step": f"`{position.next}`",
    }
    shown = dict(re.findall(r"^- \*\*(.*?):\*\* (.*)$", block, re.MULTILINE))
    shown.pop("Wave", None)
    waiting = f"{len(position.waiting) or 'nothing'} when this was written; "
    assert shown.pop("Waiting").startswith(waiting)
    is_closed = "" if position.is_open else " (closed: "
    assert shown.pop("Round").startswith(f"{position.round}{is_closed}")
    assert shown == {name: str(value) for name, value in rows.items() if value is not None}

    listed = re.findall(r"^- (W\d+\.T\d+) .*: (\w+)$", block, re.MULTILINE)
    assert dict(listed) == {
        task: "failed"
        if task in position.failed
        else ("blocked" if position.blockers else "open")
        if task in position.open
        else "pending"
        for task in left
    }
    for blocker in position.blockers:
        assert blocker[:60] in block


def check_texts(files: Files, step: PlayStep) -> None:
    """Assert that documents contain the texts that the step wants to see there."""
    for path, texts in step.shows.items():
        # Our texts are one line each, people's and agents' may be wrapped.
        document = " ".join(files[path].decode().split())
        for text in texts:
            assert text in document, f"{path} does not show {text!r}"


def check_handoff(text: str, position: ProjectPosition) -> None:
    """Assert that a handoff that was just written is true."""
    handoff = read_handoff(text)
    assert handoff.phase == position.phase
    completed = {
        task for task in position.planned for each in handoff.completed if task in each.name
    }
    assert completed <= set(position.done)
    if handoff.next_task is not None:
        named = {task for task in position.planned if task in handoff.next_task.task}
        assert not named & set(position.done)
    assert len(handoff.blockers) == len(position.blockers)
    assert handoff.spec_locked == position.locked


@dataclass(frozen=True, slots=True)
class Reader:
    """Another reader of the same project: not the server that made the changes."""

    settings: Settings

    def documents(self) -> Files:
        """Return the documents as this process finds them, and the copies of rounds in files."""
        files = dict(files_of(self.settings.project))
        if not self.settings.writes_files:
            with AppContext(self.settings) as application:
                found = {name: application.find_document(name) for name in layout.DOCUMENTS}
            files |= {name: text.encode() for name, text in found.items() if text is not None}

        return files

    def copies(self) -> Files:
        """Return the checkpoints and archives that only the database keeps, as files have them."""
        with AppContext(self.settings) as application:
            kept = application.store.read(_kept_copies)
        return {name: text.encode() for name, text in kept.items()}

    def status(self) -> dict[str, Any]:
        """Return the status as this process finds it."""
        with AppContext(self.settings) as application:
            return project_status(application.project_context).to_dict()


def _kept_copies(reading: ReadTransaction) -> dict[str, str]:
    """Return the checkpoints and archives that the database keeps, by their paths."""
    copies: dict[str, str] = {}
    for round in reading.rounds():
        for kept in reading.kept_documents(step=CHECKPOINT, round=round.number):
            copies[checkpoint_path(kept.name)] = kept.text
        for change in plan_archive(reading, round=round.number):
            copies[change.path] = change.text

    return {path.removeprefix(f"{FOLDER}/"): text for path, text in copies.items()}


def check_rows(settings: Settings, position: ProjectPosition) -> None:
    """Assert that the database holds what the position says."""
    with AppContext(settings) as application:
        if not application.store.exists():
            assert position.reports == 0
            return
        rows = application.store.read(
            lambda reading: (
                reading.report_count(),
                reading.round(),
                reading.open_confirmations(),
                {
                    report.task_id: report
                    for report in reading.last_reports(round=reading.round().number)
                    if report.task_id is not None and not is_report_key(report.task_id)
                },
            )
        )

    count, newest, waiting, last = rows
    assert count == position.reports
    assert (newest.number, newest.is_open) == (position.round, position.is_open)
    assert {each.action for each in waiting} <= set(position.waiting)
    if position.is_open:
        assert set(position.done) <= set(last)
        assert set(last) == {*position.done, *position.failed, *position.open}


def check_status(
    found: Mapping[str, Any], other: Mapping[str, Any], expected: ProjectPosition
) -> None:
    """Assert that both readers, the server and another process, find `expected`."""
    check_position(found, expected)
    # Ages grow between two looks.
    assert without_ages(found) == without_ages(other)
    assert not found["database"]["files_behind"]


def check_position(found: Mapping[str, Any], expected: ProjectPosition) -> None:
    """Assert that the status `found` is `expected`, and that nothing was in the way."""
    assert position_of(found) == expected
    for name in ("conflicts", "unreadable", "warnings"):
        assert found[name] == [], f"{name}: {found[name]}"


def without_ages(value: object) -> object:
    """Return JSON values without the ages of what waits, and without what to do now.

    A model is given the calls of tools, a person the commands of a terminal.
    """
    if isinstance(value, Mapping):
        left_out = ("seconds", "fix", "offers")
        kept = {
            key: each for key, each in value.items() if "age" not in key and key not in left_out
        }
        return {key: without_ages(each) for key, each in kept.items()}
    return [without_ages(each) for each in value] if isinstance(value, list) else value
