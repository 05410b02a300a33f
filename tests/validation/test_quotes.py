"""An envelope that a reply only shows is never its own (D-109), and one of its own always is."""

import json
from collections.abc import Callable

import pytest

from goop_mcp import route, validate
from goop_mcp.validation.json_samples import FACTORY_REPLY
from goop_mcp.validation.samples import REQUEST_PROMPT
from tests.growth import assert_linear
from tests.validation.replies import DRAFT, EXECUTOR, read_case

FACTORY = FACTORY_REPLY[FACTORY_REPLY.index("{") : FACTORY_REPLY.rindex("}") + 1]
SPECKIT = read_case("speckit/concrete_review.json").strip()
REQUEST = (
    REQUEST_PROMPT[
        REQUEST_PROMPT.index("<agent_request") : REQUEST_PROMPT.index("</agent_request>")
    ]
    + "</agent_request>"
)
SHOWN = {"report": EXECUTOR, "factory": FACTORY, "speckit": SPECKIT, "request": REQUEST}


def each_line(mark: str) -> Callable[[str], str]:
    return lambda envelope: "\n".join(f"{mark}{line}" for line in envelope.split("\n"))


def numbered(form: str, first: int = 1) -> Callable[[str], str]:
    return lambda envelope: "\n".join(
        form.format(number, line) for number, line in enumerate(envelope.split("\n"), first)
    )


def between(before: str, after: str) -> Callable[[str], str]:
    return lambda envelope: f"{before}{envelope}{after}"


def diff(envelope: str) -> str:
    lines = envelope.split("\n")
    middle = [f" {line}" if 2 < at < 6 else f"+{line}" for at, line in enumerate(lines)]
    return "\n".join(["--- a/report.xml", "+++ b/report.xml", "@@ -1,3 +1,9 @@", *middle])


QUOTES: dict[str, Callable[[str], str]] = {
    "added": each_line("+"),
    "removed": each_line("-"),
    "diff": diff,
    "diff_in_a_fence": lambda envelope: f"```diff\n{diff(envelope)}\n```",
    "quotation": each_line("> "),
    "quotation_without_a_blank": each_line(">"),
    "quotation_in_a_quotation": each_line("> > "),
    "indented_quotation": each_line("  > "),
    "bar": each_line("| "),
    "drawn_bar": each_line("│ "),
    "comment_of_python": each_line("# "),
    "comment_of_c": each_line("// "),
    "failed_assertion": each_line("E       "),
    "difference_of_an_assertion": each_line("E         - "),
    "numbers_of_cat": numbered("{:6}\t{}"),
    "numbers_of_an_editor": numbered("{:4} | {}", 98),
    "numbers_with_an_arrow": numbered("{:5}→{}"),
    "numbers_with_a_colon": numbered("{}: {}", 7),
    "lines_of_grep": numbered("tests/data/report.xml:{}:{}"),
    "context_of_grep": numbered("report.xml-{}-{}"),
    "fence_of_python": between('```python\nREPORT = """\n', '\n"""\n```'),
    "fence_of_code_alone": between("```ts\n", "\n```"),
    "fence_of_a_shell": between("```bash\n$ cat report.xml\n", "\n```"),
    "fence_of_tildes": between("~~~ruby\n", "\n~~~"),
    "fence_with_braces": between("```{.python}\n", "\n```"),
    "fence_in_capitals": between("```Python\n", "\n```"),
    "console": between("```console\n", "\n```"),
    "prompt_in_a_fence": between("```\n$ cat report.xml\n", "\n```"),
    "prompt_with_a_name": between("```text\nme@host:~/work$ cat report.xml\n", "\n```"),
    "output": between("```output\n", "\n```"),
    "string_of_three_quotes": between('SAMPLE = """\n', '\n"""'),
    "raw_string": between("validate(r'''", "''')"),
    "template_string": between("const report = `", "`;"),
    "here_document": between("cat > report.xml <<'EOF'\n", "\nEOF"),
    "here_document_of_ruby": between("text = <<~XML\n", "\nXML"),
    "example": between("<example>\n", "\n</example>"),
    "example_with_an_attribute": between('<example name="a">\n', "\n</example>"),
    "tool_result": between('<tool_result tool="read">\n', "\n</tool_result>"),
    "file": between('Read it:\n<file path="report.xml">\n', "\n</file>"),
    "stdout": between("<stdout>\n", "\n</stdout>"),
    "results_of_functions": between("<function_results>", "</function_results>"),
}
FRAMES = [
    "I looked at what the other agent wrote:\n\n{}\n\nTwo tests still fail, so that I am not done.",
    "{}\n\nThis stands in the fixture.",
    "The fixture is there.\n\n{}",
]


