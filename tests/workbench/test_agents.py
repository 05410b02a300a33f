"""The page Agents and the same statistics as CSV and as one file."""

import csv
import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from lxml import etree, html

from goop_mcp.context import AppContext
from goop_mcp.services.stats import StatsArgumentError, project_stats
from goop_mcp.services.stats_page import COLUMNS, stats_csv
from goop_mcp.settings import Settings
from goop_mcp.store.interface import WriteTransaction
from goop_mcp.workbench.charts import columns, meter
from goop_mcp.workbench.stats_report import stats_report
from tests.cli.running import run
from tests.requirements import requirement
from tests.store.rows import ATTEMPT, JUDGEMENT
from tests.workbench.browsing import browse, text_of
from tests.workbench.projects import play_until

HOSTILE = "=cmd|' /C calc'!A0<script>alert(1)</script>"
NOW = "2026-01-20T08:00:00.000Z"


def recorded(project: Path) -> None:
    """Record two weeks of work of three agents, one with a hostile name."""
    gated = replace(JUDGEMENT, surface="gate", rules=())

    def change(writing: WriteTransaction) -> None:
        for week, at in enumerate(("2026-01-05T08:00:00.000Z", "2026-01-12T08:00:00.000Z")):
            writing.add_attempts(
                [
                    replace(
                        ATTEMPT,
                        call_id=f"call-{week}",
                        number=1,
                        result="accepted",
                        rules=(),
                        ended="accepted",
                        created_at=at,
                        agent="goop-executor",
                        seconds=2.5,
                        tokens=1_000,
                    )
                ]
            )
            writing.add_judgement(replace(JUDGEMENT, created_at=at, agent=HOSTILE))
            writing.add_judgement(replace(gated, created_at=at, result="accepted"))
            writing.add_judgement(
                replace(gated, created_at=at, result="rejected", has_envelope=week == 0)
            )

    with AppContext(Settings(project=project)) as application:
        application.writing_store().write(change)


def test_a_project_without_records_says_how_to_record(tmp_path: Path) -> None:
    with browse(tmp_path) as browser:
        page = browser.get("/agents")
    assert "Nothing is recorded here yet" in text_of(page)
    assert "goop-mcp gate --record" in text_of(page)


@requirement("H-66")
def test_a_person_sees_adoption_failures_and_common_errors(tmp_path: Path) -> None:
    recorded(tmp_path)
    with browse(tmp_path) as browser:
        page = browser.get("/agents")
        one = browser.get("/agents?agent=goop-executor")
        none = browser.get("/agents?weeks=1&round=1")
        wrong = browser.get("/agents?round=7")
        table = browser.get("/agents.csv?agent=goop-executor")
        file = browser.get("/agents.html")

    shown = text_of(page)
    assert "75.0% of 4 prompts had a request" in shown
    assert "pilot reached" in shown
    assert "expanded not reached" in shown
    assert "50.0% of 4 judged replies rejected" in shown
    assert JUDGEMENT.rules[0] in shown
    assert "100.0% of 2 calls" in shown
    assert "2,000" in shown
    assert "<script>alert" not in page.text + file.text
    assert len(html.document_fromstring(page.text).cssselect("main svg")) == 3
    assert "=cmd" not in text_of(one)
    assert "Nothing is recorded" in text_of(none)
    assert "there is no round 7; expected 1 to 1" in text_of(wrong)
    assert table.headers["content-disposition"] == 'attachment; filename="agents.csv"'
    assert "=cmd" not in table.text
    assert file.headers["content-type"].startswith("text/html")


@requirement("H-66")
def test_the_statistics_are_written_as_csv_that_no_spreadsheet_runs(tmp_path: Path) -> None:
    recorded(tmp_path)
    ended = run("stats", "--format", "csv", cwd=tmp_path)
    rows = list(csv.DictReader(io.StringIO(ended.out)))

    assert ended.code == 0
    assert tuple(rows[0]) == COLUMNS
    assert [row["kind"] for row in rows] == ["total", "agent", "agent", "week", "week"]
    assert (rows[0]["judged"], rows[0]["prompts"], rows[0]["tokens"]) == ("4", "4", "2000")
    assert not any(value.startswith(("=", "+", "-", "@")) for row in rows for value in row.values())


@requirement("H-66")
def test_the_report_is_one_file_without_script_that_loads_nothing(tmp_path: Path) -> None:
    recorded(tmp_path)
    ended = run("stats", "--format", "html", cwd=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    page = html.document_fromstring(ended.out)
    assert page.cssselect("script, link, img, iframe") == []
    assert not re.search(r"(?:src|href)=|url\(|@import", ended.out)
    assert "default-src 'none'" in ended.out
    assert len(page.cssselect("svg[role=img]")) == 3
    assert "=cmd|" in page.text_content()


def test_a_round_counts_what_was_recorded_while_it_was_open(tmp_path: Path) -> None:
    play_until(tmp_path, "failed_check")
    with AppContext(Settings(project=tmp_path)) as application:
        whole = project_stats(application.store)
        first = project_stats(application.store, round=1)
        with pytest.raises(StatsArgumentError, match="there is no round 99"):
            project_stats(application.store, round=99)

    assert first.statistics == whole.statistics
    assert stats_csv(first) == stats_csv(whole)


def test_an_empty_report_is_whole_too(tmp_path: Path) -> None:
    with AppContext(Settings(project=tmp_path)) as application:
        text = stats_report(project_stats(application.store), now=NOW)
    assert "Nothing is recorded here yet" in text


@pytest.mark.parametrize("numbers", [[], [0], [1], [3, 0, 7], [10**9] * 60])
def test_a_chart_is_well_formed_whatever_it_shows(numbers: list[int]) -> None:
    names = [f'<w{n}>&"' for n in range(len(numbers))]
    chart = columns("A <title> & more", names, [("a<b", "blue", numbers), ("c", "orange", numbers)])
    drawn = etree.fromstring(str(chart))
    assert drawn.get("aria-label") == "A <title> & more"
    assert all(float(each.attrib["height"]) >= 0 for each in drawn.iter("rect"))
    assert len(list(drawn.iter("title"))) == 2 * min(len(numbers), 53)


def test_a_meter_shows_its_marks_and_stays_within_its_bounds() -> None:
    for share in (None, -1.0, 0.0, 0.5, 2.0):
        drawn = etree.fromstring(str(meter("t", share, [("goal", 0.5), ("all", 1.0)])))
        assert [each.text for each in drawn.iter("text")] == ["goal", "all"]
        assert all(0 <= float(each.attrib["width"]) <= 720 for each in drawn.iter("rect"))
