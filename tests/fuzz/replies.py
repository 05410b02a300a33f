"""Replies of the corpus, changed at random; reproducible by seed and number."""

import html
import json
import random
from collections.abc import Callable, Sequence
from functools import cache

from goop_mcp.testing import load_corpus
from goop_mcp.validation.json_samples import FACTORY_REPLY
from goop_mcp.validation.samples import COMPLETE_REPLY, REQUEST_PROMPT
from tests.repository import ROOT

_LONGEST_SAMPLE = 12_000
_LONGEST = 60_000
_MOST_CHANGES = 4
_LONG_RUN = 3_000

_TOKENS = (
    *(
        "<goop_report>",
        "</goop_report>",
        '<goop_report version="0.1.6">',
        "<goop_report",
        "</goop_report",
        "<status>",
    ),
    *(
        "<agent_request>",
        "</agent_request>",
        "<summary>",
        "</summary>",
        "<handoff>",
        "</handoff>",
        "<blockers/>",
    ),
    *(
        "<task_details>",
        "</task_details>",
        "<debug_report>",
        "</response>",
        "<elefant_report>",
        "<status>BLOCKED",
    ),
    *(
        "&lt;goop_report&gt;",
        "&lt;",
        "&amp;",
        "&quot;",
        "&nbsp;",
        "&#0;",
        "&#x1F;",
        "&",
        "<",
        ">",
        "/>",
        "<a",
        "</",
    ),
    *(
        "<!--",
        "-->",
        "<![CDATA[",
        "]]>",
        "<?x",
        "?>",
        "<!DOCTYPE r [",
        "<!ENTITY a 'b'>",
        ' a="1"',
        "='",
        ' path="',
    ),
    *(
        "```xml\n",
        "```\n",
        "~~~\n",
        "````json\n",
        "   ```\n",
        "`",
        "``",
        "**",
        "> ",
        "- ",
        "10. ",
        "    ",
        "\t",
        "## ",
    ),
    *(
        "<think>",
        "</think>",
        "<thinking>",
        "</reasoning>",
        "<reasoning>\n",
        "◁think▷",
        "◁/think▷",
        "[THINK]",
        "[/THINK]",
    ),
    *(
        "<|channel|>analysis<|message|>",
        "<|end|>",
        "<thought>\n",
        "</thought>",
        "<seed:think>",
        "<scratchpad>\n",
    ),
    *(
        "<|begin_of_thought|>",
        "<|end_of_thought|>",
        "<analysis>\n",
        "</analysis>",
        "<reflection>\n",
        "<|channel>thought",
    ),
    *(
        "{",
        "}",
        "[",
        "]",
        '"',
        "'",
        ",",
        ":",
        "\\",
        '\\"',
        "\\\\",
        "\\u",
        "\\ud83d",
        "\\n",
        "//",
        "/*",
        "*/",
        "...",
        "…",
    ),
    *(
        '{"result": "',
        '{"status": "success"',
        '"agent": "plan"',
        '"status": "',
        "True",
        "None",
        "NaN",
        "1e999",
        "#",
        "“",
    ),
    *(
        "Task complete.\n",
        "Review complete - BLOCKING\n",
        "WORKFLOW_CONTEXT:",
        "USER_REQUEST:",
        "## STATUS\n",
        "COMPLETE",
    ),
    *(
        "[Subagent hand-back]\n",
        "agentId: 1\n",
        "<usage>",
        "<task-notification>",
        "<result>",
        "</result>",
        "\ufeff",
    ),
    *(
        "\r",
        "\r\n",
        "\n\n",
        "\n",
        "\x00",
        "\x01",
        "\x0b",
        "\x1b[31m",
        "\x7f",
        "\x85",
        "\u2028",
        "\u200b",
        "\u00a0",
        "\ud800",
    ),
    *(
        "é",
        "🙂",
        "W1",
        "W2.T3",
        " ",
        "!",
        "|",
        "{{slot}}",
        "[path]",
        "BLOCKED",
        "FAILED",
        "null",
        "[1.5 sentences]",
    ),
)

Change = Callable[[str, random.Random], str]


def reply(seed: int, number: int) -> str:
    """Return the reply of this number: a changed one of the corpus, or pieces of several."""
    chance = random.Random(f"{seed}:{number}")
    text = chance.choice(samples())
    for _ in range(chance.randint(1, _MOST_CHANGES)):
        text = chance.choice(_CHANGES)(text, chance)

    return text[:_LONGEST]


