"""Hypothesis strategies that build whole reports and whole replies, and then spoil them."""

import json

from hypothesis import strategies as st

from goop_mcp.protocols.goop_report.model import (
    Artifacts,
    Check,
    Commit,
    Counter,
    Extension,
    FileAction,
    FileChange,
    Handoff,
    MemoryType,
    NextAction,
    Phase,
    Report,
    SavedMemory,
    State,
    Status,
)
from goop_mcp.protocols.goop_report.writing import write_report
from goop_mcp.validation.template_phrases import (
    AGENT_REQUEST_PROSE,
    FACTORY_PROSE,
    GOOP_REPORT_PROSE,
    SPECKIT_PROSE,
)
from goop_mcp.validation.template_text import ValueKind, template_text
from goop_mcp.workflow.agents import KNOWN_AGENTS
from goop_mcp.workflow.commands import KNOWN_COMMANDS
from tests.validation.form_errors import FORM_ERRORS
from tests.validation.replies import BLOCKED, DRAFT, EXECUTOR, PLANNER, TEMPLATE

_PROSE = (GOOP_REPORT_PROSE, AGENT_REQUEST_PROSE, SPECKIT_PROSE, FACTORY_PROSE)
SNIPPETS = (
    "a && b",
    "List<int>",
    "Map<String, T>",
    "<br>",
    "</summary>",
    "<summary>",
    "<goop_report>",
    "</goop_report>",
    "<think>",
    "</think>",
    "<!-- x -->",
    "<![CDATA[x]]>",
    "]]>",
    "&amp;",
    "&lt;goop_report",
    "&nbsp;",
    "<?pi?>",
    "{'a': 1}",
    "`code`",
    "'\"“”",
    "naïve 日本語 🙂",
)

# Reports

# What XML can carry; the rest is a matter of its own.
_CHARACTERS = st.characters(exclude_categories=["Cs", "Cc", "Cn"])
_WORDS = st.one_of(st.text(_CHARACTERS, min_size=1, max_size=12), st.sampled_from(SNIPPETS))


def _one_line(words: list[str]) -> str:
    return " ".join(" ".join(words).split())


def no_template(text: str) -> bool:
    """Return whether `text` is no text of a template wherever it stands."""
    return all(template_text(text, place, prose) is None for place in ValueKind for prose in _PROSE)


LINES = st.lists(_WORDS, min_size=1, max_size=6).map(_one_line).filter(bool).filter(no_template)
TEXTS = st.one_of(LINES, st.lists(LINES, min_size=1, max_size=3).map("\n".join).filter(no_template))
_OPTIONAL_FLAG = st.sampled_from([None, True, False])


@st.composite
def counters(draw: st.DrawFn) -> Counter:
    """Draw a position that is not beyond its total."""
    total = draw(st.integers(0, 99_999))
    return Counter(current=draw(st.integers(0, total)), total=total)


_STATES = st.builds(
    State,
    phase=st.sampled_from([phase for phase in Phase if phase is not Phase.DISCUSS]),
    wave=st.none() | counters(),
    task=st.none() | counters(),
    spec_locked=_OPTIONAL_FLAG,
    interview_complete=_OPTIONAL_FLAG,
)
_FILES = st.builds(
    FileChange, path=LINES, action=st.sampled_from(FileAction), description=st.just("") | TEXTS
)
_COMMITS = st.builds(
    Commit, sha=st.from_regex(r"\A[0-9a-f]{4,40}\Z"), message=LINES.map("feat(x): {}".format)
)
_ARTIFACTS = st.builds(
    Artifacts,
    files=st.lists(_FILES, max_size=3).map(tuple),
    commits=st.lists(_COMMITS, max_size=2).map(tuple),
)
_SAVED = st.builds(
    SavedMemory, type=st.sampled_from(MemoryType), importance=st.floats(0, 1), title=TEXTS
)
_NAMES = st.sampled_from(["tests", "typecheck", "manual", "lint"])
_CHECKS = st.builds(Check, name=_NAMES, passed=st.booleans(), evidence=st.just("") | TEXTS)
_AGENTS = st.sampled_from(sorted(KNOWN_AGENTS - {"goop-orchestrator"}))
_NEXT_AGENTS = _AGENTS | st.sampled_from(["orchestrator", "user"])
_HANDOFFS = st.builds(
    Handoff,
    ready=_OPTIONAL_FLAG,
    next_action=st.builds(NextAction, agent=_NEXT_AGENTS, text=TEXTS),
    files_to_read=st.lists(LINES, max_size=3).map(tuple),
    blockers=TEXTS.map("It needs {}".format),
    suggest_new_session=_OPTIONAL_FLAG,
    next_command=st.none() | st.sampled_from(sorted(KNOWN_COMMANDS)),
)
_EXTENSIONS = st.builds(
    Extension, name=st.sampled_from(["evidence", "comparison_matrix", "suggest-viz"]), content=TEXTS
)


