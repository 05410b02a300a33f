"""The ledger of requirements: what is asked for, which tests prove it, and what is not done yet.

`requirements.jsonl` lists every requirement, `deferred.toml` those that no test proves yet and why.
A test says what it proves with the decorator `requirement`; `python -m tests.requirements` prints
the coverage.
"""

from tests.requirements.ledger import Requirement, deferred_reasons, load_ledger, nearest_id
from tests.requirements.marks import requirement
from tests.requirements.ties import StrayTie, Tie, read_ties

__all__ = [
    "Requirement",
    "StrayTie",
    "Tie",
    "deferred_reasons",
    "load_ledger",
    "nearest_id",
    "read_ties",
    "requirement",
]
