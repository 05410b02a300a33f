"""Play the full demo's story, and verify the project after each step."""

import re
import sys
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path

from mcp import Client
from mcp.client.session import ElicitationFnT
from mcp.client.stdio import StdioServerParameters

from goop_mcp.cli.demo.full_player import Answer, Confirm, Connect, Player, PlayStep, Position
from goop_mcp.cli.demo.full_story import CHAPTERS
from goop_mcp.settings import Settings
from tests.scenarios import checks

__all__ = ["STEPS", "Transcript", "play", "stdio"]

STEPS: Sequence[PlayStep] = [step for chapter in CHAPTERS for step in chapter.steps]

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
)


@dataclass(slots=True)
class Transcript:
    """What a play came to, in a form that is the same for every transport and database."""

    steps: list[tuple[str, str | None, tuple[str, ...], str]] = field(default_factory=list)
    documents: dict[str, str] = field(default_factory=dict)

    def add(self, step: PlayStep, answer: Answer | None) -> None:
        """Add the answer of a step."""
        if answer is not None:
            # The question of a person and its answer look different for each variant.
            message = str(answer.values.get("message", "")) if step.person is None else ""
            self.steps.append((step.name, answer.status, answer.actions, normal(message)))


def normal(text: str) -> str:
    """Return `text` without times, digests, revisions, checkpoint ids and ways of confirming."""
    for pattern, name in _VARYING:
        text = pattern.sub(name, text)
    return text


def stdio(*options: str, protocol_mode: str = "auto", program: str = "goop_mcp") -> Connect:
    """Return what connects to a server of its own over stdio."""

    def connect(answer: ElicitationFnT | None) -> AbstractAsyncContextManager[Client]:
        command = StdioServerParameters(
            command=sys.executable, args=["-m", program, "serve", *options]
        )
        return Client(
            command, mode=protocol_mode, elicitation_callback=answer, read_timeout_seconds=120
        )

    return connect


async def play(
    project: Path,
    connect: Connect,
    *,
    settings: Settings | None = None,
    confirm: Confirm | None = None,
    steps: Sequence[PlayStep] = STEPS,
) -> Transcript:
    """Play `steps` in `project`, and raise at the first that is not as it should be.

    `settings` are those of another reader of the project.
    """
    settings = settings or Settings(project=project)
    transcript, position = Transcript(), Position()
    files, edited = checks.files_of(project), set[str]()

    async with Player(project, connect, confirm=confirm) as player:
        for step in steps:
            try:
                assert checks.files_of(project) == files, "a file changed between two steps"
                if step.new_session:
                    await player.begin_session()
                await player.write(step)
                written = checks.files_of(project)
                peoples = {
                    path.removeprefix(".goopspec/")
                    for path in {*step.writes, *step.edits}
                    if path.startswith(".goopspec/")
                }
                assert checks.changed(files, written) <= peoples

                answer = await player.call(step)
                files, position = checks.files_of(project), step.position(position)
                check_answer(step, answer)
                checks.check_changes(step, answer, written, files)
                found = (await player.ask("project_status", {})).values
                now = checks.changed(written, files)
                edited = set() if "CHRONICLE.md" in now else edited | peoples
                other = checks.Reader(settings).status()
                is_edited = "CHRONICLE.md" in edited
                checks.check_status(found, other, position, is_edited=is_edited)
                checks.check_rows(settings, position)
                checks.check_documents(files, position, is_edited=bool(edited))
                checks.check_texts(files, step)
                if "HANDOFF.md" in now:
                    checks.check_handoff(files["HANDOFF.md"].decode(), position)
                await check_resources(player, files)
            except (AssertionError, KeyError) as error:
                error.add_note(f"at step {step.name}: {step.title}")
                raise

            transcript.add(step, answer)

    transcript.documents = {
        normal(path): normal(data.decode()) for path, data in sorted(files.items())
    }

    return transcript


def check_answer(step: PlayStep, answer: Answer | None) -> None:
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


async def check_resources(player: Player, files: checks.Files) -> None:
    """Assert that what the next agent reads over MCP is what is on the disk."""
    for name in checks.DOCUMENTS:
        if name in files:
            (contents,) = (await player.client.read_resource(f"goop://project/{name}")).contents
            assert getattr(contents, "text", None) == files[name].decode()
