"""The network options of `serve`, without heavy imports: every start of the server loads them."""

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Options"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The network options of `serve`; those that were not given are None or empty."""

    host: str | None = None
    port: int | None = None
    token_file: str | None = None
    allowed_hosts: Sequence[str] = ()
    allowed_origins: Sequence[str] = ()
    rate: float | None = None
    stateless: bool | None = None

    def given(self) -> list[str]:
        """Return the names of the options that were given."""
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
