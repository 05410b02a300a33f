#!/usr/bin/env bash
# Software: vitest 4.1.12, jest 30.5.2 with jest-junit 17.0.0, @playwright/test 1.65.1, Node
# Date: 2026-11-28
# Guess: a run that ends with 1 has a <failure> or <error> in its JUnit file, or at least a number above 0 for them.
# Seen: none of three has. vitest lists a promise that was rejected after its test in no result file, and its JSON says
#       `success: true`. jest-junit leaves out a suite that cannot be imported. Playwright lists no test at all if one file
#       cannot be loaded, not even those of other files.
# Matters: the file of a failed run proves that all its tests passed; only the exit code says otherwise, and an agent or a
#          pipeline that hands on the file alone loses that.
. "$(dirname "$0")/lib/finding.sh"
node_packages node vitest@4.1.12 jest@30.5.2 jest-junit@17.0.0 @playwright/test@1.65.1

cd "$work/node"
mkdir vitest jest playwright
echo "import { test } from 'vitest'; test('one', () => { Promise.reject(new Error('late')); }); test('two', () => {});" >vitest/a.test.mjs
echo "throw new Error('import');" >jest/bad.test.js
echo "test('good', () => {});" >jest/good.test.js
echo '{}' >jest/package.json
echo "throw new Error('import');" >playwright/bad.spec.js
echo "require('@playwright/test').test('good', () => {});" >playwright/good.spec.js
export PATH="$PWD/node_modules/.bin:$PATH" CI=1

# show FOLDER FILE COMMAND...: run it there and print what the file has.
show() {
    local code=0
    (cd "$1" && "${@:3}") >log 2>&1 || code=$?
    echo "$1: exit code $code" | tee -a "$work/seen"
    python3 - "$1/$2" <<'PY' | tee -a "$work/seen"
import sys
from xml.etree import ElementTree

root = ElementTree.parse(sys.argv[1]).getroot()
counts = {name: root.get(name) for name in ("tests", "failures", "errors")}
print(f"  {counts}, {[(case.get('name').strip(), [mark.tag for mark in case]) for case in root.iter('testcase')]}")
PY
}
show vitest a.xml vitest run --reporter=junit --outputFile.junit=a.xml --reporter=json --outputFile.json=a.json
node -p '"  json: success " + JSON.parse(fs.readFileSync("vitest/a.json")).success' | tee -a "$work/seen"
show jest junit.xml jest --reporters=jest-junit
export PLAYWRIGHT_JUNIT_OUTPUT_NAME=a.xml
show playwright a.xml playwright test --reporter=junit

expect <<'TEXT'
vitest: exit code 1
  {'tests': '2', 'failures': '0', 'errors': '0'}, [('one', []), ('two', [])]
  json: success true
jest: exit code 1
  {'tests': '1', 'failures': '0', 'errors': '0'}, [('good', [])]
playwright: exit code 1
  {'tests': '0', 'failures': '0', 'errors': '0'}, []
TEXT
