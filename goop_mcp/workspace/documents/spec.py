"""Read SPEC.md, the contract, and measure how much of it the plan covers."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from goop_mcp.workflow.task_ids import TaskId
from goop_mcp.workspace.documents.blueprint import Blueprint
from goop_mcp.workspace.documents.markdown import (
    Section,
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
    task_ids_in,
    without_checkbox,
)

__all__ = ["Coverage", "Criterion", "MustHave", "Spec", "measure_coverage", "read_spec"]

_MUST_HAVE = re.compile(r"(MH-?\d{1,4})\b\W*(.*)", re.IGNORECASE)
_NICE_TO_HAVE = re.compile(r"(NH-?\d{1,4})\b\W*(.*)", re.IGNORECASE)
_PERCENT = re.compile(r"(\d{1,3}(?:\.\d{1,4})?)\s*%")
_YES = re.compile(r"🔒|\b(?:yes|true|locked)\b", re.IGNORECASE)
_NO = re.compile(r"🔓|\b(?:no|not|false|unlocked)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """One acceptance criterion; `passed` is its check box, False without one."""

    text: str
    passed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MustHave:
    """One must-have of the contract.

    `traced_to` are the tasks that SPEC.md names for it. `line` counts from 1.
    """

    id: str
    title: str
    line: int
    criteria: tuple[Criterion, ...] = ()
    traced_to: tuple[TaskId, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether there are criteria and all of them have passed."""
        return bool(self.criteria) and all(criterion.passed for criterion in self.criteria)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """The contract.

    `locked` is None if the header does not state it; `stated_coverage` is in percent, as written.
    `repeated` are must-haves that are defined more than once; the first definition counts.
    """

    name: str | None
    version: str | None = None
    status: str | None = None
    locked: bool | None = None
    locked_at: str | None = None
    locked_line: int | None = None
    vision: str = ""
    must_haves: tuple[MustHave, ...] = ()
    nice_to_haves: tuple[str, ...] = ()
    out_of_scope: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    amendments: int = 0
    stated_coverage: float | None = None
    repeated: tuple[Repeated, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """Traceability: the must-haves without a task, and the tasks without a must-have."""

    must_haves: int
    untraced: tuple[str, ...] = ()
    idle_tasks: tuple[TaskId, ...] = ()

    @property
    def traced(self) -> int:
        """The number of must-haves that a task of the plan serves."""
        return self.must_haves - len(self.untraced)

    @property
    def percent(self) -> float:
        """The share of must-haves that are traced, from 0 to 100; 0 without must-haves."""
        return 100 * self.traced / self.must_haves if self.must_haves else 0.0


def read_spec(text: str) -> Spec:
    """Read SPEC.md tolerantly: any order, any case, missing parts. Never raises."""
    document = read_markdown(text)
    head = next((section for section in document.walk() if section.level == 1), document)
    header = [*document.lines, *head.lines]
    found = fields(header)

    # The table of all must-haves; each of them may name its tasks too.
    matrix: dict[str, tuple[TaskId, ...]] = {}
    section = document.find("traceability matrix", "traceability")
    for table in tables(section.all_lines()) if section is not None else []:
        for row in table.rows:
            for id in must_haves_in(row[0]):
                matrix[id] = tuple(task for cell in row[1:] for task in task_ids_in(cell))

    # The first field that says yes or no decides; a "no" outranks a "yes" in the same text, since
    # "not locked" has both.
    stated = (found.get("locked"), found.get("spec locked"), found.get("status"))
    clear = (text for text in stated if text and (_NO.search(text) or _YES.search(text)))
    lock = next(clear, None)

    amendments = document.find("amendment history", "amendments")
    vision = document.find("vision")
    percent = _PERCENT.search(fields(document.all_lines()).get("coverage", ""))
    before, _, title = head.title.partition(":")

    return Spec(
        name=title.strip()
        if ":" in head.title and "spec" in before.lower()
        else head.title or None,
        version=found.get("version"),
        status=found.get("status"),
        locked=None if lock is None else not _NO.search(lock),
        locked_at=found.get("locked at"),
        locked_line=next((line.number for line in header if "locked" in fields([line])), None),
        vision=prose(vision.all_lines()) if vision is not None else "",
        must_haves=tuple(_must_haves(document, matrix)),
        nice_to_haves=tuple(
            section.title for section in document.walk() if _NICE_TO_HAVE.match(section.title)
        ),
        out_of_scope=_listed(document, "out of scope"),
        assumptions=_listed(document, "assumptions"),
        amendments=(
            sum(len(table.rows) for table in tables(amendments.all_lines())) if amendments else 0
        ),
        stated_coverage=float(percent[1]) if percent else None,
        repeated=repeated_ids(
            Defined(id, section.level, section.line) for id, _, section in _headings(document)
        ),
    )


def measure_coverage(spec: Spec, blueprint: Blueprint | None) -> Coverage:
    """Return the coverage of `spec` by `blueprint`; tasks that are not in the plan do not count."""
    if blueprint is None:
        return Coverage(
            must_haves=len(spec.must_haves), untraced=tuple(each.id for each in spec.must_haves)
        )

    known = {str(task.id) for task in blueprint.tasks}
    serving: set[str] = set()
    untraced: list[str] = []

    for must_have in spec.must_haves:
        ids = {str(id) for id in (*must_have.traced_to, *blueprint.serving(must_have.id))} & known
        serving |= ids
        if not ids:
            untraced.append(must_have.id)

    idle = tuple(task.id for task in blueprint.tasks if str(task.id) not in serving)

    return Coverage(must_haves=len(spec.must_haves), untraced=tuple(untraced), idle_tasks=idle)


def _must_haves(document: Section, matrix: Mapping[str, tuple[TaskId, ...]]) -> Iterator[MustHave]:
    seen: set[str] = set()
    for id, title, section in _headings(document):
        # A table of contents and a summary may repeat the heading; the first section counts.
        if id in seen:
            continue

        seen.add(id)
        own = task_ids_in(fields(section.all_lines()).get("traced to", ""))
        yield MustHave(
            id=id,
            title=title,
            line=section.line,
            criteria=tuple(
                Criterion(text=without_checkbox(item), passed=box is TaskStatus.DONE)
                for item in items(section.all_lines())
                if (box := read_checkbox(item)) is not None
            ),
            traced_to=tuple(dict.fromkeys([*own, *matrix.get(id, ())])),
        )


def _headings(document: Section) -> Iterator[tuple[str, str, Section]]:
    """Yield id, title and section of each heading of a must-have."""
    for section in document.walk():
        match = _MUST_HAVE.match(without_checkbox(section.title).lstrip("*_ ✓✅⏳✗"))
        if match is not None:
            (id,) = must_haves_in(match[1])
            yield id, match[2].strip(), section


def _listed(document: Section, title: str) -> tuple[str, ...]:
    section = document.find(title)
    if section is None:
        return ()
    listed = tuple(without_checkbox(item) for item in items(section.all_lines()))
    return tuple(item for item in listed if normal_title(item) not in ("", "none", "n a"))
