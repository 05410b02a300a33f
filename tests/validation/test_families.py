"""The protocols are known by name and marks before their code is loaded."""

import subprocess
import sys

from goop_mcp.protocols import FAMILIES
from goop_mcp.validation.families import FamilyOnDemand
from tests.repository import ROOT

REPLY = ROOT / "tests" / "cases" / "goop_report" / "016_executor_complete.xml"


def test_what_is_known_of_a_protocol_beforehand_is_what_it_says_of_itself() -> None:
    on_demand = [family for family in FAMILIES if isinstance(family, FamilyOnDemand)]

    assert [family.name for family in on_demand] == [
        "goop_report",
        "agent_request",
        "speckit",
        "factory",
    ]
    for family in on_demand:
        assert (family.name, family.marks) == (family.loaded.name, family.loaded.marks)


def test_a_reply_of_one_protocol_loads_no_other_and_no_router() -> None:
    script = (
        "import sys, goop_mcp; goop_mcp.validate(open(sys.argv[1]).read()); print(*sys.modules)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script, str(REPLY)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    loaded = {
        ".".join(name.split(".")[:3])
        for name in ended.stdout.split()
        if name.startswith("goop_mcp.")
    }

    assert "goop_mcp.protocols.goop_report" in loaded
    assert not {
        name for name in loaded if name.startswith(("goop_mcp.routing", "goop_mcp.protocols.s"))
    }
    assert not loaded & {"goop_mcp.protocols.agent_request", "goop_mcp.protocols.factory"}


def test_every_public_name_is_there() -> None:
    script = (
        "import goop_mcp\nfor name in goop_mcp.__all__: assert getattr(goop_mcp, name) is not None,"
        " name"
    )
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True)