@pytest.mark.parametrize("shown", SHOWN)
@pytest.mark.parametrize("quote", QUOTES)
def test_what_a_reply_shows_is_not_its_envelope(quote: str, shown: str) -> None:
    for frame in FRAMES[:1] if quote == "prompt_in_a_fence" else FRAMES:
        text = frame.format(QUOTES[quote](SHOWN[shown]))
        for protocol in ("auto", shown if shown in ("factory", "speckit") else "auto"):
            verdict = validate(text, protocol=protocol)

            assert not verdict.accepted
            assert "continue_next" not in str(route(verdict))
            # JSON over several lines with marks between is no JSON, and so no candidate either.
            assert verdict.candidates or shown in ("factory", "speckit")
            assert all("quoted" in each.why for each in verdict.candidates)
            assert not any(each.chosen for each in verdict.candidates)


@pytest.mark.parametrize("quote", QUOTES)
def test_the_message_says_where_the_only_envelope_stands(quote: str) -> None:
    (finding,) = validate(FRAMES[0].format(QUOTES[quote](EXECUTOR))).findings
    assert finding.rule == "envelope/no-envelope"
    assert "the only envelope stands quoted in" in finding.message


@pytest.mark.parametrize("own", SHOWN)
@pytest.mark.parametrize("quote", QUOTES)
def test_a_quotation_takes_nothing_from_the_envelope_of_the_speaker(quote: str, own: str) -> None:
    other = QUOTES[quote](DRAFT)
    for text in (
        f"The other agent wrote:\n\n{other}\n\nMine:\n\n{SHOWN[own]}\n",
        f"{SHOWN[own]}\n\nThe other agent wrote:\n\n{other}\n",
    ):
        verdict = validate(text)
        assert verdict.envelope == validate(SHOWN[own]).envelope


OWN: dict[str, Callable[[str], str]] = {
    "alone": lambda envelope: envelope,
    "fence": between("```\n", "\n```"),
    "fence_of_xml": between("```xml\n", "\n```"),
    "fence_of_json": between("```json\n", "\n```"),
    "fence_of_text": between("```text\n", "\n```"),
    "fence_of_markdown": between("```markdown\n", "\n```"),
    "fence_of_html": between("```html\n", "\n```"),
    "fence_with_the_name_of_the_form": between("```goop_report\n", "\n```"),
    "fence_of_code_before": between("```python\nprint(1)\n```\n\n", ""),
    "fence_of_code_that_is_never_closed": between("```python\nprint(1)\n\n", "\n"),
    "console_before": between("```console\n$ pytest\n2 passed\n```\n\n```xml\n", "\n```"),
    "indented": each_line("    "),
    "item_of_a_list": lambda envelope: "- " + "\n  ".join(envelope.split("\n")),
    "numbered_item": lambda envelope: "1. " + "\n   ".join(envelope.split("\n")),
    "bullet": lambda envelope: "* " + "\n  ".join(envelope.split("\n")),
    "after_a_quotation": between("> The task was to add it.\n\n", ""),
    "after_a_diff": between("```diff\n-a = 1\n+a = 2\n```\n\n", ""),
    "after_an_example": between("<example>none</example>\n\n", ""),
    "after_a_mention_of_a_tag": between("I removed the <example> tag and the <file> tag.\n\n", ""),
    "after_prose_with_a_colon": between("My report: ", ""),
    "in_quotation_marks": between('"""\n', '\n"""'),
    "in_quotation_marks_after_prose": between('Here is my report:\n"""\n', '\n"""'),
    "result_of_a_host": between("<task_result>\n", "\n</task_result>"),
    "answer": between("<answer>\n", "\n</answer>"),
    "details": between("<details><summary>Report</summary>\n\n", "\n\n</details>"),
    "after_a_prompt": between("$ pytest -q\n2 passed\n\n", ""),
    "after_a_table": between("| a | b |\n|---|---|\n| 1 | 2 |\n\n", ""),
    "after_an_assignment": between("DEBUG=1 is not needed.\n\n", ""),
    "after_a_here_document": between("I ran `cat <<EOF` first.\n\n", ""),
}


@pytest.mark.parametrize("own", SHOWN)
@pytest.mark.parametrize("form", OWN)
def test_a_form_around_the_speakers_own_envelope_hides_nothing(form: str, own: str) -> None:
    verdict = validate(OWN[form](SHOWN[own]))
    assert verdict.envelope == validate(SHOWN[own]).envelope
    assert verdict.envelope is not None


@pytest.mark.parametrize(
    "line", [f"> {json.dumps(json.loads(FACTORY))}", f"+{json.dumps(json.loads(FACTORY))}"]
)
def test_a_quoted_line_is_no_envelope(line: str) -> None:
    assert not validate(f"He wrote:\n\n{line}\n\nI disagree.").accepted


def test_a_single_line_after_a_bullet_is_an_envelope() -> None:
    for before in ("- ", "* ", "1. ", "Result: "):
        assert validate(before + json.dumps(json.loads(FACTORY))).accepted


@pytest.mark.parametrize(
    "piece", [">\n", "<example>", "```python\n", "+<goop_report>\n", "'", 'x = """\n', "1\t<a>\n"]
)
def test_many_marks_take_time_in_proportion_to_the_text(piece: str) -> None:
    assert_linear(
        validate,
        lambda size: piece * (size // len(piece)) + EXECUTOR,
        sizes=(30_000, 240_000),
    )
