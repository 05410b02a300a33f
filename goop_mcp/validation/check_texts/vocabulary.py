"""The vocabulary of test runners, linters and compilers, as data."""

from typing import Final

__all__ = [
    "ADJECTIVES",
    "AFTER_DESCRIBED_EXIT",
    "AFTER_LEFT_OUT",
    "AFTER_NONE",
    "AFTER_PAST",
    "ARTICLES",
    "AUXILIARIES",
    "CHECKED",
    "CHECKING",
    "CHECKING_AGENTS",
    "CHECKS",
    "CHECKS_NOW",
    "CODE_WORDS",
    "CONNECTIVES",
    "DESCRIBING",
    "ENDED",
    "ERROR_CONTEXT",
    "EXIT_FILLERS",
    "FAILURE_LINES",
    "FAILURE_TEXTS",
    "FIXING",
    "HAND_OVER",
    "KNOWN",
    "LATER_AGENTS",
    "LATER_UNITS",
    "LEAST",
    "LEFT_OUT",
    "MAY_BE_LATER",
    "NEGATED_RUN_OF",
    "NOTHING_RAN",
    "NOT_RUN_INTO",
    "NOW",
    "NUMBERS",
    "OTHER_NOUNS",
    "PAST",
    "PLACES_IN_WORK",
    "POSITIVE",
    "RELATIVE",
    "REPORTING",
    "RUN_BEFORE_EXIT",
    "SHARES",
    "SHOULD",
    "SHOULD_SUCCEED",
    "STATES",
    "TEST_NOUNS",
    "TOOLS",
    "UNDER",
]

Words = frozenset[str]


def _words(text: str) -> Words:
    return frozenset(text.split())


# What a number counts. pytest, unittest, jest, vitest, mocha, node:test, go test, cargo test and
# nextest, TAP, dotnet, JUnit (Maven, Gradle), bun, rspec, phpunit, playwright, tsc, eslint, ruff,
# mypy. "other" ran or was left out on purpose and counts in sums only.
STATES: Final = {
    word: kind
    for kind, words in {
        "passed": "pass passed passes passing succeeded successes xpassed green ok",
        "failed": "fail failed fails failing failure failures crashed broken aborted",
        "errors": "error errors errored",
        "skipped": "skip skipped skips pending todo ignored disabled",
        "other": (
            "xfailed xfail deselected warning warnings rerun reruns filtered collected measured"
            " cancelled"
        ),
        "unstable": "flaky",
        "total": "total",
    }.items()
    for word in words.split()
}

NUMBERS: Final = {
    word: number
    for number, words in enumerate(
        (
            "no zero none",
            "one",
            "two both",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
        )
    )
    for word in words.split()
}

TEST_NOUNS: Final = _words(
    "test tests testcase testcases spec specs example examples case cases check checks item items"
    " scenario scenarios subtest subtests"
)

# Counted as well, but never compared with the number of tests.
OTHER_NOUNS: Final = _words(
    "file files suite suites module modules package packages assertion assertions project projects"
    " expect expectations feature features step steps problem problems"
)

# Between a number and what it counts: "2 unit tests have failed".
ADJECTIVES: Final = _words(
    "unit integration e2e more other type lint have has are were is was did still also the all not"
    " smoke functional end-to-end run ran out of them and"
)

# May follow a count. After any other word the state belongs to that word: "3 failed logins".
CONNECTIVES: Final = _words(
    "in and but or because due on with of out after at for total now still only as so yet remain"
    " remaining remains left found though while which see is are was were has have across within"
    " under during since despite to from overall again this that not these reported when"
)

TOOLS: Final = _words(
    "pytest unittest jest vitest mocha node npm npx yarn pnpm bun go cargo nextest dotnet mvn maven"
    " gradle rspec phpunit tsc eslint ruff mypy pyright tox nox make playwright cypress junit ctest"
    " shellcheck deno biome prettier flake8 pylint black clippy golangci-lint rubocop test tests"
    " lint linter build typecheck type-check typescript coverage result results output summary"
    " suite run"
)

# Before a number: what a tool reports, when the tool is named before it.
REPORTING: Final = _words(
    "found reports reported shows showed gives gave prints printed has had got with returned"
    " returns finished completed ended"
)

# Before a number, these describe how a program behaves, or bound it.
DESCRIBING: Final = _words(
    "after returns return returned shows show displays display renders logs handles rejects raises"
    " raise throws prints detects catches allows allow counts expects expect asserts assert yields"
    " produces simulates simulated injected forced to most least than max maximum limit until per"
    " first last every each threshold tolerates tolerate survives retries locks exactly for any"
    " if when like covers cover from"
)

