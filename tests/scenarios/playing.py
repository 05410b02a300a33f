"""Play the full demo's story, and verify the project after each step."""

import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp import MCPError

from goop_mcp.cli.demo.full_player import (
    Confirm,
    Connect,
    Player,
    PlayStep,
    ProjectPosition,
    ToolAnswer,
)
from goop_mcp.cli.demo.full_story import CHAPTERS
from goop_mcp.settings import Settings
from goop_mcp.workspace.layout import PEOPLES_DOCUMENTS
from tests.scenarios import checks
from tests.scenarios.oracle import Oracle
from tests.scenarios.orders_story import ORDERS

__all__ = ["STEPS", "STORIES", "Call", "Transcript", "play"]

STEPS: Sequence[PlayStep] = [step for chapter in CHAPTERS for step in chapter.steps]
STORIES = {"linkcheck": STEPS, "orders": ORDERS}

_CLIENT = r"mcp \d+\.\d+\.\d+(?:, token \w+)?"
_VARYING = (
    (re.compile(r"\bcp-\d{8}-\d{6}-\d+\b"), "<checkpoint>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)?"), "<time>"),
    (re.compile(r"\d{4}-\d\d-\d\d(?![\w-])"), "<date>"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "<digest>"),
    (re.compile(r"\bSPEC\.md [0-9a-f]{7}\b"), "SPEC.md <digest>"),
    (re.compile(r"\((?:[0-9a-f]{7})\)"), "(<digest>)"),
    (re.compile(r"(revisions?) \d+"), r"\1 <n>"),
    (re.compile(r"(goop:[a-z-]+) \d+(?: [0-9a-f]{16})?"), r"\1 <n>"),
    (re.compile(r'("revision": )\d+'), r"\1<n>"),
    (re.compile(rf"\b(?:elicitation|reported by) {_CLIENT}|\bterminal \w+"), "<a person>"),
    (re.compile(rf"\b{_CLIENT}"), "<a client>"),
    (re.compile(r"\bgoop://project/"), ".goopspec/"),
)


@dataclass(slots=True)
class Transcript:
    """What a play came to, in a form that is the same for every transport and database.

    `steps` are the answers by step: status, actions and message. `statuses` are what the project's
    status was after each step, `documents` the texts at the end, by path.
    """

    steps: dict[str, tuple[str | None, tuple[str, ...], str]] = field(default_factory=dict)
    statuses: dict[str, str] = field(default_factory=dict)
    documents: dict[str, str] = field(default_factory=dict)

    def add(self, step: PlayStep, answer: ToolAnswer | None, status: Mapping[str, Any]) -> None:
        """Add the answer of a step, and the status of the project after it."""
        if answer is not None:
            # The question of a person and its answer look different for each variant.
            message = str(answer.values.get("message", "")) if step.person is None else ""
            lines = normal(message).split("\n")
            # Which file was created first says nothing, and a state in the database comes last.
            text = "\n".join(sorted(lines) if step.name == "init" else lines)
            self.steps[step.name] = (answer.status, answer.actions, text)

        # Where it is kept, and in how many changes, is what databases differ in.
        shown = {key: status[key] for key in status if key not in ("database", "revision")}
        self.statuses[step.name] = normal(json.dumps(checks.without_ages(shown), indent=1))


Call = Callable[[Player, PlayStep, ProjectPosition], Awaitable[ToolAnswer | None]]
"""Makes the call of a step at a position; the answer is None if it is not known."""


def normal(text: str) -> str:
    """Return `text` without times, digests, revisions, checkpoint ids and ways of confirming."""
    for pattern, name in _VARYING:
        text = pattern.sub(name, text)
    return text


