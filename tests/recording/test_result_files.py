"""Result files of real runners, and hostile ones: only test cases count, never totals."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from goop_mcp.errors import ResultFileError
from goop_mcp.recording.result_files import (
    TestResults,
    mark_result_files,
    read_coverage_file,
    read_result_file,
    removed_tests,
)
from tests.repository import ROOT

FILES = ROOT / "tests" / "cases" / "result_files"

TESTS = """
import os, pytest

def test_adds(): assert 1 + 1 == 2

@pytest.mark.skipif("QUICK" in os.environ, reason="slow")
def test_orders(): assert True

if "FEW" not in os.environ:
    def test_removes(): assert True
"""


def run_pytest(folder: Path, **environment: str) -> int:
    """Run the tests above as an agent would, writing results.xml."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml"]
    ended = subprocess.run(
        [*command, "results.xml", "test_shop.py"],
        cwd=folder,
        env={**os.environ, **environment, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        check=False,
        timeout=300,
    )
    return ended.returncode


def test_a_run_is_judged_by_the_file_it_wrote_and_tests_that_went_away_are_named(
    tmp_path: Path,
) -> None:
    tmp_path.joinpath("test_shop.py").write_text(TESTS, encoding="utf-8")
    file = tmp_path / "results.xml"

    before = mark_result_files(file)
    assert run_pytest(tmp_path) == 0
    base = read_result_file(file, since=before)
    assert (base.is_passed, base.executed, base.skipped, base.stale) == (True, 3, 0, False)

    # The next run writes elsewhere: the old file is no witness of it.
    second = mark_result_files(file)
    stale = read_result_file(file, since=second)
    assert (stale.stale, stale.is_passed) == (True, False)
    assert stale.why_not_passed == "the result file is older than the run"

    # Fewer tests pass as well, and exit 0 hides it.
    assert run_pytest(tmp_path, QUICK="1", FEW="1") == 0
    now = read_result_file(file, since=second)
    assert (now.is_passed, now.executed) == (True, 1)
    assert removed_tests(base, now) == (("test_shop > test_removes",), ("test_shop > test_orders",))


def test_a_run_without_any_executed_test_has_not_passed(tmp_path: Path) -> None:
    tmp_path.joinpath("test_shop.py").write_text(
        "import pytest\n\n@pytest.mark.skip\ndef test_adds(): ...\n", encoding="utf-8"
    )

    assert run_pytest(tmp_path) == 0
    results = read_result_file(tmp_path / "results.xml")

    assert (results.is_passed, results.why_not_passed) == (False, "no test ran (1 skipped)")


def numbers(results: TestResults) -> tuple[int, int, int, int]:
    return results.passed, results.failed, results.errors, results.skipped


# file, (passed, failed, errors, skipped), flaky, repeated: as the runner's own test sources say
REAL = [
    ("pytest.xml", (5, 2, 2, 2), 0, 0),
    ("pytest-xunit1.xml", (5, 2, 2, 2), 0, 0),
    # pytest-rerunfailures lists the failed attempt as one that passed.
    ("pytest-rerun.xml", (3, 0, 0, 0), 0, 1),
    ("pytest-collect.xml", (0, 0, 1, 0), 0, 0),
    ("pytest-nothing.xml", (0, 0, 0, 1), 0, 0),
    ("pytest-zero.xml", (0, 0, 0, 0), 0, 0),
    ("pytest.ctrf.json", (5, 4, 0, 2), 0, 0),
    ("node.xml", (5, 1, 0, 3), 0, 1),
    ("node.tap", (5, 1, 0, 3), 0, 1),
    # node lists a file without tests as a test that passed.
    ("node-nothing.xml", (0, 0, 0, 0), 0, 0),
    ("node-nothing.tap", (0, 0, 0, 0), 0, 0),
    # It lists the marks of all subtests with their test.
    ("pytest-subtests.xml", (1, 5, 1, 5), 0, 0),
    # jest-junit lists a test to do as one that passed, and leaves out the file that did not load.
    ("jest.xml", (2, 1, 0, 2), 0, 0),
    ("jest-todo.xml", (1, 1, 0, 3), 0, 0),
    ("jest-quick.xml", (6, 0, 0, 1), 0, 0),
    ("jest-import.xml", (1, 0, 0, 0), 0, 0),
    ("jest.ctrf.json", (2, 1, 0, 2), 0, 0),
    ("vitest.xml", (2, 1, 0, 2), 0, 0),
    # vitest lists a test that it did not begin as one that passed.
    ("vitest-bail.xml", (1, 1, 0, 4), 0, 0),
    ("vitest-bail-concurrent.xml", (1, 1, 0, 1), 0, 0),
    # It has no place for an error after the end of its test; the exit status is 1.
    ("vitest-late-error.xml", (2, 0, 0, 0), 0, 0),
    ("playwright-import.xml", (0, 0, 0, 0), 0, 0),
    ("vitest.tap", (2, 1, 0, 2), 0, 0),
    ("vitest-flat.tap", (2, 1, 0, 2), 0, 0),
    ("mocha-xunit.xml", (2, 2, 0, 2), 0, 0),
    ("mocha.ctrf.json", (2, 2, 0, 2), 0, 0),
    ("mocha.tap", (2, 2, 0, 2), 0, 0),
    ("tape.tap", (1, 1, 0, 1), 0, 0),
    ("perl.tap", (3, 0, 0, 2), 0, 0),
    ("perl-bail.tap", (1, 0, 0, 0), 0, 0),
    ("perl-nothing.tap", (0, 0, 0, 0), 0, 0),
    ("by_hand/totals_too_good.xml", (1, 1, 0, 0), 0, 0),
    ("by_hand/totals_only.xml", (0, 0, 0, 0), 0, 0),
    ("by_hand/suite_error.xml", (1, 0, 1, 0), 0, 0),
    ("by_hand/gtest.xml", (1, 0, 0, 2), 0, 0),
    ("by_hand/gradle_retry.xml", (2, 0, 0, 0), 1, 0),
    ("by_hand/surefire", (2, 0, 1, 1), 1, 0),
    ("by_hand/summary_lies.ctrf.json", (2, 1, 0, 1), 1, 0),
    ("by_hand/cut_off.tap", (2, 0, 0, 0), 0, 0),
    ("by_hand/plan_last.tap", (1, 0, 0, 2), 0, 0),
    ("by_hand/hook_failed.tap", (2, 0, 1, 0), 0, 0),
]
PASSED = {
    "pytest-rerun.xml",
    "jest-quick.xml",
    # Files of runs that failed: only the exit status says so.
    "jest-import.xml",
    "vitest-late-error.xml",
    "perl.tap",
    "gtest.xml",
    "gradle_retry.xml",
    "plan_last.tap",
}


@pytest.mark.parametrize(("name", "expected", "flaky", "repeated"), REAL, ids=[r[0] for r in REAL])
def test_counts_are_those_of_the_test_cases(
    name: str, expected: tuple[int, int, int, int], flaky: int, repeated: int
) -> None:
    results = read_result_file(FILES / name)

    assert numbers(results) == expected
    assert (results.flaky, results.repeated) == (flaky, repeated)
    assert results.is_passed is (name.rpartition("/")[2] in PASSED), results.why_not_passed
    assert results.names_whole is (name != "jest-quick.xml")
    if results.names_whole:
        assert len(results.passed_names) == results.passed
        assert len(results.skipped_names) == results.skipped


def test_a_failed_subtest_outranks_a_skipped_one_and_a_test_to_do_outranks_both() -> None:
    subtests = read_result_file(FILES / "pytest-subtests.xml")
    assert subtests.failed_names == (
        "test_it > test_skips_then_fails",
        "test_it > test_fails_then_is_skipped",
        "test_it > test_strict",
        "test_it > test_xfails_then_fails",
        "test_it.OfUnittest > test_skips_then_fails",
        "test_it > test_skipped_then_teardown",
    )
    # The header counts reports of subtests as well, which is no contradiction.
    assert subtests.notes == ()
    assert "todo that fails" in read_result_file(FILES / "node.xml").skipped_names


def test_tests_that_did_not_run_are_not_among_those_that_passed() -> None:
    stopped = read_result_file(FILES / "vitest-bail.xml")
    assert stopped.passed_names == ("a.test.mjs > zero",)
    assert stopped.incomplete == "the run stopped before 2 of its tests began"
    # A comparison would name tests as removed that a failure prevented.
    assert removed_tests(read_result_file(FILES / "vitest.xml"), stopped) is None
    assert read_result_file(FILES / "vitest.xml").incomplete == ""

    to_do = read_result_file(FILES / "jest-todo.xml")
    assert (to_do.passed_names, to_do.names_whole) == ((" two",), True)
    assert to_do.skipped_names == (" three", " four", " only")

    # Quick tests have the time 0 too: how many are to do is known, and which is not.
    quick = read_result_file(FILES / "jest-quick.xml")
    assert (quick.is_passed, quick.names_whole) == (True, False)
    assert removed_tests(quick, to_do) is None


@pytest.mark.parametrize(
    ("suite", "times", "expected"),
    [
        # Every test ran: no number of the suite leaves one out, or no failure stopped the run.
        ('tests="2" failures="0" skipped="0"', ("0", "0"), 2),
        ('tests="2" failures="0" skipped="0"', ("0.00012345", "0"), 2),
        # Numbers that contradict the cases say nothing.
        ('tests="0" failures="0" skipped="3"', ("0", "0"), 2),
        ('tests="many" failures="0" skipped="0"', ("0", "0"), 2),
        ('tests="1" failures="0" skipped="0"', ("0.001", "0.001"), 2),
        ('tests="1" failures="0" skipped="0"', ("0.001", "0"), 1),
    ],
)
def test_only_what_the_file_shows_makes_a_passed_test_one_to_do(
    suite: str, times: tuple[str, str], expected: int
) -> None:
    cases = "".join(
        f'<testcase name="t{time}{at}" time="{time}"/>' for at, time in enumerate(times)
    )
    content = f"<testsuites><testsuite {suite}>{cases}</testsuite></testsuites>".encode()

    assert read_result_file(content).passed == expected


def test_every_sample_is_tested() -> None:
    tested = {name for name, *_ in REAL} | {name for name, *_ in COVERAGE}
    files = {
        path.relative_to(FILES).as_posix()
        for path in FILES.rglob("*")
        if path.is_file() and path.suffix != ".md" and path.parent.name != "surefire"
    }

    assert files | {"by_hand/surefire"} == tested


def test_names_have_their_suite_and_their_characters() -> None:
    assert read_result_file(FILES / "pytest.xml").passed_names[2] == (
        "test_shop > test_price[<3 & 4>]"
    )
    assert read_result_file(FILES / "node.xml").failed_names == ("shop > fails <&>",)
    assert read_result_file(FILES / "node.tap").failed_names == ("shop > fails <&>",)
    assert read_result_file(FILES / "jest.xml").failed_names == ("shop fails <&>",)
    assert read_result_file(FILES / "vitest.tap").passed_names[0] == "shop.test.mjs > shop > adds"
    skipped = read_result_file(FILES / "by_hand" / "plan_last.tap").skipped_names
    assert skipped == ("removes", "cost is \\# 5")


def test_totals_that_differ_are_noted_and_not_believed() -> None:
    assert read_result_file(FILES / "pytest.xml").notes == ()
    notes = read_result_file(FILES / "by_hand" / "totals_too_good.xml").notes
    assert notes == ("the header counts 12 tests, the file holds 2",)
    notes = read_result_file(FILES / "by_hand" / "summary_lies.ctrf.json").notes
    assert notes == ("the header counts 3 tests, the file holds 4",)


def test_what_is_cut_off_has_not_passed() -> None:
    reasons = {
        "by_hand/cut_off.tap": "the plan has 3 tests, the file 2",
        "perl-bail.tap": "the run bailed out",
        "by_hand/hook_failed.tap": "1 errors",
        "by_hand/totals_only.xml": "no test ran",
    }

    for name, reason in reasons.items():
        assert read_result_file(FILES / name).why_not_passed == reason

    assert read_result_file(b"ok 1 - adds\n").why_not_passed.startswith("the file has no plan")
    for size in (400, 900, 1500):
        with pytest.raises(ResultFileError, match="well-formed"):
            read_result_file((FILES / "pytest.xml").read_bytes()[:size])


def test_of_a_folder_only_the_files_of_the_run_count(tmp_path: Path) -> None:
    folder = tmp_path / "surefire"
    shutil.copytree(FILES / "by_hand" / "surefire", folder)
    before = mark_result_files(folder)
    # The run writes the results of one class again; those of a class that was deleted stay.
    cart = folder / "TEST-CartTest.xml"
    cart.write_bytes(cart.read_bytes())
    os.utime(cart, ns=(before.taken_ns + 10, before.taken_ns + 10))

    results = read_result_file(folder, since=before)

    assert (numbers(results), results.stale) == ((1, 0, 0, 1), False)
    assert results.notes == ("older than the run: 1 file of the folder",)
    assert read_result_file(folder, since=mark_result_files(folder)).stale


def test_a_copy_of_an_older_file_is_stale(tmp_path: Path) -> None:
    kept = tmp_path / "kept.xml"
    shutil.copy(FILES / "node.xml", kept)
    os.utime(kept, (time.time() - 600, time.time() - 600))
    before = mark_result_files(tmp_path / "results.xml")
    shutil.copy2(kept, tmp_path / "results.xml")

    assert read_result_file(tmp_path / "results.xml", since=before).stale


COVERAGE = [
    ("coverage-py.xml", (6, 4, 2, 1)),
    ("coverage-py.lcov", (6, 4, 2, 1)),
    ("istanbul-cobertura.xml", (2, 2, 2, 1)),
    ("istanbul.lcov", (2, 2, 2, 1)),
    ("node.lcov", (11, 11, 11, 11)),
    # The totals in both are wrong.
    ("by_hand/merged.lcov", (3, 2, 2, 1)),
    ("by_hand/rate_lies.cobertura.xml", (3, 1, 4, 0)),
]


@pytest.mark.parametrize(("name", "expected"), COVERAGE, ids=[each[0] for each in COVERAGE])
def test_coverage_is_counted_from_the_lines(name: str, expected: tuple[int, int, int, int]) -> None:
    totals = read_coverage_file(FILES / name)

    assert (totals.lines, totals.lines_hit, totals.branches, totals.branches_hit) == expected
    assert totals.line_percent == pytest.approx(100 * expected[1] / expected[0])
    before = mark_result_files(FILES / name)
    assert read_coverage_file(FILES / name, since=before).stale


def junit(inner: str, before: str = "") -> bytes:
    return f"{before}<testsuites>{inner}</testsuites>".encode()


LAUGHS = "".join(f'<!ENTITY a{n + 1} "{f"&a{n};" * 10}">' for n in range(12))
CASE = '<testcase name="a" classname="b"/>'
ATTRIBUTES = " ".join(f'a{n}="1"' for n in range(5000))
HOSTILE = {
    "entities": junit('<testcase name="&a9;"/>', f'<!DOCTYPE x [<!ENTITY a0 "ha">{LAUGHS}]>'),
    "outside file": junit(
        "<testcase>&x;</testcase>", '<!DOCTYPE x [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
    ),
    "entity without DTD": junit("&x;"),
    "second DOCTYPE": junit(CASE, '<!DOCTYPE a><!DOCTYPE b [<!ENTITY x "y">]>'),
    "DOCTYPE inside": junit('<!DOCTYPE b [<!ENTITY x "y">]>' + CASE),
    "hidden in a quoted name": junit(CASE, "<!DOCTYPE a SYSTEM '>[<!ENTITY x \"y\">]'>"),
    "deep": junit("<testsuite>" * 60_000),
    "wide": junit(f"<testsuite {ATTRIBUTES}/>"),
    "many": junit("<testcase/>" * 500_001),
    "never closed comment": b"<!--" * 100_000,
    "many comments": b"<!-- -->" * 100_000 + junit(CASE),
    "half of a tag": junit("<testcase name=")[:-14],
    "nothing": b"",
    "blanks": b" \n" * 100_000,
    "binary": bytes(range(256)) * 40,
    "another root": b"<html><testcase/></html>",
    "another encoding": b'<?xml version="1.0" encoding="utf-7"?><testsuites/>',
    "not its encoding": b"\xff\xfe<testsuites/>",
    "JSON": b'{"tests": []}',
    "deep JSON": b'{"a":' * 100_000,
    "broken JSON": b'{"results": {"tests": [',
    "many objects": b'{"results": {"tests": [' + b"{}," * 2_000_000 + b"{}]}}",
    "TAP in name only": b"TAP version 13\n",
    "a log": b"all is ok, 12 passed\n" * 50_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_content_is_refused_in_one_sentence(name: str) -> None:
    began = time.thread_time()
    with pytest.raises(ResultFileError) as raised:
        read_result_file(HOSTILE[name])

    # A guard against hanging; the slowest takes half a second.
    assert time.thread_time() - began < 30
    assert len(str(raised.value)) < 300
    assert "\n" not in str(raised.value)


def test_hostile_but_readable_content_stays_within_bounds() -> None:
    long = read_result_file(junit(f'<testcase name="{"x" * 1_000_000}"/>'))
    assert len(long.passed_names[0]) == 300

    many = read_result_file(b"1..60000\n" + b"ok\n" * 60_000)
    assert (many.passed, many.names_whole, len(many.passed_names)) == (60_000, False, 50_000)
    assert removed_tests(many, many) is None

    tap = b"1..1\n" + b"    # Subtest: x\n" * 100_000 + b"ok 1 - a" + b" #" * 200_000 + b"\n"
    assert read_result_file(tap).passed == 1
    levels = b"".join(b" " * depth * 4 + b"ok 1 - x {\n" for depth in range(400))
    assert not read_result_file(levels).is_passed

    utf_16 = junit(CASE).decode().encode("utf-16")
    assert read_result_file(utf_16).passed == 1
    windows = '<?xml version="1.0" encoding="windows-1252"?><testsuite><testcase name="Preis €"/>'
    found = read_result_file((windows + "</testsuite>").encode("cp1252"))
    assert found.passed_names == ("Preis €",)


@pytest.mark.parametrize(
    ("case", "failed"),
    [
        ('<testcase name="a" status="failed"/>', 1),
        ('<testcase name="a" status="FAIL"/>', 1),
        ('<testcase name="a" result="error"/>', 1),
        ('<testcase name="a"><rerunFailure/></testcase>', 1),
        ('<testcase name="a" status="run" result="completed"/>', 0),
        ('<testcase name="a" status="passed"/>', 0),
        ('<testcase name="a"><flakyFailure/></testcase>', 0),
    ],
)
def test_a_failure_without_its_element_is_no_pass(case: str, failed: int) -> None:
    found = read_result_file(junit(case))
    assert (found.failed, found.is_passed) == (failed, not failed)


@pytest.mark.parametrize(
    "tap", [b"1..5\nok 1\n1..1\n", b"1..1\nok 1 - a\n1..2\n", b"1..9\n1..1\nok 1\n"]
)
def test_a_second_plan_hides_nothing(tap: bytes) -> None:
    found = read_result_file(tap)
    assert not found.is_passed
    assert found.incomplete == "the file has plans that differ"


def test_no_coverage_is_more_than_all() -> None:
    line = '<line number="1" hits="1" condition-coverage="250% (5/2)"/>'
    file = f'<coverage><class filename="a"><lines>{line}</lines></class></coverage>'
    assert read_coverage_file(file.encode()).branch_percent == 100


def test_a_file_that_cannot_be_read_names_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ResultFileError, match="does not exist; the run must write it"):
        read_result_file(tmp_path / "results.xml")
    with pytest.raises(ResultFileError, match=r"holds no \*\.xml file"):
        read_result_file(tmp_path)

    large = tmp_path / "large.xml"
    with large.open("wb") as file:
        file.truncate(33 * 1024 * 1024)
    with pytest.raises(ResultFileError, match="leave the output of the tests out"):
        read_result_file(large)

    pipe = tmp_path / "pipe.xml"
    os.mkfifo(pipe)
    with pytest.raises(ResultFileError, match="is not a file"):
        read_result_file(pipe)
