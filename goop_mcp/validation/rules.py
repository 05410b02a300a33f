"""A rule: one possible error of a reply, with its explanation for people and agents."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Concatenate, ParamSpec, TypeVar

from msgspec.structs import replace

from goop_mcp.errors import UnknownNameError
from goop_mcp.structs import DataStruct
from goop_mcp.validation.expectations import NOTHING_EXPECTED, Expectations
from goop_mcp.validation.findings import Finding, Hit, Mode, Severity

__all__ = ["Check", "CheckT", "Example", "Problem", "Rule", "RuleBook", "RuleList", "run_checks"]

Check = Callable[[Any, Expectations], "Hit | Sequence[Hit | Problem] | None"]
"""Judges one model and returns what it found; each family narrows the first argument.

A hit belongs to the rule of the check. A check may find what breaks a second rule too, so that a
text is read once; it returns that as a Problem, which names its rule.
"""


class Example(DataStruct, frozen=True, kw_only=True):
    """A good and a bad line for a rule, and the whole reply that contains the good one.

    `reply` contains `good` exactly once; with `bad` in its place the rule fires. A `bad` of ""
    means that the line is left out. Every example is run by the tests.
    """

    good: str
    bad: str
    reply: str
    expected: Expectations = NOTHING_EXPECTED

    @property
    def bad_reply(self) -> str:
        """The whole reply with the bad line in it."""
        return self.reply.replace(self.good, self.bad)


class Problem(DataStruct, frozen=True):
    """A hit together with the rule it belongs to."""

    rule: "Rule"
    hit: Hit

    def finding(
        self, severity: Severity, *, line: int | None = None, column: int | None = None
    ) -> Finding:
        """Return the finding that people and agents see; line and column count from 1."""
        hit = self.hit
        return Finding(
            rule=self.rule.id,
            severity=severity,
            message=hit.message,
            path=hit.path,
            line=line,
            column=column,
            found=hit.found,
            expected=hit.expected,
            fix=hit.fix or self.rule.fix,
        )


class Rule(DataStruct, frozen=True, kw_only=True):
    """One rule; its id never changes.

    `catches` and `why` are for the rule's page. `fix` is an instruction to the agent. `check`
    judges a whole model; rules without one are reported where the text is found, read or repaired.
    `requirements` are for rules of this project. `model` is the class of the envelopes that `check`
    judges, or several; None for a rule that its family lists.
    """

    id: str
    lenient: Severity
    strict: Severity
    catches: str
    why: str
    fix: str
    requirements: tuple[str, ...] = ()
    example: Example
    check: Check | None = None
    model: type[Any] | tuple[type[Any], ...] | None = None

    @property
    def family(self) -> str:
        """The part of the id before the slash."""
        return self.id.partition("/")[0]

    def severity(self, mode: Mode) -> Severity:
        """Return the severity of a violation in `mode`."""
        return self.strict if mode == "strict" else self.lenient

    def problem(
        self,
        message: str,
        *,
        path: str | None = None,
        offset: int | None = None,
        found: str | None = None,
        expected: tuple[str, ...] | None = None,
        fix: str | None = None,
        before: str | None = None,
        after: str | None = None,
    ) -> Problem:
        """Return a violation of this rule; the arguments are those of `Hit`."""
        return Problem(
            self,
            Hit(
                message=message,
                path=path,
                offset=offset,
                found=found,
                expected=expected,
                fix=fix,
                before=before,
                after=after,
            ),
        )


P = ParamSpec("P")
CheckT = TypeVar("CheckT", bound=Check)


# `P` is the signature of `Rule(…)`: mypy checks the calls by it, without a second list of the
# fields.
def _decorator(
    make: Callable[P, Rule],
) -> Callable[Concatenate["RuleList", P], Callable[[CheckT], CheckT]]:
    def rule(rules: "RuleList", /, *args: P.args, **data: P.kwargs) -> Callable[[CheckT], CheckT]:
        def declare(check: CheckT) -> CheckT:
            rules.append(replace(make(*args, **data), check=check))
            return check

        return declare

    return rule


def _adder(make: Callable[P, Rule]) -> Callable[Concatenate["RuleList", P], Rule]:
    def add(rules: "RuleList", /, *args: P.args, **data: P.kwargs) -> Rule:
        rule = make(*args, **data)
        rules.append(rule)
        return rule

    return add


class RuleList(list[Rule]):
    """The rules of one module, in the order of the file.

    `@RULES.rule(id=…, …)` declares a rule on its check; `RULES.add(…)` declares and returns one
    without a check, which is reported where the text is found, read or repaired.
    """

    rule = _decorator(Rule)
    add = _adder(Rule)


class RuleBook(Mapping[str, Rule]):
    """All rules by id, in the order in which they are listed; ids must differ."""

    def __init__(self, collect: Callable[[], Iterable[Rule]]) -> None:
        """Call `collect`, which returns the rules, when the first of them is needed."""
        self._collect = collect

    @cached_property
    def _rules(self) -> dict[str, Rule]:
        rules: dict[str, Rule] = {}
        for rule in self._collect():
            if rule.id in rules:
                raise ValueError(f"two rules are called {rule.id}")

            rules[rule.id] = rule

        return rules

    def __getitem__(self, key: str) -> Rule:
        """Return the rule called `key`; raise KeyError if there is none."""
        return self._rules[key]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the ids."""
        return iter(self._rules)

    def __len__(self) -> int:
        """Return the number of rules."""
        return len(self._rules)

    def find(self, name: str) -> Rule:
        """Return the rule `name`, which may be the part after the slash if only one rule has it.

        Raise UnknownNameError, which suggests the nearest id, or all that have this part.
        """
        wanted = name.strip().strip("`").lower()
        if wanted in self._rules:
            return self._rules[wanted]

        short = [rule for rule in self._rules.values() if rule.id.partition("/")[2] == wanted]
        if len(short) == 1:
            return short[0]

        alike = [rule for rule in self._rules if wanted and wanted in rule]

        raise UnknownNameError("rule", name, alike or self._rules)


def run_checks(rules: Iterable[Rule], model: object, expected: Expectations) -> list[Problem]:
    """Run the check of each rule on `model` and return the problems, in the order of the rules."""
    problems: list[Problem] = []
    for rule in rules:
        check = rule.check
        if check is None or not (seen := check(model, expected)):
            continue
        if isinstance(seen, Hit):
            problems.append(Problem(rule, seen))
        else:
            problems += [
                each if isinstance(each, Problem) else Problem(rule, each) for each in seen
            ]

    return problems
