"""The person's answer to a blocker."""

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from goop_mcp.messages.rendering import gate_blocked, notice, warning
from goop_mcp.redaction import redact
from goop_mcp.services.decided import MadeDecision
from goop_mcp.services.open_questions import counters_row
from goop_mcp.services.project_steps.choices import Choices
from goop_mcp.services.project_steps.model import (
    MOST_OF_A_REASON,
    QUESTION_WIDTH,
    NotDone,
    Plan,
    Stage,
    StepQuestion,
    digest_of,
    question_lines,
)
from goop_mcp.services.project_steps.replanning import reset_counters
from goop_mcp.store.interface import WriteTransaction
from goop_mcp.validation.findings import excerpt
from goop_mcp.workflow.task_ids import is_report_key, normal_task_id
from goop_mcp.workspace.file_changes import GuardedWrite
from goop_mcp.workspace.report_index import names_of

__all__ = ["AskedBlocker", "decide", "decided_blockers", "open_blockers"]

_SHOWN = 200
_KEPT = 600
_LISTED = 5
_LEAST_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedBlocker:
    """A blocker that a decision is about.

    `key` is its task, or `report 7` of a report without one; `agent` reported it. `replaces` is the
    decision that was made on it, None if there is none yet.
    """

    key: str
    text: str
    revision: int
    agent: str | None = None
    replaces: MadeDecision | None = None

    @property
    def digest(self) -> str:
        """What identifies exactly this blocker, with the decision that there is."""
        made = self.replaces.id if self.replaces is not None else 0
        return digest_of(self.key, self.text, str(self.revision), str(made))


def decide(stage: Stage) -> Plan | NotDone:
    """Answer what a blocker asks; the blocker is none any more, and its task stays open.

    A decision that was made may be replaced by a person; both are kept, and the newer one counts.
    """
    step, asked = stage.step, _asked_blocker(stage)
    if isinstance(asked, NotDone):
        return asked
    made = asked.replaces
    if step.seen not in (None, asked.digest) and (step.seen or made is not None):
        return _seen_before(asked)

    choices = Choices(asked.text)
    choice, words = choices.read(step.choice)
    answer = redact(words).text
    given = redact(excerpt(step.comment, MOST_OF_A_REASON)).text if step.comment else ""
    if made is not None and (made.answer, made.comment or "") == (answer, given):
        return NotDone(
            message=notice("Decision", f"It was decided so before: {made}."), unchanged=True
        )

    comment = f" {given}" if given else ""
    before = f" It replaces {made.answer} ({made.via}, {made.at})." if made is not None else ""
    about = [f"comment: {given}"] if given else []
    # What is recorded stands whole; what it replaces fills the rest of the line.
    room = QUESTION_WIDTH - len("; ".join([*about, ""]))
    if made is not None and room > _LEAST_SHOWN:
        about.append(excerpt(f"replaces {made.answer} ({made.via})", room))
    what = excerpt(choices.text, 300)
    decision = f"Decide{' again' if made is not None else ''}: {answer}"

    def then(writing: WriteTransaction) -> tuple[GuardedWrite, ...]:
        # What was tried before the decision says nothing about what is tried after it.
        reset_counters(writing, [asked.key])
        return ()

    return Plan(
        message=notice(
            "Decision Replaced" if made is not None else "Decision Recorded",
            f"{asked.key}: {answer}.{comment}{before}",
            f"Next: give the task to its agent again, with this decision{_naming(asked.key)}.",
        ),
        entry=f"decision for {asked.key}: {answer}"
        + (", which replaces an earlier one" if made else ""),
        log=f"{asked.key}: {what} Decision: {answer}.{comment}{before}",
        asks=StepQuestion(
            lines=question_lines(f"{asked.key}: {what}", decision, "; ".join(about)),
            choices=("decide", "do not decide"),
            subject=digest_of(asked.digest, answer),
            key=counters_row(asked.key),
        ),
        step=replace(
            step,
            # An agent that is named may have another blocker before this one is answered.
            task=asked.key if step.task else None,
            choice=choice,
            answer=answer,
            asked=excerpt(asked.text, _KEPT),
            replaces=made.id if made is not None else None,
        ),
        then=then,
    )


