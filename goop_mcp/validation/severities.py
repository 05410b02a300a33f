"""Severities that a project or a person chose instead of those of the rules."""

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    # A hook reads the project's severities before it knows whether it judges anything.
    from goop_mcp.validation.findings import Severity

__all__ = ["NO_CHANGES", "OFF", "Severities", "SeverityName"]

SeverityName = Literal["error", "warning", "info", "off"]
OFF: Final = "off"
"""A finding of that severity is neither shown nor counted."""

_FIXED_FAMILIES: Final = ("envelope", "xml", "json", "path", "evidence")
_NO_ENVELOPE: Final = "/no-envelope"
_RANKS: Final = {"error": 0, "warning": 1, "info": 2, OFF: 3}


class Severities(NamedTuple):
    """Which rules count in a project, and how much. Each rule is named by its id or its family.

    `selected` are the only rules that count, all if it is empty. `changes` are pairs of a name and
    its severity: the id of a rule goes before its family, a later pair before an earlier one.
    `notes` say the same for people, with the place where each was chosen; every verdict has them.
    A rule counts at least as much as by each of `at_least`.

    What decides whether a reply can be read, is safe or is true is never lowered: the errors of the
    families envelope, xml, json, path and evidence, and an envelope that is missing.
    """

    selected: tuple[str, ...] = ()
    changes: tuple[tuple[str, SeverityName], ...] = ()
    notes: tuple[str, ...] = ()
    at_least: "tuple[Severities, ...]" = ()

    def of(self, rule: str, usual: "Severity") -> "Severity | None":
        """Return the severity of `rule`, an id, which is `usual` without changes; None for off."""
        chosen = self.level(rule, usual)
        return None if chosen == OFF else usual.__class__(chosen)

    def level(self, rule: str, usual: str) -> str:
        """Return the severity of `rule` as `of` does, "off" included."""
        family = rule.partition("/")[0]
        chosen: str = usual
        if self.selected and rule not in self.selected and family not in self.selected:
            chosen = OFF

        # The more exact name decides, in whatever order both were written.
        for name in (family, rule):
            for changed, severity in self.changes:
                if changed == name:
                    chosen = severity

        if self.is_fixed(rule, usual) and _RANKS[chosen] > _RANKS[usual]:
            chosen = usual
        return min((chosen, *(each.level(rule, usual) for each in self.at_least)), key=_rank)

    def is_below(self, other: "Severities", rule: str, usual: str) -> bool:
        """Whether `rule` counts less than by `other`."""
        return _rank(self.level(rule, usual)) > _rank(other.level(rule, usual))

    @property
    def names(self) -> frozenset[str]:
        """The rules and families that are named; all others count alike."""
        return frozenset((*self.selected, *(name for name, _ in self.changes)))

    @staticmethod
    def is_fixed(rule: str, usual: str) -> bool:
        """Whether nobody may lower the severity of `rule`."""
        is_of_family = rule.partition("/")[0] in _FIXED_FAMILIES
        return usual == "error" and (is_of_family or rule.endswith(_NO_ENVELOPE))


def _rank(severity: str) -> int:
    return _RANKS[severity]


NO_CHANGES: Final = Severities()
