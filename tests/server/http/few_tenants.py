"""A server that holds three tenants at most, with a slow tool; run it as `goop-mcp serve`."""

import sys
from functools import partial

from goop_mcp.cli import main
from goop_mcp.server.http import Tenants, application, serving
from tests.server.http.slow_server import add_waiting

MOST = 3

if __name__ == "__main__":
    vars(application)["Tenants"] = partial(Tenants, most=MOST)
    serving.serve_network = partial(serving.serve_network, extend=add_waiting)
    sys.exit(main())
