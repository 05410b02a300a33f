"""The page of what was run in which version is read as it was written, and names what got worse."""

from pathlib import Path

from tests.e2e.latest import PAGE, read_page, read_results, worse_than, write_page

VERSIONS = {"Claude Code": "2.1.9", "Codex": "0.2.0", "OpenCode": "1.0.0"}
RESULTS = """\
<testsuites><testsuite>
<testcase classname="tests.e2e.test_evidence" name="test_an_honest_agent_passes[claude-code]"/>
<testcase classname="tests.e2e.test_evidence" name="test_an_honest_agent_passes[codex]">
<failure message="no">no</failure></testcase>
<testcase classname="tests.e2e.test_codex" name="test_a_bad_report_is_sent_back[a]"/>
<testcase classname="tests.e2e.test_codex" name="test_a_bad_report_is_sent_back[b]">
<skipped message="no"/></testcase>
<testcase classname="tests.e2e.test_ten_turns" name="test_a_turn[cut off-opencode]">
<properties><property name="scene" value="a cut report"/></properties></testcase>
</testsuite></testsuites>
"""


def test_the_page_is_read_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "results.xml"
    file.write_text(RESULTS, encoding="utf-8")
    table = read_results(file)
    assert table == {
        "an honest agent passes": {"Claude Code": "held", "Codex": "failed"},
        "a bad report is sent back": {"Codex": "not run here"},
        "a cut report": {"OpenCode": "held"},
    }
    assert read_page(write_page(table, VERSIONS)) == table


def test_a_scene_that_held_and_fails_now_is_named() -> None:
    before = {"a": {"Codex": "held", "OpenCode": "failed"}, "b": {"Codex": "held"}}
    after = {"a": {"Codex": "failed", "OpenCode": "failed"}, "c": {"Codex": "failed"}}
    assert list(worse_than(before, after)) == [("a", "Codex")]


def test_the_page_of_the_repository_has_a_row_for_every_scene_that_was_run() -> None:
    table = read_page(PAGE.read_text(encoding="utf-8"))
    assert len(table) > 50
    assert {outcome for row in table.values() for outcome in row.values()} <= {
        "held",
        "failed",
        "not run here",
    }