# What was put right, up to the next comma.
FIXING: Final = _words(
    "fixed fixes fix fixing resolved resolves resolve resolving removed removes repaired corrected"
    " addressed cleared eliminated reproduced reproduces reproducing quarantined updated rewrote"
)

# What was the case earlier, up to the next sentence or a word of NOW.
PAST: Final = _words(
    "previously before earlier formerly initially originally baseline was pre-fix red"
)

AFTER_PAST: Final = _words(
    "before previously earlier originally initially first fixed resolved corrected repaired"
    " expected intentional intentionally design deliberately"
)

# The text after these describes a later run; what precedes them is over if counts follow.
NOW: Final = _words("now then finally afterwards rerun re-run reran re-ran retry retried after")

# "11/12" after one of these is a position.
PLACES_IN_WORK: Final = _words(
    "wave task step phase part chunk batch worker run page attempt shard round iteration stage of"
    " milestone sprint item slice"
)

POSITIVE: Final = _words(
    "pass passes passed passing ok okay green clean succeeds succeeded success successful works"
    " successfully verified confirmed compiles compiled built valid"
)

# "should pass": what somebody hopes for.
SHOULD: Final = _words("should would ought will must")
SHOULD_SUCCEED: Final = _words("pass passing work succeed compile build ok fine green good run")

# Phrases that say that nothing ran, when nothing else in the text says that something did.
NOTHING_RAN: Final = tuple(
    tuple(phrase.split())
    for phrase in (
        "not run",
        "not ran",
        "not yet run",
        "not been run",
        "not executed",
        "not yet executed",
        "not been executed",
        "never run",
        "never ran",
        "didn't run",
        "didn't execute",
        "wasn't run",
        "weren't run",
        "hasn't run",
        "haven't run",
        "not tested",
        "not yet tested",
        "not been tested",
        "untested",
        "not verified",
        "not yet verified",
        "not been verified",
        "unverified",
        "not checked",
        "not performed",
        "not attempted",
        "not started",
        "could not run",
        "couldn't run",
        "could not be run",
        "could not execute",
        "couldn't execute",
        "unable to run",
        "unable to execute",
        "cannot run",
        "cannot be run",
        "can't run",
        "can't be run",
        "no tests ran",
        "no tests run",
        "no tests were run",
        "no tests were executed",
        "no tests executed",
        "no tests found",
        "no tests were found",
        "no tests collected",
        "no tests to run",
        "no test files",
        "no test specified",
        "no test suite found",
        "no specs found",
        "nothing ran",
        "nothing run",
        "nothing was run",
        "nothing to test",
        "nothing to run",
        "to be run",
        "to be tested",
        "to be verified",
        "to be executed",
        "to be done by",
        "to be done in",
        "to be done later",
        "will be done",
        "will be run",
        "will be tested",
        "will be verified",
        "will be executed",
        "assumed to pass",
        "assumed passing",
        "assumed ok",
        "assuming",
        "presumably",
        "expected to pass",
        "expected to work",
        "expect to pass",
        "likely to pass",
        "probably passes",
        "probably pass",
        "probably fine",
        "probably ok",
        "probably works",
        "likely passes",
        "likely pass",
        "command not found",
        "no such file or directory",
        "no module named",
        "cannot find module",
        "not applicable",
        "n/a",
        "no result",
        "no results",
        "timed out",
        "tests skipped",
        "tests were skipped",
        "test skipped",
        "suite skipped",
        "suite was skipped",
        "was skipped",
        "were skipped",
        "all skipped",
        "haven't been run",
        "hasn't been run",
        "haven't been tested",
        "hasn't been tested",
        "weren't executed",
        "wasn't executed",
        "wasn't tested",
        "yet to run",
        "need to run",
        "needs to run",
        "waiting for ci",
        "awaiting ci",
        "believed to pass",
        "believed to work",
        "presumed to pass",
        "file or directory not found",
        "not available",
        "not installed",
        "not execute",
        "not implemented",
        "not yet implemented",
        "not yet written",
        "nothing executed",
        "nothing was executed",
        "run skipped",
        "run was skipped",
        "unable to verify",
        "in theory",
    )
)

# Lines of output that stand for a failure, by how they begin.
FAILURE_LINES: Final = (
    *("FAILED tests/", "FAILED (", "FAILED test", "FAIL:", "--- FAIL", "not ok ", "npm ERR!"),
    *("FAILURES!", "ERRORS!", "Traceback (most recent call last)", "panic:", "error[E", "error TS"),
    *("Failed!", "ERROR collecting", "[  FAILED  ]", "FAIL src/", "FAIL test", "FAIL\t", "FAIL ./"),
    *("=== FAIL", "*** FAIL", "** TEST FAILED **", "Bail out!", "ERROR: test", "FAIL  "),
)

