"""Read BLUEPRINT.md: waves and tasks, in the form with a table and in the older form."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from goop_mcp.workflow.task_ids import TaskId, normal_task_id, parse_task_id
from goop_mcp.workspace.documents.markdown import (
    Line,
    Section,
    Table,
    fields,
    items,
    normal_title,
    prose,
    read_markdown,
    tables,
)
from goop_mcp.workspace.documents.repeated import Defined, Repeated, repeated_ids
from goop_mcp.workspace.documents.status_markers import (
    TaskStatus,
    must_haves_in,
    read_checkbox,
    read_status,
    task_ids_in,
    without_checkbox,
    without_progress,
)

__all__ = ["Blueprint", "BlueprintTask", "PlannedFile", "Wave", "read_blueprint"]

_WAVE = re.compile(r"Wave\s+(\d{1,6})\b\W*(.*)", re.IGNORECASE)
_TASK = re.compile(
    r"((?:Task\s+|T)\d{1,6}(?:\.\d{1,6})?|W\d{1,6}\.?T\d{1,6}|\d{1,6}\.\d{1,6})(?![\w.])\W*(.*)",
    re.IGNORECASE,
)
# Bounded, as an opening backtick may never be closed.
_CODE = re.compile(r"`([^`]{1,1000})`")
_ACTION = re.compile(r"\b(create|modify|delete|update|add|remove)d?\b", re.IGNORECASE)
_NO_PATH = re.compile(r"(?<!\s)(?:\s++(?:[-–—(]|:\s)|:\s)")
_NONE = frozenset({"", "none", "n/a", "-", "–", "—", "no", "nothing"})
# Profile v1 has no waves; its tasks count as those of the first one.
_FIRST_WAVE = 1
_LISTED = re.compile(r"([ \t]*+)(?:[-*+]|\d{1,9}[.)])[ \t]++(.*)")
# Numbers alone begin many items of a list.
# Without a check box only these are tasks: "1.2 seconds" in a list is none.
_NAMED_TASK = re.compile(r"(?:W\d|T\d|Task\s)", re.IGNORECASE)
_RULE_OF_TABLE = frozenset("|-: \t")
# Sections that name the tasks of the plan again.
_NAME_AGAIN = ("spec mapping", "traceability", "verification", "handoff", "risk", "execution notes")
# What may precede a title: emphasis and the icons of a status.
_ICONS = "*_ ✓✅⏳✗"
_ANSWERS = {"yes": True, "true": True, "✓": True, "no": False, "false": False, "✗": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFile:
    """A file that a task changes; `action` is a verb such as create, None if the plan has none."""

    path: str
    action: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BlueprintTask:
    """One task of the plan; what the plan leaves out is None or empty.

    `line` counts from 1. `verification` are commands. `status` is set only if people keep it in the
    plan. `digest` is the sha256 of everything the plan says about the task except its progress:
    check marks, icons, the field Status and white space do not change it. It is "" for a task that
    is not from a document.
    """

    id: TaskId
    name: str
    line: int
    digest: str = ""
    intent: str | None = None
    executor: str | None = None
    parallel: bool | None = None
    depends_on: tuple[TaskId, ...] = ()
    blocks: tuple[TaskId, ...] = ()
    must_haves: tuple[str, ...] = ()
    files: tuple[PlannedFile, ...] = ()
    deliverables: tuple[str, ...] = ()
    verification: tuple[str, ...] = ()
    acceptance: tuple[str, ...] = ()
    status: TaskStatus | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wave:
    """One wave; `execution` is "parallel" or "sequential" as written, None if absent."""

    number: int
    name: str
    line: int
    goal: str | None = None
    execution: str | None = None
    tasks: tuple[BlueprintTask, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Blueprint:
    """The plan.

    `waves` is empty in profile v1, whose tasks are in `loose_tasks` with a guessed wave. `mapping`
    holds the tasks that serve each must-have, from the table Spec Mapping. `repeated` are tasks
    that are defined more than once; the first definition counts.
    """

    name: str | None
    spec_version: str | None = None
    mode: str | None = None
    waves: tuple[Wave, ...] = ()
    loose_tasks: tuple[BlueprintTask, ...] = ()
    mapping: Mapping[str, tuple[TaskId, ...]]
    repeated: tuple[Repeated, ...] = ()

    @property
    def tasks(self) -> tuple[BlueprintTask, ...]:
        """All tasks, in the order of the waves and of the text."""
        return (*(task for wave in self.waves for task in wave.tasks), *self.loose_tasks)

    def wave(self, number: int) -> Wave | None:
        """Return the wave with `number`, None if the plan has no such wave."""
        return next((wave for wave in self.waves if wave.number == number), None)

    def task(self, id: str) -> BlueprintTask | None:
        """Return the task with `id`, in any known spelling; None if the plan has no such task."""
        wanted = normal_task_id(id, current_wave=None if self.waves else _FIRST_WAVE)
        return next((task for task in self.tasks if str(task.id) == wanted), None)

    def serving(self, must_have: str) -> tuple[TaskId, ...]:
        """Return the tasks that serve a must-have such as MH1, by task fields and mapping."""
        own = [task.id for task in self.tasks if must_have in task.must_haves]
        known = {str(task.id) for task in self.tasks}
        mapped = [id for id in self.mapping.get(must_have, ()) if str(id) in known]
        return tuple(dict.fromkeys([*own, *mapped]))


# Each report needs the plan, which nearly always is that of the report before.
@lru_cache(maxsize=4)
def read_blueprint(text: str) -> Blueprint:
    """Read BLUEPRINT.md tolerantly: any order, any case, missing parts. Never raises.

    Tasks are headings; a plan without such headings may list them with check boxes or in tables.
    """
    # The whole document is parsed once; all that follows works on its sections.
    document = read_markdown(text)
    head = document.sections[0] if document.sections else document
    found = fields([*document.lines, *head.lines])
    waves: dict[int, Wave] = {}
    defined: list[Defined] = []

    for section in document.walk():
        # Icons of progress stand in front of titles as soon as work begins.
        match = _WAVE.match(section.title.lstrip(f"#{_ICONS}"))
        if match is None:
            continue

        values, number = fields(section.lines), int(match[1])
        wave = Wave(
            number=number,
            name=match[2].strip(),
            line=section.line,
            goal=values.get("goal"),
            execution=values.get("execution"),
            tasks=_tasks(section, wave=number),
        )
        defined += _defined(section, wave=number)
        # A wave may be listed twice, in an overview and in the plan; the section with tasks counts.
        if wave.number not in waves or len(wave.tasks) > len(waves[wave.number].tasks):
            waves[wave.number] = wave

    loose = () if waves else _tasks(document, wave=None)
    # Lists and tables are read only where no heading is a task: the sub-steps of a task are lists
    # as well.
    if not loose and not any(wave.tasks for wave in waves.values()):
        waves, listed = _with_listed_tasks(document, waves)
        defined += listed
    elif not waves:
        defined += _defined(document, wave=None)

    title = next((section.title for section in document.walk() if section.level == 1), None)
    before, _, after = (title or "").partition(":")

    # A must-have may stand in several rows, one for each part of the plan that serves it.
    mapping: dict[str, tuple[TaskId, ...]] = {}
    traced = document.find("spec mapping", "traceability matrix")
    for table in tables(traced.all_lines()) if traced is not None else []:
        for row in table.rows:
            ids = [id for cell in row[1:] for id in task_ids_in(cell)]
            for must_have in must_haves_in(row[0]):
                mapping[must_have] = tuple(dict.fromkeys([*mapping.get(must_have, ()), *ids]))

    return Blueprint(
        name=after.strip() if after and "blueprint" in before.lower() else title,
        spec_version=found.get("spec version"),
        mode=found.get("mode"),
        waves=tuple(waves[number] for number in sorted(waves)),
        loose_tasks=loose,
        mapping=mapping,
        repeated=repeated_ids(defined),
    )


def _with_listed_tasks(
    document: Section, waves: Mapping[int, Wave]
) -> tuple[dict[int, Wave], list[Defined]]:
    """Return `waves` with the tasks that `document` has in lists and tables, and their places."""
    plan = _ListedPlan()
    plan.read(document, None)

    found = dict(waves)
    for number in sorted({task.id.wave for task in plan.tasks.values()}):
        name, line = plan.waves.get(number, ("", 1))
        wave = found.get(number, Wave(number=number, name=name, line=line))
        own = tuple(task for task in plan.tasks.values() if task.id.wave == number)
        found[number] = replace(wave, tasks=own)

    return found, plan.defined


class _ListedPlan:
    """The tasks that a plan lists with check boxes or in tables, each once, in order."""

    def __init__(self) -> None:
        self.tasks: dict[str, BlueprintTask] = {}
        self.defined: list[Defined] = []
        # Name and line of the waves that are items or lines of their own.
        self.waves: dict[int, tuple[str, int]] = {}

    def read(self, section: Section, wave: int | None) -> None:
        """Add the tasks of `section` and of those below it; `wave` is the one they belong to."""
        if normal_title(section.title).startswith(_NAME_AGAIN):
            return
        if match := _WAVE.match(section.title.lstrip(f"#{_ICONS}")):
            wave = int(match[1])

        self._read_items(section.lines, wave)

        # Rows that follow each other are a table; the line put at the end closes the last one.
        group: list[Line] = []
        for line in [*section.lines, Line(0, "")]:
            if not line.code and line.text.lstrip().startswith("|"):
                group.append(line)
                continue

            for table in tables(group):
                numbers = [
                    each.number for each in group if not _RULE_OF_TABLE.issuperset(each.text)
                ]
                self._read_table(table, numbers[1:], wave)
            group = []

        for below in section.sections:
            self.read(below, wave)

    def _read_items(self, lines: Sequence[Line], wave: int | None) -> None:
        for at, line in enumerate(lines):
            item = None if line.code else _LISTED.fullmatch(line.text)
            text = item[2] if item else "" if line.code else line.text
            title = without_checkbox(text).lstrip(_ICONS)
            if named := _WAVE.match(title):
                wave = int(named[1])
                self.waves.setdefault(wave, (named[2].strip(f": {_ICONS}"), line.number))
            if item is None or not (read_checkbox(text) or _NAMED_TASK.match(title)):
                continue

            # What is indented below an item belongs to it.
            details = []
            for below in lines[at + 1 :]:
                indent = len(below.text) - len(below.text.lstrip())
                if below.text.strip() and indent <= len(item[1]):
                    break
                # As if it stood alone: a label must begin its line.
                nested = _LISTED.fullmatch(below.text)
                details.append(below._replace(text=nested[2] if nested else below.text.strip()))

            among = ("list", lines[0].number)
            status = read_checkbox(text)
            self._add(title, line.number, details, wave=wave, status=status, among=among)

    def _read_table(self, table: Table, numbers: Sequence[int], wave: int | None) -> None:
        ids, waves = table.column("task", "id", "task id", "tasks"), table.column("wave")
        name = table.column("name", "title", "task name", "description", "what")
        if ids is None:
            return

        for row, number in zip(table.rows, numbers, strict=False):
            cells = dict(enumerate(row))
            # A table may have a column for the wave, which outranks the section it stands in.
            own = re.search(r"\d{1,6}", cells.get(waves, "")) if waves is not None else None
            title = " ".join(filter(None, (cells.get(ids), cells.get(name) if name else None)))
            details = [
                Line(number, f"{head}: {cells.get(at, '')}")
                for at, head in enumerate(table.head)
                if at not in (ids, name)
            ]
            self._add(
                title.strip(_ICONS),
                number,
                details,
                wave=int(own[0]) if own else wave,
                status=None,
                among=("table", numbers[0]),
            )

    def _add(
        self,
        title: str,
        line: int,
        details: Sequence[Line],
        *,
        wave: int | None,
        status: TaskStatus | None,
        among: tuple[str, int],
    ) -> None:
        match = _TASK.match(title)
        id = match and parse_task_id(match[1], current_wave=wave)
        if match is None or id is None or id.task is None:
            return
        self.defined.append(Defined(str(id), among, line))
        # A later line with the same id is progress or review; the first one is the plan.
        if str(id) in self.tasks:
            return

        name = match[2].strip().strip("*_ ")
        task = _task(Section(1, title, line, lines=tuple(details)), id, name)
        # A task of one line names its must-haves in its title, as it has no field for them.
        covered = tuple(dict.fromkeys([*task.must_haves, *must_haves_in(name)]))
        self.tasks[str(id)] = replace(task, must_haves=covered, status=status or task.status)


def _tasks(section: Section, *, wave: int | None) -> tuple[BlueprintTask, ...]:
    found: dict[str, BlueprintTask] = {}
    for id, name, below in _headings(section, wave=wave):
        # The first definition counts: later headings with the same id are reviews and notes about
        # the task.
        found.setdefault(str(id), _task(below, id, name))

    return tuple(found.values())


def _defined(section: Section, *, wave: int | None) -> list[Defined]:
    return [
        Defined(str(id), below.level, below.line) for id, _, below in _headings(section, wave=wave)
    ]


def _headings(section: Section, *, wave: int | None) -> Iterator[tuple[TaskId, str, Section]]:
    """Yield id, name and section of each heading of a task."""
    for below in section.walk():
        match = _TASK.match(without_checkbox(below.title).lstrip(_ICONS))
        id = match and parse_task_id(match[1], current_wave=_FIRST_WAVE if wave is None else wave)
        if match and id is not None:
            yield id, match[2].strip(), below


def _task(section: Section, id: TaskId, name: str) -> BlueprintTask:
    found = fields(section.lines)
    coverage = " ".join(
        filter(None, (found.get("spec coverage"), found.get("covers"), found.get("must haves")))
    )
    # The first word: "yes, with 1.2" is a yes.
    parallel = found.get("parallel", "").strip().lower().split(" ")[0].strip(",.;")
    criteria = section.block("acceptance", "done")
    acceptance = tuple(without_checkbox(item) for item in items(criteria))

    # Blocks of code outrank what is quoted in the text, and both outrank the text itself.
    verification = section.block("verification", "verify")
    code = [
        line.text.strip()
        for line in verification
        if line.code and line.text.strip() and not line.text.startswith("#")
    ]
    quoted = [
        command for line in verification if not line.code for command in _CODE.findall(line.text)
    ]
    commands = tuple(code or quoted) or ((text,) if (text := prose(verification)) else ())

    return BlueprintTask(
        id=id,
        name=name,
        line=section.line,
        digest=_digest(f"{id} {name}", section),
        intent=found.get("intent") or found.get("action"),
        executor=found.get("executor") or found.get("agent"),
        parallel=_ANSWERS.get(parallel),
        depends_on=task_ids_in(found.get("depends on", "")),
        blocks=task_ids_in(found.get("blocks", "")),
        must_haves=must_haves_in(coverage),
        files=_files(section.block("files", "file")),
        deliverables=tuple(without_checkbox(item) for item in items(section.block("deliverables"))),
        verification=commands,
        acceptance=acceptance or ((text,) if (text := prose(criteria)) else ()),
        status=read_status(found.get("status", "")),
    )


def _digest(title: str, section: Section) -> str:
    """Return the digest of a task's definition, see `BlueprintTask`."""
    texts = [title, *(line.text for line in section.lines)]
    for below in section.walk():
        texts += [below.title, *(line.text for line in below.lines)]

    # A divider separates a task from the next one and belongs to neither.
    kept = (
        "".join(without_progress(text).split())
        for text in texts
        if "status" not in fields([Line(0, text)]) and text.strip() != "---"
    )

    return hashlib.sha256("\n".join(filter(None, kept)).encode()).hexdigest()


def _files(lines: Sequence[Line]) -> tuple[PlannedFile, ...]:
    listed = [
        PlannedFile(path=path, action=_action(action))
        for table in tables(lines)
        for path, action in zip(
            map(_path, table.cells("file", "path", "files")),
            table.cells("action", "change") or [""] * len(table.rows),
            strict=False,
        )
    ]
    listed += [PlannedFile(path=_path(item), action=_action(item)) for item in items(lines)]
    if not listed:
        # The older form has the files of a task on one line.
        names = [name for line in lines if not line.code for name in line.text.split(",")]
        listed = [
            PlannedFile(path=_path(name), action=_action(name))
            for name in map(str.strip, names)
            if name
        ]

    return tuple(file for file in listed if file.path.lower() not in _NONE)


def _path(text: str) -> str:
    # A path between backticks may contain blanks and the words that end a bare one.
    quoted = _CODE.search(text)
    return (
        quoted[1].strip()
        if quoted
        else _NO_PATH.split(without_checkbox(text), maxsplit=1)[0].strip(" *")
    )


def _action(text: str) -> str | None:
    found = _ACTION.search(_CODE.sub("", text))
    return found[1].lower() if found else None
