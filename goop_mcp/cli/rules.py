"""`goop-mcp rules`: the list of all rules, or the page of one."""

from itertools import groupby
from operator import attrgetter

import click

from goop_mcp.cli.options import RULES, completing
from goop_mcp.cli.pages import show_page
from goop_mcp.cli.rendering.listing import render_listing
from goop_mcp.cli.streams import emit_json, show, terminal_width
from goop_mcp.protocols import rules_with
from goop_mcp.services.rule_pages import rule_page
from goop_mcp.validation.rules import Rule

__all__ = ["rules"]

_WIDEST_ID = 32


@click.command(short_help="List the rules, or show the page of one.")
@click.argument("rule", required=False, shell_complete=completing(lambda: rules_with(())))
@click.option(
    "--format",
    "format",
    type=click.Choice(["text", "json"]),
    default="text",
    help="text for people, or json.",
)
@RULES
def rules(rule: str | None, *, format: str, rules: tuple[Rule, ...]) -> int:
    """List every rule with its severity, or show the page of RULE: reason, examples and fix.

    RULE is an id such as goop_report/unknown-status; the part after the slash is enough where it is
    unique.
    """
    book = rules_with(rules)
    if rule is not None:
        page = rule_page(book.find(rule))
        if format == "json":
            emit_json(page.to_dict())
        else:
            show_page(page.to_markdown(), colour="auto")
    elif format == "json":
        emit_json([rule_page(each).to_dict() for each in book.values()])
    else:
        lists = []
        for _, family in groupby(book.values(), attrgetter("family")):
            rows = []
            for each in family:
                strict = "" if each.lenient is each.strict else f" ({each.strict.value} if strict)"
                # The texts are Markdown for the page of rules; in a list only code is marked.
                catches = each.catches.replace("`", "")
                rows.append((each.id, f"{each.lenient.value}{strict}: {catches}"))

            lists.append(render_listing(rows, width=terminal_width(), widest_name=_WIDEST_ID))

        show("\n".join(lists))

    return 0
