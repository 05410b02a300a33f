"""What was decided in a round, by people or, where a project lets them, by agents."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace

from goop_mcp.routing.deviations import parse_deviations
from goop_mcp.services.open_questions import question_key
from goop_mcp.store.records import Confirmation
from goop_mcp.validation.findings import excerpt
from goop_mcp.workflow.task_ids import is_report_key, normal_task_id

__all__ = ["MadeDecision", "Rejection", "made_decisions", "rejection_of", "standing_decisions"]

_SHOWN = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeDecision:
    """A decision on the blocker of a task, or of a report without one.

    `id` is the number of its confirmation, `revision` that of the request. `via` says how the
    answer came, `at` when, in ISO 8601. `ends_blocker` is False for the answer to a question about
    all that an agent sent. `asked` is what was decided, with its options, `replaces` the decision
    on the same that counts no more. ADL.md is a log: its entry of that one stays as it was.
    """

    id: int
    task: str
    answer: str
    comment: str | None
    via: str
    at: str
    revision: int
    ends_blocker: bool = True
    asked: str = ""
    replaces: "MadeDecision | None" = None

    def __str__(self) -> str:
        """Return the decision as people read it: task, answer, comment, and who decided."""
        # Only a task has a name that says what was decided.
        is_task = self.ends_blocker and not is_report_key(self.task)
        asked = " ".join(each.text for each in parse_deviations(self.asked)) or self.asked
        about = "" if is_task else f"{excerpt(asked, _SHOWN)} "
        before = self.replaces
        instead = f"; replaces {before.answer} of {before.at[:10]}" if before is not None else ""
        return f"{self.task}: {about}{self.words} ({self.via}, {self.at[:10]}{instead})"

    @property
    def words(self) -> str:
        """The answer with its comment."""
        return f"{self.answer}. {self.comment}" if self.comment else self.answer


def standing_decisions(confirmed: Iterable[Confirmation]) -> tuple[MadeDecision, ...]:
    """Return the decisions among what was confirmed in a round, oldest first.

    Those that a later one replaces do not count any more.
    """
    standing: dict[int, MadeDecision] = {}
    for each in confirmed:
        if each.action != "decide":
            continue
        given = json.loads(each.arguments)
        before = standing.pop(given.get("replaces", 0), None)
        standing[each.id] = MadeDecision(
            id=each.id,
            task=question_key(each.subject_key),
            # Older requests hold only the choice.
            answer=given.get("answer") or given.get("choice") or "",
            comment=given.get("comment"),
            via=each.via or "",
            at=each.answered_at or each.asked_at,
            revision=each.revision,
            # What older versions decided on an agent, in parentheses, was on its one blocker.
            ends_blocker=question_key(each.subject_key) == each.subject_key,
            # Older requests keep what the person was shown, which is cut.
            asked=given.get("asked")
            or each.summary.removeprefix(f"{question_key(each.subject_key)}: "),
            # One is enough: what that one replaced counts for nothing.
            replaces=replace(before, replaces=None) if before is not None else None,
        )

    return tuple(standing.values())


def made_decisions(confirmed: Iterable[Confirmation]) -> tuple[str, ...]:
    """Return all that was decided among what was confirmed in a round, as people read it.

    Newest first, as every list shows it: what is cut is the oldest. Locking and unlocking decide
    nothing that the documents do not show; each other decision stands with its words, and with who
    decided and when.
    """
    rows = list(confirmed)
    standing = {each.id: str(each) for each in standing_decisions(rows)}
    found = [
        standing.get(each.id) if each.action == "decide" else _sentence(each)
        for each in sorted(rows, key=lambda each: each.revision, reverse=True)
    ]
    return tuple(filter(None, found))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """A person's rejection of the result: the tasks to do again, and why, "" if nothing is stated.

    `revision` is that of the request.
    """

    tasks: tuple[str, ...]
    why: str
    revision: int


def rejection_of(confirmed: Iterable[Confirmation]) -> Rejection | None:
    """Return the newest answer to the result of a round if it was a rejection."""
    answers = [each for each in confirmed if each.action == "accept"]
    if not answers:
        return None
    newest = max(answers, key=lambda each: each.revision)
    given = json.loads(newest.arguments)
    if given.get("outcome") != "reject":
        return None
    tasks = tuple(map(normal_task_id, given.get("tasks") or ()))
    why = given.get("comment") or given.get("reason") or ""
    return Rejection(tasks=tasks, why=why, revision=newest.revision)


def _sentence(confirmed: Confirmation) -> str | None:
    """Return what a confirmed step decided, None for one that decides nothing of the work."""
    given = json.loads(confirmed.arguments)
    why = given.get("reason") or given.get("comment") or ""
    match confirmed.action:
        case "amend_spec":
            what = "SPEC.md was amended"
        case "start_phase":
            what = f"Phase {given.get('phase')} was forced"
        case "skip_gate":
            what = f"The {confirmed.subject_key} gate was skipped"
        case "accept" if given.get("outcome") == "reject":
            tasks = ", ".join(given.get("tasks") or ())
            what = "The result was rejected" + (f"; to do again: {tasks}" if tasks else "")
        case "accept":
            how = " with issues" if given.get("outcome") == "accept_with_issues" else ""
            what = f"The result was accepted{how}"
        case "reopen_round":
            what = "The acceptance was taken back"
        case _:
            return None

    at = (confirmed.answered_at or confirmed.asked_at)[:10]
    return f"{what}{f': {why}' if why else ''} ({confirmed.via or 'nobody is named'}, {at})"
