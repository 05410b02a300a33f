"""Serve what the conformance suite expects, with everything of ours around it.

Run as `python -m tests.conformance.fixture serve …`: the command line, the guards and limits of the
network and the middlewares are the ones that users have; only what the server offers is more.
"""

from mcp.server.context import ServerRequestContext
from mcp.types import EmptyResult, SetLevelRequestParams

from goop_mcp.__main__ import main
from goop_mcp.context import AppContext
from goop_mcp.server import GoopServer
from goop_mcp.server.http import NetworkApplication, serving
from tests.conformance.contents import add_contents
from tests.conformance.questions import add_questions

__all__ = ["WithFixtures"]


class WithFixtures(NetworkApplication):
    """Our application, whose servers offer the names of the suite as well."""

    def _server(self, application: AppContext) -> GoopServer:
        server = super()._server(application)
        add_contents(server)
        add_questions(server)
        server.lowlevel.add_request_handler("logging/setLevel", SetLevelRequestParams, _set_level)
        return server


async def _set_level(_: ServerRequestContext, __: SetLevelRequestParams) -> EmptyResult:
    return EmptyResult()


if __name__ == "__main__":
    vars(serving)["NetworkApplication"] = WithFixtures
    main()
