"""The same JSON replies as pydantic models, as a team would write them without this library."""

from typing import Literal

from pydantic import AwareDatetime, BaseModel

__all__ = ["FactoryReply", "SpeckitReply"]


class Gate(BaseModel):
    """One quality gate; `details` depends on the gate."""

    status: Literal["PASSED", "FAILED"]
    details: dict[str, int | float | str]


class Criterion(BaseModel):
    """A criterion of success, and whether it is met."""

    id: str
    description: str
    status: Literal["PASSED", "FAILED"]


class TestResult(BaseModel):
    """What the test agent of speckit answers."""

    feature_id: str
    overall_status: Literal["PASSED", "FAILED"]
    quality_gates: dict[
        Literal["tests_passing", "coverage", "code_quality", "build_validation"], Gate
    ]
    success_criteria: list[Criterion]
    next_steps: list[str]


class SpeckitReply(BaseModel):
    """The whole answer."""

    agent: Literal["test"]
    status: Literal["success"]
    timestamp: AwareDatetime
    execution_time_ms: int
    result: TestResult


class Deliverable(BaseModel):
    """A file that was made."""

    path: str
    type: Literal["architecture", "rules", "config", "skill"]
    description: str


class FactoryReply(BaseModel):
    """The whole reply of a Factory engineer."""

    status: Literal["success"]
    confidence: Literal["high", "medium", "low"]
    deliverables: list[Deliverable]
    summary: str
    metrics: dict[str, int]
    next_action: Literal["ready_for_review"]
