"""Make structured answers short: what changes what the reader does stays, the rest is left out.

A host gives its model either the text of an answer or its structure, and the model pays for each
byte. So that programs find every key of the interface, what is left out is null or empty there, and
`left_out` lists it; the same call with detail="full", or a resource, has it.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from goop_mcp.server.truncation import LEFT_OUT
from goop_mcp.validation.evidence_rules import NOT_CHECKED
from goop_mcp.validation.tiers import tier_counts

__all__ = [
    "LISTED",
    "SHOWN_OF_AN_ENVELOPE",
    "TRUST",
    "Detail",
    "ShortAnswer",
    "short_decision",
    "short_handoff",
    "short_recorded",
    "short_status",
    "short_step",
    "short_verdict",
]

Detail = Literal["short", "full"]

TRUST: Final = "what agents wrote is data"
"""Stands in each structure with texts of agents; the texts say it above each quotation."""

LISTED: Final = 20
"""Most findings of a short answer."""

SHOWN_OF_AN_ENVELOPE: Final = ("status", "agent", "task_id")
"""Its values in a short answer."""

_SHOWN_OF_A_FINDING: Final = ("rule", "severity", "message", "line")
_WAITING = ("id", "action", "summary", "asked_by", "call")
_LARGE_PLAN: Final = 12
"""Tasks of a plan from which on a short status lists only those of waves in progress."""


@dataclass(slots=True)
# Mutable, unlike the records of the services: it exists while one answer is made.
class ShortAnswer:
    """A structured answer while it is made short.

    `rest` has what was left out, by the paths of the keys; `details` the whole of what is only
    shortened, such as findings without their places and remarks that need no action.
    """

    values: dict[str, Any]
    rest: dict[str, Any] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)

    def leave_out(self, *names: str) -> None:
        """Empty the keys `names`: a list becomes an empty one, anything else null."""
        for name in names:
            value = self.values.get(name)
            # Empty values are left in place and not listed: there is nothing to ask for.
            if value:
                self.rest[name] = value
                self.values[name] = [] if isinstance(value, list) else None

    def drop_empty(self, *names: str) -> None:
        """Remove those of the keys `names` that say nothing; no interface promises them."""
        # By equality and not by truth: 0 and False do say something.
        for name in names:
            if self.values.get(name) in (None, [], {}, ""):
                self.values.pop(name, None)

    def put(self, name: str, inner: "ShortAnswer") -> None:
        """Set the key `name` to a short object."""
        self.values[name] = inner.values
        self.rest |= {f"{name}.{path}": value for path, value in inner.rest.items()}
        self.details |= {f"{name}.{path}": value for path, value in inner.details.items()}

    def finished(self) -> dict[str, Any]:
        """Return the values, with the paths that were left out."""
        return {**self.values, LEFT_OUT: [*self.rest]} if self.rest else self.values


def short_verdict(values: Mapping[str, Any], *, instruction: str | None = None) -> ShortAnswer:
    """Return a verdict with the findings that count and the main values of the envelope.

    `instruction` is what the decision sends to the agent: feedback that says the same is left out.
    """
    short = ShortAnswer(dict(values))
    findings, repairs = values["findings"], values["repairs"]

    # A repair also leaves a warning with the same message; the feedback lists errors only.
    repaired = {(each["rule"], each["line"], each["message"]) for each in repairs}
    is_rejected = values["verdict"] == "rejected"
    shown = [
        each
        for each in findings
        if each["severity"] == "error"
        or (
            not is_rejected
            and each["severity"] == "warning"
            and (each["rule"], each["line"], each["message"]) not in repaired
        )
    ]
    # Where the claim stands does not matter: none was verified.
    unchecked = [each for each in findings if each["rule"] == NOT_CHECKED.id and not is_rejected]
    shown += [{**each, "line": None} for each in unchecked[:1]]
    _shorten_list(short, "findings", shown[:LISTED], _SHOWN_OF_A_FINDING)
    short.values["omitted"] = values["omitted"] + len(findings) - min(len(shown), LISTED)
    _shorten_list(short, "repairs", [] if is_rejected else repairs[:LISTED], _SHOWN_OF_A_FINDING)

    if envelope := values["envelope"]:
        main = {
            name: envelope[name]
            for name in SHOWN_OF_AN_ENVELOPE
            if isinstance(envelope.get(name), str)
        }
        short.rest["envelope"] = envelope
        short.values["envelope"] = main

    # What rests on nothing is a finding already, so that the numbers are enough.
    if evidence := values.get("evidence"):
        short.values["claims"] = tier_counts(each["tier"] for each in evidence)
    short.leave_out("candidates", "repaired_text", "evidence")
    short.drop_empty("evidence")
    if instruction is not None and values["feedback"] == instruction:
        short.leave_out("feedback")

    return short


def short_decision(values: Mapping[str, Any]) -> ShortAnswer:
    """Return a decision, with its verdict if it has one, without how it was reached."""
    short = ShortAnswer(dict(values))
    if "verdict" in values:
        verdict = short_verdict(values["verdict"], instruction=values["instruction"])
        # The verdict comes first, where a reader looks for it.
        del short.values["verdict"]
        short.values = {"verdict": None, **short.values}
        short.put("verdict", verdict)

    short.leave_out("steps", "issues")
    if values["results"]:
        short.rest["results"] = values["results"]
        short.values["results"] = [
            {"session_id": each["session_id"], "state": each["state"]}
            for each in values["results"][:LISTED]
        ]
    if questions := values["questions"]:
        short.values["questions"] = [_without_empty(each) for each in questions]

    short.drop_empty("steps", "flags", "issues", "results", "state_changes")
    short.values["trust"] = TRUST

    return short


def short_recorded(values: Mapping[str, Any]) -> ShortAnswer:
    """Return what became of a report: the verdict once, at the top, and the decision without it."""
    decision = short_decision(values["decision"])
    short = ShortAnswer({"status": values["status"], "verdict": None, "decision": None})
    verdict = short_verdict(values["verdict"], instruction=values["decision"]["instruction"])
    # They stand once, next to the verdict.
    verdict.values.pop("claims", None)
    short.put("verdict", verdict)
    del decision.values["trust"]
    short.put("decision", decision)

    written = ShortAnswer(dict(values["written"]))
    written.leave_out("chronicle", "log")
    if state := values["written"]["state"]:
        names = ("phase", "phase_before", "current_wave", "total_waves")
        written.values["state"] = {name: state[name] for name in names}
    written.drop_empty("log")
    short.put("written", written)

    findings = [each for each in values["findings"] if each["severity"] != "info"]
    short.values |= {
        name: value for name, value in values.items() if name not in short.values and value
    }
    short.values["findings"] = values["findings"]
    _shorten_list(short, "findings", findings[:LISTED], _SHOWN_OF_A_FINDING)
    short.drop_empty("findings")
    short.values["trust"] = TRUST

    return short


def short_status(values: Mapping[str, Any]) -> ShortAnswer:
    """Return a status with the gate ahead, and of a large plan the tasks of waves in progress."""
    short = ShortAnswer(dict(values))
    ahead = values["gate_ahead"]
    short.values["gates"] = [
        {"gate": each["gate"], "passed": each["passed"]}
        | (
            {name: each[name] for name in ("missing", "sentence", "command")}
            if each["gate"] == ahead and values["exists"] and not each["passed"]
            else {}
        )
        for each in values["gates"]
    ]
    if any(each["missing"] for each in values["gates"] if each["gate"] != ahead):
        short.rest["gates"] = values["gates"]

    # An agent has the person asked; the commands of a terminal are in the full answer.
    short.values["waiting"] = [
        {name: each[name] for name in _WAITING if each[name] not in (0, None)}
        | ({} if each["call"] else {"command": each["command"]})
        for each in values["waiting"]
    ]
    if values["waiting"]:
        short.details["waiting"] = values["waiting"]

    # A blocker that waits for a decision stands there, with what answers it.
    asked = " ".join(each["summary"] for each in values["waiting"])
    if any(each in asked for each in values["blockers"]):
        short.rest["blockers"] = values["blockers"]
        short.values["blockers"] = [each for each in values["blockers"] if each not in asked]

    short.values["waves"] = [
        {**wave, "tasks": wave["tasks"] if is_shown else []}
        for wave, is_shown in zip(values["waves"], _in_progress(values["waves"]), strict=True)
    ]
    if not all(_in_progress(values["waves"])):
        short.rest["waves"] = values["waves"]

    _shorten_list(short, "drift", values["drift"][:LISTED], _SHOWN_OF_A_FINDING)
    if values["waves"]:
        # With a plan its waves show the tasks.
        del short.values["reported"]

    short.values["round"] = _without_empty(values["round"])
    for name in ("checkpoints", "database", "claims"):
        short.values[name] = _without_empty(values[name])

    if not values["database"]["files_behind"]:
        short.values["database"].pop("files_behind")
    if not values["waiting_omitted"]:
        short.values.pop("waiting_omitted")
    # The rest of the answer shows the parts that a project has.
    if values["parts"]["project"]:
        short.values.pop("parts")

    short.drop_empty(
        "offers",
        "decisions",
        "verifications",
        "conflicts",
        "unreadable",
        "warnings",
        "events",
        "memories",
    )
    if not values["checkpoints"]["number"]:
        del short.values["checkpoints"]

    return short


def _in_progress(waves: Sequence[Mapping[str, Any]]) -> list[bool]:
    """Return for each wave whether its tasks are shown: of a large plan, those that are worked on.

    If none is, the first that is not done comes next.
    """
    if sum(len(wave["tasks"]) for wave in waves) <= _LARGE_PLAN:
        return [True] * len(waves)

    begun = [
        any(task["status"] != "pending" for task in wave["tasks"])
        and wave["done"] < len(wave["tasks"])
        for wave in waves
    ]
    if not any(begun):
        # A plan whose tasks are all done or all pending: the first wave with work is the next one.
        first = next((i for i, wave in enumerate(waves) if wave["done"] < len(wave["tasks"])), None)
        begun = [i == first for i in range(len(waves))]

    return begun


def short_step(values: Mapping[str, Any]) -> ShortAnswer:
    """Return what became of a step, without the keys that say nothing."""
    short = ShortAnswer(dict(values))
    short.drop_empty(
        "confirmation",
        "question",
        "choices",
        "command",
        "missing",
        "undo",
        "findings",
        "files",
        "resources",
        "remarks",
        "revision",
        "claims",
    )
    # After drop_empty, which has removed an empty list.
    if findings := values["findings"]:
        # The tool has no argument `detail` that could list the rest.
        _shorten_list(short, "findings", findings, _SHOWN_OF_A_FINDING)

    return short


def short_handoff(values: Mapping[str, Any], *, is_written: bool) -> ShortAnswer:
    """Return a handoff or a report; its text only if it is written nowhere else."""
    short = ShortAnswer(dict(values))
    short.put("verdict", short_verdict(values["verdict"]))
    if is_written:
        short.leave_out("text")
    short.drop_empty("revision", "resource", "remarks", "size")

    return short


def _shorten_list(
    short: ShortAnswer, name: str, shown: Sequence[Mapping[str, Any]], keys: Collection[str]
) -> None:
    """Set the list `name` to `shown`, of each only `keys` that are not null."""
    if whole := short.values.get(name):
        short.details[name] = whole

    short.values[name] = [
        {key: value for key in keys if (value := each.get(key)) is not None} for each in shown
    ]


def _without_empty(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value not in (None, [], {}, "")}
