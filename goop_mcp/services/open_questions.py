"""What the replies of agents left to a person to decide, and the person has not answered yet.

A question belongs to a task, or to an agent whose replies name none. It is stored with the counters
of the round, whichever surface has judged the reply, and goes when it is answered, when the next
reply of the same task asks nothing, or when what it is about is gone. At most 50 are kept, and at
most 48 KiB of JSON: the newest, each with its first 600 characters.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from goop_mcp.redaction import redact
from goop_mcp.routing import Action, Decision
from goop_mcp.store.interface import ReadTransaction, WriteTransaction
from goop_mcp.validation.findings import excerpt
from goop_mcp.validation.safe_json import JsonValue

__all__ = [
    "OpenQuestion",
    "counters_row",
    "open_questions",
    "question_key",
    "questions_after",
    "store_questions",
    "withdraw_passing",
    "withdraw_questions",
]

_OF_ROUND: Final = ""
_NAME: Final = "questions"
_MOST: Final = 50
_LONGEST: Final = 600
_MOST_BYTES: Final = 48 * 1024
_AGENT: Final = "agent "
# The next step was left to a person; any later reply or step goes on without one.
_PASSING_RULES: Final = frozenset({"G4"})
_ACCEPT: Final = "/goop-accept"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenQuestion:
    """A question for a person.

    `key` is the task as a decision names it: without one `report 7` for what that report asks, and
    the agent in parentheses for what its replies together ask. `rule` is the row of
    docs/routing.md that asked, `asked_at` the time in ISO 8601, `revision` that of the project
    then. `accepts` states that the answer is the acceptance of the round.
    """

    key: str
    text: str
    rule: str
    asked_by: str
    asked_at: str
    revision: int
    accepts: bool = False


def question_key(task: str) -> str:
    """Return how a decision names the row of counters `task`: `agent NAME` is `(NAME)`."""
    return f"({task.removeprefix(_AGENT)})" if task.startswith(_AGENT) else task


def counters_row(key: str) -> str:
    """Return the row of counters that `question_key` names `key`."""
    is_agent = key.startswith("(") and key.endswith(")")
    return f"{_AGENT}{key[1:-1]}" if is_agent else key


def questions_after(
    reading: ReadTransaction,
    task: str,
    decision: Decision,
    *,
    agent: str,
    work: str | None,
    goes_on: bool = False,
) -> tuple[OpenQuestion, ...]:
    """Return the questions that are open after `decision`, oldest first.

    What it asks a person about the row `task` replaces what was asked there before; a decision that
    asks nothing withdraws that. `agent` is the row of the agent, whose question goes as well when a
    reply names its task. `work` is what a recorded report is about, None for a reply that is not
    recorded: without a task, what blocks one report stays when its agent reports again. With
    `goes_on` the caller knows what comes next: that a result waits for acceptance is asked all the
    same.
    """
    keys = {question_key(task), question_key(agent), work}
    kept = [
        each
        for each in open_questions(reading)
        if each.key not in keys and each.rule not in _PASSING_RULES
    ]
    accepts = decision.next_command == _ACCEPT and decision.rule in _PASSING_RULES
    is_known = goes_on and decision.rule in _PASSING_RULES and not accepts
    if Action.ASK_USER in decision.actions and reading.round().is_open and not is_known:
        # A blocker as its agent wrote it lists the options.
        asked = [*decision.blockers] or [each.text for each in decision.questions]
        text = redact(" ".join(asked) or decision.reason).text
        kept.append(
            OpenQuestion(
                key=work if work and decision.blockers else question_key(task),
                text=excerpt(text, _LONGEST),
                rule=decision.rule,
                asked_by=agent.removeprefix(_AGENT),
                asked_at=reading.now(),
                revision=reading.revision(),
                accepts=accepts,
            )
        )

    return tuple(kept)


def open_questions(reading: ReadTransaction) -> tuple[OpenQuestion, ...]:
    """Return the questions that nobody has answered, oldest first; () if the round is closed."""
    round = reading.round()
    stored = reading.counters(round=round.number, task=_OF_ROUND).get(_NAME)
    if not round.is_open:
        return ()
    rows = stored if isinstance(stored, Sequence) and not isinstance(stored, str) else ()
    return tuple(_question(each) for each in rows if isinstance(each, Mapping))


def withdraw_questions(writing: WriteTransaction, keys: Iterable[str]) -> None:
    """Withdraw the questions about `keys`: they are answered, or their subject is gone."""
    gone = frozenset(keys)
    _keep_where(writing, lambda each: each.key not in gone)


def withdraw_passing(writing: WriteTransaction) -> None:
    """Withdraw the questions that only asked how to go on: the project has gone on."""
    _keep_where(writing, lambda each: each.rule not in _PASSING_RULES)


def _keep_where(writing: WriteTransaction, stays: Callable[[OpenQuestion], bool]) -> None:
    store_questions(writing, [each for each in open_questions(writing) if stays(each)])


def store_questions(writing: WriteTransaction, questions: Sequence[OpenQuestion]) -> None:
    """Store `questions`, oldest first, in place of those that were open."""
    round = writing.round().number
    before = writing.counters(round=round, task=_OF_ROUND)
    rows: list[JsonValue] = [
        {
            "key": each.key,
            "text": each.text,
            "rule": each.rule,
            "asked_by": each.asked_by,
            "asked_at": each.asked_at,
            "revision": each.revision,
            "accepts": each.accepts,
        }
        for each in questions[-_MOST:]
    ]
    # Any text is at most six times as long in JSON as its characters; the row has a limit.
    while len(json.dumps(rows)) > _MOST_BYTES:
        rows.pop(0)
    after = {name: value for name, value in before.items() if name != _NAME}
    after |= {_NAME: rows} if rows else {}
    if after != before:
        writing.set_counters(round=round, task=_OF_ROUND, values=after)


def _question(row: Mapping[str, JsonValue]) -> OpenQuestion:
    revision = row.get("revision")
    return OpenQuestion(
        key=str(row.get("key", "")),
        text=str(row.get("text", "")),
        rule=str(row.get("rule", "")),
        asked_by=str(row.get("asked_by", "")),
        asked_at=str(row.get("asked_at", "")),
        revision=revision if isinstance(revision, int) else 0,
        accepts=row.get("accepts") is True,
    )
