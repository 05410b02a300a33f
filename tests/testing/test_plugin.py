import re
import subprocess
import sys

import pytest

from goop_mcp.testing import load_corpus
from tests.repository import ROOT

pytest_plugins = ["pytester"]

CONFTEST = 'pytest_plugins = ["goop_mcp.testing.plugin"]\n'
EXAMPLES = re.findall(
    r"```python\n(.*?)```", (ROOT / "docs/testing.md").read_text("utf-8"), re.DOTALL
)


def run(pytester: pytest.Pytester, source: str, *, conftest: str = CONFTEST) -> pytest.RunResult:
    """Run a test file in a pytest of its own that has the plugin."""
    pytester.makeconftest(conftest)
    pytester.makepyfile(source)
    return pytester.runpytest_subprocess("--strict-markers", timeout=300)


def test_the_examples_of_the_page_run_one_after_the_other() -> None:
    names: dict[str, object] = {}
    for example in EXAMPLES[:-2]:
        exec(example, names)  # noqa: S102 - the page must say what is true

    assert len(EXAMPLES) == 5


def test_the_tests_of_the_page_pass(pytester: pytest.Pytester) -> None:
    result = run(pytester, EXAMPLES[-1], conftest=EXAMPLES[-2])

    refused = [case for case in load_corpus() if case.wanted == "refused"]
    result.assert_outcomes(passed=1 + len(refused))


def test_a_reply_that_was_never_asked_for_fails_the_test(pytester: pytest.Pytester) -> None:
    result = run(
        pytester, 'def test_it(scripted_agent):\n    scripted_agent("one", "two").sync("?")\n'
    )

    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*a scripted agent was never asked for 1 reply*"])


def test_a_test_runs_once_for_each_reply_of_the_corpus(pytester: pytest.Pytester) -> None:
    result = run(
        pytester, "def test_it(corrupted_reply):\n    assert corrupted_reply.text is not None\n"
    )

    result.assert_outcomes(passed=len(load_corpus()))


def test_a_mark_with_an_unknown_field_is_refused(pytester: pytest.Pytester) -> None:
    source = (
        'import pytest\n\n@pytest.mark.corpus(wnated="read")\ndef test_it(corrupted_reply): ...\n'
    )

    result = run(pytester, source)

    assert result.ret != 0
    result.stdout.fnmatch_lines(["*the mark corpus knows no 'wnated'*"])


def test_the_scripted_agent_and_the_corpus_load_no_pytest() -> None:
    program = (
        "import sys, goop_mcp.testing as t; t.load_corpus(); t.ScriptedAgent(''); print('pytest' in"
        " sys.modules)"
    )

    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=True
    )

    assert result.stdout.strip() == "False"
