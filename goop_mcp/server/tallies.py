"""How much of something each client has under way, and all of them together."""

__all__ = ["Tally"]


class Tally:
    """Adds up by client; whoever has nothing any more is forgotten.

    However many there are, a look takes as long.
    """

    def __init__(self) -> None:
        self.total = 0
        self._of: dict[str, int] = {}

    def __len__(self) -> int:
        """Return how many clients have anything."""
        return len(self._of)

    def of(self, client: str) -> int:
        """Return how much `client` has."""
        return self._of.get(client, 0)

    def add(self, client: str, amount: int = 1) -> None:
        """Add `amount`, which is below 0 for what is taken away again."""
        self.total += amount
        if rest := self.of(client) + amount:
            self._of[client] = rest
        else:
            self._of.pop(client, None)
