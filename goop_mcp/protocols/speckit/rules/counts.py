"""Rules about numbers that have to fit each other (D-50)."""

from collections.abc import Callable, Iterator, Mapping

from goop_mcp.protocols.speckit.model import Response, Values
from goop_mcp.protocols.speckit.result_values import items, number, section
from goop_mcp.protocols.speckit.samples import CLARIFY_REPLY, TASKS_REPLY
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.findings import Hit, Severity
from goop_mcp.validation.rules import Example, RuleList

__all__ = [
    "COUNT_RULES",
]

_TOLERANCE = 0.01 + 1e-9
_ALL = 100

Remark = tuple[str, str]
"""What does not fit, and the field of the result that says it."""


def _hits(
    response: Response, looks: Mapping[str, Callable[[Values], Iterator[Remark]]]
) -> list[Hit] | None:
    look = looks.get(response.agent or "")
    if look is None or response.result is None:
        return None
    return [
        Hit(message=message, path=f"/result/{field}") for message, field in look(response.result)
    ]


def _sums_of_clarify(result: Values) -> Iterator[Remark]:
    yield from _at_most(result, "clarifications_resolved", "questions_asked")


def _sums_of_tasks(result: Values) -> Iterator[Remark]:
    yield from _sum(result, "phases", "task_count")
    yield from _at_most(result, "parallelizable_tasks", "task_count")


def _sums_of_analyze(result: Values) -> Iterator[Remark]:
    yield from _sum(result, "findings_by_severity", "total_findings")
    coverage = section(result, "coverage_analysis")
    part, whole = "requirements_with_tasks", "total_requirements"
    for remark, field in (
        *_at_most(coverage, part, whole),
        *_percentage(coverage, "coverage_percentage", part, whole),
    ):
        yield remark, f"coverage_analysis/{field}"


def _sums_of_implement(result: Values) -> Iterator[Remark]:
    yield from _at_most(result, "tasks_completed", "tasks_total")
    yield from _at_most(result, "tests_passed", "tests_total")
    yield from _percentage(result, "completion_percentage", "tasks_completed", "tasks_total")


def _lists_of_tasks(result: Values) -> Iterator[Remark]:
    yield from _length(result, "task_ids", number(result, "task_count"))


def _lists_of_analyze(result: Values) -> Iterator[Remark]:
    yield from _length(result, "findings", number(result, "total_findings"))
    coverage = section(result, "coverage_analysis")
    whole, part = (
        number(coverage, name) for name in ("total_requirements", "requirements_with_tasks")
    )
    if whole is not None and part is not None:
        for remark, field in _length(coverage, "uncovered_requirements", whole - part):
            yield remark, f"coverage_analysis/{field}"


def _lists_of_taskstoissues(result: Values) -> Iterator[Remark]:
    yield from _length(result, "issues", number(result, "issues_created"))


_SUMS: Mapping[str, Callable[[Values], Iterator[Remark]]] = {
    "clarify": _sums_of_clarify,
    "tasks": _sums_of_tasks,
    "analyze": _sums_of_analyze,
    "implement": _sums_of_implement,
}
_LISTS: Mapping[str, Callable[[Values], Iterator[Remark]]] = {
    "tasks": _lists_of_tasks,
    "analyze": _lists_of_analyze,
    "taskstoissues": _lists_of_taskstoissues,
}


def _at_most(values: Values, part: str, whole: str) -> Iterator[Remark]:
    some, most = number(values, part), number(values, whole)
    if some is not None and most is not None and some > most:
        yield f"{part} is {some:g} and {whole} is {most:g}; expected no more than that", part


def _sum(values: Values, parts: str, whole: str) -> Iterator[Remark]:
    counts, total = section(values, parts), number(values, whole)
    numbers = [number(counts, name) for name in counts]
    if not numbers or total is None or any(each is None for each in numbers):
        return

    together = sum(each for each in numbers if each is not None)
    if abs(together - total) > _TOLERANCE:
        yield f"{parts} add up to {together:g} and {whole} is {total:g}; expected the same", parts


def _percentage(values: Values, stated: str, part: str, whole: str) -> Iterator[Remark]:
    percent, some, most = (number(values, name) for name in (stated, part, whole))
    if percent is None or some is None or not most:
        return

    true = _ALL * some / most
    if abs(percent - true) > _TOLERANCE:
        yield f"{stated} is {percent:g}, but {some:g} of {most:g} is {true:.2f}", stated


def _length(values: Values, name: str, count: float | None) -> Iterator[Remark]:
    listed = items(values, name)
    if listed is not None and count is not None and len(listed) != count:
        yield f"{name} lists {len(listed)}, but the count is {count:g}; expected all of them", name


COUNT_RULES = RuleList()


@COUNT_RULES.rule(
    id="speckit/numbers-disagree",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="sums or percentages do not fit (tolerance 0.01)",
    why="One of the numbers is wrong, and nobody can know which.",
    fix="Count again and write numbers that fit each other.",
    requirements=("S-31", "S-35", "S-36", "S-37"),
    example=Example(good='"questions_asked": 3', bad='"questions_asked": 2', reply=CLARIFY_REPLY),
)
def _numbers_disagree(response: Response, _expected: Expectations) -> list[Hit] | None:
    return _hits(response, _SUMS)


@COUNT_RULES.rule(
    id="speckit/list-differs-from-count",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="a list has another length than its count",
    why="Lists are often shortened; who works through the list would miss the rest.",
    fix="List all of them, or correct the count.",
    requirements=("S-35", "S-36", "S-41"),
    example=Example(good='["T001", "T002", "T003"]', bad='["T001", "T002"]', reply=TASKS_REPLY),
)
def _list_differs_from_count(response: Response, _expected: Expectations) -> list[Hit] | None:
    return _hits(response, _LISTS)
