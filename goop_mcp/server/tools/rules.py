"""The tool that explains a rule."""

from typing import TYPE_CHECKING, Annotated

from mcp.types import CallToolResult
from pydantic import Field

from goop_mcp.server.answers import answer
from goop_mcp.server.models import RulePageModel
from goop_mcp.services.rule_pages import rule_page

if TYPE_CHECKING:
    from goop_mcp.context import AppContext

__all__ = ["RuleTools"]


class RuleTools:
    """Explains rules; clients read the docstring of the method."""

    def __init__(self, application: "AppContext") -> None:
        """Explain the rules of `application`, custom ones included."""
        self._application = application

    def explain_rule(
        self,
        rule: Annotated[
            str,
            Field(
                description="As in a finding, such as goop_report/unknown-status.",
                max_length=200,
            ),
        ],
    ) -> Annotated[CallToolResult, RulePageModel]:
        """Explain one rule: what it catches, why, a bad and a good example, and the fix.

        Use it when a finding is not clear enough to act on; goop://rules lists all rules.
        """
        page = rule_page(self._application.rule_book.find(rule))
        return answer(page.to_markdown(), page.to_dict())
