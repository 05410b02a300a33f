"""Verdicts as one JSON document: a list of `{"file", …verdict}`."""

import json

from goop_mcp.operations.check_files import FileVerdicts

__all__ = ["render_json"]


def render_json(outcome: FileVerdicts) -> str:
    """Return the verdicts in the order of the files; files that could not be read are left out."""
    verdicts = [{"file": checked.file, **checked.verdict.to_dict()} for checked in outcome.checked]
    return json.dumps(verdicts, ensure_ascii=False, allow_nan=False, indent=2) + "\n"
