"""The largest structured answers are cut for clients, and still fit their schemas."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from mcp.types import CallToolResult
from pydantic import JsonValue

from goop_mcp.server.truncation import LEFT_OUT, MOST_BYTES, fitted
from goop_mcp.validation.samples import COMPLETE_REPLY
from tests.server.connections import (
    PROTOCOL_MODES,
    Connection,
    Transport,
    check_against_schema,
    connect,
    target,
    text_of,
)
from tests.server.http.serving import Served, served
from tests.workspace.projects import copied

WAVES, TASKS, MUST_HAVES = 40, 60, 130
LONG = "a name that nobody reads to its end, as it goes on and on " * 12
NETWORK: tuple[Transport, ...] = ("streamable-http", "sse")
MOST_OF_AN_EVENT = 1_048_576
"""Bytes of one event of a stream that clients of the SDK take."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(
        "--transport", "http", "--rate-limit", "0", project=tmp_path_factory.mktemp("project")
    ) as running:
        yield running


def whole(caller: Connection, name: str, **arguments: JsonValue) -> CallToolResult:
    """Return the answer of a tool, which fits its schema and the stream that it came in."""
    result = caller.tool(name, **arguments)
    assert not result.is_error, text_of(result)
    check_against_schema(result, caller.tools()[name])
    assert (
        len(json.dumps(result.structured_content, ensure_ascii=False).encode()) <= 1.1 * MOST_BYTES
    )
    assert len(result.model_dump_json(by_alias=True).encode()) < MOST_OF_AN_EVENT

    return result


def at(values: JsonValue, path: str) -> JsonValue:
    """Return what lies at a path with dots."""
    for name in path.split("."):
        assert isinstance(values, dict)
        values = values[name]
    return values


def reply_with(files: str) -> str:
    return COMPLETE_REPLY.replace("<files>", f"<files>{files}")


def full_of_repairs() -> str:
    """Return a reply of nearly 512 KiB; repairing it replaces every second character with five."""
    return reply_with(
        "".join(
            f'<file path="src/{n}.py" action="created">{"& " * 32_000}</file>' for n in range(7)
        )
    )


def full_of_elements() -> str:
    """Return a reply of as many elements as there may be."""
    return reply_with("".join(f"<file path=s{n} action=created>x</file>" for n in range(9_500)))


@pytest.mark.parametrize("transport", NETWORK)
@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
@pytest.mark.parametrize("reply", [full_of_repairs, full_of_elements])
def test_what_is_too_much_of_a_verdict_is_null_and_listed(
    server: Served, transport: Transport, protocol_mode: str, reply: Callable[[], str]
) -> None:
    parts = {
        "validate_report": ["repaired_text", "envelope"],
        "route_next_action": ["verdict.repaired_text", "verdict.envelope"],
        "record_report": [
            "verdict.repaired_text",
            "verdict.envelope",
        ],
    }
    text = reply()
    with connect(target(server, transport, token=None), protocol_mode) as caller:
        for name, largest in parts.items():
            result = whole(
                caller,
                name,
                text=text,
                detail="full",
                **({"check_workspace": False} if name == "record_report" else {}),
            )
            structure = result.structured_content
            assert structure is not None
            assert structure["left_out"]
            assert structure["left_out"] == largest[: len(structure["left_out"])]
            for path in structure["left_out"]:
                assert at(structure, path) is None

            assert (
                f"left out of the structured answer, as it is too much: {structure['left_out'][0]}"
                in text_of(result)
            )
            assert at(structure, "findings" if name == "validate_report" else "verdict.findings")


@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
def test_an_answer_that_is_not_too_much_is_whole(server: Served, protocol_mode: str) -> None:
    files = "".join(f'<file path="src/{n}.py" action="created">a & b</file>' for n in range(1_000))
    with connect(target(server, "streamable-http"), protocol_mode) as caller:
        result = whole(caller, "validate_report", text=reply_with(files), detail="full")

    structure = result.structured_content
    assert structure is not None
    assert "left_out" not in structure
    assert structure["repaired_text"].count("a &amp; b") == 1_000


