"""Rules about the workflow that can be judged on plain facts: gates and changes of phase.

An example is a JSON object with the facts; what it does not name keeps the default.
"""

from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.findings import Hit, Severity
from goop_mcp.validation.rules import Check, Example, RuleList
from goop_mcp.workflow.gates import GATES, GateFacts, GateName, judge_gate
from goop_mcp.workflow.phases import MOVES, Move, MoveKind, weigh_move

__all__ = ["GATE_RULES", "MOVE_RULES", "WORKFLOW_RULES"]

_OPEN_FACTS = """\
{
  "interview_complete": true, "vision_sentences": 3, "interview_must_haves": 1, "constraints": 1,
  "out_of_scope": 1, "assumptions": 1, "mitigated_risks": 1,
  "spec_locked": true, "spec_exists": true, "blueprint_exists": true,
  "must_haves": 2, "traced_must_haves": 2,
  "user_confirmed": true,
  "total_tasks": 8, "open_wave": 3, "open_tasks": 0, "open_tasks_in_all": 0,
  "failed_checks": 0, "active_blockers": 0,
  "verification_report": true, "passed_must_haves": 2, "user_accepted": true,
  "merge_confirmed": true
}
"""
_ONWARDS = '{"profile": "0.x", "start": "idle", "target": "plan"}'


def _gate_check(name: GateName) -> Check:
    def check(facts: GateFacts, _expected: Expectations) -> Hit | None:
        result = judge_gate(name, facts)
        if result.passed:
            return None
        return Hit(
            message=f"gate {result.gate} is closed; expected {', '.join(result.missing)}",
            fix=result.sentence,
        )

    return check


GATE_RULES = RuleList()


def _gate_rule(
    name: GateName, *, catches: str, why: str, requirements: tuple[str, ...], good: str, bad: str
) -> None:
    gate = GATES[name]
    GATE_RULES.add(
        id=f"workflow/gate-{name.lower()}",
        lenient=Severity.ERROR,
        strict=Severity.ERROR,
        catches=catches,
        why=why,
        fix=f"Run {gate.command} first.",
        requirements=requirements,
        example=Example(good=good, bad=bad, reply=_OPEN_FACTS),
        check=_gate_check(name),
    )


_gate_rule(
    GateName.DISCOVERY,
    catches="/goop-plan before the interview is complete",
    why="A plan without an interview is made of guesses.",
    requirements=("G-19", "V-15"),
    good='"interview_complete": true',
    bad='"interview_complete": false',
)
_gate_rule(
    GateName.SPEC,
    catches="/goop-execute before the specification is locked",
    why="Work on an open specification has no contract to be judged by.",
    requirements=("G-18", "V-15"),
    good='"spec_locked": true',
    bad='"spec_locked": false',
)
_gate_rule(
    GateName.EXECUTION,
    catches="/goop-accept with tasks open",
    why=(
        "What is not built cannot be accepted; the wave counter alone says only that the last"
        " wave has begun."
    ),
    requirements=("G-58",),
    good='"open_tasks": 0, "open_tasks_in_all": 0',
    bad='"open_tasks": 2, "open_tasks_in_all": 2',
)
_gate_rule(
    GateName.ACCEPTANCE,
    catches="closing without verification and the user's word",
    why="Only the user says that the contract is kept.",
    requirements=("V-15",),
    good='"user_accepted": true',
    bad='"user_accepted": false',
)


MOVE_RULES = RuleList()


@MOVE_RULES.rule(
    id="workflow/illegal-transition",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="phase change the profile does not allow",
    why="A phase that is skipped takes its gate with it.",
    fix="Go to one of the phases that follow, or force the change; that is kept in ADL.md.",
    requirements=("G-43",),
    example=Example(good='"target": "plan"', bad='"target": "accept"', reply=_ONWARDS),
)
def _illegal(move: Move, _expected: Expectations) -> Hit | None:
    if weigh_move(move) is not MoveKind.ILLEGAL:
        return None

    moves = MOVES[move.profile].get(move.start)
    allowed = (*moves.legal, *moves.rework) if moves is not None else tuple(MOVES[move.profile])

    return Hit(
        message=(
            f"phase {move.start} does not lead to {move.target}; expected one of"
            f" {', '.join(allowed)}"
        ),
        found=move.target,
        expected=allowed,
    )


@MOVE_RULES.rule(
    id="workflow/rework-edge",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="a documented step back (execute to plan, research to plan)",
    why=(
        "Going back is allowed, and whoever reads the history should see it; the lock on the"
        " specification stays."
    ),
    fix="Go on; use /goop-amend where the locked specification has to change.",
    requirements=("G-43",),
    example=Example(
        good='"start": "idle", "target": "plan"',
        bad='"start": "execute", "target": "plan"',
        reply=_ONWARDS,
    ),
)
def _rework(move: Move, _expected: Expectations) -> Hit | None:
    if weigh_move(move) is not MoveKind.REWORK:
        return None
    return Hit(message=f"the phase goes back from {move.start} to {move.target}", found=move.target)


WORKFLOW_RULES = (*GATE_RULES, *MOVE_RULES)
