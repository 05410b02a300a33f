"""Compare `validate` on the largest example of each protocol with parsing and a schema check."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from lxml import etree
from pydantic import BaseModel

import goop_mcp
from benchmarks.reply_models import FactoryReply, SpeckitReply
from benchmarks.tables import Bound, Table
from benchmarks.timing import clock, take_turns

__all__ = ["LARGEST", "run"]

_TURNS = 60
_SECONDS_A_TURN = 0.003
_BOUND: Final = Bound(goal=5, defect=8)
_ROOT = Path(__file__).parent.parent
LARGEST: Final = {
    "goop_report": "message_executor_full.md",
    "agent_request": "6_3_planning_synthesis.md",
    "speckit": "concrete_test.json",
    "factory": "concrete_engineer_success.json",
}
"""The largest example of each protocol that is right."""

_SCHEMAS: Final = {"goop_report": "0.1.6.xsd", "agent_request": "agent-handoff-v1-corrected.xsd"}
_MODELS: Final[dict[str, type[BaseModel]]] = {"speckit": SpeckitReply, "factory": FactoryReply}


def run() -> Table:
    """Measure `validate` with the protocol detected and named, and the floor of each protocol."""
    table = Table(
        "families",
        (
            "",
            "bytes",
            "floor p10 µs",
            "auto p10 µs",
            "named p10 µs",
            "auto × floor",
            "named × floor",
        ),
        [
            "floor: lxml and compiled XSD, or json.loads and pydantic; judged by p10 with the"
            " protocol detected"
        ],
    )
    for protocol, file in LARGEST.items():
        _add(table, protocol, (_ROOT / "tests/cases" / protocol / file).read_text("utf-8"))

    return table


def _add(table: Table, protocol: str, text: str) -> None:
    verdict = goop_mcp.validate(text)
    # One fact: what is timed is right
    assert verdict.accepted and verdict.protocol == protocol and verdict.span is not None, (  # noqa: PT018
        verdict.feedback
    )
    actions: dict[str, Callable[[], object]] = {
        "floor": _floor(protocol, text[slice(*verdict.span)]),
        "auto": partial(goop_mcp.validate, text),
        "named": partial(goop_mcp.validate, text, protocol=protocol),
    }
    clocks = {name: clock(action, seconds=_SECONDS_A_TURN) for name, action in actions.items()}
    timings = take_turns(clocks, turns=_TURNS)
    p10 = {name: timing.p10 for name, timing in timings.items()}
    ratio = p10["auto"] / p10["floor"]
    table.add(
        f"validate, {protocol}",
        f"{len(text.encode()):,}",
        *(f"{seconds * 1e6:.1f}" for seconds in p10.values()),
        f"{ratio:.2f}",
        f"{p10['named'] / p10['floor']:.2f}",
        judgement=_BOUND.judge(ratio),
    )


def _floor(protocol: str, envelope: str) -> Callable[[], object]:
    """Return the least that any checker of the same envelope does."""
    if protocol in _MODELS:
        model = _MODELS[protocol]
        return lambda: model.model_validate(json.loads(envelope))

    schema = etree.XMLSchema(etree.parse(_ROOT / "schemas" / protocol / _SCHEMAS[protocol]))
    content = envelope.encode()
    assert schema.validate(etree.fromstring(content)), schema.error_log

    return lambda: schema.validate(etree.fromstring(content))
