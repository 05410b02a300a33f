"""What one model sees in the text of an answer, another sees in its structure: both hold the same.

Claude Code gives its model the structure only, as pydantic-ai does; OpenCode, the SDK of OpenAI's
agents, LangChain and Strands the text only.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any, Final

import pytest
from mcp.types import CallToolResult
from pydantic import JsonValue

from goop_mcp.cli.demo.full_player import Player, PlayStep, ToolAnswer
from goop_mcp.server.answers import MOST_CHARACTERS, answer, cap, with_line
from goop_mcp.server.app import create_server
from goop_mcp.server.short_answers import LISTED, TRUST, Detail
from goop_mcp.settings import Settings
from goop_mcp.validation.samples import COMPLETE_REPLY
from tests.scenarios.connecting import stdio
from tests.scenarios.playing import STORIES
from tests.server.connections import Connection, check_against_schema, connect, text_of

DETAILS: Final[tuple[Detail, Detail]] = ("short", "full")
# Of these answers a token of o200k_base has 2.9 to 3.9 bytes.
BYTES_OF_A_TOKEN: Final = 3.3
MOST_TOKENS: Final = 600
MOST_TOKENS_OF_MEDIAN: Final = 400

WORD: Final = re.compile(r"\w[\w./:@<>=-]*\w|\w")


def words(text: str) -> set[str]:
    return {word.strip(".:-").casefold() for word in WORD.findall(text)} - {""}


# What only one half says, because it is the form of that half.
IN_TEXT_ONLY: Final = words(
    """
    quoted what agents wrote is data the at as of no in it and not nothing was written shown left
    out detail full has recorded report revision phase wave round open tasks done none accepted
    rejected envelope more waiting number asked by listed file handoff session made a undo message
    retry size goopspec status gate complete locked unlocked pending project interview spec lock
    skipped person for
    acceptance progress next step run drift database memories waves task completed latest events
    checkpoints findings warning warnings duplicate after missing newest profile gates reports
    disagreement disagreements choices question detail=full unnamed saved closed blocked ℹ
    does exist yet creates first or the files do show all records change updates them same memory
    only observed must-have must-haves use
    """
)
IN_STRUCTURE_ONLY: Final = words(
    # The caller's own mode, and what the text says with icons.
    """
    lenient strict error warning info done pending open failed true false accepted rejected 0
    evidence/not-checked session
    """
)


def leaves(value: object, path: str = "") -> Iterator[str]:
    """Yield the texts and numbers in JSON values, without the keys that hold no content."""
    if isinstance(value, Mapping):
        for name, each in value.items():
            if name not in {"left_out", "trust", "omitted"}:
                yield from leaves(each, f"{path}.{name}")
    elif isinstance(value, list):
        for each in value:
            yield from leaves(each, path)
    elif value is not None:
        yield value if isinstance(value, str) else json.dumps(value)


def tokens(text: str) -> float:
    return len(text.encode()) / BYTES_OF_A_TOKEN


def as_json(result: CallToolResult) -> str:
    return compact(result.structured_content)


def compact(values: object) -> str:
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"))


class Listening(Player):
    """Plays, and keeps the answers."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, stdio("--project", str(folder)))
        self.heard: dict[str, list[tuple[str, dict[str, Any]]]] = defaultdict(list)

    async def ask(self, tool: str, arguments: Mapping[str, JsonValue]) -> ToolAnswer:
        answer = await super().ask(tool, arguments)
        self.heard[tool].append((answer.text, dict(answer.values)))
        return answer


@pytest.mark.parametrize("steps", STORIES.values(), ids=STORIES)
async def test_both_halves_of_every_answer_of_a_whole_play_say_the_same_briefly(
    tmp_path: Path, steps: Sequence[PlayStep]
) -> None:
    player = Listening(tmp_path)
    async with player:
        for step in steps:
            if step.new_session:
                await player.begin_session()
            await player.write(step)
            await player.call(step)
            await player.ask("project_status", {})

    assert player.heard.keys() >= {"record_report", "project_status", "update_project"}
    for tool, answers in player.heard.items():
        for text, structure in answers:
            content = "\n".join(leaves(structure))
            lacking = words(content) - words(text) - words(text.replace("/", " "))
            lacking -= IN_STRUCTURE_ONLY
            if not structure.get("parts", {}).get("project", True):
                # Before a project begins, programs find its round and profile all the same.
                lacking -= {"0.x", "1"}
            assert not lacking, f"the text of {tool} lacks {sorted(lacking)}:\n{text}\n{structure}"
            lacking = words(text) - words(json.dumps(structure)) - words(content) - IN_TEXT_ONLY
            lacking = {
                each
                for each in lacking
                if not all(part in content.casefold() for part in re.findall(r"\w+", each))
            }
            assert not lacking, f"{tool} lacks {sorted(lacking)}:\n{text}\n{structure}"

        for half in (
            [tokens(text) for text, _ in answers],
            [tokens(compact(each)) for _, each in answers],
        ):
            assert median(half) <= MOST_TOKENS_OF_MEDIAN, tool
            assert max(half) <= MOST_TOKENS, tool


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Connection]:
    with connect(create_server(Settings(project=tmp_path)), "auto") as connection:
        connection.tool("update_project", action="init", name="shop")
        yield connection


