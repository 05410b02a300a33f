#!/usr/bin/env bash
# Software: vitest 4.1.12, jest 30.5.2 with jest-junit 17.0.0, @playwright/test 1.65.1, Node
# Date: 2026-11-28
# Guess: in a JUnit file a test that did not run is <skipped>, whatever the reason: the run stopped after the first failure,
#        or the test is marked as one to write.
# Seen: of a run that stopped, vitest writes each test of that file that did not run as one that passed in time 0, while its
#       JSON has "pending"; of other reasons it writes <skipped>. jest-junit writes a test to write as one that passed.
#       Playwright does what was guessed.
# Matters: such a file proves tests that nobody ran, next to one failure that an agent then fixes; its totals agree.
. "$(dirname "$0")/lib/finding.sh"
node_packages node vitest@4.1.12 jest@30.5.2 jest-junit@17.0.0 @playwright/test@1.65.1

cd "$work/node"
mkdir vitest jest playwright
tests='test("one", () => { throw new Error("no"); }); test("two", () => {});'
echo "import { test } from 'vitest'; $tests test.todo('three');" >vitest/a.test.mjs
echo "$tests test.todo('three');" >jest/a.test.js
echo "const { test } = require('@playwright/test'); $tests test.fixme('three', () => {});" >playwright/a.spec.js
echo '{}' >jest/package.json
export PATH="$PWD/node_modules/.bin:$PATH" CI=1

show() {
    python3 - "$@" <<'PY' | tee -a "$work/seen"
import sys
from xml.etree import ElementTree

name, path = sys.argv[1:]
root = ElementTree.parse(path).getroot()
cases = [(case.get("name").strip(), [mark.tag for mark in case if mark.tag != "properties"]) for case in root.iter("testcase")]
print(f"{name}: skipped {[suite.get('skipped') for suite in root.iter('testsuite')]}")
print(f"  {cases}")
PY
}

for options in --bail=1 --bail=0; do
    (cd vitest && vitest run "$options" --reporter=junit --outputFile.junit=a.xml --reporter=json --outputFile.json=a.json >log 2>&1) || true
    show "vitest $options" vitest/a.xml
    node -p 'JSON.parse(fs.readFileSync("vitest/a.json")).testResults[0].assertionResults.map(test => "  json: " + test.title + " " + test.status).join("\n")' | tee -a "$work/seen"
done
(cd jest && jest --bail=1 --reporters=jest-junit >log 2>&1) || true
show "jest --bail=1" jest/junit.xml
(cd playwright && PLAYWRIGHT_JUNIT_OUTPUT_NAME=a.xml playwright test -x --workers=1 --reporter=junit >log 2>&1) || true
show "playwright -x" playwright/a.xml

expect <<'TEXT'
vitest --bail=1: skipped ['1']
  [('one', ['failure']), ('two', []), ('three', ['skipped'])]
  json: one failed
  json: two pending
  json: three todo
vitest --bail=0: skipped ['1']
  [('one', ['failure']), ('two', []), ('three', ['skipped'])]
  json: one failed
  json: two passed
  json: three todo
jest --bail=1: skipped ['0']
  [('one', ['failure']), ('two', []), ('three', [])]
playwright -x: skipped ['2']
  [('one', ['system-out', 'error']), ('two', ['skipped']), ('three', ['skipped'])]
TEXT
