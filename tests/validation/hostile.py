"""Hostile replies of any size, and a program that prints the cost of judging one."""

import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

from goop_mcp import validate
from tests.validation.replies import DRAFT, EXECUTOR, SUMMARY, changed

Shape = Callable[[int], str]


def repeated(piece: str, *, before: str = "", after: str = "") -> Shape:
    """Return a shape that repeats `piece` up to a size in characters, with fixed text around."""
    return lambda size: before + piece * (size // len(piece) + 1) + after


def growing_runs(character: str) -> Shape:
    """Return a shape of runs of `character`, each one longer than the one before."""

    def build(size: int) -> str:
        length = max(2, int((2 * size) ** 0.5))
        return " ".join(character * run for run in range(1, length))

    return build


PIECES = {
    "prose": "The fox jumps over the dog. ",
    "lines": "The fox jumps.\n",
    "start_tags": "<goop_report>",
    "start_tags_with_children": '<goop_report version="0.1.6"><status>\n',
    "start_tags_on_lines": "<goop_report>\n",
    "start_tags_never_closed": "\n<goop_report ",
    "end_tags": "</goop_report>",
    "pairs": "<goop_report></goop_report>",
    "pairs_with_children": "<goop_report><status>COMPLETE</status></goop_report>\n",
    "pairs_the_wrong_way_round": "</goop_report><goop_report>",
    "less_than": "<",
    "less_than_in_prose": "a < b ",
    "open_names": "<a",
    "open_end_names": "</a",
    "open_elements": "<a>",
    "empty_elements": "<a/>",
    "end_tags_of_others": "</summary>",
    "known_elements": "<summary>",
    "quoted_elements": "x <status>BLOCKED</status> ",
    "fences": "```\n",
    "fences_of_two_kinds": "```xml\n~~~\n",
    "fences_never_closed": "````xml\n```\n",
    "indented_fences": "   ```xml\n",
    "thinking": "<think>",
    "thinking_ends": "</think>",
    "thinking_pairs": "<think></think>\n",
    "thinking_mixed": "<think><reasoning></thinking>",
    "comments": "<!--",
    "comment_ends": "-->",
    "comment_pairs": "<!-- -->",
    "cdata": "<![CDATA[",
    "cdata_ends": "]]>",
    "instructions": "<?x",
    "doctypes": "<!DOCTYPE r [",
    "entities": "<!ENTITY a '",
    "ampersands": "&",
    "ampersands_escaped": "&amp;",
    "escaped_start_tags": "&lt;goop_report&gt;",
    "references": "&#38;",
    "names_after_ampersands": "&abcdefghij",
    "asterisks": "*",
    "list_markers": "- ",
    "fences_in_lists": "- ```\n",
    "lists_and_fences": "- a\n  ```\n",
    "channels": "<|channel|>analysis",
    "thoughts_of_others": "[THINK]\n",
    "thoughts_on_one_line": "x <think> ",
    "backticks": "`",
    "backticks_apart": "` `` ",
    "backticks_on_lines": "`a\n",
    "blanks": " ",
    "line_ends": "\n",
    "carriage_returns": "\r",
    "blank_lines": " \t\n",
    "no_break_spaces": "\u00a0",
    "zero_width": "\u200b",
    "surrogates": "\ud800",
    "nul": "\x00",
    "equals": 'a="',
    "quotes": "“",
    "attributes": ' a="1"',
    "braces": "{",
    "json_objects": '{"status":"complete","summary":"x"}\n',
    "json_open": '{"status":"complete","summary":',
    "json_brackets": "[",
    "json_strings": '{"\\"',
    "headings": "## STATUS\ncomplete\n",
    "headings_of_two_kinds": "## STATUS\ncomplete\n## SUMMARY\nx\n",
    "list_items": "- a - b - c\n",
    "other_roots": "<debug_report>",
    "other_root_pairs": "<response><status>TESTS COMPLETE</status></response>\n",
    "hand_back_lines": "[Subagent hand-back] x\n",
    "usage_lines": "<usage>",
    "result_tags": "<result>\n",
    "sentences": "A b. C d! ",
    "dashes": "—",
    "digits": "9",
}
SHAPES: dict[str, Shape] = {name: repeated(piece) for name, piece in PIECES.items()}
SHAPES |= {
    "quoted_objects_before_a_brace": repeated('"{}"\n', after="{"),
    "runs_of_backticks": growing_runs("`"),
    "runs_of_less_than": growing_runs("<"),
    "drafts": repeated(f"{DRAFT}\n"),
    "blanks_in_a_start_tag": repeated(" ", before="<goop_report"),
    "blanks_in_an_end_tag": repeated(" ", before=EXECUTOR.removesuffix(">")),
    "attributes_of_a_root": repeated(' a="1"', before="<goop_report"),
    "doctype_before_the_root": repeated(
        "<!ENTITY a 'b'>", before="<!DOCTYPE r [", after=f"]>{EXECUTOR}"
    ),
    "doctype_that_never_ends": repeated("'\"", before="<!DOCTYPE r [", after=EXECUTOR),
    "blanks_after_the_root": repeated(" ", before=EXECUTOR),
    "blanks_in_a_task_id": repeated(" ", before="<task_id>W1", after=".</task_id>"),
    "fences_after_the_root": repeated("```\n", before=f"{EXECUTOR}\n"),
    "host_lines_after_the_root": repeated("agentId: 1\n", before=f"{EXECUTOR}\n"),
}


def alone(text: str) -> str:
    """Return `text` as the whole reply."""
    return text


def before_the_report(text: str) -> str:
    """Return a reply with `text` before an executor's report."""
    return f"{text}\n{EXECUTOR}"


def in_the_summary(text: str) -> str:
    """Return an executor's report with `text` as its summary."""
    return changed(EXECUTOR, (SUMMARY, text))


def cut_off(text: str) -> str:
    """Return an executor's report that ends with `text` in the middle of its summary."""
    return EXECUTOR[: EXECUTOR.index("</summary>")] + text


PLACEMENTS: dict[str, Callable[[str], str]] = {
    place.__name__: place for place in (alone, before_the_report, in_the_summary, cut_off)
}


def most_memory() -> int:
    """Return the most bytes that this program has held so far.

    On Linux `getrusage` includes the memory of the program that started this one, which hides any
    growth.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> None:
    """Judge the place, shape and size named on the command line and write what it took as JSON."""
    place, shape, size = sys.argv[1], sys.argv[2], int(sys.argv[3])
    validate(EXECUTOR)
    text = PLACEMENTS[place](SHAPES[shape](size))
    before = most_memory()
    start = time.thread_time()
    verdict = validate(text, protocol="goop_report")
    seconds = time.thread_time() - start
    growth = most_memory() - before
    rules = sorted({finding.rule for finding in verdict.findings})
    sys.stdout.write(json.dumps({"seconds": seconds, "growth": growth, "rules": rules}))


if __name__ == "__main__":
    main()
