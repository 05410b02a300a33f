"""The fields of the envelope and of each agent's result, as tables (speckit-agent-response)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from goop_mcp.protocols.speckit.model import (
    AGENTS,
    DERIVED_STRATEGIES,
    ERROR_TYPES,
    SEVERITIES,
    STRATEGIES,
    Status,
    plain_agent,
)
from goop_mcp.protocols.speckit.rules import agent as agent_rules
from goop_mcp.protocols.speckit.rules import errors, structure, values
from goop_mcp.validation.findings import excerpt
from goop_mcp.validation.json_values import (
    ANYTHING,
    COUNT,
    FLAG,
    NAME,
    NUMBER,
    PATH,
    TEXT,
    Field,
    Fields,
    Formed,
    JsonValueRules,
    Kind,
    ListOf,
    MapOf,
    ValueReader,
    Word,
)
from goop_mcp.validation.safe_json import JsonValue
from goop_mcp.validation.template_phrases import SPECKIT_PROSE
from goop_mcp.validation.template_text import is_template

__all__ = [
    "ENVELOPE",
    "ERROR",
    "ERROR_OBJECT",
    "FEEDBACK",
    "NEXT_STEPS",
    "RESULT",
    "RESULTS",
    "VALUE_RULES",
    "WORKFLOW",
]

VALUE_RULES = JsonValueRules(
    wrong_type=values.WRONG_TYPE,
    placeholder=values.PLACEHOLDER_LEFT,
    value_case=values.VALUE_CASE,
    value_alias=values.VALUE_ALIAS,
    slot_in_text=values.SLOT_IN_TEXT,
    prose=SPECKIT_PROSE,
    slots_in_angles=True,
)


# Kinds of values


@dataclass(frozen=True, slots=True)
class AgentName(Word):
    """The name of an agent, also with the prefix under which projects install it (D-48).

    Other names are taken too, with a warning where `warns`.
    """

    warns: bool = True

    def odd(self, value: JsonValue, where: str, step: str, reader: ValueReader) -> JsonValue:
        """See `Word.odd`."""
        if isinstance(value, str) and (plain := plain_agent(value)) in self.words:
            message = f"{step} is {excerpt(value, 60)!r}; read as {plain!r}"
            found = excerpt(value)
            reader.problems.append(
                agent_rules.AGENT_PREFIX.problem(message, path=f"{where}/{step}", found=found)
            )

            return plain

        if isinstance(value, str) and not value.strip():
            return value  # where an agent is needed, its absence is reported

        unlisted = (
            isinstance(value, str)
            and not is_template(value)
            and value.strip().lower() not in self.words
        )
        if unlisted and not self.warns:
            return value
        return Word.odd(self, value, where, step, reader)


@dataclass(frozen=True, slots=True)
class Strategy(Word):
    """A strategy of recovery; those of the table of types alone get a warning (D-44)."""

    def odd(self, value: JsonValue, where: str, step: str, reader: ValueReader) -> JsonValue:
        """See `Word.odd`."""
        if value in DERIVED_STRATEGIES:
            message = (
                f"{step} is {value!r}, which is not in the table of strategies; read as the"
                " strategy of the error type"
            )
            problem = errors.DERIVED_STRATEGY.problem(
                message, path=f"{where}/{step}", found=str(value)
            )
            reader.problems.append(problem)

            return value

        return Word.odd(self, value, where, step, reader)


@dataclass(frozen=True, slots=True)
class Timestamp(Formed):
    """A time of ISO 8601 with its zone."""

    def fits(self, value: str) -> bool:
        """See `Formed.fits`."""
        if not self.pattern.fullmatch(value):
            return False

        try:
            datetime.fromisoformat(value)
        except ValueError:  # the form of a time, but no such day
            return False

        return True


AGENT = AgentName(AGENTS, agent_rules.UNKNOWN_AGENT, open=True)
_NEXT_STEP = AgentName(AGENTS, agent_rules.UNKNOWN_AGENT, open=True, warns=False)
_STATUS = Word(tuple(Status), structure.UNKNOWN_STATUS)
_TIME = Timestamp(
    re.compile(
        r"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])T(?:[01][0-9]|2[0-3]):[0-5][0-9]"
        r"(?::[0-5][0-9](?:[.,][0-9]{1,9})?)?(?:Z|[+-](?:[01][0-9]|2[0-3]):?[0-5][0-9])"
    ),
    values.BAD_TIMESTAMP,
    "ISO 8601 with time zone, such as 2026-01-15T10:30:00Z",
)
_CODE = Formed(
    re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*"),
    errors.ERROR_CODE_FORM,
    "a code such as MISSING_PLAN",
)
_LOCATION = Formed(
    re.compile(r"[^\n]*[^\n:]:[0-9]+(?:[-,][0-9]+)*"),
    values.LOCATION_WITHOUT_LINE,
    "file:line, such as tasks.md:12",
)
_TASK_ID = Formed(re.compile(r"T[0-9]{3,}"), values.BAD_TASK_ID, "a task id such as T001")
_SEVERITY = Word(SEVERITIES, values.UNKNOWN_VALUE)
_GATE = Word(("PASSED", "FAILED"), values.UNKNOWN_VALUE, {"pass": "PASSED", "fail": "FAILED"})
_CRITERION = Word(
    ("PASSED", "FAILED", "NOT_TESTED"), values.UNKNOWN_VALUE, {"pass": "PASSED", "fail": "FAILED"}
)
_COMPLIANCE = Word(("PASS", "FAIL"), values.UNKNOWN_VALUE, {"passed": "PASS", "failed": "FAIL"})
_TEXTS, _PATHS, _NAMES = ListOf(TEXT), ListOf(PATH), ListOf(NAME)


def _word(*words: str) -> Word:
    return Word(words, values.UNKNOWN_VALUE)


# The envelope


def _required(name: str, kind: Kind) -> Field:
    return Field(name, kind, structure.MISSING_FIELD)


ENVELOPE = (
    Field("agent", AGENT, structure.MISSING_FIELD, "your own name, such as plan"),
    Field("status", _STATUS, structure.MISSING_FIELD, "success or error, the one that is true"),
    _required("timestamp", _TIME),
    Field("execution_time_ms", NUMBER, structure.EXECUTION_TIME_MISSING),
)

ERROR = (
    Field("type", Word(ERROR_TYPES, errors.UNKNOWN_ERROR_TYPE, open=True), structure.MISSING_FIELD),
    _required("code", _CODE),
    _required("message", TEXT),
    Field("details", MapOf()),
    _required("recoverable", FLAG),
    Field(
        "recovery_strategy",
        Strategy(STRATEGIES, errors.UNKNOWN_STRATEGY, open=True),
        structure.MISSING_FIELD,
    ),
    Field("suggested_action", Fields((Field("agent", AGENT), Field("reason", TEXT)))),
)

ERROR_OBJECT = Fields(ERROR)
RESULT = MapOf()
NEXT_STEPS = (Field("next_steps", ListOf(_NEXT_STEP), structure.NEXT_STEPS_MISSING),)


# The results of the agents


def _table(**kinds: Kind) -> tuple[Field, ...]:
    return tuple(Field(name, kind, structure.MISSING_RESULT_FIELD) for name, kind in kinds.items())


def _gate(**details: Kind) -> Fields:
    inner = Fields(tuple(Field(name, kind) for name, kind in details.items()))
    return Fields((*_table(status=_GATE), Field("details", inner)))


_FINDING = Fields(
    _table(severity=_SEVERITY, type=NAME, message=TEXT, location=_LOCATION, recommendation=TEXT)
)
_COVERAGE = Fields(
    (*_table(status=_GATE), *_table(details=Fields(_table(overall=NUMBER, required=NUMBER)))),
)

RESULTS: Mapping[str, tuple[Field, ...]] = {
    "specify": _table(
        branch_name=NAME,
        spec_file=PATH,
        feature_number=COUNT,
        short_name=NAME,
        clarifications_needed=COUNT,
        sections_generated=_TEXTS,
        checklist_status=_word("complete", "incomplete"),
    ),
    "clarify": _table(
        spec_file=PATH,
        clarifications_resolved=COUNT,
        questions_asked=COUNT,
        remaining_ambiguities=COUNT,
    ),
    "research": _table(
        research_cache_file=PATH,
        technologies_researched=ListOf(
            Fields(_table(name=NAME, context7_id=NAME, topics=_TEXTS, snippet_count=COUNT)),
        ),
        decisions=ListOf(
            Fields(_table(decision=TEXT, choice=TEXT, rationale=TEXT, alternatives=_TEXTS))
        ),
        confidence_level=_word("HIGH", "MEDIUM", "LOW"),
    ),
    "plan": _table(
        plan_file=PATH,
        research_file=PATH,
        data_model_file=PATH,
        contracts_dir=PATH,
        quickstart_file=PATH,
        technologies=_NAMES,
        constitution_violations=ListOf(ANYTHING),
        artifacts_created=_PATHS,
    ),
    "checklist": _table(
        checklist_file=PATH,
        domain=_word("ux", "api", "security", "performance", "data"),
        total_items=COUNT,
        categories=_TEXTS,
    ),
    "tasks": _table(
        tasks_file=PATH,
        task_count=COUNT,
        phases=MapOf(COUNT),
        parallelizable_tasks=COUNT,
        task_ids=ListOf(_TASK_ID),
        dependencies_mapped=FLAG,
    ),
    "analyze": (
        Field("analysis_report", PATH, structure.ANALYSIS_REPORT_MISSING),
        *_table(
            artifacts_analyzed=_PATHS,
            total_findings=COUNT,
            findings_by_severity=MapOf(COUNT),
            findings=ListOf(_FINDING),
            coverage_analysis=Fields(
                _table(
                    total_requirements=COUNT,
                    requirements_with_tasks=COUNT,
                    coverage_percentage=NUMBER,
                    uncovered_requirements=_NAMES,
                )
            ),
        ),
    ),
    "implement": _table(
        tasks_file=PATH,
        tasks_completed=COUNT,
        tasks_total=COUNT,
        completion_percentage=NUMBER,
        tests_passed=COUNT,
        tests_total=COUNT,
        coverage_percentage=NUMBER,
        files_created=COUNT,
        files_modified=COUNT,
        implementation_phases=MapOf(TEXT),
    ),
    "test": _table(
        feature_id=NAME,
        overall_status=_GATE,
        quality_gates=Fields(
            _table(
                tests_passing=_gate(total=COUNT, passed=COUNT, failed=COUNT),
                coverage=_COVERAGE,
                code_quality=_gate(lint_errors=COUNT, type_errors=COUNT),
                build_validation=_gate(),
            )
        ),
        success_criteria=ListOf(Fields(_table(id=NAME, description=TEXT, status=_CRITERION))),
    ),
    "review": _table(
        feature_id=NAME,
        overall_status=_word("APPROVED", "APPROVED_WITH_WARNINGS", "NEEDS_MANUAL_REVIEW"),
        changes_made=Fields(
            _table(
                files_moved=ListOf(Fields(_table(**{"from": PATH, "to": PATH}))),
                files_deleted=ListOf(Fields(_table(path=PATH, reason=TEXT))),
                files_created=ListOf(Fields(_table(path=PATH, reason=TEXT))),
                files_modified=ListOf(Fields(_table(path=PATH, changes=TEXT))),
            )
        ),
        constitution_compliance=Fields(_table(status=_COMPLIANCE, passed=COUNT, failed=COUNT)),
        cleanup_summary=Fields(
            _table(tests_removed=COUNT, files_moved=COUNT, dead_code_lines_removed=COUNT)
        ),
    ),
    "taskstoissues": _table(
        issues_created=COUNT,
        issues=ListOf(Fields(_table(number=COUNT, title=TEXT, url=TEXT, task_id=_TASK_ID))),
        labels_applied=_NAMES,
    ),
}
"""What the result of each agent has to hold (D-42)."""


# What agents are given

WORKFLOW = (
    _required("workflow_id", NAME),
    _required("feature_id", PATH),
    _required("feature_dir", PATH),
    _required("previous_results", MapOf(Fields((_required("status", _STATUS),)))),
)

FEEDBACK = (
    Field("feedback_from", AGENT, structure.MISSING_FIELD),
    _required("iteration", COUNT),
    _required("max_iterations", COUNT),
    _required(
        "issues_to_fix",
        ListOf(
            Fields(
                (
                    _required("severity", _SEVERITY),
                    _required("type", NAME),
                    _required("message", TEXT),
                    _required("location", _LOCATION),
                    _required("recommendation", TEXT),
                )
            )
        ),
    ),
)
