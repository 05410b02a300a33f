"""Print what the sets show, as the table of docs/evidence.md."""

import sys

from tests.sets.judging import table

if __name__ == "__main__":
    sys.stdout.write(table())
