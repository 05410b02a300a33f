"""Judge a reply and decide what happens next."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from goop_mcp import services
from goop_mcp.errors import ContextError
from goop_mcp.memory.times import utc_now, written
from goop_mcp.protocols import validate
from goop_mcp.routing import Decision, RoutingContext, route
from goop_mcp.routing.expecting import expectations_of
from goop_mcp.services.json_objects import parse_object
from goop_mcp.services.project_expectations import expect_of_project
from goop_mcp.services.unverified import NOT_ASKED, with_unverified
from goop_mcp.validation.findings import Mode, excerpt

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from goop_mcp.services.project_context import ProjectContext
    from goop_mcp.services.stop_hooks.judged_by import JudgedBy
    from goop_mcp.store.interface import Store
    from goop_mcp.validation.rules import Rule
    from goop_mcp.validation.verdict import Verdict
    from goop_mcp.workspace.claimed_files import Looked

__all__ = ["judge_reply", "parse_context", "route_reply"]


def route_reply(
    text: str,
    context: RoutingContext,
    *,
    protocol: str = "auto",
    mode: Mode = "lenient",
    home: "Path | None" = None,
    project: "Path | None" = None,
    store: "Store | None" = None,
    looked: "Looked | None" = None,
    counters: "ProjectContext | None" = None,
    rules: "Sequence[Rule]" = (),
    judged_by: "JudgedBy | None" = None,
    why_not: str = NOT_ASKED,
) -> Decision:
    """Return the decision on `text`, judged with the agent, phase, session and policy of `context`.

    `home` is the folder of the project that gives the profile and the names of agents. With
    `project` the claims are verified in that folder and its memory `store` first; None skips that,
    and the verdict says so.
    `looked` receives the number of files checked so far. `counters` is the project whose database
    counts for each task as `record_report` does, if it exists, and whose CHRONICLE.md shows what a
    person has to decide then; None uses the counters of `context` alone. `rules` are those of
    `validate`, `judged_by` is that of `expect_of_project`. `why_not` is why the caller gives no
    `project`.
    """
    verdict = judge_reply(
        text,
        context,
        protocol=protocol,
        mode=mode,
        home=home,
        project=project,
        store=store,
        looked=looked,
        rules=rules,
        judged_by=judged_by,
    )
    if project is None:
        verdict = with_unverified(verdict, why_not)
    if home is not None:
        expected = expect_of_project(home, expectations_of(context), judged_by)
        if expected.profile == "v1":
            context = replace(context, profile="v1")
    if counters is None or not counters.store.exists():
        return route(verdict, context)

    counted = services.counters.count_reply(
        counters.store,
        verdict,
        context,
        partial(route, verdict),
        text=text,
        surface="route",
        shown_in=lambda: counters,
        now=written(utc_now()),
    )
    return counted.decision


def judge_reply(
    text: str,
    context: RoutingContext,
    *,
    protocol: str = "auto",
    mode: Mode = "lenient",
    home: "Path | None" = None,
    project: "Path | None" = None,
    store: "Store | None" = None,
    looked: "Looked | None" = None,
    rules: "Sequence[Rule]" = (),
    judged_by: "JudgedBy | None" = None,
) -> "Verdict":
    """Return the verdict for a decision on `text`; the arguments are those of `route_reply`."""
    expected = expectations_of(context)
    if home is not None:
        expected = expect_of_project(home, expected, judged_by)
    if project is None:
        return validate(text, protocol=protocol, mode=mode, expected=expected, rules=rules)

    # Loaded on use: without a project no file is read, and the workspace is not needed.
    state = context.session_state

    return services.check_workspace.check_workspace(
        text,
        project,
        store=store,
        protocol=protocol,
        mode=mode,
        expected=expected,
        session_state=state,
        looked=looked,
        rules=rules,
        judged_by=judged_by,
    )


def parse_context(text: str, name: str) -> RoutingContext:
    """Return the context written as JSON in `text`, which came from the file `name`.

    Raises UnreadableFileError if it is not a JSON object, and ContextError, which names the field,
    for a wrong value and a duplicate field.
    """

    def given_twice(key: str) -> ContextError:
        return ContextError(excerpt(key, 120), "is given twice; give each field once")

    values = parse_object(text, repr(name), holds="the context", doubled=given_twice)
    return RoutingContext.from_dict(values)
