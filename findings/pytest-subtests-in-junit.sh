#!/usr/bin/env bash
# Software: pytest 9.2.0 with its own subtests, junitparser 5.0.3, Python
# Date: 2026-11-28
# Guess: in `--junitxml` a test with subtests is one <testcase>, counts as one in `tests`, and is failed if a subtest failed.
# Seen: it is one <testcase> with the marks of all its subtests: <skipped> and <failure> together if one was skipped and a
#       later one failed, <skipped> alone if one was skipped and the test itself passed. `tests` counts the subtests too, so
#       that 3 test cases claim to be 9 tests. `junitparser verify` ends with 0 for the failed run.
# Matters: a reader that takes the first mark, or <skipped> before <failure>, calls a failed test skipped; one that
#          compares `tests` with the elements takes each such file for incomplete.
. "$(dirname "$0")/lib/finding.sh"
python_packages env pytest==9.2.0 junitparser==5.0.3

cat >"$work/test_it.py" <<'PY'
import unittest

import pytest


def test_skips_one(subtests):
    with subtests.test("a"):
        pytest.skip("not here")
    with subtests.test("b"):
        pass


def test_skips_then_fails(subtests):
    with subtests.test("a"):
        pytest.skip("not here")
    with subtests.test("b"):
        assert 1 == 2


class OfUnittest(unittest.TestCase):
    def test_skips_then_fails(self):
        for number in (1, 2):
            with self.subTest(number=number):
                if number == 1:
                    self.skipTest("not here")
                self.assertEqual(number, 1)
PY

cd "$work"
for selected in all OfUnittest; do
    code=0
    env/bin/python -m pytest -q -p no:cacheprovider --junitxml=it.xml test_it.py -k "${selected/all/}" >run.txt 2>&1 || code=$?
    echo "$selected: exit code $code, $(tail -1 run.txt | sed 's/ in [0-9.]*s//')" | tee -a seen
    python_in env <<'PY'
from xml.etree import ElementTree

from junitparser import JUnitXml

root = ElementTree.parse("it.xml").getroot()
for suite in root.iter("testsuite"):
    print({name: suite.get(name) for name in ("tests", "failures", "skipped")})
for case in root.iter("testcase"):
    print(f"  {case.get('name')}: {[mark.tag for mark in case]}")
read = [(case.is_skipped, case.is_failure) for suite in JUnitXml.fromfile("it.xml") for case in suite]
print(f"  junitparser (is_skipped, is_failure): {read}")
PY
    code=0
    env/bin/junitparser verify it.xml || code=$?
    echo "  junitparser verify: exit code $code" | tee -a seen
done

expect <<'TEXT'
all: exit code 1, 3 failed, 2 passed, 3 skipped, 1 subtests passed
{'tests': '9', 'failures': '3', 'skipped': '3'}
  test_skips_one: ['skipped']
  test_skips_then_fails: ['skipped', 'failure', 'failure']
  test_skips_then_fails: ['skipped', 'failure']
  junitparser (is_skipped, is_failure): [(True, False), (True, True), (True, True)]
  junitparser verify: exit code 0
OfUnittest: exit code 1, 1 failed, 1 passed, 1 skipped, 2 deselected
{'tests': '3', 'failures': '1', 'skipped': '1'}
  test_skips_then_fails: ['skipped', 'failure']
  junitparser (is_skipped, is_failure): [(True, True)]
  junitparser verify: exit code 0
TEXT
