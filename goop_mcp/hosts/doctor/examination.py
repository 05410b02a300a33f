"""All checks, in the order in which a person would look: what is installed, what it works on, who starts it."""

from collections.abc import Iterator, Mapping

from goop_mcp.composition import Application
from goop_mcp.hosts.doctor.checks import Check
from goop_mcp.hosts.doctor.installation import check_installation
from goop_mcp.hosts.doctor.project import check_database, check_project
from goop_mcp.hosts.doctor.registrations import check_hosts
from goop_mcp.hosts.launch import look_around

__all__ = ["examine"]


def examine(application: Application, environment: Mapping[str, str]) -> Iterator[Check]:
    """Yield every check as soon as it is done.

    Servers that hosts are told of are started and ended again.
    """
    yield from check_installation(look_around(environment), environment)
    yield from check_project(application.files)
    yield from check_database(application)
    yield from check_hosts(application.settings.project, environment)
