"""Rules about contradictory answers (D-93): counts, criteria, percentages, next steps, checks."""

from collections.abc import Sequence
from typing import NamedTuple

from goop_mcp.protocols.speckit.model import Response, Status, Values, plain_agent
from goop_mcp.protocols.speckit.result_values import items, number, section
from goop_mcp.protocols.speckit.rules.gates import is_unfinished
from goop_mcp.protocols.speckit.samples import CLARIFY_REPLY, TEST_REPLY
from goop_mcp.validation.check_texts import TextFlaw, parse_result
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.findings import Hit, Severity, excerpt
from goop_mcp.validation.json_strings import escape_pointer
from goop_mcp.validation.rules import Example, Problem, RuleList
from goop_mcp.validation.stated_failures import judge_check, stated_failure

__all__ = ["CONTRADICTION_RULES", "checks_without_result"]

_ALL = 100
_FAILURES = ("failed", "failures", "tests_failed", "failed_tests", "failing")
_ERRORS = ("errors", "lint_errors", "type_errors", "build_errors", "compile_errors", "errored")
_BAD_ORDER = (*_FAILURES, *_ERRORS)
_BAD_COUNTS = frozenset(_BAD_ORDER)
_OTHERS = frozenset({"skipped", "pending", "todo", "ignored", "disabled", "xfailed", "cancelled"})
_UNDONE_PHASES = frozenset(
    {"failed", "fail", "failure", "error", "errored", "incomplete", "in_progress", "in progress"}
)
_NO_RESULTS = frozenset(
    {"command", "cmd", "name", "path", "file", "url", "tool", "runner", "report", "id", "status"}
)
_OWN_WORDS = ("notes", "note", "message", "summary")
_DESCRIPTION = _NO_RESULTS | {"description", "title", "criterion"}


def _passed_gates(response: Response) -> list[tuple[str, Values]]:
    if response.agent != "test":
        return []
    return [
        (name, gate)
        for name, gate in section(response.result, "quality_gates").items()
        if gate.__class__ is dict and gate.get("status") == "PASSED"
    ]


def _against_counts(details: Values) -> list[tuple[str, str]]:
    """Return what in the details of a passed gate says that it did not pass, with its key."""
    # Asked of each passed gate: a set comparison clears those that count nothing bad.
    bad = (
        []
        if _BAD_COUNTS.isdisjoint(details)
        else [
            (name, count)
            for name in details
            if name in _BAD_COUNTS and (count := number(details, name))
        ]
    )
    if bad:
        # Failures are named before errors, in whatever order the reply lists them.
        bad.sort(key=lambda each: _BAD_ORDER.index(each[0]))
        return [(name, f"{name} is {count:g}") for name, count in bad if count > 0]

    total = number(details, "total")
    if total is None:
        return []
    # A gate over nothing passes by definition; that is what makes it worthless.
    if total <= 0:
        return [("total", "total is 0: nothing ran")]

    if (passed := number(details, "passed")) is not None:
        others = sum(number(details, name) or 0 for name in details if name in _OTHERS)
        # Some runners count a test that passed at the second try as passed, others next to the
        # passed ones.
        flaky = number(details, "flaky") or 0
        if passed + others not in (total, total - flaky):
            left_out = f" and {others:g} were left out" if others else ""
            return [("passed", f"{passed:g} of {total:g} passed{left_out}")]

    return []


# Texts of checks


def _texts(response: Response) -> list[tuple[str, str, str]]:
    """Return name, pointer and text of each result that a passed gate or criterion reports."""
    if response.agent != "test":
        return []

    texts: list[tuple[str, str, str]] = []
    for name, gate in _passed_gates(response):
        for inner, values in (("", gate), ("/details", section(gate, "details"))):
            # Loops in place of a comprehension, and the class before the rest: nearly every gate
            # of a reply has counts alone, and passes here without a call.
            for key, text in values.items():
                if text.__class__ is str and key not in _NO_RESULTS and text.strip():
                    path = (
                        f"/result/quality_gates/{escape_pointer(name)}{inner}/{escape_pointer(key)}"
                    )
                    texts.append((f"gate {excerpt(name, 40)}", path, text))

    for place, criterion in enumerate(items(response.result, "success_criteria") or ()):
        if isinstance(criterion, dict) and criterion.get("status") == "PASSED":
            texts += [
                (
                    f"criterion {place + 1}",
                    f"/result/success_criteria/{place}/{escape_pointer(key)}",
                    text,
                )
                for key, text in criterion.items()
                if text.__class__ is str and key not in _DESCRIPTION and text.strip()
            ]

    return texts


