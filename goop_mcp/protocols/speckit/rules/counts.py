"""Rules about numbers that have to fit each other (D-50)."""

from collections.abc import Iterator

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
    result = response.result
    if result is None:
        return None

    remarks: list[Remark] = []
    match response.agent:
        case "clarify":
            remarks = [*_at_most(result, "clarifications_resolved", "questions_asked")]
        case "tasks":
            remarks = [
                *_sum(result, "phases", "task_count"),
                *_at_most(result, "parallelizable_tasks", "task_count"),
            ]
        case "analyze":
            coverage = section(result, "coverage_analysis")
            part, whole = "requirements_with_tasks", "total_requirements"
            of_coverage = (
                *_at_most(coverage, part, whole),
                *_percentage(coverage, "coverage_percentage", part, whole),
            )
            remarks = [
                *_sum(result, "findings_by_severity", "total_findings"),
                *((remark, f"coverage_analysis/{field}") for remark, field in of_coverage),
            ]
        case "implement":
            done, total = "tasks_completed", "tasks_total"
            remarks = [
                *_at_most(result, done, total),
                *_at_most(result, "tests_passed", "tests_total"),
                *_percentage(result, "completion_percentage", done, total),
            ]
        case _:
            return None

    if not remarks:
        return None
    return [Hit(message=remark, path=f"/result/{field}") for remark, field in remarks]


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
    result = response.result
    if result is None:
        return None

    remarks: list[Remark] = []
    match response.agent:
        case "tasks":
            remarks = [*_length(result, "task_ids", number(result, "task_count"))]
        case "analyze":
            remarks = [*_length(result, "findings", number(result, "total_findings"))]
            coverage = section(result, "coverage_analysis")
            whole = number(coverage, "total_requirements")
            part = number(coverage, "requirements_with_tasks")
            if whole is not None and part is not None:
                # The list holds what the two counts leave over.
                uncovered = _length(coverage, "uncovered_requirements", whole - part)
                remarks += [(remark, f"coverage_analysis/{field}") for remark, field in uncovered]
        case "taskstoissues":
            remarks = [*_length(result, "issues", number(result, "issues_created"))]
        case _:
            return None

    if not remarks:
        return None
    return [Hit(message=remark, path=f"/result/{field}") for remark, field in remarks]
