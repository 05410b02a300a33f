"""The use cases of the program, one function each, shared by all surfaces.

The modules named here need the router, the workspace or the database, and are loaded on first use.
"""

from typing import TYPE_CHECKING

from goop_mcp.on_demand import modules_on_demand

__all__ = [
    "build_report",
    "check_workspace",
    "claimed_symbols",
    "counters",
    "draft_request",
    "fill_template",
    "hand_over",
    "judgements",
    "kept_replies",
    "load_rules",
    "named_checks",
    "project_context",
    "project_documents",
    "project_snapshot",
    "project_status",
    "project_steps",
    "prompt_values",
    "record_report",
    "recorded_reports",
    "recorded_runs",
    "reply_sources",
    "report_details",
    "report_pages",
    "route_reply",
    "run_arguments",
    "run_check",
    "run_statements",
    "runs",
    "session_handoff",
    "stats",
    "stats_page",
    "task_gate",
    "transcripts",
    "verify_runs",
]

if TYPE_CHECKING:
    from goop_mcp.services import (
        build_report,
        check_workspace,
        claimed_symbols,
        counters,
        draft_request,
        fill_template,
        hand_over,
        judgements,
        kept_replies,
        load_rules,
        named_checks,
        project_context,
        project_documents,
        project_snapshot,
        project_status,
        project_steps,
        prompt_values,
        record_report,
        recorded_reports,
        recorded_runs,
        reply_sources,
        report_details,
        report_pages,
        route_reply,
        run_arguments,
        run_check,
        run_statements,
        runs,
        session_handoff,
        stats,
        stats_page,
        task_gate,
        transcripts,
        verify_runs,
    )
else:
    __getattr__ = modules_on_demand(__name__, __all__)