class _JudgedText(NamedTuple):
    """A text of a passed gate or criterion `what`, its pointer, and what speaks against it."""

    what: str
    path: str
    text: str
    flaw: TextFlaw | None


def _judged(response: Response) -> list[_JudgedText]:
    return [
        _JudgedText(what, path, text, judge_check(text)) for what, path, text in _texts(response)
    ]


def checks_without_result(response: Response) -> list[tuple[str, str]]:
    """Return the passed gates and criteria that show no result, each with a text of it."""
    return [(each.what, each.text) for each in _without_result(response, _judged(response))]


def _without_result(response: Response, judged: Sequence[_JudgedText]) -> list[_JudgedText]:
    """Return the first text of each passed gate or criterion that shows no result."""
    # One text with a result is enough: agents describe the same run in several fields.
    empty: dict[str, _JudgedText] = {}
    shown: set[str] = set()
    for each in judged:
        if each.flaw is not None and each.flaw.kind == "without result":
            empty.setdefault(each.what, each)
        else:
            shown.add(each.what)

    # What the details of a gate count is a result as well.
    for name, gate in _passed_gates(response) if empty else ():
        details = section(gate, "details")
        if any(number(details, key) is not None for key in details) or any(
            isinstance(text, str) and parse_result(text).passed for text in details.values()
        ):
            shown.add(f"gate {excerpt(name, 40)}")

    return [each for what, each in empty.items() if what not in shown]


CONTRADICTION_RULES = RuleList()


@CONTRADICTION_RULES.rule(
    id="speckit/gate-contradicts-counts",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches=(
        "a quality gate PASSED with failed or errors above 0, total 0, or counts that do not add up"
    ),
    why="The workflow goes on with what passed. Here the counts say that it did not.",
    fix=(
        "Write the gate as FAILED, or report the counts of the run: passed, failed and skipped add"
        " up to total."
    ),
    requirements=("S-38",),
    example=Example(
        good='"passed": 45, "failed": 0', bad='"passed": 43, "failed": 2', reply=TEST_REPLY
    ),
)
def _gate_contradicts_counts(response: Response, _expected: Expectations) -> list[Hit] | None:
    # "quality_gates{…}{status, details}" (test): the next agent relies on the status
    return [
        Hit(
            message=(
                f"gate {excerpt(name, 40)} is PASSED, but {shown}; expected counts that agree with"
                " the status"
            ),
            path=f"/result/quality_gates/{escape_pointer(name)}/details/{key}",
        )
        for name, gate in _passed_gates(response)
        for key, shown in _against_counts(section(gate, "details"))
    ]