def test_the_full_answer_has_what_the_short_one_names(project: Connection) -> None:
    for tool in ("validate_report", "route_next_action", "record_report"):
        short = project.tool(tool, text=COMPLETE_REPLY, check_workspace=False)
        # The same report again would be a duplicate.
        another = COMPLETE_REPLY.replace("<summary>", "<summary>Once more: ")
        full = project.tool(tool, text=another, check_workspace=False, detail="full")
        for each in (short, full):
            check_against_schema(each, project.tools()[tool])

        assert short.structured_content is not None
        assert full.structured_content is not None
        assert "left_out" not in full.structured_content
        assert len(as_json(short)) < len(as_json(full))
        for path in short.structured_content["left_out"]:
            value: Any = full.structured_content
            for name in path.split("."):
                value = value[name]
            assert value, path
            assert json.dumps(value, ensure_ascii=False) in text_of(full)
            assert path in text_of(short)


def test_feedback_is_in_both_halves(project: Connection) -> None:
    rejected = COMPLETE_REPLY.replace("<status>COMPLETE</status>", "<status>FINE</status>")
    tools = {
        "validate_report": {},
        "route_next_action": {"attempt": 3},
        "record_report": {"attempt": 3},
    }
    for tool, last in tools.items():
        for detail, attempt in product(DETAILS, ({}, last)):
            result = project.tool(tool, text=rejected, detail=detail, **attempt)
            found = [
                each
                for each in leaves(result.structured_content)
                if each.startswith("Your report was not accepted")
            ]
            assert found, tool
            # A decision quotes it: each line has a mark in front.
            assert all(each in text_of(result) for each in found[0].splitlines()), text_of(result)


def test_what_a_text_leaves_out_is_named_by_an_argument(project: Connection) -> None:
    files = "".join(
        f'<file path="src/{n}.py" action="created">a & b {n}</file>\n' for n in range(LISTED + 5)
    )
    many = COMPLETE_REPLY.replace("<files>", f"<files>{files}")
    for tool in ("validate_report", "route_next_action"):
        short, full = (text_of(project.tool(tool, text=many, detail=each)) for each in DETAILS)
        assert "\n… and 5 more with detail=full\n" in short
        line = '"line": 41'
        assert line not in short
        assert line in full


def test_a_note_for_a_person_is_in_both_halves_of_an_answer_that_is_cut() -> None:
    for text in ("accepted", "accepted\n" + "word " * 50_000):
        shown = cap(with_line(answer(text, {"verdict": "accepted"}), "settings are weakened"))
        assert text_of(shown).splitlines()[:2] == ["accepted", "note: settings are weakened"]
        assert len(text_of(shown)) <= MOST_CHARACTERS
        assert (shown.structured_content or {})["note"] == "settings are weakened"
        # Many models see no structure.
        assert "structured" not in text_of(shown)


def test_the_verdict_stands_once_and_first(project: Connection) -> None:
    recorded = project.tool("record_report", text=COMPLETE_REPLY, check_workspace=False)
    routed = project.tool("route_next_action", text=COMPLETE_REPLY)
    for each, names in ((recorded, ["status", "verdict"]), (routed, ["verdict"])):
        assert each.structured_content is not None
        assert [*each.structured_content][: len(names)] == names
        assert as_json(each).count('"verdict":{') == 1
        assert each.structured_content["trust"] == TRUST
        assert TRUST in text_of(each)

    assert "verdict" not in (recorded.structured_content or {})["decision"]


def test_a_large_plan_shows_the_tasks_of_waves_in_progress(tmp_path: Path) -> None:
    plan = ["# BLUEPRINT: shop"]
    for wave in range(1, 7):
        plan += [f"## Wave {wave}: Part {wave}", ""]
        plan += [
            f"### Task {wave}.{number}: Build piece {number} of part {wave}\n"
            for number in range(1, 9)
        ]
    with connect(create_server(Settings(project=tmp_path)), "auto") as connection:
        connection.tool("update_project", action="init", name="shop")
        (tmp_path / ".goopspec/BLUEPRINT.md").write_text("\n".join(plan), encoding="utf-8")
        short = connection.tool("project_status")
        full = connection.tool("project_status", detail="full")

    assert short.structured_content is not None
    assert full.structured_content is not None
    assert [len(wave["tasks"]) for wave in full.structured_content["waves"]] == [8] * 6
    assert [len(wave["tasks"]) for wave in short.structured_content["waves"]] == [8, *[0] * 5]
    assert short.structured_content["progress"]["total_tasks"] == 48
    assert "waves" in short.structured_content["left_out"]
    assert "piece 8 of part 1" in text_of(short)
    assert "piece 1 of part 2" not in text_of(short)
    assert "piece 8 of part 6" in text_of(full)
    for half in (text_of(short), as_json(short)):
        assert tokens(half) <= MOST_TOKENS
