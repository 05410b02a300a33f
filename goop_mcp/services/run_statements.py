"""Recorded runs for other programs: JSON, and statements of the in-toto framework.

A statement says what our recorder saw. It is not signed, so it is a record and no attestation;
a signature is for another program to add.
"""

import json
from hashlib import sha256
from typing import Final

from goop_mcp.errors import GoopError
from goop_mcp.evidence.recorded_runs import RecordedRun

__all__ = ["PREDICATE_TYPE", "STATEMENT_TYPE", "UnboundRunError", "run_values", "statement_of"]

STATEMENT_TYPE: Final = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE: Final = "https://in-toto.io/attestation/test-result/v0.1"


class UnboundRunError(GoopError):
    """Raised for a run that names no one state of the files: a statement needs a subject."""


def run_values(run: RecordedRun) -> dict[str, object]:
    """Return `run` as JSON values, without the lists of files and names of tests."""
    counts = {
        name: value for name, value in run.counts._asdict().items() if value not in (None, "")
    }
    return {
        "run": run.id,
        "name": run.name,
        "outcome": run.outcome,
        "why": run.why,
        "argv": list(run.argv),
        "cwd": run.cwd,
        "pinned": run.pinned,
        "paths": list(run.paths),
        "kinds": list(run.kinds),
        "program": run.program,
        "program_version": run.program_version or None,
        "exit_code": run.exit_code,
        "signal": run.signal,
        "timed_out": run.timed_out,
        "started_at": run.started_at,
        "ended_at": run.ended_at,
        "seconds": run.seconds,
        "counts": counts,
        "output": {"sha256": run.output_sha256, "bytes": run.output_bytes, "tail": run.tail},
        "variables": list(run.variables),
        "tree": run.after.digest or None,
        "tree_problem": "files changed while it ran" if run.tree_moved else run.after.why or None,
        "head": run.after.head or None,
        "changed_files": [path for path, _ in run.after.changes],
        "session": run.session,
        "agent": run.agent,
        "task": run.task,
        "version": run.version,
        "key": run.key,
        "record": run.mac_state,
    }


def statement_of(run: RecordedRun) -> dict[str, object]:
    """Return `run` as an in-toto Statement v1 with the predicate test-result v0.1.

    The subject is the git tree of the files. Raises UnboundRunError for a run without one, and for
    a record whose MAC is not valid here.
    """
    if run.mac_state != "valid":
        why = "was changed" if run.mac_state == "wrong" else "has a key that is not known here"
        raise UnboundRunError(f"the record of the run {run.id} {why}; export another run")
    if run.tree_moved or not run.after.digest:
        why = "files changed while it ran" if run.tree_moved else run.after.why
        raise UnboundRunError(
            f"the run {run.id} is bound to no state of the files ({why}), which a statement names;"
            " run it again while nobody changes them"
        )

    command = json.dumps(list(run.argv), ensure_ascii=False, separators=(",", ":"))
    predicate: dict[str, object] = {
        # The third value, WARNED, means passed: no run that shows nothing may be read like that.
        "result": "PASSED" if run.outcome == "passed" else "FAILED",
        # Descriptors of what configured the test: here the command itself. Each must have a URI, a
        # digest or its content, and the content of a long command would be too large.
        "configuration": [
            {
                "name": run.name,
                "digest": {"sha256": sha256(command.encode()).hexdigest()},
                "annotations": {
                    "command": command,
                    "workingDirectory": run.cwd,
                    "pinned": run.pinned,
                    "run": run.id,
                    "programVersion": run.program_version,
                    "recorder": f"goop-mcp {run.version}",
                    "key": run.key,
                    "startedOn": run.started_at,
                    "finishedOn": run.ended_at,
                    "exitCode": run.exit_code,
                    "outcome": run.outcome,
                    "outputSha256": run.output_sha256,
                    "head": run.after.head,
                },
            }
        ],
    }
    if run.passed_names and run.names_whole:
        predicate["passedTests"] = list(run.passed_names)

    return {
        "_type": STATEMENT_TYPE,
        "subject": [{"name": "work tree", "digest": {"gitTree": run.after.digest}}],
        "predicateType": PREDICATE_TYPE,
        "predicate": predicate,
    }
