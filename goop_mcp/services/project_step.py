"""A step of a project and its arguments, and the command by which a person takes it."""

import json
from dataclasses import asdict, dataclass, fields

__all__ = ["ProjectStep", "person_command", "step_from_json"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectStep:
    """A step and its arguments; None and () stand for absent ones.

    `action` is one of ACTIONS. `phase`, `force` and `reason` belong to start_phase, `gate` and
    `reason` to skip_gate, `reason` to amend_spec, `note` to checkpoint, `id` to resume, `task` or
    `blocker` with `choice` and `comment` to decide, `outcome` (accept, accept_with_issues, reject),
    `comment` and, for a rejection, `tasks` to accept, `name` to init and start_round. `seen` is the
    digest of the blocker that a form showed, "" for one that shows no digest; None where a question
    about it follows. decide sets `answer`, the choice in words, and `replaces`, the number of the
    decision that it replaces.
    """

    action: str
    phase: str | None = None
    force: bool = False
    gate: str | None = None
    reason: str | None = None
    note: str | None = None
    id: str | None = None
    blocker: str | None = None
    task: str | None = None
    choice: str | None = None
    comment: str | None = None
    outcome: str | None = None
    tasks: tuple[str, ...] = ()
    name: str | None = None
    seen: str | None = None
    answer: str | None = None
    replaces: int | None = None

    def to_json(self) -> str:
        """Return the given arguments as JSON, for a confirmation; `step_from_json` reads it."""
        given = {
            name: value for name, value in asdict(self).items() if value not in (None, (), False)
        }
        return json.dumps(given, ensure_ascii=False, sort_keys=True)


def step_from_json(action: str, arguments: str) -> ProjectStep:
    """Return the step of `action` with the arguments that `ProjectStep.to_json` wrote."""
    known = {each.name for each in fields(ProjectStep)}
    values = {name: value for name, value in json.loads(arguments).items() if name in known}
    values["tasks"] = tuple(values.get("tasks", ()))
    return ProjectStep(**{**values, "action": action})


def person_command(step: ProjectStep) -> str:
    """Return the command by which a person confirms `step` on a terminal."""
    words = {
        "lock_spec": "lock",
        "unlock_spec": "unlock",
        "amend_spec": "amend",
        "confirm_merge": "merge",
        "reopen_round": "round --reopen",
        "skip_gate": f"skip-gate {step.gate}",
        "start_phase": f"phase {step.phase} --force",
        "accept": f"accept --outcome {step.outcome}",
        "decide": f"decide --task {step.task}" if step.task else "decide",
    }
    return f"goop-mcp project {words.get(step.action, step.action)}"
