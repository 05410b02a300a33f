"""pydantic-ai: an output validator that sends a report back until it is accepted."""

from typing import TypeVar, Unpack

from goop_mcp.hosts.frameworks.open_reviews import OpenReviews
from goop_mcp.hosts.frameworks.packages import needing
from goop_mcp.hosts.frameworks.unaccepted import ending_terms
from goop_mcp.retry.review import ReviewTerms

with needing("pydantic_ai", extra="pydantic-ai"):
    from pydantic_ai import Agent, ModelRetry, RunContext

__all__ = ["check_output"]

Deps = TypeVar("Deps")


def check_output(
    agent: Agent[Deps, str], *, hand_on_unaccepted: bool = False, **terms: Unpack[ReviewTerms]
) -> Agent[Deps, str]:
    """Have every output of `agent`, which is a text, checked; return the agent.

    `terms` are those of `Review`. Give the agent as many retries as you want: `Agent(..., retries={"output": 2})` for
    three attempts, as the smaller limit counts. At the end without an accepted report NotAcceptedError is raised, whose
    outcome has every attempt; with `hand_on_unaccepted` the last reply is the output.
    """
    reviews = OpenReviews(**ending_terms(terms, hand_on_unaccepted=hand_on_unaccepted))

    @agent.output_validator
    def check(run: RunContext[Deps], output: str) -> str:
        if run.partial_output:
            return output
        with reviews.of(run.run_id) as review:
            feedback = review.hear(output, last=run.retry >= run.max_retries)
        if feedback is not None:
            raise ModelRetry(feedback)
        return output

    return agent
