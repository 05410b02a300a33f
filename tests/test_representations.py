"""Values with texts of agents do not show them in logs and errors."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from goop_mcp import ask_until_accepted, follow, route, validate
from goop_mcp.context import AppContext
from goop_mcp.memory.drafts import MemoryDraft, prepare
from goop_mcp.memory.repository import get_memory
from goop_mcp.memory.saving import save_memory
from goop_mcp.redaction import redact
from goop_mcp.retry import Message, Reply
from goop_mcp.services.build_request import build_request
from goop_mcp.services.check_files import check_files, repair_file
from goop_mcp.services.session_contents import SessionFields
from goop_mcp.services.session_handoff import build_session_handoff
from goop_mcp.settings import Settings
from tests.services.reporting import NOW, record, report

WORDS = "the words of the agent, which may be any"
LONG = " ".join([WORDS] * 50)
REPLY = report(summary=LONG, status="BLOCKED", blockers=WORDS, next=WORDS) + WORDS
LONGEST = 1_000


@pytest.fixture
def application(tmp_path: Path) -> Iterator[AppContext]:
    with AppContext(Settings(project=tmp_path)) as application:
        yield application


def assert_short(*values: object) -> None:
    for value in values:
        assert WORDS not in repr(value)
        assert len(repr(value)) < LONGEST


def test_a_verdict_shows_what_it_is_and_how_much_of_everything_it_found() -> None:
    bad = REPLY.replace("BLOCKED", "DONE").replace("<summary>", "<summary>a & b ")

    assert (
        repr(validate(bad))
        == "Verdict(verdict='rejected', protocol='goop_report', version='0.1.6', errors=1,"
        " warnings=2, infos=0, repairs=1)"
    )
    assert (
        repr(validate(WORDS))
        == "Verdict(verdict='rejected', protocol=None, version=None, errors=1, warnings=0, infos=0,"
        " repairs=0)"
    )
    assert_short(validate(bad.replace("0.1.6", "9" * 1_000)))


def test_a_decision_shows_none_of_the_report() -> None:
    assert_short(route(validate(REPLY)), route(validate(REPLY.replace("BLOCKED", "DONE"))))


async def test_a_call_that_has_ended_shows_no_message_and_no_reply() -> None:
    async def agent(_message: str) -> str:
        return REPLY

    outcome = await ask_until_accepted(agent, LONG, protocol="goop_report")
    assert_short(outcome, outcome.attempts[0], Message(LONG), Reply(LONG))

    workflow = await follow({"goop-executor": agent}, "goop-executor", LONG)
    assert_short(workflow, workflow.steps[0])


def test_what_is_recorded_shows_none_of_the_report(application: AppContext) -> None:
    project_context = application.writing_context()
    assert_short(record(project_context, REPLY, expected_agent="goop-executor"))
    assert_short(*project_context.store.read(lambda reading: reading.reports()))
    assert_short(
        build_session_handoff(SessionFields(summary=LONG), project_context, write=True, now=NOW)
    )


def test_a_prompt_that_was_built_shows_none_of_its_fields() -> None:
    deliverable = {"kind": "report", "path": "", "text": WORDS}
    built = build_request(
        original_intent=LONG,
        current_task_summary=WORDS,
        task_details=LONG,
        deliverables=[deliverable],
    )
    assert_short(built)


def test_a_memory_shows_its_title_and_nothing_of_its_content(application: AppContext) -> None:
    draft = MemoryDraft(title="Clocks differ", content=LONG, facts=(WORDS,))
    saved = save_memory(application.store, draft)
    stored = get_memory(application.store, saved.id)

    assert_short(draft, prepare(draft), saved, stored)
    assert "title='Clocks differ'" in repr(stored)


def test_files_that_were_checked_show_none_of_their_text(tmp_path: Path) -> None:
    file = tmp_path / "reply.md"
    file.write_text(REPLY, encoding="utf-8")

    assert_short(check_files([str(file)]), repair_file(str(file)), redact(REPLY))
