"""The time limit of a scene."""

import os

__all__ = ["SECONDS", "patience"]

SECONDS = 15
"""The limit on an idle machine."""


def patience() -> float:
    """Return how many seconds a scene may take, scaled by the load of the machine."""
    return SECONDS * max(1.0, 2 * os.getloadavg()[0] / (os.cpu_count() or 1))
