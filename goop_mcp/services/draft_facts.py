"""Find what a description in prose says about a task, and nothing that it does not say (H-69).

A fact counts only where its place proves it: under a label or heading that names the field, or in a
sentence of a form with one meaning. Code and quotations prove nothing: they are examples. Comments
are left out. Whatever can be read in two ways becomes a question. Pure, and linear in the length of
the text.
"""

import re
import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from goop_mcp.protocols.agent_request.attributes import read_duration, read_number
from goop_mcp.protocols.agent_request.model import Priority, RequestMode, RequestWorkflow
from goop_mcp.protocols.agent_request.sessions import is_session_id, mentioned_sessions
from goop_mcp.services.draft_sentences import is_greeting, is_prohibited, read_sentence
from goop_mcp.validation.findings import excerpt
from goop_mcp.validation.path_rules import TEMPLATE_VARIABLE
from goop_mcp.validation.paths import path_problem
from goop_mcp.workspace.documents.markdown import Line, Section, normal_title, read_markdown

__all__ = ["DraftFacts", "Fact", "Gap", "Unread", "extract_facts"]

_LABELS: Final = {
    "original_intent": "goal, goals, overall goal, intent, original intent, objective, objectives,"
    " purpose, why, motivation, ziel, zweck, objectif, objetivo, цель, 目标, 目的",
    "current_task_summary": "task, summary, task summary, current task, current task summary,"
    " aufgabe, zusammenfassung, tâche, résumé, tarea, resumen, задача, 任务",
    "task_details": "details, task details, steps, instructions, what to do, requirements,"
    " approach, description, schritte, anforderungen, beschreibung, étapes, détails, exigences,"
    " pasos, detalles, requisitos, шаги, 步骤",
    "acceptance": "acceptance criteria, acceptance, done when, definition of done,"
    " success criteria, abnahmekriterien, fertig wenn, critères d acceptation,"
    " criterios de aceptación, критерии приёмки, 验收标准",
    "constraints": "constraints, constraint, restrictions, limitations, einschränkungen,"
    " contraintes, restricciones, ограничения, 约束",
    "prohibitions": "do not, don ts, must not, never, out of scope, non goals, not in scope,"
    " nicht ändern, hors périmètre, fuera de alcance, не делать",
    "deliverables": "deliverables, deliverable, deliver, output, outputs, output files,"
    " expected output, expected outputs, results, artifacts, files to create, files to change,"
    " files to write, liefergegenstände, ergebnisse, livrables, entregables, результаты, 交付物",
    "deadline": "deadline, due, due date, time limit, maximum duration, frist, échéance,"
    " fecha límite, срок, 截止日期",
    "priority": "priority, prio, priorität, priorité, prioridad, приоритет, 优先级",
    "target_agent": "agent, target agent, assignee, assigned agent",
    "parent_agent": "parent agent, requesting agent",
    "session_id": "session, session id",
    "depends_on": "depends on, dependencies, blocked by, prerequisites",
    "workflow": "workflow, method",
    "mode": "mode",
    "estimated_duration": "estimated duration, estimate, estimated time, effort",
    "timeout": "timeout, time out",
    "max_retries": "max retries, retries",
    "notify_on_completion": "notify, notify on completion",
    "backlog_notes": "notes, backlog, backlog notes, if blocked, next steps, follow up, later",
    "context": "context, background, files, relevant files, files to read, inputs, references,"
    " kontext, hintergrund, contexte, contexto, контекст, 背景",
}
"""The labels of each field, in lower case and without punctuation."""

_FIELDS: Final = MappingProxyType(
    {label: name for name, labels in _LABELS.items() for label in labels.split(", ")}
)
_LISTS: Final = frozenset({"constraints", "prohibitions", "deliverables", "depends_on"})
_WITH_ITEMS: Final = _LISTS | {"task_details", "acceptance", "context", "backlog_notes"}
_TEXTS: Final = frozenset({"original_intent", "current_task_summary", "backlog_notes"})
_SINGLE: Final = _TEXTS | {
    "mode",
    "workflow",
    "priority",
    "target_agent",
    "parent_agent",
    "session_id",
    "max_retries",
    "estimated_duration",
    "timeout",
}
_WORDS: Final[Mapping[str, Mapping[str, str]]] = {
    "mode": {each.value.lower(): each.value for each in RequestMode},
    "workflow": {each.value.lower(): each.value for each in RequestWorkflow},
    "priority": {
        **{each.value: each.value for each in Priority},
        **dict.fromkeys(("hoch", "haute", "élevée", "alta", "высокий", "高"), "high"),
        **dict.fromkeys(("mittel", "moyenne", "media", "средний", "中"), "medium"),
        **dict.fromkeys(("niedrig", "basse", "baja", "низкий", "低"), "low"),
    },
}
_CHOICES: Final = {
    "mode": "spawn, conversation_only or blocking",
    "workflow": "SPIKE, TDD, standard or none",
    "priority": "high, medium or low",
}