@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
def test_the_largest_memories_are_found_and_read(server: Served, protocol_mode: str) -> None:
    with connect(target(server, "streamable-http"), protocol_mode) as caller:
        ids = []
        for number in range(4):
            long: list[JsonValue] = [
                f"needle {n} {number} {protocol_mode} ".ljust(4_096, "ä") for n in range(64)
            ]
            saved = caller.tool(
                "save_memory",
                title=f"needle {number} {protocol_mode}",
                content=f"needle {number} {protocol_mode} ".ljust(65_536, "\\"),
                facts=long[:32],
                source_files=long,
            )
            assert not saved.is_error, text_of(saved)
            assert saved.structured_content is not None
            ids.append(saved.structured_content["id"])

        read = whole(caller, "get_memory", id=ids[0]).structured_content
        found = whole(
            caller, "search_memory", queries=f"needle {protocol_mode}", limit=50
        ).structured_content

    assert read is not None
    assert read["content"].endswith("\\" * 60_000)
    assert found is not None
    assert found["left_out"] == ["items.source_files"]
    assert {item["id"] for item in found["items"]} >= set(ids)


@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
def test_the_largest_prompt_is_built(server: Served, protocol_mode: str) -> None:
    with connect(target(server, "streamable-http"), protocol_mode) as caller:
        whole(
            caller,
            "build_handoff",
            kind="agent_request",
            original_intent="& < " * 15_000,
            current_task_summary="A summary that is long enough.",
            task_details="& < " * 15_000,
            backlog_notes="& < " * 15_000,
            context="\\" * 60_000,
            deliverables=[{"kind": "report", "text": "What was found."}],
        )


@pytest.fixture
def overgrown(tmp_path: Path) -> Path:
    """Return a project with thousands of tasks and must-haves, and names that go on and on."""
    copied("profile_0x", tmp_path)
    folder = tmp_path / ".goopspec"
    waves = "".join(
        f"## Wave {wave}: {LONG}\n\n"
        + "".join(f"### Task {wave}.{n}: {LONG}{n}\n\n" for n in range(1, TASKS + 1))
        for wave in range(1, WAVES + 1)
    )
    (folder / "BLUEPRINT.md").write_text(f"# BLUEPRINT: Much\n\n{waves}", encoding="utf-8")
    wanted = "".join(
        f"### MH{n}: Something\n\n- [ ] It is there\n\n" for n in range(1, MUST_HAVES + 1)
    )
    (folder / "SPEC.md").write_text(
        f"# SPEC: Much\n\n**Locked:** Yes\n\n## Must-Haves\n\n{wanted}", encoding="utf-8"
    )

    return tmp_path


@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
def test_the_state_of_an_overgrown_project_is_cut_and_says_what_is_left_out(
    overgrown: Path, protocol_mode: str
) -> None:
    with (
        served("--transport", "http", project=overgrown) as server,
        connect(target(server, "streamable-http"), protocol_mode) as caller,
    ):
        structure = whole(caller, "project_status", detail="full").structured_content
        whole(caller, "project_status")
        whole(caller, "record_report", text=COMPLETE_REPLY, check_workspace=False)

    assert structure is not None
    assert (structure["progress"]["total_waves"], structure["progress"]["total_tasks"]) == (
        WAVES,
        WAVES * TASKS,
    )
    assert "waves.tasks.name" in structure["left_out"]
    assert 0 < len(structure["waves"]) <= WAVES


def test_an_answer_is_measured_as_it_is_written_and_not_as_it_lies_in_memory() -> None:
    text = "\x01" * (MOST_BYTES // 5)
    cut = fitted({"text": text})
    assert cut[LEFT_OUT] == ["text"]
    assert fitted({"text": text[: MOST_BYTES // 7]}) == {"text": text[: MOST_BYTES // 7]}
