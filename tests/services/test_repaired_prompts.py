"""A repaired prompt is accepted in strict mode: its fence is marked xml and not closed inside."""

import re
from pathlib import Path

import pytest

from goop_mcp import Severity
from goop_mcp.services.check_files import repair_file
from goop_mcp.validation.findings import Finding
from tests.protocols.agent_request.prompts import CASES, PROMPT, judge, request_of, rules_of

START, END = PROMPT.index("```xml\n"), PROMPT.index("```\n\nThe sessions")
BARE = PROMPT[START + len("```xml\n") : END]
NESTED = "Write the tests first:\n```bash\nmake test\n```\n</task_details>"
COLLIDING = PROMPT.replace("Write the tests first, then the endpoint.</task_details>", NESTED)
# The text does not show what a person meant by these, so they are reported and not changed.
LEFT_TO_PEOPLE = {"agent_request/unknown-element", "agent_request/unknown-attribute"}


def repaired(text: str, folder: Path) -> str | None:
    file = folder / "prompt.md"
    file.write_bytes(text.encode())
    return repair_file(str(file), protocol="agent_request").repaired


def errors(text: str) -> tuple[Finding, ...]:
    return judge(text, "strict").of_severity(Severity.ERROR)


def test_a_request_outside_a_fence_gets_one(tmp_path: Path) -> None:
    text = repaired(PROMPT[:START] + BARE + PROMPT[END + len("```\n") :], tmp_path)

    assert text == PROMPT.replace("```", "````")


@pytest.mark.parametrize(
    ("opening", "expected"),
    [
        ("```", "```xml"),
        ("```html", "```xml"),
        ("~~~~ text", "~~~~xml"),
        ('```html title="a"', '```xml title="a"'),
        ("  ```json", "  ```xml"),
        ("```markdown", "```xml"),
    ],
)
def test_a_fence_of_another_language_is_marked_and_else_stays_as_it_is(
    tmp_path: Path, opening: str, expected: str
) -> None:
    run = re.sub(r"[^`~]", "", opening)
    prompt = f"{PROMPT[:START]}{{}}\n{BARE}{run}{PROMPT[END + 3 :]}"

    assert repaired(prompt.format(opening), tmp_path) == prompt.format(expected)


@pytest.mark.parametrize("mark", ["`", "~"])
def test_a_fence_that_was_closed_by_one_inside_is_made_longer(tmp_path: Path, mark: str) -> None:
    text = repaired(COLLIDING.replace("`", mark), tmp_path)

    assert text is not None
    assert text.count(f"\n{mark * 4}xml\n") == text.count(f"\n{mark * 4}\n") == 1
    assert f"\n{mark * 3}bash\nmake test\n{mark * 3}\n" in text
    assert text.endswith("\n\nThe sessions are described in docs/sessions.md.\n")
    assert rules_of(judge(text, "strict")) == []


def test_an_open_fence_after_the_request_is_closed(tmp_path: Path) -> None:
    text = repaired(
        COLLIDING[: COLLIDING.index("</agent_request>") + len("</agent_request>")], tmp_path
    )

    assert text is not None
    assert text.endswith("</agent_request>\n````")
    assert errors(text) == ()


@pytest.mark.parametrize("before", ["Do this: ", "    ", "- ", "> "])
@pytest.mark.parametrize("after", ["", " Thanks.", "  \nThanks."])
def test_wherever_the_request_stands_it_gets_lines_of_its_own(
    tmp_path: Path, before: str, after: str
) -> None:
    text = repaired(f"# Task: Login\n\n{before}{BARE.rstrip()}{after}", tmp_path)

    assert text is not None
    assert errors(text) == ()
    assert "Thanks." not in after or text.rstrip().endswith("\nThanks.")


@pytest.mark.parametrize("text", [PROMPT.replace("```xml", "```"), BARE, COLLIDING])
def test_line_ends_stay(tmp_path: Path, text: str) -> None:
    result = repaired(text.replace("\n", "\r\n"), tmp_path)

    assert result is not None
    assert "\n" not in result.replace("\r\n", "")
    assert errors(result) == ()


@pytest.mark.parametrize("case", sorted(CASES.glob("*.md")), ids=lambda case: case.stem)
def test_repaired_examples_are_accepted_in_strict_mode_with_the_same_content(
    case: Path, tmp_path: Path
) -> None:
    given = case.read_bytes().decode()
    text = repaired(given, tmp_path)
    verdict = judge(given)
    if text is None or verdict.envelope is None:
        return

    assert {finding.rule for finding in errors(text)} <= LEFT_TO_PEOPLE
    assert request_of(judge(text)) == request_of(verdict)
    assert repaired(text, tmp_path) == text
