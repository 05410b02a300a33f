"""Take a project through its life: phases, locks, decisions, acceptance, rounds.

Every step is one function of what a project is now. It returns what would happen, or why not; one
place (`taking`) then asks for a confirmation, or writes everything at once. So two orchestrators
cannot do the same step twice, and nothing is ever half done.
"""

from goop_mcp.services.project_step import ProjectStep, person_command, step_from_json
from goop_mcp.services.project_steps.choices import NONE_OF_THESE
from goop_mcp.services.project_steps.creation import create
from goop_mcp.services.project_steps.model import StepArgumentError, StepResult
from goop_mcp.services.project_steps.offers import (
    BlockedTask,
    OfferedStep,
    OpenConfirmation,
    StepOffers,
    open_confirmation,
    step_offers,
)
from goop_mcp.services.project_steps.taking import (
    ACTIONS,
    agents_may_decide,
    answer_confirmation,
    take_step,
)

__all__ = [
    "ACTIONS",
    "NONE_OF_THESE",
    "BlockedTask",
    "OfferedStep",
    "OpenConfirmation",
    "ProjectStep",
    "StepArgumentError",
    "StepOffers",
    "StepResult",
    "agents_may_decide",
    "answer_confirmation",
    "create",
    "open_confirmation",
    "person_command",
    "step_from_json",
    "step_offers",
    "take_step",
]
