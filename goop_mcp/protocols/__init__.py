"""The protocol families, listed by hand, and the public `validate` bound to them."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, cast

from goop_mcp.errors import UnknownNameError
from goop_mcp.validation.expectations import Expectations, Profile
from goop_mcp.validation.families import Family, FamilyOnDemand
from goop_mcp.validation.findings import Mode
from goop_mcp.validation.limits import DEFAULT_LIMITS, Limits
from goop_mcp.validation.rules import Rule, RuleBook
from goop_mcp.validation.verdict import REQUIREMENTS, Requirement, Verdict

if TYPE_CHECKING:
    from goop_mcp.evidence.corrections import Correction
    from goop_mcp.evidence.evidence import EvidenceSource
    from goop_mcp.validation.pipeline import Examination

__all__ = [
    "FAMILIES",
    "NAMESPACES",
    "RULES",
    "check_rules",
    "examine",
    "families_of",
    "rules_with",
    "validate",
]

# Repeated here because the models that define the phases are loaded only for a reply of their
# protocol.
_PHASES = ("idle", "discuss", "plan", "research", "specify", "execute", "accept")


def _on_demand(
    name: str, marks: tuple[str, ...], *, module: str = "", attribute: str = ""
) -> Family:
    """Return the family called `name`, whose code is imported when it is first used."""

    # Imported on first use, because most processes judge replies of one protocol only.
    def load() -> Family:
        family: Family = getattr(
            import_module(f"{__name__}.{module or name}"), attribute or name.upper()
        )
        return family

    return cast(Family, FamilyOnDemand(name, marks=marks, load=load))


# A text without any mark of a family cannot hold its envelope, and the family is not loaded for it.
# Models also write typographic quotes, or none at all, around keys.
FAMILIES: tuple[Family, ...] = (
    _on_demand("goop_report", ("goop_report",)),
    _on_demand("agent_request", ("agent_request",)),
    _on_demand("speckit", ('agent"', "agent'", "agent”", "agent’", "agent:", "_context")),
    _on_demand("factory", ('status"', "status'", "status”", "status’", "status:")),
)
"""Every protocol, loaded when a text may hold its envelope: most replies have one protocol."""


_SECTIONS = _on_demand(
    "goop_report",
    ("goop_report", "## status", "## summary"),
    module="goop_report.sections",
    attribute="GOOP_REPORT_SECTIONS",
)


def families_of(profile: Profile) -> tuple[Family, ...]:
    """Return every protocol as projects of `profile` use it: reports of v1 have sections (D-96)."""
    return FAMILIES if profile == "0.x" else (_SECTIONS, *FAMILIES[1:])


def _every_rule() -> Iterator[Rule]:
    # Most processes never list the rules.
    from goop_mcp.protocols.shared_rules import FORM_RULES, PROJECT_RULES  # noqa: PLC0415

    yield from FORM_RULES
    for family in FAMILIES:
        yield from family.rules

    yield from PROJECT_RULES


RULES = RuleBook(_every_rule)
"""Every rule by id."""

NAMESPACES = frozenset(
    (
        *(family.name for family in FAMILIES),
        *(
            "correction",
            "envelope",
            "evidence",
            "json",
            "memory",
            "path",
            "subagent_protocol",
            "visual_style",
            "workflow",
            "xml",
        ),
    )
)
"""The first part of our rule ids; custom rules must differ, so that new rules of ours fit in."""


def check_rules(rules: Sequence[Rule]) -> None:
    """Raise RuleRefusedError for the first custom rule in `rules` that cannot be used."""
    if rules != ():
        # Imported here, because only callers that pass rules need it.
        from goop_mcp.validation.custom_rules import check_custom_rules  # noqa: PLC0415

        check_custom_rules(rules, taken=NAMESPACES)


def rules_with(own: Sequence[Rule]) -> RuleBook:
    """Return every rule by id: ours, then the caller's `own`."""
    return RuleBook(lambda: (*RULES.values(), *own)) if own else RULES


def validate(
    text: str,
    *,
    protocol: str = "auto",
    mode: Mode = "lenient",
    expected: Expectations | None = None,
    limits: Limits = DEFAULT_LIMITS,
    rules: Sequence[Rule] = (),
    evidence: "EvidenceSource | None" = None,
    require: Requirement = "claimed",
    correction: "Correction | None" = None,
) -> Verdict:
    """Judge the envelope in an agent's reply and return a verdict with every error at once.

    `text` is the whole reply as the agent or a host gave it. `protocol` names the protocol, "auto"
    detects it. `mode` "lenient" repairs the form of an envelope and warns, "strict" makes each of
    those an error; neither changes the meaning. `expected` holds what the caller knows beforehand.
    `limits` bounds what is read. `rules` are the caller's own: each judges the envelopes of its
    `model`, in addition to our rules. `evidence` is what the caller knows of the agent's work apart
    from the reply: the claims are compared with it, `Verdict.evidence` says what each rests on, and
    what contradicts it is an error. `require` "observed" or "recorded" makes it an error as well if
    a passed check of a complete task rests on less; "readable" if nothing that the agent did can
    have been the check, where all of it is known. `correction` is one attempt of a task: what it
    claims is compared with the first one, and kept for the next.

    Pure, synchronous, no I/O; never raises on bad text and takes time linear to its length. Raises
    UnknownNameError for an unknown protocol, mode, tier or expected phase and TypeError when `text`
    is not a `str`. For custom rules it raises RuleRefusedError if one cannot be used, and
    RuleFailedError, which names the rule, if its check raises.
    """
    examined = examine(
        text, protocol=protocol, mode=mode, expected=expected, limits=limits, rules=rules
    )
    if evidence is None and require in ("claimed", "readable"):
        return examined.verdict(correction.compare(examined.claims()) if correction else ())

    if require not in REQUIREMENTS:
        raise UnknownNameError("tier", str(require), REQUIREMENTS)

    # Callers without evidence need not import what judges it.
    from goop_mcp.evidence.judging import judge_evidence  # noqa: PLC0415

    judged = judge_evidence(
        examined.claims(),
        evidence,
        require=require,
        workspace=examined.expected.workspace,
        correction=correction,
    )

    return examined.verdict(judged.problems, judged.items)


def examine(
    text: str,
    *,
    protocol: str = "auto",
    mode: Mode = "lenient",
    expected: Expectations | None = None,
    limits: Limits = DEFAULT_LIMITS,
    rules: Sequence[Rule] = (),
) -> "Examination":
    """Read and judge a reply as `validate` does, for callers that add findings to the verdict."""
    if (
        expected is not None
        and expected.phase is not None
        and expected.phase.strip().lower() not in _PHASES
    ):
        raise UnknownNameError("phase", expected.phase, _PHASES)

    check_rules(rules)
    examined = _pipeline()
    families = FAMILIES if expected is None else families_of(expected.profile)

    return examined(
        text, families, protocol=protocol, mode=mode, expected=expected, limits=limits, rules=rules
    )


@cache
def _pipeline() -> "Callable[..., Examination]":
    # Many processes never judge a reply: the first verdict pays for the import, the cache saves the
    # look-up for every later one.
    from goop_mcp.validation import pipeline  # noqa: PLC0415

    return pipeline.examine