async def play(
    project: Path,
    connect: Connect,
    *,
    settings: Settings | None = None,
    confirm: Confirm | None = None,
    steps: Sequence[PlayStep] = STEPS,
    call: Call | None = None,
    is_elsewhere: bool = False,
) -> Transcript:
    """Play `steps` in `project`, and raise at the first that is not as it should be.

    `settings` are those of another reader of the project. `call` makes the call of each step. An
    oracle looks at the project after each step whose documents are up to date.
    `is_elsewhere` states that the server has no folder: what people have written there is known to
    it as soon as a step has judged it.
    """
    settings = settings or Settings(project=project)
    reader, transcript, position = checks.Reader(settings), Transcript(), ProjectPosition()
    files, edited, oracle = reader.documents(), set[str](), Oracle()

    async with Player(project, connect, confirm=confirm) as player:
        for step in steps:
            try:
                assert reader.documents() == files, "a file changed between two steps"
                if step.new_session:
                    await player.begin_session()
                await player.write(step)
                written = reader.documents()
                peoples = {
                    path.removeprefix(".goopspec/")
                    for path in {*step.writes, *step.edits}
                    if path.startswith(".goopspec/")
                }
                assert checks.changed(files, written) <= peoples

                if call is None:
                    answer = await player.call(step)
                else:
                    answer = await call(player, step, position)
                files, position = reader.documents(), step.position(position)
                check_answer(step, answer)
                checks.check_changes(step, answer, written, files)
                found = (await player.ask("project_status", {"detail": "full"})).values
                now = checks.changed(written, files)
                edited = set() if "CHRONICLE.md" in now else edited | peoples
                other = reader.status()
                if is_elsewhere:
                    checks.check_position(other, position)
                    is_known = await knows_documents(player, files)
                    if is_known:
                        checks.check_position(found, position)
                else:
                    is_known = True
                    checks.check_status(found, other, position)
                checks.check_rows(settings, position)
                checks.check_documents(files, position, is_edited=bool(edited))
                checks.check_texts(files, step)
                if "HANDOFF.md" in now:
                    checks.check_handoff(files["HANDOFF.md"].decode(), position)
                if is_known:
                    names = checks.SHARED if is_elsewhere else checks.DOCUMENTS
                    await check_resources(player, files, names)
                up_to_date = files if is_known and not edited else {}
                await oracle.watch(player, step, settings, up_to_date)
            except (AssertionError, KeyError) as error:
                error.add_note(f"at step {step.name}: {step.title}")
                raise

            transcript.add(step, answer, other if is_elsewhere else found)

    # What a folder holds counts as it is there; a copy that is in no folder is only kept.
    for path, data in sorted({**reader.copies(), **files}.items()):
        transcript.documents[normal(path)] = normal(data.decode())

    return transcript


def check_answer(step: PlayStep, answer: ToolAnswer | None) -> None:
    """Assert that the answer is the one that the orchestrator expects."""
    if answer is None:
        return

    assert not answer.is_error, answer.text
    if step.status is not None:
        assert answer.status == step.status, f"{answer.status}: {answer.text}"
    if step.actions:
        assert answer.actions == step.actions
    if answer.status == "rejected":
        assert set(step.findings) <= set(answer.findings)
    elif step.person is None or answer.asked:
        # What a person confirms at a terminal, the terminal shows.
        assert answer.findings == step.findings, answer.text
    for text in step.says:
        assert text in answer.text, f"{text!r} is not in {answer.text}"


async def knows_documents(player: Player, files: checks.Files) -> bool:
    """Whether a server without the folder has the documents of people as they are there."""
    for name in PEOPLES_DOCUMENTS:
        try:
            (contents,) = (await player.client.read_resource(f"goop://project/{name}")).contents
        except MCPError:
            return False
        if getattr(contents, "text", None) != files.get(name, b"").decode():
            return False

    return True


async def check_resources(player: Player, files: checks.Files, names: Sequence[str]) -> None:
    """Assert that what the next agent reads over MCP is what is on the disk."""
    for name in names:
        if name in files:
            (contents,) = (await player.client.read_resource(f"goop://project/{name}")).contents
            assert getattr(contents, "text", None) == files[name].decode()