FAILURE_TEXTS: Final = (
    *("BUILD FAILED", "BUILD FAILURE", "Build FAILED", "test result: FAILED", ": error TS"),
    *("ELIFECYCLE", "error: could not compile", "Segmentation fault", "SIGSEGV", "core dumped"),
    *("** TEST FAILED **", "make: *** "),
    *(
        "does not meet global threshold",
        "COMPILATION ERROR",
        "There are test failures",
        "Out of memory",
    ),
    *("Some tests failed.", "is less than fail-under"),
)

# Before a number of errors: the text reports a result.
ERROR_CONTEXT: Final = _words(
    "and but has have are were is still only with result got total remain : no"
)

# "failed with 3 errors".
ENDED: Final = _words("failed finished completed ended compiled done exited stopped")

# After "no tests": the statement is still complete.
AFTER_NONE: Final = _words("ran run found executed collected in to tests test and but passed")

# Before "not run": the statement is about the tests.
NEGATED_RUN_OF: Final = _words("was were tests test suite did yet been checks build lint are but")

# After "not run": the statement is about something else.
NOT_RUN_INTO: Final = _words("into as twice when if unless out longer concurrently more anymore")

# Between "exit" and its number.
EXIT_FILLERS: Final = _words("with code status value a the of was is : = ( non-zero nonzero")

# Names of an exit status.
CODE_WORDS: Final = _words("rc returncode exitcode exit-code retcode")

# After an exit status: the behaviour of a program is described.
AFTER_DESCRIBED_EXIT: Final = _words("on when if for as expected instead means of")

# At the beginning of a text: nothing ran.
LEFT_OUT: Final = _words("skipped skipping skip pending deferred omitted postponed")

# Who or what is to run a check, after these words with those that follow: "left to goop-tester".
HAND_OVER: Final = {
    "left": "to for",
    "deferred": "to until",
    "postponed": "to until",
    "delegated": "to",
    "handed": "to",
    "assigned": "to",
    "reserved": "for",
    "waits": "for",
    "waiting": "for",
    "up": "to",
}
MAY_BE_LATER: Final = _words("left deferred postponed")
AUXILIARIES: Final = _words("is are was were be been being has have could can")
ARTICLES: Final = _words("a an the our that this its")
LATER_UNITS: Final = _words("task wave phase session step run iteration agent pr")
CHECKING: Final = _words("testing verification verifying checking running everything this it that")

# Agents that do nothing but check: what they "will" do is not the behaviour of a program.
CHECKING_AGENTS: Final = _words(
    "ci qa tester testers reviewer reviewers maintainers somebody someone"
)
LATER_AGENTS: Final = CHECKING_AGENTS | _words("pipeline nightly verifier critic orchestrator")
CHECKS: Final = _words("run runs test check verify execute do confirm validate handle cover show")
CHECKS_NOW: Final = _words("runs tests checks verifies executes")
CHECKED: Final = _words("it them this that these all everything the tests")

# After "skipped" as a complete statement.
AFTER_LEFT_OUT: Final = _words(
    "because due for as since in on by until ci review run merge here locally per now this out"
)

# "inputs that should pass" is a description.
RELATIVE: Final = _words("that which who whose what")

# Before an exit status: a run is described.
RUN_BEFORE_EXIT: Final = _words(
    "failed finished completed ended terminated died stopped returned got process command"
)

# What a measured share is compared with: "coverage 45 % (required 80 %)".
SHARES: Final = _words("coverage covered statements branches lines functions score")
LEAST: Final = _words(
    "required require requires requirement minimum min threshold target goal least"
)
UNDER: Final = _words("below under")

# Every word that has a meaning here. In a text of another language any other word may have one.
KNOWN: Final = frozenset().union(
    *(STATES, NUMBERS, TEST_NOUNS, OTHER_NOUNS, ADJECTIVES, CONNECTIVES, TOOLS, REPORTING),
    *(DESCRIBING, FIXING, PAST, AFTER_PAST, NOW, PLACES_IN_WORK, POSITIVE, SHOULD, SHOULD_SUCCEED),
    *(ERROR_CONTEXT, ENDED, AFTER_NONE, NEGATED_RUN_OF, NOT_RUN_INTO, EXIT_FILLERS, CODE_WORDS),
    *(LEFT_OUT, AFTER_LEFT_OUT, HAND_OVER, AUXILIARIES, ARTICLES, CHECKING, CHECKING_AGENTS),
    *(LATER_AGENTS, LATER_UNITS, CHECKS, CHECKS_NOW, RUN_BEFORE_EXIT, SHARES, LEAST, UNDER),
    *NOTHING_RAN,
)
