"""What a run shows: result files, counts, redacted texts. Loaded when the command has ended."""

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from goop_mcp import recording
from goop_mcp.errors import ResultFileError
from goop_mcp.evidence.proofs import is_installed
from goop_mcp.evidence.recorded_runs import (
    MOST_TAIL_BYTES,
    UNKNOWN_COUNTS,
    RecordedRun,
    RunCounts,
)
from goop_mcp.evidence.run_outcomes import EndedRun, changing_variables, result_of_run
from goop_mcp.recording.commands import KEPT_END, CommandOutput, EndedCommand, RunRequest
from goop_mcp.recording.program_versions import version_of_program
from goop_mcp.redaction import REDACTED, redact

if TYPE_CHECKING:
    from goop_mcp.recording.result_files import ResultKind, ResultMarks

__all__ = ["described", "prepare", "written_moment"]

_MOST_NAME_BYTES: Final = 256 * 1024
_LONGEST_ARGUMENT: Final = 2000
_MOST_ARGUMENTS: Final = 200


class _Results(NamedTuple):
    counts: RunCounts | None = None
    problem: str = ""
    passed: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    names_whole: bool = True
    coverage: float | None = None


def _results(request: RunRequest, marks: "Sequence[ResultMarks]") -> _Results:
    """Return what the result files of the run show; of several the one with a problem."""
    read = _Results()
    coverage: float | None = None
    if not request.results:
        return read

    for (path, kind), mark in zip(request.results, marks, strict=True):
        name = path.name
        try:
            # Most runs name no result file, and loading what reads them takes long.
            if kind == "coverage":
                totals = recording.result_files.read_coverage_file(path, since=mark)
                if totals.stale:
                    return _Results(problem=f"this run did not write the coverage file {name}")
                coverage = totals.line_percent
                continue
            found = recording.result_files.read_result_file(
                path, kind=cast("ResultKind", kind), since=mark
            )
        except ResultFileError as error:
            return _Results(problem=f"the result file {name} cannot be read: {error}")

        if found.stale:
            return _Results(problem=f"this run did not write the result file {name}")

        counts = RunCounts(
            found.executed, found.passed, found.failed, found.skipped, found.errors, name
        )
        # The names are kept with the run, which has a limit: a part of them would let tests look
        # removed.
        names = (*found.passed_names, *found.skipped_names)
        whole = found.names_whole and sum(len(each) for each in names) <= _MOST_NAME_BYTES
        read = _Results(
            counts,
            found.incomplete,
            found.passed_names if whole else (),
            found.skipped_names if whole else (),
            whole,
        )

    return read._replace(coverage=None if coverage is None else round(coverage, 2))


def written_moment(seconds: float) -> str:
    """Return a time of the clock of the day as ISO 8601 in UTC, with milliseconds."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def prepare(request: RunRequest) -> None:
    """Compile the patterns that describing a run of `request` needs, before it has ended."""
    described(request._replace(results=()), EndedCommand(CommandOutput(), 0), (), {}, trusted={})


def described(
    request: RunRequest,
    ended: EndedCommand,
    marks: "Sequence[ResultMarks]",
    environment: Mapping[str, str],
    *,
    trusted: Mapping[str, tuple[str, ...]],
) -> RecordedRun:
    """Return the run of an ended command, without id, times, trees and MAC; secrets are hidden.

    `trusted` are the commands of the project that a person trusts, by their checks.
    """
    results = _results(request, marks)
    variables = changing_variables(environment)
    output, end = ended.output, ended.output.end
    unfinished = ""
    if ended.not_started:
        unfinished = f"it could not be started: {ended.not_started}"
    elif ended.timed_out:
        unfinished = f"it was ended at the time limit of {request.timeout:g} s"
    elif ended.interrupted:
        unfinished = "it was interrupted"

    shown = result_of_run(
        EndedRun(
            name=request.name,
            argv=request.argv,
            status=ended.status,
            unfinished=unfinished,
            output=end,
            output_whole=output.size <= KEPT_END,
            counts=results.counts,
            result_problem=results.problem,
            variables=variables,
            trusted={request.name: request.argv} if request.pinned else trusted,
            place_of=_place_of(request, environment),
        )
    )
    return RecordedRun(
        id="",
        name=_storable(shown.name),
        argv=_stored_arguments(request.argv),
        cwd=_storable(os.path.relpath(request.cwd.resolve(), request.project.resolve())),
        pinned=request.pinned,
        paths=request.paths,
        outcome=shown.outcome,
        why=_storable(shown.why),
        kinds=shown.kinds,
        defined_by=_in_project(request, shown.defined_by),
        program=_storable(shown.program),
        program_version=_storable(version_of_program(request.argv, request.cwd, environment)),
        exit_code=None if ended.status < 0 else ended.status,
        signal=-ended.status if ended.status < 0 else None,
        timed_out=ended.timed_out,
        failed_to_start=ended.not_started,
        output_sha256=output.digest.hexdigest(),
        output_bytes=output.size,
        # Cut after redacting: half a secret would not be recognised.
        tail=_storable(end).encode()[-MOST_TAIL_BYTES:].decode("utf-8", "ignore"),
        variables=variables,
        counts=(shown.counts if shown.counts.executed is not None else UNKNOWN_COUNTS)._replace(
            coverage=results.coverage
        ),
        passed_names=tuple(map(_storable, results.passed)),
        skipped_names=tuple(map(_storable, results.skipped)),
        names_whole=results.names_whole,
        stale_result=results.problem,
        session=request.session,
        agent=request.agent,
        task=request.task,
    )


def _place_of(request: RunRequest, environment: Mapping[str, str]) -> Callable[[str], str]:
    """Return how to find the program of a name where it is a file of the project."""

    def place_of(name: str) -> str:
        found = shutil.which(name, path=environment.get("PATH"))
        # A relative entry of PATH depends on the folder in which the command runs.
        whole = os.path.join(request.cwd, found) if found else ""  # noqa: PTH118
        return whole if whole and _in_project(request, (whole,)) else ""

    return place_of


def _in_project(request: RunRequest, paths: Sequence[str]) -> tuple[str, ...]:
    """Return those of `paths` that lead into the project, from its top; not what is installed."""
    top = os.path.realpath(request.project)
    inside = []
    for path in paths:
        folder, name = os.path.split(os.path.join(request.cwd, path))  # noqa: PTH118
        # A link of the project is a file of it, wherever it leads.
        found = os.path.relpath(os.path.join(os.path.realpath(folder), name), top)  # noqa: PTH118
        if found.partition(os.sep)[0] != os.pardir and not is_installed(found):
            inside.append(_storable(found.replace(os.sep, "/")))

    return tuple(inside)


def _stored_arguments(argv: Sequence[str]) -> tuple[str, ...]:
    """Return the arguments without secrets, also without those that only an option announces."""
    stored: list[str] = []
    for number, argument in enumerate(argv[:_MOST_ARGUMENTS]):
        shown = _storable(argument[:_LONGEST_ARGUMENT])
        option = argv[number - 1] if number and argv[number - 1][:1] == "-" else ""
        # `--password` and its value are two arguments, and one line of a shell.
        announced = f"{option} {shown}"
        if option and _storable(announced) != announced:
            shown = REDACTED
        stored.append(shown)

    return tuple(stored)


def _storable(text: str) -> str:
    # No database keeps NUL and halves of characters.
    return redact(text).text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