# Characters that are read; a longer description is not one of a single task.
MOST_CHARACTERS: Final = 65_536
# A description with more is a document, and its questions would bury whoever answers them.
MOST_FACTS: Final = 200
_QUOTED = 120

# Possessive, so that a line of 40 letters without a colon is read once.
_LABEL = re.compile(r"(?P<mark>\*\*|__)?(?P<label>[^:：*_`<>|\[\]]{1,40}+)(?P<rest>.*)")
_ITEM = re.compile(
    r"(?P<blanks>[ \t]*+)(?:[-*+•]|\d{1,3}[.)])[ \t]++(?:\[[ xX]\][ \t]++)?(?P<text>.*)"
)
# What begins like another label, markup or a quotation does not continue the line before.
_OTHER_TEXT = re.compile(r"[<>|]|```|~~~|[^:：\s]{1,30}(?: [^:：\s]{1,30}){0,2}[:：]")
_TASK_ID = re.compile(r"(?<![\w.])W\d{1,3}\.T\d{1,3}(?![\w.]?\w)")
_AGENT = re.compile(r"[a-z0-9]+(?>(?:-[a-z0-9]+)*)")
_BLANK_LINES = re.compile(r"\n{3,}")
_NUMBERED = re.compile(r"\A\d{1,3}[.)] ")
_SENTENCE_END = re.compile(r"(?<=[.!?])[ \t]+")
_MINUTES = re.compile(r"(\d{1,4}) ?(min|mins|minute|minutes|h|hour|hours|day|days)")
_WRITING = re.compile(
    r"(?:please |then |finally )?(?:write|save|store) (?P<next>\S+)", re.IGNORECASE
)
# A sentence with one of these does not ask for a file to be written.
_NEGATIONS: Final = "no none not never nothing without don't don’t access permission"
_KIND = re.compile(
    r"(?P<kind>decision|decide|report)"
    r"(?:[:：]|[ \t]+(?P<word>on|of|about|whether|if|which|how)\b)[ \t]*",
    re.IGNORECASE,
)
# What people write into a form to say that a field is empty.
_NOTHING: Final = frozenset(
    {"none", "n a", "nothing", "keine", "aucun", "ninguno", "нет", "无", ""}
)
_PUNCTUATION = "\"'“”‘’«»()[],;:.!?*_，。；：（）"
_OPTIONAL: Final = "(optional)"
_AROUND_PATHS: Final = " \t,;:-–—："
_EXTENSIONS: Final = (
    "bash bat c cc cfg cjs conf cpp cs css csv cts cxx dart diff env erb ex exs fish go gradle"
    " graphql h hpp hs html ini ipynb java js json jsonc jsonl jsx kt less lock log lua m md mdx"
    " mjs mts patch pdf php pl png proto ps1 py pyi r rb rs rst sass scala scss sh sql svelte svg"
    " swift tf toml ts tsx txt vue xml xsd yaml yml zig zsh"
)
# Names of libraries that look like files, where nothing else says that a file is meant.
_NO_FILES: Final = (
    "angular.js backbone.js chart.js d3.js ember.js express.js moment.js next.js node.js nuxt.js"
    " p5.js react.js solid.js three.js vue.js asp.net"
)
_KNOWN_EXTENSIONS: Final = frozenset(_EXTENSIONS.split())
_FILES_WITHOUT_EXTENSION: Final = frozenset({"dockerfile", "makefile", "license", "codeowners"})


class Fact(NamedTuple):
    """A value for a field of a request; `quote` is what proves it, in `line`, counted from 1.

    `task_id` is a field of no request: such a fact shows which tasks of the plan are named.
    """

    field: str
    value: Any
    line: int
    quote: str

    def to_dict(self) -> dict[str, Any]:
        """Return the fact as JSON values."""
        return self._asdict()


