"""The gates before the steps of the workflow: data, and pure functions over plain facts."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from types import MappingProxyType

from msgspec import field

from goop_mcp.structs import DataStruct
from goop_mcp.validation.findings import counted_noun
from goop_mcp.workflow.gate_names import GateName

__all__ = [
    "GATES",
    "Bypass",
    "Condition",
    "Gate",
    "GateFacts",
    "GateName",
    "GateResult",
    "judge_gate",
]

_VISION_SENTENCES = 3
# "0 tasks remaining in Wave 0" would read as if all were done.
_NO_TASKS = "Execution incomplete. No tasks are known:"
# Documents are handled in layers above this one.
_REQUIREMENTS, _SPECIFICATION, _PLAN = "REQUIREMENTS.md", "SPEC.md", "BLUEPRINT.md"


class Bypass(StrEnum):
    """Why a gate may be skipped; who uses one records it."""

    QUICK_TASK = "quick task"
    OBVIOUS_FIX = "obvious bug fix"
    DOCUMENTATION = "documentation only"
    USER_SAYS_SO = "request of the user"


class GateFacts(DataStruct, frozen=True, kw_only=True):
    """What the gates look at; all numbers from 0.

    The defaults are those of an empty project, so no gate is passed.

    `vision_sentences` to `mitigated_risks` are counts from REQUIREMENTS.md, `must_haves` is the
    number in SPEC.md and `traced_must_haves` how many of them some task serves. `open_tasks` are
    those not done in `open_wave`, the first wave with open tasks, or the last wave;
    `open_tasks_in_all` those of all waves. `failed_checks` counts tasks whose last report has a
    failed check. `user_accepted` is the word accept or accept-with-issues. `spec_unchanged` is
    False if SPEC.md is not the text that was locked. `bypasses` are the gates that a person has
    skipped in this round. `left_over` are the documents that still are the texts of a closed round,
    with its number; they count as missing.
    """

    interview_complete: bool = False
    vision_sentences: int = 0
    interview_must_haves: int = 0
    constraints: int = 0
    out_of_scope: int = 0
    assumptions: int = 0
    mitigated_risks: int = 0
    spec_locked: bool = False
    spec_exists: bool = False
    blueprint_exists: bool = False
    must_haves: int = 0
    traced_must_haves: int = 0
    user_confirmed: bool = False
    total_tasks: int = 0
    open_tasks: int = 0
    open_tasks_in_all: int = 0
    open_wave: int = 0
    failed_checks: int = 0
    active_blockers: int = 0
    verification_report: bool = False
    passed_must_haves: int = 0
    user_accepted: bool = False
    merge_confirmed: bool = False
    spec_unchanged: bool = True
    bypasses: Mapping[GateName, Bypass] = field(default_factory=dict)
    left_over: Mapping[str, int] = field(default_factory=dict)


class Condition(DataStruct, frozen=True):
    """One condition of a gate: `name` as text, and whether the facts meet it.

    `document` is the one in which it is met, None for what stands in no document of people.
    """

    name: str
    holds: Callable[[GateFacts], bool]
    document: str | None = None

    def missing(self, facts: GateFacts) -> str:
        """Return what is missing where it does not hold: the condition, or a text of this round."""
        round = facts.left_over.get(self.document or "")
        if round is None:
            return self.name
        return f"{self.document} of this round (it still is the text of round {round})"


class Gate(DataStruct, frozen=True, kw_only=True):
    """A gate: the command it precedes, its conditions, and the sentence and command when closed.

    `sentence` is fixed except for `{tasks}` and `{wave}`. `rule` is None where no rule of ours
    reports the gate.
    """

    name: GateName
    before: str
    conditions: tuple[Condition, ...]
    sentence: str
    command: str
    rule: str | None
    bypasses: frozenset[Bypass] = frozenset()


class GateResult(DataStruct, frozen=True, kw_only=True):
    """What became of a gate.

    `missing` lists the conditions that do not hold, also where it was bypassed.

    `sentence` and `command` say what to do and are None when the gate is passed.
    """

    gate: GateName
    passed: bool
    missing: tuple[str, ...] = ()
    bypass: Bypass | None = None
    sentence: str | None = None
    command: str | None = None


_DISCOVERY = Gate(
    name=GateName.DISCOVERY,
    before="/goop-plan",
    conditions=(
        Condition("a complete interview", lambda facts: facts.interview_complete),
        Condition(
            "a vision of more than two sentences",
            lambda facts: facts.vision_sentences >= _VISION_SENTENCES,
            _REQUIREMENTS,
        ),
        Condition(
            "at least one must-have", lambda facts: facts.interview_must_haves > 0, _REQUIREMENTS
        ),
        Condition("constraints", lambda facts: facts.constraints > 0, _REQUIREMENTS),
        Condition(
            "at least one item out of scope", lambda facts: facts.out_of_scope > 0, _REQUIREMENTS
        ),
        Condition("assumptions", lambda facts: facts.assumptions > 0, _REQUIREMENTS),
        Condition(
            "at least one risk with mitigation",
            lambda facts: facts.mitigated_risks > 0,
            _REQUIREMENTS,
        ),
    ),
    sentence="Discovery interview required. Run /goop-discuss first.",
    command="/goop-discuss",
    rule="workflow/gate-discovery",
    bypasses=frozenset({Bypass.QUICK_TASK, Bypass.OBVIOUS_FIX, Bypass.DOCUMENTATION}),
)

_SPEC = Gate(
    name=GateName.SPEC,
    before="/goop-execute",
    conditions=(
        Condition("a locked specification", lambda facts: facts.spec_locked),
        Condition(_SPECIFICATION, lambda facts: facts.spec_exists, _SPECIFICATION),
        Condition(_PLAN, lambda facts: facts.blueprint_exists, _PLAN),
        Condition(
            "a task for every must-have",
            # A contract without a must-have asks for nothing, and would pass a mere comparison.
            lambda facts: 0 < facts.must_haves <= facts.traced_must_haves,
            _PLAN,
        ),
        Condition("the user's confirmation", lambda facts: facts.user_confirmed),
        Condition("SPEC.md as it was locked", lambda facts: facts.spec_unchanged),
    ),
    sentence="Specification not locked. Run /goop-plan to confirm and lock first.",
    command="/goop-plan",
    rule="workflow/gate-spec",
)

_EXECUTION = Gate(
    name=GateName.EXECUTION,
    before="/goop-accept",
    conditions=(
        Condition(
            "all waves and tasks done",
            lambda facts: (
                facts.total_tasks > 0 and facts.open_tasks == facts.open_tasks_in_all == 0
            ),
        ),
        Condition(
            "a last report without failed checks for every task",
            lambda facts: facts.failed_checks == 0,
        ),
        Condition("an answer to every blocker", lambda facts: facts.active_blockers == 0),
    ),
    sentence="Execution incomplete. {tasks} remaining in Wave {wave}.",
    command="/goop-execute",
    rule="workflow/gate-execution",
    bypasses=frozenset({Bypass.USER_SAYS_SO}),
)

_ACCEPTANCE = Gate(
    name=GateName.ACCEPTANCE,
    before="closing",
    conditions=(
        Condition("a verification report", lambda facts: facts.verification_report),
        Condition(
            "every must-have reported as passed",
            lambda facts: 0 < facts.must_haves <= facts.passed_must_haves,
        ),
        Condition("SPEC.md as it was locked", lambda facts: facts.spec_unchanged),
        Condition(
            "the user's word: accept or accept-with-issues", lambda facts: facts.user_accepted
        ),
    ),
    sentence="Acceptance not confirmed. Run /goop-accept first.",
    command="/goop-accept",
    rule="workflow/gate-acceptance",
)

_MERGE = Gate(
    name=GateName.MERGE,
    before="/goop-pr-review",
    conditions=(Condition("the user's yes", lambda facts: facts.merge_confirmed),),
    sentence="Merge not confirmed.",
    command="/goop-pr-review",
    rule=None,
)

GATES: Mapping[GateName, Gate] = MappingProxyType(
    {gate.name: gate for gate in (_DISCOVERY, _SPEC, _EXECUTION, _ACCEPTANCE, _MERGE)}
)
"""Every gate by name, in the order in which a project meets them."""


def judge_gate(name: GateName, facts: GateFacts, *, bypass: Bypass | None = None) -> GateResult:
    """Return whether `facts` pass the gate `name`; if not, what is missing and what to run.

    A `bypass`, given here or in the facts, counts only where the gate allows it: Spec, Acceptance
    and Merge are never skipped. At Execution it excuses open tasks only, never a failed check or a
    blocker.
    """
    gate = GATES[name]
    bypass = bypass or facts.bypasses.get(name)
    failed = [each for each in gate.conditions if not each.holds(facts)]
    # One document that is still that of an earlier round is named once.
    missing = tuple(dict.fromkeys([each.missing(facts) for each in failed]))
    if not missing:
        return GateResult(gate=name, passed=True)
    if bypass is not None and bypass in gate.bypasses and _forgivable(gate, missing):
        return GateResult(gate=name, passed=True, missing=missing, bypass=bypass)
    return GateResult(
        gate=name,
        passed=False,
        missing=missing,
        sentence=_sentence(gate, facts),
        command=gate.command,
    )


def _sentence(gate: Gate, facts: GateFacts) -> str:
    if gate.name is GateName.EXECUTION and not facts.total_tasks:
        if (round := facts.left_over.get(_PLAN)) is not None:
            return f"{_NO_TASKS} {_PLAN} still is the text of round {round}."
        return f"{_NO_TASKS} {_PLAN} is missing or has none."
    tasks = counted_noun(facts.open_tasks, "task")
    return gate.sentence.replace("{tasks}", tasks).replace("{wave}", str(facts.open_wave))


def _forgivable(gate: Gate, missing: tuple[str, ...]) -> bool:
    # "Execution may be left with open tasks when the user says so": tasks, nothing else.
    return gate.name is not GateName.EXECUTION or missing == (gate.conditions[0].name,)