def reports() -> st.SearchStrategy[Report]:
    """Return reports without an error in lenient mode."""
    return st.builds(
        Report,
        version=st.sampled_from([None, "0.1.4", "0.1.6", "0.2.9"]),
        status=st.sampled_from(Status),
        agent=_AGENTS,
        task_id=st.none() | st.builds("W{}.T{}".format, st.integers(0, 99), st.integers(0, 99)),
        task_name=st.none() | LINES,
        state=_STATES,
        summary=TEXTS,
        artifacts=st.none() | _ARTIFACTS,
        memory=st.none() | st.lists(_SAVED, max_size=2).map(tuple),
        verification=st.none() | st.lists(_CHECKS, max_size=3).map(tuple),
        handoff=_HANDOFFS,
        extensions=st.lists(_EXTENSIONS, max_size=2).map(tuple),
    )


def envelopes() -> st.SearchStrategy[str]:
    """Return the written form of reports."""
    return reports().map(write_report).map(str.rstrip)


SEED_ENVELOPES = st.sampled_from([EXECUTOR, PLANNER, BLOCKED, DRAFT, TEMPLATE])


# Replies

PROSE = st.one_of(
    st.text(max_size=40),
    TEXTS,
    st.sampled_from(
        [
            "I end with a <goop_report> block.",
            "The tag `<goop_report>` opens it, `</goop_report>` closes it.",
            "<goop_report version=",
            "agentId: 1",
            "[Subagent hand-back] done",
            "<result>",
            "</think>",
            "<thinking>",
            "## STATUS\ncomplete\n\n## SUMMARY\nDone.",
            "<debug_report><status>BUG FIXED</status></debug_report>",
            '{"status": "complete", "summary": "Done."}',
            "<!DOCTYPE html>",
            '<agent_request version="1.0"><mode>spawn</mode></agent_request>',
        ]
    ),
)


def _sections(status: str, summary: str, artifacts: str, following: str) -> str:
    parts = {"STATUS": status, "SUMMARY": summary, "ARTIFACTS": artifacts, "NEXT": following}
    return "".join(f"## {name}\n{text}\n\n" for name, text in parts.items())


def _sibling(root: str, status: str, content: str) -> str:
    summary, log = f"<summary>{content}</summary>", f"<log>{content}</log>"
    return f"<{root}>\n<status>{status}</status>\n{summary}\n{log}\n</{root}>"


_OLD_WORDS = st.sampled_from(["complete", "partial", "blocked", "failed", "done"])
_ANY_TEXT = st.text(max_size=30)
OLDER_FORMS = st.one_of(
    st.builds(
        json.dumps,
        st.fixed_dictionaries(
            {"status": _OLD_WORDS, "summary": _ANY_TEXT},
            optional={
                "files_created": st.lists(_ANY_TEXT, max_size=2),
                "commit": _ANY_TEXT,
                "notes": st.lists(_ANY_TEXT, max_size=2),
                "blockers": st.lists(_ANY_TEXT, max_size=2) | _ANY_TEXT,
                "next_steps": st.lists(_ANY_TEXT, max_size=2) | st.none() | st.integers(),
            },
        ),
        ensure_ascii=st.booleans(),
    ),
    st.builds(_sections, _OLD_WORDS, _ANY_TEXT, _ANY_TEXT.map("- {}".format), _ANY_TEXT),
    st.builds(
        _sibling,
        st.sampled_from(["debug_report", "response", "elefant_report", "distillation"]),
        st.sampled_from(
            [
                "BUG FIXED",
                "TESTS COMPLETE",
                "TESTS FAILING",
                "COMPLETE",
                "DISTILLATION COMPLETE",
                "x",
            ]
        ),
        _ANY_TEXT,
    ),
)
_FENCES = st.sampled_from(["```", "~~~", "````"])
_INFOS = st.sampled_from(["xml", "XML", "", "json", "text"])