class Gap(NamedTuple):
    """A question that only a person can answer; without `required` the draft is valid without it.

    `line` is what the question is about, None for something that stands nowhere.
    """

    field: str
    question: str
    line: int | None = None
    required: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Return the gap as JSON values."""
        return self._asdict()


class Unread(NamedTuple):
    """A sentence that gave no field: it stands in the prompt, and a person says what it means."""

    line: int
    text: str

    def to_dict(self) -> dict[str, Any]:
        """Return the sentence as JSON values."""
        return self._asdict()


@dataclass(slots=True)
class DraftFacts:
    """What a description says, what is asked, and its text that belongs to no field."""

    facts: list[Fact] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    heading: str | None = None
    details: str = ""
    acceptance: str = ""
    context: str = ""
    rest: str = ""
    holds_request: bool = False
    files: set[str] = field(default_factory=set)
    unread: list[Unread] = field(default_factory=list)


class _Entry(NamedTuple):
    """One sentence, or one item of a list or one paragraph, on one line."""

    line: int
    text: str


@dataclass(slots=True)
class _Block:
    """The lines below a label; `name`, the field, is None for text that belongs to none.

    A block that a label on a line of its own opened ends where its list or paragraph ends; one that
    a heading opened, at the next heading.
    """

    name: str | None
    title: str
    line: int
    by_heading: bool = False
    lines: list[Line] = field(default_factory=list)
    has_items: bool = False
    is_open: bool = True


def extract_facts(text: str) -> DraftFacts:
    """Return the facts and questions of the description `text`."""
    found = DraftFacts()
    # Text in front of the first label may be anything; only its sentences are read.
    blocks = _blocks(read_markdown(text), found)
    free: list[Line] = []

    for block in blocks:
        if block.name is None:
            free += block.lines
        elif block.name in _LISTS:
            free += _read_list(block, found)
        elif block.name in ("task_details", "acceptance", "context"):
            _keep_text(block, found)
            if block.name == "task_details":
                _read_sentences(block.lines, found)
        else:
            free += _read_value(block, found)

    # Free sentences come after the labelled fields, which are the surer source.
    _read_free_text(free, found)
    found.rest = _joined(free)

    # The letter is searched first: most lines name no task, and the pattern is tried at each word.
    for number, line in enumerate(text.split("\n"), start=1):
        if "W" in line:
            for id in dict.fromkeys(_TASK_ID.findall(line)):
                found.facts.append(Fact("task_id", id, number, _quote(line)))

    found.holds_request = "<agent_request" in text
    _ask_about_conflicts(found)
    found.facts.sort(key=lambda fact: fact.line)

    return found


def _blocks(tree: Section, found: DraftFacts) -> list[_Block]:
    """Return the text as blocks, each with the field that its label or heading names."""
    blocks = [_Block(None, "", 0)]
    for section in (tree, *tree.walk()):
        if section.level:
            label = _label_of(section.title, is_heading=True)
            if label is not None:
                name, title, rest = label
                blocks.append(_Block(name, title, section.line, by_heading=True))
                if rest:
                    # A heading such as "Task: X" holds its whole value; the text below is free.
                    blocks[-1].lines.append(Line(section.line, rest))
                    blocks.append(_Block(None, "", section.line))
                    if name == "current_task_summary" and found.heading is None:
                        found.heading = rest
            else:
                blocks.append(_Block(None, "", section.line))
                if found.heading is None and section.level == 1:
                    found.heading = section.title
                else:
                    heading = f"{'#' * section.level} {section.title}"
                    blocks[-1].lines.append(Line(section.line, heading))

        for line in section.lines:
            _add_line(line, blocks)

    return blocks


def _add_line(line: Line, blocks: list[_Block]) -> None:
    # The block that the next line belongs to is always the last one.
    block = blocks[-1]
    item = None if line.code else _ITEM.fullmatch(line.text)
    label = None
    if not line.code and not line.text.startswith((" ", "\t", ">")):
        # Items of a known list are its content, whatever they begin with.
        inside = (
            block.name is not None
            and block.is_open
            and (block.by_heading or block.name in _WITH_ITEMS or _is_blank(block))
        )
        if item is None:
            label = _label_of(line.text)
        elif not inside:
            label = _label_of(item["text"])

    if label is not None:
        name, title, rest = label
        blocks.append(_Block(name, title, line.number))
        if rest:
            blocks[-1].lines.append(Line(line.number, rest))
        return

    if block.name is not None and not block.by_heading and _ends(block, line, is_item=bool(item)):
        blocks.append(_Block(None, "", line.number))
        block = blocks[-1]

    block.has_items = block.has_items or item is not None
    block.lines.append(line)


def _ends(block: _Block, line: Line, *, is_item: bool) -> bool:
    """Whether `line` stands after the list or paragraph of a block that a label opened."""
    if not line.text.strip() and not line.code:
        block.is_open = False
        return False

    is_empty, is_indented = _is_blank(block), line.text.startswith((" ", "\t"))
    if is_item:
        # A text that began on the line of its label is not an introduction of a list.
        return not (is_empty or block.name in _WITH_ITEMS)
    if block.has_items:
        # CommonMark counts such a line to the item above; people begin a new paragraph with it.
        return not is_indented
    if is_empty:
        return False

    # A sentence may be wrapped. Where it ended, or where the next line looks like another label,
    # markup or a quotation, that line is a text of its own.
    is_whole = block.lines[-1].text.rstrip().endswith((".", "!", "?", "。"))
    is_other = _OTHER_TEXT.match(line.text) is not None

    return not block.is_open or is_whole or is_other or block.name not in _TEXTS | _WITH_ITEMS


def _is_blank(block: _Block) -> bool:
    return not any(line.text.strip() for line in block.lines)


def _label_of(text: str, *, is_heading: bool = False) -> tuple[str, str, str] | None:
    """Return the field, the title and the value of `Label: value`, None for any other line.

    A heading may be a label without a colon.
    """
    stripped = text.strip()
    match = _LABEL.match(stripped)
    if match is None:
        return None

    mark, title, rest = match["mark"] or "", match["label"].strip(), match["rest"]
    if mark:
        # Both `**Label:** value` and `**Label**: value`.
        rest = rest.replace(mark, "", 1) if mark in rest[:4] else rest

    rest = rest.strip()
    if rest[:1] not in (":", "：") and not (is_heading and not rest):
        return None

    name = _FIELDS.get(normal_title(_NUMBERED.sub("", title)))
    return None if name is None else (name, title, rest[1:].strip())


def _entries(block: _Block) -> tuple[list[_Entry], list[Line]]:
    """Return the items of a block, or its paragraphs without any; and the lines left over."""
    entries: list[_Entry] = []
    left: list[Line] = []
    follows = False

    for line in block.lines:
        text = line.text.strip()
        item = None if line.code else _ITEM.fullmatch(line.text)
        if line.code or text.startswith((">", "|", "```", "~~~")):
            left.append(line)
            follows = False
        elif not text:
            follows = False
        elif item is not None:
            entries.append(_Entry(line.number, item["text"].strip()))
            follows = True
        elif follows and (line.text.startswith((" ", "\t")) or not block.has_items):
            last = entries.pop()
            entries.append(_Entry(last.line, f"{last.text} {text}"))
        elif block.has_items and line.number != block.line:
            left.append(line)
        else:
            entries.append(_Entry(line.number, text))
            follows = True

    return entries, left


def _read_list(block: _Block, found: DraftFacts) -> list[Line]:
    """Read a list of constraints, deliverables or dependencies; return the lines left over."""
    entries, left = _entries(block)
    for entry in entries:
        if normal_title(entry.text) in _NOTHING:
            continue
        if block.name == "deliverables":
            _read_deliverable(entry, found)
        elif block.name == "depends_on":
            sessions = mentioned_sessions(entry.text)
            # A dependency is a session; a name of another kind is asked about.
            for session in sessions:
                found.facts.append(Fact("depends_on", session, entry.line, _quote(entry.text)))
            if not sessions:
                question = (
                    f"Line {entry.line} says that the task depends on {_quote(entry.text)!r}. Which"
                    " sessions must be done before (YYYYMMDD-HHMMSS-name)?"
                )
                found.gaps.append(Gap("depends_on", question, entry.line))
        else:
            # The title is a part of what such an item says.
            says = f"{block.title}: {entry.text}" if block.name == "prohibitions" else entry.text
            found.facts.append(Fact("constraints", says, entry.line, _quote(entry.text)))

    return left


def _read_value(block: _Block, found: DraftFacts) -> list[Line]:
    """Read a field that has one value; return the lines that gave none."""
    name = str(block.name)
    if name not in _TEXTS:
        entries, left = _entries(block)
        unread = [
            Line(each.line, f"{block.title}: {each.text}")
            for each in entries
            if not _read_short(name, block.title, each, found)
        ]
        return [*unread, *left]

    lines = [each for each in block.lines if each.text.strip()]
    if not lines:
        return []

    if name == "backlog_notes":
        value = _joined(lines)
    else:
        items = [_ITEM.fullmatch(each.text) for each in lines]
        parts = [
            each.text.strip() if item is None else item["text"].strip()
            for each, item in zip(lines, items, strict=True)
        ]
        value = ("; " if all(items) else " ").join(parts)

    found.facts.append(Fact(name, value, lines[0].number, _quote(lines[0].text)))

    return []


def _read_short(name: str, title: str, entry: _Entry, found: DraftFacts) -> bool:
    """Read a value of one or few words, or ask what is meant; return whether it was read."""
    text = entry.text.strip().strip("*_`").rstrip(".").strip()
    values: list[Any] = [None]
    expected = ""

    if name == "deadline":
        name, values = "constraints", [f"{title}: {entry.text.strip()}"]
    elif name in _WORDS:
        values, expected = [_WORDS[name].get(text.lower())], _CHOICES[name]
    elif name == "session_id":
        values, expected = [text if is_session_id(text) else None], "YYYYMMDD-HHMMSS-name"
    elif name == "max_retries":
        values, expected = [read_number(text)], "a whole number"
    elif name in ("estimated_duration", "timeout"):
        # Requests write "30 minutes" as 30m.
        minutes = _MINUTES.fullmatch(text.lower())
        short = f"{minutes[1]}{minutes[2][0]}" if minutes is not None else None
        values = [text if read_duration(text) is not None else short]
        expected = "a duration such as 30m or 2h"
    else:
        # Several agents hear of a result; one asks and one is asked.
        named = text.split(",") if name == "notify_on_completion" else [text]
        agents = [each.strip().strip("`") for each in named]
        values = [each if "-" in each and _AGENT.fullmatch(each) else None for each in agents]
        expected = "the name of an agent, such as backend-agent"

    # One of several names that is not an agent makes the whole value doubtful.
    if None in values:
        question = f"Line {entry.line} says {title} {_quote(text)!r}; what is meant: {expected}?"
        found.gaps.append(Gap(name, question, entry.line))
        return False

    found.facts += [Fact(name, each, entry.line, _quote(entry.text)) for each in values]

    return True


def _read_deliverable(entry: _Entry, found: DraftFacts) -> None:
    paths = _paths(entry.text)
    quote = _quote(entry.text)
    if len(paths) == 1:
        _add_file(paths[0], _without_path(entry.text, paths[0]), entry, found)
        return

    # The paths are taken out; what is left decides whether they are a list or parts of a sentence.
    rest = entry.text
    for path in paths:
        rest = rest.replace(path, "", 1)
    if paths and not set(normal_title(rest).split()) - {"and", "und", "et", "y", "и"}:
        # A mere enumeration: each path is an output of its own.
        for path in paths:
            _add_file(path, "", entry, found)
        return

    if paths:
        question = (
            f"Line {entry.line} names several files ({', '.join(paths)[:_QUOTED]}). Which of them"
            " are to be delivered?"
        )
        found.gaps.append(Gap("deliverables", question, entry.line))
        return

    kind = _KIND.match(entry.text)
    if kind is not None:
        is_report = kind["kind"].lower() == "report"
        text = entry.text if kind["word"] else entry.text[kind.end() :]
        value = {"kind": "report" if is_report else "decision", "text": text.strip()}
        found.facts.append(Fact("deliverables", value, entry.line, quote))
        return

    question = (
        f"Line {entry.line} lists {quote!r}. Is it a file (with which path), a decision or a"
        " report?"
    )
    found.gaps.append(Gap("deliverables", question, entry.line))


def _add_file(path: str, text: str, entry: _Entry, found: DraftFacts) -> None:
    """Add a file to deliver, or ask for a path that leads out of the project or is a pattern."""
    # A file that is named twice is one deliverable; the first mention describes it.
    if path in found.files:
        return
    found.files.add(path)

    problem = path_problem(path, where="")
    if problem is not None and problem.rule is TEMPLATE_VARIABLE:
        question = f"The path in line {entry.line} holds a variable, {path!r}. What stands for it?"
        found.gaps.append(Gap("session_id", question, entry.line))
    elif problem is not None or not path.isprintable():
        question = (
            f"The path {_quote(path)!r} in line {entry.line} leads out of the project or cannot be"
            " shown. Which path, relative to the project, is meant?"
        )
        found.gaps.append(Gap("deliverables", question, entry.line))
        return
    elif "*" in path or "?" in path:
        question = f"Line {entry.line} has a pattern, {_quote(path)!r}. Which files are meant?"
        found.gaps.append(Gap("deliverables", question, entry.line))
        return

    is_optional = _OPTIONAL in text
    value: dict[str, Any] = {
        "kind": "file",
        "path": path,
        "text": text.replace(_OPTIONAL, "").strip(_AROUND_PATHS),
    }
    if is_optional:
        value["required"] = False

    found.facts.append(Fact("deliverables", value, entry.line, _quote(entry.text)))


def _without_path(text: str, path: str) -> str:
    """Return `text` without `path` at its start or end; elsewhere it belongs to the sentence."""
    marked = f"`{path}`" if f"`{path}`" in text else path
    before, _, after = text.partition(marked)
    if before.strip(_PUNCTUATION + " -–—") and after.strip(_PUNCTUATION + " -–—"):
        return text.strip()

    return (before + after).strip(_AROUND_PATHS)


def _paths(text: str) -> list[str]:
    """Return the paths of files in `text`, each once, in order."""
    found: dict[str, None] = {}
    for token in text.split():
        # A name may begin with a dot.
        # Punctuation around a path belongs to the sentence.
        marked = token.lstrip(_PUNCTUATION.replace(".", "")).rstrip(_PUNCTUATION)
        path = marked.strip("`")
        is_code = bool(path) and marked.startswith("`") and marked.endswith("`")
        if _is_path(path, is_code=is_code):
            found.setdefault(path)

    return list(found)


def _is_path(path: str, *, is_code: bool) -> bool:
    if not path or "://" in path or path.startswith(("-", "@", "#", "<")) or "(" in path:
        return False

    name = path.rpartition("/")[2].lower()
    stem, dot, extension = name.rpartition(".")
    if name in _FILES_WITHOUT_EXTENSION:
        return is_code or "/" in path or path[0].isupper()
    if not dot or extension not in _KNOWN_EXTENSIONS or (not stem and extension != "env"):
        # "and/or", "client/server": a slash alone proves nothing.
        # Without a known extension a word with a slash may as well be a route or a pair of words.
        return is_code and "/" in path and not path.startswith("/") and bool(dot)
    return is_code or "/" in path or name not in _NO_FILES.split()


def _keep_text(block: _Block, found: DraftFacts) -> None:
    """Keep a text whole: details, when it is done, or background."""
    text = _joined(block.lines)
    if not text:
        return

    if block.name == "acceptance":
        found.acceptance = _paragraphs(found.acceptance, f"{block.title}:\n{text}")
    elif block.name == "task_details":
        # The first block of details needs no title; further ones keep theirs.
        titled = f"{block.title}:\n{text}" if found.details else text
        found.details = _paragraphs(found.details, titled)
    else:
        found.context = _paragraphs(found.context, f"{block.title}:\n{text}")


def _sentences(lines: Iterable[Line]) -> Iterator[_Entry]:
    """Yield the sentences of text, which may be wrapped, with their lines; none of code or quotes.

    A list ends a sentence, and so does each of its items.
    """
    paragraph: list[Line] = []

    def ended() -> Iterator[_Entry]:
        text, at = "", list[tuple[int, int]]()
        for each in paragraph:
            item = _ITEM.fullmatch(each.text)
            words = (item["text"] if item is not None else each.text).strip()
            at.append((len(text), each.number))
            text += f"{words} "
        start = 0
        for sentence in _SENTENCE_END.split(text.strip()):
            start = text.index(sentence, start)
            if sentence:
                yield _Entry(at[bisect_right(at, (start, sys.maxsize)) - 1][1], sentence)
            start += len(sentence)
        paragraph.clear()

    for line in lines:
        text = line.text.strip()
        is_other = line.code or not text or text.startswith((">", "|", "#"))
        if is_other or _ITEM.fullmatch(line.text) is not None:
            yield from ended()
        if not is_other:
            paragraph.append(line)
    yield from ended()


def _read_sentences(lines: Iterable[Line], found: DraftFacts) -> None:
    """Read prohibitions and outputs from the sentences of details, which stay as they are."""
    for entry in _sentences(lines):
        if is_prohibited(entry.text):
            value = entry.text.rstrip(".! ")
            found.facts.append(Fact("constraints", value, entry.line, _quote(entry.text)))
        elif not entry.text.endswith("?") and (path := _written_to(entry.text)) is not None:
            _add_file(path, entry.text.rstrip(".! "), entry, found)


def _read_free_text(lines: Iterable[Line], found: DraftFacts) -> None:
    """Read the sentences of text that no label names, and list those that say nothing certain."""
    given = {fact.field for fact in found.facts} | {gap.field for gap in found.gaps}
    requests: list[tuple[_Entry, str]] = []
    for entry in _sentences(lines):
        path = None if entry.text.endswith("?") else _written_to(entry.text)
        readings = read_sentence(entry.text, _paths(entry.text))
        if path is not None:
            _add_file(path, entry.text.rstrip(".! "), entry, found)
        for name, value in readings:
            if name == "request":
                requests.append((entry, value))
                found.unread.append(Unread(entry.line, _quote(entry.text)))
            elif name == "deliverables":
                # A list of deliverables is complete, and a place is not one more.
                if name not in given and path is None:
                    _add_file(value, entry.text.rstrip(".! "), entry, found)
            elif name == "constraints" or name not in given:
                found.facts.append(Fact(name, value, entry.line, _quote(entry.text)))
        if not readings and path is None and not is_greeting(entry.text):
            found.unread.append(Unread(entry.line, _quote(entry.text)))

    # Several requests are several tasks, or the steps of one: which, a person knows.
    if len(requests) == 1 and "current_task_summary" not in given:
        ((entry, value),) = requests
        found.unread.remove(Unread(entry.line, _quote(entry.text)))
        found.facts.append(Fact("current_task_summary", value, entry.line, _quote(entry.text)))
    _ask_about_reading(found)


def _ask_about_reading(found: DraftFacts) -> None:
    """Ask what holds where the text wants files and says that nothing is to be written."""
    files = [
        fact
        for fact in found.facts
        if fact.field == "deliverables" and fact.value["kind"] == "file"
    ]
    limits = [
        fact
        for fact in found.facts
        if fact.field == "constraints" and fact.value.lower().replace("-", " ") == "read only"
    ]
    if files and limits:
        path = files[0].value["path"]
        question = (
            f"The text says {limits[0].value!r} and asks for {path}. May that file be written?"
        )
        found.gaps.append(Gap("constraints", question, limits[0].line, required=False))


def _written_to(sentence: str) -> str | None:
    """Return the path in a sentence such as "Write the results to docs/results.json."."""
    if _WRITING.match(sentence) is None:
        return None

    # A negated sentence names files that are not to be written.
    words = sentence.split()
    paths = _paths(sentence)
    if len(paths) != 1 or {word.lower().strip(_PUNCTUATION) for word in words}.intersection(
        _NEGATIONS.split()
    ):
        return None

    # The path ends the sentence: what follows it might say that something else is meant.
    is_last = words[-1].strip(_PUNCTUATION + "`") == paths[0]
    return paths[0] if is_last and words[-2].lower().strip(":") in ("to", "into") else None


def _ask_about_conflicts(found: DraftFacts) -> None:
    """Replace different values of a field that has one by a question."""
    kept: list[Fact] = []
    by_field: dict[str, dict[str, Fact]] = {}
    # Equal values in two places are not a conflict, whatever their case.
    for fact in found.facts:
        if fact.field in _SINGLE:
            by_field.setdefault(fact.field, {}).setdefault(str(fact.value).casefold(), fact)
        else:
            kept.append(fact)

    for name, facts in by_field.items():
        first, *others = facts.values()
        if not others:
            kept.append(first)
            continue

        given = " and ".join(
            f"{_quote(str(fact.value))!r} (line {fact.line})" for fact in (first, *others[:2])
        )
        question = f"The description gives {name} as {given}. Which of them holds?"
        found.gaps.append(Gap(name, question, others[0].line))

    found.facts = kept


def _paragraphs(*texts: str) -> str:
    return "\n\n".join(filter(None, texts))


def _joined(lines: Iterable[Line]) -> str:
    """Return lines as they stand, without blank lines around and without runs of them."""
    text = "\n".join(line.text for line in lines)
    return _BLANK_LINES.sub("\n\n", text).strip("\n").rstrip()


def _quote(text: str) -> str:
    return excerpt(" ".join(text.split()), _QUOTED)
