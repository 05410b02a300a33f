"""Install the pinned clients, then run the scenes without network access if the system allows it.

Exit code: that of pytest, or 1 when a client is missing and its scenes were skipped.
"""

import shutil
import subprocess
import sys
from collections.abc import Sequence

from tests.e2e.clients import CLIENTS
from tests.repository import ROOT

_PYTEST = ("-m", "pytest", "-q", "-rs", "--durations=0", "--durations-min=0.1", "tests/e2e")
"""Prints at the end how long each scene took."""
_INSIDE = 'ip link set lo up && exec "$@"'


def main(arguments: Sequence[str]) -> int:
    """Install what is missing, run pytest with `arguments`, and return the exit code."""
    for client in CLIENTS:
        doing = "using" if client.missing_reason() is None else "installing"
        print(f"{doing} {client.package}@{client.version}", flush=True)
        client.install()

    command = [*_without_network(), sys.executable, *_PYTEST, *arguments]
    ended = subprocess.run(command, cwd=ROOT, check=False)
    missing = [
        missing_reason
        for client in CLIENTS
        if (missing_reason := client.missing_reason()) is not None
    ]
    for missing_reason in missing:
        print(f"not tested: {missing_reason}", file=sys.stderr)

    return ended.returncode or int(bool(missing))


def _without_network() -> list[str]:
    """Return the command prefix for a program without network, empty where that is impossible."""
    unshare, shell = shutil.which("unshare"), shutil.which("sh")
    if unshare is None or shell is None:
        return []

    command = [unshare, "--map-root-user", "--net", shell, "-c", _INSIDE, "sh"]
    allowed = subprocess.run([*command, "true"], check=False, capture_output=True).returncode == 0
    print(
        (
            "without any network"
            if allowed
            else "with the network in reach: this system gives no namespace"
        ),
        flush=True,
    )

    return command if allowed else []


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
