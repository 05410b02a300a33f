"""Install OpenSpec, then run the recipes; 77 when they could not be run, as without npm."""

import subprocess
import sys

from tests.gates.openspec import OPENSPEC
from tests.repository import NOT_TESTED, ROOT


def main() -> int:
    """Run the recipes, and return the exit code of pytest."""
    if reason := OPENSPEC.install():
        sys.stderr.write(f"not tested: {reason}\n")
        return NOT_TESTED

    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "tests/gates"]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
