"""Run the command line: `python -m goop_mcp`."""

import sys

from goop_mcp.cli import main

if __name__ == "__main__":
    sys.exit(main())
