"""Print how many requirements of each family are proved by tests, and what the others wait for.

With the argument `page` the requirements themselves, as the page of the documentation that lists
them.
"""

import re
import sys
from collections import Counter

from tests.requirements import deferred_reasons, load_ledger, read_ties

_DECISION = re.compile(r"\bD-\d+\b")


def _link_to(decision: re.Match[str]) -> str:
    return f"[{decision[0]}](decisions.md#{decision[0].lower()})"


def requirements_page() -> str:
    """Return docs/requirements.md: by family, each requirement under its id as the heading."""
    lines = [
        "# Requirements",
        "",
        (
            "What goop-mcp is held to, with the place in the specifications that asks for it. Tests"
            " name the ids that they"
        ),
        (
            "prove; what is not proved yet says what it waits for. This file is made from the"
            " ledger by `make docs`."
        ),
    ]
    reasons = deferred_reasons()
    family = ""

    for entry in load_ledger().values():
        if entry.family != family:
            family = entry.family
            lines += ["", f"## {family}"]

        where = f"Source: {entry.source}. Check: {entry.check}"
        lines += [
            "",
            f"### {entry.id}",
            "",
            *(_DECISION.sub(_link_to, text) for text in (entry.text, "", where)),
        ]
        if entry.id in reasons:
            lines += ["", f"Not proved yet: {reasons[entry.id]}."]

    return "\n".join(lines) + "\n"


def main() -> None:
    """Print one line a family, then one a reason; or the page."""
    if sys.argv[1:] == ["page"]:
        sys.stdout.write(requirements_page())
        return

    ledger = load_ledger()
    reasons = deferred_reasons()
    tied = {tie.id for tie in read_ties()[0]} & ledger.keys()
    families = Counter(entry.family for entry in ledger.values())
    tied_by_family = Counter(ledger[id].family for id in tied)
    deferred_by_family = Counter(entry.family for entry in ledger.values() if entry.id in reasons)

    row = "{:<18} {:>5} {:>9} {:>8} {:>6}".format
    print(row("family", "tied", "deferred", "missing", "total"))

    for family, total in families.items():
        missing = sum(
            entry.family == family and entry.id not in tied and entry.id not in reasons
            for entry in ledger.values()
        )
        print(row(family, tied_by_family[family], deferred_by_family[family], missing, total))

    print(
        row("all", len(tied), len(reasons), len(ledger.keys() - tied - reasons.keys()), len(ledger))
    )

    print("\ndeferred because")
    for reason, number in Counter(reasons.values()).most_common():
        print(f"{number:>5}  {reason}")


if __name__ == "__main__":
    main()
