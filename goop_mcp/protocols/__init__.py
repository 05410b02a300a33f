"""The protocol families, listed by hand, and the public `validate` bound to them."""

from collections.abc import Iterator

from goop_mcp.errors import UnknownNameError
from goop_mcp.validation import pipeline
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.families import Family, FamilyOnDemand
from goop_mcp.validation.findings import Mode
from goop_mcp.validation.limits import DEFAULT_LIMITS, Limits
from goop_mcp.validation.rules import Rule, RuleBook
from goop_mcp.validation.verdict import Verdict

__all__ = ["FAMILIES", "RULES", "examine", "validate"]

_PHASES = ("idle", "discuss", "plan", "research", "specify", "execute", "accept")


def _goop_report() -> Family:
    from goop_mcp.protocols.goop_report import GOOP_REPORT  # noqa: PLC0415 - see FAMILIES

    return GOOP_REPORT


def _agent_request() -> Family:
    from goop_mcp.protocols.agent_request import AGENT_REQUEST  # noqa: PLC0415 - see FAMILIES

    return AGENT_REQUEST


def _speckit() -> Family:
    from goop_mcp.protocols.speckit import SPECKIT  # noqa: PLC0415 - see FAMILIES

    return SPECKIT


def _factory() -> Family:
    from goop_mcp.protocols.factory import FACTORY  # noqa: PLC0415 - see FAMILIES

    return FACTORY


FAMILIES: tuple[Family, ...] = (
    FamilyOnDemand("goop_report", marks=("goop_report",), load=_goop_report),
    FamilyOnDemand("agent_request", marks=("agent_request",), load=_agent_request),
    FamilyOnDemand("speckit", marks=('agent"', "agent'", "agent”", "agent’", "_context"), load=_speckit),
    FamilyOnDemand("factory", marks=('status"', "status'", "status”", "status’"), load=_factory),
)
"""Every protocol. Its code is loaded when a text may hold an envelope of it: most replies are of one protocol."""


def _every_rule() -> Iterator[Rule]:
    from goop_mcp.messages import VISUAL_STYLE_RULES  # noqa: PLC0415 - loaded with all other rules
    from goop_mcp.validation.envelope_rules import ENVELOPE_RULES  # noqa: PLC0415
    from goop_mcp.validation.evidence_rules import EVIDENCE_RULES  # noqa: PLC0415
    from goop_mcp.validation.json_rules import JSON_RULES  # noqa: PLC0415
    from goop_mcp.validation.path_rules import PATH_RULES  # noqa: PLC0415
    from goop_mcp.validation.xml_rules import XML_RULES  # noqa: PLC0415
    from goop_mcp.workflow.memory_rules import MEMORY_RULES  # noqa: PLC0415
    from goop_mcp.workflow.project_rules import PROJECT_RULES  # noqa: PLC0415
    from goop_mcp.workflow.rules import WORKFLOW_RULES  # noqa: PLC0415

    yield from (*ENVELOPE_RULES, *XML_RULES, *JSON_RULES, *PATH_RULES, *EVIDENCE_RULES)
    for family in FAMILIES:
        yield from family.rules
    yield from (*VISUAL_STYLE_RULES, *WORKFLOW_RULES, *PROJECT_RULES, *MEMORY_RULES)


RULES = RuleBook(_every_rule)
"""Every rule by id."""


def validate(
    text: str,
    *,
    protocol: str = "auto",
    mode: Mode = "lenient",
    expected: Expectations | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Verdict:
    """Judge the envelope in an agent's reply and return a verdict with every fault at once.

    `text` is the whole reply as the agent or a host gave it. `protocol` names the
    protocol, "auto" detects it.
    `mode` "lenient" mends the form of an envelope and warns, "strict" makes each of those an error; neither mends
    meaning. `expected` holds what the caller knows beforehand. `limits` bounds what is read.

    Pure, synchronous, no I/O; never raises on bad text and takes time linear to its length. Raises UnknownNameError
    for an unknown protocol, mode or expected phase and TypeError when `text` is no `str` (INTERFACES, section 3).
    """
    return examine(text, protocol=protocol, mode=mode, expected=expected, limits=limits).verdict()


def examine(
    text: str,
    *,
    protocol: str = "auto",
    mode: Mode = "lenient",
    expected: Expectations | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> pipeline.Examination:
    """Read and judge a reply as `validate` does, for callers that know more about it before it is weighed."""
    if expected is not None and expected.phase is not None and expected.phase.strip().lower() not in _PHASES:
        raise UnknownNameError("phase", expected.phase, _PHASES)
    return pipeline.examine(text, FAMILIES, protocol=protocol, mode=mode, expected=expected, limits=limits)
