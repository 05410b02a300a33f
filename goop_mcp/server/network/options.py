"""The options of `serve` that are about the network; light, as every start of the server reads them."""

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Options"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of `serve` that are about the network, None or empty where they were not given."""

    host: str | None = None
    port: int | None = None
    token_file: str | None = None
    allowed_hosts: Sequence[str] = ()
    allowed_origins: Sequence[str] = ()
    rate: float | None = None
    stateless: bool | None = None

    def given(self) -> list[str]:
        """Return the names of those that were given."""
        values = {
            "--host": self.host,
            "--port": self.port,
            "--token-file": self.token_file,
            "--allowed-host": self.allowed_hosts or None,
            "--allowed-origin": self.allowed_origins or None,
            "--rate-limit": self.rate,
            "--stateless": self.stateless,
        }
        return [name for name, value in values.items() if value is not None]
