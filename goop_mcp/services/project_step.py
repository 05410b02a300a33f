"""A step of a project and its arguments, the command and the call by which it is taken."""

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Final

__all__ = ["ProjectStep", "calls_for_commands", "person_command", "step_from_json"]

_WORDS: Final[Mapping[str, str]] = {
    "lock_spec": "lock",
    "unlock_spec": "unlock",
    "amend_spec": "amend",
    "confirm_merge": "merge",
    "complete_interview": "interview",
    "reopen_round": "round --reopen",
    "start_round": "round",
    "skip_gate": "skip-gate",
    "start_phase": "phase",
    "accept": "accept",
    "decide": "decide",
    "checkpoint": "checkpoint",
    "resume": "resume",
    "init": "init",
}
_ACTIONS: Final = {word: action for action, word in _WORDS.items()}
# Of another database only a terminal takes a step.
_COMMAND: Final = re.compile(
    r"goop-mcp (?:(?P<alone>status|init)"
    r"|project (?P<word>round --reopen|[a-z-]+)(?P<value>(?<=phase|-gate) [a-z]+)?"
    r"(?P<options>(?: --[a-z]+(?: (?:[\w.…-]+|'[^'\n]*'))?)*))(?![\w-]| --|`? with the same)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectStep:
    """A step and its arguments; None and () stand for absent ones.

    `action` is one of ACTIONS. `phase`, `force` and `reason` belong to start_phase, `gate` and
    `reason` to skip_gate, `reason` to amend_spec, `note` to checkpoint, `id` to resume, `task` or
    `blocker` with `choice` and `comment` to decide, `outcome` (accept, accept_with_issues, reject),
    `comment` and, for a rejection, `tasks` to accept, `name` to init and start_round. `seen` is the
    digest of the blocker that a form showed, "" for one that shows no digest; None where a question
    about it follows. decide sets `answer`, the choice in words, `asked`, what is
    decided with its options, and `replaces`, the number of the decision that it replaces.
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
    asked: str | None = None
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
    arguments = {
        "skip_gate": f" {step.gate}",
        "start_phase": f" {step.phase} --force",
        "accept": f" --outcome {step.outcome}",
        "decide": f" --task {shlex.quote(step.task)}" if step.task else "",
    }
    word = _WORDS.get(step.action, step.action)
    return f"goop-mcp project {word}{arguments.get(step.action, '')}"


def calls_for_commands(text: str) -> str:
    """Return `text` with the call of a tool for each command of a terminal that takes a step."""
    return _COMMAND.sub(_call, text)


def _call(found: re.Match[str]) -> str:
    if found["alone"]:
        return "project_status()" if found["alone"] == "status" else 'update_project(action="init")'
    action = _ACTIONS.get(found["word"])
    if action is None or "--database" in found["options"]:
        return found[0]
    given = {"action": action}
    if found["value"]:
        given["gate" if action == "skip_gate" else "phase"] = found["value"].strip()
    words = re.findall(r"--([a-z]+)(?: ([\w.…-]+|'[^'\n]*'))?", found["options"])
    options = [(name, value.strip("'")) for name, value in words]
    listed = [f'{name}="{value}"' for name, value in (*given.items(), *options) if value]
    flags = [f"{name}=true" for name, value in options if not value]
    return f"update_project({', '.join([*listed, *flags])})"
