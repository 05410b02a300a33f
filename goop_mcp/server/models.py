"""What structured answers look like, so that clients get an output schema; the values come from the core."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field, JsonValue, WithJsonSchema

__all__ = [
    "AnyObject",
    "CandidateModel",
    "DecisionModel",
    "FindingModel",
    "HandoffModel",
    "ProtocolChoice",
    "RepairModel",
    "RetryModel",
    "RulePageModel",
    "SeverityName",
    "VerdictModel",
]

ProtocolChoice = Literal["auto", "goop_report", "agent_request", "speckit", "factory"]
"""The protocols a caller can name; tests hold it equal to the list of families."""

SeverityName = Literal["error", "warning", "info"]

AnyObject = Annotated[dict[str, JsonValue], WithJsonSchema({"type": "object", "additionalProperties": True})]
"""An object of any keys: each protocol, or each row, has one of its own."""

_Line = Field(ge=1, description="Line in the text as given, from 1; null if no place is known.")


class FindingModel(BaseModel):
    """One fault or remark."""

    rule: str = Field(description="Stable id of the rule; explain_rule tells more about it.")
    severity: SeverityName = Field(description="An error rejects; the others do not.")
    message: str = Field(description="What is there, then what was expected.")
    path: str | None = Field(description="XPath or JSON pointer inside the envelope, or null.")
    line: int | None = _Line
    column: int | None = Field(ge=1, description="Column in that line, from 1; null if no place is known.")
    found: str | None = Field(description="The value that was found, shortened; null if there is none.")
    expected: list[str] | None = Field(description="The allowed values, or null where they are not a list.")
    fix: str = Field(description="What the agent should do about it.")


class RepairModel(BaseModel):
    """One change that lenient reading made to the form of the envelope."""

    rule: str = Field(description="Stable id of the rule that was broken.")
    message: str = Field(description="What was there, then what was expected.")
    line: int | None = _Line
    before: str = Field(description="The text before the repair.")
    after: str = Field(description="The text after the repair.")


class CandidateModel(BaseModel):
    """One block that looks like an envelope."""

    protocol: str = Field(description="Protocol of the block.")
    line: int = Field(ge=1, description="Line where it begins, from 1.")
    chosen: bool = Field(description="Whether this is the block that was judged.")
    why: str = Field(description="Why it was taken or passed over.")


class VerdictModel(BaseModel):
    """The judgement on one reply."""

    verdict: Literal["accepted", "rejected"] = Field(description="Rejected exactly when a finding is an error.")
    protocol: str | None = Field(description="Protocol of the envelope; null when none was found.")
    version: str | None = Field(description="The envelope's own version, or null.")
    mode: Literal["lenient", "strict"] = Field(description="The mode that was asked for.")
    findings: list[FindingModel] = Field(description="All faults and remarks at once, in order of position.")
    repairs: list[RepairModel] = Field(description="What lenient reading changed; empty in strict mode.")
    candidates: list[CandidateModel] = Field(description="Every envelope-like block that was seen.")
    envelope: AnyObject | None = Field(
        description="The envelope as JSON, also of a rejected reply; null when it could not be read."
    )
    repaired_text: str | None = Field(
        description="The envelope written again, well-formed, when there were repairs; else null."
    )
    feedback: str | None = Field(
        description="What to send back to the agent so that it can mend its reply; null exactly when accepted."
    )
    omitted: int = Field(ge=0, description="How many findings beyond the listed ones there are.")


class RetryModel(BaseModel):
    """Another try at the same request."""

    attempt: int = Field(ge=1, description="Number of the try; the first request is 1.")
    max_attempts: int = Field(ge=1, description="The last try that is allowed.")
    delay_seconds: int = Field(ge=0, description="How long to wait before it.")
    message: str = Field(description="What the try is for.")


class DecisionModel(BaseModel):
    """What happens next."""

    actions: list[str] = Field(description="What to do, from left to right.")
    next_agent: str | None = Field(description="Who continues; null if nobody is named.")
    instruction: str | None = Field(description="What to send to that agent, word for word.")
    next_command: str | None = Field(description="The command that continues the work, or null.")
    files_to_read: list[str] = Field(description="What the next agent reads first.")
    new_session: bool | None = Field(description="Whether to begin a new session; null: not said.")
    blockers: list[str] = Field(description="What stands in the way.")
    questions: list[AnyObject] = Field(description="Questions to the user, with options.")
    retry: RetryModel | None = Field(description="Attempt, most attempts, delay in seconds; null: no retry.")
    rule: str = Field(description="Id of the row of the routing table.")
    reason: str = Field(description="One sentence: which row was taken and why.")
    message: str = Field(description="Ready to be shown to people, in Markdown.")
    verdict: VerdictModel = Field(description="The judgement on the reply.")
    state_changes: AnyObject = Field(description="Counters and fields to give with the next call.")
    steps: list[str] = Field(description="The order in which the reply was read.")
    flags: list[str] = Field(description="research_mode or test_first, where a request asks for it.")
    issues: list[AnyObject] = Field(description="What a feedback loop is to mend, worst first.")
    results: list[AnyObject] = Field(description="Results of a finished batch of sessions, in its order.")


class HandoffModel(BaseModel):
    """A handoff, ready to be sent."""

    kind: Literal["agent_request"] = Field(description="What was built.")
    text: str = Field(description="The whole prompt, in Markdown.")
    path: str | None = Field(
        description="Where the prompt belongs, relative to the project, and with write=true stands; null without an id."
    )
    verdict: VerdictModel = Field(description="The judgement on the text in strict mode; always accepted.")


class RulePageModel(BaseModel):
    """The page of one rule."""

    id: str = Field(description="Stable id of the rule.")
    lenient: SeverityName = Field(description="How much a violation weighs in lenient mode.")
    strict: SeverityName = Field(description="How much a violation weighs in strict mode.")
    catches: str = Field(description="What the rule catches.")
    why: str = Field(description="Why the rule is there.")
    given: str | None = Field(description="What the caller knew beforehand in the examples, or null.")
    bad: str = Field(description="An example that breaks the rule.")
    good: str = Field(description="The same example as it should be.")
    fix: str = Field(description="What the agent should do about a violation.")
    requirements: list[str] = Field(description="Ids of the requirements behind the rule.")
