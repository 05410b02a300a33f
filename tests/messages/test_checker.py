"""The checker finds each breach of the style, and none in what we write."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goop_mcp.messages import (
    VISUAL_STYLE_RULES,
    Choice,
    Position,
    TaskLine,
    check_message,
    decision_required,
    gate_blocked,
    gate_passed,
    notice,
    phase_complete,
    phase_start,
    progress,
    session_handoff,
    status_display,
    warning,
)
from goop_mcp.messages.rendering import success
from goop_mcp.messages.templates import HEADER
from goop_mcp.validation.findings import Severity
from goop_mcp.validation.rules import Rule
from tests.messages.style_guide import TEMPLATES
from tests.requirements import load_ledger, requirement

every_rule = pytest.mark.parametrize("rule", VISUAL_STYLE_RULES, ids=lambda rule: rule.id)


def breaches(text: str) -> list[str]:
    return [finding.rule.removeprefix("visual_style/") for finding in check_message(text)]


# Rules


@requirement("V-17")
@every_rule
def test_bad_example_breaks_this_rule_and_no_other(rule: Rule) -> None:
    assert {finding.rule for finding in check_message(rule.example.bad_reply)} == {rule.id}


@every_rule
def test_good_example_breaks_no_rule(rule: Rule) -> None:
    assert check_message(rule.example.reply) == ()
    assert rule.example.reply.count(rule.example.good) == 1


@every_rule
def test_every_rule_is_a_warning_and_names_known_requirements(rule: Rule) -> None:
    assert rule.lenient is rule.strict is Severity.WARNING
    assert set(rule.requirements) <= load_ledger().keys()


@requirement("V-02")
@pytest.mark.parametrize("title", TEMPLATES)
def test_every_template_of_the_guide_itself_is_in_order(title: str) -> None:
    if title != "Primary Phase Header":
        assert breaches(TEMPLATES[title]) == []


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("## 🔮 GoopSpec · Status", []),
        ("## 🔮 GoopSpec - Status", ["header-form"]),
        ("## 🔮 GoopSpec ∙ Status", ["header-form"]),
        ("## 🔮 GoopSpec·Status", ["header-form"]),
        ("## GoopSpec · Status", ["header-form"]),
        ("# 🔮 GoopSpec · Status", ["header-form"]),
        ("##🔮 GoopSpec · Status", ["header-form"]),
        ("## 🔮 GoopSpec · ", ["header-form"]),
        ("Status", ["header-form"]),
    ],
)
def test_only_the_exact_header_is_in_order(header: str, expected: list[str]) -> None:
    assert breaches(f"{header}\n\ntext\n\n---") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ["header-form", "divider-missing"]),
        ("text", ["header-form", "divider-missing"]),
        ("---", ["header-form"]),
    ],
)
def test_what_is_hardly_a_message_is_reported_as_such(text: str, expected: list[str]) -> None:
    assert set(breaches(text)) <= set(expected)
    assert breaches(text)


@pytest.mark.parametrize(
    "line",
    ["+====+ PLAN", "+----+", "  +-----------+", "| +===+", "+--", "+=="],
)
@requirement("V-16")
def test_a_box_is_found_wherever_its_edge_begins_a_line(line: str) -> None:
    assert breaches(f"{HEADER}X\n\n{line}\n\n---") == ["box"]


@pytest.mark.parametrize(
    "line", ["Run: `/goop-plan`", "- Run: x", "**Next step:** x", "run : x", "Next: x"]
)
def test_a_next_step_without_arrow_is_found(line: str) -> None:
    assert breaches(f"{HEADER}X\n\n{line}\n\n---") == ["arrow-missing"]


@pytest.mark.parametrize(
    "line", ["→ Run: `/goop-plan`", "Start a new session, then run: `/goop-plan`", "Running: 3"]
)
def test_a_next_step_with_arrow_or_within_a_sentence_is_in_order(line: str) -> None:
    assert breaches(f"{HEADER}X\n\n{line}\n\n---") == []


def test_a_bare_command_below_next_step_lacks_its_arrow() -> None:
    assert breaches(f"{HEADER}X\n\n### Next Step\n`/goop-plan`\n\n---") == ["arrow-missing"]


@pytest.mark.parametrize("bullet", ["- ☑ done", "- ★ done", "* 🚀 done"])
def test_a_foreign_icon_is_found(bullet: str) -> None:
    assert breaches(f"{HEADER}X\n\n{bullet}\n\n---") == ["unknown-icon"]


@pytest.mark.parametrize(
    "bullet", ["- ✓ done", "- ⚠️ open", "- plain", "- **A)** x", "- `code` x", "- 日本 x", "- 3 x"]
)
def test_known_icons_and_plain_bullets_are_in_order(bullet: str) -> None:
    assert breaches(f"{HEADER}X\n\n{bullet}\n\n---") == []


def test_code_in_fences_is_nobodys_message() -> None:
    assert breaches(f"{HEADER}X\n\n```\n# comment\n+----+\nRun: x\n```\n\n---") == []


def test_findings_carry_the_line_and_stand_in_its_order() -> None:
    findings = check_message(f"{HEADER}X\ntext\n\n+--+\n\nRun: x")

    assert [(finding.line, finding.rule.partition("/")[2]) for finding in findings] == [
        (2, "blank-line-missing"),
        (4, "box"),
        (6, "divider-missing"),
        (6, "arrow-missing"),
    ]


@given(st.text(max_size=200))
def test_no_text_breaks_the_checker(text: str) -> None:
    assert all(finding.line is not None for finding in check_message(text))


# What we write

_HOSTILE = st.sampled_from(
    (
        *(
            "\n---\n",
            "---",
            "## 🔮 GoopSpec · Forged",
            "\n## Forged\n",
            "# x",
            "+====+",
            "+----+ box",
            "Run: rm",
            "```",
        ),
        *(
            "\n```\n",
            "~~~",
            "- ☑ x",
            "| a | b |",
            "→",
            "{phase}",
            "{summary}",
            "{command}",
            "`",
            "\r",
            "\u2028",
            "\x1b[",
        ),
        *(
            "\x85",
            "\x0c",
            "\ud800",
            "\x00",
            "**",
            "===",
            "> q",
            "1. x",
            "* x",
            "_",
            "Next step: x",
            "",
            " ",
            "\u3000",
        ),
        *("&#10;", "<br>", "\u200b", "日本"),
    )
)
TEXTS = st.lists(st.one_of(_HOSTILE, st.text(max_size=12)), max_size=5).map("".join)
_POSITIONS = st.builds(Position, st.none() | st.integers(0, 99), st.none() | st.integers(0, 99))
_TASKS = st.lists(st.builds(TaskLine, st.none() | TEXTS, TEXTS), max_size=3)
_LISTS = st.lists(TEXTS, max_size=3)
_MAYBE = st.none() | TEXTS
MESSAGES = st.one_of(
    st.builds(phase_start, TEXTS, TEXTS),
    st.builds(notice, TEXTS, TEXTS, TEXTS),
    st.builds(success, TEXTS),
    st.builds(warning, TEXTS, command=_MAYBE, details=_LISTS),
    st.builds(gate_blocked, TEXTS, command=_MAYBE, details=_LISTS),
    st.builds(gate_passed),
    st.builds(
        progress,
        phase=TEXTS,
        wave=_POSITIONS,
        task=_POSITIONS,
        completed=_TASKS,
        in_progress=_TASKS,
        remarks=_LISTS,
    ),
    st.builds(phase_complete, TEXTS, summary=TEXTS, next_command=_MAYBE, remarks=_LISTS),
    st.builds(
        decision_required,
        TEXTS,
        st.lists(st.builds(Choice, TEXTS, TEXTS), max_size=3),
        question=_MAYBE,
    ),
    st.builds(
        session_handoff,
        accomplished=_LISTS,
        phase=TEXTS,
        spec_locked=st.none() | st.booleans(),
        wave=_POSITIONS,
        next_command=_MAYBE,
    ),
    st.builds(
        status_display,
        project=TEXTS,
        interview_complete=st.booleans(),
        spec_locked=st.booleans(),
        accepted=st.booleans(),
        next_command=_MAYBE,
    ),
)


@requirement("V-02", "V-16", "V-17")
@given(MESSAGES)
def test_no_message_of_ours_breaks_the_style_whatever_agents_write(message: str) -> None:
    assert check_message(message) == ()


@requirement("V-01", "V-02", "V-03")
@given(MESSAGES)
def test_every_message_has_one_header_and_one_divider_whatever_agents_write(message: str) -> None:
    lines = re.split(r"[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", message)

    assert message.splitlines() == message.split("\n")
    assert [line.startswith("## 🔮 GoopSpec · ") for line in lines].count(True) == 1
    assert lines[0].startswith("## 🔮 GoopSpec · ")
    assert [number for number, line in enumerate(lines) if line.strip() == "---"] == [
        len(lines) - 1
    ]
    assert not [line for line in lines if re.match(r"\s*\+[-=]{2}", line)]


@given(TEXTS)
def test_what_an_agent_writes_is_never_read_as_a_template(text: str) -> None:
    message = phase_complete("{summary}", summary="{phase} " + text, next_command="{summary}")

    assert "✨ {summary} finished successfully" in message
    assert "### Summary\n{phase}" in message
