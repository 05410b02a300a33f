"""The server on a network: who may reach it, how much each may ask, and how it starts and stops.

The names are loaded on first use: reading the settings must not load the SDK or the web server.
"""

from typing import TYPE_CHECKING

from goop_mcp.on_demand import names_on_demand

__all__ = [
    "NetworkApplication",
    "NetworkSettings",
    "Options",
    "Tenants",
    "read_network_settings",
    "serve_network",
]

if TYPE_CHECKING:
    from goop_mcp.server.http.application import NetworkApplication
    from goop_mcp.server.http.options import Options
    from goop_mcp.server.http.serving import serve_network
    from goop_mcp.server.http.settings import NetworkSettings, read_network_settings
    from goop_mcp.server.http.tenants import Tenants
else:
    __getattr__ = names_on_demand(
        __name__,
        {
            "NetworkApplication": "application",
            "NetworkSettings": "settings",
            "Options": "options",
            "Tenants": "tenants",
            "read_network_settings": "settings",
            "serve_network": "serving",
        },
    )
