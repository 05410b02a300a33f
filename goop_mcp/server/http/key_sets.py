"""Fetch the keys of an issuer: only when needed, seldom, and within limits of time and size."""

import json
import logging
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any, Final

import anyio
import httpx2
import jwt

__all__ = ["KeySet", "KeySetUnavailableError", "SigningKey"]

# For connecting and the whole answer together.
_SECONDS: Final = 5.0
# A set with a hundred keys and their certificates takes about this much.
_MOST_BYTES: Final = 262_144
_MOST_KEYS: Final = 100
_FRESH: Final = 300.0
# An unknown id in a token costs no more than one request in ten seconds, however many tokens come.
_COOL_DOWN: Final = 10.0
_BETWEEN_LINES: Final = 10.0

# Algorithms by type and curve of a key. Symmetric keys are left out: with the key that verifies a
# token, anybody could sign one.
_ALGORITHMS: Final[Mapping[tuple[str, str | None], tuple[str, ...]]] = {
    ("RSA", None): ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    ("EC", "P-256"): ("ES256",),
    ("EC", "P-384"): ("ES384",),
    ("EC", "P-521"): ("ES512",),
    ("OKP", "Ed25519"): ("EdDSA",),
    ("OKP", "Ed448"): ("EdDSA",),
}

_logger = logging.getLogger(__name__)


class KeySetUnavailableError(Exception):
    """Raised if the keys of the issuer are not available at present."""


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A public key, and the algorithms with which it may verify a token."""

    key: Any
    algorithms: tuple[str, ...]


class KeySet:
    """The keys at `url`, by their ids.

    They are fetched again when they are five minutes old, or when a token names an unknown key.
    Between two attempts are at least ten seconds, also after a success; in the meantime the result
    of the last attempt is returned at once.
    """

    def __init__(
        self, url: str, *, seconds: float = _SECONDS, clock: Callable[[], float] = monotonic
    ) -> None:
        """Wait `seconds` for a whole answer."""
        self._url = url
        self._seconds = seconds
        self._clock = clock
        self._keys: Mapping[str, SigningKey] = {}
        self._fetched_at = self._tried_at = self._logged_at = float("-inf")
        self._has_failed = False
        self._unlogged = 0
        # One task fetches, and all others that need keys wait for it.
        self._fetching = anyio.Lock()

    async def key(self, id: str) -> SigningKey | None:
        """Return the key with an id, None if the issuer has none.

        Raises KeySetUnavailableError.
        """
        # The usual case takes no lock.
        if self._is_fresh() and id in self._keys:
            return self._keys[id]

        # Checked again under the lock: the task before may have fetched the key meanwhile.
        async with self._fetching:
            if (
                not (self._is_fresh() and id in self._keys)
                and self._clock() - self._tried_at >= _COOL_DOWN
            ):
                await self._try_to_fetch()

        # A key that is missing after a failed fetch may exist at the issuer: that is not known,
        # and the token must not be refused as invalid.
        if not self._is_fresh() or (self._has_failed and id not in self._keys):
            raise KeySetUnavailableError
        return self._keys.get(id)

    def _is_fresh(self) -> bool:
        return self._clock() - self._fetched_at < _FRESH

    async def _try_to_fetch(self) -> None:
        try:
            self._keys = await self._fetch()
        except KeySetUnavailableError as error:
            self._has_failed = True
            # Requests can come by the thousand while the issuer is away: one line in ten seconds.
            if self._clock() - self._logged_at < _BETWEEN_LINES:
                self._unlogged += 1
                return

            times = f" ({self._unlogged} times more since the last line)" if self._unlogged else ""
            _logger.error(
                "the keys of the issuer cannot be fetched from %s: %s%s", self._url, error, times
            )
            self._logged_at, self._unlogged = self._clock(), 0
        else:
            self._has_failed, self._fetched_at = False, self._clock()
        finally:
            # Taken after the fetch, so that its duration does not shorten the pause.
            self._tried_at = self._clock()

    async def _fetch(self) -> Mapping[str, SigningKey]:
        content = bytearray()
        try:
            # The time is limited as a whole: a limit for each read never ends where single bytes
            # keep coming.
            with anyio.fail_after(self._seconds):
                context = ssl.create_default_context()
                # Uncompressed: a small answer may otherwise unpack to more than the memory holds.
                async with (
                    # HTTP verifies certificates with the machine's own store, as its administrator
                    # expects.
                    httpx2.AsyncClient(timeout=None, verify=context) as client,
                    client.stream(
                        "GET", self._url, headers={"Accept-Encoding": "identity"}
                    ) as answer,
                ):
                    if answer.status_code != httpx2.codes.OK:
                        raise KeySetUnavailableError(
                            f"the answer has the status {answer.status_code}; expected 200"
                        )

                    async for chunk in answer.aiter_raw():
                        content += chunk
                        if len(content) > _MOST_BYTES:
                            raise KeySetUnavailableError(
                                f"the answer has more than {_MOST_BYTES:,} bytes"
                            )

                return _read_keys(bytes(content))
        except TimeoutError:
            raise KeySetUnavailableError(
                f"no whole answer came within {self._seconds:g} s"
            ) from None
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            raise KeySetUnavailableError(f"{type(error).__name__}: {error}"[:200]) from error


def _read_keys(content: bytes) -> Mapping[str, SigningKey]:
    """Return the keys of a set that can verify signatures, by id.

    Raises KeySetUnavailableError if there is none.
    """
    try:
        listed = json.loads(content)["keys"]
        keys = [each for each in listed[:_MOST_KEYS] if isinstance(each, dict)]
    except (ValueError, TypeError, LookupError, RecursionError):
        raise KeySetUnavailableError(
            'the answer is not a key set; expected JSON with a list "keys"'
        ) from None

    # Keys without an id are left out: a token could not say which of them it means.
    found = {each["kid"]: key for each in keys if (key := _signing_key(each)) is not None}
    if not found:
        raise KeySetUnavailableError(
            "the key set holds no key with an id that signatures can be checked with"
        )

    return found


def _signing_key(described: Mapping[str, Any]) -> SigningKey | None:
    """Return a key of a set, None if it is not for verifying signatures."""
    id, use, operations = (
        described.get("kid"),
        described.get("use", "sig"),
        described.get("key_ops"),
    )
    # A key with "d" is a private one, which its issuer published by mistake: anybody can sign with
    # it.
    if not isinstance(id, str) or not id or use != "sig" or "d" in described:
        return None
    if operations is not None and not (isinstance(operations, list) and "verify" in operations):
        return None

    kind, curve = described.get("kty"), described.get("crv")
    allowed = (
        _ALGORITHMS.get((kind, None if kind == "RSA" else curve), ())
        if isinstance(kind, str)
        else ()
    )
    # An algorithm named in the key narrows the choice, so that a token cannot choose another.
    if (named := described.get("alg")) is not None:
        allowed = tuple(each for each in allowed if each == named)
    if not allowed:
        return None

    try:
        return SigningKey(jwt.PyJWK.from_dict(dict(described), algorithm=allowed[0]).key, allowed)
    except (jwt.PyJWTError, ValueError, TypeError, LookupError):
        return None
