"""The person's answer to a blocker."""

from goop_mcp.messages.rendering import gate_blocked, notice, warning
from goop_mcp.redaction import redact
from goop_mcp.routing.deviations import parse_deviations
from goop_mcp.services.project_steps.model import (
    MOST_OF_A_REASON,
    NotDone,
    Plan,
    Stage,
    StepArgumentError,
    StepQuestion,
    digest_of,
    question_lines,
)
from goop_mcp.services.project_steps.replanning import reset_counters
from goop_mcp.store.interface import WriteTransaction
from goop_mcp.validation.findings import excerpt
from goop_mcp.workflow.task_ids import normal_task_id
from goop_mcp.workspace.file_changes import GuardedWrite

__all__ = ["decide"]


def decide(stage: Stage) -> Plan | NotDone:
    """Answer what a blocker asks; the blocker is none any more, and its task stays open."""
    blocked = stage.snapshot.records.blocked
    if not blocked:
        return NotDone(
            message=warning("No blocker waits for a decision.", command="goop-mcp status"),
            missing=("a task with a blocker",),
            command="goop-mcp status",
        )

    keys = list(blocked)
    if stage.step.task is not None:
        wanted = normal_task_id(stage.step.task)
        keys = [key for key in keys if key == wanted]
    if stage.step.blocker is not None:
        # A caller copies the text, or a part of it, from a decision or the status.
        part = " ".join(stage.step.blocker.split()).lower()
        keys = [key for key in keys if part in " ".join(blocked[key].text.split()).lower()]
    if len(keys) != 1:
        listed = tuple(f"{key}: {excerpt(each.text, 200)}" for key, each in blocked.items())
        return NotDone(
            message=gate_blocked(
                "Which blocker? Name its task." if keys else "There is no such blocker.",
                details=listed,
            ),
            missing=listed,
        )

    key = keys[0]
    choice = (stage.step.choice or "").strip()
    questions = parse_deviations(blocked[key].text)
    options = {option.letter.upper(): option.text for each in questions for option in each.options}
    if not choice:
        expected = f"one of {', '.join(options)}, or a text" if options else "a text"
        raise StepArgumentError(f"choice is missing; expected {expected}")

    letter = choice.rstrip(").").upper()
    answer = redact(
        f"{letter}) {options[letter]}" if letter in options else excerpt(choice, MOST_OF_A_REASON)
    ).text
    comment = (
        f" {redact(excerpt(stage.step.comment, MOST_OF_A_REASON)).text}"
        if stage.step.comment
        else ""
    )
    what = excerpt(questions[0].text if questions else blocked[key].text, 300)

    def then(writing: WriteTransaction) -> tuple[GuardedWrite, ...]:
        # What was tried before the decision says nothing about what is tried after it.
        reset_counters(writing, [key])
        return ()

    return Plan(
        message=notice(
            "Decision Recorded",
            f"{key}: {answer}.{comment}",
            "Next: give the task to its agent again, with this decision.",
        ),
        entry=f"decision for {key}: {answer}",
        log=f"{key}: {what} Decision: {answer}.{comment}",
        asks=StepQuestion(
            lines=question_lines(f"{key}: {what}", f"Decide: {answer}"),
            choices=("decide", "do not decide"),
            subject=digest_of(key, blocked[key].text, answer),
            key=key,
        ),
        then=then,
    )
