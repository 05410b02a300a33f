"""Count what is in progress, for each client and in total."""

__all__ = ["ClientCounter"]


class ClientCounter:
    """A counter by client, which forgets clients at 0.

    Reading a count or the total takes constant time.
    """

    def __init__(self) -> None:
        self.total = 0
        self._of: dict[str, int] = {}

    def __len__(self) -> int:
        """Return how many clients have a count other than 0."""
        return len(self._of)

    def of(self, client: str) -> int:
        """Return the count of `client`."""
        return self._of.get(client, 0)

    def add(self, client: str, amount: int = 1) -> None:
        """Add `amount` to the count of `client`; a negative amount subtracts."""
        self.total += amount
        if rest := self.of(client) + amount:
            self._of[client] = rest
        else:
            self._of.pop(client, None)