def _naming(key: str) -> str:
    """Return how the next report names work that has no task: nothing else says that it is it."""
    return f"; its next report names `<task_id>{key}</task_id>`" if is_report_key(key) else ""


def open_blockers(stage: Stage) -> Iterator[AskedBlocker]:
    """Yield the blockers that wait for a decision, newest first, then the other questions."""
    for key, each in stage.snapshot.records.blocked.items():
        yield AskedBlocker(key=key, text=each.text, revision=each.revision, agent=each.agent)
    for question in reversed(stage.snapshot.open_questions):
        # The result of a round is accepted or rejected.
        if not question.accepts:
            yield AskedBlocker(key=question.key, text=question.text, revision=question.revision)


def decided_blockers(stage: Stage) -> Iterator[AskedBlocker]:
    """Yield the blockers that were decided on while they are the last word of their tasks."""
    blocked = stage.snapshot.report_index.records.blocked
    for made in stage.snapshot.decisions:
        for key, each in blocked.items():
            names = names_of(key, each.agent) if made.ends_blocker else ()
            if made.task in names and each.revision <= made.revision:
                yield AskedBlocker(
                    key=key,
                    text=each.text,
                    revision=each.revision,
                    agent=each.agent,
                    replaces=made,
                )


def _asked_blocker(stage: Stage) -> AskedBlocker | NotDone:
    """Return the blocker that the step names: an open one, or else one that was decided on."""
    blocked = list(open_blockers(stage))
    decided = list(decided_blockers(stage))
    found = _named(stage, blocked)
    if not found and (stage.step.task is not None or stage.step.blocker is not None):
        found = _named(stage, decided) or _decided_earlier(stage)
    if len(found) == 1:
        return found[0]

    listed = tuple(f"{each.key}: {excerpt(each.text, _SHOWN)}" for each in blocked)
    if not blocked:
        made = [
            f"{each}; to replace it: --task {shlex.quote(each.task)}"
            for each in stage.snapshot.decisions[: -_LISTED - 1 : -1]
        ]
        return NotDone(
            message=warning(
                "\n".join(["No blocker waits for a decision.", *made]), command="goop-mcp status"
            ),
            missing=("a task with a blocker",),
            command="goop-mcp status",
        )

    return NotDone(
        message=gate_blocked(
            "Which blocker? Name its task." if found else "There is no such blocker.",
            details=listed,
        ),
        missing=listed,
    )


def _named(stage: Stage, blockers: Iterable[AskedBlocker]) -> list[AskedBlocker]:
    """Return those of `blockers` that the step names, by their task or a part of their text."""
    found = list(blockers)
    if stage.step.task is not None:
        wanted = normal_task_id(stage.step.task)
        by_agent = [each for each in found if wanted in names_of(each.key, each.agent)]
        found = [each for each in found if each.key == wanted] or by_agent
    if stage.step.blocker is not None:
        # A caller copies the text, or a part of it, from a decision or the status.
        part = " ".join(stage.step.blocker.split()).lower()
        found = [each for each in found if part in " ".join(each.text.split()).lower()]

    return found


def _decided_earlier(stage: Stage) -> list[AskedBlocker]:
    """Return what was decided on the named task: a blocker that is gone, or another question."""
    wanted = normal_task_id(stage.step.task or "")
    made = next((each for each in reversed(stage.snapshot.decisions) if each.task == wanted), None)
    if made is None:
        return []

    return [AskedBlocker(key=made.task, text=made.asked, revision=made.revision, replaces=made)]


def _seen_before(asked: AskedBlocker) -> NotDone:
    """Return the answer to a form that shows what is not so any more."""
    text = (
        f"{asked.key}: the blocker is another one than was shown. Nothing was decided; look at it"
        " again."
        if asked.replaces is None
        else f"No blocker waits for a decision on {asked.key}: it was decided, {asked.replaces}."
    )
    return NotDone(message=warning(text), missing=(f"{asked.key}: {excerpt(asked.text, _SHOWN)}",))