@cache
def samples() -> Sequence[str]:
    """Return the initial replies: the test cases, the corpus and the samples of the package."""
    files = sorted(
        path
        for path in (ROOT / "tests" / "cases").rglob("*")
        if path.suffix in (".md", ".xml", ".txt", ".json")
    )
    texts = [path.read_bytes().decode("utf-8", "surrogateescape") for path in files]
    texts += [each.text for each in load_corpus()]
    texts += [COMPLETE_REPLY, REQUEST_PROMPT, FACTORY_REPLY, ""]

    return [text for text in dict.fromkeys(texts) if len(text) <= _LONGEST_SAMPLE]


# Changes


def _stretch(text: str, chance: random.Random) -> tuple[int, int]:
    start = chance.randint(0, len(text))
    return start, min(len(text), start + int(chance.expovariate(1 / 40)))


def _leave_out(text: str, chance: random.Random) -> str:
    start, end = _stretch(text, chance)
    return text[:start] + text[end:]


def _say_twice(text: str, chance: random.Random) -> str:
    start, end = _stretch(text, chance)
    at = chance.randint(0, len(text))
    return text[:at] + text[start:end] + text[at:]


def _insert(text: str, chance: random.Random) -> str:
    at = chance.randint(0, len(text))
    return text[:at] + "".join(chance.choices(_TOKENS, k=chance.randint(1, 3))) + text[at:]


def _replace(text: str, chance: random.Random) -> str:
    start, end = _stretch(text, chance)
    return text[:start] + chance.choice(_TOKENS) + text[end:]


def _splice(text: str, chance: random.Random) -> str:
    other = chance.choice(samples())
    start, end = sorted((chance.randint(0, len(other)), chance.randint(0, len(other))))
    at = chance.randint(0, len(text))
    return text[:at] + other[start:end] + text[at:]


def _join(text: str, chance: random.Random) -> str:
    return chance.choice(["\n\n", "", "</think>\n", "\n---\n"]).join(
        [text, chance.choice(samples())]
    )


def _cut_off(text: str, chance: random.Random) -> str:
    return text[: chance.randint(0, len(text))]


def _cut_beginning(text: str, chance: random.Random) -> str:
    return text[chance.randint(0, len(text)) :]


def _long_run(text: str, chance: random.Random) -> str:
    at = chance.randint(0, len(text))
    piece = "".join(chance.choices(_TOKENS, k=chance.choice([1, 1, 1, 2])))
    return text[:at] + piece * chance.randint(2, _LONG_RUN // len(piece) + 2) + text[at:]


def _single_characters(text: str, chance: random.Random) -> str:
    letters = list(text)
    for _ in range(min(len(letters), chance.randint(1, 8))):
        letters[chance.randrange(len(letters))] = chr(
            chance.choice([chance.randrange(128), chance.randrange(0x3000)])
        )

    return "".join(letters)


def _wrap(text: str, chance: random.Random) -> str:
    """Write the reply as a host, a model or a transport would hand it on."""
    return chance.choice(_WRAPPINGS)(text)


_WRAPPINGS: Sequence[Callable[[str], str]] = (
    lambda text: json.dumps({"type": "result", "result": text}),
    lambda text: (
        json.dumps({"result": text}) + "\n" + json.dumps({"type": "result", "session_id": "1"})
    ),
    html.escape,
    lambda text: "\n".join(f"  {line}" for line in text.split("\n")),
    lambda text: f"```xml\n{text}\n```",
    lambda text: f"10. Do this:\n\n    ```xml\n    {text}\n    ```\n",
    lambda text: f"<think>\n{text}",
    lambda text: f"<thinking>{text}</thinking>\n{text}",
    lambda text: (
        f"<|channel|>analysis<|message|>{text}<|end|><|start|>assistant<|channel|>final<|message|>{text}"
    ),
    lambda text: text.replace("\n", "\r\n"),
    lambda text: text.replace("\n", "\r"),
    lambda text: text.replace('"', "'"),
    str.swapcase,
    lambda text: text.replace(" ", "\u00a0"),
)
_CHANGES: Sequence[Change] = (
    *(_leave_out, _say_twice, _insert, _insert, _replace, _replace, _splice, _splice, _join),
    *(_cut_off, _cut_beginning, _long_run, _single_characters, _wrap),
)
