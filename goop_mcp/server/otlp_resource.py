"""What all telemetry of a process carries: the name and the version of the service."""

from collections.abc import Mapping

from opentelemetry.sdk.resources import Resource

__all__ = ["resource_of"]


def resource_of(*, version: str, environment: Mapping[str, str]) -> Resource:
    """Return the resource of this process; the variables of OpenTelemetry may name it."""
    resource = Resource.create({"service.version": version})
    is_named = environment.get("OTEL_SERVICE_NAME") or "service.name=" in environment.get(
        "OTEL_RESOURCE_ATTRIBUTES", ""
    )
    if not is_named:
        resource = resource.merge(Resource({"service.name": "goop-mcp"}))

    return resource