@CONTRADICTION_RULES.rule(
    id="speckit/criterion-contradicts-status",
    lenient=Severity.WARNING,
    strict=Severity.ERROR,
    catches=(
        "a part that failed or was not tested under a whole that passed: a criterion under"
        " overall_status PASSED, a phase or tests n/m under 100 %, compliance PASS with failed"
        " above 0"
    ),
    why="Who reads the status alone goes on; who reads the parts stops.",
    fix="Let the status follow from its parts.",
    requirements=("S-37", "S-38", "S-40", "S-42"),
    example=Example(
        good='"description": "A user can log in", "status": "PASSED"',
        bad='"description": "A user can log in", "status": "NOT_TESTED"',
        reply=TEST_REPLY,
    ),
)
def _criterion_contradicts_status(response: Response, _expected: Expectations) -> list[Hit] | None:
    result = response.result
    if result is None or response.status is not Status.SUCCESS:
        return None

    parts: list[tuple[str, str, str]] = []
    match response.agent:
        case "test" if result.get("overall_status") == "PASSED":
            for place, criterion in enumerate(items(result, "success_criteria") or ()):
                status = criterion.get("status") if isinstance(criterion, dict) else None
                if status in ("FAILED", "NOT_TESTED"):
                    what = f"overall_status is PASSED, but a criterion is {status}"
                    parts.append((what, f"success_criteria/{place}/status", str(status)))
        case "implement" if number(result, "completion_percentage") == _ALL:
            for name, state in section(result, "implementation_phases").items():
                if isinstance(state, str) and state.strip().lower() in _UNDONE_PHASES:
                    what = (
                        f"completion_percentage is 100, but phase {excerpt(name, 40)} is"
                        f" {excerpt(state, 40)}"
                    )
                    path = f"implementation_phases/{escape_pointer(name)}"
                    parts.append((what, path, excerpt(state)))

            passed, total = number(result, "tests_passed"), number(result, "tests_total")
            if passed is not None and total is not None and passed < total:
                what = f"completion_percentage is 100, but tests passed: {passed:g} of {total:g}"
                parts.append((what, "tests_passed", f"{passed:g}"))
        case "review":
            compliance = section(result, "constitution_compliance")
            failed = number(compliance, "failed")
            if compliance.get("status") == "PASS" and failed is not None and failed > 0:
                what = f"compliance is PASS, but failed is {failed:g}"
                parts.append((what, "constitution_compliance/failed", f"{failed:g}"))
        case _:
            return None

    if not parts:
        return None
    return [
        Hit(message=f"{message}; expected both to agree", path=f"/result/{path}", found=found)
        for message, path, found in parts
    ]


@CONTRADICTION_RULES.rule(
    id="speckit/value-out-of-range",
    lenient=Severity.WARNING,
    strict=Severity.ERROR,
    catches="a percentage outside 0 to 100, a negative time",
    why="No measurement gives such a number, so it was not measured.",
    fix="Report the number that was measured.",
    requirements=("S-10", "S-36", "S-37", "S-39"),
    example=Example(good='"overall": 87.5', bad='"overall": 187.5', reply=TEST_REPLY),
)
def _value_out_of_range(response: Response, _expected: Expectations) -> list[Hit] | None:
    hits = []
    time = response.execution_time_ms
    if time is not None and time < 0:
        message = f"execution_time_ms is {time:g}; expected 0 or more"
        hits.append(Hit(message=message, path="/execution_time_ms", found=f"{time:g}"))

    result = response.result or {}
    coverage = section(section(result, "quality_gates"), "coverage")
    places: tuple[tuple[str, Values, Sequence[str]], ...] = (
        ("", result, [name for name in result if name.endswith(("_percentage", "_percent"))]),
        ("coverage_analysis/", section(result, "coverage_analysis"), ("coverage_percentage",)),
        ("quality_gates/coverage/details/", section(coverage, "details"), ("overall", "required")),
    )
    for path, values, names in places:
        for name in names:
            percentage = number(values, name)
            if percentage is not None and not 0 <= percentage <= _ALL:
                key = escape_pointer(name)
                message = f"{key} is {percentage:g}; expected 0 to 100"
                hits.append(
                    Hit(message=message, path=f"/result/{path}{key}", found=f"{percentage:g}")
                )

    return hits


@CONTRADICTION_RULES.rule(
    id="speckit/step-is-itself",
    lenient=Severity.WARNING,
    strict=Severity.ERROR,
    catches="next step or prerequisite is the agent itself",
    why="The workflow would call the same agent without end.",
    fix="Name the agent that comes next, or an empty list at the end.",
    requirements=("S-11", "S-26"),
    example=Example(
        good='"next_steps": ["plan"]', bad='"next_steps": ["clarify"]', reply=CLARIFY_REPLY
    ),
)
def _step_is_itself(response: Response, _expected: Expectations) -> list[Hit] | None:
    agent = response.agent
    if agent is None:
        return None

    hits = []
    # Who is not finished may name itself: the router calls it again.
    if not is_unfinished(response):
        hits = [
            Hit(
                message=f"the next step of {agent} is {agent}; expected another agent",
                path=f"/result/next_steps/{at}",
            )
            for at, step in enumerate(response.next_steps)
            if plain_agent(step) == agent
        ]

    error = response.error
    action = error.suggested_action if error is not None else None
    if (
        error is not None
        and action is not None
        and action.agent is not None
        and plain_agent(action.agent) == agent
    ):
        asks = (
            error.recovery_strategy == "run_prerequisite_agent" or error.type == "PrerequisiteError"
        )
        message = (
            f"the prerequisite of {agent} is {agent}; expected the agent that has to run first"
        )
        hits += [Hit(message=message, path="/error/suggested_action/agent")] if asks else []

    return hits


