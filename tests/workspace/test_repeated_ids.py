"""An id that a document defines twice is named with its lines; a title that is repeated is none."""

import pytest

from goop_mcp.workspace.documents.blueprint import read_blueprint
from goop_mcp.workspace.documents.spec import read_spec
from tests.requirements import requirement

CART = "### MH1: A cart\n\n- [ ] Tea can be added\n\n"
TASK = "### Task 1.1: Cart\n\nIntent: Build it.\n\n"
SPECS = {
    "the same heading": (f"# SPEC\n\n## Must-Haves\n\n{CART}{CART}", ["MH1 in lines 5 and 9"]),
    "another spelling": (
        f"# SPEC\n\n## Must-Haves\n\n{CART}### ✅ mh-1 Paying\n\n- [ ] A card\n",
        ["MH1 in lines 5 and 9"],
    ),
    "in another section": (
        f"# SPEC\n\n## Must-Haves\n\n{CART}## More\n\n### MH1: Paying\n",
        ["MH1 in lines 5 and 11"],
    ),
    "three times": (
        "# SPEC\n\n### MH2: A\n### MH2: B\n### MH2: C\n",
        ["MH2 in lines 3, 4 and 5"],
    ),
    "two must-haves": (f"# SPEC\n\n{CART}### MH2: Paying\n", []),
    "a part of it": (f"# SPEC\n\n{CART}#### MH1 in other shops\n", []),
    "a fence": (f"# SPEC\n\n{CART}```\n### MH1: An example\n```\n", []),
}
PLANS = {
    "the same heading": (
        f"# BLUEPRINT\n\n## Wave 1: A\n\n{TASK}{TASK}",
        ["W1.T1 in lines 5 and 9"],
    ),
    "another spelling": (
        f"# BLUEPRINT\n\n## Wave 1: A\n\n{TASK}### W1.T1: Paying\n",
        ["W1.T1 in lines 5 and 9"],
    ),
    "in another wave": (
        f"# BLUEPRINT\n\n## Wave 1: A\n\n{TASK}## Wave 2: B\n\n{TASK}",
        ["W1.T1 in lines 5 and 11"],
    ),
    "without waves": (
        "# BLUEPRINT\n\n### Task 1: A\n\n### Task 1: B\n",
        ["W1.T1 in lines 3 and 5"],
    ),
    "items": (
        "# BLUEPRINT\n\n## Wave 1: A\n\n- [ ] W1.T1: A\n- [ ] W1.T1: B\n",
        ["W1.T1 in lines 5 and 6"],
    ),
    "rows": (
        "# BLUEPRINT\n\n| Task | Name |\n|---|---|\n| W1.T1 | A |\n| W1.T1 | B |\n",
        ["W1.T1 in lines 5 and 6"],
    ),
    "tasks of two waves": (
        "# BLUEPRINT\n\n## Wave 1: A\n\n### Task 1: A\n\n## Wave 2: B\n\n### Task 1: B\n",
        [],
    ),
    "notes": (f"# BLUEPRINT\n\n## Wave 1: A\n\n{TASK}#### Task 1.1 later\n", []),
    "progress": (
        "# BLUEPRINT\n\n## Wave 1: A\n\n- [ ] W1.T1: A\n\n## Progress\n\n- [x] W1.T1: A\n",
        [],
    ),
}


@requirement("G-58")
@pytest.mark.parametrize("name", SPECS)
def test_a_must_have_that_is_defined_twice_is_named_with_its_lines(name: str) -> None:
    text, expected = SPECS[name]
    assert [str(each) for each in read_spec(text).repeated] == expected


@requirement("G-58")
@pytest.mark.parametrize("name", PLANS)
def test_a_task_that_is_defined_twice_is_named_with_its_lines(name: str) -> None:
    text, expected = PLANS[name]
    assert [str(each) for each in read_blueprint(text).repeated] == expected
