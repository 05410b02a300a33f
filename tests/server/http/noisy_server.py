"""A server that warns and whose threads fail before it serves; run it as `goop-mcp serve`."""

import sys
import threading
import warnings
from functools import partial

from goop_mcp.cli import main
from goop_mcp.server import GoopServer
from goop_mcp.server.http import serving


def make_noise(_: GoopServer) -> None:
    """Do things that Python reports on stderr, on several lines."""
    warnings.warn("this is\nold", DeprecationWarning, stacklevel=1)
    failing = threading.Thread(target=divmod, args=(1, 0))
    failing.start()
    failing.join()


if __name__ == "__main__":
    serving.serve_network = partial(serving.serve_network, extend=make_noise)
    sys.exit(main())