def _in_fence(content: str, fence: str, info: str) -> str:
    return f"{fence}{info}\n{content}\n{fence}"


def _in_thought(content: str, tag: str) -> str:
    return f"<{tag}>\n{content}\n</{tag}>"


def _indented(content: str) -> str:
    return "\n".join(f"  {line}" for line in content.split("\n"))


_PARTS = st.one_of(
    PROSE,
    st.builds(_in_fence, PROSE, _FENCES, _INFOS),
    st.builds(
        _in_thought,
        st.one_of(PROSE, SEED_ENVELOPES),
        st.sampled_from(["think", "thinking", "reasoning"]),
    ),
    OLDER_FORMS,
)
_CARRIED = st.one_of(
    SEED_ENVELOPES,
    st.builds(_in_fence, SEED_ENVELOPES, _FENCES, _INFOS),
    SEED_ENVELOPES.map(_indented),
    envelopes(),
)


def _joined(before: list[str], envelopes_: list[str], after: list[str]) -> str:
    return "\n\n".join([*before, *envelopes_, *after])


WHOLE_REPLIES = st.builds(
    _joined,
    st.lists(_PARTS, max_size=2),
    st.lists(_CARRIED, min_size=1, max_size=3),
    st.lists(_PARTS, max_size=1),
)

# Errors

_INSERTED = st.sampled_from(
    (
        *SNIPPETS,
        *(
            "&",
            "<",
            ">",
            '"',
            "\x00",
            "\ud800",
            "\ufeff",
            "\u200b",
            "\r",
            "`",
            "```",
            "]]>",
            "<!--",
            "-->",
        ),
        *(
            "<![CDATA[",
            "<agent_request>",
            "</agent_request>",
            "<status>BLOCKED</status>",
            "</status>",
            "\n```\n",
        ),
        *("<a>", "</a>"),
    )
)


@st.composite
def spoiled(draw: st.DrawFn, texts: st.SearchStrategy[str], *, most: int = 5) -> str:
    """Draw a text and up to `most` errors: pieces deleted, doubled, swapped, cut off or put in."""
    text = draw(texts)
    for _ in range(draw(st.integers(0, most))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 60)))
        error = draw(st.sampled_from(["delete", "double", "swap", "cut", "insert", "insert"]))
        if error == "delete":
            text = text[:start] + text[end:]
        elif error == "double":
            text = text[:end] + text[start:end] + text[end:]
        elif error == "swap":
            half = (start + end) // 2
            text = text[:start] + text[half:end] + text[start:half] + text[end:]
        elif error == "cut":
            text = text[:end] if end > len(text) // 2 else text
        else:
            text = text[:start] + draw(_INSERTED) + text[start:]

    return text


@st.composite
def slipped(draw: st.DrawFn) -> str:
    """Draw an executor's report with one to four slips of form."""
    text = EXECUTOR
    for name in draw(st.lists(st.sampled_from(sorted(FORM_ERRORS)), min_size=1, max_size=4)):
        text = text.replace(FORM_ERRORS[name].old, FORM_ERRORS[name].new)
    return text


def replies() -> st.SearchStrategy[str]:
    """Return whole replies with up to five errors."""
    return spoiled(WHOLE_REPLIES)


_MARKUP = st.sampled_from(
    (
        *(
            "<goop_report>",
            "</goop_report>",
            "<status>",
            "</status>",
            "COMPLETE",
            "<a>",
            "</a>",
            "<a",
            "/>",
            "<",
        ),
        *(
            ">",
            "&",
            "</",
            "<!--",
            "-->",
            "<![CDATA[",
            "]]>",
            "<?",
            "?>",
            '"',
            "'",
            "=",
            " ",
            "\n",
            "`",
            "```",
        ),
        *(
            "~~~",
            "<think>",
            "</think>",
            "<summary>",
            "</summary>",
            "<handoff>",
            "</handoff>",
            "{",
            "}",
        ),
        *(
            '"status":',
            "## STATUS",
            "&lt;",
            "&amp;",
            "<!DOCTYPE",
            "<state>",
            "</state>",
            "<phase>plan</phase>",
        ),
        *("xmlns:a=", "a:", "\x00", "\ud800", "“"),
    )
)


def markup() -> st.SearchStrategy[str]:
    """Return texts that are nearly nothing but markup."""
    return st.lists(_MARKUP, max_size=40).map("".join)
