"""A server with a tool that prints to stdout; run it by `python -m tests.server.noisy`."""

import os
import subprocess
import sys

import anyio

from goop_mcp.server import create_server
from goop_mcp.settings import Settings
from tests.repository import ROOT

server = create_server(Settings(project=ROOT))


@server.tool()
def make_noise() -> str:
    """Write to stdout in three ways."""
    print("printed", flush=True)  # noqa: T201 - the noise that is meant
    os.write(1, b"written\n")
    subprocess.run([sys.executable, "-c", "print('printed by a child')"], check=True)
    return "quiet"


if __name__ == "__main__":
    anyio.run(server.run_stdio_async)
