"""Checks of the installation, each error with its fix; nothing is changed."""

from collections.abc import Iterator, Mapping

from goop_mcp.context import AppContext
from goop_mcp.hosts.doctor.checks import CheckOutcome, DoctorCheck
from goop_mcp.hosts.doctor.installation import check_installation
from goop_mcp.hosts.doctor.project import check_database, check_project
from goop_mcp.hosts.doctor.registrations import check_hosts
from goop_mcp.hosts.launch import current_environment

__all__ = ["CheckOutcome", "DoctorCheck", "run_checks"]


def run_checks(application: AppContext, environment: Mapping[str, str]) -> Iterator[DoctorCheck]:
    """Yield every check as soon as it is done.

    Each server that a host's configuration names is started and stopped again.
    """
    yield from check_installation(current_environment(environment), environment)
    yield from check_project(application)
    yield from check_database(application)
    yield from check_hosts(application.settings.project, environment)
