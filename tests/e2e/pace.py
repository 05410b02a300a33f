"""How long a scene may take."""

import os

__all__ = ["SECONDS", "patience"]

SECONDS = 15
"""On a machine that has nothing else to do."""


def patience() -> float:
    """Return how many seconds a scene may take, as much more as others use the processors meanwhile."""
    return SECONDS * max(1.0, 2 * os.getloadavg()[0] / (os.cpu_count() or 1))
