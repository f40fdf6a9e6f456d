"""Serving the components to programs in other languages."""

import inspect
import json
from typing import Any, cast

import pulumi
from pulumi.provider import Provider
from pulumi.provider.experimental.component import ComponentProvider
from pulumi.provider.server import ComponentInitError

from gpufleet.components_base.resource_plugin import ResourceServicer, serve_plugin
from gpufleet.platforms.registry import platform_resource

VERSION = "0.1.0"


class ComponentHost(ComponentProvider):
    """The SDK's component provider, with one schema for every Python and plain errors.

    Python 3.13 strips the indentation of docstrings and older ones keep it: descriptions are
    stripped here, so that SDKs generated from the schema do not depend on who generated them.

    The SDK wraps whatever a constructor raises and sends it with a traceback (pulumi 3.272.0,
    `provider/experimental/component.py`). Arguments that are refused are no fault of the code.
    """

    def __init__(
        self, components: list[type[pulumi.ComponentResource]], name: str, version: str
    ) -> None:
        super().__init__(components, name, version=version)
        self.schema = json.dumps(_stripped(json.loads(self.schema or "{}")))

    def construct(self, *args: Any, **settings: Any) -> Any:
        """Make a component; wrong arguments come out as their own error, text only."""
        try:
            return super().construct(*args, **settings)
        except ComponentInitError as failed:
            if isinstance(failed.inner, pulumi.InputPropertiesError):
                # The text says all, and a list next to it would be printed a second time. None
                # instead of an empty list breaks the SDK's own report.
                raise pulumi.InputPropertiesError(str(failed.inner), []) from None
            raise


def _stripped(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {
            key: inspect.cleandoc(value)
            if key == "description" and isinstance(value, str)
            else _stripped(value)
            for key, value in cast("dict[str, Any]", schema).items()
        }
    if isinstance(schema, list):
        return [_stripped(item) for item in cast("list[Any]", schema)]
    return schema


def serve(components: list[type[pulumi.ComponentResource]], name: str, version: str) -> None:
    """Answer the engine until it ends this process: components, and the resources they make."""
    host = ComponentHost(components, name, version)
    serve_plugin(lambda args, address: ResourceServicer(host, args, address, platform_resource))


def serve_resources() -> None:
    """`pulumi-resource-gpufleet`: the resources that components in Python programs make."""
    host = Provider(VERSION)
    serve_plugin(lambda args, address: ResourceServicer(host, args, address, platform_resource))


if __name__ == "__main__":
    serve_resources()
