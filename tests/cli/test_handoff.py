"""The prompt for a task, built from JSON: output, written files, refusals."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import Ended, run, run_on_terminal
from tests.protocols.agent_request.prompts import judge
from tests.requirements import requirement

FIELDS: dict[str, Any] = {
    "original_intent": "Let agents prove who they are",
    "current_task_summary": "Add POST /login and its tests",
    "task_details": "Steps:\n- tests & endpoint",
    "deliverables": [{"kind": "file", "path": "src/login.py", "text": "The endpoint"}],
}
ID = "20260114-093000-login"
PLACE = f"docs/.scratch/sessions/{ID}/prompt.md"


def build(project: Path, fields: object, *options: str) -> Ended:
    text = fields if isinstance(fields, str) else json.dumps(fields)
    return run("handoff", "agent-request", *options, stdin=text.encode(), cwd=project)


@requirement("H-44")
def test_the_prompt_is_printed_and_passes_the_gate(tmp_path: Path) -> None:
    ended = build(tmp_path, FIELDS)

    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("# Task: Add POST /login and its tests\n\n````xml\n<agent_request")
    assert "- tests &amp; endpoint" in ended.out
    assert judge(ended.out, "strict").findings == ()
    assert list(tmp_path.iterdir()) == []
    assert run("gate", "-", "--strict", stdin=ended.out.encode(), cwd=tmp_path).code == 0


def test_the_fields_may_come_from_a_file_with_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "fields.json").write_text("\ufeff" + json.dumps(FIELDS), encoding="utf-8")

    assert (
        run("handoff", "agent-request", "--json", "fields.json", cwd=tmp_path).out
        == build(tmp_path, FIELDS).out
    )


def test_the_whole_answer_is_available_as_json(tmp_path: Path) -> None:
    answer = json.loads(build(tmp_path, {**FIELDS, "session_id": ID}, "--format", "json").out)

    assert list(answer) == ["kind", "text", "path", "verdict", "redactions", "size"]
    assert (answer["kind"], answer["path"], answer["verdict"]["verdict"]) == (
        "agent_request",
        PLACE,
        "accepted",
    )
    assert not (tmp_path / PLACE).exists()


def test_the_prompt_is_written_to_the_folder_of_its_session_and_its_path_is_printed(
    tmp_path: Path,
) -> None:
    ended = build(tmp_path, {**FIELDS, "session_id": ID}, "--write")

    assert (ended.code, ended.out, ended.err) == (0, f"{PLACE}\n", "")
    assert f'session_id="{ID}"' in (tmp_path / PLACE).read_text(encoding="utf-8")
    gated = run("gate", PLACE, "--strict", cwd=tmp_path)
    assert (gated.code, gated.err) == (0, "")


def test_a_session_without_an_id_gets_one_of_the_time_and_the_title(tmp_path: Path) -> None:
    ended = build(tmp_path, {**FIELDS, "title": "Login, part 2"}, "--write")

    (written,) = tmp_path.glob("docs/.scratch/sessions/*/prompt.md")
    assert ended.out == f"{written.relative_to(tmp_path).as_posix()}\n"
    assert written.parent.name.endswith("-login-part-2")
    assert run("gate", written, cwd=tmp_path).err == ""


def test_the_same_prompt_may_be_written_twice_and_another_one_never_overwrites_it(
    tmp_path: Path,
) -> None:
    fields = {**FIELDS, "session_id": ID}
    assert build(tmp_path, fields, "--write").code == 0
    assert build(tmp_path, fields, "--write").code == 0
    before = (tmp_path / PLACE).read_text(encoding="utf-8")

    ended = build(tmp_path, {**fields, "title": "Another"}, "--write")
    assert (ended.code, ended.out) == (1, "")
    assert (
        ended.err
        == f"goop-mcp: {PLACE} exists already with other content; give another session_id,"
        " or move it away.\n"
    )
    assert (tmp_path / PLACE).read_text(encoding="utf-8") == before


def test_no_link_leads_out_of_the_project(tmp_path: Path) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside"
    project.mkdir()
    outside.mkdir()
    (project / "docs").symlink_to(outside, target_is_directory=True)

    ended = build(project, {**FIELDS, "session_id": ID}, "--write")
    assert (ended.code, ended.out) == (1, "")
    assert "leads out of the project through a link" in ended.err
    assert list(outside.iterdir()) == []


def test_a_warning_on_the_prompt_is_printed_and_does_not_stop_it(tmp_path: Path) -> None:
    ended = build(tmp_path, {**FIELDS, "current_task_summary": "Login"})

    assert ended.code == 0
    assert (
        ended.err
        == "goop-mcp: warning: current_task_summary has 5 characters; expected 10 to 500.\n"
    )


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"titel": "x"}, "there is no field 'titel'; did you mean 'title'?"),
        ({"mode": "spwan"}, "there is no mode 'spwan'; did you mean 'spawn'?"),
        (
            {"task_details": ["x"], "xsd_compat": 1},
            "task_details is a list; expected a text; xsd_compat is a number",
        ),
        ({"deliverables": "a.py"}, "deliverables is a text; expected a list"),
        ({"deliverables": [{"kind": "report", "txt": "x"}]}, "did you mean 'text'?"),
        (
            {"original_intent": None, "deliverables": None},
            "original_intent is missing; deliverables is missing",
        ),
        (
            {"session_id": "../../x"},
            "session_id is '../../x'; expected date, time and a short name",
        ),
        ({"deliverables": [{"kind": "file", "path": "../x"}]}, "leads out of the workspace"),
    ],
)
def test_invalid_fields_are_refused_by_name(
    tmp_path: Path, change: dict[str, Any], expected: str
) -> None:
    ended = build(tmp_path, {**FIELDS, **change}, "--write")

    assert (ended.code, ended.out) == (1, "")
    assert expected in ended.err
    assert len(ended.err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "standard input is empty"),
        ("[]", "standard input is a list; write the fields as one JSON object"),
        ('{"title":\n oops}', "standard input is not valid JSON from line 2, column 2 on"),
        ("[" * 100_000, "standard input is nested too deep"),
        ("\0", "standard input is UTF-16, or no text at all"),
    ],
)
def test_input_that_is_not_a_json_object_cannot_be_read(
    tmp_path: Path, text: str, expected: str
) -> None:
    ended = build(tmp_path, text)

    assert (ended.code, ended.out) == (2, "")
    assert expected in ended.err


def test_a_field_that_is_given_twice_is_refused(tmp_path: Path) -> None:
    ended = build(tmp_path, '{"title": "a", "title": "b"}')
    assert (ended.code, ended.err) == (
        1,
        "goop-mcp: 'title' is given twice; give each field once.\n",
    )


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["sessions"], "there is no kind of handoff 'sessions'; did you mean 'session'?"),
        (["agent-requst"], "did you mean 'agent-request'?"),
        (["agent-request", "--json", "nowhere.json"], "'nowhere.json' does not exist"),
        (
            ["agent-request", "--project", "nowhere"],
            "--project is 'nowhere', which is not a folder",
        ),
    ],
)
def test_a_usage_error_is_reported_in_one_sentence(
    tmp_path: Path, arguments: list[str], expected: str
) -> None:
    ended = run("handoff", *arguments, cwd=tmp_path)

    assert (ended.code, ended.out) == (2, "")
    assert expected in ended.err
    assert len(ended.err.splitlines()) == 1


def test_on_a_terminal_the_fields_are_asked_for() -> None:
    ended = run_on_terminal("handoff", "agent-request")
    assert ended.code == 2
    assert "no fields are given; name a file with --json, or pipe one JSON object in" in ended.out


@requirement("H-69")
def test_a_description_becomes_a_draft_and_with_the_answers_a_handoff(tmp_path: Path) -> None:
    prose = b"Goal: Let users log in\nPriority: urgent\n\nAdd a login. Do not change the schema.\n"
    drafted = run("handoff", "draft", "-", stdin=prose, cwd=tmp_path)
    assert drafted.code == 1
    assert "<original_intent>Let users log in</original_intent>" in drafted.out
    assert "<constraint>Do not change the schema</constraint>" in drafted.out
    asked = [line.split(": ")[2] for line in drafted.err.splitlines() if ": missing: " in line]
    assert asked == ["current_task_summary", "deliverables", "priority"]
    assert "Line 2 says Priority 'urgent'" in drafted.err
    assert run("gate", "-", "--strict", stdin=drafted.out.encode(), cwd=tmp_path).code == 1

    answers = {
        "current_task_summary": "Add POST /login and its tests",
        "deliverables": [{"kind": "report", "text": "What was done"}],
        "priority": "high",
    }
    (tmp_path / "prose.md").write_bytes(prose)
    (tmp_path / "answers.json").write_text(json.dumps(answers), encoding="utf-8")
    given = ("prose.md", "--json", "answers.json")
    written = run("handoff", "draft", *given, "--write", cwd=tmp_path)
    assert written.code == 0
    prompt = (tmp_path / written.out.strip()).read_bytes()
    assert run("gate", "-", "--strict", stdin=prompt, cwd=tmp_path).code == 0


def test_a_draft_with_gaps_is_never_written(tmp_path: Path) -> None:
    ended = run("handoff", "draft", "-", "--write", stdin=b"make it nice", cwd=tmp_path)
    assert ended.code == 1
    assert list(tmp_path.iterdir()) == []
    shown = run("handoff", "draft", "-", "--format", "json", stdin=b"make it nice", cwd=tmp_path)
    assert json.loads(shown.out)["complete"] is False
    assert run("handoff", "draft", "nothing.md", cwd=tmp_path).code == 2


def test_a_handoff_that_somebody_rewrote_is_kept_and_the_new_one_named(tmp_path: Path) -> None:
    def write(summary: str) -> Ended:
        fields = json.dumps({"summary": summary}).encode()
        return run("handoff", "session", "--write", stdin=fields, cwd=tmp_path)

    assert run("init", cwd=tmp_path).code == 0
    assert write("One.").out == ".goopspec/HANDOFF.md\n"
    document = tmp_path / ".goopspec" / "HANDOFF.md"
    document.write_text("Mine.\n", encoding="utf-8")
    again = write("Two.")
    path = again.out.strip()
    assert again.err == (
        "goop-mcp: .goopspec/HANDOFF.md was changed by somebody and is kept;"
        f" the new one is in {path}.\n"
    )
    assert (tmp_path / path).read_text(encoding="utf-8").startswith("# Session Handoff\n")
    assert document.read_text(encoding="utf-8") == "Mine.\n"
