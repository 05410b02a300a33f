"""Rules about questions and failures."""

from goop_mcp.protocols.factory.model import Reply, Status
from goop_mcp.protocols.factory.samples import FAILURE_REPLY, QUESTIONS_REPLY
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.findings import Hit, Severity, excerpt
from goop_mcp.validation.rules import Example, RuleList

__all__ = [
    "QUESTION_RULES",
    "UNKNOWN_ERROR_TYPE",
]

_LIST = QUESTIONS_REPLY[QUESTIONS_REPLY.index("[") : QUESTIONS_REPLY.index(',\n  "partial_work"')]


QUESTION_RULES = RuleList()


@QUESTION_RULES.rule(
    id="factory/no-questions",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="status questions without a question",
    why="There is nothing that the user could answer.",
    fix="Ask at least one question, or report success or failure.",
    requirements=("F-12",),
    example=Example(good=_LIST, bad="[]", reply=QUESTIONS_REPLY),
)
def _no_questions(reply: Reply, _expected: Expectations) -> Hit | None:
    # "Questions responses have at least one question with id" (Validation Rules)
    if reply.status is not Status.QUESTIONS or reply.questions or "questions" in reply.unreadable:
        return None
    return Hit(
        message="status is questions and no question is asked; expected at least one",
        path="/questions",
    )


@QUESTION_RULES.rule(
    id="factory/duplicate-question-id",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="two questions with one id",
    why="An answer is given by the id; it would count for both.",
    fix="Give each question a separate id.",
    requirements=("F-18",),
    example=Example(good='"id": "q2"', bad='"id": "q1"', reply=QUESTIONS_REPLY),
)
def _duplicate_question_id(reply: Reply, _expected: Expectations) -> list[Hit] | None:
    seen: set[str] = set()
    hits: list[Hit] = []
    for number, question in enumerate(reply.questions or ()):
        if question.id is None:
            continue
        if question.id in seen:
            message = f"two questions have the id {excerpt(question.id, 40)!r}; expected one each"
            hits.append(
                Hit(message=message, path=f"/questions/{number}/id", found=excerpt(question.id))
            )

        seen.add(question.id)

    return hits


@QUESTION_RULES.rule(
    id="factory/default-not-in-options",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="default is none of the options",
    why="Where defaults answer, the answer would be one that was never offered.",
    fix="Choose the default from the options, or add it to them.",
    requirements=("F-18",),
    example=Example(
        good='"default": "single-session"', bad='"default": "redis"', reply=QUESTIONS_REPLY
    ),
)
def _default_not_in_options(reply: Reply, _expected: Expectations) -> list[Hit] | None:
    return [
        Hit(
            message=f"default is {excerpt(question.default, 60)!r}; expected one of the options",
            path=f"/questions/{number}/default",
            found=excerpt(question.default),
            expected=question.options,
        )
        for number, question in enumerate(reply.questions or ())
        if question.default is not None
        and question.options
        and question.default not in question.options
    ]


UNKNOWN_ERROR_TYPE = QUESTION_RULES.add(
    id="factory/unknown-error-type",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="error.type not in the four",
    why="Each type has its own way on; for another one the user is asked.",
    fix="Choose the one of the four types that fits.",
    requirements=("F-08",),
    example=Example(good='"type": "missing_input"', bad='"type": "oops"', reply=FAILURE_REPLY),
)
