"""Compare `validate` on a reply of 2 kB with the least that any XML checker does."""

from collections.abc import Callable
from functools import partial

from lxml import etree

import goop_mcp
from benchmarks.replies import CUT_OFF, ENVELOPE, REPLY, TO_REPAIR, TWO_ERRORS, XSD_FILE
from benchmarks.tables import Bound, Table
from benchmarks.timing import Timing, clock, take_turns

__all__ = ["run"]

_TURNS = 150
_SECONDS_A_TURN = 0.0015
_FLOOR = "floor: lxml parse and compiled XSD"
_VALID = "validate, valid"
_ERRORS = "validate, two errors with feedback"
_BOUNDS = {_VALID: Bound(goal=5, defect=8), _ERRORS: Bound(goal=15, defect=15)}


def run() -> Table:
    """Measure whole calls of `validate` and the parts that any checker needs."""
    timings = take_turns(
        {name: clock(action, seconds=_SECONDS_A_TURN) for name, action in _actions().items()},
        turns=_TURNS,
    )
    table = Table(
        "validate",
        ("", "p10 µs", "median µs", "× floor p10", "× floor median"),
        [
            f"a reply of {len(REPLY.encode()):,} bytes with an envelope of"
            f" {len(ENVELOPE.encode()):,}; judged by p10"
        ],
    )
    for name, timing in timings.items():
        _add(table, name, timing, timings[_FLOOR])

    return table


def _add(table: Table, name: str, timing: Timing, floor: Timing) -> None:
    ratio = timing.p10 / floor.p10
    table.add(
        name,
        f"{timing.p10 * 1e6:.1f}",
        f"{timing.median * 1e6:.1f}",
        f"{ratio:.2f}",
        f"{timing.median / floor.median:.2f}",
        judgement=_BOUNDS[name].judge(ratio) if name in _BOUNDS else "",
    )


def _actions() -> dict[str, Callable[[], object]]:
    _check_what_is_measured()
    schema = etree.XMLSchema(etree.parse(XSD_FILE))
    envelope = ENVELOPE.encode()
    tree = etree.fromstring(envelope)
    verdict = goop_mcp.validate(REPLY)

    return {
        "lxml parse": lambda: etree.fromstring(envelope),
        "compiled XSD": lambda: schema.validate(tree),
        _FLOOR: lambda: schema.validate(etree.fromstring(envelope)),
        _VALID: partial(goop_mcp.validate, REPLY),
        "validate, valid, strict": partial(goop_mcp.validate, REPLY, mode="strict"),
        "validate, the envelope alone": partial(goop_mcp.validate, ENVELOPE),
        _ERRORS: partial(goop_mcp.validate, TWO_ERRORS),
        "validate, & and < to repair": partial(goop_mcp.validate, TO_REPAIR),
        "validate, & and <, strict": partial(goop_mcp.validate, TO_REPAIR, mode="strict"),
        "validate, cut off": partial(goop_mcp.validate, CUT_OFF),
        "validate, no envelope": partial(goop_mcp.validate, REPLY.partition("<")[0]),
        "verdict to JSON values": verdict.to_dict,
    }


def _check_what_is_measured() -> None:
    schema = etree.XMLSchema(etree.parse(XSD_FILE))
    assert schema.validate(etree.fromstring(ENVELOPE.encode())), schema.error_log
    valid, two, repaired, cut = (
        goop_mcp.validate(text) for text in (REPLY, TWO_ERRORS, TO_REPAIR, CUT_OFF)
    )
    assert valid.accepted, valid.feedback
    assert len(two.of_severity(goop_mcp.Severity.ERROR)) == 2 and two.feedback, two.findings  # noqa: PLR2004, PT018
    assert repaired.accepted, repaired.feedback
    assert repaired.repairs
    assert [finding.rule for finding in cut.findings] == ["envelope/truncated"]