@CONTRADICTION_RULES.rule(
    id="speckit/check-contradicts-itself",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches=(
        "a gate or criterion PASSED, and its text counts failures, errors or a non-zero exit code"
    ),
    why=(
        "The workflow goes on with what passed. Only counts and fixed forms of test runners decide."
    ),
    fix="Run the check again and report its result; as long as something fails, write FAILED.",
    requirements=("S-38",),
    example=Example(
        good='{"docker_compose": "valid"}',
        bad='{"docker_compose": "exited with code 1"}',
        reply=TEST_REPLY,
    ),
)
def _contradicting_texts(response: Response, _expected: Expectations) -> list[Hit | Problem]:
    """Report texts of passed checks that show a failure, and checks whose texts show no result."""
    judged = _judged(response)
    found: list[Hit | Problem] = []
    for what, path, text, flaw in judged:
        if flaw is not None and flaw.kind == "contradicts":
            message = (
                f"{what} is PASSED, but its text shows {flaw.shown!r}; expected what a run shows"
            )
            found.append(Hit(message=message, path=path, found=excerpt(text)))

    for what, path, text, _ in _without_result(response, judged):
        message = (
            f"{what} is PASSED, but its text shows no result; expected what was run and what came"
            " of it"
        )
        found.append(CHECK_WITHOUT_RESULT.problem(message, path=path, found=excerpt(text) or None))

    return found


@CONTRADICTION_RULES.rule(
    id="speckit/text-contradicts-status",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches=(
        "success, and a note, a message or the change of a file begins with the statement that the"
        " work failed or is not done"
    ),
    why=(
        "The workflow goes on with a success. Only fixed forms decide, such as `Could not add …`,"
        " `Not implemented yet`, `❌ …`; findings and reasons are left out."
    ),
    fix='Report "status": "error", or describe what was done.',
    requirements=("S-13",),
    example=Example(
        good='"remaining_ambiguities": 0,',
        bad='"remaining_ambiguities": 0, "notes": "Could not update the spec",',
        reply=CLARIFY_REPLY,
    ),
)
def _text_contradicts_status(response: Response, _expected: Expectations) -> list[Hit] | None:
    result = response.result
    if response.status is not Status.SUCCESS or not result or is_unfinished(response):
        return None

    texts = [(f"/result/{key}", result.get(key)) for key in _OWN_WORDS if key in result]
    changes = section(result, "changes_made")
    texts += [
        (f"/result/changes_made/files_modified/{at}/changes", each.get("changes"))
        for at, each in enumerate(items(changes, "files_modified") or ())
        if isinstance(each, dict)
    ]

    return [
        Hit(
            message=f"status is success, but the text says {stated!r}; expected both to agree",
            path=path,
            found=excerpt(text),
        )
        for path, text in texts
        if isinstance(text, str) and (stated := stated_failure(text)) is not None
    ]


CHECK_WITHOUT_RESULT = CONTRADICTION_RULES.add(
    id="speckit/check-without-result",
    lenient=Severity.WARNING,
    strict=Severity.ERROR,
    catches='a gate or criterion PASSED, and nothing ran: "not run", "should pass", all skipped',
    why="What did not run did not pass.",
    fix=(
        "Run the check and write what came of it; a gate that cannot be run is FAILED, and a"
        " criterion that was not tested is NOT_TESTED."
    ),
    requirements=("S-38",),
    example=Example(
        good='{"docker_compose": "valid"}', bad='{"docker_compose": "not run"}', reply=TEST_REPLY
    ),
)
