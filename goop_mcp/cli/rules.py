"""`goop-mcp rules`: the list of all rules, or the page of one."""

from collections.abc import Iterable
from itertools import groupby
from operator import attrgetter

import click

from goop_mcp.cli.options import RULES
from goop_mcp.cli.rendering.listing import render_listing
from goop_mcp.cli.rendering.page import render_page
from goop_mcp.cli.streams import emit_json, show, terminal_width
from goop_mcp.operations.rule_pages import rule_page
from goop_mcp.protocols import rules_with
from goop_mcp.validation.rules import Rule

__all__ = ["rules"]

_WIDEST_ID = 32


@click.command(short_help="List the rules, or show the page of one.")
@click.argument("rule", required=False)
@click.option(
    "--format",
    "format",
    type=click.Choice(["text", "json"]),
    default="text",
    help="text for people, or json.",
)
@RULES
def rules(rule: str | None, *, format: str, rules: tuple[Rule, ...]) -> int:
    """List every rule with its severity, or show the page of RULE: why it is there, bad and good example, fix.

    RULE is an id such as goop_report/unknown-status; the part after the slash is enough where it is unique.
    """
    book = rules_with(rules)
    if rule is not None:
        page = rule_page(book.find(rule))
        if format == "json":
            emit_json(page.to_dict())
        else:
            show(render_page(page.to_markdown(), width=terminal_width()))
    elif format == "json":
        emit_json([rule_page(each).to_dict() for each in book.values()])
    else:
        show(
            "\n".join(_family(each) for _, each in groupby(book.values(), key=attrgetter("family")))
        )

    return 0


def _family(rules: Iterable[Rule]) -> str:
    rows = [(rule.id, f"{_weight(rule)}: {rule.catches}") for rule in rules]
    return render_listing(rows, width=terminal_width(), widest_name=_WIDEST_ID)


def _weight(rule: Rule) -> str:
    return (
        rule.lenient.value
        if rule.lenient is rule.strict
        else f"{rule.lenient.value} ({rule.strict.value} if strict)"
    )
