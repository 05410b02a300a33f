"""Print how many requirements of each family are proved by tests, and what the others wait for."""

from collections import Counter

from tests.requirements import deferred_reasons, load_ledger, read_ties


def main() -> None:
    """Print one line a family, then one a reason."""
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
            entry.family == family and entry.id not in tied and entry.id not in reasons for entry in ledger.values()
        )
        print(row(family, tied_by_family[family], deferred_by_family[family], missing, total))
    print(row("all", len(tied), len(reasons), len(ledger.keys() - tied - reasons.keys()), len(ledger)))

    print("\ndeferred because")
    for reason, number in Counter(reasons.values()).most_common():
        print(f"{number:>5}  {reason}")


if __name__ == "__main__":
    main()
