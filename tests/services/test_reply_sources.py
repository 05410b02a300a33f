"""A reply is judged by the number of its report or by its file, without writing it out again."""

import os
from pathlib import Path
from typing import Any

import pytest

from goop_mcp import validate
from goop_mcp.context import AppContext
from goop_mcp.errors import (
    DocumentMissingError,
    DocumentUnreadableError,
    PathRefusedError,
    ProjectElsewhereError,
)
from goop_mcp.routing import RoutingContext
from goop_mcp.services.project_context import ProjectContext
from goop_mcp.services.record_report import RecordedReport, record_report
from goop_mcp.services.recorded_reports import ReportNotFoundError, withdraw_report
from goop_mcp.services.reply_sources import ReplySourceError, find_reply, recorded_text
from goop_mcp.settings import DatabaseUrl, Settings
from goop_mcp.store.records import NewReport
from goop_mcp.validation.limits import DEFAULT_LIMITS
from tests.postgres import Database
from tests.repository import ROOT
from tests.services.reporting import NOW, record, report, working_in
from tests.workspace.projects import copied

SAMPLES = [
    path.read_text(encoding="utf-8")
    for family in ("goop_report", "speckit", "factory")
    for path in sorted((ROOT / "tests" / "cases" / family).glob("*.*"))
    if path.suffix in (".json", ".md", ".xml")
]
EXTENDED = report(summary="More than asked for.").replace(
    "</summary>", "</summary><cost><usd>0.12</usd> and <b>more</b></cost><mood>good</mood>"
)


def record_unverified(context: ProjectContext, text: str) -> RecordedReport:
    return record_report(text, RoutingContext(), context, check_workspace=False, now=NOW)


def test_the_number_of_each_recorded_sample_stands_for_it(tmp_path: Path) -> None:
    copied("profile_0x", tmp_path)
    recorded = 0
    with working_in(tmp_path) as context:
        for text in (*SAMPLES, EXTENDED):
            done = record_unverified(context, text)
            if done.written.report is None:
                continue

            recorded += 1
            written = recorded_text(context.store, done.written.report)
            assert validate(written).accepted, written
            again = record_unverified(context, written)
            assert (again.status, again.written.report) == ("duplicate", done.written.report)

    assert recorded > 25


def test_a_report_that_was_withdrawn_is_recorded_again_by_its_number(tmp_path: Path) -> None:
    copied("profile_0x", tmp_path)
    with working_in(tmp_path) as context:
        record(context, report())
        withdraw_report(context, 1, reason="Too early.", by="terminal ann", now=NOW)
        again = record(context, recorded_text(context.store, 1))

    assert (again.status, again.written.report) == ("recorded", 2)


def test_a_report_is_found_by_its_number_in_a_shared_database(
    tmp_path: Path, database: Database
) -> None:
    settings = Settings(
        project=tmp_path, database=DatabaseUrl(database.url()), project_id="shop", keeps_files=False
    )
    with AppContext(settings) as application:
        record_unverified(application.writing_context(), report(summary="Shared."))
        found = find_reply(application, report=1)
        with pytest.raises(ReportNotFoundError, match="there is no report 2"):
            find_reply(application, report=2)
        with pytest.raises(ProjectElsewhereError, match="give the reply as text"):
            find_reply(application, file="reply.md")

    assert "<summary>Shared.</summary>" in found.text
    assert found.source == "report 1"


@pytest.mark.parametrize(
    ("named", "problem"),
    [
        ({}, "no reply is named; expected exactly one of text, report, file, and agent"),
        ({"text": "", "report": 1}, "text and report are given; expected exactly one of"),
        ({"text": "a", "report": 1, "file": "b"}, "text and report and file are given"),
    ],
)
def test_exactly_one_source_is_named(tmp_path: Path, named: dict[str, Any], problem: str) -> None:
    with (
        AppContext(Settings(project=tmp_path)) as application,
        pytest.raises(ReplySourceError, match=problem),
    ):
        find_reply(application, **named)


def test_a_file_is_read_in_the_project_only_and_up_to_two_megabytes(tmp_path: Path) -> None:
    project, outside = tmp_path / "project", tmp_path / "secret.md"
    project.mkdir()
    outside.write_text("secret", encoding="utf-8")
    (project / "reply.md").write_text(f"\ufeff{report()}", encoding="utf-8")
    (project / "link.md").symlink_to("reply.md")
    (project / "out.md").symlink_to(outside)
    (project / "up").symlink_to(tmp_path)
    os.mkfifo(project / "pipe.md")
    (project / "most.md").write_bytes(b"x" * DEFAULT_LIMITS.text_bytes)
    (project / "more.md").write_bytes(b"x" * (DEFAULT_LIMITS.text_bytes + 1))
    (project / "latin.md").write_bytes(b"caf\xe9")
    refused = {
        "../secret.md": PathRefusedError,
        str(outside): PathRefusedError,
        "out.md": PathRefusedError,
        "up/secret.md": PathRefusedError,
        "": PathRefusedError,
        "none.md": DocumentMissingError,
        "reply.md/none.md": DocumentMissingError,
        ".": DocumentUnreadableError,
        "pipe.md": DocumentUnreadableError,
        "more.md": DocumentUnreadableError,
        "latin.md": DocumentUnreadableError,
    }

    with AppContext(Settings(project=project)) as application:
        for name in ("reply.md", "./link.md"):
            assert find_reply(application, file=name).text == report()

        assert len(find_reply(application, file="most.md").text) == DEFAULT_LIMITS.text_bytes
        for name, error in refused.items():
            with pytest.raises(error) as raised:
                find_reply(application, file=name)
            assert str(tmp_path) not in str(raised.value) or name == str(outside)


@pytest.mark.parametrize(
    ("protocol", "envelope"), [("later", "{}"), ("goop_report", '{"status": 5}')]
)
def test_a_report_that_this_version_cannot_write_names_what_to_do(
    tmp_path: Path, protocol: str, envelope: str
) -> None:
    stored = NewReport(
        protocol=protocol,
        idempotency_key="report:1",
        envelope=envelope,
        verdict="{}",
        decision="{}",
        created_at=NOW,
    )
    with working_in(tmp_path) as context:
        context.store.write(lambda writing: writing.add_report(stored))
        with pytest.raises(ReplySourceError, match=r"^report 1 .*; give its text$"):
            recorded_text(context.store, 1)
