"""An agent as a program: writes down that it began and which earlier ones live, then waits.

`python agent_program.py LOG SECONDS` with the message on standard input. It has started another
process by then, as agents start servers and test runs.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from tests.delegation.reports import report


def lives(pid: int) -> bool:
    """Whether a process runs; one that only waits for its parent to ask how it ended does not."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] not in ("Z", "X")


def main() -> None:
    """Answer once."""
    log, seconds = Path(sys.argv[1]), float(sys.argv[2])
    sys.stdin.read()
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
    lines = log.read_bytes().splitlines() if log.exists() else []
    earlier = [each for line in lines for each in json.loads(line).get("programs", [])]
    line = {
        "what": "program",
        "programs": [os.getpid(), child.pid],
        "alive": [pid for pid in earlier if lives(pid)],
        "key": os.environ["GOOP_IDEMPOTENCY_KEY"],
    }
    with log.open("ab", buffering=0) as file:
        file.write(json.dumps(line).encode() + b"\n")

    time.sleep(seconds)
    child.kill()
    child.wait()
    sys.stdout.write(report())


if __name__ == "__main__":
    main()
